"""The packages, each of which fits one tree: exact and unpruned where the package can.

A fit function takes the arrays as they are, so that conversions are part of its time. It returns a
function that predicts y (for classes, the probability of class 1). It imports its package itself,
so that only measured packages need to be installed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from math import inf

import numpy as np

from compare import numpy_tree
from compare.cases import OURS_NAME, Case, Prediction, Setting
from compare.data import Data
from compare.walker import Walker

Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[Case, Data, int], Predict]

# XGBoost's exact method needs a limit. It stops earlier when there is nothing left to split.
XGBOOST_UNLIMITED = 1_000
# LightGBM keeps a histogram per leaf and column, which takes gigabytes above this number.
LIGHTGBM_HISTOGRAMS = 50_000
# The plain numpy trees are left out where they would take longer.
NAIVE_SECONDS = 10.0
# How much longer a fit by absolute error takes, roughly.
ABSOLUTE_ERROR_FACTOR = 5


def _scikit_learn_style(
    regressor: type, classifier: type, case: Case, data: Data, **own
) -> Predict:
    own |= {"max_depth": case.depth, "min_samples_leaf": case.min_samples_leaf}
    if case.max_features is not None:
        own |= {"max_features": case.max_features, "random_state": 0}
    weights = data.weights if case.weighted else None
    if case.classes:
        tree = classifier(**own).fit(data.X, data.y, weights)
        return lambda X: tree.predict_proba(X)[:, 1]
    return regressor(criterion=case.criterion, **own).fit(data.X, data.y, weights).predict


def fit_splitwood(case: Case, data: Data, threads: int) -> Predict:
    from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

    return _scikit_learn_style(
        DecisionTreeRegressor, DecisionTreeClassifier, case, data, n_jobs=threads
    )


def fit_scikit_learn(case: Case, data: Data, threads: int) -> Predict:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    return _scikit_learn_style(
        DecisionTreeRegressor, DecisionTreeClassifier, case, data, random_state=0
    )


def fit_ydf(case: Case, data: Data, threads: int) -> Predict:
    import ydf

    ydf.verbose(0)
    # For classes its only criterion is the entropy.
    learner = ydf.CartLearner(
        label="y",
        task=ydf.Task.CLASSIFICATION if case.classes else ydf.Task.REGRESSION,
        max_depth=-1 if case.depth is None else case.depth + 1,  # counts the root
        min_examples=case.min_samples_leaf,
        validation_ratio=0.0,  # no rows held out, no pruning
        num_threads=threads,
    )
    model = learner.train({"x": data.X, "y": data.y})
    return lambda X: model.predict({"x": X})


def fit_xgboost(case: Case, data: Data, threads: int) -> Predict:
    import xgboost

    # Squared error on codes 0 and 1 is the Gini index of two classes, up to a factor.
    model = xgboost.XGBRegressor(
        tree_method="exact",
        n_estimators=1,
        learning_rate=1.0,
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
        num_leaves=case.rows if case.depth is None else 2**case.depth,
        max_depth=-1 if case.depth is None else case.depth,
        min_child_samples=case.min_samples_leaf,
        min_child_weight=0,
        n_jobs=threads,
        verbose=-1,
    ).fit(data.X, data.y)
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
    # Whether it is timed when it fits, and when it predicts.
    fits: bool = True
    predicts: bool = True

    @property
    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @property
    def is_peer(self) -> bool:
        return self.package != OURS_NAME

    def takes_part(self, case: Case) -> bool:
        return self._can_fit(case) and (not self.is_peer or case.includes(self.name))

    def _can_fit(self, case: Case) -> bool:
        return (
            (self.predicts if isinstance(case, Prediction) else self.fits)
            and case.criterion in self.criteria
            and case.leaves * case.columns <= self.most_histograms
            and self.expected_seconds(case) <= self.patience
        )

    def expected_seconds(self, case: Case) -> float:
        """Roughly the time of a fit."""
        factor = ABSOLUTE_ERROR_FACTOR if case.criterion == "absolute_error" else 1
        cells = case.rows * case.columns * case.levels
        return 1e-9 * factor * self.cell_cost * cells + 1e-6 * self.leaf_cost * case.leaves


EVERY_CRITERION = ("squared_error", "absolute_error", "poisson")
OURS = System(OURS_NAME, OURS_NAME, fit_splitwood, cell_cost=4, criteria=EVERY_CRITERION)
PEERS = (
    System(
        "scikit-learn",
        "scikit-learn",
        fit_scikit_learn,
        cell_cost=100,
        parallel=False,
        criteria=EVERY_CRITERION,
    ),
    System("YDF", "ydf", fit_ydf, cell_cost=50),
    System("XGBoost", "xgboost", fit_xgboost, cell_cost=60),
    System(
        "LightGBM",
        "lightgbm",
        fit_lightgbm,
        cell_cost=20,
        leaf_cost=100,
        exact=False,
        most_histograms=LIGHTGBM_HISTOGRAMS,
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
