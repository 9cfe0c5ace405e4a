"""Whole trees against the slow reference in ``brute_force``, on small data with many ties."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import Judge, midpoint
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
from trees import assert_same_tree

ORDINARY = [-2.0, -1.0, -0.0, 0.0, 1.0, 1.5, 4.0]
HOSTILE = [*ORDINARY, -math.inf, math.inf, math.nan]
TOLERANCE = 1e-9
REGRESSION = ["squared_error", "absolute_error", "quantile"]
CRITERIA = [*REGRESSION, "gini", "entropy"]


@st.composite
def problems(draw, cells, criterion):
    """A small training set: rows, targets, weights (or None) and settings of the estimator."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    column = st.lists(st.sampled_from(cells), min_size=n, max_size=n)
    X = np.array([draw(column) for _ in range(d)]).T.astype(draw(st.sampled_from(["f4", "f8"])))
    target = st.integers(-3, 3) if criterion in REGRESSION else st.integers(0, 3)
    y = draw(st.lists(target, min_size=n, max_size=n))
    weights = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)
    rules = {
        "criterion": criterion,
        "max_depth": draw(st.sampled_from([None, None, 1, 2])),
        "min_samples_split": draw(st.sampled_from([2, 2, 5])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 3])),
        # Fractions that integer weights can equal exactly, so that the limit itself is tested.
        "min_weight_fraction_leaf": draw(st.sampled_from([0.0, 0.0, 0.125, 0.25])),
        "min_impurity_decrease": draw(st.sampled_from([0.0, 0.0, 0.03])),
    }
    if criterion == "quantile":
        rules["quantile"] = draw(st.sampled_from([0.05, 0.25, 1 / 3, 0.5, 0.7, 0.95]))
    return X, y, draw(st.none() | weights), rules


def fit(X, y, weights, rules, n_jobs=1):
    kind = DecisionTreeRegressor if rules["criterion"] in REGRESSION else DecisionTreeClassifier
    return kind(n_jobs=n_jobs, **rules).fit(X, y, weights)


def judge_of(X, y, weights, rules):
    known = ("criterion", "min_samples_leaf", "min_weight_fraction_leaf", "quantile")
    weights = [1] * len(y) if weights is None else weights
    return Judge(X, y, weights, **{k: v for k, v in rules.items() if k in known})


def goes_left(tree, node, x):
    if math.isnan(x):
        return bool(tree.missing_go_to_left[node])
    return x <= tree.threshold[node]


def nodes_with_rows(tree, judge):
    """Each node with its depth and training rows, routed by this function and not by the core."""
    open_nodes = [(0, 0, judge.rows())]
    while open_nodes:
        node, depth, rows = open_nodes.pop()
        left = None
        if tree.children_left[node] >= 0:
            feature = tree.feature[node]
            left = frozenset(i for i in rows if goes_left(tree, node, judge.X[i][feature]))
            open_nodes.append((tree.children_left[node], depth + 1, left))
            open_nodes.append((tree.children_right[node], depth + 1, rows - left))
        yield node, depth, rows, left


def assert_statistics(tree, node, judge, rows, estimator):
    weight = judge.weight(rows)
    assert tree.n_node_samples[node] == len(rows)
    assert tree.weighted_n_node_samples[node] == weight
    assert math.isclose(
        tree.impurity[node], judge.loss(rows) / weight, rel_tol=TOLERANCE, abs_tol=1e-15
    )
    if hasattr(estimator, "classes_"):
        in_class = [[i for i in rows if judge.y[i] == c] for c in estimator.classes_.tolist()]
        expected = [float(judge.weight(members) / weight) for members in in_class]
    else:
        expected = [float(judge.value(rows))]
    np.testing.assert_allclose(tree.value[node, 0], expected, rtol=TOLERANCE, atol=1e-15)


def assert_stop_is_right(judge, rules, depth, rows, candidates, is_leaf):
    """Assert that a node is a leaf exactly if a rule stops it, it is pure, or it has no split."""
    must_stop = (
        depth == rules["max_depth"]
        or len(rows) < rules["min_samples_split"]
        or judge.is_pure(rows)
        or not candidates
    )
    if must_stop:
        assert is_leaf
        return
    best = min(c.loss for c in candidates)
    decrease = float((judge.loss(rows) - best) / judge.weight(judge.rows()))
    required = rules["min_impurity_decrease"]
    if not math.isclose(decrease, required, rel_tol=TOLERANCE, abs_tol=1e-12):
        assert is_leaf == (decrease < required)
    elif required == 0.0:
        assert not is_leaf


