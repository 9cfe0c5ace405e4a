"""Importances of features from the rows that a tree has not seen.

The importance of a feature for a tree is the sum over its splits, over the rows ``i`` of the
children ``c`` of the split node ``t``, of ``(value[c] - value[t]) * (y[i] - value[t])``. Over the
rows that the tree has seen, this is the decrease of the squared error or, with classes as vectors
of zeros and ones, of the Gini impurity: it is positive for every split, also for those on noise.
Over the rows that the tree has not seen, its expectation for noise is 0 (Li et al., "A debiased MDI
feature importance measure for random forests", 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._bags import Counts

Floats = NDArray[np.float64]


def unbiased_importances(
    forest: _core.Forest,
    counts: list[Callable[[], Counts]],
    rows: Any,
    targets: Floats,
    n_jobs: int | None,
) -> Floats:
    """Get the importances, scaled to a sum of 1 if that is positive.

    ``targets`` has a column per value of a leaf.
    """
    total = np.zeros(forest.n_features)
    for number, counts_of in enumerate(counts):
        left_out = np.flatnonzero(counts_of() == 0)
        if left_out.size:
            tree = forest.tree(number)
            leaves = tree.apply(rows[left_out], n_jobs)
            total += _of_tree(tree, leaves, targets[left_out]) / left_out.size
    scale = total.sum()
    return total / scale if scale > 0.0 else total


def _of_tree(tree: _core.Tree, leaves: NDArray[np.int64], targets: Floats) -> Floats:
    """Sum ``(value[c] - value[t]) * (y - value[t])`` over rows and splits, per feature."""
    inner = np.flatnonzero(tree.children_left >= 0)
    value = tree.value.reshape(tree.node_count, -1)
    ends = subtree_ends(tree.children_left < 0)
    n_rows = _sums_of_nodes(np.bincount(leaves, minlength=tree.node_count), ends)
    gained = np.zeros(len(inner))
    for column, y in enumerate(targets.T):
        sums = _sums_of_nodes(np.bincount(leaves, y, minlength=tree.node_count), ends)
        own = value[inner, column]
        for child in (tree.children_left[inner], tree.children_right[inner]):
            gained += (value[child, column] - own) * (sums[child] - n_rows[child] * own)
    found = np.bincount(tree.feature[inner], gained, minlength=tree.n_features)
    return found.astype(np.float64, copy=False)


def subtree_ends(is_leaf: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Get, for each node in depth-first order, the number behind the last node of its subtree.

    Let a leaf count 1 and an inner node -1. The subtree of a node ends where the count from the
    node on first is 1::

        node    0  1  2  3  4        0 is the root, with children 1 and 4;
        count  -1 -1  1  1  1        2 and 3 are the children of 1
        end     5  4  3  4  5
    """
    n = len(is_leaf)
    level = np.cumsum(np.where(is_leaf, 1, -1))
    # Nodes by level, then by number: the first one of the wanted level from the node on.
    keys = (level + n) * n + np.arange(n)
    keys.sort()
    before = level - np.where(is_leaf, 1, -1)
    wanted = (before + 1 + n) * n + np.arange(n)
    ends: NDArray[np.int64] = keys[np.searchsorted(keys, wanted)] % n + 1
    return ends


def _sums_of_nodes(of_leaves: NDArray[Any], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Add up numbers of leaves in each subtree."""
    sums = np.concatenate(([0], np.cumsum(of_leaves)))
    return sums[ends] - sums[:-1]
