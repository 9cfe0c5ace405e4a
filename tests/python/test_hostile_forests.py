"""Hostile input to forests: refused by an error that names the argument, or an ordinary result."""

import warnings

import numpy as np
import pytest

from forests import ALL, FORESTS, classifies, predicted, problem
from splitwood import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"n_estimators": -1}, "n_estimators"),
        ({"n_estimators": 2.5}, "n_estimators"),
        ({"n_estimators": "many"}, "n_estimators"),
        ({"n_estimators": True}, "n_estimators"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": -1}, "max_samples"),
        ({"max_samples": 0.0}, "max_samples"),
        ({"max_samples": float("nan")}, "max_samples"),
        ({"max_samples": float("inf")}, "max_samples"),
        ({"max_samples": "half"}, "max_samples"),
        ({"max_samples": True}, "max_samples"),
        ({"max_samples": 0.5, "bootstrap": False}, "max_sample"),
        ({"bootstrap": "yes"}, "bootstrap"),
        ({"warm_start": 1}, "warm_start"),
        ({"oob_score": "r2"}, "oob_score"),
        ({"oob_score": True, "bootstrap": False}, "Out of bag"),
        ({"criterion": "cubic"}, "criterion"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": "all"}, "max_features"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"ccp_alpha": -1.0}, "ccp_alpha"),
        ({"min_impurity_decrease": -1.0}, "min_impurity_decrease"),
        ({"random_state": "lucky"}, "seed"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
        ({"categorical_features": "some"}, "categorical_features"),
    ],
)
@ALL
def test_case_33_bad_parameters_of_forests_are_refused(kind, settings, message):
    X, y = problem(kind, n=50)
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**{"n_estimators": 2, "bootstrap": True, **settings}).fit(X, y)


@pytest.mark.parametrize(
    "weights",
    [
        np.full(50, np.nan),
        np.full(50, -1.0),
        np.zeros(50),
        np.full(50, np.inf),
        np.ones(49),
        np.ones((50, 2)),
    ],
    ids=["nan", "negative", "zero", "inf", "short", "table"],
)
@FORESTS
def test_case_03_bad_weights_of_forests_are_refused(kind, weights):
    X, y = problem(kind, n=50)
    with pytest.raises(ValueError, match="sample_weight"):
        kind(2).fit(X, y, sample_weight=weights)
    if np.ndim(weights) == 1:
        with (
            warnings.catch_warnings(action="ignore"),
            pytest.raises(ValueError, match="sample_weight"),
        ):
            kind(2, bootstrap=True, max_samples=0.5).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_case_03_bad_targets_of_forests_are_refused(value):
    X, y = problem(RandomForestRegressor, n=50)
    y[3] = value
    with pytest.raises(ValueError, match=r"y|NaN|infinity"):
        RandomForestRegressor(2).fit(X, y)


@pytest.mark.parametrize(
    "bags",
    [
        np.ones((50, 1)),
        np.ones((2, 50)),
        np.ones(50),
        np.full((50, 2), -1),
        np.full((50, 2), 0.5),
        np.full((50, 2), np.nan),
        np.full((50, 2), 2.0**40),
        np.zeros((50, 2)),
        np.full((50, 2), "a"),
        lambda rng: np.ones(3),
        lambda rng: np.full(50, -1),
        lambda rng: np.zeros(50),
        lambda rng: None,
    ],
)
@FORESTS
def test_case_33_bad_bags_are_refused(kind, bags):
    X, y = problem(kind, n=50)
    with pytest.raises(ValueError, match="bags"):
        kind(2).fit(X, y, bags=bags)


def test_case_36_what_a_function_of_bags_raises_reaches_the_caller():
    X, y = problem(RandomForestRegressor, n=50)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    expected = forest.predict(X)

    def fails(rng):
        raise RuntimeError("no bag today")

    with pytest.raises(RuntimeError, match="no bag today"):
        forest.fit(X, y, bags=fails)
    np.testing.assert_array_equal(forest.predict(X), expected)


def test_case_36_what_a_score_raises_reaches_the_caller():
    X, y = problem(RandomForestRegressor, n=50)

    def fails(truth, predicted):
        raise RuntimeError("no score today")

    with pytest.raises(RuntimeError, match="no score today"):
        RandomForestRegressor(20, oob_score=fails).fit(X, y)


@pytest.mark.parametrize("weight", ["fair", ["balanced"], {5: -1.0}, 3])
def test_case_33_bad_class_weights_of_forests_are_refused(weight):
    X, y = problem(RandomForestClassifier, n=50)
    with pytest.raises(ValueError, match="class_weight"):
        RandomForestClassifier(2, class_weight=weight).fit(X, y)


@ALL
def test_case_13_one_or_two_rows_are_enough_for_a_forest(kind):
    for n in (1, 2):
        X = np.arange(n, dtype=float)[:, None]
        y = np.arange(n) if classifies(kind) else np.arange(n) + 0.5
        forest = kind(5, random_state=0).fit(X, y)
        assert np.isfinite(predicted(forest, X)).all()
        assert forest.feature_importances_.shape == (1,)


@ALL
def test_case_05_constant_features_give_leaves(kind):
    X, y = problem(kind, n=50)
    forest = kind(3, random_state=0).fit(np.ones_like(X), y)
    assert {tree.get_n_leaves() for tree in forest.estimators_} == {1}


@ALL
def test_case_16_other_columns_are_refused_by_forests(kind):
    X, y = problem(kind, n=50)
    forest = kind(2, random_state=0).fit(X, y)
    for method in (forest.predict, forest.apply, forest.decision_path, forest.proximities):
        with pytest.raises(ValueError, match="features"):
            method(X[:, :3])
        with pytest.raises(ValueError, match=r"[Ee]xpected 2D array|table"):
            method(X[0])


def test_case_04_infinite_values_are_ordinary_in_forests():
    X, y = problem(RandomForestRegressor, n=100)
    X[::7, 0], X[3::7, 1] = np.inf, -np.inf
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    assert np.isfinite(forest.predict(X)).all()
    assert all(np.isfinite(tree.tree_.threshold).all() for tree in forest.estimators_)


def test_case_11_an_offset_of_the_targets_moves_forests():
    X, y = problem(RandomForestRegressor)
    y = np.round(y, 3)
    near, far = (
        RandomForestRegressor(5, random_state=0, min_samples_leaf=5).fit(X, y + offset)
        for offset in (0.0, 2.0**30)
    )
    for one, other in zip(near.estimators_, far.estimators_, strict=True):
        np.testing.assert_array_equal(one.tree_.feature, other.tree_.feature)
    np.testing.assert_allclose(far.predict(X) - 2.0**30, near.predict(X), atol=1e-5)


def test_case_17_rows_of_weight_zero_do_not_count_in_forests():
    X, y = problem(ExtraTreesRegressor)
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    kept = weights > 0
    forest = ExtraTreesRegressor(3, random_state=0).fit(X, y, sample_weight=weights)
    alone = ExtraTreesRegressor(3, random_state=0).fit(X[kept], y[kept])
    np.testing.assert_allclose(forest.predict(X), alone.predict(X), rtol=1e-9)


def test_case_35_many_threads_use_one_forest():
    from concurrent.futures import ThreadPoolExecutor

    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    expected = forest.predict(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: forest.predict(X), range(40)):
            np.testing.assert_array_equal(found, expected)
