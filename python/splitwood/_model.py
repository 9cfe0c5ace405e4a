"""Models for serving: fitted trees and forests that predict with numpy alone.

A fitted estimator is more than a service needs: its base classes import scikit-learn and scipy. A
model has the methods `predict`, `predict_proba`, `predict_log_proba` and `apply`, with the same
results to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _answers, _core
from ._categories import Codes, Labels
from ._forest_leaves import Interpolation
from ._inputs import NumpyChecks, read_rows
from ._quantile_prediction import QuantilePrediction, Quantiles, checked_levels


class Model(ABC):
    """A fitted tree or forest that predicts without scikit-learn.

    `splitwood.load` creates it; its attributes are those of the saved estimator.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as arrays; a forest has ``forest_`` instead.
    forest_ : Forest
        The fitted trees of a forest.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training rows had names.
    n_outputs_ : int
        Number of targets per row.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features are categorical; None if no feature is.
    categories_ : list or None
        For each categorical feature, its labels in the order of their codes; for each other
        feature, None. None instead of the list if no feature is categorical.
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

    # One of the two.
    tree_: _core.Tree
    forest_: _core.Forest
    n_features_in_: int
    # Only if the training rows had names.
    feature_names_in_: NDArray[np.object_]
    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Labels | None
    parameters: dict[str, Any]
    _codes: Codes | None = None
    _task = ""

    def __init__(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self.parameters = parameters
        self.n_jobs = parameters.get("n_jobs")

    def __repr__(self) -> str:
        fitted = self._fitted
        if isinstance(fitted, _core.Forest):
            size = f"{fitted.n_trees} trees, {fitted.node_counts.sum()} nodes"
        else:
            size = f"{fitted.node_count} nodes, depth {fitted.max_depth}"
        return f"<splitwood {self._task} model: {size}, {fitted.n_features} features>"

    @property
    def _fitted(self) -> _core.Tree | _core.Forest:
        known: _core.Tree | _core.Forest = self.__dict__.get("tree_") or self.__dict__["forest_"]
        return known

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the value or the class of each row's leaf, as the estimator does."""

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Find the leaf of each row, in each tree of a forest, as the estimator does."""
        return self._fitted.apply(self._rows(X), self.n_jobs)

    def _values(self, X: ArrayLike) -> NDArray[np.float64]:
        """Get the values of the leaf of each row, those of all outputs side by side."""
        return self._fitted.predict(self._rows(X), self.n_jobs)

    def _rows(self, X: ArrayLike) -> NDArray[Any]:
        """Convert ``X`` to an array that the core can read."""
        if self._codes is None and self._fitted.reads(X):
            return cast("NDArray[Any]", X)
        checks = NumpyChecks(getattr(self, "feature_names_in_", None))
        return read_rows(X, self._codes, checks)


class RegressionModel(Model):
    """A `Model` that predicts numbers."""

    _task = "regression"

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the value of each row's leaf, as the estimator does."""
        return _answers.numbers(self._values(X))


class QuantileModel(QuantilePrediction, Model):
    """A `Model` that predicts quantiles."""

    _task = "quantile"

    def predict(
        self,
        X: ArrayLike,
        quantiles: Quantiles = None,
        interpolation: Interpolation = "linear",
        weighted_quantile: bool = True,
        weighted_leaves: bool = False,
        aggregate_leaves_first: bool = True,
    ) -> NDArray[np.float64]:
        """Predict quantiles of the targets in a row's leaves, as the estimator does."""
        parameters = self.parameters
        levels = parameters.get("default_quantiles", 0.5) if quantiles is None else quantiles
        together = aggregate_leaves_first or parameters.get("max_samples_leaf") == 1
        weighted = weighted_leaves and weighted_quantile
        return self._quantiles(
            self._rows(X), checked_levels(levels), interpolation, weighted, together
        )


class ClassificationModel(Model):
    """A `Model` that predicts class labels: those in ``classes_``, ``n_classes_`` in number."""

    # A list of arrays and an array of int if there are several outputs.
    classes_: Any
    n_classes_: Any
    _task = "classification"

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the largest share in each row's leaf, as the estimator does."""
        if self.n_outputs_ > 1:
            return _answers.likeliest(self.classes_, self.predict_proba(X))
        return _answers.labels(self._fitted, self.classes_, self._rows(X), self.n_jobs)

    # An array, or a list of arrays if there are several outputs.
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64] | Any:
        """Predict the share of each class, as the estimator does."""
        return _answers.shares(self._values(X), self.n_classes_)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64] | Any:
        """Predict the logarithm of each class's share, as the estimator does."""
        return _answers.logarithm(self.predict_proba(X))
