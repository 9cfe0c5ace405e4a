"""Trees with splits on categories for shap, whose splits are thresholds.

A split on categories becomes several thresholds on the cells of its feature. In the order of the
cells, the labels form *runs* that go to the same side; thresholds tell the runs apart, and each run
leads to a copy of the subtree of its side:

    {0, 1, 4} left, {2, 3} right:    0  1 │ 2  3 │ 4         cell ≤ 1.5: a copy of the left child
                                     left   right  left      cell ≤ 3.5: the right child
                                                             otherwise: a copy of the left child

shap's values follow from two things: which leaf a row reaches, and the shares in which the rows of
a node are divided when its feature is unknown. Both stay the same: the weight of a side is divided
among its runs, in any proportion. That is why a later split on the same feature also keeps both
sides where all labels of a run go to the same side: when the feature is unknown, rows are divided
there, too. Its threshold is then infinite, and the copies do not multiply any further.

The number of copies of a leaf is at most the product of the numbers of labels over the categorical
features of its path, and mostly far less.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._categories import as_cells

# All trees of a model may have as many nodes in total.
MOST_NODES = 2_000_000


class _Run(NamedTuple):
    """Labels that go to the same side of a split, next to each other in the order of the cells."""

    child: int
    # The share of the child's rows that come this way.
    share: float
    # The labels are `start..end`; none if a row that reaches the split can't go to this side.
    start: int
    end: int


class _Task(NamedTuple):
    """A node to write, and the path that leads to it."""

    node: int
    # The share of the node's rows that come this way.
    share: float
    # Per categorical feature of the path, the labels `start..end` that rows have here.
    ranges: dict[int, tuple[int, int]]
    # The list that gets the number of the written node, and the index in it.
    place: tuple[list[int], int]
    # The runs that the thresholds so far have not told apart; None for the whole node.
    runs: list[_Run] | None = None


def by_thresholds(tree: _core.Tree, labels: Any, room: int) -> dict[str, Any]:
    """Describe a tree for shap, in at most ``room`` nodes.

    ``labels`` are the labels of the categorical features, or None if the tree was fitted to codes.
    """
    return _Writer(tree, labels, room).write()


class _Writer:
    """The nodes written so far: one entry per node in each list."""

    def __init__(self, tree: _core.Tree, labels: Any, room: int) -> None:
        self._tree, self._room = tree, room
        state = tree._state()["categories"]
        self._cells = [
            as_cells(count, None if labels is None else labels[feature], np.dtype(np.float64))
            for feature, count in enumerate([] if state is None else state["counts"])
        ]
        # Which labels go left, for each split on categories.
        self._goes_left: dict[int, NDArray[np.bool_]] = {}
        self._nodes: list[int] = []
        self._left: list[int] = []
        self._right: list[int] = []
        self._missing_left: list[bool] = []
        self._threshold: list[float] = []
        self._weight: list[float] = []

    def write(self) -> dict[str, Any]:
        tasks = [_Task(0, 1.0, {}, ([-1], 0))]
        while tasks:
            task = tasks.pop()
            if len(self._nodes) == self._room:
                raise ValueError(
                    "to_shap: as thresholds, the splits on categories take more than "
                    f"{MOST_NODES:,} nodes; fit shallower trees or fewer of them"
                )
            numbers, index = task.place
            numbers[index] = len(self._nodes)
            tasks += self._write_node(task)
        left, right = np.array(self._left), np.array(self._right)
        nodes = np.array(self._nodes)
        return {
            "children_left": left,
            "children_right": right,
            "children_default": np.where(self._missing_left, left, right),
            "features": self._tree.feature[nodes],
            "thresholds": np.array(self._threshold),
            "values": self._tree.value.reshape(self._tree.node_count, -1)[nodes],
            "node_sample_weight": np.array(self._weight),
        }

    def _write_node(self, task: _Task) -> list[_Task]:
        """Write a node, and get the tasks for its children."""
        tree, node = self._tree, task.node
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        weight = tree.weighted_n_node_samples
        missing_left = bool(tree.missing_go_to_left[node])
        if left < 0 or not np.isnan(tree.threshold[node]):
            places = self._add(node, tree.threshold[node], missing_left, weight[node] * task.share)
            if left < 0:
                return []
            return [
                _Task(child, task.share, task.ranges, place)
                for child, place in zip((left, right), places, strict=True)
            ]
        runs = self._runs(node, left, right, task.ranges) if task.runs is None else task.runs
        halves = runs[: len(runs) // 2], runs[len(runs) // 2 :]
        # Runs alternate between the sides, so a half without the side of missing values is one run.
        places = self._add(
            node,
            self._between(tree.feature[node], halves[0][-1], halves[1][0]),
            any((run.child == left) == missing_left for run in halves[0]),
            sum(weight[run.child] * run.share for run in runs) * task.share,
        )
        return [
            self._to_child(task, half[0], place)
            if len(half) == 1
            else task._replace(runs=half, place=place)
            for half, place in zip(halves, places, strict=True)
        ]

    def _add(
        self, node: int, threshold: float, missing_left: bool, weight: float
    ) -> tuple[tuple[list[int], int], tuple[list[int], int]]:
        """Write a node, and get the places for the numbers of its children."""
        number = len(self._nodes)
        self._nodes.append(node)
        self._left.append(-1)
        self._right.append(-1)
        self._missing_left.append(missing_left)
        self._threshold.append(float(threshold))
        self._weight.append(float(weight))
        return (self._left, number), (self._right, number)

    def _to_child(self, task: _Task, run: _Run, place: tuple[list[int], int]) -> _Task:
        ranges = task.ranges | {int(self._tree.feature[task.node]): (run.start, run.end)}
        return _Task(run.child, task.share * run.share, ranges, place)

    def _runs(
        self, node: int, left: int, right: int, ranges: dict[int, tuple[int, int]]
    ) -> list[_Run]:
        """Get the runs of a split, in the order of the cells; at least one for each side."""
        if node not in self._goes_left:
            mask = np.zeros(len(self._cells[self._tree.feature[node]]), dtype=bool)
            mask[self._tree.categories_left(node)] = True
            self._goes_left[node] = mask
        goes_left = self._goes_left[node]
        start, end = ranges.get(int(self._tree.feature[node]), (0, len(goes_left)))
        here = goes_left[start:end]
        n_left = int(here.sum())
        if n_left in (0, len(here)):
            # Rows that come this way have no label of the other side.
            middle = end if n_left else start
            return [_Run(left, 1.0, start, middle), _Run(right, 1.0, middle, end)]
        ends = [start, *(start + 1 + np.flatnonzero(here[1:] != here[:-1])).tolist(), end]
        n_side = {True: n_left, False: len(here) - n_left}
        runs = []
        for first, last in pairwise(ends):
            is_left = bool(goes_left[first])
            share = (last - first) / n_side[is_left]
            runs.append(_Run(left if is_left else right, share, first, last))
        return runs

    def _between(self, feature: int, lower: _Run, upper: _Run) -> float:
        """Get a threshold that cells of one run are below, and those of the next are above."""
        if lower.start == lower.end:
            return -np.inf
        if upper.start == upper.end:
            return np.inf
        cells = self._cells[feature]
        below, above = float(cells[lower.end - 1]), float(cells[upper.start])
        middle = below / 2 + above / 2
        # There may be no float64 between two labels, and the middle of infinite ones is a NaN.
        return middle if below <= middle < above else below
