"""The packages, each of which fits a tree or a forest: exact and unpruned where the package can.

A fit function takes the arrays as they are, so that conversions are part of its time. It returns a
function that predicts y (for two classes, the probability of the second; for more, one column per
class). It imports its package itself, so that only measured packages need to be installed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import inf
from typing import Any

import numpy as np

from compare import numpy_tree, ranger
from compare.cases import (
    EXTRA_FOREST,
    EXTRA_TREE,
    FOREST,
    FORESTS,
    MISSING,
    OURS_NAME,
    QUANTILE_FOREST,
    QUANTILES,
    SPARSE,
    TEXT,
    TREE,
    Case,
    Prediction,
    Setting,
)
from compare.data import SPARSE_DENSITY, Data
from compare.walker import Walker

Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[Case, Data, int], Predict]

# XGBoost's exact method needs a limit. It stops earlier when there is nothing left to split.
XGBOOST_UNLIMITED = 1_000
# LightGBM keeps a histogram per leaf and column, which takes gigabytes above this number.
LIGHTGBM_HISTOGRAMS = 50_000
# The plain numpy trees are left out where they would take longer.
NAIVE_SECONDS = 3.0
# How much longer a fit by absolute error takes, roughly.
ABSOLUTE_ERROR_FACTOR = 5


# The names of the classes, without Regressor and Classifier, and the modules of scikit-learn.
ESTIMATORS = {
    TREE: ("DecisionTree", "tree"),
    EXTRA_TREE: ("ExtraTree", "tree"),
    FOREST: ("RandomForest", "ensemble"),
    EXTRA_FOREST: ("ExtraTrees", "ensemble"),
}
# Only splitwood and quantile-forest have this one.
QUANTILE_FORESTS = {QUANTILE_FOREST: ("RandomForestQuantile", "quantile_forest")}


def _scikit_learn_style(module: str, case: Case, data: Data, **own: Any) -> Predict:
    """Fit an estimator of `module`, which has scikit-learn's names."""
    kind = "Classifier" if case.n_classes else "Regressor"
    name, _ = (ESTIMATORS | QUANTILE_FORESTS)[case.model]
    estimator = getattr(import_module(module), name + kind)
    if case.model == QUANTILE_FOREST:
        own["default_quantiles"] = list(QUANTILES)
    own |= {"max_depth": case.depth, "min_samples_leaf": case.min_samples_leaf} | case.options
    weights = data.weights if case.weights else None
    if not case.n_classes:
        return estimator(criterion=case.criterion, **own).fit(data.X, data.y, weights).predict
    predict = estimator(**own).fit(data.X, data.y, weights).predict_proba
    if case.n_classes == 2 and case.n_outputs == 1:
        return lambda X: predict(X)[:, 1]
    return predict


def fit_splitwood(case: Case, data: Data, threads: int) -> Predict:
    own: dict[str, Any] = {"n_jobs": threads}
    if case.categories:
        own["categorical_features"] = list(case.categories)
    if _is_random(case):
        own["random_state"] = 0
    return _scikit_learn_style("splitwood", case, data, **own)


def fit_scikit_learn(case: Case, data: Data, threads: int) -> Predict:
    own = {"n_jobs": threads} if case.model in FORESTS else {}
    module = f"sklearn.{ESTIMATORS[case.model][1]}"
    return _scikit_learn_style(module, case, data, random_state=0, **own)


def fit_intelex(case: Case, data: Data, threads: int) -> Predict:
    """scikit-learn's forests in Intel's library, with features sorted into 256 bins."""
    return _scikit_learn_style("sklearnex.ensemble", case, data, random_state=0, n_jobs=threads)


def fit_quantile_forest(case: Case, data: Data, threads: int) -> Predict:
    """All rows of a leaf count, as in splitwood."""
    exact = {"max_samples_leaf": None, "random_state": 0, "n_jobs": threads}
    return _scikit_learn_style("quantile_forest", case, data, **exact)


def fit_quantile_forest_sampled(case: Case, data: Data, threads: int) -> Predict:
    """One random row of each leaf counts, which is the package's default."""
    return _scikit_learn_style("quantile_forest", case, data, random_state=0, n_jobs=threads)


def _is_random(case: Case) -> bool:
    return case.model != TREE or not case.options.keys().isdisjoint({"max_features", "splitter"})


