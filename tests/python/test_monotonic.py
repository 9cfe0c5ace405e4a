"""Monotonic constraints hold everywhere, and invalid ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from peers import (
    CLASSIFIERS,
    REGRESSORS,
    assert_same_structure,
    friedman,
    load,
)
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@st.composite
def monotonic_problems(draw):
    n_rows, n_features = draw(st.integers(2, 60)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, draw(st.sampled_from([3, 20])), (n_rows, n_features)).astype(float)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.25] = np.nan
    y = rng.integers(0, draw(st.sampled_from([2, 10])), n_rows).astype(float)
    y[0], y[1] = 0.0, 1.0
    signs = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n_features, max_size=n_features))
    weight = rng.integers(1, 4, n_rows) if draw(st.booleans()) else None
    return X, y, signs, weight, rng


MONOTONIC_MODELS = {
    **{
        criterion: DecisionTreeRegressor(criterion=criterion)
        for criterion in ("squared_error", "absolute_error", "poisson", "quantile")
    },
    **{c: DecisionTreeClassifier(criterion=c) for c in ("gini", "entropy")},
    "random": ExtraTreeRegressor(random_state=0),
    "random classes": ExtraTreeClassifier(random_state=0),
    "few leaves": DecisionTreeRegressor(max_leaf_nodes=6),
    "pruned": DecisionTreeRegressor(ccp_alpha=0.05),
}


@pytest.mark.parametrize("name", MONOTONIC_MODELS)
@given(problem=monotonic_problems())
def test_predictions_are_monotonic_over_the_whole_space(name, problem):
    X, y, signs, weight, rng = problem
    model = clone(MONOTONIC_MODELS[name]).set_params(monotonic_cst=signs)
    is_classifier = hasattr(model, "predict_proba")
    model.fit(X, y > 0 if is_classifier else y, weight)

    def value(rows):
        return model.predict_proba(rows)[:, 1] if is_classifier else model.predict(rows)

    along = np.arange(-1.0, 21.0, 0.5)
    for _ in range(10):
        point = rng.integers(-1, 21, X.shape[1]).astype(float)
        point[rng.random(len(point)) < 0.2] = np.nan
        for feature, sign in enumerate(signs):
            rows = np.tile(point, (len(along), 1))
            rows[:, feature] = along
            assert (sign * np.diff(value(rows)) >= 0.0).all()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "quantile"])
@given(problem=monotonic_problems(), factor=st.sampled_from([1024.0, 2.0**-9]))
def test_the_unit_of_the_targets_changes_no_split(criterion, problem, factor):
    X, y, signs, weight, _ = problem
    model = DecisionTreeRegressor(criterion=criterion, monotonic_cst=signs)
    ours, scaled = (clone(model).fit(X, targets, weight).tree_ for targets in (y, y * factor))
    np.testing.assert_array_equal(ours.feature, scaled.feature)
    np.testing.assert_array_equal(ours.threshold, scaled.threshold)
    np.testing.assert_array_equal(ours.value * factor, scaled.value)


def test_ranges_and_values_have_the_same_unit():
    """Of targets above 2, ranges of Poisson trees were compared with values of other units."""
    X, y = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0), np.repeat([13.0, 11.0, 1.0], 5)
    for criterion in ("squared_error", "absolute_error", "poisson", "quantile"):
        for sign, targets in ((-1, y), (1, y[::-1])):
            model = DecisionTreeRegressor(criterion=criterion, monotonic_cst=[sign])
            np.testing.assert_array_equal(model.fit(X, targets).predict(X), targets)


def test_without_constraints_trees_are_not_monotonic():
    """Free predictions rise and fall, so the test above can fail."""
    X, y = friedman()
    free = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    rows = np.tile(np.float32(0.5), (100, 6))
    rows[:, 2] = np.linspace(0.0, 1.0, 100)
    steps = np.diff(free.predict(rows))
    assert steps.min() < 0.0 < steps.max()


def test_constraints_of_zero_change_nothing():
    X, y = load("diabetes")
    free = DecisionTreeRegressor(max_depth=5).fit(X, y)
    assert_same_structure(
        DecisionTreeRegressor(max_depth=5, monotonic_cst=[0] * 10).fit(X, y), free
    )


X2, Y2, CLASSES3 = [[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]], [0.0, 1.0, 2.0], [0, 1, 2]
MONOTONIC_REFUSED = [
    (REGRESSORS, Y2, [1]),
    (REGRESSORS, Y2, [1, 0, -1]),
    (REGRESSORS, Y2, []),
    (REGRESSORS, Y2, [1, 2]),
    (REGRESSORS, Y2, [0, -2]),
    (REGRESSORS, Y2, [0.5, 0]),
    (REGRESSORS, Y2, [np.nan, 0]),
    (REGRESSORS, Y2, ["1", "0"]),
    (REGRESSORS, np.column_stack([Y2, Y2]), [1, 0]),
    (CLASSIFIERS, CLASSES3, [1, 0]),
    (CLASSIFIERS, np.array([[0, 1], [1, 1], [1, 0]]), [1, 0]),
]


@pytest.mark.parametrize(("kinds", "y", "signs"), MONOTONIC_REFUSED)
def test_bad_constraints_are_refused_by_both(kinds, y, signs):
    for kind in kinds:
        with pytest.raises(ValueError, match=r"(?i)monotonic"):
            kind(monotonic_cst=signs).fit(X2, y)


@pytest.mark.parametrize("signs", ["11", 1, {"a": 1}, [[1, 0], [0, 1]]], ids=repr)
def test_constraints_that_are_no_sequence_of_signs_are_refused(signs):
    message = (
        "^monotonic_cst must be None or an array-like of -1, 0 or 1, with one entry per feature"
    )
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(monotonic_cst=signs).fit(X2, Y2)


@pytest.mark.parametrize(
    "signs", [(1, -1), np.array([1, -1], np.int8), np.array([1.0, -1.0]), np.array([1, -1], object)]
)
def test_constraints_may_be_any_sequence(signs):
    for kind in REGRESSORS:
        assert kind(monotonic_cst=signs).fit(X2, Y2).predict(X2) is not None
