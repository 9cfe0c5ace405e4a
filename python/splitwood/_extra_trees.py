"""Extremely randomized trees: the estimators with random thresholds.

They are decision trees with other defaults. Pickles name a class by its module, so the classes stay
here.
"""

from __future__ import annotations

import sklearn.tree
from numpy.typing import ArrayLike

from ._base import MaxFeatures, RandomState, Splitter
from ._categories import CategoricalFeatures
from ._class_weight import ClassWeight
from ._estimators import (
    ClassificationCriterion,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LeafValue,
    RegressionCriterion,
)


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree whose thresholds are drawn at random.

    For each of `max_features` features, a threshold is drawn between the smallest and the largest
    value in the node, and the node uses the best of these splits. A single tree of this kind
    predicts poorly; averages of many predict well.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise, which also decides what a leaf predicts. "squared_error" is
        for means. "absolute_error" is for medians, which a few outliers among the targets can't
        move. "quantile" is the pinball loss, for the quantile of level `quantile`; at level 0.5 it
        is half the absolute error. "poisson" is half the Poisson deviance, for counts and rates: no
        target may be negative, and no leaf has targets that are all zero. "friedman_mse", which
        scikit-learn deprecates, is another name of "squared_error" and gives a warning.
    splitter : {"best", "random"}, default="random"
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
    max_features : int, float or {"sqrt", "log2"}, default=1.0
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
    DecisionTreeRegressor : A tree with the best thresholds.
    ExtraTreeClassifier : A tree for class labels.

    Notes
    -----
    If several splits are equally good, the lowest feature wins, then the lowest threshold. A
    missing value goes to the side where it lowered the loss in training; if the training rows of a
    node had no missing values, it goes to the child with more weight.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import BaggingRegressor
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = BaggingRegressor(ExtraTreeRegressor(), random_state=0)
    >>> bool(cross_val_score(forest, X, y).mean() > 0.3)
    True
    """

    def __init__(
        self,
        *,
        criterion: RegressionCriterion = "squared_error",
        splitter: Splitter = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = 1.0,
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
            quantile=quantile,
            leaf_value=leaf_value,
            n_jobs=n_jobs,
            verbose=verbose,
        )


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree whose thresholds are drawn at random.

    For each of `max_features` features, a threshold is drawn between the smallest and the largest
    value in the node, and the node uses the best of these splits. A single tree of this kind
    predicts poorly; averages of many predict well.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise. "entropy" and "log_loss" are the same.
    splitter : {"best", "random"}, default="random"
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
    max_features : int, float or {"sqrt", "log2"}, default="sqrt"
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
    DecisionTreeClassifier : A tree with the best thresholds.
    ExtraTreeRegressor : A tree for real targets.

    Notes
    -----
    If several splits are equally good, the lowest feature wins, then the lowest threshold. A
    missing value goes to the side where it lowered the loss in training; if the training rows of a
    node had no missing values, it goes to the child with more weight.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import ExtraTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = BaggingClassifier(ExtraTreeClassifier(), random_state=0)
    >>> bool(cross_val_score(forest, X, y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        criterion: ClassificationCriterion = "gini",
        splitter: Splitter = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
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
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            categorical_smoothing=categorical_smoothing,
            n_jobs=n_jobs,
            verbose=verbose,
        )


# As in `_estimators.py`.
sklearn.tree.ExtraTreeRegressor.register(ExtraTreeRegressor)
sklearn.tree.ExtraTreeClassifier.register(ExtraTreeClassifier)
