"""The trees with the tools of scikit-learn and of the standard library."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
from trees import assert_same_tree

REGRESSION = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
CLASSES = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)

# Held-out scores that such trees clearly exceed on these data sets, and guessing does not reach.
R2_FLOOR = 0.2
ACCURACY_FLOOR = 0.88


def regressor(**settings):
    return DecisionTreeRegressor(**{"max_depth": 4, "min_samples_leaf": 10, **settings})


def classifier(**settings):
    return DecisionTreeClassifier(**{"max_depth": 4, **settings})


def held_out_score(estimator, split):
    X_train, X_test, y_train, y_test = split
    return estimator.fit(X_train, y_train).score(X_test, y_test)


def test_regressor_in_a_pipeline_equals_the_regressor_alone():
    X_train, X_test, y_train, _ = REGRESSION
    # A power of two changes no order and rounds nothing.
    pipeline = make_pipeline(FunctionTransformer(lambda X: 4.0 * X), regressor())
    expected = regressor().fit(X_train, y_train).predict(X_test)
    np.testing.assert_array_equal(pipeline.fit(X_train, y_train).predict(X_test), expected)


def test_classifier_in_a_pipeline_scores():
    assert held_out_score(make_pipeline(StandardScaler(), classifier()), CLASSES) > ACCURACY_FLOOR


def test_pipeline_routes_sample_weight():
    X_train, _, y_train, _ = CLASSES
    weight = np.where(y_train == 1, 1.0, 0.0)
    pipeline = make_pipeline(StandardScaler(), classifier())
    pipeline.fit(X_train, y_train, decisiontreeclassifier__sample_weight=weight)
    assert (pipeline.predict(X_train) == 1).all()


def test_grid_search_finds_that_a_stump_is_too_small():
    X_train, X_test, y_train, y_test = CLASSES
    grid = {"max_depth": [1, 4], "criterion": ["gini", "entropy"]}
    search = GridSearchCV(DecisionTreeClassifier(n_jobs=1), grid, n_jobs=2)
    search.fit(X_train, y_train)
    assert search.best_params_["max_depth"] == 4
    assert search.score(X_test, y_test) > ACCURACY_FLOOR


def test_cross_val_score_of_the_regressor():
    X, _, y, _ = REGRESSION
    assert cross_val_score(regressor(), X, y).mean() > R2_FLOOR


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingRegressor(regressor(), n_estimators=10, random_state=0),
        AdaBoostRegressor(regressor(), n_estimators=10, random_state=0),
        VotingRegressor([("tree", regressor()), ("ridge", Ridge())]),
        StackingRegressor([("tree", regressor()), ("ridge", Ridge())]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_ensembles_of_regressors_score(ensemble):
    assert held_out_score(ensemble, REGRESSION) > R2_FLOOR


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingClassifier(classifier(), n_estimators=10, random_state=0),
        AdaBoostClassifier(classifier(max_depth=1), n_estimators=20, random_state=0),
        VotingClassifier([("a", classifier()), ("b", classifier(max_depth=2))], voting="soft"),
        StackingClassifier([("tree", classifier())], LogisticRegression()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_ensembles_of_classifiers_score(ensemble):
    assert held_out_score(ensemble, CLASSES) > ACCURACY_FLOOR


def test_boosting_a_stump_beats_the_stump():
    stump = classifier(max_depth=1)
    boosted = AdaBoostClassifier(stump, n_estimators=20, random_state=0)
    assert held_out_score(boosted, CLASSES) > held_out_score(stump, CLASSES)


def test_permutation_importance_finds_the_informative_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    tree = regressor().fit(X, 3.0 * X[:, 2])
    found = permutation_importance(tree, X, 3.0 * X[:, 2], n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 2
    assert (found.importances_mean[[0, 1, 3]] == 0.0).all()
    assert tree.feature_importances_.argmax() == 2


def test_partial_dependence_follows_the_target():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    tree = regressor(max_depth=None).fit(X, X[:, 1])
    found = partial_dependence(tree, X, [1], method="brute", kind="average", grid_resolution=10)
    assert (np.diff(found["average"][0]) > 0).all()


@pytest.mark.parametrize(("make", "split"), [(regressor, REGRESSION), (classifier, CLASSES)])
def test_clone_keeps_settings_and_forgets_the_tree(make, split):
    X, _, y, _ = split
    original = make(min_impurity_decrease=0.001, n_jobs=1).fit(X, y)
    twin = clone(original)
    assert twin.get_params() == original.get_params()
    assert not hasattr(twin, "tree_")
    assert_same_tree(twin.fit(X, y), original)


@pytest.mark.parametrize("duplicate", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
@pytest.mark.parametrize(("make", "split"), [(regressor, REGRESSION), (classifier, CLASSES)])
def test_pickle_and_deepcopy_keep_the_model(make, split, duplicate):
    X_train, X_test, y_train, _ = split
    original = make().fit(X_train, y_train)
    twin = duplicate(original)
    assert_same_tree(twin, original)
    np.testing.assert_array_equal(twin.predict(X_test), original.predict(X_test))
    np.testing.assert_array_equal(twin.apply(X_test), original.apply(X_test))


def test_a_deep_copy_is_independent():
    X_train, X_test, y_train, _ = REGRESSION
    original = regressor().fit(X_train, y_train)
    before = original.predict(X_test)
    copy.deepcopy(original).fit(X_train, -y_train)
    np.testing.assert_array_equal(original.predict(X_test), before)
