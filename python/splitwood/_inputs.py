"""Rows of any kind → arrays that the core can read.

A fit, a prediction of an estimator and a prediction of a `Model` read rows in the same steps; only
the checks differ. Estimators use scikit-learn's checks (`_sklearn_inputs.py`). A `Model` uses
`NumpyChecks`: it must work without scikit-learn, so this module imports neither scikit-learn nor
scipy.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._categories import Codes, encode
from ._frames import Column, array_columns, from_stream, gather, read_columns, read_frame

# The core reads these dtypes in place; every other dtype is converted to the first one.
CELL_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))

Checked = TypeVar("Checked", covariant=True)


class Checks(Protocol[Checked]):
    """The checks that differ between a fit, an estimator's prediction and a model's prediction."""

    def names(self, X: Any) -> None:
        """Check the column names of a data frame."""

    def array(self, X: ArrayLike) -> Checked:
        """Check anything but a data frame, and convert it to an array of numbers."""

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        """Check anything but a data frame, and convert it to an array of numbers or of objects."""

    def cells(self, cells: NDArray[Any]) -> Checked:
        """Check the numbers that were read from a data frame or from labels."""


def read_rows(X: ArrayLike, codes: Codes | None, checks: Checks[Checked]) -> Checked:
    """Read the rows of ``X``; ``codes`` maps the labels of categorical features to their codes."""
    X = from_stream(X)
    if codes is not None:
        n_rows, columns = read_labelled(X, checks)
        if len(columns) != len(codes):
            raise ValueError(f"X: must have {len(codes)} features, got {len(columns)}")
        return checks.cells(gather(n_rows, encode(columns, codes)))
    cells = read_frame(X)
    if cells is None:
        return checks.array(X)
    checks.names(X)
    return checks.cells(cells)


def read_labelled(X: Any, checks: Checks[Any]) -> tuple[int, list[Column]]:
    """Read the number of rows and the columns of ``X``, some of which may hold labels."""
    X = from_stream(X)
    columns = read_columns(X)
    if columns is not None:
        checks.names(X)
        return len(X), columns
    array = checks.labels(X)
    return len(array), array_columns(array)


def label_dtype(X: object) -> type[object] | None:
    """Get the dtype in which labels are read: None keeps that of an array of numbers."""
    is_numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    return None if is_numeric else object


def aligned(X: NDArray[Any]) -> NDArray[Any]:
    """Copy ``X`` if its cells cross word boundaries, as those of packed records do."""
    return X if X.flags.aligned else X.copy()


class NumpyChecks:
    """The checks of a `Model`, with numpy alone. The core checks the number of features."""

    def __init__(self, feature_names: NDArray[Any] | None) -> None:
        self._expected = None if feature_names is None else feature_names.tolist()

    def names(self, X: Any) -> None:
        # The attribute `columns` of a pyarrow table holds arrays.
        columns = X.column_names if hasattr(type(X), "column_names") else X.columns
        names = [name for name in columns if isinstance(name, str)]
        if self._expected is not None and len(names) == len(columns) and names != self._expected:
            raise ValueError(
                f"X: the feature names should match those that were passed during fit, "
                f"{self._expected}, in their order; got {names}"
            )

    def array(self, X: ArrayLike) -> NDArray[Any]:
        return self.cells(np.asarray(X))

    def labels(self, X: ArrayLike) -> NDArray[Any]:
        array = np.asarray(X, dtype=label_dtype(X))
        if array.ndim != 2:
            raise ValueError(f"X: must be a table, got shape {array.shape}")
        return array

    def cells(self, cells: NDArray[Any]) -> NDArray[Any]:
        if cells.dtype.kind not in "biufO" or cells.ndim != 2 or len(cells) == 0:
            raise ValueError(
                "X: must be a table of numbers with at least one row, "
                f"got shape {cells.shape} of {cells.dtype}"
            )
        # numpy would convert strings such as "1.5" to numbers without a warning.
        if cells.dtype.hasobject and any(isinstance(cell, str | bytes) for cell in cells.flat):
            raise ValueError("X: must be a table of numbers, got strings")
        dtype = cells.dtype if cells.dtype in CELL_DTYPES else CELL_DTYPES[0]
        return np.require(cells, dtype.newbyteorder("="), ["A"])
