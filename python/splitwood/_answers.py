"""What a tree says → what estimators and models answer.

Of several outputs, ``classes`` is a list of arrays and ``n_classes`` an array; of one they are an array
and a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

# Class codes become labels in parts, so that their memory does not grow with the rows: 256 kB.
_CODES_AT_A_TIME = 1 << 15


def numbers(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predicted numbers from those in the rows' leaves: a vector, or a column for each of several outputs."""
    return values[:, 0] if values.shape[1] == 1 else values


def labels(
    tree: _core.Tree, classes: NDArray[Any], rows: NDArray[Any], n_jobs: int | None
) -> NDArray[Any]:
    """The label with the largest share of each row's leaf, the first of equal ones; of one output."""
    answers: NDArray[Any] = np.empty(len(rows), classes.dtype)
    for start in range(0, len(rows), _CODES_AT_A_TIME):
        part = slice(start, start + _CODES_AT_A_TIME)
        # mode="raise" would copy `out`.
        classes.take(tree.predict_class(rows[part], n_jobs), out=answers[part], mode="clip")
    return answers


def likeliest(classes: Any, proba: Any) -> NDArray[Any]:
    """The labels with the largest shares, the first of equal ones."""
    if not isinstance(classes, list):
        answers: NDArray[Any] = classes.take(proba.argmax(axis=1))
        return answers
    each = zip(classes, proba, strict=True)
    return np.stack([labels.take(shares.argmax(axis=1)) for labels, shares in each], axis=1)


def shares(values: NDArray[np.float64], n_classes: Any) -> Any:
    """The classes' shares from the numbers in the rows' leaves."""
    if np.ndim(n_classes) == 0:
        return values
    # As many columns for each output as the one with most classes needs.
    outputs = np.split(values, len(n_classes), axis=1)
    return [output[:, :count] for output, count in zip(outputs, n_classes, strict=True)]


def logarithm(proba: Any) -> Any:
    """The natural logarithm of shares; that of 0 is -inf."""
    with np.errstate(divide="ignore"):
        if isinstance(proba, list):
            return [np.log(shares) for shares in proba]
        return np.log(proba, out=proba)
