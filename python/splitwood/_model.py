"""Models for serving: what a file holds, with numpy alone.

A fitted estimator is more than a service needs: its base classes bring scikit-learn and scipy with them.
These answer `predict`, `predict_proba`, `predict_log_proba` and `apply` as it would, bit for bit.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _answers, _core
from ._categories import Codes, encode
from ._frames import array_columns, gather, read_columns, read_frame


class Model:
    """A fitted tree to predict with, where scikit-learn is not installed or not wanted.

    `splitwood.load` makes one; its attributes are those of the estimator that was saved.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as arrays.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training rows had names.
    n_outputs_ : int
        Number of targets.
    is_categorical_, categories_
        Which features have categories, and their labels; None if none has.
    parameters : dict
        The estimator's parameters by name.

    Examples
    --------
    >>> import tempfile, pathlib, splitwood
    >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.splitwood"
    >>> tree.save(path)
    >>> model = splitwood.load(path, as_estimator=False)
    >>> model
    <splitwood regression model: 3 nodes, depth 1, 1 features>
    >>> model.predict([[0.0], [4.0]])
    array([5., 9.])
    """

    tree_: _core.Tree
    n_features_in_: int
    n_outputs_: int
    _codes: Codes | None = None
    _task = ""

    def __init__(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self.parameters = parameters
        self.n_jobs = parameters.get("n_jobs")

    def __repr__(self) -> str:
        tree = self.tree_
        size = f"{tree.node_count} nodes, depth {tree.max_depth}, {tree.n_features} features"
        return f"<splitwood {self._task} model: {size}>"

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Find the leaf of each row; as the estimator's."""
        return self.tree_.apply(self._rows(X), self.n_jobs)

    def _values(self, X: ArrayLike) -> NDArray[np.float64]:
        """The numbers in the leaf of each row, those of each output side by side."""
        return self.tree_.predict(self._rows(X), self.n_jobs)

    def _rows(self, X: ArrayLike) -> NDArray[Any]:
        """``X`` as the core reads it."""
        if self._codes is not None:
            return self._encoded(X, self._codes)
        if self.tree_.reads(X):
            return cast("NDArray[Any]", X)
        cells = read_frame(X)
        if cells is not None:
            self._check_names(X)
            X = cells
        rows = np.asarray(X)
        if rows.dtype.kind not in "biufO" or rows.ndim != 2 or len(rows) == 0:
            raise ValueError(
                f"X: must be a table of numbers with at least one row, got shape {rows.shape} of {rows.dtype}"
            )
        if any(
            isinstance(cell, str | bytes) for cell in (rows.flat if rows.dtype.hasobject else ())
        ):
            raise ValueError("X: must be a table of numbers, got strings")
        dtype = rows.dtype if rows.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        return np.require(rows, dtype.newbyteorder("="), ["A"])

    def _encoded(self, X: Any, codes: Codes) -> NDArray[Any]:
        """``X`` with the codes of labels."""
        columns = read_columns(X)
        if columns is not None:
            self._check_names(X)
        else:
            is_numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
            X = X if is_numeric else np.asarray(X, dtype=object)
            if X.ndim != 2:
                raise ValueError(f"X: must be a table, got shape {X.shape}")
            columns = array_columns(X)
        if len(X) == 0 or len(columns) != len(codes):
            raise ValueError(
                f"X: must have {len(codes)} features and at least one row, "
                f"got shape {(len(X), len(columns))}"
            )
        return gather(len(X), encode(columns, codes))

    def _check_names(self, X: Any) -> None:
        expected = getattr(self, "feature_names_in_", None)
        # pyarrow's `columns` are arrays.
        columns = X.column_names if hasattr(type(X), "column_names") else X.columns
        names = [name for name in columns if isinstance(name, str)]
        if expected is not None and len(names) == len(columns) and names != expected.tolist():
            raise ValueError(
                f"X: the feature names should match those that were passed during fit, "
                f"{expected.tolist()}, in their order; got {names}"
            )


class RegressionModel(Model):
    """A `Model` whose answers are numbers."""

    _task = "regression"

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the value of each row's leaf; as the estimator's."""
        return _answers.numbers(self._values(X))


class ClassificationModel(Model):
    """A `Model` whose answers are class labels: ``classes_`` has them, ``n_classes_`` their number."""

    # Of several outputs, a list of such and an array.
    classes_: Any
    n_classes_: Any
    _task = "classification"

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the largest share of each row's leaf; as the estimator's."""
        if self.n_outputs_ > 1:
            return _answers.likeliest(self.classes_, self.predict_proba(X))
        return _answers.labels(self.tree_, self.classes_, self._rows(X), self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> Any:
        """Predict the share of each class; as the estimator's."""
        return _answers.shares(self._values(X), self.n_classes_)

    def predict_log_proba(self, X: ArrayLike) -> Any:
        """Predict the logarithm of each class's share; as the estimator's."""
        return _answers.logarithm(self.predict_proba(X))
