"""What trees say → what estimators and models answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

# Class codes become labels in parts, so that their memory does not grow with the rows: 256 kB.
_CODES_AT_A_TIME = 1 << 15


def likeliest_labels(
    tree: _core.Tree, classes: NDArray[Any], rows: NDArray[Any], n_jobs: int | None
) -> NDArray[Any]:
    """The label with the largest share of each row's leaf, the first of equal ones."""
    labels: NDArray[Any] = np.empty(len(rows), classes.dtype)
    for start in range(0, len(rows), _CODES_AT_A_TIME):
        part = slice(start, start + _CODES_AT_A_TIME)
        # mode="raise" would copy `out`.
        classes.take(tree.predict_class(rows[part], n_jobs), out=labels[part], mode="clip")
    return labels


def logarithm(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """The natural logarithm of shares, in their place; that of 0 is -inf."""
    with np.errstate(divide="ignore"):
        return np.log(proba, out=proba)
