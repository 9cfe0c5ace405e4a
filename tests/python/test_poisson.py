"""Half the Poisson deviance, compared with its definition and with scikit-learn's."""

import math
import warnings

import numpy as np
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.base import clone
from sklearn.metrics import mean_poisson_deviance

from peers import need_missing_values_of_1_9
from splitwood import DecisionTreeRegressor
from test_parity import LARGE_NODES, assert_same_structure, friedman, random_weights
from trees import assert_same_tree, leaf_loss, rows_by_node

POISSON = {"criterion": "poisson"}


def counts(n=600):
    X, y = friedman(n)
    return X, np.random.default_rng(0).poisson(np.exp(y / 8)).astype(float)


def half_deviance(y, weight):
    """The loss summed over the weight; infinite if all targets are 0."""
    mean = math.fsum(y * weight) / math.fsum(weight)
    if mean == 0.0:
        return math.inf
    positive = y > 0
    logs = np.log(y[positive] / mean)
    return math.fsum(weight[positive] * y[positive] * logs)


@st.composite
def problems(draw):
    n, d = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    cell = st.sampled_from([0.0, 1.0, 2.0, 4.5, math.nan, math.inf])
    X = np.array(draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), min_size=n, max_size=n)), float)
    weights = st.lists(st.integers(1, 3), min_size=n, max_size=n)
    weight = np.array(draw(weights) if draw(st.booleans()) else np.ones(n), float)
    return X, y, weight


def sides(x):
    """All possible splits of these cells, as masks of the left side."""
    missing = np.isnan(x)
    for edge in np.unique(x[~missing]):
        for left in ((x <= edge) & ~missing, (x <= edge) | missing):
            if 0 < left.sum() < len(x):
                yield left


@given(problems())
def test_every_node_is_split_where_the_deviance_falls_most(problem):
    X, y, weight = problem
    if not y.any():
        with pytest.raises(ValueError, match="Sum of y is not positive"):
            DecisionTreeRegressor(**POISSON).fit(X, y, weight)
        return
    model = DecisionTreeRegressor(**POISSON).fit(X, y, weight)
    tree = model.tree_
    for node, rows in enumerate(rows_by_node(model, X)):
        Xn, yn, wn = X[rows], y[rows], weight[rows]
        loss = half_deviance(yn, wn)
        assert tree.value[node, 0, 0] == pytest.approx(np.average(yn, weights=wn), rel=1e-12)
        assert tree.impurity[node] == pytest.approx(loss / wn.sum(), rel=1e-9, abs=1e-12)
        assert tree.value[node, 0, 0] > 0.0
        losses = [
            half_deviance(yn[left], wn[left]) + half_deviance(yn[~left], wn[~left])
            for column in Xn.T
            for left in sides(column)
        ]
        best = min(losses, default=math.inf)
        if tree.children_left[node] < 0:
            assert math.isinf(best) or len(set(yn)) == 1
        else:
            children = [tree.children_left[node], tree.children_right[node]]
            found = sum(tree.impurity[c] * tree.weighted_n_node_samples[c] for c in children)
            assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_same_tree_as_scikit_learns(weighted, missing):
    if missing:
        need_missing_values_of_1_9()
    X, y = counts()
    X[np.random.default_rng(2).random(X.shape) < missing] = np.nan
    weight = random_weights(len(y), 0.25, 3.0) if weighted else None
    for rules in (LARGE_NODES, {**LARGE_NODES, "min_impurity_decrease": 0.01}):
        ours = DecisionTreeRegressor(**POISSON, **rules).fit(X, y, weight)
        theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **POISSON, **rules)
        assert_same_structure(ours, theirs.fit(X, y, weight))


@pytest.mark.parametrize("depth", [1, 3, 5, None])
@pytest.mark.parametrize("target", ["diabetes", "petals", "pixels"])
def test_the_same_loss_as_scikit_learns_on_its_data(target, depth):
    if target == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
    elif target == "petals":
        X = datasets.load_iris().data
        X, y = X[:, :2], X[:, 3]
    else:
        # Many zeros: the darkness of one pixel from the others.
        X = datasets.load_digits().data[:600]
        X, y = np.delete(X, 10, axis=1), X[:, 10]
    X = X.astype(np.float32)
    ours = DecisionTreeRegressor(max_depth=depth, **POISSON).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=depth, random_state=0, **POISSON)
    theirs.fit(X, y)
    # Other choices in ties lead to other subtrees.
    tolerance = 1e-9 if depth == 1 else 0.05
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=tolerance, abs=1e-9)
    assert (ours.predict(X) > 0.0).all()


