"""The progress of a long fit, as a bar or a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[float], None]
# The number of trees that are finished, and the share of the whole work.
TreeReport = Callable[[int, float], None]


@contextmanager
def shown_progress(verbose: int, n_rows: int) -> Iterator[Report | None]:
    """Give a function that shows the share of rows in final leaves; None if not verbose."""
    if not verbose:
        yield None
        return
    with _bar("of the rows settled", total=n_rows, unit="rows", unit_scale=True) as show:
        yield lambda share: show(int(share * n_rows), share)
        show(n_rows, 1.0)


@contextmanager
def shown_trees(verbose: int, n_trees: int) -> Iterator[TreeReport | None]:
    """Give a function that shows how many trees of a forest are grown; None if not verbose."""
    if not verbose:
        yield None
        return
    with _bar("of the forest grown", total=n_trees, unit="trees") as show:
        yield show
        show(n_trees, 1.0)


@contextmanager
def _bar(what: str, **settings: Any) -> Iterator[TreeReport]:
    """Give a function that shows a number and a share: as a bar if tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield from _plain_lines(what)
        return
    with tqdm(desc=what.removeprefix("of the "), **settings) as bar:
        yield lambda number, _: _show(bar, number)


def _show(bar: Any, number: int) -> None:
    bar.update(number - bar.n)


def _plain_lines(what: str) -> Iterator[TreeReport]:
    """Show the progress in one line of the standard error stream, which is overwritten."""
    start = time.monotonic()

    def report(_: int, share: float) -> None:
        passed = time.monotonic() - start
        left = f", about {passed * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{share:4.0%} {what} after {passed:.0f} s{left}   ")
        sys.stderr.flush()

    yield report
    sys.stderr.write("\n")
