"""The targets of the rows of each leaf, from which a tree predicts any quantile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length

from . import _core
from ._sklearn_inputs import as_numbers, as_weights


class LeafTargets(NamedTuple):
    """Targets in ascending order within each leaf, leaf after leaf."""

    # The targets of node i are at indptr[i]:indptr[i + 1]; only leaves have any.
    indptr: NDArray[np.int64]
    y: NDArray[np.float64]
    # None if every row has the same weight.
    weights: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        leaves: NDArray[np.int64],
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        n_nodes: int,
    ) -> LeafTargets:
        """Group the targets of rows by their leaves; rows of weight zero are left out."""
        targets = as_numbers(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
        weights = as_weights(sample_weight, len(leaves))
        check_consistent_length(leaves, targets, weights)
        if targets.ndim != 1:
            raise ValueError(f"y: must have one dimension, got shape {targets.shape}")
        if weights is not None:
            if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
                raise ValueError("sample_weight: must be finite and not negative")
            counted = weights > 0.0
            leaves, targets, weights = leaves[counted], targets[counted], weights[counted]
        order = np.lexsort((targets, leaves))
        return cls(
            indptr=np.searchsorted(leaves[order], np.arange(n_nodes + 1)).astype(np.int64),
            y=targets[order],
            weights=None if weights is None else weights[order],
        )

    def quantiles(self, leaves: NDArray[np.int64], quantiles: ArrayLike) -> NDArray[np.float64]:
        """Get the quantiles of the leaves: a column per level, or a vector for one number."""
        levels = _checked_levels(quantiles)
        found = np.empty((len(leaves), levels.size))
        for column, level in enumerate(levels.ravel().tolist()):
            of_nodes = _core.grouped_quantiles(self.indptr, self.y, self.weights, level)
            found[:, column] = of_nodes[leaves]
        return found[:, 0] if levels.ndim == 0 else found


def _checked_levels(quantiles: ArrayLike) -> NDArray[Any]:
    try:
        levels = np.asarray(quantiles)
    except ValueError:
        # Lists of several lengths.
        levels = np.empty((1, 1))
    if levels.ndim > 1 or levels.dtype.kind not in "iuf":
        raise ValueError(f"quantiles: must be a number or a sequence of numbers, got {quantiles!r}")
    for level in levels.ravel().tolist():
        if not 0.0 < level < 1.0:
            raise ValueError(f"quantiles: must be strictly between 0 and 1, got {level}")
    return levels
