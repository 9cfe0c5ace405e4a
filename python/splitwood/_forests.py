"""Random forests and extremely randomized trees.

Pickles name a class by its module, so the classes stay here.
"""

from __future__ import annotations

import sklearn.ensemble
from numpy.typing import ArrayLike

from ._base import MaxFeatures, RandomState
from ._base_forest import ImportanceType, OobScore
from ._categories import CategoricalFeatures
from ._class_weight import ForestClassWeight
from ._estimators import (
    ClassificationCriterion,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RegressionCriterion,
)
from ._extra_trees import ExtraTreeClassifier, ExtraTreeRegressor
from ._forest_conversions import ForestConversionsMixin
from ._forest_tasks import BaseForestClassifier, BaseForestRegressor


class RandomForestRegressor(ForestConversionsMixin, BaseForestRegressor):
    """A random forest that predicts numbers.

    It averages many trees, each grown from rows that are drawn with replacement. The average varies
    far less with the training rows than a single tree does. More trees never hurt the score; 100 to
    500 are usual.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise, which also decides what a leaf predicts. "squared_error" is
        for means. "absolute_error" is for medians, which a few outliers among the targets can't
        move. "quantile" is the pinball loss, for the quantile of level `quantile`; at level 0.5 it
        is half the absolute error. "poisson" is half the Poisson deviance, for counts and rates: no
        target may be negative, and no leaf has targets that are all zero. "friedman_mse", which
        scikit-learn deprecates, is another name of "squared_error" and gives a warning. The forest
        predicts the mean of the leaves' predictions.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
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
        How predictions may change with each feature while the others are fixed: 1 means that they
        never decrease, -1 that they never increase, and 0 that there is no constraint. For one
        output; missing values are allowed, and count as the highest where a split parts them from
        all others.
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
    quantile : float, default=0.5
        Level of the quantile, strictly between 0 and 1, for ``criterion="quantile"``. The other
        criteria have no level, and a fit refuses any but the default.

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
    RandomForestClassifier : A random forest for class labels.
    ExtraTreesRegressor : A forest with random thresholds.
    RandomForestQuantileRegressor : A random forest that predicts quantiles.

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
    >>> from splitwood import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0)
    >>> bool(forest.fit(X, y).oob_score_ > 0.35)
    True
    """

    _tree_class = DecisionTreeRegressor
    _splitter = "best"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressionCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
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
        quantile: float = 0.5,
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
        self.quantile = quantile


class RandomForestClassifier(ForestConversionsMixin, BaseForestClassifier):
    """A random forest that predicts classes.

    It averages many trees, each grown from rows that are drawn with replacement. The average varies
    far less with the training rows than a single tree does. More trees never hurt the score; 100 to
    500 are usual.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise. "entropy" and "log_loss" are the same.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of a tree's total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default="sqrt"
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
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes: ``{label: weight}`` or, for several outputs, a list with one dict
        per output. A class that is not mentioned has weight 1. "balanced" gives all classes the
        same total weight. "balanced_subsample" does so in each tree's bag. The weights multiply
        `sample_weight` of `fit`. None gives every class weight 1.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: each grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number of rows, or a share of their number (with
        `sample_weight`, of their total weight), which may be above 1. None means as many as there
        are rows. For ``bootstrap=True``.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        How the share of the second class may change with each feature while the others are fixed: 1
        means that it never decreases, -1 that it never increases, and 0 that there is no
        constraint. For one output of two classes; missing values are allowed, and count as the
        highest where a split parts them from all others.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the features that the data frame declares categorical (pandas' ``category``, polars'
        ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any number, string or other
        hashable value. A split sends a set of labels left: of two classes, the best cut in the
        order of their shares; of more classes, the best of all sets of up to ten labels in the
        node, and the best cut along the first principal component of the shares of more labels,
        which is a heuristic. Missing labels go to the side with the lower loss; labels that the fit
        did not see go where missing labels go. For the best thresholds, not for random ones.
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
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels, sorted; for several outputs, a list with one array per output.
    n_classes_ : int or list of int
        Number of classes; for several outputs, a list with one number per output.
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
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        The mean shares of the classes by these trees, with an axis for the outputs at the end if
        there are several; 0 for rows that every tree has seen.

    See Also
    --------
    RandomForestRegressor : A random forest for numbers.
    ExtraTreesClassifier : A forest with random thresholds.

    Notes
    -----
    A tree's bag and its random choices follow from its seed alone, so the forest is the same for
    every `n_jobs`, and trees that a warm start adds are those that a larger forest would have. If
    several splits are equally good, the feature that comes first in the tree's own order wins.
    Memory and file size grow with the number of leaves: `min_samples_leaf` and `max_depth` keep
    them small.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splitwood import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0)
    >>> bool(forest.fit(X, y).oob_score_ > 0.94)
    True
    """

    _tree_class = DecisionTreeClassifier
    _splitter = "best"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassificationCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
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
        self.class_weight = class_weight


