"""Values of leaves → predictions of estimators and models.

For several outputs, ``classes`` is a list of arrays and ``n_classes`` a list or an array; for one
output, they are an array and a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

# Class codes are converted to labels in chunks of 256 kB, so that the memory does not grow with the
# number of rows.
_CODES_PER_CHUNK = 1 << 15


def numbers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Get a vector of predictions or, for several outputs, a matrix with one column per output."""
    return values[:, 0] if values.shape[1] == 1 else values


def labels(
    fitted: _core.Tree | _core.Forest,
    classes: NDArray[Any],
    rows: NDArray[Any],
    n_jobs: int | None,
) -> NDArray[Any]:
    """Get the label with the largest share in each row's leaf or leaves, for one output.

    If shares are equal, the first label wins.
    """
    answers: NDArray[Any] = np.empty(len(rows), classes.dtype)
    for start in range(0, len(rows), _CODES_PER_CHUNK):
        part = slice(start, start + _CODES_PER_CHUNK)
        # With mode="raise", numpy would copy `out`.
        classes.take(fitted.predict_class(rows[part], n_jobs), out=answers[part], mode="clip")
    return answers


def likeliest(classes: Any, proba: Any) -> NDArray[Any]:
    """Get the labels with the largest shares; if shares are equal, the first label wins."""
    if not isinstance(classes, list):
        answers: NDArray[Any] = classes.take(proba.argmax(axis=1))
        return answers
    each = zip(classes, proba, strict=True)
    return np.stack([labels.take(shares.argmax(axis=1)) for labels, shares in each], axis=1)


def shares(values: NDArray[np.float64], n_classes: Any) -> Any:
    """Get the shares of the classes from the values of the rows' leaves."""
    if np.ndim(n_classes) == 0:
        return values
    # Every output has as many columns as the output with the most classes.
    outputs = np.split(values, len(n_classes), axis=1)
    return [output[:, :count] for output, count in zip(outputs, n_classes, strict=True)]


def logarithm(proba: Any) -> Any:
    """Get the natural logarithm of shares; that of 0 is -inf. An array is overwritten."""
    with np.errstate(divide="ignore"):
        if isinstance(proba, list):
            return [np.log(shares) for shares in proba]
        return np.log(proba, out=proba)
