"""The methods that regression and classification trees share, by scikit-learn's conventions.

The Python side converts what users pass to arrays and keeps scikit-learn's attributes. The values
of parameters are checked by the core alone.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import BaseModel, MaxFeatures, RandomState, Splitter, features_per_split
from ._categories import CategoricalFeatures
from ._conversions import ConversionsMixin
from ._mlflow import warn_of_autolog
from ._progress import Report, shown_progress
from ._sklearn_inputs import as_weights, checked_training, core_columns


class BaseTree(ConversionsMixin, BaseModel):
    """The part of a tree that does not depend on the kind of its targets."""

    tree_: _core.Tree
    _fitted = "tree_"

    def __init__(
        self,
        *,
        criterion: str,
        splitter: Splitter,
        max_depth: int | None,
        min_samples_split: float,
        min_samples_leaf: float,
        min_weight_fraction_leaf: float,
        max_features: MaxFeatures,
        random_state: RandomState,
        max_leaf_nodes: int | None,
        min_impurity_decrease: float,
        ccp_alpha: float,
        monotonic_cst: ArrayLike | None,
        categorical_features: CategoricalFeatures,
        categorical_smoothing: float,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.categorical_smoothing = categorical_smoothing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _settings(self, progress: Report | None = None) -> dict[str, Any]:
        """Collect the constructor's parameters for the core."""
        return self._growth_settings() | {
            "splitter": self.splitter,
            "seed": self._seed(),
            "progress": progress,
        }

    def _seed(self) -> int:
        """Draw the seed of all random choices; without any, the random state does not change."""
        n_features = self.n_features_in_
        draws_features = features_per_split(self.max_features, n_features) < n_features
        draws_thresholds = not (isinstance(self.splitter, str) and self.splitter == "best")
        seed = self.random_state
        if draws_features or draws_thresholds:
            return int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        # check_random_state seeds a generator, which takes longer than a fit of a few rows.
        if not (isinstance(seed, Integral) and 0 <= seed < 2**32):
            check_random_state(seed)
        return 0

    @abstractmethod
    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        """Encode ``y``, set the attributes that describe it, and grow the tree."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Grow the tree from training rows.

        If the fit fails or is interrupted, the estimator does not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows. float32 and float64 are read in place, each in its own precision and in
            any memory order; other dtypes are converted to float64. NaN means missing; infinite
            values are ordinary values at the ends of the order. pandas and polars data frames and
            pyarrow tables are read column by column: missing entries become NaN, and the column
            names become ``feature_names_in_``. Only the stored entries of a sparse matrix are
            sorted; the CSC format is read in place.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets: finite numbers for a regressor, class labels for a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, not all zero. Rows of weight zero are ignored. None gives all
            rows the same weight.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X`` and ``y``, as its ensembles do for their
            trees. ``X`` must then be an array of float32 or float64, or a sparse matrix. Names of
            columns are not read.

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
        warn_of_autolog()
        # All attributes are set on a twin, whose state replaces this estimator's by one assignment
        # at the end: after a failure halfway, or in a thread that predicts meanwhile, the old
        # model is complete.
        twin = copy.copy(self)
        rows, targets = checked_training(twin, X, y, check_input)
        twin.__dict__.pop("_leaf_targets", None)
        twin._x_dtype = rows.dtype.name
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        twin.n_outputs_ = 1 if targets.ndim == 1 else targets.shape[1]
        weights = as_weights(sample_weight, len(targets))
        source = core_columns(rows)
        with shown_progress(self.verbose, len(targets)) as progress:
            twin.tree_ = twin._grow(source, targets, weights, progress)
        self.__dict__ = twin.__dict__
        return self

    def _values(self, rows: Any) -> NDArray[np.float64]:
        """Get the values of the leaf of each checked row, those of all outputs side by side."""
        return self.tree_.predict(rows, self.n_jobs)

    def apply(self, X: ArrayLike, check_input: bool = True) -> NDArray[np.int64]:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X``, which must be an array of float32 or
            float64, or a sparse matrix.

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
        rows = self._rows(X, check_input)
        return self.tree_.apply(rows, self.n_jobs)

    def decision_path(self, X: ArrayLike, check_input: bool = True) -> csr_matrix:
        """List the nodes on the path of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X``, which must be an array of float32 or
            float64, or a sparse matrix.

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
        rows = self._rows(X, check_input)
        return self.tree_.decision_path(rows)

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Compute the trees that ``ccp_alpha`` can produce, from the whole tree down to its root.

        A tree is grown from the given rows with the parameters of this estimator. Its weakest link
        is then cut repeatedly: the node whose branch removes the least impurity per split. The
        estimator itself does not change.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as in `fit`.
        y : array-like of shape (n_samples,)
            Targets, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        ccp_path : Bunch
            Two arrays with one entry per tree, the whole tree first: ``ccp_alphas``, the smallest
            ``ccp_alpha`` that produces the tree, ascending from 0, and ``impurities``, the total
            impurity of its leaves.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor()
        >>> path = tree.cost_complexity_pruning_path([[0], [1], [2], [3]], [1.0, 1.0, 5.0, 7.0])
        >>> path.ccp_alphas
        array([0.  , 0.5 , 6.25])
        >>> path.impurities
        array([0.  , 0.5 , 6.75])
        """
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        ccp_alphas, impurities = whole.tree_.pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def prune(self, ccp_alpha: float) -> Self:
        """Prune the fitted tree, without another fit.

        The result is the estimator that a fit with this ``ccp_alpha`` would give. This estimator
        does not change. `cost_complexity_pruning_path` lists the values at which the tree changes.

        Parameters
        ----------
        ccp_alpha : float
            Cost per leaf, in units of the impurity; at least 0. Of this cost and the one that the
            tree was fitted with, the larger one counts.

        Returns
        -------
        pruned : object
            A fitted estimator with the smaller tree. It has no leaf targets (see
            `DecisionTreeRegressor.keep_leaf_targets`).

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[0], [1], [2], [3]], [1.0, 1.0, 5.0, 7.0])
        >>> tree.prune(0.5).predict([[0], [1], [2], [3]])
        array([1., 1., 6., 6.])
        >>> tree.get_n_leaves(), tree.prune(0.5).get_n_leaves()
        (3, 2)
        """
        check_is_fitted(self)
        if getattr(self, "leaf_value", None) is not None:
            raise ValueError(
                "leaf_value: prune has no training rows, from which the new leaves would get their "
                "values; fit with ccp_alpha instead"
            )
        pruned = copy.copy(self)
        pruned.tree_ = self.tree_.pruned(ccp_alpha)
        pruned.ccp_alpha = max(self.ccp_alpha, ccp_alpha)
        pruned.__dict__.pop("_leaf_targets", None)
        return pruned

    def get_depth(self) -> int:
        """Get the number of splits on the longest path from the root to a leaf.

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
    def max_features_(self) -> int:
        """Number of features that are evaluated for each split.

        Returns
        -------
        max_features : int
            The value of ``max_features`` as a number of the features of the fit.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_features="sqrt").fit([[1.0] * 10], [5.0])
        >>> tree.max_features_
        3
        """
        check_is_fitted(self, "n_features_in_")
        return features_per_split(self.max_features, self.n_features_in_)

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

    def _fitted_html(self) -> str:
        from ._html import fitted_html

        return fitted_html(self) if hasattr(self, "tree_") else ""

    # Notebooks call the first method, other tools the second one. Both append the tree to
    # scikit-learn's diagram.
    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return diagram + self._fitted_html()
