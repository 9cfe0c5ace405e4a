"""Forests that predict quantiles, with the interface of the package quantile-forest.

Pickles name a class by its module, so the classes stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ._arguments import check_count
from ._bags import Counts, OwnBags
from ._base import MaxFeatures, RandomState
from ._base_forest import ImportanceType, OobScore, Targets
from ._categories import CategoricalFeatures
from ._estimators import DecisionTreeRegressor, RegressionCriterion
from ._extra_trees import ExtraTreeRegressor
from ._forest_conversions import ForestFilesMixin
from ._forest_leaves import ForestLeaves, Interpolation, RankKind
from ._forest_tasks import BaseForestRegressor
from ._out_of_bag import OutOfBag
from ._quantile_prediction import QuantilePrediction, Quantiles, checked_levels
from ._sklearn_inputs import as_numbers
from ._sparse import is_sparse


class BaseQuantileForest(ForestFilesMixin, QuantilePrediction, BaseForestRegressor):
    """A forest whose leaves keep the targets of their rows."""

    default_quantiles: Quantiles
    max_samples_leaf: float | None
    quantile = 0.5

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sparse_pickle: bool = False,
        bags: OwnBags = None,
    ) -> Self:
        """Grow the trees from training rows, and keep the rows of each leaf.

        If the fit fails or is interrupted, the estimator does not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows, as in `RandomForestRegressor.fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets: finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, as in `RandomForestRegressor.fit`. In a leaf, each row of its bag
            counts as often as it was drawn, whatever its weight; rows of weight zero do not count.
        sparse_pickle : bool, default=False
            Has no effect: pickles are always compact.
        bags : array-like of shape (n_samples, n_estimators) or callable, default=None
            Bags of your own, as in `RandomForestRegressor.fit`.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [1.0], [1.0], [1.0]], [4.0, 5.0, 6.0, 9.0]
        >>> forest = RandomForestQuantileRegressor(bootstrap=False).fit(X, y)
        >>> forest.predict([[1.0]], quantiles=[0.0, 0.5, 1.0])
        array([[4. , 5.5, 9. ]])
        """
        return super().fit(X, y, sample_weight, bags)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        checked_levels(self.default_quantiles)
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst: quantiles with constraints are not supported; use "
                "RandomForestRegressor for means with constraints"
            )

    def _set_results(
        self, rows: Any, targets: Targets, out_of_bag: OutOfBag | None, wants_oob: bool
    ) -> None:
        super()._set_results(rows, targets, out_of_bag, wants_oob)
        weights = targets.weights
        n_rows = len(targets.y)
        self._check_rows_of_bags(n_rows, "warm_start")
        # The bag of all rows has rows of weight zero, too.
        kept = np.uint32(1) if weights is None else (weights > 0.0).astype(np.uint32)

        def counts_of(bag: Callable[[], Counts]) -> Callable[[], Counts]:
            return lambda: bag() * kept

        self._in_core = []
        self._leaves = ForestLeaves.of(
            self.forest_,
            [counts_of(bag) for bag in self._known_bags()],
            [int(seed) for part in self._bags for seed in part.seeds],
            rows.tocsr() if is_sparse(rows) else rows,
            self._target_columns(targets),
            self.max_samples_leaf,
            self.n_jobs,
        )

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_in_core": []}

    def _merged(self, others: tuple[Self, ...]) -> Self:
        merged = super()._merged(others)
        for other in others:
            merged._leaves = merged._leaves.join(other._leaves)
        merged._in_core = []
        # The training rows of the forests are numbered on, so the bags don't match them.
        merged._bags = []
        return merged

    def predict(  # type: ignore[override]
        self,
        X: ArrayLike,
        quantiles: Quantiles = None,
        interpolation: Interpolation = "linear",
        weighted_quantile: bool = True,
        weighted_leaves: bool = False,
        aggregate_leaves_first: bool = True,
        oob_score: bool = False,
        indices: ArrayLike | None = None,
        duplicates: Iterable[Iterable[int]] | None = None,
    ) -> NDArray[np.float64]:
        """Predict quantiles of the targets in a row's leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        quantiles : float, list of float or "mean", default=None
            Levels between 0 and 1, or "mean" for means. None means `default_quantiles`.
        interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}, default="linear"
            What a quantile is that is between two targets, as in ``numpy.quantile``.
        weighted_quantile : bool, default=True
            False makes `weighted_leaves` have no effect. Without it, the results are the same.
        weighted_leaves : bool, default=False
            True gives all trees the same weight, however many rows their leaves have.
        aggregate_leaves_first : bool, default=True
            True collects the rows of all leaves. False computes the quantiles of each leaf, and
            takes their mean.
        oob_score : bool, default=False
            True predicts each row by the trees that have not seen it. ``X`` must be the rows of
            the fit, unless `indices` is given.
        indices : array-like of int of shape (n_samples,), default=None
            With `oob_score`, the training row that each row of ``X`` is; -1 means none, so that all
            trees count. None means that ``X`` has all training rows in their order.
        duplicates : iterable of iterables of int, default=None
            With `oob_score`, groups of training rows that are the same: a tree that has seen one of
            them has seen all.

        Returns
        -------
        y : ndarray of shape (n_samples,), (n_samples, n_quantiles), (n_samples, n_outputs) or \
(n_samples, n_outputs, n_quantiles)
            Quantiles; axes with one entry for outputs or levels are left out. NaN for rows without
            a tree.

        Examples
        --------
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [1.0], [1.0], [3.0]], [4.0, 5.0, 6.0, 9.0]
        >>> forest = RandomForestQuantileRegressor(bootstrap=False).fit(X, y)
        >>> forest.predict([[1.0], [3.0]], quantiles=[0.25, 0.75])
        array([[4., 6.],
               [9., 9.]])
        """
        check_is_fitted(self)
        levels = checked_levels(self.default_quantiles if quantiles is None else quantiles)
        rows = self._rows(X)
        mask = self._mask(oob_score, indices, duplicates, rows.shape[0])
        weighted = weighted_leaves and weighted_quantile
        # A leaf of one row has no quantiles of its own.
        together = aggregate_leaves_first or self.max_samples_leaf == 1
        return self._quantiles(rows, levels, interpolation, weighted, together, mask)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.float64]:
        """Predict an interval that contains the target of a new row with a given probability.

        Its ends are quantiles, so the width depends on the row.

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
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [1.0], [1.0], [1.0]], [4.0, 5.0, 6.0, 9.0]
        >>> forest = RandomForestQuantileRegressor(bootstrap=False).fit(X, y)
        >>> forest.predict_interval([[1.0]], coverage=0.5)
        array([[4.75, 6.75]])
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage: must be strictly between 0 and 1, got {coverage!r}")
        rest = (1.0 - coverage) / 2.0
        return self.predict(X, quantiles=[rest, 1.0 - rest])

    def quantile_ranks(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: RankKind = "rank",
        aggregate_leaves_first: bool = True,
        oob_score: bool = False,
        indices: ArrayLike | None = None,
        duplicates: Iterable[Iterable[int]] | None = None,
    ) -> NDArray[np.float64]:
        """Compute which quantile of the targets in a row's leaves a target is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            A target for each row.
        kind : {"rank", "weak", "strict", "mean"}, default="rank"
            What is counted: "weak" the targets that are at most ``y``, "strict" those below it,
            "mean" the mean of both; "rank" averages the ranks of all targets that are equal.
        aggregate_leaves_first : bool, default=True
            True collects the rows of all leaves. False computes the rank in each leaf, and takes
            the mean.
        oob_score : bool, default=False
            As in `predict`.
        indices : array-like of int of shape (n_samples,), default=None
            As in `predict`.
        duplicates : iterable of iterables of int, default=None
            As in `predict`.

        Returns
        -------
        ranks : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Shares between 0 and 1; NaN for rows without a tree.

        Examples
        --------
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [1.0], [1.0], [1.0]], [4.0, 5.0, 6.0, 9.0]
        >>> forest = RandomForestQuantileRegressor(bootstrap=False).fit(X, y)
        >>> forest.quantile_ranks([[1.0]], [6.0], kind="weak")
        array([0.75])
        """
        check_is_fitted(self)
        scores = as_numbers(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
        scores = scores.reshape(len(scores), -1)
        if scores.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y: the fit had {self.n_outputs_} outputs, but y has {scores.shape[1]}"
            )
        leaves = self.apply(X)
        mask = self._mask(oob_score, indices, duplicates, len(leaves))
        check_consistent_length(leaves, scores)
        found = self._leaves.shares_below(leaves, mask, scores, kind, aggregate_leaves_first)
        return found[:, 0] if self.n_outputs_ == 1 else found

    def proximity_counts(
        self,
        X: ArrayLike,
        max_proximities: int | None = None,
        return_sorted: bool = True,
        oob_score: bool = False,
        indices: ArrayLike | None = None,
        duplicates: Iterable[Iterable[int]] | None = None,
    ) -> list[list[tuple[int, int]]]:
        """Count how often training rows are in the leaves of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        max_proximities : int, default=None
            How many training rows are listed per row: those with the largest counts. None lists
            all that are in one of the leaves.
        return_sorted : bool, default=True
            True lists them by count, the largest one first; False by number.
        oob_score : bool, default=False
            As in `predict`.
        indices : array-like of int of shape (n_samples,), default=None
            As in `predict`.
        duplicates : iterable of iterables of int, default=None
            As in `predict`.

        Returns
        -------
        proximities : list of list of tuple
            Per row of ``X``, pairs of a training row and its count.

        Examples
        --------
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [1.0], [3.0]], [4.0, 5.0, 9.0]
        >>> forest = RandomForestQuantileRegressor(n_estimators=10, bootstrap=False).fit(X, y)
        >>> forest.proximity_counts([[1.0]])
        [[(0, 10), (1, 10)]]
        """
        check_is_fitted(self)
        if max_proximities is not None:
            check_count("max_proximities", max_proximities, 1)
        leaves = self.apply(X)
        mask = self._mask(oob_score, indices, duplicates, len(leaves))
        found = []
        for rows, counts in self._leaves.counts(leaves, mask):
            # The largest counts first; of equal ones, the lowest row.
            order = np.argsort(-counts, kind="stable")[:max_proximities]
            order = order if return_sorted else np.sort(order)
            found.append(list(zip(rows[order].tolist(), counts[order].tolist(), strict=True)))
        return found

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        quantiles: Quantiles = 0.5,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Compute R² of a quantile, by default of the median.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        quantiles : float or "mean", default=0.5
            The level to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            R² of ``predict(X, quantiles)``; several outputs count by their variance.

        Examples
        --------
        >>> from splitwood import RandomForestQuantileRegressor
        >>> X, y = [[1.0], [2.0], [3.0]], [4.0, 5.0, 9.0]
        >>> RandomForestQuantileRegressor(bootstrap=False).fit(X, y).score(X, y)
        1.0
        """
        predicted = self.predict(X, quantiles)
        return float(
            r2_score(y, predicted, sample_weight=sample_weight, multioutput="variance_weighted")
        )

    def _mask(
        self,
        oob_score: bool,
        indices: ArrayLike | None,
        duplicates: Iterable[Iterable[int]] | None,
        n_predicted: int,
    ) -> NDArray[np.bool_] | None:
        """Get which trees count for each row: None if all do."""
        if not oob_score:
            return None
        bags = self._known_bags()
        if not all(part.leave_rows_out for part in self._bags):
            raise ValueError("Out-of-bag estimation only available if bootstrap=True.")
        n_rows = self._bags[0].n_rows
        known = np.arange(n_rows) if indices is None else np.asarray(indices)
        if known.shape != (n_predicted,):
            raise ValueError(
                f"indices: must have an entry per row of X, {n_predicted}, got shape {known.shape}; "
                "without indices, X must have the rows of the fit"
            )
        if not (known.dtype.kind in "iu" and ((known >= -1) & (known < n_rows)).all()):
            raise ValueError(f"indices: must be -1 or below {n_rows}, the rows of the fit")
        groups = [np.fromiter(group, dtype=np.int64) for group in duplicates or ()]
        mask = np.empty((n_predicted, len(bags)), dtype=bool)
        for number, counts_of in enumerate(bags):
            is_out = counts_of() == 0
            for group in groups:
                is_out[group] = is_out[group].all()
            mask[:, number] = np.where(known < 0, True, is_out[known])
        if not mask.any(axis=1).all():
            warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                UserWarning,
                stacklevel=3,
            )
        return mask


class RandomForestQuantileRegressor(BaseQuantileForest):
    """A random forest that predicts quantiles.

    Its leaves keep the targets of their rows. A prediction collects the targets of a row's leaves
    in all trees, and takes quantiles of them. The interface is that of the package quantile-forest;
    by default all rows of a leaf count, so the quantiles are exact.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    default_quantiles : float, list of float or "mean", default=0.5
        The levels that `predict` uses if it is given none, between 0 and 1, or "mean" for means.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The loss that splits minimise: "squared_error", "absolute_error", or half the Poisson
        deviance, for counts and rates. "friedman_mse", which scikit-learn deprecates, is another
        name of "squared_error" and gives a warning.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
    max_samples_leaf : int or float, default=None
        How many rows of a leaf are kept: a number of rows, or a fraction of the training rows,
        drawn at random from those of the leaf. None keeps all rows, and the quantiles are exact.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of a tree's total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default=1.0
        Number of features that are drawn and evaluated for each split: a number, a share of all
        features, their square root or their logarithm. If all drawn features are constant in the
        node, more are drawn until one is not. None means all features.
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree. The splits that remove most of the impurity are kept.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split lowers the impurity, weighted by the node's share of the
        total weight, by at least this much.
    bootstrap : bool, default=True
        True draws rows with replacement for each tree. False grows each tree from all rows.
    oob_score : bool or callable, default=False
        True computes ``oob_score_`` and the predictions that it is based on: each row is predicted
        by the trees that have not seen it. The score is R² for numbers and the accuracy for
        classes. A function of the true and the predicted targets, such as a metric of scikit-learn,
        replaces the score; classes are given to it as indices of ``classes_``. Needs
        ``bootstrap=True``, or bags of your own.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one. The
        model and its predictions are the same for every value.
    random_state : int, RandomState instance, default=None
        Seed of the bags, of the drawn features and thresholds, and of the order in which a tree
        looks at features that are equally good.
    verbose : int, default=0
        1 shows the progress of a long fit: a bar if tqdm is installed, otherwise a line. With
        `oob_score`, it has the score of the trees that are grown. 0 shows nothing.
    warm_start : bool, default=False
        True adds trees to those of the last fit if `n_estimators` has grown. False starts anew.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: each grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number of rows, or a share of their number (with
        `sample_weight`, of their total weight), which may be above 1. None means as many as there
        are rows. For ``bootstrap=True``.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Refused: quantiles with constraints are not supported.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the features that the data frame declares categorical (pandas' ``category``, polars'
        ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any number, string or other
        hashable value. A split sends a set of labels left: the best cut in the order of their
        means; of absolute errors, quantiles and several outputs, the best of all sets of up to ten
        labels in the node, and a heuristic for more. Missing labels go to the side with the lower
        loss; labels that the fit did not see go where missing labels go. For the best thresholds,
        not for random ones.
    categorical_smoothing : float, default=3.0
        A brake on labels that fit noise: of many labels without any effect, some set always looks
        good in training. A feature competes with others only if its labels differ by more than this
        many times what noise explains, as the variances within and between the labels of the node
        say; and before labels are put in order, their means are shrunk towards that of the node,
        those of few rows the most. 0 looks for the set with the lowest training loss.
    importance_type : {"impurity", "unbiased"}, default="impurity"
        What ``feature_importances_`` are. "impurity" is the share of each feature in the impurity
        that the splits of a tree remove, averaged over the trees, as in scikit-learn; columns of
        many values have too large a share, even if they are noise. "unbiased" measures the same
        splits by the rows that the tree has not seen: noise gets about 0, and may get less. It
        needs ``bootstrap=True``, or bags of your own, and a criterion whose leaves predict means or
        class shares.

    Attributes
    ----------
    forest_ : Forest
        The fitted trees in the compiled core.
    estimator_ : object
        A tree that is not fitted, with the parameters of the forest's trees.
    estimators_ : list
        The fitted trees as estimators of splitwood. They are made when they are first asked for,
        and share their nodes with the forest.
    estimators_samples_ : list of ndarray of int
        For each tree, the indices of the rows of its bag, each as often as it was drawn.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the fit had a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets per row.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features are categorical; None if no feature is.
    categories_ : list or None
        For each categorical feature, its labels in the order of their codes; for each other
        feature, None. None instead of the list if no feature is categorical.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature, by `importance_type`.
    oob_score_ : float
        Score of the predictions for rows by the trees that have not seen them, if `oob_score` is
        not False.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        These predictions; 0 for rows that every tree has seen.

    See Also
    --------
    ExtraTreesQuantileRegressor : A forest with random thresholds.
    RandomForestRegressor : A random forest that predicts means.

    Notes
    -----
    A tree's bag and its random choices follow from its seed alone, so the forest is the same for
    every `n_jobs`, and trees that a warm start adds are those that a larger forest would have. If
    several splits are equally good, the feature that comes first in the tree's own order wins.
    Memory and file size grow with the number of leaves: `min_samples_leaf` and `max_depth` keep
    them small.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splitwood import RandomForestQuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestQuantileRegressor(min_samples_leaf=10, random_state=0)
    >>> forest = forest.fit(X[:300], y[:300])
    >>> low, high = forest.predict(X[300:], quantiles=[0.1, 0.9]).T
    >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.95)
    True
    """

    _tree_class = DecisionTreeRegressor
    _splitter = "best"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        default_quantiles: Quantiles = 0.5,
        criterion: RegressionCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        max_samples_leaf: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        categorical_smoothing: float = 3.0,
        importance_type: ImportanceType = "impurity",
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            categorical_smoothing=categorical_smoothing,
            importance_type=importance_type,
        )
        self.default_quantiles = default_quantiles
        self.max_samples_leaf = max_samples_leaf


class ExtraTreesQuantileRegressor(BaseQuantileForest):
    """A forest of trees with random thresholds that predicts quantiles.

    Its leaves keep the targets of their rows. A prediction collects the targets of a row's leaves
    in all trees, and takes quantiles of them. The interface is that of the package quantile-forest;
    by default all rows of a leaf count, so the quantiles are exact.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    default_quantiles : float, list of float or "mean", default=0.5
        The levels that `predict` uses if it is given none, between 0 and 1, or "mean" for means.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The loss that splits minimise: "squared_error", "absolute_error", or half the Poisson
        deviance, for counts and rates. "friedman_mse", which scikit-learn deprecates, is another
        name of "squared_error" and gives a warning.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
    max_samples_leaf : int or float, default=None
        How many rows of a leaf are kept: a number of rows, or a fraction of the training rows,
        drawn at random from those of the leaf. None keeps all rows, and the quantiles are exact.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of a tree's total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default=1.0
        Number of features that are drawn and evaluated for each split: a number, a share of all
        features, their square root or their logarithm. If all drawn features are constant in the
        node, more are drawn until one is not. None means all features.
    max_leaf_nodes : int, default=None
        Maximum number of leaves of a tree. The splits that remove most of the impurity are kept.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split lowers the impurity, weighted by the node's share of the
        total weight, by at least this much.
    bootstrap : bool, default=False
        True draws rows with replacement for each tree. False grows each tree from all rows.
    oob_score : bool or callable, default=False
        True computes ``oob_score_`` and the predictions that it is based on: each row is predicted
        by the trees that have not seen it. The score is R² for numbers and the accuracy for
        classes. A function of the true and the predicted targets, such as a metric of scikit-learn,
        replaces the score; classes are given to it as indices of ``classes_``. Needs
        ``bootstrap=True``, or bags of your own.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one. The
        model and its predictions are the same for every value.
    random_state : int, RandomState instance, default=None
        Seed of the bags, of the drawn features and thresholds, and of the order in which a tree
        looks at features that are equally good.
    verbose : int, default=0
        1 shows the progress of a long fit: a bar if tqdm is installed, otherwise a line. With
        `oob_score`, it has the score of the trees that are grown. 0 shows nothing.
    warm_start : bool, default=False
        True adds trees to those of the last fit if `n_estimators` has grown. False starts anew.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: each grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number of rows, or a share of their number (with
        `sample_weight`, of their total weight), which may be above 1. None means as many as there
        are rows. For ``bootstrap=True``.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Refused: quantiles with constraints are not supported.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the features that the data frame declares categorical (pandas' ``category``, polars'
        ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any number, string or other
        hashable value. A split sends a set of labels left: the best cut in the order of their
        means; of absolute errors, quantiles and several outputs, the best of all sets of up to ten
        labels in the node, and a heuristic for more. Missing labels go to the side with the lower
        loss; labels that the fit did not see go where missing labels go. For the best thresholds,
        not for random ones.
    categorical_smoothing : float, default=3.0
        A brake on labels that fit noise: of many labels without any effect, some set always looks
        good in training. A feature competes with others only if its labels differ by more than this
        many times what noise explains, as the variances within and between the labels of the node
        say; and before labels are put in order, their means are shrunk towards that of the node,
        those of few rows the most. 0 looks for the set with the lowest training loss.
    importance_type : {"impurity", "unbiased"}, default="impurity"
        What ``feature_importances_`` are. "impurity" is the share of each feature in the impurity
        that the splits of a tree remove, averaged over the trees, as in scikit-learn; columns of
        many values have too large a share, even if they are noise. "unbiased" measures the same
        splits by the rows that the tree has not seen: noise gets about 0, and may get less. It
        needs ``bootstrap=True``, or bags of your own, and a criterion whose leaves predict means or
        class shares.

    Attributes
    ----------
    forest_ : Forest
        The fitted trees in the compiled core.
    estimator_ : object
        A tree that is not fitted, with the parameters of the forest's trees.
    estimators_ : list
        The fitted trees as estimators of splitwood. They are made when they are first asked for,
        and share their nodes with the forest.
    estimators_samples_ : list of ndarray of int
        For each tree, the indices of the rows of its bag, each as often as it was drawn.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the fit had a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets per row.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features are categorical; None if no feature is.
    categories_ : list or None
        For each categorical feature, its labels in the order of their codes; for each other
        feature, None. None instead of the list if no feature is categorical.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature, by `importance_type`.
    oob_score_ : float
        Score of the predictions for rows by the trees that have not seen them, if `oob_score` is
        not False.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        These predictions; 0 for rows that every tree has seen.

    See Also
    --------
    RandomForestQuantileRegressor : A forest with the best thresholds.
    ExtraTreesRegressor : A forest with random thresholds that predicts means.

    Notes
    -----
    A tree's bag and its random choices follow from its seed alone, so the forest is the same for
    every `n_jobs`, and trees that a warm start adds are those that a larger forest would have. If
    several splits are equally good, the feature that comes first in the tree's own order wins.
    Memory and file size grow with the number of leaves: `min_samples_leaf` and `max_depth` keep
    them small.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splitwood import ExtraTreesQuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesQuantileRegressor(min_samples_leaf=10, random_state=0)
    >>> forest = forest.fit(X[:300], y[:300])
    >>> low, high = forest.predict(X[300:], quantiles=[0.1, 0.9]).T
    >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.95)
    True
    """

    _tree_class = ExtraTreeRegressor
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        default_quantiles: Quantiles = 0.5,
        criterion: RegressionCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        max_samples_leaf: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        categorical_smoothing: float = 3.0,
        importance_type: ImportanceType = "impurity",
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            categorical_smoothing=categorical_smoothing,
            importance_type=importance_type,
        )
        self.default_quantiles = default_quantiles
        self.max_samples_leaf = max_samples_leaf