def test_the_impurity_is_half_the_deviance():
    X, y = counts()
    model = DecisionTreeRegressor(max_depth=4, **POISSON).fit(X, y)
    assert leaf_loss(model) == pytest.approx(mean_poisson_deviance(y, model.predict(X)) / 2)


def test_scaled_targets_give_the_same_tree():
    X, y = counts()
    expected = DecisionTreeRegressor(**POISSON).fit(X, y)
    for scale in (2.0**-400, 1e-12, 1e6, 2.0**300):
        scaled = DecisionTreeRegressor(**POISSON).fit(X, y * scale)
        assert_same_tree(scaled, expected, ("feature", "threshold", "children_left"))
        np.testing.assert_allclose(scaled.tree_.value, expected.tree_.value * scale, rtol=1e-12)
        np.testing.assert_allclose(
            scaled.tree_.impurity, expected.tree_.impurity * scale, rtol=1e-9, atol=1e-12 * scale
        )


def test_small_deviations_from_a_large_mean_are_seen():
    """The second-order term of the deviance is the squared error, so the splits are the same."""
    X, y = friedman()
    y = 1e9 + np.round(y * 1024) / 1024
    ours = DecisionTreeRegressor(**POISSON, **LARGE_NODES).fit(X, y)
    squared = DecisionTreeRegressor(**LARGE_NODES).fit(X, y)
    assert_same_tree(ours, squared, ("feature", "threshold", "children_left"))
    np.testing.assert_allclose(
        ours.tree_.impurity, squared.tree_.impurity / squared.tree_.value[:, 0, 0] / 2, rtol=1e-6
    )


def test_threads_and_memory_order_change_nothing():
    X, y = counts(20_000)
    expected = DecisionTreeRegressor(n_jobs=1, **POISSON).fit(X, y)
    assert_same_tree(DecisionTreeRegressor(n_jobs=2, **POISSON).fit(X, y), expected)
    assert_same_tree(DecisionTreeRegressor(**POISSON).fit(np.asfortranarray(X), y), expected)


def test_integer_weights_are_repeated_rows():
    X, y = counts(200)
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = DecisionTreeRegressor(max_depth=4, **POISSON).fit(X, y, weight)
    repeated = DecisionTreeRegressor(max_depth=4, **POISSON)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_tree(weighted, repeated, ("feature", "threshold"))
    np.testing.assert_allclose(weighted.tree_.value, repeated.tree_.value, rtol=1e-12)


def test_no_leaf_is_without_events():
    X = np.arange(6.0)[:, None]
    model = DecisionTreeRegressor(**POISSON).fit(X, [0, 0, 0, 2, 0, 3])
    assert model.tree_.threshold[0] == 4.5
    assert model.get_n_leaves() == 2
    single = DecisionTreeRegressor(**POISSON).fit(X, [0, 0, 0, 0, 0, 3])
    assert single.get_n_leaves() == 1


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor])
def test_bad_targets_are_refused_in_scikit_learns_words(kind):
    X = [[0.0], [1.0]]
    with pytest.raises(ValueError, match=r"Some value\(s\) of y are negative which is not allowed"):
        kind(**POISSON).fit(X, [-1.0, 2.0])
    with pytest.raises(ValueError, match="Sum of y is not positive which is necessary"):
        kind(**POISSON).fit(X, [0.0, 0.0])


class TestFriedman:
    """friedman_mse is a deprecated name of the squared error."""

    X, y = friedman()

    def test_it_is_the_squared_error_with_a_warning(self):
        model = DecisionTreeRegressor(criterion="friedman_mse")
        with pytest.warns(
            FutureWarning, match=r"criterion: \"friedman_mse\" is deprecated"
        ) as caught:
            model.fit(self.X, self.y)
        assert caught[0].filename == __file__
        assert_same_tree(model, DecisionTreeRegressor().fit(self.X, self.y))
        assert clone(model).criterion == model.criterion == "friedman_mse"

    def test_scikit_learn_agrees(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            theirs = sklearn.tree.DecisionTreeRegressor(criterion="friedman_mse", **LARGE_NODES)
            theirs.set_params(random_state=0).fit(self.X, self.y)
            ours = DecisionTreeRegressor(criterion="friedman_mse", **LARGE_NODES)
            ours.fit(self.X, self.y)
        for name in ("feature", "threshold", "children_left"):
            np.testing.assert_array_equal(getattr(ours.tree_, name), getattr(theirs.tree_, name))
