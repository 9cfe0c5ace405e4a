"""Prediction times beside the peers': scikit-learn, YDF, XGBoost and LightGBM, in one interleaved run.

Every system fits its tree once; then all predict the same rows from Python in turns, and converting
them is part of the time. Times are compared best over best; the training loss beside them shows that
the trees are equally good, so that nobody is faster by a smaller tree.

    python benches/compare_predict.py            everything: some minutes, most for the peers' fits
    python benches/compare_predict.py --quick    small trees only
    python benches/compare_predict.py --cases one-row --peers scikit-learn
    python benches/compare_predict.py --quick --picture ways.png    with three obvious ways beside ours
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from compare import command, ways
from compare.cases import PREDICTIONS, QUICK_PREDICTIONS, Prediction
from compare.results import Result
from compare.systems import System
from compare.timing import Rounds, measure_predictions


def run_case(
    case: Prediction,
    systems: list[System],
    options: argparse.Namespace,
    progress: Callable[[str], None],
) -> Result:
    rounds = Rounds(options.repeat, options.slow_repeat, options.slow_seconds)
    return Result(case, measure_predictions(case, systems, rounds, options.threads, progress))


if __name__ == "__main__":
    parser = command.parser(__doc__, PREDICTIONS, QUICK_PREDICTIONS)
    parser.set_defaults(repeat=15, slow_repeat=5, slow_seconds=0.5)
    parser.add_argument(
        "--picture", type=Path, help="draw the obvious ways beside ours to this file"
    )
    options = parser.parse_args()
    command.run("Prediction times", options, PREDICTIONS, QUICK_PREDICTIONS, run_case)
    if options.picture:
        print("\n" + ways.compare(options.picture))
