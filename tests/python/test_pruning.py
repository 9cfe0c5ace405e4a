"""Cost-complexity pruning, compared with scikit-learn's on the same trees.

scikit-learn's pruning reads only the arrays of a tree, so it is run on splitwood's trees. The paths
must be the same, whatever ties the growth had.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree._tree import Tree, _build_pruned_tree_ccp, ccp_pruning_path
from sklearn.utils import Bunch

import splitwood
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
from trees import STATISTICS, assert_same_tree, leaf_loss

CASES = [
    (DecisionTreeRegressor(), datasets.load_diabetes),
    (DecisionTreeRegressor(min_samples_leaf=5), datasets.load_diabetes),
    *(
        (DecisionTreeClassifier(criterion=criterion), loader)
        for criterion in ("gini", "entropy")
        for loader in (
            datasets.load_breast_cancer,
            datasets.load_iris,
            datasets.load_wine,
            datasets.load_digits,
        )
    ),
]
ON_BUNDLED_DATA = pytest.mark.parametrize(
    ("estimator", "loader"), CASES, ids=lambda case: getattr(case, "__name__", repr(case))
)
BOTH = pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])


def random_weights(n):
    return np.random.default_rng(1).integers(1, 4, n) / 2


def empty_twin(tree):
    return Tree(tree.n_features, tree.n_classes.astype(np.intp), tree.n_outputs)


def to_sklearn(tree):
    """The same tree in scikit-learn's representation."""
    twin = empty_twin(tree)
    state = twin.__getstate__()
    nodes = np.zeros(tree.node_count, dtype=state["nodes"].dtype)
    nodes["left_child"], nodes["right_child"] = tree.children_left, tree.children_right
    for name in (
        "feature",
        "threshold",
        "impurity",
        "n_node_samples",
        "weighted_n_node_samples",
        "missing_go_to_left",
    ):
        nodes[name] = getattr(tree, name)
    state |= {"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes}
    twin.__setstate__(state | {"values": tree.value})
    return twin


def sklearn_pruned(tree, ccp_alpha):
    pruned = empty_twin(tree)
    _build_pruned_tree_ccp(pruned, to_sklearn(tree), ccp_alpha)
    return pruned


def assert_same_arrays(actual, expected):
    for name in ("children_left", "children_right", "feature", "threshold", *STATISTICS):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name)
    assert actual.max_depth == expected.max_depth


def differs_from_next(alphas):
    return np.diff(alphas) > 1e-9 * alphas[1:]


def last_of_ties(path):
    """Alphas and impurities of the path, one entry per alpha.

    Where a node and one of its descendants have the same alpha, both are pruned at once. In
    scikit-learn, rounding decides whether they are, which only changes the number of entries with
    this alpha.
    """
    last = np.append(differs_from_next(path["ccp_alphas"]), True)
    return np.array([path["ccp_alphas"][last], path["impurities"][last]])


def clear_prices(alphas):
    """Alphas halfway between neighbours of the path that differ by more than rounding."""
    return (0.5 * (alphas[:-1] + alphas[1:]))[differs_from_next(alphas)]


