"""Peak memory that our fit adds, in sizes of X, measured in a process of its own (Linux only).

The kernel keeps the peak of the resident memory (VmHWM) and lets a process reset it to what is
resident now; the peak after the fit minus what was resident before is what the fit added.
"""

import ctypes
import gc
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from compare.cases import CASES, Case, make_data
from compare.systems import OURS
from compare.timing import WARM_UP_ROWS

RESET_PEAK = "5"


def _resident(field: str) -> int:
    """Bytes of a line of /proc/self/status, such as `VmRSS:   1234 kB`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def _give_back_free_memory() -> None:
    """Free memory that the allocator kept would hide what the fit allocates."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _added_here(case: Case, threads: int) -> float:
    small = replace(case, rows=WARM_UP_ROWS)
    OURS.fit(small, make_data(small), threads)
    data = make_data(case)
    _give_back_free_memory()
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = _resident("VmRSS")
    OURS.fit(case, data, threads)
    return (_resident("VmHWM") - before) / data.X.nbytes


def memory_added(case: Case, threads: int) -> float | None:
    """Sizes of X that fitting the case adds at its peak; None where it can't be measured."""
    if not sys.platform.startswith("linux"):
        return None
    command = [sys.executable, "-m", "compare.memory", case.name, str(threads)]
    here = Path(__file__).parent.parent
    return float(subprocess.run(command, cwd=here, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    name, threads = sys.argv[1:]
    print(_added_here(next(case for case in CASES if case.name == name), int(threads)))
