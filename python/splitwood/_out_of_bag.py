"""Predictions for rows by the trees whose bags do not have them, and what follows from these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._bags import Counts

Floats = NDArray[np.float64]
# The feature of a leaf.
_LEAF = -2
# The sums of predictions, with a column per value of a leaf; and the number of trees per row.
OutOfBag = tuple[Floats, NDArray[np.uint32]]


def out_of_bag_sums(
    forest: _core.Forest, counts: list[Callable[[], Counts]], rows: Any, n_jobs: int | None
) -> OutOfBag:
    """Add up the predictions of the trees that have not seen a row, and count these trees."""
    return _sums(forest, (np.flatnonzero(counts_of() == 0) for counts_of in counts), rows, n_jobs)


def _sums(
    forest: _core.Forest, left_out: Iterable[NDArray[np.intp]], rows: Any, n_jobs: int | None
) -> OutOfBag:
    n_rows = rows.shape[0]
    sums = np.zeros((n_rows, forest.n_values))
    n_trees = np.zeros(n_rows, dtype=np.uint32)
    for number, places in enumerate(left_out):
        if places.size:
            sums[places] += forest.tree(number).predict(rows[places], n_jobs)
            n_trees[places] += 1
    return sums, n_trees


def out_of_bag_means(out_of_bag: OutOfBag) -> Floats:
    """Get the mean predictions; 0 for rows without any, as in scikit-learn."""
    sums, n_trees = out_of_bag
    return sums / np.maximum(n_trees, 1)[:, None]


def permuted_scores(
    forest: _core.Forest,
    counts: list[Callable[[], Counts]],
    rows: Floats,
    score: Callable[[OutOfBag], float],
    n_repeats: int,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> Floats:
    """Get how much the score of rows out of the bags drops if a feature is shuffled.

    The result has a row per feature and a column per repeat.
    """
    left_out = [np.flatnonzero(counts_of() == 0) for counts_of in counts]
    used = set(np.concatenate([forest.tree(i).feature for i in range(forest.n_trees)]).tolist())
    baseline = score(_sums(forest, left_out, rows, n_jobs))
    found = np.full((forest.n_features, n_repeats), baseline)
    shuffled = rows.copy()
    for feature in sorted(used - {_LEAF}):
        for repeat in range(n_repeats):
            shuffled[:, feature] = rows[random.permutation(len(rows)), feature]
            found[feature, repeat] = score(_sums(forest, left_out, shuffled, n_jobs))
        shuffled[:, feature] = rows[:, feature]
    return baseline - found
