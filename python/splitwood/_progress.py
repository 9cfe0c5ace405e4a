"""The progress of a long fit, as a bar or a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[float], None]


@contextmanager
def shown_progress(verbose: int, n_rows: int) -> Iterator[Report | None]:
    """Give a function that shows the share of rows in final leaves; None if not verbose."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield from _plain_lines()
        return
    with tqdm(total=n_rows, desc="rows settled", unit="rows", unit_scale=True) as bar:
        yield lambda share: _show(bar, int(share * n_rows))
        _show(bar, n_rows)


def _show(bar: Any, settled: int) -> None:
    bar.update(settled - bar.n)


def _plain_lines() -> Iterator[Report]:
    """Show the progress in one line of the standard error stream, which is overwritten."""
    start = time.monotonic()

    def report(share: float) -> None:
        passed = time.monotonic() - start
        left = f", about {passed * (1 - share) / share:.0f} s left" if share > 0 else ""
        sys.stderr.write(f"\r{share:4.0%} of the rows settled after {passed:.0f} s{left}   ")
        sys.stderr.flush()

    yield report
    report(1.0)
    sys.stderr.write("\n")
