"""Hostile cases of targets and sample weights."""

import math

import numpy as np
import pytest

from problems import BOTH, KINDS, random_problem
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, running_median
from trees import STRUCTURE, assert_same_tree

# ---- 3: targets and weights that are not finite --------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@KINDS
def test_case_03_targets_that_are_not_finite_are_refused(kind, bad):
    with pytest.raises(ValueError, match=r"\by\b"):
        kind().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, bad])


def test_case_03_infinite_targets_in_an_object_array_are_refused():
    with pytest.raises(ValueError, match=r"\by\b"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], np.array([1, math.inf], dtype=object))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@KINDS
def test_case_03_weights_that_are_not_finite_are_refused(kind, bad):
    with pytest.raises(ValueError, match="sample_weight"):
        kind().fit([[1.0], [2.0]], [0, 1], [1.0, bad])


# ---- 11, 12: offsets and scales ------------------------------------------------------------------


def rounded_problem():
    """Draw targets that are multiples of 2**-20, so that adding 1e9 loses no bit."""
    X, y = random_problem(DecisionTreeRegressor)
    return X, np.round(y * 2.0**20) / 2.0**20


def test_case_11_a_large_offset_gives_the_same_tree():
    X, y = rounded_problem()
    centred, far = DecisionTreeRegressor().fit(X, y), DecisionTreeRegressor().fit(X, 1e9 + y)
    assert_same_tree(far, centred, (*STRUCTURE, "n_node_samples"))
    np.testing.assert_allclose(far.tree_.value - 1e9, centred.tree_.value, atol=1e-6)
    np.testing.assert_allclose(far.tree_.impurity, centred.tree_.impurity, rtol=1e-6, atol=1e-12)


def assert_close_trees(actual, expected, scale=1.0):
    """Assert that two trees have the same nodes, and values that differ by the factor `scale`."""
    assert_same_tree(actual, expected, ("children_left", "children_right", "feature"))
    assert_same_tree(actual, expected, ("n_node_samples",))
    np.testing.assert_allclose(actual.tree_.value, scale * expected.tree_.value, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-40, 1e-12, 1e-100, 1e12, 1e100])
def test_case_12_scaled_targets_give_the_same_tree(scale):
    X, y = random_problem(DecisionTreeRegressor)
    expected = DecisionTreeRegressor().fit(X, y)
    assert_close_trees(DecisionTreeRegressor().fit(X, scale * y), expected, scale)


@BOTH
@pytest.mark.parametrize("scale", [2.0**-40, 1e-9, 1e-300, 1e300])
def test_case_12_scaled_features_give_the_same_tree(kind, criterion, scale):
    X, y = random_problem(kind)
    expected = kind(criterion=criterion).fit(X, y)
    actual = kind(criterion=criterion).fit(scale * X, y)
    assert_close_trees(actual, expected)
    inner = expected.tree_.children_left >= 0
    thresholds = scale * expected.tree_.threshold[inner]
    np.testing.assert_allclose(actual.tree_.threshold[inner], thresholds, rtol=1e-9)


# ---- 31: targets and weights of extreme size -----------------------------------------------------


@pytest.mark.parametrize("size", [1e150, 1e153, 1e200, 1e308])
def test_case_31_huge_targets_give_finite_results_or_are_refused(size):
    y = size * np.array([1.0, -1.0, 0.5, -0.25])
    try:
        tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0], [4.0]], y).tree_
    except ValueError as refusal:
        assert "y" in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        assert np.isfinite(tree.value).all()
        assert np.isfinite(tree.impurity).all()


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "quantile"])
@pytest.mark.parametrize("size", [1e-300, 1e150, 1e200, 1.7e308])
def test_case_31_extreme_targets_of_every_criterion_give_finite_results_or_are_refused(
    criterion, size
):
    y = size * np.array([1.0, 0.1, 0.5, 0.25])
    try:
        tree = DecisionTreeRegressor(criterion=criterion).fit([[1.0], [2.0], [3.0], [4.0]], y).tree_
    except ValueError as refusal:
        assert "y" in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        assert np.isfinite(tree.value).all()
        assert np.isfinite(tree.impurity).all()


@BOTH
@pytest.mark.parametrize("light", [5e-324, 1e-300, 1e-15, 1e-7, 1.0])
def test_case_31_weights_of_any_range_give_finite_results(kind, criterion, light):
    """Next to 1e300, a weight of 1e-15 rounds to zero, and its leaf would have no weight at all."""
    tree = (
        kind(criterion=criterion).fit([[1.0], [2.0], [3.0]], [0, 1, 2], [light, 1e300, light]).tree_
    )
    assert np.isfinite(tree.value).all()
    assert np.isfinite(tree.impurity).all()
    assert (tree.weighted_n_node_samples > 0).all()


