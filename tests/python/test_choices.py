"""max_leaf_nodes, max_features and random splits, compared with scikit-learn's."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn.tree
from scipy import stats
from sklearn.base import clone

import splitwood
from peers import (
    CLASSIFIERS,
    REGRESSORS,
    assert_same_structure,
    both,
    friedman,
    load,
    random_weights,
    three_classes,
)
from splitwood import (
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from trees import assert_same_tree, leaf_loss

NAMES = [
    "DecisionTreeRegressor",
    "DecisionTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreeClassifier",
]
EVERY_ESTIMATOR = pytest.mark.parametrize(
    ("ours", "theirs"),
    [(getattr(splitwood, name), getattr(sklearn.tree, name)) for name in NAMES],
    ids=NAMES,
)
KINDS = pytest.mark.parametrize("kinds", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])


def data_of(kinds, n=600):
    return friedman(n) if kinds is REGRESSORS else three_classes(n)


# ---- parameters and attributes -------------------------------------------------------------------


@EVERY_ESTIMATOR
def test_every_parameter_of_scikit_learn_with_its_default(ours, theirs):
    expected = inspect.signature(theirs).parameters
    found = inspect.signature(ours).parameters
    assert {name: found[name].default for name in expected} == {
        name: parameter.default for name, parameter in expected.items()
    }
    assert {p.kind for p in found.values()} == {inspect.Parameter.KEYWORD_ONLY}


@EVERY_ESTIMATOR
def test_every_attribute_of_a_fit(ours, theirs):
    X, y = load("wine")
    expected = theirs(random_state=0).fit(X, y)
    found = ours(random_state=0).fit(X, y)
    names = [name for name in dir(expected) if name.endswith("_") and not name.startswith("_")]
    assert {"max_features_", "n_features_in_", "n_outputs_", "tree_"} <= set(names)
    assert [name for name in names if not hasattr(found, name)] == []
    assert found.max_features_ == expected.max_features_
    assert found.__sklearn_tags__() == expected.__sklearn_tags__()


# ---- max_leaf_nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "rules",
    [{}, {"min_impurity_decrease": 0.02}, {"max_depth": 4}, {"ccp_alpha": 0.01}],
    ids=lambda rules: next(iter(rules), "base"),
)
@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 5, 9, 16, 1000])
class TestMaxLeafNodes:
    def test_regression(self, max_leaf_nodes, rules, weighted):
        X, y = friedman()
        weight = random_weights(len(y), 0.25, 3.0) if weighted else None
        settings = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 5, **rules}
        assert_same_structure(*both(REGRESSORS, X, y, weight, min_samples_split=40, **settings))

    @pytest.mark.parametrize("criterion", ["gini", "entropy"])
    def test_classes(self, max_leaf_nodes, rules, weighted, criterion):
        X, y = three_classes()
        weight = random_weights(len(y), 1.0, 3.0 if weighted else 1.25)
        settings = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 5, **rules}
        ours, theirs = both(
            CLASSIFIERS, X, y, weight, min_samples_split=40, criterion=criterion, **settings
        )
        assert_same_structure(ours, theirs)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
@pytest.mark.parametrize("max_leaf_nodes", [2, 4, 8])
def test_few_leaves_by_other_criteria(criterion, max_leaf_nodes):
    X, y = friedman()
    y = y - y.min() + 0.5
    settings = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 5, "min_samples_split": 40}
    ours, theirs = both(REGRESSORS, X, y, criterion=criterion, **settings)
    assert_same_structure(ours, theirs)


@pytest.mark.parametrize("max_leaf_nodes", [2, 4, 7, 12, 30])
@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine", "digits"])
def test_the_same_predictions_of_few_leaves_on_real_data(name, max_leaf_nodes):
    X, y = load(name)
    kinds = REGRESSORS if name == "diabetes" else CLASSIFIERS
    weight = random_weights(len(y), 1.0, 1.25)
    settings = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 10}
    ours, theirs = both(kinds, X, y, weight, **settings)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9)
    # Between the training rows, not only at them.
    rng = np.random.default_rng(0)
    between = rng.uniform(X.min(axis=0), X.max(axis=0), (2000, X.shape[1])).astype(np.float32)
    for rows in (X, between):
        np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-9)


def test_few_leaves_lose_no_more_than_a_tree_of_as_few_that_is_grown_otherwise():
    X, y = load("diabetes")
    by_depth = DecisionTreeRegressor(max_depth=4).fit(X, y)
    best_first = DecisionTreeRegressor(max_leaf_nodes=by_depth.get_n_leaves()).fit(X, y)
    assert best_first.get_n_leaves() == by_depth.get_n_leaves()
    assert leaf_loss(best_first) < leaf_loss(by_depth)


@pytest.mark.parametrize("value", [1, 0, -1, 2.5, "2", True, [3]])
def test_bad_max_leaf_nodes_are_refused_by_both(value):
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match="max_leaf_nodes"):
            kind(max_leaf_nodes=value).fit([[0.0], [1.0]], [0.0, 1.0])


# ---- max_features --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 10, 64])
@pytest.mark.parametrize(
    "max_features",
    [None, 1, 3, 64, np.int64(2), 0.01, 0.3, 0.99, 1.0, np.float64(0.5), "sqrt", "log2"],
)
def test_max_features_mean_what_they_mean_in_scikit_learn(max_features, n_features):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, n_features)), rng.normal(size=30)
    ours, theirs = (kind(max_features=max_features).fit(X, y) for kind in REGRESSORS)
    assert ours.max_features_ == theirs.max_features_


@pytest.mark.parametrize(
    "value",
    [0, -1, 0.0, -0.5, 1.5, np.nan, np.inf, "auto", "SQRT", "", [1]],
    ids=repr,
)
def test_bad_max_features_are_refused_by_both(value):
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match="max_features"):
            kind(max_features=value).fit([[0.0], [1.0]], [0.0, 1.0])


def root_features(kind, X, y, n_fits, **settings):
    """How often each feature splits the root."""
    fits = (kind(max_depth=1, random_state=seed, **settings).fit(X, y) for seed in range(n_fits))
    return np.bincount([fit.tree_.feature[0] for fit in fits], minlength=X.shape[1])


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("max_features", [1, 2, 4])
def test_features_are_drawn_as_often_as_by_scikit_learn(max_features, splitter):
    # Later features split better.
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    X = (y[:, None] * [0.5, 1, 2, 4, 8, 0] + rng.normal(size=(100, 6))).astype(np.float32)
    X[:, 5] = 7.0  # A constant feature is sometimes drawn, but never split.
    settings = {"max_features": max_features, "splitter": splitter}
    counts = [root_features(kind, X, y, 1000, **settings)[:5] for kind in REGRESSORS]
    counts = np.array(counts)[:, np.any(counts, axis=0)]
    assert counts.sum() == 2000
    assert stats.chi2_contingency(counts).pvalue > 0.01


# ---- random thresholds ---------------------------------------------------------------------------


def root_thresholds(kind, X, y, n_fits, **settings):
    fits = (kind(max_depth=1, random_state=seed, **settings).fit(X, y) for seed in range(n_fits))
    return np.array([fit.tree_.threshold[0] for fit in fits])


@EVERY_ESTIMATOR
def test_thresholds_are_drawn_like_scikit_learns(ours, theirs):
    # Most values are far from the middle of the range.
    x = np.array([0.0, 0.01, 0.02, 0.03, 10.0], np.float32)[:, None]
    y = [0, 0, 1, 1, 0]
    drawn = [root_thresholds(kind, x, y, 1000, splitter="random") for kind in (ours, theirs)]
    assert stats.ks_1samp(drawn[0], stats.uniform(0.0, 10.0).cdf).pvalue > 0.01
    assert stats.ks_2samp(*drawn).pvalue > 0.01
    assert len(np.unique(drawn[0])) > 990


def test_of_several_random_thresholds_the_best_is_taken_as_in_scikit_learn():
    X, y = friedman(200)
    kinds = (ExtraTreeRegressor, sklearn.tree.ExtraTreeRegressor)
    losses = [
        [leaf_loss(kind(max_depth=1, random_state=seed).fit(X, y)) for seed in range(500)]
        for kind in kinds
    ]
    assert stats.ks_2samp(*losses).pvalue > 0.01


def test_missing_values_go_to_a_random_side():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]])
    y = [0.0, 1.0, 2.0, 3.0]
    left = [
        ExtraTreeRegressor(max_depth=1, random_state=seed).fit(X, y).tree_.missing_go_to_left[0]
        for seed in range(400)
    ]
    assert 0.4 < np.mean(left) < 0.6


@pytest.mark.parametrize("shares", [1, 2])
@EVERY_ESTIMATOR
def test_extra_trees_score_like_scikit_learns(ours, theirs, shares):
    """Distributions of held-out scores over seeds: the trees are equally good on average."""
    X, y = load("diabetes" if "Regressor" in ours.__name__ else "breast_cancer")
    train, test = slice(0, None, 2), slice(1, None, 2)
    settings = {"min_samples_leaf": 5, "max_features": 1.0 / shares}
    scores = [
        [
            kind(random_state=s, **settings).fit(X[train], y[train]).score(X[test], y[test])
            for s in range(60)
        ]
        for kind in (ours, theirs)
    ]
    if "DecisionTree" in ours.__name__ and shares == 1:
        # Only scikit-learn's ties are random here.
        assert len(set(scores[0])) == 1
        assert scores[0][0] == pytest.approx(np.mean(scores[1]), abs=0.03)
    else:
        assert stats.ks_2samp(*scores).pvalue > 0.01


RANDOM_SETTINGS = [
    {"splitter": "random"},
    {"max_features": 2},
    {"max_features": "sqrt", "splitter": "random"},
    {"max_features": 0.5, "max_leaf_nodes": 20},
    {"splitter": "random", "max_leaf_nodes": 20, "max_features": 1},
]


@pytest.mark.parametrize("settings", RANDOM_SETTINGS, ids=str)
@KINDS
def test_the_same_seed_makes_the_same_tree_on_any_number_of_threads(kinds, settings):
    # Large enough that threads share the nodes.
    X, y = data_of(kinds, 15_000)
    X[::7, 1] = np.nan
    ours, _ = kinds
    first = ours(random_state=3, n_jobs=1, **settings).fit(X, y)
    for n_jobs in (1, 2, 5, None):
        again = ours(random_state=3, n_jobs=n_jobs, **settings).fit(np.asfortranarray(X), y)
        assert pickle.dumps(again.tree_) == pickle.dumps(first.tree_)
    other = ours(random_state=4, **settings).fit(X, y)
    assert pickle.dumps(other.tree_) != pickle.dumps(first.tree_)


@EVERY_ESTIMATOR
def test_random_states_as_in_scikit_learn(ours, theirs):
    X, y = load("wine")
    settings = {"splitter": "random", "max_features": 2}
    for kind in (ours, theirs):
        first = kind(random_state=0, **settings).fit(X, y)
        assert_same_tree(kind(random_state=np.int64(0), **settings).fit(X, y), first)
        assert_same_tree(kind(random_state=np.random.RandomState(0), **settings).fit(X, y), first)
        # A generator keeps its state between fits.
        generator = np.random.RandomState(0)
        model = kind(random_state=generator, **settings)
        fits = [
            clone(model, safe=False).set_params(random_state=generator).fit(X, y) for _ in range(2)
        ]
        assert_same_tree(fits[0], first)
        assert pickle.dumps(fits[1].tree_) != pickle.dumps(first.tree_)
        # None means numpy's global generator.
        state = np.random.get_state()  # noqa: NPY002
        try:
            np.random.seed(0)  # noqa: NPY002
            a, b = (kind(**settings).fit(X, y) for _ in range(2))
            assert_same_tree(a, first)
            assert pickle.dumps(b.tree_) != pickle.dumps(first.tree_)
        finally:
            np.random.set_state(state)  # noqa: NPY002


@pytest.mark.parametrize(
    "value",
    ["seed", -1, 1.5, [1], np.random.default_rng(0)],
    ids=["string", "negative", "float", "list", "Generator"],
)
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_bad_random_states_are_refused_by_both(value, splitter):
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match=r"(?i)random_state|seed"):
            kind(random_state=value, splitter=splitter).fit([[0.0], [1.0]], [0.0, 1.0])


@KINDS
def test_where_nothing_is_random_the_random_state_is_left_alone(kinds):
    X, y = data_of(kinds)
    ours, _ = kinds
    generator = np.random.RandomState(0)
    before = pickle.dumps(generator.get_state())
    models = [
        ours(random_state=generator).fit(X, y),
        ours(random_state=generator, max_leaf_nodes=10_000).fit(X, y),
        ours(random_state=generator, max_features=X.shape[1]).fit(X, y),
        ours(random_state=generator, max_features=1.0).fit(X, y),
        ours(random_state=7).fit(X, y),
        ours().fit(X, y),
    ]
    assert pickle.dumps(generator.get_state()) == before
    for model in models:
        assert_same_tree(model, models[0])


@pytest.mark.parametrize("value", ["BEST", "", None, 1, ["best"]], ids=repr)
def test_bad_splitters_are_refused_by_both(value):
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match="splitter"):
            kind(splitter=value).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("settings", RANDOM_SETTINGS, ids=str)
@KINDS
def test_rules_hold_with_random_choices(kinds, settings):
    X, y = data_of(kinds)
    weight = random_weights(len(y), 0.25, 3.0)
    ours, _ = kinds
    impurity = ours(max_depth=1).fit(X, y, weight).tree_.impurity[0]
    rules = {
        "min_samples_leaf": 7,
        "min_weight_fraction_leaf": 0.02,
        "min_impurity_decrease": 0.0003 * impurity,
        "max_depth": 6,
    }
    n_leaves = n_leaves_pruned = 0
    for seed in range(10):
        model = ours(random_state=seed, **settings, **rules).fit(X, y, weight)
        tree = model.tree_
        inner = tree.children_left >= 0
        total = tree.weighted_n_node_samples[0]
        loss = tree.impurity * tree.weighted_n_node_samples / total
        below = loss[tree.children_left[inner]] + loss[tree.children_right[inner]]
        assert (loss[inner] - below >= 0.0003 * impurity * (1 - 1e-9)).all()
        assert tree.n_node_samples.min() >= 7
        assert tree.weighted_n_node_samples.min() >= 0.02 * total
        assert model.get_depth() <= 6
        pruned = clone(model).set_params(ccp_alpha=0.01 * impurity).fit(X, y, weight)
        n_leaves += model.get_n_leaves()
        n_leaves_pruned += pruned.get_n_leaves()
    assert 10 < n_leaves_pruned < n_leaves


@pytest.mark.parametrize("kind", [ExtraTreeRegressor, ExtraTreeClassifier])
def test_a_random_tree_grown_to_the_end_knows_its_rows(kind):
    X, y = load("digits")
    model = kind(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
