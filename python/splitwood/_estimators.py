"""The estimators: scikit-learn's conventions in front of the compiled core.

This side turns what users pass into arrays that the core can read, and keeps scikit-learn's attributes.
Settings, weights and the size of targets are judged by the core alone.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from numbers import Number
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core

# What the core reads in place; everything else becomes the first of them.
_CELL_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_CHECK_X = {"dtype": list(_CELL_DTYPES), "ensure_all_finite": False}


class _BaseTree(BaseEstimator, ABC):
    """What a regression and a classification tree share; only the target differs."""

    tree_: _core.Tree
    n_features_in_: int

    def __init__(
        self,
        *,
        criterion: str,
        max_depth: int | None,
        min_samples_split: float,
        min_samples_leaf: float,
        min_weight_fraction_leaf: float,
        min_impurity_decrease: float,
        n_jobs: int | None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.n_jobs = n_jobs

    def _settings(self) -> dict[str, Any]:
        """The constructor's parameters, as the core takes them."""
        return {
            "criterion": self.criterion,
            "max_depth": self.max_depth,
            "min_samples_split": self.min_samples_split,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "min_impurity_decrease": self.min_impurity_decrease,
            "n_jobs": self.n_jobs,
        }

    @abstractmethod
    def _grow(
        self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> _core.Tree:
        """Encode ``y``, set the attributes that describe it, and grow the tree."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree from training rows.

        If anything is refused or interrupted, the estimator stays as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. float32 and float64 are read in place, each in its own precision and in any
            memory order; other dtypes are converted to float64. NaN means missing; infinite values are
            ordinary values at the ends of the order.
        y : array-like of shape (n_samples,)
            Targets: finite numbers for a regressor, class labels for a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, not all zero. Rows of weight zero count as dropped. None means
            that all rows weigh the same.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.tree_.threshold
        array([ 2.5, -2. , -2. ])
        """
        # Everything is set on a twin whose state is taken over by one assignment at the end:
        # a failure halfway, or a thread that predicts meanwhile, finds the old model complete.
        twin = copy.copy(self)
        rows, targets = twin._training_data(X, y)
        weights = _as_weights(sample_weight, len(rows))
        twin.tree_ = twin._grow(_aligned(rows), targets, weights)
        twin.n_outputs_ = 1
        self.__dict__ = twin.__dict__
        return self

    def _training_data(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """``X`` and ``y`` as arrays of one length; sets the attributes that describe the features."""
        # The common case skips scikit-learn's validation, which takes half as long as growing a tree from a
        # thousand rows. Whatever it would convert, refuse or warn about takes the long way.
        if _is_plain_table(X) and _is_plain_vector(y) and len(X) == len(y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        rows, targets = validate_data(self, X, y, **_CHECK_X)
        return rows, targets

    def _rows(self, X: ArrayLike) -> NDArray[Any]:
        """``X`` as the core reads it, checked against the data of the fit."""
        check_is_fitted(self)
        # The common case skips scikit-learn's validation, which takes longer than predicting few rows.
        if (
            type(X) is np.ndarray
            and X.dtype in _CELL_DTYPES
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
        ):
            return _aligned(X)
        return _aligned(validate_data(self, X, reset=False, **_CHECK_X))

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node ids, as in the arrays of ``tree_``.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.apply([[0.0], [2.0], [4.0]])
        array([1, 1, 2])
        """
        rows = self._rows(X)
        return self.tree_.apply(rows, self.n_jobs)

    def decision_path(self, X: ArrayLike) -> csr_matrix:
        """List the nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            Entry (i, j) is 1 if row i passes node j.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.decision_path([[0.0], [4.0]]).toarray()
        array([[1, 1, 0],
               [1, 0, 1]])
        """
        rows = self._rows(X)
        indptr, indices = self.tree_.decision_path(rows)
        ones = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((ones, indices, indptr), shape=(len(rows), self.tree_.node_count))

    def get_depth(self) -> int:
        """Tell how many splits the longest path from the root to a leaf has.

        Returns
        -------
        depth : int
            Depth of the deepest leaf; the root is at depth 0.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 7.0, 9.0]).get_depth()
        2
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        n_leaves : int
            Number of nodes without children.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 7.0, 9.0]).get_n_leaves()
        3
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the impurity that all splits remove.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            Non-negative, with a sum of 1, or all 0 if the tree is a single leaf.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[0.0, 1.0], [0.0, 2.0]], [5.0, 7.0])
        >>> tree.feature_importances_
        array([0., 1.])
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class DecisionTreeRegressor(RegressorMixin, _BaseTree):
    """A regression tree that minimises the squared error, greedily and exactly.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        What a split is to minimise.
    max_depth : int, default=None
        Deepest level of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of rows, or a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Smallest number of rows on either side of a split, or a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight on either side of a split.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total weight,
        by at least this much.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all the CPUs that this process may use, -2 all but one.
        The model is the same for every value.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as arrays, with the names and conventions of scikit-learn's ``tree_``.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``fit`` saw a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets: 1.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the impurity that all splits remove.

    See Also
    --------
    DecisionTreeClassifier : The same for class labels.

    Notes
    -----
    Where several splits are equally good, the lowest feature wins, then the lowest threshold; no random
    state is involved. A missing value goes to the side where it lowered the loss in training; if the
    training rows of a node had none, it goes to the child with more weight.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10)
    >>> bool(cross_val_score(tree, X, y).mean() > 0.3)
    True
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            n_jobs=n_jobs,
        )

    def _grow(
        self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> _core.Tree:
        return _core.fit_regressor(X, _as_numbers(y), sample_weight, **self._settings())

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the mean target of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.predict([[0.0], [2.0], [4.0]])
        array([5., 5., 9.])
        """
        rows = self._rows(X)
        return self.tree_.predict(rows, self.n_jobs)[:, 0]


