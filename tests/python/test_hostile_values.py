"""Hostile cases of feature values: ties, NaN, infinities, constants, the limits of floats."""

import math
import pickle
import sys

import numpy as np
import pytest
from scipy import sparse

from problems import BOTH, random_problem, stump
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from trees import STRUCTURE, assert_same_tree

# ---- 1: equal values and equal rows --------------------------------------------------------------


@BOTH
def test_case_01_training_rows_reach_the_leaf_that_they_trained(kind, criterion):
    X, y = random_problem(kind)
    X = np.round(X)
    model = kind(criterion=criterion).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    for leaf in np.flatnonzero(tree.children_left < 0):
        mine = y[leaves == leaf]
        assert tree.n_node_samples[leaf] == len(mine)
        if kind is DecisionTreeClassifier:
            mine = mine[:, None] == model.classes_
        np.testing.assert_allclose(tree.value[leaf, 0], mine.mean(axis=0), rtol=1e-12, atol=1e-12)


def test_case_01_duplicate_rows_are_never_separated():
    X = np.repeat([[1.0], [2.0]], 50, axis=0)
    model = DecisionTreeRegressor().fit(X, np.arange(100.0))
    assert model.tree_.threshold.tolist() == [1.5, -2.0, -2.0]
    assert model.tree_.n_node_samples.tolist() == [100, 50, 50]


# ---- 2: missing values ---------------------------------------------------------------------------


@BOTH
def test_case_02_missing_values_learn_their_direction(kind, criterion):
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, side in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        model = kind(criterion=criterion).fit(x[:, None], y)
        assert model.predict([[np.nan]]) == [side]
        assert model.tree_.missing_go_to_left[0] == (side == 0)
        assert model.tree_.threshold[0] == 2.5


@BOTH
def test_case_02_missing_values_can_be_a_child_of_their_own(kind, criterion):
    x = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    model = kind(criterion=criterion).fit(x[:, None], [0, 0, 0, 1, 1])
    assert model.tree_.node_count == 3
    assert model.tree_.threshold[0] == math.inf
    assert model.predict([[-math.inf], [math.inf], [np.nan]]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(("weight", "goes"), [([1, 1, 1], 9.0), ([3, 1, 1], 5.0), ([1, 5, 1], 9.0)])
def test_case_02_missing_values_first_seen_at_prediction_go_to_the_heavier_child(weight, goes):
    model = stump([1.0, 2.0, 3.0], [5.0, 9.0, 9.0])
    assert model.predict([[np.nan]]) == [9.0]
    model.fit([[1.0], [2.0], [3.0]], [5.0, 9.0, 9.0], weight)
    assert model.predict([[np.nan]]) == [goes]


def test_case_02_a_column_of_missing_values_is_never_split():
    X = np.column_stack([np.full(4, np.nan), np.arange(4.0)])
    model = DecisionTreeRegressor().fit(X, [1.0, 1.0, 2.0, 2.0])
    assert model.tree_.feature.tolist() == [1, -2, -2]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "quantile"])
def test_case_02_every_criterion_of_the_regressor_learns_the_direction(criterion):
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, side in (([1, 1, 9, 9, 1, 1], 1), ([1, 1, 9, 9, 9, 9], 9)):
        for settings in ({}, {"max_features": 1, "random_state": 0}):
            model = DecisionTreeRegressor(criterion=criterion, **settings).fit(x[:, None], y)
            assert model.predict([[np.nan]]) == [side]


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_case_02_missing_values_of_sparse_rows_and_several_outputs(n_outputs):
    X, y = random_problem(DecisionTreeRegressor)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    X[np.random.default_rng(2).random(X.shape) < 0.3] = 0.0
    y = np.column_stack([y] * n_outputs) if n_outputs > 1 else y
    expected = DecisionTreeRegressor(max_depth=6).fit(X, y)
    actual = DecisionTreeRegressor(max_depth=6).fit(sparse.csc_array(X), y)
    assert_same_tree(actual, expected, STRUCTURE)
    np.testing.assert_array_equal(actual.predict(sparse.csr_array(X)), expected.predict(X))


# ---- 4: infinite values --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_04_infinite_values_are_the_ends_of_the_order(dtype):
    x = np.array([-np.inf, -1.0, 1.0, np.inf], dtype=dtype)
    model = DecisionTreeRegressor().fit(x[:, None], [1.0, 2.0, 3.0, 4.0])
    assert model.predict(x[:, None]).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.isfinite(model.tree_.threshold).all()


def test_case_04_only_infinite_values():
    model = stump([-np.inf, np.inf], [1.0, 2.0])
    assert model.predict([[-np.inf], [np.inf]]).tolist() == [1.0, 2.0]
    assert np.isfinite(model.tree_.threshold[0])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_case_04_random_thresholds_between_infinite_values_are_finite(value):
    X = np.array([[value], [1.0], [2.0], [-value]])
    for seed in range(20):
        model = ExtraTreeRegressor(random_state=seed).fit(X, [1.0, 2.0, 3.0, 4.0])
        assert np.isfinite(model.tree_.threshold).all()
        assert model.predict(X).tolist() == [1.0, 2.0, 3.0, 4.0]