# ---- 17, 18: zero and negative weights -----------------------------------------------------------


@BOTH
def test_case_17_rows_of_weight_zero_count_as_absent(kind, criterion):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    settings = {"criterion": criterion, "min_samples_leaf": 3}
    expected = kind(**settings).fit(X[kept], y[kept], weight[kept])
    assert_same_tree(kind(**settings).fit(X, y, weight), expected)


def test_case_17_classes_of_weight_zero_stay_in_classes_():
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "c"], [1.0, 0.0, 1.0])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba([[1.0]]).tolist() == [[1.0, 0.0, 0.0]]


@KINDS
def test_case_17_weights_that_are_all_zero_are_refused(kind):
    with pytest.raises(ValueError, match=r"sample_weight.*zero"):
        kind().fit([[1.0], [2.0]], [0, 1], [0.0, 0.0])


@KINDS
def test_case_18_negative_weights_are_refused(kind):
    with pytest.raises(ValueError, match=r"sample_weight.*negative"):
        kind().fit([[1.0], [2.0]], [0, 1], [1.0, -1.0])


# ---- 19: integer weights -------------------------------------------------------------------------


@BOTH
def test_case_19_integer_weights_equal_repeated_rows(kind, criterion):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    actual = kind(criterion=criterion).fit(X, y, weight)
    expected = kind(criterion=criterion).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


# Integer weights, so that the sums of weights are exact.
@pytest.mark.parametrize("criterion", ["absolute_error", "quantile", "poisson"])
def test_case_19_integer_weights_equal_repeated_rows_for_every_criterion(criterion):
    X, y = random_problem(DecisionTreeRegressor)
    y = np.round(np.abs(y), 1)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    actual = DecisionTreeRegressor(criterion=criterion).fit(X, y, weight)
    expected = DecisionTreeRegressor(criterion=criterion).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [2, 3])
def test_case_19_integer_weights_equal_repeated_rows_with_several_outputs(n_outputs):
    X, y = random_problem(DecisionTreeRegressor)
    y = np.round(np.column_stack([y, *[y[::-1]] * (n_outputs - 1)]), 1)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    actual = DecisionTreeRegressor(max_depth=5).fit(X, y, weight)
    expected = DecisionTreeRegressor(max_depth=5).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0)
    )
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


# ---- 20: the scale of weights --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("factor", [0.25, 3.7, 1e-20, 1e20])
def test_case_20_scaled_weights_give_the_same_tree(kind, criterion, factor):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    expected = kind(criterion=criterion).fit(X, y, weight)
    actual = kind(criterion=criterion).fit(X, y, factor * weight)
    assert_same_tree(actual, expected, (*STRUCTURE, "n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-9, atol=1e-12)


@BOTH
def test_case_20_a_scalar_weight_applies_to_all_rows(kind, criterion):
    X, y = random_problem(kind)
    expected = kind(criterion=criterion).fit(X, y)
    assert_same_tree(kind(criterion=criterion).fit(X, y, 2.0), expected, STRUCTURE)


@pytest.mark.parametrize("factor", [0.25, 3.7, 1e-20, 1e20])
def test_case_20_scaled_weights_give_the_same_median_tree(factor):
    X, y = random_problem(DecisionTreeRegressor)
    weight = np.random.default_rng(1).integers(1, 4, len(y)) / 10
    settings = {"criterion": "absolute_error", "min_samples_leaf": 5}
    expected = DecisionTreeRegressor(**settings).fit(X, y, weight)
    actual = DecisionTreeRegressor(**settings).fit(X, y, factor * weight)
    assert_same_tree(actual, expected, (*STRUCTURE, "n_node_samples", "value"))


# ---- 21: weighted medians ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "weight", "median"),
    [
        ([1.0, 2.0, 4.0], [0.1, 0.2, 0.3], 3.0),
        ([1.0, 2.0, 4.0], [0.3, 0.2, 0.1], 1.5),
        ([1.0, 2.0, 4.0], [1, 2, 3], 3.0),
        ([0.0, 1.0, 5.0, 9.0], [0.7, 0.1, 0.2, 0.6], 3.0),
        ([0.0, 10.0], [1e-300, 1e-300], 5.0),
        ([0.0, 10.0], [1e300, 1e300], 5.0),
    ],
)
def test_case_21_a_weighted_median_at_exactly_half_is_the_midpoint(y, weight, median):
    leaf = DecisionTreeRegressor(criterion="absolute_error").fit(np.zeros((len(y), 1)), y, weight)
    assert leaf.predict([[0.0]]) == [median]
    leaf = DecisionTreeRegressor(leaf_value="median").fit(np.zeros((len(y), 1)), y, weight)
    assert leaf.predict([[0.0]]) == [median]
    assert running_median(y, sample_weight=weight)[0][-1] == median
