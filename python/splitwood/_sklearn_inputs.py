"""What users pass to an estimator → arrays that the core can read, checked by scikit-learn.

The steps are those of `_inputs.py`. The core checks the values of targets and weights, and the
number of weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from ._categories import (
    codes_of,
    encode,
    find_categorical,
    find_labels,
    is_missing,
    warn_of_identifiers,
)
from ._frames import gather
from ._inputs import CELL_DTYPES, aligned, label_dtype, read_labelled, read_rows
from ._sparse import is_sparse, sparse_columns

if TYPE_CHECKING:
    from ._base import BaseModel

_NUMBERS = {"dtype": list(CELL_DTYPES), "ensure_all_finite": False}

# Rows and targets.
Training = tuple[NDArray[Any], NDArray[Any]]


def checked_rows(estimator: BaseModel, X: ArrayLike) -> Any:
    """Get ``X`` as an array or a CSR matrix, with the features that the estimator was fitted to."""
    return read_rows(X, estimator._codes, PredictionChecks(estimator))


def unchecked_rows(X: Any) -> Any:
    """Get ``X`` as an array or a CSR matrix, without any check but those of the core."""
    return X.tocsr() if is_sparse(X) else np.asarray(X)


def core_columns(rows: Any) -> Any:
    """Get checked training rows in the form that the core reads: an array, or sparse columns."""
    return sparse_columns(rows) if is_sparse(rows) else aligned(rows)


def checked_training(
    estimator: BaseModel, X: ArrayLike, y: ArrayLike, check_input: bool = True
) -> Training:
    """Get ``X`` and ``y`` as arrays, and set the attributes that describe the features."""
    estimator.is_categorical_ = estimator.categories_ = estimator._codes = None
    if check_input and not _is_plain_vector(y):
        refuse_streams("y", y)
        refuse_missing_targets(y)
    checks = _FitChecks(estimator, y)
    if estimator.categorical_features is not None:
        return _checked_categories(estimator, X, checks)
    # The common case skips scikit-learn's validation, which takes much of the time of a small fit.
    # Input that scikit-learn would convert, refuse or warn about is validated.
    if _is_plain_table(X) and _is_plain_vector(y) and len(X) == len(y):
        rows, targets = X, y
    elif check_input:
        return read_rows(X, None, checks)
    else:
        rows, targets = _unchecked_columns(X), np.asarray(y)
    estimator.n_features_in_ = rows.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return rows, targets


def _unchecked_columns(X: Any) -> Any:
    """Get ``X`` as an array or a CSC matrix, without any check but those of the core."""
    rows = X.tocsc() if is_sparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X: must be a table, got shape {rows.shape}")
    return rows


def _checked_categories(estimator: BaseModel, X: ArrayLike, checks: _FitChecks) -> Training:
    """Check training data with categorical features, whose labels become codes."""
    n_rows, columns = read_labelled(X, checks)
    names = getattr(estimator, "feature_names_in_", None)
    mask = find_categorical(estimator.categorical_features, columns, names)
    if mask.any():
        # Labels are first collected, then encoded; the rows are read once.
        columns = [column._replace(factorize=cache(column.factorize)) for column in columns]
        estimator.is_categorical_ = mask
        estimator.categories_ = [
            find_labels(column) if is_categorical else None
            for column, is_categorical in zip(columns, mask, strict=True)
        ]
        warn_of_identifiers(columns, estimator.categories_)
        estimator._codes = [
            None if labels is None else codes_of(labels) for labels in estimator.categories_
        ]
        columns = encode(columns, estimator._codes)
    return checks.cells(gather(n_rows, columns))


class _FitChecks:
    """scikit-learn's checks of a fit, which also set the number and the names of the features."""

    def __init__(self, estimator: BaseModel, y: ArrayLike) -> None:
        self._estimator, self._y = estimator, y

    def names(self, X: Any) -> None:
        validate_data(self._estimator, X, self._y, skip_check_array=True)

    def array(self, X: ArrayLike) -> Training:
        with _words_explained(X):
            rows, targets = validate_data(
                self._estimator, X, self._y, accept_sparse="csc", multi_output=True, **_NUMBERS
            )
        return rows, targets

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        array: NDArray[Any]
        array, self._y = validate_data(
            self._estimator, X, self._y, multi_output=True, **_label_settings(X)
        )
        return array

    def cells(self, cells: NDArray[Any]) -> Training:
        rows, targets = check_X_y(
            cells, self._y, multi_output=True, estimator=self._estimator, **_NUMBERS
        )
        return rows, targets


