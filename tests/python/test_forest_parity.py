"""Forests beside scikit-learn's: out-of-bag and test scores over seeds, and importances.

Both libraries draw other numbers, so scores are compared as distributions. Seeds and rows are
fixed, so a test passes always or never; the limits are those that two libraries without any
difference pass with a probability of about 99 %, for another choice of seeds. There is no slack
beside the standard errors: `benches/forest_quality.py` prints the figures and says how they are
computed.
"""

from functools import cache

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import make_friedman1

import splitwood
from forest_quality import (
    CLASSIFICATIONS,
    KINDS,
    REGRESSIONS,
    Comparison,
    bias,
    compare,
    symmetric_importances,
)
from forests import classifies, theirs
from splitwood import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

SEEDS = range(10)
N_TREES = 50


@cache
def comparisons():
    """Forests of four kinds on ten tables, out of bag and on held-out rows: 40 differences."""
    return [
        compare(name, load(), SEEDS, N_TREES)
        for name, tables in KINDS.items()
        for load in tables.values()
    ]


def assert_alike(comparison):
    """Assert differences of less than 3.5 standard errors: by chance, one of 400 is larger."""
    assert (abs(comparison.difference) <= 3.5 * comparison.standard_error).all(), comparison


def test_scores_are_not_better_or_worse_than_those_of_scikit_learn():
    """No bias: a sum over all tables, of which one in 400 is beyond 3 by chance."""
    assert (abs(bias(comparisons())) < 3.0).all()


def test_scores_are_within_a_standard_error_of_those_of_scikit_learn():
    """Of 40 differences that are chance, 27 are within one standard error, 18 or more in 99.9 %."""
    for comparison in comparisons():
        assert_alike(comparison)
    difference = np.concatenate([one.difference for one in comparisons()])
    error = np.concatenate([one.standard_error for one in comparisons()])
    assert (abs(difference) <= error).sum() >= 18


def test_a_bias_of_a_standard_error_is_found():
    """The tests above would notice it."""
    worse = [one._replace(ours=one.ours - one.standard_error) for one in comparisons()]
    assert (bias(worse) < -3.0).all()


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
    assert_alike(compare(kind.__name__, (X, y), SEEDS, N_TREES, **settings))


def test_several_outputs_score_like_those_of_scikit_learn():
    X, y = REGRESSIONS["friedman1"]()
    both = np.stack([y, X[:, 0]], axis=1)
    assert_alike(compare("RandomForestRegressor", (X, both), SEEDS, N_TREES))


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
    assert_alike(Comparison(*found.values()))


@pytest.mark.parametrize("name", KINDS)
def test_symmetric_features_are_equally_important(name):
    """Ties favour no feature: the importances of eight symmetric columns are scikit-learn's.

    Both see the same rows, so the differences of a seed are compared. Of 32 columns, one is beyond
    5.3 standard errors with a probability of 2 % (Student's t with 9 degrees of freedom).
    """
    ours, known = (
        symmetric_importances(library, name, SEEDS, 40) for library in (splitwood, sklearn.ensemble)
    )
    difference = ours - known
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert (abs(difference.mean(axis=0)) < 5.3 * error).all()


def test_copies_of_a_feature_share_its_importance():
    """Every cut of a column ties with that of its copies; no copy comes first in all trees."""
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    X = np.hstack([X, X[:, [3]], X[:, [3]]])
    for kind in (RandomForestRegressor, RandomForestClassifier):
        target = (y > np.median(y)).astype(int) if classifies(kind) else y
        forest = kind(300, max_features=None, random_state=0).fit(X, target)
        shares = forest.feature_importances_[[3, 5, 6]]
        assert shares.min() / shares.max() > 0.75
