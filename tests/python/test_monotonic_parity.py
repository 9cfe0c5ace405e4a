"""Trees with monotonic constraints are scikit-learn's, except for ties."""

import numpy as np
import pytest

from compare import diamonds
from peers import (
    CLASSIFIERS,
    REGRESSORS,
    assert_same_structure,
    both,
    friedman,
    load,
    need_missing_values_of_1_9,
    random_weights,
)

# All features constrained, none, and mixtures: cuts on free features are bound by no constraint.
SIGNS = [
    [1, 1, -1, 1, 1, -1],
    [-1, -1, -1, -1, -1, -1],
    [0] * 6,
    [1, 0, 0, 0, 0, 0],
    [0, 0, -1, 1, 0, 0],
    [0, 1, 0, -1, 1, 0],
]
RULES = [
    {"max_depth": 4},
    {"min_samples_split": 40},
    {"min_samples_split": 40, "max_leaf_nodes": 8},
    {"min_samples_split": 40, "min_impurity_decrease": 0.01},
    {"min_samples_split": 40, "ccp_alpha": 0.01},
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("rules", RULES, ids=lambda rules: list(rules)[-1])
@pytest.mark.parametrize("signs", SIGNS, ids=str)
class TestSameStructure:
    @pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
    def test_regression(self, criterion, signs, rules, weighted):
        X, y = friedman()
        # Gains of medians tie unless weights break the ties.
        plain = random_weights(len(y), 1.0, 1.25) if criterion == "absolute_error" else None
        weight = random_weights(len(y), 0.25, 3.0) if weighted else plain
        settings = {"criterion": criterion, "min_samples_leaf": 10, "monotonic_cst": signs}
        assert_same_structure(*both(REGRESSORS, X, y, weight, **settings, **rules))

    @pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
    def test_classes(self, criterion, signs, rules, weighted):
        X, y = friedman()
        labels = np.where(y > np.median(y), "yes", "no")
        weight = random_weights(len(y), 1.0, 3.0 if weighted else 1.25)
        settings = {"criterion": criterion, "min_samples_leaf": 10, "monotonic_cst": signs}
        ours, theirs = both(CLASSIFIERS, X, labels, weight, **settings, **rules)
        assert_same_structure(ours, theirs)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
def test_the_same_predictions_on_real_data(name):
    X, y = load(name)
    kinds = REGRESSORS if name == "diabetes" else CLASSIFIERS
    signs = np.resize([1, -1], X.shape[1])
    weight = random_weights(len(y), 1.0, 1.25)
    ours, theirs = both(kinds, X, y, weight, monotonic_cst=signs, min_samples_leaf=10, max_depth=5)
    assert_same_structure(ours, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kinds", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
def test_the_same_structure_with_missing_values(kinds):
    need_missing_values_of_1_9()
    X, y = friedman()
    y = y if kinds is REGRESSORS else y > np.median(y)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    weight = random_weights(len(y), 1.0, 1.25)
    settings = {"monotonic_cst": [1, 1, -1, 1, 1, -1], "min_samples_leaf": 10}
    assert_same_structure(*both(kinds, X, y, weight, min_samples_split=40, **settings))


# What a tree of numbers loses, and what a tree of classes loses.
def training_loss(tree, X, y):
    if hasattr(tree, "predict_proba"):
        return np.mean(
            1.0 - tree.predict_proba(X)[np.arange(len(y)), np.unique(y, return_inverse=True)[1]]
        )
    return np.mean((y - tree.predict(X)) ** 2)


def every_mixture(n_features):
    """Signs that mix 0, 1 and −1, each feature with each sign once."""
    for shift in range(3):
        yield np.resize(np.roll([0, 1, -1], shift), n_features)
    yield np.eye(1, n_features, dtype=int)[0]
    yield -np.eye(1, n_features, n_features - 1, dtype=int)[0]


def table(name):
    """Features and target of a table; of the diamonds some rows, as float32 and codes."""
    if name == "friedman":
        return friedman()
    if name != "diamonds":
        return load(name)
    try:
        X, y = diamonds.load()
    except ModuleNotFoundError as missing:
        pytest.skip(str(missing))
    rows = np.random.default_rng(0).choice(len(y), 4_000, replace=False)
    return X[rows], y[rows]


@pytest.mark.parametrize("depth", [2, 4, 7, None])
@pytest.mark.parametrize("kinds", [REGRESSORS, CLASSIFIERS], ids=["numbers", "classes"])
@pytest.mark.parametrize("name", ["friedman", "diamonds", "diabetes", "breast_cancer"])
def test_the_training_loss_is_no_higher_than_scikit_learns(name, kinds, depth):
    X, y = table(name)
    # The upper half; of breast cancer, whose classes are numbers in the other case, the classes.
    y = y > (np.median(y) if name != "breast_cancer" else 0) if kinds is CLASSIFIERS else y
    for signs in every_mixture(X.shape[1]):
        ours, theirs = both(kinds, X, y, max_depth=depth, min_samples_leaf=3, monotonic_cst=signs)
        assert training_loss(ours, X, y) <= 1.01 * training_loss(theirs, X, y) + 1e-12, signs


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_predictions_are_monotonic_over_the_whole_space(criterion, missing):
    X, y = friedman()
    y = np.abs(y)
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < missing] = np.nan
    for signs in every_mixture(X.shape[1]):
        ours = REGRESSORS[0](criterion=criterion, monotonic_cst=signs).fit(X, y)
        for feature in np.flatnonzero(signs):
            rows = np.repeat(X[rng.integers(len(X), size=50)], 20, axis=0)
            rows[:, feature] = np.tile(np.linspace(-0.1, 1.1, 20), 50)
            steps = np.diff(ours.predict(rows).reshape(50, 20), axis=1)
            assert (steps * signs[feature] >= 0).all(), (signs, feature)