# ---- 5: constant features ------------------------------------------------------------------------


@BOTH
def test_case_05_constant_features_are_skipped(kind, criterion):
    X, y = random_problem(kind)
    with_constant = np.column_stack([np.full(len(X), 7.0), X])
    model = kind(criterion=criterion).fit(with_constant, y)
    assert 0 not in model.tree_.feature
    assert_same_tree(model, kind(criterion=criterion).fit(X, y), ("children_left", "threshold"))


@BOTH
def test_case_05_only_constant_features_give_a_leaf(kind, criterion):
    model = kind(criterion=criterion).fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    assert model.tree_.node_count == 1
    assert model.tree_.value[0, 0, -1] == pytest.approx(2 / 3)


# ---- 10: values that float32 can't tell apart ----------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [1.7e9 + np.arange(40.0), 2.0**24 + np.arange(40.0), 1.0 + np.arange(40.0) * 1e-12],
    ids=["timestamps", "ids", "beyond-1"],
)
def test_case_10_values_distinct_only_in_float64_are_split(x):
    y = np.arange(40) % 7.0
    model = DecisionTreeRegressor().fit(x[:, None], y)
    np.testing.assert_array_equal(model.predict(x[:, None]), y)


# ---- 22: splits of equal gain --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n", [2, 10, 300, 6000])
def test_case_22_of_equal_features_the_lowest_index_wins(kind, criterion, n):
    x = np.random.default_rng(n).permutation(n).astype(float)
    X = np.column_stack([np.zeros(n), x, x, -x])
    y = (x > n // 3).astype(int) if kind is DecisionTreeClassifier else x**2 / n
    model = kind(criterion=criterion, max_depth=6).fit(X, y)
    assert set(model.tree_.feature) == {1, -2}


@BOTH
def test_case_22_of_equal_thresholds_the_lowest_wins(kind, criterion):
    X = np.arange(5.0)[:, None]
    model = kind(criterion=criterion, max_depth=1).fit(X, [1, 0, 0, 0, 1])
    assert model.tree_.threshold[0] == 0.5


def test_case_22_no_random_state_is_involved():
    X, y = random_problem(DecisionTreeRegressor)
    X = np.round(X)
    trees = []
    for seed in range(3):
        np.random.seed(seed)  # noqa: NPY002 (the global state is what must not matter)
        trees.append(pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_))
    assert len(set(trees)) == 1


# ---- 27 to 30: the limits of floating point ------------------------------------------------------


LARGEST = sys.float_info.max


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 3.0, 1e-3, 1e30])
def test_case_27_adjacent_floats_are_separated(dtype, start):
    below = np.array(start, dtype=dtype)
    above = np.nextafter(below, np.array(np.inf, dtype=dtype))
    model = stump(np.array([below, above]), [1.0, 2.0])
    assert float(below) <= model.tree_.threshold[0] < float(above)
    assert model.predict(np.array([[below], [above]])).tolist() == [1.0, 2.0]


def test_case_27_a_midpoint_that_rounds_up_gives_way_to_the_lower_value():
    below = np.nextafter(1.0, 2.0)
    above = np.nextafter(below, 2.0)
    assert (below + above) / 2 == above
    assert stump([below, above], [1.0, 2.0]).tree_.threshold[0] == below


@pytest.mark.parametrize("x", [(-LARGEST, LARGEST), (LARGEST / 2, LARGEST), (-LARGEST, -1e308)])
def test_case_28_huge_values_get_a_finite_threshold(x):
    model = stump(x, [1.0, 2.0])
    assert x[0] <= model.tree_.threshold[0] < x[1]
    assert model.predict(np.array(x)[:, None]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_29_both_zeros_are_equal(dtype):
    zeros = np.array([-0.0, 0.0, -0.0, 0.0], dtype=dtype)
    assert stump(zeros, [1.0, 2.0, 1.0, 2.0]).tree_.node_count == 1
    model = stump(np.array([-0.0, 0.0, 1.0, 1.0], dtype=dtype), [1.0, 1.0, 2.0, 2.0])
    assert model.predict(zeros[:, None]).tolist() == [1.0] * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_30_denormals_are_distinct(dtype):
    tiny = np.nextafter(dtype(0), dtype(1))
    x = np.array([-tiny, 0.0, tiny, 2 * tiny], dtype=dtype)
    y = [1.0, 2.0, 4.0, 8.0]
    model = DecisionTreeRegressor().fit(x[:, None], y)
    assert model.predict(x[:, None]).tolist() == y
