"""Peak memory that a fit or a prediction adds, measured in a process of its own (Linux only).

The kernel keeps the peak of the resident memory (VmHWM) and lets a process reset it to what is
resident now; the peak after the work minus what was resident before is what the work added.
"""

import ctypes
import gc
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compare.cases import FORESTS, Case, Prediction
from compare.data import make_data, make_rows
from compare.systems import System
from compare.timing import WARM_UP_ROWS

RESET_PEAK = "5"


@dataclass(frozen=True)
class Memory:
    """Bytes that were added at the peak, beside what the work was given or had to make."""

    added: int
    # Of X for a fit, of the result for a prediction.
    size: int
    # Cells of X.
    cells: int
    # For predictions: what the first one added, which may prepare the tree for the next ones.
    first: int | None = None
    # Of these bytes, those of a fitted forest, which stay. Those of a single tree are few.
    kept: int = 0

    @property
    def sizes(self) -> float:
        return (self.added - self.kept) / self.size

    @property
    def beyond(self) -> int:
        """What was added beyond the result."""
        return self.added - self.size

    @property
    def bytes_per_cell(self) -> float:
        return self.added / self.cells


def _resident(field: str) -> int:
    """Bytes of a line of /proc/self/status, such as `VmRSS:   1234 kB`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def _give_back_free_memory() -> None:
    """Free memory that the allocator kept would hide what the work allocates."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _added(work: Callable[[], object]) -> int:
    """Measure what work adds at its peak."""
    return _added_and_kept(work)[0]


def _added_and_kept(work: Callable[[], object]) -> tuple[int, int]:
    """Measure what work adds at its peak, and what its result keeps."""
    _give_back_free_memory()
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = _resident("VmRSS")
    result = work()  # kept until the peak was read
    added = _resident("VmHWM") - before
    _give_back_free_memory()
    kept = _resident("VmRSS") - before
    del result
    return added, kept


def _measure_here(case: Case, system: System, threads: int) -> Memory:
    small = replace(case, rows=min(case.rows, WARM_UP_ROWS), held_out=0)
    predict = system.fit(small, make_data(small), threads)
    data = make_data(case)
    if not isinstance(case, Prediction):
        added, kept = _added_and_kept(lambda: system.fit(case, data, threads))
        is_forest = case.model in FORESTS
        return Memory(added, data.X.nbytes, data.X.size, kept=kept if is_forest else 0)
    rows = make_rows(case)
    predict(rows)
    predict = system.fit(case, data, threads)
    first = _added(lambda: predict(rows))
    added = _added(lambda: predict(rows))
    return Memory(added, np.asarray(predict(rows)).nbytes, rows.size, first)


def measure_memory(case: Case, system: System, threads: int) -> Memory | None:
    """What one fit or prediction of the case adds; None where it can't be measured."""
    if not sys.platform.startswith("linux"):
        return None
    # A process that starts from nothing, and ends again.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, fresh) as executor:
        try:
            return executor.submit(_measure_here, case, system, threads).result()
        except BrokenProcessPool:
            return None