class PredictionChecks:
    """scikit-learn's checks of a prediction, against the features of the fit."""

    def __init__(self, estimator: BaseModel) -> None:
        self._estimator = estimator

    def names(self, X: Any) -> None:
        validate_data(self._estimator, X, reset=False, skip_check_array=True)

    def array(self, X: ArrayLike) -> Any:
        with _words_explained(X):
            return validate_data(self._estimator, X, reset=False, accept_sparse="csr", **_NUMBERS)

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        array: NDArray[Any] = validate_data(self._estimator, X, reset=False, **_label_settings(X))
        return array

    def cells(self, cells: NDArray[Any]) -> Any:
        return check_array(cells, estimator=self._estimator, input_name="X", **_NUMBERS)


def _label_settings(X: ArrayLike) -> dict[str, Any]:
    """Get scikit-learn's settings to validate an array in which some columns hold labels."""
    if is_sparse(X):
        raise ValueError(
            "categorical_features: categories in sparse X are not supported; pass X.toarray()"
        )
    return {"dtype": label_dtype(X), "ensure_all_finite": False}


def _is_plain_table(X: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether the core reads ``X`` in place."""
    return type(X) is np.ndarray and X.dtype in CELL_DTYPES and X.ndim == 2 and X.size > 0


def _is_plain_vector(y: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether ``y`` is a vector of finite real numbers."""
    return (
        type(y) is np.ndarray
        and y.dtype.kind in "iuf"
        and y.ndim == 1
        and bool(np.isfinite(y).all())
    )


def refuse_streams(name: str, column: object) -> None:
    """Refuse tables that only Arrow's stream interface can read, such as relations of duckdb."""
    kind = type(column)
    if hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "__array__"):
        raise TypeError(
            f"{name}: is a {kind.__name__}, a table that is read as X only; pass one of its "
            f'columns, for example pyarrow.table({name})["…"]'
        )


def refuse_missing_targets(y: ArrayLike) -> None:
    """Refuse None and NaN among objects, for which scikit-learn's error does not name y."""
    try:
        targets = None if is_sparse(y) else np.asarray(y)
        if targets is not None and targets.dtype.kind == "U":
            # Among words in a list, NaN has become the word "nan".
            targets = np.asarray(y, dtype=object)
    except ValueError:
        # Lists of several lengths, which scikit-learn refuses.
        return
    if targets is None or targets.ndim == 0 or not targets.dtype.hasobject:
        return
    for place, value in enumerate(targets.flat):
        if is_missing(value):
            row = place // max(1, targets[0].size if targets.ndim > 1 else 1)
            raise ValueError(
                f"Input y contains NaN. y[{row}] is {value!r}: drop the rows without a target"
            )


@contextmanager
def _words_explained(X: ArrayLike) -> Iterator[None]:
    """Replace numpy's error about a string in ``X`` by one that says where it is and what to do."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("could not convert string"):
            raise
        array = np.asarray(X, dtype=object)
        for (row, column), cell in np.ndenumerate(array):
            if isinstance(cell, str | bytes) and not _is_number(cell):
                raise ValueError(
                    f"X: column {column} holds strings, such as {cell!r:.40} in row {row}; fit "
                    "with it among the categorical_features, encode it as numbers, for example "
                    "with sklearn.preprocessing.OrdinalEncoder, or drop it"
                ) from None
        raise


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_numbers(y: NDArray[Any]) -> NDArray[np.float64]:
    """Convert the targets of a regression; numpy would parse strings such as ``"1.5"``."""
    if y.dtype.kind in "OSU" and any(isinstance(value, str | bytes) for value in y.flat):
        raise ValueError("y: a regressor needs numbers, got strings")
    return np.require(y, np.float64, ["C", "A"])


def as_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
    """Convert weights to a vector; one number is the weight of every row."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        return np.full(n_samples, sample_weight, dtype=np.float64)
    refuse_streams("sample_weight", sample_weight)
    try:
        weights = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite=False,
            input_name="sample_weight",
        )
    except ValueError as error:
        if not str(error).startswith("could not convert string"):
            raise
        raise ValueError(f"sample_weight: must be numbers; {error}") from None
    if weights.ndim != 1:
        raise ValueError(f"sample_weight: must have one dimension, got shape {weights.shape}")
    if len(weights) != n_samples:
        raise ValueError(f"sample_weight: has {len(weights)} entries, but X has {n_samples} rows")
    return np.require(weights, np.float64, ["C", "A"])
