"""Fit two real data sets beside scikit-learn: trees as good in less time.

The last row adds a billion to the target. A tree should not care: moving y by a constant moves
the predictions by the same constant.

Otherwise training scores agree. Test scores may differ a little: where splits
are equally good, scikit-learn draws one by its random state, and it rounds X to float32, which
moves rows that lie on a threshold.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

import splitwood

SEED = 0
ROUNDS = 25
HEADER = (
    ("", "", "", "train / test", "train / test", "fit", "fit", "times"),
    ("data", "size", "criterion", *("scikit-learn", "splitwood") * 2, "faster"),
)
SIDES = "<><>>>>>"  # of the columns above: text to the left, numbers to the right


@dataclass(frozen=True)
class Task:
    """A data set and the kind of tree that suits it."""

    title: str
    load: Callable[[], Any]
    estimator: str
    criterion: str
    offset: float = 0.0


TASKS = (
    Task("diabetes", load_diabetes, "DecisionTreeRegressor", "squared_error"),
    Task("breast cancer", load_breast_cancer, "DecisionTreeClassifier", "gini"),
    Task("diabetes, y + 1e9", load_diabetes, "DecisionTreeRegressor", "squared_error", offset=1e9),
)


@dataclass(frozen=True)
class Outcome:
    """What one package made of a task."""

    train_score: float
    test_score: float
    seconds: float


def seconds_to_fit(tree: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    tree.fit(X, y)
    return time.perf_counter() - start


def run(task: Task) -> tuple[Outcome, ...]:
    """Outcomes of scikit-learn and of splitwood, timed in turns: both see the same machine."""
    data = task.load()
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target + task.offset, test_size=0.3, random_state=SEED
    )
    trees = [
        getattr(package, task.estimator)(criterion=task.criterion, max_depth=3)
        for package in (sklearn.tree, splitwood)
    ]
    trees[0].set_params(random_state=SEED)  # splitwood has no need of one: ties have an order
    rounds = [[seconds_to_fit(tree, X_train, y_train) for tree in trees] for _ in range(ROUNDS)]
    return tuple(
        Outcome(tree.score(X_train, y_train), tree.score(X_test, y_test), median(seconds))
        for tree, seconds in zip(trees, zip(*rounds, strict=True), strict=True)
    )


def row(task: Task) -> tuple[str, ...]:
    """Run the task; its row of the table."""
    rows, columns = task.load().data.shape
    theirs, ours = outcomes = run(task)
    return (
        task.title,
        f"{rows} × {columns}",
        task.criterion,
        *(f"{outcome.train_score:.3f} / {outcome.test_score:.3f}" for outcome in outcomes),
        *(f"{1e3 * outcome.seconds:.2f} ms" for outcome in outcomes),
        f"{theirs.seconds / ours.seconds:.1f}",
    )


def table(rows: list[tuple[str, ...]]) -> str:
    """The rows below the header and a rule, aligned."""
    widths = [max(map(len, column)) for column in zip(*HEADER, *rows, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        placed = zip(cells, SIDES, widths, strict=True)
        return "   ".join(f"{cell:{side}{width}}" for cell, side, width in placed).rstrip()

    rule = "   ".join("─" * width for width in widths)
    return "\n".join([*map(line, HEADER), rule, *map(line, rows)])


def main() -> None:
    print(f"splitwood {splitwood.__version__} beside scikit-learn {sklearn.__version__}\n")
    print(table([row(task) for task in TASKS]))
    print(f"\nTrees of depth 3; R² or accuracy; times are medians of {ROUNDS} fits in turns.")
    print("Next: `make compare`, up to a million rows beside scikit-learn, YDF, XGBoost, LightGBM.")


if __name__ == "__main__":
    main()