def fit_ydf(case: Case, data: Data, threads: int) -> Predict:
    import ydf

    ydf.verbose(0)
    own: dict[str, Any] = {"validation_ratio": 0.0}  # no rows held out, no pruning
    learner = ydf.CartLearner
    if case.model in FORESTS:
        learner, own = ydf.RandomForestLearner, {"num_trees": case.n_trees}
        # By default it draws a third of the features; for classes, the square root of their number.
        if not case.n_classes:
            own["num_candidate_attributes_ratio"] = 1.0
        own |= {"compute_oob_performances": False, "winner_take_all": False}
    # For classes its only criterion is the entropy.
    trained = learner(
        label="y",
        task=ydf.Task.CLASSIFICATION if case.n_classes else ydf.Task.REGRESSION,
        max_depth=-1 if case.depth is None else case.depth + 1,  # counts the root
        min_examples=case.min_samples_leaf,
        num_threads=threads,
        **own,
    ).train({**_columns(case, data.X), "y": data.y})
    # Its fast engines refuse forests whose trees have many nodes.
    is_forest = case.model in FORESTS
    return lambda X: trained.predict(_columns(case, X), use_slow_engine=is_forest)


def _columns(case: Case, X: np.ndarray) -> dict[str, np.ndarray]:
    """The rows as YDF takes them: words where columns are categories."""
    if not case.categories:
        return {"x": X}
    words = {f"x{column}": X[:, column].astype(np.int64).astype(str) for column in case.categories}
    numbers = [column for column in range(case.columns) if column not in case.categories]
    return {"x": np.ascontiguousarray(X[:, numbers]), **words}


def fit_xgboost(case: Case, data: Data, threads: int) -> Predict:
    import xgboost

    own = {}
    if case.model in FORESTS:
        # It draws without replacement: as many rows as a bootstrap has different ones.
        own = {"num_parallel_tree": case.n_trees, "subsample": 0.632}
    # Squared error on codes 0 and 1 is the Gini index of two classes, up to a factor.
    model = xgboost.XGBRegressor(
        tree_method="exact",
        n_estimators=1,
        learning_rate=1.0,
        **own,
        max_depth=XGBOOST_UNLIMITED if case.depth is None else case.depth,
        min_child_weight=case.min_samples_leaf,  # of weight one each
        reg_lambda=0,
        n_jobs=threads,
    )
    return model.fit(data.X, data.y).predict


def fit_lightgbm(case: Case, data: Data, threads: int) -> Predict:
    import lightgbm

    model = lightgbm.LGBMRegressor(
        n_estimators=1,
        learning_rate=1.0,
        num_leaves=case.leaves,
        max_depth=-1 if case.depth is None else case.depth,
        min_child_samples=case.min_samples_leaf,
        min_child_weight=0,
        n_jobs=threads,
        verbose=-1,
    ).fit(data.X, data.y, categorical_feature=list(case.categories) or "auto")
    return lambda X: model.booster_.predict(X)


def fit_numpy(case: Case, data: Data, threads: int) -> Predict:
    losses, value = numpy_tree.squared_errors, np.mean
    if case.criterion == "absolute_error":
        losses, value = numpy_tree.absolute_errors, np.median
    # Squared error is the Gini index, as for XGBoost.
    return numpy_tree.fit(
        data.X, data.y, losses, value, case.depth, case.min_samples_leaf
    ).explicit_stack


def fit_partition(case: Case, data: Data, threads: int) -> Predict:
    """Our tree, walked in numpy."""
    from splitwood import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=case.depth, min_samples_leaf=case.min_samples_leaf)
    return Walker.of(tree.fit(data.X, data.y)).recursive_partition


