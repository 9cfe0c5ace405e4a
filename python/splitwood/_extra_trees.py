"""Extremely randomized trees: the same estimators with other defaults."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._categories import CategoricalFeatures
from ._class_weight import ClassWeight
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor, LeafValue, RandomState


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree whose thresholds are drawn at random.

    For each of `max_features` features a threshold is drawn between the least and the greatest value of the
    node, and the best of these splits is made. One such tree is seldom of use; many of them together are.

    Parameters
    ----------
    criterion, splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
    max_features, random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst
    categorical_features, quantile, leaf_value, n_jobs, verbose
        As in `DecisionTreeRegressor`, but ``splitter="random"`` and ``max_features=1.0`` by default.

    Attributes
    ----------
    tree_, n_features_in_, feature_names_in_, n_outputs_, max_features_, is_categorical_, categories_
    feature_importances_
        As in `DecisionTreeRegressor`.

    See Also
    --------
    DecisionTreeRegressor : The best thresholds, and all the parameters explained.

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
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = 1.0,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
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
            quantile=quantile,
            leaf_value=leaf_value,
            n_jobs=n_jobs,
            verbose=verbose,
        )


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree whose thresholds are drawn at random.

    Parameters
    ----------
    criterion, splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
    max_features, random_state, max_leaf_nodes, min_impurity_decrease, class_weight, ccp_alpha
    monotonic_cst, categorical_features, n_jobs, verbose
        As in `DecisionTreeClassifier`, but ``splitter="random"`` and ``max_features="sqrt"`` by default.

    Attributes
    ----------
    classes_, n_classes_, tree_, n_features_in_, feature_names_in_, n_outputs_, max_features_
    is_categorical_, categories_, feature_importances_
        As in `DecisionTreeClassifier`.

    See Also
    --------
    ExtraTreeRegressor : The same for real targets, with a description.
    DecisionTreeClassifier : The best thresholds.

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
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
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
            n_jobs=n_jobs,
            verbose=verbose,
        )
