"""The attributes and methods of a tree that scikit-learn's tools and other code read."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.tree
from sklearn.inspection import partial_dependence

import splitwood
from handover import fitted_classifier, fitted_outputs, fitted_regressor, training_rows
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from trees import STATISTICS, STRUCTURE, assert_same_tree

X = training_rows(0, missing=False, dtype=np.float32)
Y = X[:, 0] + X[:, 1]
SPARSE = [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix]


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURE + STATISTICS)
def test_an_array_is_made_once_and_is_read_only(name):
    tree = fitted_regressor().tree_
    array = getattr(tree, name)
    assert getattr(tree, name) is array
    before = array.copy()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 7
    np.testing.assert_array_equal(getattr(tree, name), before)


def test_the_value_of_a_node_can_not_be_assigned_without_effect():
    tree = fitted_classifier()
    with pytest.raises(ValueError, match="read-only"):
        tree.tree_.value[1, 0, 0] = 999


def test_depths_count_from_one_as_in_scikit_learn():
    tree = fitted_regressor()
    expected = tree.to_sklearn().tree_.compute_node_depths()
    np.testing.assert_array_equal(tree.tree_.compute_node_depths(), expected, strict=True)
    assert tree.tree_.compute_node_depths().max() == tree.get_depth() + 1


# ---- sparse rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("container", SPARSE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_the_tree_itself_takes_sparse_rows(container, dtype):
    rows = np.round(X).astype(dtype)
    rows[:, 3] = 0
    model = fitted_outputs()
    dense = rows if dtype != np.int64 else rows.astype(np.float64)
    sparse, tree = container(rows), model.tree_
    np.testing.assert_array_equal(tree.apply(sparse), tree.apply(dense), strict=True)
    np.testing.assert_array_equal(tree.predict(sparse), tree.predict(dense), strict=True)
    path, expected = tree.decision_path(sparse), tree.decision_path(dense)
    assert isinstance(path, scipy.sparse.csr_matrix)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(path, part), getattr(expected, part), strict=True)
    assert path.shape == (len(rows), tree.node_count)


def test_paths_are_those_of_scikit_learn():
    tree = fitted_regressor(missing=False, dtype=np.float32)
    theirs = tree.to_sklearn().tree_.decision_path(X)
    assert (tree.tree_.decision_path(X) != theirs).nnz == 0


def test_sparse_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="has 3 columns, but the tree was fitted on 5"):
        fitted_regressor().tree_.apply(scipy.sparse.eye(3, format="csr"))


# ---- check_input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, *SPARSE[:2]])
def test_fits_and_predictions_without_checks_are_the_same(layout, dtype):
    rows = layout(X.astype(dtype))
    for kind, y in ((DecisionTreeRegressor, Y), (DecisionTreeClassifier, Y > 1000.0)):
        tree = kind().fit(rows, y, check_input=False)
        assert_same_tree(tree, kind().fit(rows, y))
        assert tree.n_features_in_ == X.shape[1]
        for method in ("predict", "apply", "predict_proba"):
            if hasattr(tree, method):
                unchecked = getattr(tree, method)(rows, check_input=False)
                np.testing.assert_array_equal(unchecked, getattr(tree, method)(rows), strict=True)
        assert (tree.decision_path(rows, check_input=False) != tree.decision_path(rows)).nnz == 0


@pytest.mark.parametrize("rows", [[[1, 2]], [1.0, 2.0], np.array([["a", "b"]])], ids=repr)
def test_without_checks_the_core_refuses_what_it_can_not_read(rows):
    tree = DecisionTreeRegressor().fit(np.eye(2), [0.0, 1.0])
    with pytest.raises((TypeError, ValueError), match="X"):
        tree.predict(rows, check_input=False)
    with pytest.raises((TypeError, ValueError), match="X"):
        DecisionTreeRegressor().fit(rows, [1.0], check_input=False)


def test_without_checks_sizes_are_still_compared():
    tree = DecisionTreeRegressor().fit(np.eye(2), [0.0, 1.0])
    with pytest.raises(ValueError, match="X"):
        tree.predict(np.eye(3), check_input=False)
    with pytest.raises(ValueError, match="y"):
        tree.fit(np.eye(2), [0.0, 1.0, 2.0], check_input=False)


# ---- partial dependence --------------------------------------------------------------------------


def recursion(tree, rows, features, **settings):
    return partial_dependence(tree, rows, features, method="recursion", kind="average", **settings)[
        "average"
    ]


@pytest.mark.parametrize("features", [[0], [2, 1]], ids=str)
@pytest.mark.parametrize("weight", [None, np.arange(1.0, 601.0)], ids=["equal", "weighted"])
def test_partial_dependence_is_that_of_scikit_learn(features, weight):
    tree = fitted_regressor(missing=False, dtype=np.float32, sample_weight=weight, max_depth=8)
    expected = recursion(tree.to_sklearn(), X, features)
    np.testing.assert_allclose(recursion(tree, X, features), expected, rtol=1e-12)
    grid = np.ascontiguousarray(X[:50, features])
    ours, theirs = np.ones(50), np.ones(50)
    tree.tree_.compute_partial_dependence(grid, np.array(features), ours)
    tree.to_sklearn().tree_.compute_partial_dependence(grid, np.array(features), theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_partial_dependence_on_all_features_is_the_prediction():
    tree = fitted_regressor()
    rows = training_rows(1)
    found = tree._compute_partial_dependence_recursion(rows, range(rows.shape[1]))
    np.testing.assert_array_equal(found, tree.predict(rows))


def test_partial_dependence_of_several_outputs_has_a_row_for_each():
    tree = fitted_outputs(max_depth=6)
    found = recursion(tree, X, [0])
    for output in range(2):
        one = DecisionTreeRegressor().fit([[0.0]], [0.0])
        state = tree.tree_._state()
        values = tree.tree_.value[:, output, 0].copy()
        one.tree_ = splitwood._core.Tree._from_state(
            {**state, "n_outputs": 1, "n_values": 1, "value": values}
        )
        expected = np.zeros(len(found[output]))
        grid = partial_dependence(tree, X, [0], method="recursion", kind="average")["grid_values"]
        one.tree_.compute_partial_dependence(grid[0][:, None], np.array([0]), expected)
        np.testing.assert_allclose(found[output], expected, rtol=1e-12)


def test_partial_dependence_of_categories():
    labels = np.array(["x", "y", "z"], dtype=object)[np.arange(60) % 3]
    size = np.arange(60.0) % 2
    rows = np.stack([labels, size.astype(object)], axis=1)
    y = 3.0 * (labels == "y") + size
    tree = DecisionTreeRegressor(categorical_features=[0]).fit(rows, y)
    found = tree._compute_partial_dependence_recursion(np.array([["x"], ["y"], ["?"]]), [0])
    # Each label has as many even rows as odd ones. An unknown label goes where missing ones go.
    np.testing.assert_allclose(found[:2], [0.5, 3.5])
    assert found[2] in found[:2]


def test_wrong_grids_are_refused():
    tree = fitted_regressor().tree_
    with pytest.raises(ValueError, match="target_features: must be below 5, got 5"):
        tree.compute_partial_dependence(np.zeros((1, 1)), np.array([5]), np.zeros(1))
    with pytest.raises(ValueError, match="X: has 2 columns, but there are 1 features"):
        tree.compute_partial_dependence(np.zeros((1, 2)), np.array([0]), np.zeros(1))
    with pytest.raises(ValueError, match="out: must have one entry per row"):
        tree.compute_partial_dependence(np.zeros((1, 1)), np.array([0]), np.zeros(2))


# ---- classes -------------------------------------------------------------------------------------


KINDS = [DecisionTreeRegressor, ExtraTreeRegressor, DecisionTreeClassifier, ExtraTreeClassifier]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_virtual_subclasses_of_their_namesakes(kind):
    namesake = getattr(sklearn.tree, kind.__name__)
    others = [getattr(sklearn.tree, other.__name__) for other in KINDS]
    # scikit-learn's extra trees are subclasses of its decision trees.
    assert [issubclass(kind, other) for other in others] == [
        issubclass(namesake, other) for other in others
    ]
    assert isinstance(kind(), namesake)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_virtual_subclass_has_all_that_its_namesake_has(kind):
    """Parameters with their defaults, methods with their parameters, and attributes."""
    namesake = getattr(sklearn.tree, kind.__name__)
    ours, theirs = inspect.signature(kind).parameters, inspect.signature(namesake).parameters
    assert {n: ours[n].default for n in theirs} == {n: theirs[n].default for n in theirs}
    y = (X[:, 0] > 0).astype(float)
    tree, model = kind().fit(X, y), namesake().fit(X, y)
    # Regressors of scikit-learn have an attribute for a parameter that they don't have.
    assert public(model) - public(tree) <= {"class_weight"}
    assert public(model.tree_) - public(tree.tree_) == set()
    for name in public(namesake):
        if inspect.isfunction(method := getattr(namesake, name)):
            known = inspect.signature(getattr(kind, name)).parameters.keys()
            assert inspect.signature(method).parameters.keys() <= known, name


def test_from_sklearn_refuses_trees_of_splitwood():
    with pytest.raises(TypeError, match="it is an estimator of splitwood already"):
        splitwood.from_sklearn(fitted_regressor())


@pytest.mark.parametrize("n_rows", [20, 21, 100, 101])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int8, float, str])
def test_many_classes_warn_as_in_scikit_learn(kind, n_rows):
    rows = np.arange(n_rows, dtype=np.float32)[:, None]
    for n_classes in (n_rows // 2 - 1, n_rows // 2, n_rows // 2 + 1, n_rows):
        y = (np.arange(n_rows) % n_classes).astype(kind)
        caught = []
        for tree in (splitwood.DecisionTreeClassifier(), sklearn.tree.DecisionTreeClassifier()):
            with warnings.catch_warnings(record=True) as messages:
                warnings.simplefilter("always")
                tree.fit(rows, y)
            caught.append([str(message.message) for message in messages])
        assert caught[0] == caught[1]