def _of_python(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class System:
    """A package in the comparison, or a plain numpy tree."""

    name: str
    package: str
    fit: Fit
    # Roughly, nanoseconds per cell and level and microseconds per leaf. They serve to estimate the
    # time left, and to leave out what is too slow.
    cell_cost: float
    leaf_cost: float = 0.0
    exact: bool = True
    parallel: bool = True
    most_histograms: float = inf
    # The longest fit that is still measured, in seconds.
    patience: float = inf
    # The criteria by which it grows trees directly, without gradients.
    criteria: tuple[str, ...] = ("squared_error",)
    models: tuple[str, ...] = (TREE,)
    # Whether it has scikit-learn's parameters, its weights, several outputs and classes, missing
    # values and sparse rows.
    complete: bool = False
    # Whether a split may separate sets of categories.
    has_categories: bool = False
    # Whether the trees of its forests can draw features, as those of classes do by default.
    draws_features: bool = True
    # Whether it is timed when it fits, and when it predicts.
    fits: bool = True
    predicts: bool = True
    # The installed version of a package, or None.
    installed: Callable[[str], str | None] = _of_python

    @property
    def version(self) -> str | None:
        """The installed version, or None."""
        return self.installed(self.package)

    @property
    def is_peer(self) -> bool:
        return self.package != OURS_NAME

    def takes_part(self, case: Case) -> bool:
        return self._can_fit(case) and (not self.is_peer or case.includes(self.name))

    def _can_fit(self, case: Case) -> bool:
        return (
            (self.predicts if isinstance(case, Prediction) else self.fits)
            and case.criterion in self.criteria
            and case.model in self.models
            and (self.complete or not _needs_more(case))
            and (self.has_categories or not case.categories)
            and (self.draws_features or not (case.model in FORESTS and case.n_classes))
            and (case.leaves * case.columns <= self.most_histograms or case.names(self.name))
            and self.expected_seconds(case) <= self.patience
        )

    def expected_seconds(self, case: Case) -> float:
        """Roughly the time of a fit."""
        factor = ABSOLUTE_ERROR_FACTOR if case.criterion == "absolute_error" else 1
        factor *= case.n_trees * case.n_outputs
        if case.source in (SPARSE, TEXT):
            factor *= SPARSE_DENSITY
        if case.model in FORESTS and not self.parallel:
            factor *= 0.5  # on two threads
        cells = case.rows * case.columns * case.levels
        return 1e-9 * factor * self.cell_cost * cells + 1e-6 * self.leaf_cost * case.leaves


def _needs_more(case: Case) -> bool:
    """Whether only scikit-learn and splitwood can fit the case as it is."""
    options = case.options.keys() - {"n_estimators"}
    # Forests draw features by default, which YDF and XGBoost can, too.
    options -= {"max_features"} if case.model in FORESTS else set()
    unusual = case.n_outputs > 1 or case.n_classes > 2 or bool(case.weights)
    return bool(options) or unusual or case.source in (SPARSE, TEXT, MISSING)


EVERY_CRITERION = ("squared_error", "absolute_error", "poisson")
COMPLETE: dict[str, Any] = {
    "criteria": EVERY_CRITERION,
    "models": tuple(ESTIMATORS),
    "complete": True,
}
OURS = System(
    OURS_NAME,
    OURS_NAME,
    fit_splitwood,
    cell_cost=4,
    has_categories=True,
    **COMPLETE | {"models": (*ESTIMATORS, *QUANTILE_FORESTS)},
)
PEERS = (
    System(
        "scikit-learn",
        "scikit-learn",
        fit_scikit_learn,
        cell_cost=100,
        parallel=False,
        **COMPLETE,
    ),
    System("YDF", "ydf", fit_ydf, cell_cost=50, models=(TREE, FOREST), has_categories=True),
    # Its exact method draws features per tree or level, not per split.
    System(
        "XGBoost",
        "xgboost",
        fit_xgboost,
        cell_cost=60,
        models=(TREE, FOREST),
        draws_features=False,
    ),
    System(
        "LightGBM",
        "lightgbm",
        fit_lightgbm,
        cell_cost=20,
        leaf_cost=100,
        exact=False,
        most_histograms=LIGHTGBM_HISTOGRAMS,
        has_categories=True,
    ),
    System(
        "ranger", "ranger", ranger.fit, cell_cost=50, models=(FOREST,), installed=ranger.version
    ),
    System(
        "scikit-learn-intelex",
        "scikit-learn-intelex",
        fit_intelex,
        cell_cost=20,
        exact=False,
        models=(FOREST,),
    ),
    System(
        "quantile-forest",
        "quantile-forest",
        fit_quantile_forest,
        cell_cost=100,
        models=(QUANTILE_FOREST,),
    ),
    System(
        "quantile-forest, sampled",
        "quantile-forest",
        fit_quantile_forest_sampled,
        cell_cost=100,
        exact=False,
        models=(QUANTILE_FOREST,),
    ),
    System(
        "numpy, presorted",
        "numpy",
        fit_numpy,
        cell_cost=60,
        leaf_cost=80,
        parallel=False,
        patience=NAIVE_SECONDS,
        predicts=False,
    ),
    System(
        "numpy, two heaps",
        "numpy",
        fit_numpy,
        cell_cost=600,
        leaf_cost=100,
        parallel=False,
        patience=NAIVE_SECONDS,
        criteria=("absolute_error",),
        predicts=False,
    ),
    System(
        "numpy, partition",
        "numpy",
        fit_partition,
        cell_cost=4,
        leaf_cost=20,
        parallel=False,
        patience=NAIVE_SECONDS,
        fits=False,
    ),
)


def ours_under(setting: Setting) -> System:
    """splitwood under another setting than the case's own."""

    def fit(case: Case, data: Data, threads: int) -> Predict:
        return fit_splitwood(case.under(setting), data, threads)

    return replace(OURS, name=setting.name, fit=fit)


def systems_for(case: Case, systems: Iterable[System]) -> Iterator[System]:
    """The systems that take part in a case, and ours under the other settings of the case."""
    for system in systems:
        if system.takes_part(case):
            yield system
        if system == OURS:
            yield from map(ours_under, case.settings)
