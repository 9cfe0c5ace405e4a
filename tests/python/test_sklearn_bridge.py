"""Conversions to and from scikit-learn's trees: the same predictions, row by row."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import splitwood
from handover import (
    CLASSIFIERS,
    REGRESSORS,
    chain,
    fitted_categories,
    fitted_classifier,
    fitted_outputs,
    fitted_regressor,
    hostile_rows,
    regression_target,
    training_rows,
)
from splitwood._float32 import float32_below
from splitwood._sklearn_bridge import _lost_thresholds, _threshold_of_float32, _with_nodes
from trees import assert_same_tree

NODE = sklearn.tree.DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_.__getstate__()["nodes"].dtype

# ---- to scikit-learn -----------------------------------------------------------------------------


@pytest.mark.parametrize("settings", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_regressor_predicts_the_same(settings, dtype):
    ours = fitted_regressor(dtype=dtype, **settings)
    theirs = ours.to_sklearn()
    assert type(theirs) is sklearn.tree.DecisionTreeRegressor
    # Both get rows in float32, to which scikit-learn would round.
    X = hostile_rows(ours, dtype=np.float32)
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
    np.testing.assert_array_equal(theirs.apply(X), ours.apply(X))
    # This method of scikit-learn 1.6 ignores missing values.
    known = hostile_rows(ours, missing=False, dtype=np.float32)
    assert (theirs.decision_path(known) != ours.decision_path(known)).nnz == 0
    np.testing.assert_allclose(theirs.feature_importances_, ours.feature_importances_, atol=1e-12)
    assert (theirs.get_depth(), theirs.get_n_leaves()) == (ours.get_depth(), ours.get_n_leaves())


@pytest.mark.parametrize("settings", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_predicts_the_same(settings):
    ours = fitted_classifier(**settings)
    theirs = ours.to_sklearn()
    assert type(theirs) is sklearn.tree.DecisionTreeClassifier
    X = hostile_rows(ours, dtype=np.float32)
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
    np.testing.assert_array_equal(theirs.predict_proba(X), ours.predict_proba(X))
    np.testing.assert_array_equal(theirs.classes_, ours.classes_)


@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
def test_several_outputs_are_handed_on_and_taken_back(classes):
    ours = fitted_outputs(classes=classes)
    theirs = ours.to_sklearn()
    X = hostile_rows(ours, dtype=np.float32)
    for model in (theirs, splitwood.from_sklearn(theirs)):
        np.testing.assert_array_equal(model.predict(X), ours.predict(X))
        if classes:
            for got, expected in zip(model.predict_proba(X), ours.predict_proba(X), strict=True):
                np.testing.assert_array_equal(got, expected)
            assert [*map(list, model.classes_)] == [*map(list, ours.classes_)]


def test_other_splitters_are_handed_on():
    X, y = training_rows(0), regression_target(training_rows(0), 0)
    for ours in (
        splitwood.ExtraTreeRegressor(random_state=0),
        splitwood.DecisionTreeRegressor(max_leaf_nodes=20, max_features=2, random_state=0),
        splitwood.DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0, 0], max_depth=4),
    ):
        theirs = ours.fit(X, y).to_sklearn()
        rows = hostile_rows(ours, dtype=np.float32)
        np.testing.assert_array_equal(theirs.predict(rows), ours.predict(rows))


def test_categories_are_refused():
    with pytest.raises(ValueError, match="to_sklearn: splits on categories can't be converted yet"):
        fitted_categories().to_sklearn()


def test_sparse_rows_are_looked_at():
    X = training_rows(0, missing=False)
    fitted_regressor(missing=False, max_depth=3).to_sklearn(csr_matrix(X))


def test_every_field_of_the_nodes_is_handed_on():
    weight = np.random.default_rng(0).random(600)
    ours = fitted_regressor(sample_weight=weight)
    assert_same_tree(ours.to_sklearn(), ours)


def test_what_another_version_adds_to_its_nodes_stays_as_it_made_it():
    """Imitates scikit-learn 1.10, whose nodes have sets of categories and whose trees take one more
    argument."""

    class Tree:
        dtype = np.dtype([*NODE.descr, ("left_cat_bitset", np.uint32, 8)])

        def __init__(self, *arguments):
            self.arguments = arguments
            self.state = {"nodes": np.zeros(1, self.dtype), "values": np.zeros((1, 1, 1)), "new": 7}

        def __reduce__(self):
            return Tree, self.arguments, self.state

        def __setstate__(self, state):
            self.state = state

    ours = fitted_regressor(max_depth=3).tree_
    made = _with_nodes(Tree(5, 1, 1, "categories"), ours)
    assert made.arguments == (5, 1, 1, "categories")
    assert made.state["new"] == 7
    assert made.state["node_count"] == ours.node_count
    np.testing.assert_array_equal(made.state["nodes"]["threshold"], ours.threshold)
    assert not made.state["nodes"]["left_cat_bitset"].any()


def test_parameters_and_names_are_handed_on():
    pandas = pytest.importorskip("pandas", reason="data frames have names")
    X = pandas.DataFrame(training_rows(0), columns=list("abcde"))
    ours = splitwood.DecisionTreeRegressor(max_depth=4, min_samples_leaf=7, criterion="poisson")
    theirs = ours.fit(X, np.abs(regression_target(X.to_numpy(), 0))).to_sklearn()
    np.testing.assert_array_equal(theirs.feature_names_in_, list("abcde"))
    assert theirs.get_params()["min_samples_leaf"] == 7
    assert theirs.get_params()["criterion"] == "poisson"
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))


def test_the_result_is_genuine():
    theirs = fitted_classifier(max_depth=4).to_sklearn()
    X = training_rows(3, missing=False)
    again = pickle.loads(pickle.dumps(theirs))
    np.testing.assert_array_equal(again.predict_proba(X), theirs.predict_proba(X))
    assert sklearn.tree.export_text(theirs).startswith("|--- feature_")
    refitted = sklearn.base.clone(theirs).fit(X, X[:, 0] > 0)
    assert refitted.get_depth() <= 4


def test_what_float32_can_not_part_gives_a_warning_with_its_number():
    stamps = 1.7e9 + np.arange(100.0)[:, None]
    ours = splitwood.DecisionTreeRegressor().fit(stamps, np.arange(100.0))
    # Neighbours in float32 are 1.7e9 and 1.7e9 + 128: only one threshold separates them.
    with pytest.warns(
        UserWarning, match="98 of 99 thresholds separate values that are the same in float32"
    ):
        theirs = ours.to_sklearn()
    assert len(np.unique(theirs.predict(stamps))) == 2


def test_rows_are_looked_at_one_by_one():
    stamps = 1.7e9 + np.arange(100.0)[:, None]
    stump = splitwood.DecisionTreeRegressor(max_depth=1).fit(stamps, np.arange(100.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stump.to_sklearn()  # The tree alone does not have this information.
    with pytest.warns(UserWarning, match="1 of 1 thresholds are crossed"):
        theirs = stump.to_sklearn(stamps)
    assert (theirs.predict(stamps) != stump.predict(stamps)).any()


def lost_thresholds(tree):
    """A slow reference: bounds from all ancestors, and whether both sides contain a float32."""
    parent = {}
    for node in np.flatnonzero(tree.children_left >= 0).tolist():
        parent[int(tree.children_left[node])] = (node, "left")
        parent[int(tree.children_right[node])] = (node, "right")
    floor = float32_below(tree.threshold)
    lost = 0
    for node in np.flatnonzero(tree.children_left >= 0).tolist():
        low, high, at = -np.inf, np.inf, node
        while at in parent:
            at, side = parent[at]
            if tree.feature[at] == tree.feature[node]:
                low = max(low, floor[at]) if side == "right" else low
                high = min(high, floor[at]) if side == "left" else high
        lost += not (low < floor[node] < high)
    return lost


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_lost_thresholds_are_those_of_the_obvious_way(seed, n_features):
    rng = np.random.default_rng(seed)
    # A dozen neighbours in float32, with float64 between some of them.
    X = 1.0 + rng.integers(0, 40, (60, n_features)) * 2.0**-25
    ours = splitwood.DecisionTreeRegressor(max_depth=6).fit(X, rng.random(60))
    assert _lost_thresholds(ours.tree_) == lost_thresholds(ours.tree_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ordinary_data_gives_no_warning(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ours in (fitted_regressor(dtype=dtype), fitted_classifier(dtype=dtype)):
            ours.to_sklearn()
            ours.to_sklearn(training_rows(0, dtype=dtype))


def test_a_deep_chain_is_handed_on_and_taken_back():
    ours = chain(100_000)
    theirs = ours.to_sklearn()
    X = np.arange(99_000.0, 100_100.0)[:, None]
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
    np.testing.assert_array_equal(splitwood.from_sklearn(theirs).predict(X), ours.predict(X))


def test_an_unfitted_tree_is_refused():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        splitwood.DecisionTreeRegressor().to_sklearn()


# ---- from scikit-learn ---------------------------------------------------------------------------


THEIRS = {
    "regressor": sklearn.tree.DecisionTreeRegressor(random_state=0),
    "best-first": sklearn.tree.DecisionTreeRegressor(max_leaf_nodes=40, random_state=0),
    "pruned": sklearn.tree.DecisionTreeRegressor(ccp_alpha=0.01, random_state=0),
    "random": sklearn.tree.ExtraTreeRegressor(random_state=0),
    "median": sklearn.tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=4),
    "leaf": sklearn.tree.DecisionTreeRegressor(min_samples_leaf=600),
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_regressor_is_taken_over(name, dtype):
    # Extra trees and medians accept missing values only in some versions.
    missing = name not in ("random", "median")
    X = training_rows(0, missing=missing, dtype=np.float32)
    theirs = sklearn.base.clone(THEIRS[name]).fit(X, regression_target(X, 0))
    ours = splitwood.from_sklearn(theirs)
    rows = hostile_rows(theirs, missing=missing, dtype=dtype)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize("max_leaf_nodes", [None, 30])
def test_a_classifier_is_taken_over(max_leaf_nodes):
    X = training_rows(0)
    y = np.array(["no", "yes", "maybe"])[np.digitize(regression_target(X, 0), [0.5, 1.5])]
    theirs = sklearn.tree.DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(
        X, y
    )
    ours = splitwood.from_sklearn(theirs)
    rows = hostile_rows(theirs)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))
    assert ours.get_params()["criterion"] == "gini"


def test_a_tree_of_a_forest_is_taken_over():
    X = training_rows(0, missing=False)
    y = regression_target(X, 0)
    forest = sklearn.ensemble.RandomForestRegressor(3, random_state=0).fit(X, y)
    ours = [splitwood.from_sklearn(tree) for tree in forest.estimators_]
    rows = hostile_rows(forest.estimators_[0], missing=False)
    mean = np.mean([tree.predict(rows) for tree in ours], axis=0)
    np.testing.assert_allclose(mean, forest.predict(rows), rtol=1e-14)


def test_there_and_back_is_the_same_for_float32():
    ours = fitted_classifier(dtype=np.float32)
    back = splitwood.from_sklearn(ours.to_sklearn())
    X = hostile_rows(ours, dtype=np.float32)
    np.testing.assert_array_equal(back.predict_proba(X), ours.predict_proba(X))


def test_what_is_no_tree_of_scikit_learn_is_refused():
    with pytest.raises(
        TypeError,
        match="estimator: must be a decision tree or a forest of scikit-learn, got Linear",
    ):
        splitwood.from_sklearn(sklearn.linear_model.LinearRegression())
    with pytest.raises(sklearn.exceptions.NotFittedError):
        splitwood.from_sklearn(sklearn.tree.DecisionTreeRegressor())


# ---- thresholds ----------------------------------------------------------------------------------


@given(st.floats(-1e38, 1e38))
def test_the_moved_threshold_is_the_last_that_rounds_to_the_left(threshold):
    moved = _threshold_of_float32(np.array([threshold]))[0]
    assert float(np.float32(moved)) <= threshold
    assert float(np.float32(np.nextafter(moved, np.inf))) > threshold


@given(st.floats(allow_nan=False))
def test_thefloat32_below_is_the_largest_that_is_not_above(value):
    with np.errstate(over="ignore"):
        below = float32_below(np.array([value]))[0]
        assert np.float32(below) == below
        assert below <= value
        if np.isfinite(below):
            assert float(np.nextafter(np.float32(below), np.float32(np.inf))) > value
