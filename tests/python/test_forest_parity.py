"""Forests beside scikit-learn's: out-of-bag and test scores over seeds, and importances.

Both libraries draw other numbers, so scores are compared as distributions: over the seeds, the mean
difference must be within a few standard errors, which the test computes from the seeds.
"""

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_moons,
)

from forests import FORESTS, classifies, theirs
from splitwood import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

SEEDS = range(10)


def with_ties(kind):
    """Few distinct values per column, and a column of missing values."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(400, 6)).astype(float)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=400)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (y > np.median(y)).astype(int) if classifies(kind) else y


REGRESSIONS = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(400, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(400, noise=50.0, random_state=0),
    "ties": lambda: with_ties(RandomForestRegressor),
    "counts": lambda: (
        make_friedman1(400, random_state=1)[0],
        np.random.default_rng(1).poisson(make_friedman1(400, random_state=1)[1] / 4.0),
    ),
}
CLASSIFICATIONS = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: tuple(part[:500] for part in load_digits(return_X_y=True)),
    "moons": lambda: make_moons(400, noise=0.3, random_state=0),
    "ties": lambda: with_ties(RandomForestClassifier),
}


def scores(kind, X, y, settings):
    """Get the out-of-bag score and the score of held-out rows, for each seed."""
    found = []
    half = np.random.default_rng(0).permutation(len(y)) < 2 * len(y) // 3
    for seed in SEEDS:
        forest = kind(50, bootstrap=True, oob_score=True, random_state=seed, n_jobs=1, **settings)
        forest.fit(X[half], y[half])
        found.append((forest.oob_score_, forest.score(X[~half], y[~half])))
    return np.array(found)


def assert_alike(ours, known):
    """Differences of less than four standard errors, or of less than 0.01."""
    spread = np.sqrt((ours.var(axis=0, ddof=1) + known.var(axis=0, ddof=1)) / len(ours))
    difference = np.abs(ours.mean(axis=0) - known.mean(axis=0))
    assert (difference < np.maximum(4.0 * spread, 0.01)).all(), (
        ours.mean(0),
        known.mean(0),
        spread,
    )


@pytest.mark.parametrize("data", REGRESSIONS)
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_scores_of_regressors_are_those_of_scikit_learn(kind, data):
    X, y = REGRESSIONS[data]()
    assert_alike(scores(kind, X, y, {}), scores(theirs(kind), X, y, {}))


@pytest.mark.parametrize("data", CLASSIFICATIONS)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_scores_of_classifiers_are_those_of_scikit_learn(kind, data):
    X, y = CLASSIFICATIONS[data]()
    assert_alike(scores(kind, X, y, {}), scores(theirs(kind), X, y, {}))


@pytest.mark.parametrize(
    ("kind", "data", "settings"),
    [
        (RandomForestRegressor, "friedman1", {"max_features": 1 / 3}),
        (RandomForestRegressor, "friedman1", {"criterion": "absolute_error", "max_depth": 6}),
        (RandomForestRegressor, "counts", {"criterion": "poisson", "min_samples_leaf": 5}),
        (RandomForestRegressor, "friedman1", {"max_samples": 0.3, "min_samples_leaf": 0.02}),
        (RandomForestRegressor, "friedman1", {"max_leaf_nodes": 20}),
        (RandomForestRegressor, "friedman1", {"ccp_alpha": 0.2}),
        (RandomForestRegressor, "friedman1", {"min_weight_fraction_leaf": 0.02}),
        (RandomForestRegressor, "friedman1", {"min_impurity_decrease": 0.05}),
        (RandomForestClassifier, "moons", {"criterion": "entropy", "min_samples_split": 20}),
        (RandomForestClassifier, "moons", {"class_weight": {1: 3.0}, "max_depth": 4}),
        (RandomForestClassifier, "digits", {"class_weight": "balanced", "max_features": "log2"}),
        (RandomForestClassifier, "wine", {"class_weight": "balanced_subsample"}),
        (ExtraTreesClassifier, "digits", {"max_features": None}),
    ],
)
def test_settings_have_the_effect_that_they_have_in_scikit_learn(kind, data, settings):
    X, y = (REGRESSIONS | CLASSIFICATIONS)[data]()
    assert_alike(scores(kind, X, y, settings), scores(theirs(kind), X, y, settings))


def test_several_outputs_score_like_those_of_scikit_learn():
    X, y = REGRESSIONS["friedman1"]()
    both = np.stack([y, X[:, 0]], axis=1)
    kind = RandomForestRegressor
    assert_alike(scores(kind, X, both, {}), scores(theirs(kind), X, both, {}))


def test_weighted_rows_score_like_those_of_scikit_learn():
    X, y = REGRESSIONS["friedman1"]()
    weights = np.random.default_rng(2).exponential(size=len(y))
    found = {}
    for kind in (RandomForestRegressor, theirs(RandomForestRegressor)):
        found[kind] = np.array(
            [
                kind(50, oob_score=True, random_state=seed)
                .fit(X, y, sample_weight=weights)
                .oob_score_
                for seed in SEEDS
            ]
        )[:, None]
    assert_alike(*found.values())


@FORESTS
def test_symmetric_features_are_equally_important(kind):
    """Ties favour no feature: the spread over eight equal columns is scikit-learn's."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 8)).astype(float)
    y = X.sum(axis=1) + rng.normal(size=300)
    y = (y > np.median(y)).astype(int) if classifies(kind) else y

    def importances(one):
        return np.array([one(40, random_state=s).fit(X, y).feature_importances_ for s in SEEDS])

    ours, known = importances(kind), importances(theirs(kind))
    spread = np.sqrt((ours.var(axis=0, ddof=1) + known.var(axis=0, ddof=1)) / len(SEEDS))
    assert (np.abs(ours.mean(axis=0) - known.mean(axis=0)) < 5.0 * spread + 0.003).all()


def test_copies_of_a_feature_share_its_importance():
    """Every cut of a column ties with that of its copies; no copy comes first in all trees."""
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    X = np.hstack([X, X[:, [3]], X[:, [3]]])
    for kind in (RandomForestRegressor, RandomForestClassifier):
        target = (y > np.median(y)).astype(int) if classifies(kind) else y
        forest = kind(300, max_features=None, random_state=0).fit(X, target)
        shares = forest.feature_importances_[[3, 5, 6]]
        assert shares.min() / shares.max() > 0.75
