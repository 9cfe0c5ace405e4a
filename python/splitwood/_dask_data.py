"""Collections of Dask → partitions that the workers read as the plain estimators read rows."""

from __future__ import annotations

from typing import Any

import dask.array
import dask.dataframe
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from ._base import BaseModel
from ._categories import codes_of, in_order, occurring, warn_of_own_labels
from ._dask_tasks import Tasks
from ._inputs import aligned, read_labelled
from ._sklearn_inputs import PredictionChecks, as_weights, checked_rows
from ._sparse import is_sparse


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a collection of Dask."""
    return isinstance(X, dask.array.Array | dask.dataframe.DataFrame | dask.dataframe.Series)


def sample_of(X: Any) -> Any:
    """Make two rows with the dtypes and names of a collection."""
    if isinstance(X, dask.dataframe.DataFrame):
        return X._meta_nonempty
    if not isinstance(X, dask.array.Array):
        raise TypeError(
            f"X: must be a dask array or a dask data frame, got {type(X).__name__}; "
            "fit the plain estimator to data of one machine"
        )
    if X.ndim != 2:
        raise ValueError(f"X: must have two dimensions, got {X.ndim}")
    _check_dense(X._meta)
    return np.zeros((2, X.shape[1]), X.dtype)


def _check_dense(block: Any) -> None:
    if is_sparse(block):
        raise TypeError(
            "X: sparse rows are not supported on a cluster; make them dense or fit locally"
        )


def reader_of(estimator: Any) -> Any:
    """Make a plain estimator that reads rows as this one does; it has no model."""
    reader = clone(estimator.to_local())
    for name in (
        "n_features_in_",
        "feature_names_in_",
        "n_outputs_",
        "is_categorical_",
        "categories_",
        "_codes",
    ):
        if hasattr(estimator, name):
            setattr(reader, name, getattr(estimator, name))
    # A prediction's checks, which compare rows with the features of a fit, ask for a model.
    setattr(reader, reader._fitted, None)
    return reader


class Partitions:
    """The partitions of X, y and the weights on a cluster, as tasks."""

    def __init__(self, tasks: Tasks, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        blocks = {"X": _blocks("X", X), "y": _blocks("y", y)}
        if sample_weight is not None:
            blocks["sample_weight"] = _blocks("sample_weight", sample_weight)
        given = tasks.compute(blocks["X"])
        if estimator.is_categorical_ is not None:
            _collect_labels(tasks, estimator, given)
        reader = reader_of(estimator)
        rows = [tasks.submit(_cells, reader, block) for block in given]
        self.targets = [tasks.submit(vector, block) for block in tasks.compute(blocks["y"])]
        self.weights = None
        if sample_weight is not None:
            given = tasks.compute(blocks["sample_weight"])
            self.weights = [tasks.submit(_weights, block) for block in given]
        shapes = tasks.wait([tasks.submit(_shape, block) for block in rows])
        self.n_rows = sum(n_rows for n_rows, _ in shapes)
        if self.n_rows == 0:
            raise ValueError("X: has no rows")
        # Empty partitions have no say in the dtype.
        self.cell_bytes = max(size for n_rows, size in shapes if n_rows)
        self.rows = [block for block, (n_rows, _) in zip(rows, shapes, strict=True) if n_rows]


def _blocks(name: str, values: Any) -> Any:
    """Get the partitions of a collection, each with all its columns, as delayed objects."""
    if isinstance(values, dask.array.Array):
        values = values.rechunk({1: -1}) if values.ndim == 2 else values
        return values.to_delayed().ravel()
    if not is_dask(values):
        raise TypeError(f"{name}: must be a collection of Dask, as X is; got {type(values)}")
    return values.to_delayed()


def _collect_labels(tasks: Tasks, estimator: Any, blocks: list[Any]) -> None:
    """Give the labels that occur in any partition their codes."""
    reader = reader_of(estimator)
    reader._codes = None
    found = tasks.wait([tasks.submit(_labels, reader, block) for block in blocks])
    estimator.categories_, counts = [], []
    for feature, is_categorical in enumerate(estimator.is_categorical_):
        labels = None
        if is_categorical:
            columns = [block[feature] for block in found if block is not None]
            labels = in_order(list(dict.fromkeys(one for column in columns for one in column[1])))
            n_rows = sum(column[2] for column in columns)
            counts.append((columns[0][0] if columns else feature, len(labels), n_rows))
        estimator.categories_.append(labels)
    warn_of_own_labels(counts, stacklevel=6)
    estimator._codes = [
        None if labels is None else codes_of(labels) for labels in estimator.categories_
    ]


def _labels(reader: BaseModel, block: Any) -> list[tuple[object, list[Any], int] | None] | None:
    """Get the name, the labels and the number of labelled rows of each categorical column."""
    mask = reader.is_categorical_
    if len(block) == 0 or mask is None:
        return None
    _, columns = read_labelled(block, PredictionChecks(reader))
    return [
        (column.name, *occurring(column)) if is_categorical else None
        for column, is_categorical in zip(columns, mask, strict=True)
    ]


def _cells(estimator: BaseModel, block: Any) -> NDArray[Any]:
    """Read a partition of X as the plain estimator does."""
    _check_dense(block)
    if len(block) == 0:
        # The dtype that every other one can be converted to without loss.
        return np.empty((0, estimator.n_features_in_), np.float32)
    cells: NDArray[Any] = aligned(checked_rows(estimator, block))
    return cells


def _shape(cells: NDArray[Any]) -> tuple[int, int]:
    return len(cells), cells.dtype.itemsize


def vector(block: Any) -> NDArray[Any]:
    """Read a partition of y or of the weights; several outputs are a matrix."""
    # Row by row: scores are sums, in the order of memory.
    values = np.ascontiguousarray(block)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _weights(block: Any) -> NDArray[np.float64]:
    values = vector(block)
    checked = as_weights(values, len(values)) if len(values) else None
    return np.empty(0) if checked is None else checked


def checked_targets(y: NDArray[Any]) -> NDArray[Any]:
    """Check the targets of all rows as scikit-learn does in a local fit."""
    checked: NDArray[Any] = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    return checked