@ON_BUNDLED_DATA
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
class TestBesideScikitLearn:
    def test_the_same_path(self, estimator, loader, weighted):
        X, y = loader(return_X_y=True)
        weight = random_weights(len(y)) if weighted else None
        path = estimator.cost_complexity_pruning_path(X, y, sample_weight=weight)
        tree = clone(estimator).fit(X, y, weight).tree_
        expected = ccp_pruning_path(to_sklearn(tree))
        assert isinstance(path, Bunch)
        assert path.keys() == expected.keys()
        ours, theirs = last_of_ties(path), last_of_ties(expected)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12 * tree.impurity[0])

    def test_the_same_trees(self, estimator, loader, weighted):
        X, y = loader(return_X_y=True)
        weight = random_weights(len(y)) if weighted else None
        whole = clone(estimator).fit(X, y, weight).tree_
        alphas = estimator.cost_complexity_pruning_path(X, y, weight).ccp_alphas
        prices = clear_prices(alphas)
        assert len(prices) >= 4
        for ccp_alpha in prices[1 :: len(prices) // 4]:
            pruned = clone(estimator).set_params(ccp_alpha=ccp_alpha).fit(X, y, weight).tree_
            assert 1 < pruned.node_count < whole.node_count
            assert_same_arrays(pruned, sklearn_pruned(whole, ccp_alpha))


@ON_BUNDLED_DATA
def test_a_price_of_the_path_makes_the_tree_of_its_impurity(estimator, loader):
    X, y = loader(return_X_y=True)
    path = estimator.cost_complexity_pruning_path(X, y)
    alphas, last_of_ties = np.unique(path.ccp_alphas[::-1], return_index=True)
    last_of_ties = len(path.ccp_alphas) - 1 - last_of_ties
    for ccp_alpha, step in list(zip(alphas, last_of_ties, strict=True))[1 :: len(alphas) // 6]:
        pruned = clone(estimator).set_params(ccp_alpha=ccp_alpha).fit(X, y)
        assert leaf_loss(pruned) == pytest.approx(path.impurities[step], rel=1e-9)


@ON_BUNDLED_DATA
def test_the_path_ascends_from_the_whole_tree_to_its_root(estimator, loader):
    X, y = loader(return_X_y=True)
    path = estimator.cost_complexity_pruning_path(X, y)
    whole = clone(estimator).fit(X, y)
    assert path.ccp_alphas[0] == 0.0
    assert (np.diff(path.ccp_alphas) >= 0.0).all()
    assert (np.diff(path.impurities) >= 0.0).all()
    assert path.impurities[0] == pytest.approx(leaf_loss(whole), rel=1e-12)
    assert path.impurities[-1] == pytest.approx(whole.tree_.impurity[0], rel=1e-12)
    root = clone(estimator).set_params(ccp_alpha=path.ccp_alphas[-1]).fit(X, y)
    assert root.tree_.node_count == 1


@BOTH
def test_no_price_cuts_nothing_and_an_infinite_one_everything(kind):
    # The second feature is noise: half of the splits gain nothing.
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert kind(ccp_alpha=0.0).fit(X, y).get_n_leaves() == 4
    assert kind(ccp_alpha=np.inf).fit(X, y).get_n_leaves() == 1


@given(st.data())
def test_no_tree_of_the_path_costs_less_than_the_one_that_is_chosen(data):
    n = data.draw(st.integers(2, 30))
    X = data.draw(st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=n, max_size=n))
    y = data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    path = DecisionTreeRegressor().cost_complexity_pruning_path(X, y)
    price = data.draw(st.floats(1e-3, 10.0))
    chosen = DecisionTreeRegressor(ccp_alpha=price).fit(X, y)
    cost = leaf_loss(chosen) + price * chosen.get_n_leaves()
    for other in np.unique(path.ccp_alphas):
        tree = DecisionTreeRegressor(ccp_alpha=other).fit(X, y)
        assert cost <= leaf_loss(tree) + price * tree.get_n_leaves() + 1e-9


@BOTH
@pytest.mark.parametrize("bad", [-1.0, -1e-300, np.nan, -np.inf, "a", None, [0.1]])
def test_bad_prices_are_refused(kind, bad):
    with pytest.raises(ValueError, match=r"^ccp_alpha: must be"):
        kind(ccp_alpha=bad).fit([[0.0], [1.0]], [0, 1])


@BOTH
def test_the_path_neither_needs_nor_changes_a_fitted_estimator(kind):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    estimator = kind(ccp_alpha=0.4)
    path = estimator.cost_complexity_pruning_path(X, y)
    assert len(path.ccp_alphas) == 2
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    estimator.fit(X, y)
    before = estimator.tree_
    estimator.cost_complexity_pruning_path([[0.0], [1.0]], [1, 1])
    assert estimator.tree_ is before
    assert estimator.ccp_alpha == 0.4


@BOTH
def test_pruning_depends_on_neither_threads_nor_scale_of_weights(kind):
    X, y = datasets.load_iris(return_X_y=True)
    weight = random_weights(len(y))
    settings = {"ccp_alpha": 0.01}
    expected = kind(n_jobs=1, **settings).fit(X, y, weight)
    assert_same_tree(kind(n_jobs=2, **settings).fit(X, y, weight), expected)
    scaled = kind(**settings).fit(X, y, weight * 2.0**40)
    assert_same_tree(scaled, expected, ("feature", "threshold", "value", "impurity"))


def test_the_core_names_its_path():
    X, y = datasets.load_iris(return_X_y=True)
    tree = splitwood.DecisionTreeClassifier().fit(X, y).tree_
    ccp_alphas, impurities = tree.pruning_path()
    assert ccp_alphas.shape == impurities.shape
    assert ccp_alphas.dtype == impurities.dtype == np.float64


# ---- prune: the fitted tree, without another fit -------------------------------------------------


@ON_BUNDLED_DATA
def test_prune_gives_the_tree_of_a_fit_with_this_alpha(estimator, loader):
    X, y = loader(return_X_y=True)
    whole = clone(estimator).fit(X, y)
    before = dict(vars(whole))
    for alpha in np.unique(whole.cost_complexity_pruning_path(X, y).ccp_alphas)[::7]:
        fitted = clone(estimator).set_params(ccp_alpha=float(alpha)).fit(X, y)
        pruned = whole.prune(float(alpha))
        assert_same_tree(pruned, fitted)
        assert pruned.get_params() == fitted.get_params()
        np.testing.assert_array_equal(pruned.predict(X), fitted.predict(X))
    assert vars(whole) == before


def test_of_two_alphas_the_larger_one_counts():
    X, y = datasets.load_diabetes(return_X_y=True)
    once = DecisionTreeRegressor(ccp_alpha=50.0).fit(X, y)
    for twice in (once.prune(20.0), DecisionTreeRegressor().fit(X, y).prune(50.0).prune(20.0)):
        assert twice.ccp_alpha == 50.0
        assert_same_tree(twice, once)


def test_prune_refuses_what_it_can_not_do():
    X, y = datasets.load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    for alpha in (-1.0, np.nan):
        with pytest.raises(ValueError, match="ccp_alpha: must be at least 0"):
            tree.prune(alpha)
    with pytest.raises(ValueError, match="ccp_alpha: must be a number"):
        tree.prune("much")
    with pytest.raises(ValueError, match="leaf_value: prune has no training rows"):
        DecisionTreeRegressor(leaf_value="median").fit(X, y).prune(1.0)
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().prune(1.0)