def assert_tree_is_greedy(estimator, judge, rules):
    tree = estimator.tree_
    for node, depth, rows, left in nodes_with_rows(tree, judge):
        assert_statistics(tree, node, judge, rows, estimator)
        candidates = list(judge.candidates(rows))
        assert_stop_is_right(judge, rules, depth, rows, candidates, is_leaf=left is None)
        if left is not None:
            chosen = [c for c in candidates if c.left == left and c.feature == tree.feature[node]]
            assert chosen, "the tree made a split that is no candidate"
            best = min(c.loss for c in candidates)
            assert chosen[0].loss - best <= TOLERANCE * judge.loss(rows)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_every_node_is_split_as_well_as_possible_or_rightly_a_leaf(criterion, data):
    X, y, weights, rules = data.draw(problems(HOSTILE, criterion))
    assert_tree_is_greedy(fit(X, y, weights, rules), judge_of(X, y, weights, rules), rules)


@pytest.mark.parametrize("criterion", [*REGRESSION, "gini"])
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_of_equal_splits_the_lowest_feature_then_the_lowest_threshold_wins(criterion, data):
    X, y, weights, rules = data.draw(problems(ORDINARY, criterion))
    tree = fit(X, y, weights, rules).tree_
    judge = judge_of(X, y, weights, rules)
    for node, _, rows, left in nodes_with_rows(tree, judge):
        if left is None:
            continue
        # Losses are exact fractions, so ties are exact, and min() keeps the first.
        candidates = list(judge.candidates(rows))
        first = min(candidates, key=lambda c: c.loss)
        if judge.ranks_targets() and first.loss == judge.loss(rows):
            first = middle_of_most(candidates)
        expected = (first.feature, midpoint(first.below, first.above))
        assert (tree.feature[node], tree.threshold[node]) == expected


def middle_of_most(candidates):
    """The middle cut of the feature with the most cuts, where no cut gains anything."""
    features = sorted({c.feature for c in candidates})
    cuts = max(([c for c in candidates if c.feature == f] for f in features), key=len)
    return cuts[(len(cuts) - 1) // 2]


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_thresholds_separate_the_neighbours_they_stand_between(data):
    X, y, weights, rules = data.draw(problems(HOSTILE, "squared_error"))
    tree = fit(X, y, weights, rules).tree_
    judge = judge_of(X, y, weights, rules)
    for node, _, rows, left in nodes_with_rows(tree, judge):
        if left is None:
            continue
        feature, threshold = tree.feature[node], tree.threshold[node]
        (cut,) = {
            (below, above) for below, above, side in judge.cuts(rows, feature) if side == left
        }
        assert_separates(threshold, *cut)


def assert_separates(threshold, below, above):
    if math.isnan(above):
        assert threshold == math.inf
    elif math.isinf(below) or math.isinf(above):
        assert below <= threshold < above
    else:
        assert threshold == midpoint(below, above)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_without_missing_values_in_a_node_they_would_follow_the_weight(data):
    X, y, weights, rules = data.draw(problems(HOSTILE, "squared_error"))
    tree = fit(X, y, weights, rules).tree_
    judge = judge_of(X, y, weights, rules)
    for node, _, rows, left in nodes_with_rows(tree, judge):
        if left is None or any(math.isnan(judge.X[i][tree.feature[node]]) for i in rows):
            continue
        heavier = judge.weight(left) > judge.weight(rows - left)
        assert bool(tree.missing_go_to_left[node]) == heavier


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_two_threads_grow_the_same_tree_as_one(criterion, data):
    problem = data.draw(problems(HOSTILE, criterion))
    assert_same_tree(fit(*problem, n_jobs=2), fit(*problem, n_jobs=1))


@pytest.mark.parametrize("criterion", REGRESSION)
@given(
    # Beside a million, numbers below 1e-300 may be rounded to each other: docs/differences.md.
    y=st.lists(
        st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-290), min_size=2, max_size=10
    ),
    weights=st.lists(st.floats(0.01, 100.0), min_size=10, max_size=10),
)
@settings(max_examples=100, deadline=None)
def test_real_targets_and_weights_are_split_as_well_as_possible(criterion, y, weights):
    X = np.column_stack([np.arange(len(y)), np.arange(len(y)) * 7 % len(y)]).astype(float)
    rules = {"criterion": criterion} | ({"quantile": 0.3} if criterion == "quantile" else {})
    tree = fit(X, y, weights[: len(y)], rules).tree_
    judge = judge_of(X, y, weights[: len(y)], rules)
    for _, _, rows, left in nodes_with_rows(tree, judge):
        if left is None:
            assert judge.is_pure(rows)
            continue
        best = min(c.loss for c in judge.candidates(rows))
        excess = judge.loss(left) + judge.loss(rows - left) - best
        assert excess <= Fraction(TOLERANCE) * judge.loss(rows)
