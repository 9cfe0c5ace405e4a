"""Bags: how often each training row counts in each tree of a forest.

A bag is drawn with replacement, or is the user's own. Drawn bags are not stored: a tree's seed and
a few numbers give its bag again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core

# An array of counts with one column per tree, or a function that draws the counts of one tree.
OwnBags = ArrayLike | Callable[[np.random.Generator], ArrayLike] | None

Counts = NDArray[np.uint32]

# A bag counts in 32 bits.
MAX_DRAWS = 2**32 - 1


@dataclass(frozen=True)
class Bags:
    """The bags of the trees of one fit."""

    n_rows: int
    # One per tree.
    seeds: NDArray[np.uint64]
    # How many rows are drawn; None if every tree has all rows, or if `own` has the counts.
    n_draws: int | None
    # Rows are drawn with probabilities in proportion to these weights; None if all are equal.
    weights: NDArray[np.float64] | None
    # One row of counts per tree.
    own: Counts | None

    @property
    def leave_rows_out(self) -> bool:
        return self.n_draws is not None or self.own is not None

    def settings(self) -> dict[str, Any]:
        """Get the settings of the core."""
        return {"seeds": self.seeds, "n_draws": self.n_draws, "bags": self.own}

    def counts(self, tree: int) -> Counts:
        """Get how often each row counts in a tree."""
        if self.own is not None:
            counts: Counts = self.own[tree]
            return counts
        if self.n_draws is None:
            return np.ones(self.n_rows, dtype=np.uint32)
        return _core.bag_counts(int(self.seeds[tree]), self.n_rows, self.n_draws, self.weights)


def counts_of_trees(bags: list[Bags]) -> list[Callable[[], Counts]]:
    """Get, for each tree of several fits, a function that gives its counts."""
    return [
        lambda part=part, tree=tree: part.counts(tree)  # type: ignore[misc]
        for part in bags
        for tree in range(len(part.seeds))
    ]


def number_of_draws(
    max_samples: object, n_rows: int, weights: NDArray[np.float64] | None
) -> int | None:
    """Convert ``max_samples`` to a number of rows, as scikit-learn does."""
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, bool) or not isinstance(max_samples, Real):
        raise ValueError(f"max_samples: must be a number or None, got {max_samples!r}")
    if isinstance(max_samples, Integral):
        if max_samples < 1:
            raise ValueError(f"max_samples: must be at least 1, got {max_samples!r}")
        return _countable(int(max_samples))
    share = float(max_samples)
    if not (isfinite(share) and share > 0.0):
        raise ValueError(f"max_samples: a share must be positive and finite, got {max_samples!r}")
    total = n_rows if weights is None else float(weights.sum())
    if not isfinite(total):
        # The core refuses such weights.
        return 1
    n_draws = max(_countable(share * total), 1)
    if n_draws < max(10, n_rows ** (1 / 3)):
        kind = "the number of rows" if weights is None else "the sum of the weights"
        warn(
            f"max_samples: {max_samples} of {total}, {kind}, results in a low number ({n_draws}) "
            "of bootstrap samples; pass an integer to draw that many rows",
            UserWarning,
            stacklevel=4,
        )
    return n_draws


def _countable(n_draws: float) -> int:
    if n_draws > MAX_DRAWS:
        raise ValueError(
            f"max_samples: must draw 1 to {MAX_DRAWS} rows, got {n_draws}; a share is one of "
            "the sum of the weights, if there are any"
        )
    return int(n_draws)


def own_counts(bags: OwnBags, n_rows: int, seeds: NDArray[np.uint64]) -> Counts | None:
    """Check the user's own bags, and get them with one row per tree; None if there are none."""
    if bags is None:
        return None
    if callable(bags):
        drawn = [_vector(bags(np.random.default_rng(int(seed))), n_rows) for seed in seeds]
        counts = np.stack(drawn) if drawn else np.empty((0, n_rows), dtype=np.uint32)
    else:
        table = np.asarray(bags)
        if table.shape != (n_rows, len(seeds)):
            raise ValueError(
                f"bags: must have a row per row of X and a column per new tree, {n_rows} × "
                f"{len(seeds)}, got shape {table.shape}"
            )
        counts = _counts(table.T)
    if (empty := np.flatnonzero(~counts.any(axis=1))).size:
        raise ValueError(f"bags: the bag of tree {empty[0]} is empty; a tree needs a row")
    return np.ascontiguousarray(counts)


def _vector(counts: ArrayLike, n_rows: int) -> Counts:
    vector = np.asarray(counts)
    if vector.shape != (n_rows,):
        raise ValueError(
            f"bags: the function must return {n_rows} counts, one per row of X, got shape "
            f"{vector.shape}"
        )
    return _counts(vector)


def _counts(values: NDArray[Any]) -> Counts:
    if values.dtype.kind not in "biuf" or not (
        np.all(values >= 0) and np.all(values <= MAX_DRAWS) and np.all(values == np.floor(values))
    ):
        raise ValueError(f"bags: counts must be integers of at least 0 and at most {MAX_DRAWS}")
    return values.astype(np.uint32)