class ExtraTreesRegressor(ForestConversionsMixin, BaseForestRegressor):
    """A forest of trees with random thresholds that predicts numbers.

    For each of `max_features` features, a threshold is drawn between the smallest and the largest
    value in the node, and the node uses the best of these splits. The trees are less alike than
    those of a random forest, and grow faster; by default each tree is grown from all rows.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise, which also decides what a leaf predicts. "squared_error" is
        for means. "absolute_error" is for medians, which a few outliers among the targets can't
        move. "quantile" is the pinball loss, for the quantile of level `quantile`; at level 0.5 it
        is half the absolute error. "poisson" is half the Poisson deviance, for counts and rates: no
        target may be negative, and no leaf has targets that are all zero. "friedman_mse", which
        scikit-learn deprecates, is another name of "squared_error" and gives a warning. The forest
        predicts the mean of the leaves' predictions.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
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
        How predictions may change with each feature while the others are fixed: 1 means that they
        never decrease, -1 that they never increase, and 0 that there is no constraint. For one
        output; missing values are allowed, and count as the highest where a split parts them from
        all others.
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
    quantile : float, default=0.5
        Level of the quantile, strictly between 0 and 1, for ``criterion="quantile"``. The other
        criteria have no level, and a fit refuses any but the default.

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
    ExtraTreesClassifier : A forest with random thresholds for class labels.
    RandomForestRegressor : A forest with the best thresholds.

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
    >>> from splitwood import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(bootstrap=True, oob_score=True, random_state=0)
    >>> bool(forest.fit(X, y).oob_score_ > 0.35)
    True
    """

    _tree_class = ExtraTreeRegressor
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: RegressionCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
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
        quantile: float = 0.5,
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
        self.quantile = quantile


class ExtraTreesClassifier(ForestConversionsMixin, BaseForestClassifier):
    """A forest of trees with random thresholds that predicts classes.

    For each of `max_features` features, a threshold is drawn between the smallest and the largest
    value in the node, and the node uses the best of these splits. The trees are less alike than
    those of a random forest, and grow faster; by default each tree is grown from all rows.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise. "entropy" and "log_loss" are the same.
    max_depth : int, default=None
        Maximum depth of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of different rows, or a fraction of the training
        rows.
    min_samples_leaf : int or float, default=1
        Smallest number of different rows on either side of a split, or a fraction of the training
        rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of a tree's total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default="sqrt"
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
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes: ``{label: weight}`` or, for several outputs, a list with one dict
        per output. A class that is not mentioned has weight 1. "balanced" gives all classes the
        same total weight. "balanced_subsample" does so in each tree's bag. The weights multiply
        `sample_weight` of `fit`. None gives every class weight 1.
    ccp_alpha : float, default=0.0
        Cost per leaf, in units of the impurity: each grown tree is pruned to the smallest tree that
        minimises the sum of impurity and cost. 0 means no pruning.
    max_samples : int or float, default=None
        How many rows are drawn for each tree: a number of rows, or a share of their number (with
        `sample_weight`, of their total weight), which may be above 1. None means as many as there
        are rows. For ``bootstrap=True``.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        How the share of the second class may change with each feature while the others are fixed: 1
        means that it never decreases, -1 that it never increases, and 0 that there is no
        constraint. For one output of two classes; missing values are allowed, and count as the
        highest where a split parts them from all others.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features are categorical: a mask, indices or names of features, or "from_dtype" for
        the features that the data frame declares categorical (pandas' ``category``, polars'
        ``Categorical`` and ``Enum``, Arrow's dictionaries). A label is any number, string or other
        hashable value. A split sends a set of labels left: of two classes, the best cut in the
        order of their shares; of more classes, the best of all sets of up to ten labels in the
        node, and the best cut along the first principal component of the shares of more labels,
        which is a heuristic. Missing labels go to the side with the lower loss; labels that the fit
        did not see go where missing labels go. For the best thresholds, not for random ones.
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
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels, sorted; for several outputs, a list with one array per output.
    n_classes_ : int or list of int
        Number of classes; for several outputs, a list with one number per output.
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
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        The mean shares of the classes by these trees, with an axis for the outputs at the end if
        there are several; 0 for rows that every tree has seen.

    See Also
    --------
    ExtraTreesRegressor : A forest with random thresholds for numbers.
    RandomForestClassifier : A forest with the best thresholds.

    Notes
    -----
    A tree's bag and its random choices follow from its seed alone, so the forest is the same for
    every `n_jobs`, and trees that a warm start adds are those that a larger forest would have. If
    several splits are equally good, the feature that comes first in the tree's own order wins.
    Memory and file size grow with the number of leaves: `min_samples_leaf` and `max_depth` keep
    them small.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splitwood import ExtraTreesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = ExtraTreesClassifier(bootstrap=True, oob_score=True, random_state=0)
    >>> bool(forest.fit(X, y).oob_score_ > 0.94)
    True
    """

    _tree_class = ExtraTreeClassifier
    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: ClassificationCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: OobScore = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: ForestClassWeight = None,
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
        self.class_weight = class_weight


# scikit-learn's tools for its own forests, such as partial_dependence with method="recursion",
# check the class. The attributes that they use are here.
sklearn.ensemble.RandomForestRegressor.register(RandomForestRegressor)
sklearn.ensemble.RandomForestClassifier.register(RandomForestClassifier)
sklearn.ensemble.ExtraTreesRegressor.register(ExtraTreesRegressor)
sklearn.ensemble.ExtraTreesClassifier.register(ExtraTreesClassifier)
