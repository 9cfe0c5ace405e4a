"""leaf_value: the arguments of the callable, its valid results, and what does not change."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from splitwood import DecisionTreeRegressor
from trees import STRUCTURE, assert_same_tree

ONCE = {"min_samples_leaf": 30}


def diabetes():
    return datasets.load_diabetes(return_X_y=True)


def weights(n):
    return np.random.default_rng(1).integers(0, 4, n) / 4


def leaves_of(model):
    return np.flatnonzero(model.tree_.children_left < 0)


def rows_by_leaf(model, X, weight):
    leaves = model.apply(X)
    return [np.flatnonzero((leaves == leaf) & (weight > 0)) for leaf in leaves_of(model)]


@pytest.mark.parametrize("settings", [ONCE, {"ccp_alpha": 20.0}, {"criterion": "poisson", **ONCE}])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_callable_sees_each_leaf_once_with_its_rows(settings, weighted):
    X, y = diabetes()
    X[::7, 2] = np.nan
    weight = weights(len(y)) if weighted else None
    seen = []

    def note(y_leaf, weight_leaf):
        seen.append((y_leaf.copy(), weight_leaf.copy()))
        # The callable may change its arrays.
        y_leaf[:] = np.nan
        return float(len(seen))

    model = DecisionTreeRegressor(leaf_value=note, **settings).fit(X, y, weight)
    weight = np.ones(len(y)) if weight is None else weight
    groups = rows_by_leaf(model, X, weight)
    assert len(seen) == model.get_n_leaves() == len(groups) > 3
    for (y_leaf, weight_leaf), rows in zip(seen, groups, strict=True):
        np.testing.assert_array_equal(y_leaf, y[rows])
        np.testing.assert_array_equal(weight_leaf, weight[rows])
    np.testing.assert_array_equal(
        model.tree_.value[leaves_of(model), 0, 0], np.arange(1, len(seen) + 1)
    )


@pytest.mark.parametrize("leaf_value", ["mean", "median", lambda y, w: y.max()])
def test_only_leaves_change(leaf_value):
    X, y = diabetes()
    own = DecisionTreeRegressor(**ONCE).fit(X, y)
    other = DecisionTreeRegressor(leaf_value=leaf_value, **ONCE).fit(X, y)
    assert_same_tree(other, own, (*STRUCTURE, "impurity", "n_node_samples"))
    inner = own.tree_.children_left >= 0
    np.testing.assert_array_equal(other.tree_.value[inner], own.tree_.value[inner])
    np.testing.assert_array_equal(other.feature_importances_, own.feature_importances_)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_the_mean_is_the_criterions_own(criterion):
    X, y = diabetes()
    settings = {"criterion": criterion, **ONCE}
    own = DecisionTreeRegressor(**settings).fit(X, y, weights(len(y)))
    mean = DecisionTreeRegressor(leaf_value="mean", **settings).fit(X, y, weights(len(y)))
    np.testing.assert_allclose(mean.predict(X), own.predict(X), rtol=1e-12)


def test_the_median_of_each_leaf():
    X, y = diabetes()
    model = DecisionTreeRegressor(leaf_value="median", **ONCE).fit(X, y)
    leaves = model.apply(X)
    expected = {leaf: np.median(y[leaves == leaf]) for leaf in np.unique(leaves)}
    np.testing.assert_array_equal(model.predict(X), [expected[leaf] for leaf in leaves])


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 3)), min_size=1, max_size=12))
def test_integer_weights_of_a_median_are_repeated_rows(rows):
    y, weight = np.array(rows).T
    X = np.zeros((len(y), 1))
    for scale in (1.0, 0.1, 1e-9):
        model = DecisionTreeRegressor(leaf_value="median").fit(X, y, weight * scale)
        assert model.predict([[0.0]]) == [np.median(np.repeat(y, weight))]


def test_a_median_at_the_half_is_the_midpoint():
    model = DecisionTreeRegressor(leaf_value="median")
    assert model.fit([[0]] * 3, [1.0, 2.0, 5.0], [0.1, 0.2, 0.3]).predict([[0]]) == [3.5]
    assert model.fit([[0]] * 3, [1.0, 2.0, 5.0], [1, 2, 3]).predict([[0]]) == [3.5]
    assert model.fit([[0]] * 3, [1.0, 2.0, 5.0], [1, 2, 2]).predict([[0]]) == [2.0]


@pytest.mark.parametrize("result", [3, 2.5, np.float32(1.5), np.int64(7), np.array(2.0), True])
def test_results_of_every_kind_of_number(result):
    model = DecisionTreeRegressor(leaf_value=lambda y, w: result).fit([[0.0]], [1.0])
    assert model.predict([[0.0]]) == [float(result)]


@pytest.mark.parametrize(
    "result", [None, "3", [1.0], np.array([1.0]), np.zeros((2, 2)), 1j, {}, ...]
)
def test_results_that_are_not_one_number_are_refused(result):
    model = DecisionTreeRegressor(leaf_value=lambda y, w: result)
    with pytest.raises(
        ValueError, match="leaf_value: must be a callable that returns one number, got"
    ):
        model.fit([[0.0]], [1.0])


@pytest.mark.parametrize("result", [np.nan, np.inf, -np.inf])
def test_results_that_are_not_finite_are_refused(result):
    def value(y, w):
        return result if 9.0 in y else 1.0

    with pytest.raises(
        ValueError, match=r"leaf_value: must be a finite number for every leaf.*node 2"
    ):
        DecisionTreeRegressor(leaf_value=value).fit([[0.0], [1.0]], [1.0, 9.0])


@pytest.mark.parametrize("bad", ["mode", "Mean", "", 3, 0.5, ["mean"], b"mean"])
def test_bad_settings_are_refused(bad):
    with pytest.raises(
        ValueError, match=r'^leaf_value: must be None, "mean", "median" or a callable'
    ):
        DecisionTreeRegressor(leaf_value=bad).fit([[0.0]], [1.0])


class LeafError(Exception):
    pass


@pytest.mark.parametrize("kind", [LeafError, KeyboardInterrupt, SystemExit])
def test_what_a_callable_raises_reaches_the_caller_and_changes_nothing(kind):
    def explode(y, w):
        raise kind("in a leaf")

    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, 9.0])
    before = model.tree_
    with pytest.raises(kind, match="in a leaf"):
        model.set_params(leaf_value=explode).fit([[0.0], [1.0]], [1.0, 5.0])
    assert model.tree_ is before


def test_a_callable_that_takes_other_arguments_says_so():
    with pytest.raises(TypeError, match="positional argument"):
        DecisionTreeRegressor(leaf_value=lambda y: 1.0).fit([[0.0]], [1.0])


def test_a_callable_may_fit_again():
    X, y = diabetes()
    outcome = []

    def value(y_leaf, weight_leaf):
        inner = DecisionTreeRegressor(max_depth=1, n_jobs=2)
        return inner.fit(np.arange(len(y_leaf))[:, None], y_leaf, weight_leaf).predict([[0]])[0]

    def run():
        outcome.append(DecisionTreeRegressor(leaf_value=value, n_jobs=2, **ONCE).fit(X, y))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert outcome, "the fit never ended"


def test_settings_are_kept_and_searched():
    model = DecisionTreeRegressor(leaf_value="median", **ONCE)
    assert clone(model).get_params()["leaf_value"] == "median"
    assert cross_val_score(model, *diabetes()).mean() > 0.2
