"""The same trees as scikit-learn's, except for ties and for scikit-learn's known errors."""

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import splitwood
from peers import (
    CLASS_SETS,
    CLASSIFIERS,
    LOADERS,
    REGRESSORS,
    assert_same_structure,
    both,
    friedman,
    load,
    random_weights,
    three_classes,
)
from trees import STATISTICS, leaf_loss, rows_by_node

# Settings under which every node keeps enough rows that no two features separate it alike.
LARGE_NODES = {"min_samples_split": 40, "min_samples_leaf": 5}
RULES = [
    LARGE_NODES,
    {**LARGE_NODES, "max_depth": 1},
    {**LARGE_NODES, "max_depth": 4},
    {**LARGE_NODES, "min_samples_split": 100},
    {**LARGE_NODES, "min_samples_split": 0.2},
    {"min_samples_split": 100, "min_samples_leaf": 20},
    {"min_samples_split": 100, "min_samples_leaf": 0.031},
    {**LARGE_NODES, "min_weight_fraction_leaf": 0.05},
    {**LARGE_NODES, "min_impurity_decrease": 0.01},
]


def describe(rules):
    return ",".join(f"{k}={v}" for k, v in rules.items() if LARGE_NODES.get(k) != v) or "base"


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("rules", RULES, ids=describe)
class TestSameStructure:
    def test_regression(self, rules, weighted):
        X, y = friedman()
        weight = random_weights(len(y), 0.25, 3.0) if weighted else None
        assert_same_structure(*both(REGRESSORS, X, y, weight, **rules))

    @pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
    def test_classes(self, criterion, rules, weighted):
        # Counts of classes tie far more often than sums of reals, so random weights break the ties.
        X, y = three_classes()
        weight = random_weights(len(y), 1.0, 3.0 if weighted else 1.25)
        assert_same_structure(*both(CLASSIFIERS, X, y, weight, criterion=criterion, **rules))


# Before 1.8, scikit-learn trains some leaves on rows that it sends to other leaves at prediction.
places_missing_values_rightly = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn before 1.8 misplaces rows with missing values",
)


@places_missing_values_rightly
@pytest.mark.parametrize("kinds", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
def test_same_structure_with_missing_values(kinds):
    X, y = friedman() if kinds is REGRESSORS else three_classes()
    rng = np.random.default_rng(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = random_weights(len(y), 0.5, 1.5)
    ours, theirs = both(kinds, X, y, weight, **LARGE_NODES)
    assert_same_structure(ours, theirs)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@places_missing_values_rightly
@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_same_direction_of_missing_values(share_missing):
    X, y = friedman()
    rng = np.random.default_rng(2)
    X[rng.random(X.shape) < share_missing] = np.nan
    ours, theirs = both(REGRESSORS, X, y, **LARGE_NODES)
    assert_same_structure(ours, theirs)
    inner = theirs.tree_.children_left >= 0
    np.testing.assert_array_equal(
        ours.tree_.missing_go_to_left[inner], theirs.tree_.missing_go_to_left[inner]
    )


def test_same_structure_in_large_nodes():
    X, y = friedman(20_000)
    assert_same_structure(*both(REGRESSORS, X, y, max_depth=5))


def test_same_structure_of_classes_in_large_nodes():
    X, y = three_classes(20_000)
    weight = random_weights(len(y), 1.0, 1.25)
    assert_same_structure(*both(CLASSIFIERS, X, y, weight, max_depth=5))


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6, None])
def test_same_training_loss_on_diabetes(depth):
    ours, theirs = both(REGRESSORS, *load("diabetes"), max_depth=depth)
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("name", CLASS_SETS)
def test_same_training_loss_of_a_stump(name, criterion):
    ours, theirs = both(CLASSIFIERS, *load(name), criterion=criterion, max_depth=1)
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9)


@pytest.mark.parametrize("name", CLASS_SETS)
def test_unlimited_trees_fit_the_training_rows(name):
    X, y = load(name)
    ours, theirs = both(CLASSIFIERS, X, y)
    assert leaf_loss(ours) <= leaf_loss(theirs)
    np.testing.assert_array_equal(ours.predict(X), y)


def best_stump_loss(kind, X, y, settings):
    """Loss after scikit-learn's best split of these rows, or None if it finds none."""
    stump = kind(max_depth=1, random_state=0, **settings).fit(X, y)
    return leaf_loss(stump) if stump.get_n_leaves() == 2 else None


@pytest.mark.parametrize("name", LOADERS)
def test_every_split_is_as_good_as_scikit_learns(name):
    """Compares node by node, so that other choices in ties further up don't matter."""
    X, y = load(name)
    ours, theirs = REGRESSORS if name == "diabetes" else CLASSIFIERS
    model = ours(max_depth=6).fit(X, y)
    tree, members = model.tree_, rows_by_node(model, X)
    losses = tree.impurity * tree.weighted_n_node_samples
    for node in np.flatnonzero(tree.children_left >= 0):
        rows = members[node]
        children = [tree.children_left[node], tree.children_right[node]]
        expected = best_stump_loss(theirs, X[rows], y[rows], {})
        assert losses[children].sum() / len(rows) == pytest.approx(expected, rel=1e-7, abs=1e-12)


# Iris is left out: two of its features separate the root alike.
@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine", "digits"])
def test_same_leaves_importances_and_depth_where_structures_agree(name):
    X, y = load(name)
    kinds = REGRESSORS if name == "diabetes" else CLASSIFIERS
    weight = random_weights(len(y), 1.0, 1.25)
    ours, theirs = both(kinds, X, y, weight, max_depth=3, min_samples_leaf=10)
    assert_same_structure(ours, theirs)
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    difference = ours.decision_path(X) != theirs.decision_path(X)
    assert difference.nnz == 0


@pytest.mark.parametrize("kinds", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
def test_node_arrays_have_the_shapes_and_dtypes_of_scikit_learns(kinds):
    X, y = friedman() if kinds is REGRESSORS else three_classes()
    weight = random_weights(len(y), 1.0, 1.25)
    ours, theirs = (model.tree_ for model in both(kinds, X, y, weight, **LARGE_NODES))
    for name in ("children_left", "children_right", "feature", "threshold", "missing_go_to_left"):
        a, e = getattr(ours, name), getattr(theirs, name)
        assert (a.shape, a.dtype) == (e.shape, e.dtype), name
    for name in STATISTICS:
        a, e = getattr(ours, name), getattr(theirs, name)
        assert (a.shape, a.dtype) == (e.shape, e.dtype), name
    for name in ("node_count", "n_features", "n_outputs", "max_n_classes", "max_depth", "n_leaves"):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_array_equal(ours.n_classes, theirs.n_classes)


def test_leaves_carry_scikit_learns_marks():
    X, y = friedman()
    tree = splitwood.DecisionTreeRegressor(max_depth=3).fit(X, y).tree_
    leaf = tree.children_left == -1
    assert leaf.sum() == tree.n_leaves
    assert (tree.children_right[leaf] == -1).all()
    assert (tree.feature[leaf] == -2).all()
    assert (tree.threshold[leaf] == -2.0).all()
    assert (tree.children_left[~leaf] == np.flatnonzero(~leaf) + 1).all()
