"""Trees with monotonic constraints are scikit-learn's, except for ties."""

import numpy as np
import pytest

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

SIGNS = [[1, 1, -1, 1, 1, -1], [-1, -1, -1, -1, -1, -1], [0] * 6]
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
