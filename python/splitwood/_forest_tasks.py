"""What forests predict: numbers or classes."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _answers
from ._bags import Bags
from ._base import known_criterion
from ._base_forest import BaseForest, Targets
from ._categories import encoded_grid
from ._class_weight import ForestClassWeight, encode_classes, weigh_outputs
from ._estimators import Shares
from ._out_of_bag import OutOfBag, out_of_bag_means
from ._sklearn_inputs import as_numbers
from ._sparse import is_sparse

# Rows times trees per chunk, of which all predictions are kept at the same time.
_PREDICTIONS_PER_CHUNK = 1 << 22


class BaseForestRegressor(RegressorMixin, BaseForest):
    """A forest for numbers."""

    quantile: float
    # Errors of the predictions of ``oob_score``, ascending, with a column per output.
    _residuals: NDArray[np.float64]

    def _encode(self, y: NDArray[Any], weights: NDArray[np.float64] | None) -> Targets:
        return Targets(as_numbers(y), weights, None, False)

    def _growth_settings(self) -> dict[str, Any]:
        return super()._growth_settings() | {
            "criterion": known_criterion(self.criterion, stacklevel=5),
            "quantile": self.quantile,
            "leaf_value": None,
        }

    def _score_of(self, out_of_bag: OutOfBag, targets: Targets) -> tuple[float, NDArray[Any]]:
        predicted = _answers.numbers(out_of_bag_means(out_of_bag))
        return self._score_out_of_bag(r2_score, targets.y, predicted), predicted

    def _set_out_of_bag(self, out_of_bag: OutOfBag, targets: Targets) -> None:
        self.oob_score_, self.oob_prediction_ = self._score_of(out_of_bag, targets)
        errors = (targets.y - self.oob_prediction_)[out_of_bag[1] > 0]
        self._residuals = np.sort(errors.reshape(len(errors), self.n_outputs_), axis=0)

    def _target_columns(self, targets: Targets) -> NDArray[np.float64]:
        return targets.y.reshape(len(targets.y), -1)

    def predict(
        self, X: ArrayLike, aggregate: Literal["mean", "median"] = "mean"
    ) -> NDArray[np.float64]:
        """Predict the mean, or the median, of the trees' predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        aggregate : {"mean", "median"}, default="mean"
            What becomes of the predictions of the trees. A few trees that are far off don't move
            the median.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets.

        Examples
        --------
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=10).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> forest.predict([[0.0], [4.0]])
        array([5., 9.])
        >>> forest.predict([[0.0], [4.0]], aggregate="median")
        array([5., 9.])
        """
        rows = self._rows(X)
        if aggregate == "mean":
            return _answers.numbers(self.forest_.predict(rows, self.n_jobs))
        if aggregate != "median":
            raise ValueError(f'aggregate: must be "mean" or "median", got {aggregate!r}')
        return _answers.numbers(self._medians(rows))

    def _medians(self, rows: Any) -> NDArray[np.float64]:
        """Get the median of the trees' predictions for checked rows."""
        forest = self.forest_
        if not is_sparse(rows):
            return forest.predict_median(rows, self.n_jobs)
        trees = [forest.tree(number) for number in range(forest.n_trees)]
        found = np.empty((rows.shape[0], forest.n_values))
        step = max(1, _PREDICTIONS_PER_CHUNK // (forest.n_trees * forest.n_values))
        for start in range(0, len(found), step):
            part = slice(start, start + step)
            found[part] = np.median([tree.predict(rows[part], self.n_jobs) for tree in trees], 0)
        return found

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval that contains the target of a new row with a given probability.

        The interval is the prediction plus quantiles of the errors that the forest made for the
        rows out of its trees' bags. It needs a fit with ``oob_score=True``. The probability is that
        of rows like those of the fit, over all of them: the intervals are equally wide everywhere.
        `RandomForestQuantileRegressor` has intervals whose width depends on the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            The probability, strictly between 0 and 1. Half of the rest is below the interval, half
            is above.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and the upper end.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from splitwood import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X[:300], y[:300])
        >>> low, high = forest.predict_interval(X[300:], coverage=0.8).T
        >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.9)
        True
        """
        check_is_fitted(self)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage: must be strictly between 0 and 1, got {coverage!r}")
        if "_residuals" not in self.__dict__:
            raise ValueError("predict_interval: needs a fit with oob_score=True")
        errors = self._residuals
        if len(errors) == 0:
            raise ValueError("predict_interval: no row is out of the bag of any tree")
        predicted = self.forest_.predict(self._rows(X), self.n_jobs)
        # Of n errors and that of a new row, each is as likely as the others to be the k-th.
        k = (1.0 - coverage) / 2.0 * (len(errors) + 1)
        low, high = (
            errors[np.clip(place, 0, len(errors) - 1)]
            for place in (int(np.floor(k)) - 1, len(errors) - int(np.floor(k)))
        )
        found = np.stack([predicted + low, predicted + high], axis=2)
        return found[:, 0] if self.n_outputs_ == 1 else found

    def _compute_partial_dependence_recursion(
        self, grid: ArrayLike, target_features: ArrayLike
    ) -> NDArray[np.float64]:
        """Get the expected prediction at each grid point; several outputs are rows.

        `sklearn.inspection.partial_dependence` calls this method for ``method="recursion"``.
        """
        features = np.asarray(target_features, dtype=np.int64)
        cells = encoded_grid(np.asarray(grid), features.tolist(), self._codes)
        forest = self.forest_
        total = np.zeros((len(cells), forest.n_values))
        for number in range(forest.n_trees):
            total += forest.tree(number)._partial_dependence(cells, features)
        return _answers.numbers(total / forest.n_trees).T


class BaseForestClassifier(ClassifierMixin, BaseForest):
    """A forest for classes."""

    # Lists of arrays and of int if there are several outputs.
    classes_: Any
    n_classes_: Any
    class_weight: ForestClassWeight

    def _encode(self, y: NDArray[Any], weights: NDArray[np.float64] | None) -> Targets:
        classes, codes = encode_classes([y] if y.ndim == 1 else list(y.T))
        check_classification_targets(y)
        kind, balance_bags = self._kind_of_weights()
        weights = weigh_outputs(kind, classes, codes, weights, balance_weights=True)
        n_classes = max(map(len, classes))
        if y.ndim == 1:
            (self.classes_,), self.n_classes_ = classes, n_classes
            return Targets(codes[0], weights, n_classes, balance_bags)
        self.classes_, self.n_classes_ = classes, [*map(len, classes)]
        return Targets(np.stack(codes, axis=1), weights, n_classes, balance_bags)

    def _kind_of_weights(self) -> tuple[Any, bool]:
        """Get the class weights of all rows, and whether each bag has class weights of its own."""
        given = self.class_weight
        if not isinstance(given, str):
            return given, False
        if given not in ("balanced", "balanced_subsample"):
            raise ValueError(
                'class_weight: Valid presets for class_weight include "balanced" and '
                f'"balanced_subsample", got {given!r}'
            )
        if self.warm_start:
            warnings.warn(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the rows of the fits differ; pass the weights that "
                "sklearn.utils.class_weight.compute_class_weight finds for all rows",
                UserWarning,
                stacklevel=4,
            )
        if given == "balanced_subsample" and self.bootstrap:
            return None, True
        return "balanced", False

    def _score_of(self, out_of_bag: OutOfBag, targets: Targets) -> tuple[float, NDArray[Any]]:
        shares = out_of_bag_means(out_of_bag)
        if self.n_outputs_ > 1:
            # One matrix per row, with a column per output.
            shares = shares.reshape(len(shares), self.n_outputs_, -1).swapaxes(1, 2)
        score = self._score_out_of_bag(accuracy_score, targets.y, np.argmax(shares, axis=1))
        return score, shares

    def _check_out_of_bag(self, bags: Bags) -> bool:
        # On a cluster, these attributes follow later.
        n_classes = np.atleast_1d(getattr(self, "n_classes_", 2))
        if self.oob_score and len(n_classes) > 1 and n_classes.max() > 2:
            raise ValueError(
                "The type of target cannot be used to compute OOB estimates. Got "
                "multiclass-multioutput while only the following are supported: continuous, "
                "continuous-multioutput, binary, multiclass, multilabel-indicator."
            )
        return super()._check_out_of_bag(bags)

    def _set_out_of_bag(self, out_of_bag: OutOfBag, targets: Targets) -> None:
        self.oob_score_, self.oob_decision_function_ = self._score_of(out_of_bag, targets)

    def _target_columns(self, targets: Targets) -> NDArray[np.float64]:
        n_rows = len(targets.y)
        is_class = targets.y.reshape(n_rows, -1, 1) == np.arange(self.forest_.max_n_classes)
        columns: NDArray[np.float64] = is_class.reshape(n_rows, -1).astype(np.float64)
        return columns

    def _tree_of(self, number: int) -> Any:
        tree = super()._tree_of(number)
        several = self.n_outputs_ > 1
        tree.n_classes_ = np.array(self.n_classes_) if several else self.n_classes_
        codes = [np.arange(count, dtype=np.float64) for count in np.atleast_1d(self.n_classes_)]
        tree.classes_ = codes if several else codes[0]
        return tree

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the largest mean share in the rows' leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. If shares are equal, the first class in ``classes_`` wins.

        Examples
        --------
        >>> from splitwood import ExtraTreesClassifier
        >>> forest = ExtraTreesClassifier(n_estimators=10).fit([[1.0], [3.0]], ["no", "yes"])
        >>> forest.predict([[0.0], [4.0]])
        array(['no', 'yes'], dtype='<U3')
        """
        rows = self._rows(X)
        if self.n_outputs_ > 1 or is_sparse(rows):
            return _answers.likeliest(self.classes_, self._shares(rows))
        return _answers.labels(self.forest_, self.classes_, rows, self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> Shares:
        """Predict the share of each class: the mean of its shares in the rows' leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            In the order of ``classes_``; for several outputs, a list with one array per output.

        Examples
        --------
        >>> from splitwood import ExtraTreesClassifier
        >>> forest = ExtraTreesClassifier(n_estimators=10).fit([[1.0], [3.0]], ["no", "yes"])
        >>> forest.predict_proba([[0.0], [4.0]])
        array([[1., 0.],
               [0., 1.]])
        """
        return self._shares(self._rows(X))

    def _shares(self, rows: Any) -> Shares:
        """Get the shares of the classes for checked rows."""
        return _answers.shares(self.forest_.predict(rows, self.n_jobs), self.n_classes_)

    def predict_log_proba(self, X: ArrayLike) -> Shares:
        """Predict the logarithm of each class's share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            Natural logarithm of ``predict_proba(X)``; ``-inf`` for classes that are in no leaf.

        Examples
        --------
        >>> from splitwood import ExtraTreesClassifier
        >>> forest = ExtraTreesClassifier(n_estimators=10).fit([[1.0], [3.0]], ["no", "yes"])
        >>> forest.predict_log_proba([[0.0]])
        array([[  0., -inf]])
        """
        return _answers.logarithm(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
