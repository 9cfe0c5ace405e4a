"""Fit two real tables beside scikit-learn: held-out scores and times.

    make demo

The flights that left New York in 2013 (327,346 rows) and the diamonds (53,940 rows) come with two
packages on PyPI; the loaders are those of `make compare`. Both libraries get the same arrays, the
same parameters and the same number of fits, in turns. One task adds a billion to the target, which
should change no split: it moves every prediction by a billion and changes no score.

Scores may differ a little. Where two splits gain the same, scikit-learn picks one by its random
state and splitwood picks the lowest feature.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn.tree
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

import splitwood
from compare import diamonds, flights

SEED = 0
HELD_OUT = 0.25
# Minutes from which on a flight counts as late, as in the official statistics of the United States.
LATE = 15
CUT = diamonds.COLUMNS.index("cut")

Table = tuple[np.ndarray, np.ndarray]


def late_flights() -> Table:
    """Whether a flight arrived late."""
    X, y = flights.load()
    return X, np.where(y >= LATE, "late", "on time")


def shifted_flights() -> Table:
    """Minutes late, plus a billion."""
    X, y = flights.load()
    return X, y + 1e9


def cuts() -> Table:
    """The grade of a diamond's cut, one of five, on its price and the other columns."""
    X, price = diamonds.load()
    return np.column_stack([np.delete(X, CUT, axis=1), price]).astype(np.float32), X[:, CUT]


@dataclass(frozen=True)
class Task:
    """A table, what to predict from it, and the parameters of both trees."""

    title: str
    load: Callable[[], Table]
    criterion: str = "squared_error"
    parameters: dict[str, Any] = field(default_factory=dict)
    # Fits of each library; the best time counts.
    rounds: int = 3

    @property
    def estimator(self) -> str:
        """The class of the tree, which has the same name in both libraries."""
        return "DecisionTreeClassifier" if self.criterion == "gini" else "DecisionTreeRegressor"

    @property
    def metric(self) -> str:
        return {"gini": "accuracy", "absolute_error": "MAE"}.get(self.criterion, "R²")

    def score(self, tree: Any, X: np.ndarray, y: np.ndarray) -> float:
        """The metric, on rows that the tree has not seen."""
        if self.criterion == "absolute_error":
            return mean_absolute_error(y, tree.predict(X))
        return tree.score(X, y)


LEAF = {"min_samples_leaf": 20}
TASKS = (
    Task("flights: delay", flights.load, parameters=LEAF),
    Task("flights: delay", flights.load, "absolute_error", LEAF, rounds=1),
    Task("flights: late?", late_flights, "gini", LEAF),
    Task("flights: delay + 1e9", shifted_flights, parameters=LEAF),
    Task("diamonds: price", diamonds.load),
    Task("diamonds: price", diamonds.load, "absolute_error"),
    Task("diamonds: cut", cuts, "gini"),
)


@dataclass(frozen=True)
class Outcome:
    """What one library made of a task."""

    score: float
    seconds: float


def seconds_to_fit(tree: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    tree.fit(X, y)
    return time.perf_counter() - start


def run(task: Task, X: np.ndarray, y: np.ndarray) -> list[Outcome]:
    """scikit-learn's outcome and splitwood's. Fits take turns, so both see the same machine."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=HELD_OUT, random_state=SEED)
    trees = [
        getattr(library, task.estimator)(criterion=task.criterion, **task.parameters)
        for library in (sklearn.tree, splitwood)
    ]
    trees[0].set_params(random_state=SEED)  # splitwood draws nothing here
    rounds = [
        [seconds_to_fit(tree, X_train, y_train) for tree in trees] for _ in range(task.rounds)
    ]
    return [
        Outcome(task.score(tree, X_test, y_test), min(seconds))
        for tree, seconds in zip(trees, zip(*rounds, strict=True), strict=True)
    ]


HEADER = (
    ("", "", "held out", "held out", "held out", "fit", "fit", "times"),
    ("data: target", "criterion", "score", *("scikit-learn", "splitwood") * 2, "faster"),
)
SIDES = "<<<>>>>>"  # text to the left, numbers to the right


def row(task: Task) -> tuple[str, ...]:
    """Run the task; its row of the table."""
    theirs, ours = run(task, *task.load())
    return (
        task.title,
        task.criterion.replace("_", " "),
        task.metric,
        *(f"{outcome.score:#.4g}" for outcome in (theirs, ours)),
        f"{theirs.seconds:.2f} s",
        f"{ours.seconds:.3f} s",
        f"{theirs.seconds / ours.seconds:.1f}",
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """The rows below the header and a rule, aligned."""
    widths = [max(map(len, column)) for column in zip(*HEADER, *rows, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        placed = zip(cells, SIDES, widths, strict=True)
        return "  ".join(f"{cell:{side}{width}}" for cell, side, width in placed).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return "\n".join([*map(line, HEADER), rule, *map(line, rows)])


def cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


NOTES = f"""\
Flights: {flights.ROWS:,} rows × {len(flights.COLUMNS)} columns. The delay is in minutes on arrival, and
{LATE} minutes or more are late. Leaves have {LEAF["min_samples_leaf"]} rows or more.
Diamonds: {diamonds.ROWS:,} × {len(diamonds.COLUMNS)}. The cut is one of five classes.
Their trees are grown to the end.
A quarter of the rows is held out. R² and accuracy are better when higher, the mean absolute error
(MAE) when lower. Times are the best of {Task.rounds} fits in turns; the absolute error of the flights is
fitted once.
With a billion added to the target, scikit-learn's sums lose their digits and its tree stops early."""


def main(tasks: Sequence[Task] = TASKS) -> None:
    started = time.perf_counter()
    print(f"splitwood {splitwood.__version__} beside scikit-learn {sklearn.__version__}")
    print(
        f"splitwood uses {cpus()} threads, scikit-learn's trees use one. This takes about a minute.\n"
    )
    rows = []
    for number, task in enumerate(tasks, 1):
        criterion = task.criterion.replace("_", " ")
        print(f"[{number}/{len(tasks)}] {task.title + ', ' + criterion:36}", end="", flush=True)
        rows.append(row(task))
        *_, theirs, ours, faster = rows[-1]
        print(f" scikit-learn {theirs:>7}, splitwood {ours:>7}: {faster:>4} times", flush=True)
    print(f"\n{table(rows)}\n\n{NOTES}\nDone in {time.perf_counter() - started:.0f} s.\n")
    print("Next: in your own program, import trees from `splitwood` instead of `sklearn.tree`,")
    print("or start from a CSV file with docs/quick-start.md.")


if __name__ == "__main__":
    main()