class DecisionTreeClassifier(ClassifierMixin, _BaseTree):
    """A classification tree that minimises the Gini impurity or the entropy, greedily and exactly.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split is to minimise. "entropy" and "log_loss" are the same.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease, n_jobs
        As in `DecisionTreeRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    tree_, n_features_in_, feature_names_in_, n_outputs_, feature_importances_
        As in `DecisionTreeRegressor`.

    See Also
    --------
    DecisionTreeRegressor : The same for real targets, with all the parameters explained.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(criterion="entropy", max_depth=4)
    >>> bool(cross_val_score(tree, X, y).mean() > 0.9)
    True
    """

    classes_: NDArray[Any]
    n_classes_: int

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            min_impurity_decrease=min_impurity_decrease,
            n_jobs=n_jobs,
        )

    def _grow(
        self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> _core.Tree:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        codes = codes.astype(np.int64, copy=False)
        return _core.fit_classifier(X, codes, self.n_classes_, sample_weight, **self._settings())

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the largest share of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels. Of equal shares, the first class in ``classes_`` wins.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> tree.predict([[0.0], [4.0]])
        array(['no', 'yes'], dtype='<U3')
        """
        proba = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_.take(proba.argmax(axis=1))
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Share of each class in the weight of the row's leaf, in the order of ``classes_``.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=1)
        >>> tree = tree.fit([[1.0], [2.0], [3.0], [3.0]], ["no", "no", "no", "yes"])
        >>> tree.predict_proba([[0.0], [4.0]])
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        rows = self._rows(X)
        return self.tree_.predict(rows, self.n_jobs)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the logarithm of each class's share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Natural logarithm of ``predict_proba(X)``; ``-inf`` for classes that a leaf does not have.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> tree.predict_log_proba([[0.0]])
        array([[  0., -inf]])
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _is_plain_table(X: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether the core reads ``X`` in place."""
    return type(X) is np.ndarray and X.dtype in _CELL_DTYPES and X.ndim == 2 and X.size > 0


def _is_plain_vector(y: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether ``y`` is a vector of finite real numbers."""
    return (
        type(y) is np.ndarray
        and y.dtype.kind in "iuf"
        and y.ndim == 1
        and bool(np.isfinite(y).all())
    )


def _aligned(X: NDArray[Any]) -> NDArray[Any]:
    """``X`` itself, unless its cells lie across word boundaries, as in packed records."""
    return X if X.flags.aligned else X.copy()


def _as_numbers(y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets of a regression; numpy would parse strings such as ``"1.5"`` without a word."""
    if y.dtype.kind in "OSU" and any(isinstance(value, str | bytes) for value in y):
        raise ValueError("y: a regressor needs numbers, got strings")
    return np.require(y, np.float64, ["C", "A"])


def _as_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
    """Weights as a vector. The core judges their length and their values."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        return np.full(n_samples, sample_weight, dtype=np.float64)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="sample_weight",
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight: must have one dimension, got shape {weights.shape}")
    return np.require(weights, np.float64, ["C", "A"])
