"""A tree as arrays, and three obvious ways to walk down it in Python.

Row by row is what one writes first. The other two send all the rows down at once, as lists of row
numbers that each node parts in two: by recursion, or with a stack.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Walker:
    """Nodes by number; a leaf's children are -1. `answer` is what each node would predict."""

    left: Sequence[int]
    right: Sequence[int]
    feature: Sequence[int]
    threshold: Sequence[float]
    answer: np.ndarray

    @classmethod
    def of(cls, model) -> Self:
        """A fitted estimator of splitwood or scikit-learn, taken apart into what a walk needs."""
        tree = model.tree_
        values = tree.value[:, 0]
        labels = getattr(model, "classes_", None)
        return cls(
            tree.children_left.tolist(),
            tree.children_right.tolist(),
            tree.feature.tolist(),
            tree.threshold.tolist(),
            values[:, 0] if labels is None else labels[values.argmax(axis=1)],
        )

    def row_by_row(self, X: np.ndarray) -> np.ndarray:
        return np.array([self._predict_one(row) for row in X])

    def _predict_one(self, row: np.ndarray) -> object:
        node = 0
        while self.left[node] >= 0:
            goes_left = row[self.feature[node]] <= self.threshold[node]
            node = self.left[node] if goes_left else self.right[node]
        return self.answer[node]

    def recursive_partition(self, X: np.ndarray) -> np.ndarray:
        answers = np.empty(len(X), self.answer.dtype)
        self._part(X, 0, np.arange(len(X)), answers)
        return answers

    def _part(self, X: np.ndarray, node: int, rows: np.ndarray, answers: np.ndarray) -> None:
        if self.left[node] < 0:
            answers[rows] = self.answer[node]
            return
        goes_left = X[rows, self.feature[node]] <= self.threshold[node]
        self._part(X, self.left[node], rows[goes_left], answers)
        self._part(X, self.right[node], rows[~goes_left], answers)

    def explicit_stack(self, X: np.ndarray) -> np.ndarray:
        answers = np.empty(len(X), self.answer.dtype)
        pending = [(0, np.arange(len(X)))]
        while pending:
            node, rows = pending.pop()
            if self.left[node] < 0:
                answers[rows] = self.answer[node]
                continue
            goes_left = X[rows, self.feature[node]] <= self.threshold[node]
            pending.append((self.left[node], rows[goes_left]))
            pending.append((self.right[node], rows[~goes_left]))
        return answers
