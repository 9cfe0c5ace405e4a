"""Several quantiles of one tree, from the targets in its leaves."""

import pickle
import warnings

import numpy as np
import pytest

from handover import fitted_outputs, regression_target, training_rows
from splitwood import DecisionTreeRegressor
from trees import assert_same_tree

X = training_rows(0)
Y = regression_target(X, 0)
WEIGHT = np.random.default_rng(0).integers(0, 4, len(Y)) / 10.0
LEVELS = [0.05, 0.1, 0.29, 0.35, 0.5, 0.7, 0.95]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_quantile_is_what_a_leaf_of_a_quantile_tree_predicts(level, weight):
    tree = DecisionTreeRegressor(criterion="quantile", quantile=level, max_depth=4)
    tree.fit(X, Y, weight).keep_leaf_targets(X, Y, weight)
    np.testing.assert_array_equal(tree.predict_quantiles(X, level), tree.predict(X))


def test_quantiles_are_those_of_the_definition():
    """At most the level's share of the rows is below, and at most the rest above."""
    tree = DecisionTreeRegressor(min_samples_leaf=20).fit(X, Y).keep_leaf_targets(X, Y)
    found, leaves = tree.predict_quantiles(X, LEVELS), tree.apply(X)
    assert found.shape == (len(X), len(LEVELS))
    for row in range(0, len(X), 37):
        inside = Y[leaves == leaves[row]]
        for level, quantile in zip(LEVELS, found[row], strict=True):
            slack = 1e-9 * len(inside)
            assert (inside < quantile).sum() <= level * len(inside) + slack
            assert (inside > quantile).sum() <= (1 - level) * len(inside) + slack
    assert (np.diff(found, axis=1) >= 0).all()


def test_levels_may_be_one_number_and_in_any_order():
    tree = DecisionTreeRegressor(max_depth=3).fit(X, Y).keep_leaf_targets(X, Y)
    both = tree.predict_quantiles(X, [0.9, 0.1])
    np.testing.assert_array_equal(tree.predict_quantiles(X, 0.9), both[:, 0])
    np.testing.assert_array_equal(tree.predict_quantiles(X, 0.1), both[:, 1])


def test_other_rows_may_be_kept_and_their_empty_leaves_are_nan():
    tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    tree.keep_leaf_targets([[0.0], [0.0], [0.0]], [7.0, 8.0, 9.0])
    found = tree.predict_quantiles([[0.0], [1.0]], [0.5])
    np.testing.assert_array_equal(found, [[8.0], [np.nan]])


def test_targets_are_pickled_and_dropped_by_another_fit_and_by_prune():
    tree = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    untouched = pickle.dumps(tree)
    tree.keep_leaf_targets(X, Y)
    assert_same_tree(tree, pickle.loads(untouched))
    twin = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(twin.predict_quantiles(X, 0.2), tree.predict_quantiles(X, 0.2))
    for without in (tree.prune(0.1), pickle.loads(untouched), twin.fit(X, Y)):
        with pytest.raises(ValueError, match=r"call keep_leaf_targets\(X, y\) first"):
            without.predict_quantiles(X, 0.5)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_levels_out_of_range_are_refused(level):
    tree = DecisionTreeRegressor(max_depth=3).fit(X, Y).keep_leaf_targets(X, Y)
    with pytest.raises(ValueError, match=r"^quantiles: must be strictly between 0 and 1, got"):
        tree.predict_quantiles(X, [0.5, level])


@pytest.mark.parametrize("levels", ["median", None, [0.5, None], ["0.5"], [[0.5], [0.1, 0.9]]])
def test_levels_that_are_no_numbers_are_refused_by_name(levels):
    tree = DecisionTreeRegressor(max_depth=3).fit(X, Y).keep_leaf_targets(X, Y)
    with pytest.raises(ValueError, match=r"^quantiles: must be a number or a sequence of numbers"):
        tree.predict_quantiles(X, levels)


def test_saving_says_that_the_targets_are_left_out(tmp_path):
    tree = DecisionTreeRegressor(max_depth=3).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.save(tmp_path / "tree.splitwood")
    tree.keep_leaf_targets(X, Y)
    for write in (lambda: tree.save(tmp_path / "tree.splitwood"), tree.to_dict):
        with pytest.warns(UserWarning, match="targets of the leaves are not stored") as caught:
            write()
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (Y[:-1], None, "inconsistent numbers of samples"),
        (Y[:, None], None, "y: must have one dimension"),
        (np.where(Y > 0, Y, np.nan), None, "y contains NaN"),
        (["a"] * len(Y), None, "y: a regressor needs numbers"),
        (Y, np.full(len(Y), -1.0), "sample_weight: must be finite and not negative"),
        (Y, np.full(len(Y), np.inf), "sample_weight: must be finite and not negative"),
        (Y, WEIGHT[:-1], "sample_weight: has 599 entries, but X has 600 rows"),
    ],
    ids=["length", "shape", "nan", "strings", "negative", "infinite", "weights"],
)
def test_wrong_targets_are_refused(y, weight, message):
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(max_depth=3).fit(X, Y).keep_leaf_targets(X, y, weight)


def test_several_outputs_are_refused():
    with pytest.raises(ValueError, match="several outputs"):
        fitted_outputs(max_depth=2).keep_leaf_targets(X, np.stack([Y, Y], axis=1))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_a_level_without_its_criterion_is_refused(criterion):
    tree = DecisionTreeRegressor(criterion=criterion, quantile=0.9)
    with pytest.raises(ValueError, match=r'^quantile: is the level of criterion="quantile"'):
        tree.fit(X, np.abs(Y))
