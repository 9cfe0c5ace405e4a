"""Three obvious ways to predict with a tree, in Python, beside ours: cumulative time over rounds.

Row by row is what one writes first. The other two send all the rows down at once, as lists of row
numbers that each node parts in two: by recursion, or with a stack.
"""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from compare.report import table

ROUNDS = 200
OURS = "splitwood"


class Walker:
    """A fitted classification tree, taken apart into what a walk needs."""

    def __init__(self, model) -> None:
        tree = model.tree_
        self.left, self.right = tree.children_left.tolist(), tree.children_right.tolist()
        self.feature, self.threshold = tree.feature.tolist(), tree.threshold.tolist()
        self.label = model.classes_[tree.value[:, 0].argmax(axis=1)]

    def row_by_row(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._predict_one(row) for row in X])

    def _predict_one(self, row: np.ndarray) -> object:
        node = 0
        while self.left[node] >= 0:
            goes_left = row[self.feature[node]] <= self.threshold[node]
            node = self.left[node] if goes_left else self.right[node]
        return self.label[node]

    def recursive_partition(self, X: np.ndarray) -> np.ndarray:
        labels = np.empty(len(X), self.label.dtype)
        self._part(X, 0, np.arange(len(X)), labels)
        return labels

    def _part(self, X: np.ndarray, node: int, rows: np.ndarray, labels: np.ndarray) -> None:
        if self.left[node] < 0:
            labels[rows] = self.label[node]
            return
        goes_left = X[rows, self.feature[node]] <= self.threshold[node]
        self._part(X, self.left[node], rows[goes_left], labels)
        self._part(X, self.right[node], rows[~goes_left], labels)

    def explicit_stack(self, X: np.ndarray) -> np.ndarray:
        labels = np.empty(len(X), self.label.dtype)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if self.left[node] < 0:
                labels[rows] = self.label[node]
                continue
            goes_left = X[rows, self.feature[node]] <= self.threshold[node]
            pending.append((self.left[node], rows[goes_left]))
            pending.append((self.right[node], rows[~goes_left]))
        return labels


def _measure(ways: dict[str, Callable], X: np.ndarray) -> dict[str, list[float]]:
    """Seconds of each round of each way, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, predict in ways.items():
            start = time.perf_counter()
            predict(X)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def _draw(seconds: dict[str, Sequence[float]], title: str, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    # The legend names the lines from top to bottom, as they end.
    for name in sorted(seconds, key=lambda name: -sum(seconds[name])):
        line = {"linewidth": 2.5, "color": "black"} if name == OURS else {"linewidth": 1.5}
        axes.plot(range(1, ROUNDS + 1), list(accumulate(seconds[name])), label=name, **line)
    axes.set(xlabel="rounds", ylabel="seconds so far", title=title, yscale="log", xlim=(1, ROUNDS))
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=120)


def compare(picture: Path) -> str:
    """Draws the cumulative times and returns the best ones as a table."""
    from sklearn.tree import DecisionTreeClassifier as Theirs

    from splitwood import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier().fit(X, y)
    walker = Walker(model)
    ways = {
        "row by row": walker.row_by_row,
        "explicit stack": walker.explicit_stack,
        "recursive partition": walker.recursive_partition,
        "scikit-learn": Theirs(random_state=0).fit(X, y).predict,
        OURS: model.predict,
    }
    for name, predict in ways.items():
        if not np.array_equal(predict(X), y):
            raise AssertionError(f"{name} predicts something else")
    seconds = _measure(ways, X)
    title = f"Predicting the {len(X)} rows of the breast cancer data, {model.get_n_leaves()} leaves"
    _draw(seconds, title, picture)
    best = {name: min(times) for name, times in seconds.items()}
    rows = [[name, f"{1e6 * t:.1f}", f"{t / best[OURS]:.1f}"] for name, t in best.items()]
    return f"### {title}\n\n" + table(["way", "best round, µs", "way / splitwood"], rows)
