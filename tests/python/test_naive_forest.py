"""Forests against a naive one: bags are given, and every node of every tree is searched by brute
force (``brute_force``), on small data with many ties.

Trees of a forest break ties in an order of features of their own, so a split need not be the first
of those with the lowest loss; its loss must be the lowest.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitwood import RandomForestClassifier, RandomForestRegressor
from test_brute_force import (
    CRITERIA,
    HOSTILE,
    ORDINARY,
    REGRESSION,
    assert_tree_is_greedy,
    judge_of,
    problems,
)

N_TREES = 3


@st.composite
def problems_with_bags(draw, cells, criterion):
    X, y, weights, rules = draw(problems(cells, criterion))
    if criterion not in REGRESSION:
        # The trees of a forest know codes.
        y = np.unique(y, return_inverse=True)[1].tolist()
    # Rows of weight zero don't count, so each bag has another one.
    counted = [i for i in range(len(y)) if weights is None or weights[i]]
    bags = draw(
        st.lists(
            st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y)).filter(
                lambda bag: any(bag[i] for i in counted)
            ),
            min_size=N_TREES,
            max_size=N_TREES,
        )
    )
    return X, y, weights, rules, np.array(bags).T


def check(problem):
    X, y, weights, rules, bags = problem
    kind = RandomForestRegressor if rules["criterion"] in REGRESSION else RandomForestClassifier
    forest = kind(N_TREES, max_features=None, oob_score=True, random_state=0, n_jobs=1, **rules)
    with warnings.catch_warnings(action="ignore"):
        forest.fit(X, y, weights, bags=bags)
        other = kind(**forest.get_params() | {"n_jobs": 2}).fit(X, y, weights, bags=bags)
    of_rows = np.ones(len(y), dtype=int) if weights is None else np.array(weights)
    for tree, bag in zip(forest.estimators_, bags.T, strict=True):
        judge = judge_of(X, y, (bag * of_rows).tolist(), rules)
        assert_tree_is_greedy(tree, judge, rules)
    assert forest.forest_.__reduce__() == other.forest_.__reduce__()
    each = np.array([t.tree_.predict(X).reshape(len(y), -1) for t in forest.estimators_])
    found = forest.forest_.predict(X)
    np.testing.assert_allclose(found, each.mean(axis=0), rtol=1e-12, atol=1e-15)
    # A row is out of the bag of a tree that has not drawn it.
    out = bags.T == 0
    sums = np.where(out[:, :, None], each, 0.0).sum(axis=0)
    means = sums / np.maximum(out.sum(axis=0), 1)[:, None]
    known = (
        forest.oob_decision_function_ if kind is RandomForestClassifier else forest.oob_prediction_
    )
    np.testing.assert_allclose(known.reshape(means.shape), means, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_node_of_a_forest_has_the_best_split(criterion, data):
    check(data.draw(problems_with_bags(ORDINARY, criterion)))


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_node_has_the_best_split_on_hostile_values(criterion, data):
    check(data.draw(problems_with_bags(HOSTILE, criterion)))
