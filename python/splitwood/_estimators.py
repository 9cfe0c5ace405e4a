"""The decision trees: the estimators with the best thresholds.

Pickles name a class by its module. The classes therefore stay in this module, and the module keeps
its name; `tests/golden/pickles` has pickles of earlier versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import sklearn.tree
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _answers, _core
from ._base import MaxFeatures, RandomState, Splitter, known_criterion
from ._base_tree import BaseTree
from ._categories import CategoricalFeatures, encoded_grid
from ._class_weight import ClassWeight, encode_classes, weigh_outputs
from ._leaf_targets import LeafTargets
from ._progress import Report
from ._sklearn_inputs import as_numbers
from ._sparse import is_sparse

RegressionCriterion = Literal[
    "squared_error", "absolute_error", "quantile", "poisson", "friedman_mse"
]
ClassificationCriterion = Literal["gini", "entropy", "log_loss"]
# What a leaf predicts: a named statistic, or a function of the targets and weights of its rows.
LeafValue = (
    Literal["mean", "median"] | Callable[[NDArray[np.float64], NDArray[np.float64]], float] | None
)
# An array for one output, a list of arrays for several. A union with a list would make every caller
# with one output check the type.
Shares = NDArray[np.float64] | Any


class DecisionTreeRegressor(RegressorMixin, BaseTree):
    """A regression tree that minimises the squared error or another loss, greedily and exactly.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise, which also decides what a leaf predicts. "squared_error" is
        for means. "absolute_error" is for medians, which a few outliers among the targets can't
        move. "quantile" is the pinball loss, for the quantile of level `quantile`; at level 0.5 it
        is half the absolute error. "poisson" is half the Poisson deviance, for counts and rates: no
        target may be negative, and no leaf has targets that are all zero. "friedman_mse", which
        scikit-learn deprecates, is another name of "squared_error" and gives a warning.
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen: "best" takes the best of all thresholds, "random"
        draws one between the smallest and the largest value in the node. The node then uses the
        best of the features' splits.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of rows, or a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Smallest number of rows on either side of a split, or a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default=None
        Number of features that are drawn and evaluated for each split: a number, a share of all
        features, their square root or their logarithm. If all drawn features are constant in the
        node, more are drawn until one is not. None means all features.
    random_state : int, RandomState instance, default=None
        Seed of all random choices. The model is the same for every `n_jobs`. With all features and
        the best thresholds, nothing is random.
    max_leaf_nodes : int, default=None
        Maximum number of leaves. The splits that remove most of the impurity are kept; of equal
        ones, those that come first when the tree is grown best-first. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split lowers the impurity, weighted by the node's share of the
        total weight, by at least this much.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: the grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning. `cost_complexity_pruning_path`
        lists the values at which the tree changes.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        How predictions may change with each feature while the others are fixed: 1 means that they
        never decrease, -1 that they never increase, and 0 that there is no constraint. For one
        output; missing values are allowed, and count as the highest where a split parts them from
        all others.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the strings of a data frame and the features that it declares categorical (pandas'
        ``category``, polars' ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any
        number, string or other hashable value. A split sends a set of labels left: the best cut in
        the order of their means; of absolute errors, quantiles and several outputs, the best of all
        sets of up to ten labels in the node, and a heuristic for more. Missing labels go to the
        side with the lower loss; labels that the fit did not see go where missing labels go. For
        the best thresholds, not for random ones.
    categorical_smoothing : float, default=3.0
        A brake on labels that fit noise: of many labels without any effect, some set always looks
        good in training. A feature competes with others only if its labels differ by more than this
        many times what noise explains, as the variances within and between the labels of the node
        say; and before labels are put in order, their means are shrunk towards that of the node,
        those of few rows the most. 0 looks for the set with the lowest training loss.
    quantile : float, default=0.5
        Level of the quantile, strictly between 0 and 1, for ``criterion="quantile"``. The other
        criteria have no level, and a fit refuses any but the default.
    leaf_value : {"mean", "median"} or callable, default=None
        What a leaf predicts. None means the minimiser of the criterion: the mean, the median or the
        quantile of its targets. "median" is the weighted median, halfway between two targets if
        exactly half of the weight is below. A callable gets two arrays, the targets and the weights
        of the leaf's rows (all 1 without `sample_weight`), and returns a number. It is called once
        per leaf, after the tree was grown and pruned; its exceptions reach the caller. Splits do
        not change, nor do inner nodes, whose ``tree_.value`` is that of the criterion.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one. The
        model is the same for every value.
    verbose : int, default=0
        1 shows the progress of a long fit: a bar if tqdm is installed, otherwise a line. 0 shows
        nothing.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as arrays, with the names and conventions of scikit-learn's ``tree_``.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the fit had a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets per row.
    max_features_ : int
        Number of features that are evaluated for each split.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features are categorical; None if no feature is.
    categories_ : list or None
        For each categorical feature, its labels in the order of their codes; for each other
        feature, None. None instead of the list if no feature is categorical.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the impurity that all splits remove.

    See Also
    --------
    DecisionTreeClassifier : A tree for class labels.
    ExtraTreeRegressor : A tree with random thresholds.

    Notes
    -----
    If several splits are equally good, the lowest feature wins, then the lowest threshold. A
    missing value goes to the side where it lowered the loss in training; if the training rows of a
    node had no missing values, it goes to the child with more weight.

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
        criterion: RegressionCriterion = "squared_error",
        splitter: Splitter = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        categorical_smoothing: float = 3.0,
        quantile: float = 0.5,
        leaf_value: LeafValue = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            categorical_smoothing=categorical_smoothing,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.quantile = quantile
        self.leaf_value = leaf_value

    # None until `keep_leaf_targets` is called.
    _leaf_targets: LeafTargets | None = None

    if TYPE_CHECKING:

        def to_sklearn(self, X: ArrayLike | None = None) -> sklearn.tree.DecisionTreeRegressor: ...

    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        settings = self._settings(progress) | {
            "criterion": known_criterion(self.criterion, stacklevel=3),
            "quantile": self.quantile,
            "leaf_value": self.leaf_value,
        }
        return _core.fit_regressor(X, as_numbers(y), sample_weight, settings)

    def predict(self, X: ArrayLike, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the mean of each row's leaf, or its median or quantile.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X``, which must be an array of float32 or
            float64, or a sparse matrix.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.predict([[0.0], [2.0], [4.0]])
        array([5., 5., 9.])
        """
        return _answers.numbers(self._values(self._rows(X, check_input)))

    def keep_leaf_targets(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Keep the targets of each leaf, for `predict_quantiles`.

        A fit does not keep them: they take 8 bytes per row, 16 with weights, in memory and in every
        pickle. The rows may be those of the fit, or others that the fit has not seen, whose
        quantiles are not biased by the search for splits. Another fit and `prune` drop the targets,
        and `save` does not store them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; rows of weight zero are ignored. None gives all rows the same weight.

        Returns
        -------
        self : object
            This estimator. The tree does not change.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> X, y = [[1.0], [1.0], [1.0], [3.0]], [4.0, 5.0, 6.0, 9.0]
        >>> tree = DecisionTreeRegressor().fit(X, y).keep_leaf_targets(X, y)
        >>> tree.predict_quantiles([[1.0]], [0.1, 0.5, 0.9])
        array([[4., 5., 6.]])
        """
        leaves = self.apply(X)
        if self.n_outputs_ > 1:
            raise ValueError("y: the targets of several outputs can't be kept")
        self._leaf_targets = LeafTargets.of(leaves, y, sample_weight, self.tree_.node_count)
        return self

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike) -> NDArray[np.float64]:
        """Predict quantiles of the targets in each row's leaf.

        `keep_leaf_targets` must have been called. One tree thus gives several quantiles, which
        never cross. A tree with ``criterion="quantile"`` has splits that are best for one level,
        and predicts that level more precisely.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        quantiles : float or array-like of shape (n_quantiles,)
            Levels, strictly between 0 and 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles), or (n_samples,) for one number
            Quantiles by the definition of ``criterion="quantile"``. NaN in leaves that no row of
            `keep_leaf_targets` has reached.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from splitwood import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> tree = DecisionTreeRegressor(min_samples_leaf=40).fit(X, y)
        >>> tree.keep_leaf_targets(X, y).predict_quantiles(X[:2], [0.1, 0.5, 0.9])
        array([[ 92. , 196.5, 288. ],
               [ 45. ,  75. , 125. ]])
        """
        check_is_fitted(self)
        if self._leaf_targets is None:
            raise ValueError(
                "predict_quantiles: the tree has no targets; call keep_leaf_targets(X, y) first, "
                "for example with the rows of the fit"
            )
        return self._leaf_targets.quantiles(self.apply(X), quantiles)

    def _compute_partial_dependence_recursion(
        self, grid: ArrayLike, target_features: ArrayLike
    ) -> NDArray[np.float64]:
        """Get the expected prediction at each grid point; several outputs are rows.

        `sklearn.inspection.partial_dependence` calls this method for ``method="recursion"``.
        """
        features = np.asarray(target_features, dtype=np.int64)
        cells = encoded_grid(np.asarray(grid), features.tolist(), self._codes)
        return _answers.numbers(self.tree_._partial_dependence(cells, features)).T


class DecisionTreeClassifier(ClassifierMixin, BaseTree):
    """A classification tree that minimises the Gini impurity or the entropy, greedily and exactly.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise. "entropy" and "log_loss" are the same.
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen: "best" takes the best of all thresholds, "random"
        draws one between the smallest and the largest value in the node. The node then uses the
        best of the features' splits.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of rows, or a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Smallest number of rows on either side of a split, or a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default=None
        Number of features that are drawn and evaluated for each split: a number, a share of all
        features, their square root or their logarithm. If all drawn features are constant in the
        node, more are drawn until one is not. None means all features.
    random_state : int, RandomState instance, default=None
        Seed of all random choices. The model is the same for every `n_jobs`. With all features and
        the best thresholds, nothing is random.
    max_leaf_nodes : int, default=None
        Maximum number of leaves. The splits that remove most of the impurity are kept; of equal
        ones, those that come first when the tree is grown best-first. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split lowers the impurity, weighted by the node's share of the
        total weight, by at least this much.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes, by which the weights of the rows are multiplied: ``{label: weight}``
        or, for several outputs, a list with one dict per output. A class that is not mentioned has
        weight 1. "balanced" gives all classes the same total weight, with ``n_samples / (n_classes
        * np.bincount(y))``. None gives every class weight 1.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: the grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning. `cost_complexity_pruning_path`
        lists the values at which the tree changes.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        How the share of the second class may change with each feature while the others are fixed: 1
        means that it never decreases, -1 that it never increases, and 0 that there is no
        constraint. For one output of two classes; missing values are allowed, and count as the
        highest where a split parts them from all others.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the strings of a data frame and the features that it declares categorical (pandas'
        ``category``, polars' ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any
        number, string or other hashable value. A split sends a set of labels left: of two classes,
        the best cut in the order of their shares; of more classes, the best of all sets of up to
        ten labels in the node, and the best cut along the first principal component of the shares
        of more labels, which is a heuristic. Missing labels go to the side with the lower loss;
        labels that the fit did not see go where missing labels go. For the best thresholds, not for
        random ones.
    categorical_smoothing : float, default=3.0
        A brake on labels that fit noise: of many labels without any effect, some set always looks
        good in training. A feature competes with others only if its labels differ by more than this
        many times what noise explains, as the variances within and between the labels of the node
        say; and before labels are put in order, their means are shrunk towards that of the node,
        those of few rows the most. 0 looks for the set with the lowest training loss.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one. The
        model is the same for every value.
    verbose : int, default=0
        1 shows the progress of a long fit: a bar if tqdm is installed, otherwise a line. 0 shows
        nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels, sorted; for several outputs, a list with one array per output.
    n_classes_ : int or ndarray of int
        Number of classes; for several outputs, an array with one number per output.
    tree_ : Tree
        The fitted tree as arrays, with the names and conventions of scikit-learn's ``tree_``.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the fit had a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets per row.
    max_features_ : int
        Number of features that are evaluated for each split.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features are categorical; None if no feature is.
    categories_ : list or None
        For each categorical feature, its labels in the order of their codes; for each other
        feature, None. None instead of the list if no feature is categorical.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the impurity that all splits remove.

    See Also
    --------
    DecisionTreeRegressor : A tree for real targets.
    ExtraTreeClassifier : A tree with random thresholds.

    Notes
    -----
    If several splits are equally good, the lowest feature wins, then the lowest threshold. A
    missing value goes to the side where it lowered the loss in training; if the training rows of a
    node had no missing values, it goes to the child with more weight.

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

    # A list of arrays and an array of int if there are several outputs.
    classes_: Any
    n_classes_: Any

    if TYPE_CHECKING:

        def to_sklearn(self, X: ArrayLike | None = None) -> sklearn.tree.DecisionTreeClassifier: ...

    def __init__(
        self,
        *,
        criterion: ClassificationCriterion = "gini",
        splitter: Splitter = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        categorical_smoothing: float = 3.0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            categorical_smoothing=categorical_smoothing,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        # Integers and bools are classes. scikit-learn's check, which takes longer than a small fit,
        # can only warn of them, if nearly every row has a class of its own.
        are_classes = y.ndim == 1 and y.dtype.kind in "iub"
        classes, codes = encode_classes([y] if y.ndim == 1 else list(y.T))
        if not are_classes or 2 * len(classes[0]) >= len(y):
            check_classification_targets(y)
        weights = weigh_outputs(self.class_weight, classes, codes, sample_weight)
        n_classes = max(map(len, classes))
        if y.ndim == 1:
            (self.classes_,), self.n_classes_ = classes, n_classes
            return _core.fit_classifier(X, codes[0], n_classes, weights, self._settings(progress))
        self.classes_, self.n_classes_ = classes, np.array([*map(len, classes)])
        return _core.fit_classifier(
            X, np.stack(codes, axis=1), n_classes, weights, self._settings(progress)
        )

    def predict(self, X: ArrayLike, check_input: bool = True) -> NDArray[Any]:
        """Predict the class with the largest share in each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X``, which must be an array of float32 or
            float64, or a sparse matrix.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. If shares are equal, the first class in ``classes_`` wins.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> tree.predict([[0.0], [4.0]])
        array(['no', 'yes'], dtype='<U3')
        """
        rows = self._rows(X, check_input)
        if self.n_outputs_ > 1 or is_sparse(rows):
            return _answers.likeliest(self.classes_, self._shares(rows))
        return _answers.labels(self.tree_, self.classes_, rows, self.n_jobs)

    def predict_proba(self, X: ArrayLike, check_input: bool = True) -> Shares:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            False skips scikit-learn's validation of ``X``, which must be an array of float32 or
            float64, or a sparse matrix.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            Share of each class in the weight of the row's leaf, in the order of ``classes_``; for
            several outputs, a list with one array per output.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=1)
        >>> tree = tree.fit([[1.0], [2.0], [3.0], [3.0]], ["no", "no", "no", "yes"])
        >>> tree.predict_proba([[0.0], [4.0]])
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        return self._shares(self._rows(X, check_input))

    def _shares(self, rows: Any) -> Shares:
        """Get the shares of the classes for checked rows."""
        return _answers.shares(self._values(rows), self.n_classes_)

    def predict_log_proba(self, X: ArrayLike) -> Shares:
        """Predict the logarithm of each class's share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            Natural logarithm of ``predict_proba(X)``; ``-inf`` for classes that are not in a leaf.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> tree.predict_log_proba([[0.0]])
        array([[  0., -inf]])
        """
        return _answers.logarithm(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


# A class is registered as a virtual subclass of scikit-learn's class of the same name, because
# tools ask for that class where they mean its interface: partial_dependence with
# method="recursion", export_text (which would take a classifier for a regressor) and dtreeviz. The
# interface is complete: `test_a_virtual_subclass_has_all_that_its_namesake_has` compares it. Code
# that needs the compiled tree of scikit-learn still raises an error: `tree_` is not of that type.
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
