"""Fit times beside the peers': scikit-learn, YDF, XGBoost and LightGBM, in one interleaved run.

Every system fits one tree to the same arrays from Python; converting them is part of its time.
Times are compared best over best; the training loss beside them shows that nobody is faster by
fitting worse. Splits of LightGBM fall on 255 bins: it is marked as approximate. Beside trees by
absolute error stand our own by squared error, as the yardstick of what a median may cost.

    python benches/compare_fit.py                    everything: some minutes
    python benches/compare_fit.py --quick            100,000 and 1,000 rows only
    python benches/compare_fit.py --cases 1m-depth6 --peers YDF LightGBM
    python benches/compare_fit.py --cases 100k-absolute flights-absolute
"""

import argparse
from collections.abc import Callable

from compare import command
from compare.cases import CASES, QUICK, Case
from compare.memory import memory_added
from compare.results import Result
from compare.systems import OURS, System
from compare.timing import Rounds, measure


def run_case(
    case: Case,
    systems: list[System],
    options: argparse.Namespace,
    progress: Callable[[str], None],
) -> Result:
    rounds = Rounds(options.repeat, options.slow_repeat, options.slow_seconds)
    measured = measure(case, systems, rounds, options.threads, progress)
    memory = None
    if case.memory_target is not None and OURS in systems:
        progress(f"{case.name}: memory")
        memory = memory_added(case, options.threads)
    return Result(case, measured, memory)


if __name__ == "__main__":
    options = command.parser(__doc__, CASES, QUICK).parse_args()
    command.run("Fit times", options, CASES, QUICK, run_case)
