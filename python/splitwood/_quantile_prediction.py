"""Quantiles of the targets in the leaves of rows: what quantile forests and their models share.

It needs numpy alone, so that models predict without scikit-learn.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._forest_leaves import ForestLeaves, Interpolation, check_interpolation

Quantiles = float | list[float] | Literal["mean"] | None


class QuantilePrediction:
    """A forest and the training rows in its leaves."""

    forest_: _core.Forest
    n_jobs: int | None
    _leaves: ForestLeaves
    # The same for the core, with an entry per output; empty until it is needed.
    _in_core: list[_core.LeafTargets]

    def _core_leaves(self) -> list[_core.LeafTargets]:
        """Get the targets in the leaves, for the core, which are made at the first prediction."""
        if not self._in_core:
            # A prediction may change no attribute.
            self._in_core[:] = self._leaves.in_core(self.forest_)
        return self._in_core

    def _quantiles(
        self,
        rows: Any,
        levels: NDArray[np.float64] | None,
        interpolation: Interpolation,
        weighted: bool,
        together: bool,
        mask: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        """Get quantiles for checked rows, or means if there are no levels.

        The axes are rows, outputs and levels; those of one output or level are left out.
        """
        check_interpolation(interpolation)
        if levels is None or weighted or not together or not isinstance(rows, np.ndarray):
            leaves = self.forest_.apply(rows, self.n_jobs)
            found = self._leaves.quantiles(leaves, mask, levels, interpolation, weighted, together)
        else:
            outputs = [
                targets.quantiles(rows, levels.tolist(), interpolation, mask, self.n_jobs)
                for targets in self._core_leaves()
            ]
            found = np.stack(outputs, axis=1)
        axes = tuple(axis for axis in (1, 2) if found.shape[axis] == 1)
        return found.squeeze(axis=axes)


def checked_levels(quantiles: Any) -> NDArray[np.float64] | None:
    """Check the levels of quantiles; None means the mean."""
    if isinstance(quantiles, str) or quantiles is None:
        if quantiles not in ("mean", None):
            raise ValueError(f'quantiles: must be numbers or "mean", got {quantiles!r}')
        return None
    levels = [quantiles] if np.ndim(quantiles) == 0 else list(quantiles)
    if levels == ["mean"]:
        return None
    if not levels:
        raise ValueError("quantiles: must not be empty")
    for level in levels:
        if not (isinstance(level, Real) and 0.0 <= float(level) <= 1.0):
            raise ValueError(f"quantiles: Quantiles must be in the range [0, 1], got {level!r}")
    return np.array(levels, dtype=np.float64)
