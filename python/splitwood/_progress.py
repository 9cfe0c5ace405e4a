"""The progress of a long fit, as a bar or a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._out_of_bag import OutOfBag

Report = Callable[[float], None]
# The number of trees that are finished, the share of the whole work and, now and then, the
# out-of-bag sums so far.
TreeReport = Callable[[int, float, OutOfBag | None], None]
# Shows a number, the share of the whole work, and a note, which stays until the next one.
Show = Callable[[int, float, str], None]


@contextmanager
def shown_progress(verbose: int, n_rows: int) -> Iterator[Report | None]:
    """Give a function that shows the share of rows in final leaves; None if not verbose."""
    if not verbose:
        yield None
        return
    with _bar("of the rows settled", total=n_rows, unit="rows", unit_scale=True) as show:
        yield lambda share: show(int(share * n_rows), share, "")
        show(n_rows, 1.0, "")


@contextmanager
def shown_trees(
    verbose: int, n_trees: int, score: Callable[[OutOfBag], float | None]
) -> Iterator[TreeReport | None]:
    """Give a function that shows how many trees of a forest are grown; None if not verbose.

    ``score`` computes the running out-of-bag score, if there is one.
    """
    if not verbose:
        yield None
        return
    with _bar("of the forest grown", total=n_trees, unit="trees") as show:

        def report(number: int, share: float, sums: OutOfBag | None = None) -> None:
            known = None if sums is None else score(sums)
            show(number, share, "" if known is None else f"out-of-bag score {known:.4g}")

        yield report
        show(n_trees, 1.0, "")


@contextmanager
def _bar(what: str, **settings: Any) -> Iterator[Show]:
    """Give a function that shows a number and a share: as a bar if tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield from _plain_lines(what)
        return
    with tqdm(desc=what.removeprefix("of the "), **settings) as bar:
        yield lambda number, _, note: _show(bar, number, note)


def _show(bar: Any, number: int, note: str) -> None:
    if note:
        bar.set_postfix_str(note, refresh=False)
    bar.update(number - bar.n)
    if note:
        bar.refresh()


def _plain_lines(what: str) -> Iterator[Show]:
    """Show the progress in one line of the standard error stream, which is overwritten."""
    start = time.monotonic()
    last_note = ""

    def show(_: int, share: float, note: str) -> None:
        nonlocal last_note
        last_note = f", {note}" if note else last_note
        passed = time.monotonic() - start
        left = f", about {passed * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{share:4.0%} {what} after {passed:.0f} s{left}{last_note}   ")
        sys.stderr.flush()

    yield show
    sys.stderr.write("\n")
