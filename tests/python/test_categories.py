"""Categorical features: optimal subsets, tables of every library, missing and unseen labels."""

import copy
import json
import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import splitwood
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    export_text,
)
from trees import assert_same_tree, leaf_loss

CRITERIA = ["squared_error", "poisson", "gini", "entropy"]


def tree_of(criterion, categorical_smoothing=0.0, **settings):
    """A tree that looks for the lowest training loss."""
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    return kind(criterion=criterion, categorical_smoothing=categorical_smoothing, **settings)


# ---- the best of all subsets ---------------------------------------------------------------------


def loss_of(criterion, y, weight):
    """The loss by its definition; None where such a leaf is not allowed."""
    mean = np.average(y, weights=weight)
    if criterion == "squared_error":
        return weight @ (y - mean) ** 2
    if criterion == "poisson":
        positive = y > 0
        if not positive.any():
            return None
        return weight[positive] @ (y[positive] * np.log(y[positive] / mean))
    if criterion == "gini":
        return weight.sum() * 2 * mean * (1 - mean)
    return -weight.sum() * sum(p * np.log2(p) for p in (mean, 1 - mean) if p > 0)


def best_loss(criterion, labels, y, weight, min_rows=1, min_weight=0.0):
    """The lowest loss of all allowed splits of the labels into two sets; None counts as a label."""
    losses = [loss_of(criterion, y, weight)]
    groups = sorted(set(labels), key=str)
    for size in range(1, len(groups)):
        for chosen in combinations(groups, size):
            left = np.array([label in chosen for label in labels])
            if min(left.sum(), (~left).sum()) < min_rows:
                continue
            if min(weight[left].sum(), weight[~left].sum()) < min_weight:
                continue
            sides = [loss_of(criterion, y[side], weight[side]) for side in (left, ~left)]
            if None not in sides:
                losses.append(sum(sides))
    return min(losses)


@st.composite
def labelled_rows(draw):
    n_rows = draw(st.integers(2, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    choices = ["a", "b", "c", "d", "e", "f", None][: draw(st.integers(2, 7))]
    if draw(st.booleans()):
        choices[-1] = None
    labels = rng.choice(np.array(choices, object), n_rows)
    y = rng.integers(0, draw(st.sampled_from([2, 6])), n_rows).astype(float)
    y[0], y[1] = 0.0, 1.0
    weight = rng.integers(1, 5, n_rows).astype(float)
    return labels, y, weight


@pytest.mark.parametrize("criterion", CRITERIA)
@given(rows=labelled_rows())
def test_the_first_split_is_the_best_of_all_sets(criterion, rows):
    labels, y, weight = rows
    y = np.minimum(y, 1.0) if criterion in ("gini", "entropy") else y
    model = tree_of(criterion, max_depth=1, categorical_features=[0])
    model.fit(labels[:, None], y, weight)
    expected = best_loss(criterion, labels, y, weight)
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected, abs=1e-9)
    assert model.tree_.impurity[0] * weight.sum() == pytest.approx(
        loss_of(criterion, y, weight), abs=1e-9
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@given(rows=labelled_rows(), min_rows=st.integers(1, 6), share=st.sampled_from([0.0, 0.2, 0.4]))
def test_where_a_rule_forbids_the_best_set_the_best_allowed_one_is_found(
    criterion, rows, min_rows, share
):
    labels, y, weight = rows
    y = np.minimum(y, 1.0) if criterion in ("gini", "entropy") else y
    rules = {"min_samples_leaf": min_rows, "min_weight_fraction_leaf": share}
    model = tree_of(criterion, max_depth=1, categorical_features=[0], **rules)
    model.fit(labels[:, None], y, weight)
    expected = best_loss(criterion, labels, y, weight, min_rows, share * weight.sum())
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected, abs=1e-9)


def test_a_set_that_is_no_cut_of_the_order_of_means():
    # The lowest mean is that of c, which has no events and can't be alone.
    X = np.array([["c"], ["e"], ["d"]], dtype=object)
    model = DecisionTreeRegressor(criterion="poisson", categorical_features=[0], max_depth=1)
    model.fit(X, [0.0, 1.0, 1.0], [1.0, 2.0, 4.0])
    assert leaf_loss(model) * 7.0 == pytest.approx(2 * np.log(1.5))


def test_few_missing_rows_that_may_not_be_alone():
    # The best set is that of the missing rows, which are too few; every label has enough rows.
    labels = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 4 + [None] * 2, dtype=object)
    y = np.array([0.0] * 4 + [1.0] * 4 + [2.0] * 4 + [99.0] * 2)
    weight = np.array([9.0] * 4 + [1.0] * 4 + [9.0] * 4 + [1.0] * 2)
    expected = best_loss("squared_error", labels, y, weight, min_rows=4)
    model = tree_of("squared_error", max_depth=1, categorical_features=[0], min_samples_leaf=4)
    model.fit(labels[:, None], y, weight)
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected)


@given(seed=st.integers(0, 2**32), n_labels=st.integers(3, 5), n_missing=st.integers(1, 3))
def test_few_missing_rows_with_the_highest_targets(seed, n_labels, n_missing):
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(4 * n_labels) % n_labels, [None] * n_missing)
    y, weight = rng.normal(size=len(labels)), rng.integers(1, 9, len(labels)).astype(float)
    y[-n_missing:] += 5.0
    model = tree_of("squared_error", max_depth=1, categorical_features=[0], min_samples_leaf=4)
    model.fit(labels[:, None], y, weight)
    expected = best_loss("squared_error", labels, y, weight, min_rows=4)
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 2**32), n_labels=st.integers(3, 10), min_rows=st.integers(2, 12))
@settings(max_examples=20)
def test_all_sets_of_ten_labels_are_tried(seed, n_labels, min_rows):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, 20)]).astype(object)
    y, weight = rng.normal(size=len(labels)), rng.integers(1, 4, len(labels)).astype(float)
    model = tree_of(
        "squared_error", max_depth=1, categorical_features=[0], min_samples_leaf=min_rows
    )
    model.fit(labels[:, None], y, weight)
    expected = best_loss("squared_error", labels, y, weight, min_rows)
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(rows=labelled_rows())
def test_a_tree_grown_to_the_end_knows_the_mean_of_every_label(criterion, rows):
    labels, y, weight = rows
    y = np.minimum(y, 1.0) if criterion in ("gini", "entropy") else y
    if criterion == "poisson":
        y = y + 1.0
    X = labels[:, None]
    model = tree_of(criterion, categorical_features=[True]).fit(X, y, weight)
    is_classifier = criterion in ("gini", "entropy")
    found = model.predict_proba(X)[:, 1] if is_classifier else model.predict(X)
    means = {v: np.average(y[labels == v], weights=weight[labels == v]) for v in set(labels)}
    np.testing.assert_allclose(found, [means[label] for label in labels], rtol=1e-9, atol=1e-12)


@given(rows=labelled_rows(), seed=st.integers(0, 2**32))
def test_the_order_of_the_rows_does_not_matter(rows, seed):
    labels, y, _ = rows
    order = np.random.default_rng(seed).permutation(len(y))
    X = labels[:, None]
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    other = DecisionTreeRegressor(categorical_features=[0]).fit(X[order], y[order])
    np.testing.assert_array_equal(other.categories_[0], model.categories_[0])
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-12)


# ---- where the order of labels is a heuristic ----------------------------------------------------


def pinball(y, weight, level):
    """The least pinball loss; a quantile is one of the targets."""
    deviation = y - np.unique(y)[:, None]
    return (np.maximum(level * deviation, (level - 1) * deviation) @ weight).min()


def class_loss(shares, criterion):
    if criterion == "gini":
        return 1 - (shares**2).sum()
    return -sum(share * np.log2(share) for share in shares if share > 0)


def loss_by_definition(criterion, y, weight):
    """The mean loss of all outputs, summed over the rows."""
    if y.ndim == 2:
        return np.mean([loss_by_definition(criterion, column, weight) for column in y.T])
    if criterion in ("gini", "entropy"):
        total = weight.sum()
        return total * class_loss(np.bincount(y.astype(int), weight) / total, criterion)
    if criterion == "absolute_error":
        return 2 * pinball(y, weight, 0.5)
    if criterion == "quantile":
        return pinball(y, weight, 0.3)
    return loss_of(criterion, y, weight)


def best_of_all_sets(criterion, labels, y, weight, min_rows=1):
    groups = sorted(set(labels), key=str)
    losses = [loss_by_definition(criterion, y, weight)]
    for bits in range(1, 1 << (len(groups) - 1)):
        chosen = [group for place, group in enumerate(groups) if bits >> place & 1]
        left = np.array([label in chosen for label in labels])
        if min(left.sum(), (~left).sum()) >= min_rows:
            sides = (left, ~left)
            losses.append(
                sum(loss_by_definition(criterion, y[side], weight[side]) for side in sides)
            )
    return min(losses)


@st.composite
def rows_without_an_order(draw):
    criterion = draw(
        st.sampled_from(["gini", "entropy", "absolute_error", "quantile", "squared_error"])
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_labels = draw(st.integers(4, 30)), draw(st.integers(2, 6))
    labels = rng.choice(np.array([*"abcdefg"], object)[:n_labels], n_rows)
    if draw(st.booleans()):
        labels[labels == "a"] = None
    many = criterion == "squared_error" or draw(st.booleans())
    if criterion in ("gini", "entropy"):
        y = rng.integers(0, 4, (n_rows, 2) if many else n_rows).astype(float)
        y[:4] = np.arange(4.0)[:, None] if many else np.arange(4.0)
    else:
        y = rng.integers(0, 7, (n_rows, 2) if many else n_rows).astype(float)
    weight = rng.integers(1, 5, n_rows).astype(float) if draw(st.booleans()) else np.ones(n_rows)
    return criterion, labels, y, weight


def settings_of(criterion):
    return {"quantile": 0.3} if criterion == "quantile" else {}


@given(rows=rows_without_an_order(), min_rows=st.integers(1, 4))
def test_all_sets_of_few_labels_are_tried_without_an_order(rows, min_rows):
    criterion, labels, y, weight = rows
    rules = {"max_depth": 1, "categorical_features": [0], "min_samples_leaf": min_rows}
    model = tree_of(criterion, **rules, **settings_of(criterion))
    model.fit(labels[:, None], y, weight)
    expected = best_of_all_sets(criterion, labels, y, weight, min_rows)
    assert leaf_loss(model) * weight.sum() == pytest.approx(expected, abs=1e-9)


# Of 20 nodes of eleven labels: in how many the best of all 1,023 sets must be found, and how much
# of its gain in every node.
HEURISTICS = {
    "gini": (lambda rng, mean: rng.multinomial(1, mean).argmax(), (18, 0.9)),
    "entropy": (lambda rng, mean: rng.multinomial(1, mean).argmax(), (15, 0.9)),
    "squared_error": (lambda rng, mean: rng.normal(4 * mean[:2], 1.0), (18, 0.85)),
    "absolute_error": (lambda rng, mean: 4 * mean[0] + rng.standard_t(2), (19, 0.9)),
    "quantile": (lambda rng, mean: 4 * mean[0] + rng.standard_t(2), (17, 0.95)),
}


@pytest.mark.parametrize("criterion", HEURISTICS)
def test_the_order_of_many_labels_is_close_to_the_best_set(criterion):
    draw, (least_found, least_share) = HEURISTICS[criterion]
    found, shares = 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        means = rng.dirichlet(np.ones(3), 11)
        labels = np.repeat(np.arange(11), 6)
        y = np.array([draw(rng, means[label]) for label in labels], dtype=float)
        weight = np.ones(len(y))
        model = tree_of(criterion, max_depth=1, categorical_features=[0], **settings_of(criterion))
        model.fit(labels[:, None], y)
        whole = loss_by_definition(criterion, y, weight)
        best = whole - best_of_all_sets(criterion, labels, y, weight)
        share = (whole - leaf_loss(model) * len(y)) / best
        assert share < 1 + 1e-9
        found += share > 1 - 1e-9
        shares.append(share)
    assert found >= least_found
    assert min(shares) >= least_share


# ---- the brake on labels that fit noise ----------------------------------------------------------


def noisy(n=600, n_labels=60, seed=0):
    """Labels without any effect, and a number with a weak one."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_labels, n), rng.normal(size=n)])
    return X, 0.3 * X[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_without_effect_lose_to_a_number(weighted):
    chosen = {0.0: [], 3.0: []}
    for seed in range(10):
        X, y = noisy(n_labels=200, seed=seed)
        weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(y)) if weighted else None
        for smoothing, features in chosen.items():
            model = tree_of("squared_error", smoothing, max_depth=1, categorical_features=[0])
            features.append(model.fit(X, y, weight).tree_.feature[0])
    assert chosen == {0.0: [0] * 10, 3.0: [1] * 10}


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gini"])
def test_labels_without_effect_cost_little_on_new_rows(criterion):
    scores = {0.0: [], 3.0: [], None: []}
    for seed in range(5):
        X, y = noisy(2_000, seed=seed)
        if criterion == "poisson":
            y = np.random.default_rng(seed).poisson(np.exp(X[:, 1]))
        if criterion == "gini":
            y = (y > 0.1).astype(int) + (y > 0.5)
        for smoothing, found in scores.items():
            features = None if smoothing is None else [0]
            model = tree_of(
                criterion, smoothing or 0.0, min_samples_leaf=20, categorical_features=features
            )
            cells = X[:, 1:] if features is None else X
            found.append(model.fit(cells[:1_000], y[:1_000]).score(cells[1_000:], y[1_000:]))
    without, off, on = (np.mean(scores[key]) for key in (None, 0.0, 3.0))
    assert on > off
    assert without - on < 0.5 * (without - off)


def test_labels_that_carry_the_signal_lose_little():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat(np.arange(150), 8), rng.normal(size=1_200)])
    y = rng.normal(size=150)[X[:, 0].astype(int)] * 5 + X[:, 1] + 0.3 * rng.normal(size=1_200)
    train = rng.random(1_200) < 0.75
    scores = [
        tree_of("squared_error", smoothing, categorical_features=[0])
        .fit(X[train], y[train])
        .score(X[~train], y[~train])
        for smoothing in (0.0, 3.0)
    ]
    assert scores[1] > max(scores[0] - 0.01, 0.95)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gini"])
def test_the_brake_has_no_unit(criterion):
    X, y = noisy(400, 30)
    y = np.arange(3)[np.digitize(y, [-0.5, 0.5])] if criterion == "gini" else np.abs(y)
    settings = {"max_depth": 4, "categorical_features": [0]}
    order = np.random.default_rng(1).permutation(len(y))
    tree = tree_of(criterion, 3.0, n_jobs=1, **settings).fit(X, y)
    assert_same_tree(tree_of(criterion, 3.0, n_jobs=2, **settings).fit(X, y), tree)
    twins = [
        tree_of(criterion, 3.0, **settings).fit(X, y, np.full(len(y), 0.25)),
        tree_of(criterion, 3.0, **settings).fit(X[order], y[order]),
    ]
    if criterion != "gini":
        twins.append(tree_of(criterion, 3.0, **settings).fit(X, y * 2.0**-30))
    if criterion in ("squared_error", "absolute_error"):
        twins.append(tree_of(criterion, 3.0, **settings).fit(X, y + 1024.0))
    for twin in twins:
        np.testing.assert_array_equal(twin.tree_.feature, tree.tree_.feature)
        np.testing.assert_array_equal(twin.apply(X), tree.apply(X))


@pytest.mark.parametrize(
    "model", [DecisionTreeRegressor(), splitwood.RandomForestRegressor(n_estimators=3)]
)
@pytest.mark.parametrize("smoothing", [-1.0, -1e-300, np.nan, np.inf, "strong", None])
def test_a_smoothing_that_is_none_is_refused(model, smoothing):
    X, y = noisy(50, 5)
    model = clone(model).set_params(categorical_smoothing=smoothing, categorical_features=[0])
    with pytest.raises(ValueError, match=r"^categorical_smoothing: must be"):
        model.fit(X, y)


def test_forests_brake_too():
    X, y = noisy(400, 30)
    settings = {"n_estimators": 5, "categorical_features": [0], "random_state": 0}
    forests = [
        splitwood.RandomForestRegressor(categorical_smoothing=smoothing, **settings).fit(X, y)
        for smoothing in (0.0, 3.0)
    ]
    shares = [forest.feature_importances_[0] for forest in forests]
    assert shares[1] < 0.5 * shares[0]


# ---- beside numbers ------------------------------------------------------------------------------


def mixed(n=500, n_labels=8):
    """A feature of labels 0, 1, … whose effect does not depend on their order, and two numbers."""
    rng = np.random.default_rng(0)
    effects = rng.normal(size=n_labels) * 3.0
    codes = rng.integers(0, n_labels, n)
    codes[:n_labels] = np.arange(n_labels)
    numbers = rng.normal(size=(n, 2))
    y = effects[codes] + numbers[:, 0] + 0.1 * rng.normal(size=n)
    return np.column_stack([codes, numbers]), y


def test_two_categories_are_a_number():
    X, y = mixed(n_labels=2)
    number = DecisionTreeRegressor(max_depth=5).fit(X, y)
    model = DecisionTreeRegressor(max_depth=5, categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(model.tree_.feature, number.tree_.feature)
    np.testing.assert_allclose(leaf_loss(model), leaf_loss(number), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), number.predict(X), rtol=1e-12)


def test_the_first_split_is_that_of_the_categories_in_the_order_of_their_means():
    X, y = mixed()
    X = X[:, :1]
    means = np.array([y[X[:, 0] == code].mean() for code in range(8)])
    by_mean = means[X[:, 0].astype(int)][:, None]
    expected = DecisionTreeRegressor(max_depth=1).fit(by_mean, y)
    model = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(X, y)
    assert leaf_loss(model) == pytest.approx(leaf_loss(expected), rel=1e-12)
    np.testing.assert_allclose(model.predict(X), expected.predict(by_mean), rtol=1e-12)
    assert (
        model.tree_.categories_left(0)
        == np.flatnonzero(means <= expected.tree_.threshold[0]).tolist()
    )


def test_no_split_of_one_hot_columns_or_of_codes_is_better():
    X, y = mixed()
    one_hot = np.column_stack([X[:, :1] == np.arange(8), X[:, 1:]]).astype(float)
    losses = [
        leaf_loss(DecisionTreeRegressor(max_depth=1, categorical_features=features).fit(cells, y))
        for cells, features in ((X, [0]), (X, None), (one_hot, None))
    ]
    assert losses[0] < min(losses[1:])
    # A few splits do what takes many splits of one-hot columns.
    few = DecisionTreeRegressor(max_leaf_nodes=8, categorical_features=[0]).fit(X, y)
    many = DecisionTreeRegressor(max_leaf_nodes=8).fit(one_hot, y)
    assert few.score(X, y) > many.score(one_hot, y)


def test_features_that_are_numbers_split_as_before():
    X, y = mixed()
    y = X[:, 1] + 0.001 * y
    model = DecisionTreeRegressor(max_depth=3, categorical_features=[0]).fit(X, y)
    expected = DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert set(model.tree_.feature) == {1, -2}
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)


@pytest.mark.parametrize("n_labels", [256, 300, 5000])
def test_many_categories(n_labels):
    rng = np.random.default_rng(0)
    effects = rng.permutation(n_labels).astype(float)
    labels = np.repeat([f"label {i}" for i in range(n_labels)], 2).astype(object)
    X, y = labels[:, None], np.repeat(effects, 2)
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    assert model.get_n_leaves() == len(model.categories_[0]) == n_labels
    np.testing.assert_array_equal(model.predict(X), y)
    stump = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(stump.apply(X) == 1, y < n_labels / 2)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_the_same_model_on_any_number_of_threads(n_jobs):
    X, y = mixed(20_000, 40)
    settings = {"categorical_features": [0], "min_samples_leaf": 3}
    expected = DecisionTreeRegressor(n_jobs=1, **settings).fit(X, y)
    model = DecisionTreeRegressor(n_jobs=n_jobs, **settings).fit(np.asfortranarray(X), y)
    assert pickle.dumps(model.tree_) == pickle.dumps(expected.tree_)
    counts = np.bincount(model.apply(X), minlength=model.tree_.node_count)
    leaves = model.tree_.children_left < 0
    np.testing.assert_array_equal(counts[leaves], model.tree_.n_node_samples[leaves])


# ---- which features ------------------------------------------------------------------------------

CITIES = ["Rome", "Oslo", "Rome", "Lima", "Oslo", None, "Lima", "Rome"]
SIZES = [1.0, 2.0, np.nan, 4.0, 5.0, 6.0, 7.0, 8.0]
RANKS = [3, 1, 3, 2, 1, 2, 3, 1]
FLAGS = [True, False, True, True, False, None, True, False]
Y = np.array([5.0, 1.0, 5.5, 9.0, 1.5, 3.0, 9.5, 6.0])
NAMES = ["city", "size", "rank", "flag"]


def pandas_frame(dtype="category"):
    city = pd.Series(np.array(CITIES, object)).astype(dtype)
    flag = pd.array(FLAGS, "boolean")
    return pd.DataFrame({"city": city, "size": SIZES, "rank": RANKS, "flag": flag})


def polars_frame(dtype=None):
    city = pl.Series(CITIES, dtype=dtype or pl.Categorical)
    return pl.DataFrame({"city": city, "size": SIZES, "rank": RANKS, "flag": FLAGS})


def arrow_table(encode=True):
    city = pa.array(CITIES).dictionary_encode() if encode else pa.array(CITIES)
    return pa.table({"city": city, "size": SIZES, "rank": RANKS, "flag": FLAGS})


def object_array():
    columns = [CITIES, SIZES, RANKS, [np.nan if f is None else float(f) for f in FLAGS]]
    return np.array(columns, dtype=object).T


# Tables whose dtype marks cities as categories, and tables whose dtype does not.
TELLING = {
    "pandas": pandas_frame(),
    "pandas ordered": pandas_frame(
        pd.CategoricalDtype(["Rome", "Oslo", "Lima", "Bonn"], ordered=True)
    ),
    "pandas arrow": pandas_frame(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "polars": polars_frame(),
    "polars enum": polars_frame(pl.Enum(["Rome", "Bonn", "Oslo", "Lima"])),
    "polars chunks": pl.concat([polars_frame()[:3], polars_frame()[3:]], rechunk=False),
    "pyarrow": arrow_table(),
    "pyarrow chunks": pa.concat_tables(
        [
            arrow_table(False)
            .slice(0, 3)
            .set_column(0, "city", pa.array(CITIES[:3]).dictionary_encode()),
            arrow_table(False)
            .slice(3)
            .set_column(0, "city", pa.array(CITIES[3:]).dictionary_encode()),
        ]
    ),
}
SILENT = {
    "pandas objects": pandas_frame(object),
    "pandas string": pandas_frame("string"),
    "pandas arrow strings": pandas_frame(pd.ArrowDtype(pa.string())),
    "polars strings": polars_frame(pl.String),
    "pyarrow strings": arrow_table(False),
}
if int(pd.__version__.split(".")[0]) >= 3:
    # Before, "str" was no dtype: it made the string "None" of a missing value.
    SILENT["pandas str"] = pandas_frame("str")
TABLES = TELLING | SILENT


def fitted(X=None, **settings):
    settings.setdefault("categorical_features", ["city"])
    return DecisionTreeRegressor(**settings).fit(TABLES["pandas"] if X is None else X, Y)


@pytest.mark.parametrize("name", TABLES)
def test_the_same_model_from_every_table(name):
    model, expected = fitted(TABLES[name]), fitted()
    assert_same_tree(model, expected)
    assert model.categories_[0].tolist() == ["Lima", "Oslo", "Rome"]
    assert model.categories_[1:] == [None] * 3
    assert model.is_categorical_.tolist() == [True, False, False, False]
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    np.testing.assert_array_equal(model.predict(TABLES[name]), Y)


@pytest.mark.parametrize("name", TABLES)
def test_any_table_predicts_with_a_model_of_any_other(name):
    for other in ("pandas", "polars strings", "pyarrow"):
        model = fitted(TABLES[other])
        np.testing.assert_array_equal(model.predict(TABLES[name]), Y)
        np.testing.assert_array_equal(model.apply(TABLES[name]), model.apply(TABLES[other]))
        assert (model.decision_path(TABLES[name]) != model.decision_path(TABLES[other])).nnz == 0


@pytest.mark.parametrize("name", TELLING)
def test_from_dtype_takes_what_the_table_calls_categories(name):
    model = fitted(TELLING[name], categorical_features="from_dtype")
    assert_same_tree(model, fitted())
    assert model.is_categorical_.tolist() == [True, False, False, False]


@pytest.mark.parametrize("name", SILENT)
def test_from_dtype_takes_strings(name):
    model = fitted(SILENT[name], categorical_features="from_dtype")
    assert_same_tree(model, fitted())
    assert model.is_categorical_.tolist() == [True, False, False, False]


@pytest.mark.parametrize("name", SILENT)
def test_strings_are_refused_with_the_remedy(name):
    with pytest.raises(ValueError, match=r"^X: column 'city' holds strings.*\"from_dtype\""):
        DecisionTreeRegressor().fit(SILENT[name], Y)


def test_a_column_of_identifiers_is_warned_of_by_name():
    stamps = [f"2013-01-01 {i:05}" for i in range(150)]
    X = pd.DataFrame({"stamp": stamps, "side": ["a", "b", "c"] * 50})
    y = np.arange(150.0)
    with pytest.warns(UserWarning, match=r"in 'stamp' \(150 labels in 150 rows\)") as caught:
        DecisionTreeRegressor(categorical_features="from_dtype").fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DecisionTreeRegressor(categorical_features=["side"]).fit(X[["side"]], y)
        # A few rows may well have a label each.
        DecisionTreeRegressor(categorical_features="from_dtype").fit(X[:50], y[:50])


@pytest.mark.parametrize("X", [np.eye(4), np.eye(4, dtype=np.float32), pd.DataFrame(np.eye(4))])
@pytest.mark.parametrize("features", ["from_dtype", [], [False] * 4, np.array([], int)], ids=repr)
def test_no_categories_at_all(features, X):
    y = np.arange(4.0)
    model = DecisionTreeRegressor(categorical_features=features).fit(X, y)
    assert model.is_categorical_ is None
    assert model.categories_ is None
    assert_same_tree(model, DecisionTreeRegressor().fit(X, y))
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    "features",
    [
        ["city", "rank"],
        ("rank", "city"),
        np.array(["city", "rank"]),
        np.array(["city", "rank"], object),
        pd.Index(["city", "rank"]),
        [0, 2],
        np.array([2, 0], np.uint8),
        [True, False, True, False],
        np.array([1, 0, 1, 0], bool),
        np.array([True, False, True, False], object),
        pd.Series([0, 2]),
    ],
    ids=repr,
)
def test_masks_places_and_names_mean_the_same(features):
    model = fitted(categorical_features=features)
    assert model.is_categorical_.tolist() == [True, False, True, False]
    assert [None if c is None else c.tolist() for c in model.categories_] == [
        ["Lima", "Oslo", "Rome"],
        None,
        [1, 2, 3],
        None,
    ]
    assert model.categories_[2].dtype.kind == "i"
    np.testing.assert_array_equal(model.predict(TABLES["pandas"]), Y)


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ("city", 'must be "from_dtype"'),
        (["town"], "X has no feature 'town'"),
        (["city", "town"], "X has no feature 'town'"),
        ([4], "indices must be between 0 and 3, got 4"),
        ([0, -1], "indices must be between 0 and 3, got -1"),
        ([True, False], "a mask of 2 entries, but X has 4 features"),
        ([True] * 5, "a mask of 5 entries, but X has 4 features"),
        ([0.5], "must be a mask, indices or names"),
        ([1.0], "must be a mask, indices or names"),
        ([None], "must be a mask, indices or names"),
        ([[0]], "must have one dimension"),
        (3, "must have one dimension"),
        ({"city"}, "must have one dimension"),
    ],
)
def test_features_that_are_none_are_refused(features, problem):
    with pytest.raises(ValueError, match=rf"^categorical_features: {problem}"):
        fitted(categorical_features=features)


def test_an_array_has_no_names():
    with pytest.raises(ValueError, match=r"^categorical_features: X has no names of features"):
        DecisionTreeRegressor(categorical_features=["city"]).fit(np.eye(3), [0, 1, 2])


# ---- labels --------------------------------------------------------------------------------------


def test_arrays_of_objects_hold_labels_and_numbers():
    X = object_array()
    expected = fitted()
    for rows in (X, X.tolist()):
        model = DecisionTreeRegressor(categorical_features=[0]).fit(rows, Y)
        assert_same_tree(model, expected)
        np.testing.assert_array_equal(model.predict(rows), Y)
    with pytest.raises(ValueError, match=r"^X: column 0 holds strings .* categorical_features"):
        DecisionTreeRegressor(categorical_features=[2]).fit(X, Y)


def test_arrays_of_strings():
    X = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]])
    model = DecisionTreeRegressor(categorical_features=[0, 1]).fit(X, [0.0, 1.0, 2.0, 5.0])
    np.testing.assert_array_equal(model.predict(X), [0.0, 1.0, 2.0, 5.0])
    assert [labels.tolist() for labels in model.categories_] == [["a", "b"], ["x", "y"]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.float16, ">f8"])
def test_numbers_are_labels(dtype):
    X, y = mixed()
    codes = np.column_stack([X[:, 0], np.arange(len(X)) % 3]).astype(dtype)
    model = DecisionTreeRegressor(categorical_features=[0], max_depth=3).fit(codes, y)
    expected = DecisionTreeRegressor(categorical_features=[0], max_depth=3).fit(
        codes.astype(float), y
    )
    assert_same_tree(model, expected)
    np.testing.assert_array_equal(model.predict(codes), expected.predict(codes.astype(float)))
    np.testing.assert_array_equal(model.predict(codes[:1]), model.predict(codes)[:1])


def test_any_number_is_a_label():
    labels = np.array([0.5, -3.0, np.inf, 1e300, 0.0, -np.inf, np.nan])
    X, y = np.tile(labels, 2)[:, None], np.tile([1.0, 5.0, 2.0, 9.0, 4.0, 7.0, 3.0], 2)
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.categories_[0].tolist() == [-np.inf, -3.0, 0.0, 0.5, 1e300, np.inf]
    # -0.0 is 0.0.
    np.testing.assert_array_equal(model.predict([[-0.0]]), [4.0])


def test_labels_that_float64_cannot_tell_apart():
    X = pd.DataFrame({"id": [2**60, 2**60 + 1, 2**60, 2**60 + 1]})
    model = DecisionTreeRegressor(categorical_features=["id"]).fit(X, [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(model.predict(X), [0.0, 1.0, 0.0, 1.0])
    array = DecisionTreeRegressor(categorical_features=[0]).fit(X.to_numpy(), [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(array.predict(X.to_numpy()), [0.0, 1.0, 0.0, 1.0])


UNSEEN = {
    "pandas": pd.DataFrame({"city": ["Bonn", None], "size": 1.0, "rank": 1, "flag": True}),
    "polars": pl.DataFrame({"city": ["Bonn", None], "size": 1.0, "rank": 1, "flag": True}),
    "pyarrow": pa.table(
        {"city": ["Bonn", None], "size": [1.0] * 2, "rank": [1] * 2, "flag": [True] * 2}
    ),
    "numbers": pd.DataFrame({"city": [17.5, np.nan], "size": 1.0, "rank": 1, "flag": True}),
}


@pytest.mark.parametrize("table", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize("weight", [None, [1, 1, 1, 9, 1, 0, 9, 1]], ids=["missing seen", "unseen"])
def test_unseen_labels_go_where_missing_ones_go(table, weight):
    model = DecisionTreeRegressor(categorical_features=["city"]).fit(TABLES["pandas"], Y, weight)
    unseen, missing = model.predict(table)
    assert unseen == missing


def test_missing_labels_that_a_node_never_saw_follow_the_weight():
    X, y = np.array([["a"], ["b"], ["c"]], object), [0.0, 1.0, 9.0]
    model = DecisionTreeRegressor(categorical_features=[0], max_depth=1).fit(X, y, [1, 1, 5])
    np.testing.assert_array_equal(model.predict([["other"], [None]]), [9.0, 9.0])
    model.fit(X, y, [3, 3, 5])
    np.testing.assert_array_equal(model.predict([["other"], [None]]), [0.5, 0.5])


def test_labels_of_rows_without_weight_are_unseen():
    X = np.array([["a"], ["b"], ["c"], ["c"]], object)
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, [0, 1, 5, 7], [2, 1, 0, 0])
    np.testing.assert_array_equal(model.predict([["c"]]), model.predict([[None]]))


def test_a_column_without_any_label():
    X = np.array([[None, 1.0], [np.nan, 2.0], [None, 3.0]], object)
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, [1.0, 2.0, 3.0])
    assert len(model.categories_[0]) == 0
    np.testing.assert_array_equal(model.predict([["a", 1.0], [None, 3.0]]), [1.0, 3.0])


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, pd.NaT], ids=repr)
def test_every_kind_of_missing_label(missing):
    X = np.array([["a"], ["b"], [missing], [missing]], object)
    for rows in (X, pd.DataFrame(X)):
        model = DecisionTreeRegressor(categorical_features=[0]).fit(rows, [1.0, 2.0, 5.0, 7.0])
        assert model.categories_[0].tolist() == ["a", "b"]
        np.testing.assert_array_equal(model.predict(rows), [1.0, 2.0, 6.0, 6.0])


def test_labels_of_any_type():
    labels = ["a", 1, 2.5, True, ("t", 1), b"a", pd.Timestamp("2024-01-01"), "1", 0, None]
    X = np.empty((len(labels), 1), dtype=object)
    X[:, 0] = labels
    # True is 1.
    y = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 8.0, 7.0]
    for rows in (X, X[::-1]):
        targets = y if rows is X else y[::-1]
        model = DecisionTreeRegressor(categorical_features=[0]).fit(rows, targets)
        np.testing.assert_array_equal(model.predict(X), y)
        assert len(model.categories_[0]) == 8
    first = DecisionTreeRegressor(categorical_features=[0]).fit(X, y).categories_[0]
    assert first.tolist() == model.categories_[0].tolist()


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [[1], [2]]}),
        pl.DataFrame({"a": [[1], [2]]}),
        pl.DataFrame({"a": [{"b": 1}, {"b": 2}]}),
        pl.DataFrame({"a": pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1))}),
        pl.DataFrame({"a": pl.Series([object(), object()], dtype=pl.Object)}),
        pa.table({"a": [[1], [2]]}),
        pa.table({"a": [{"b": 1}, {"b": 2}]}),
        np.array([[{"a": 1}], [{"b": 2}]], object),
    ],
    ids=[
        "pandas",
        "polars",
        "polars struct",
        "polars array",
        "polars object",
        "pyarrow",
        "pyarrow struct",
        "numpy",
    ],
)
def test_what_cannot_be_a_label_is_refused(X):
    with pytest.raises(ValueError, match=r"^X: column ('a'|0) holds values that can't be labels"):
        DecisionTreeRegressor(categorical_features=[0]).fit(X, [0.0, 1.0])


@st.composite
def columns_of_labels(draw):
    kind = draw(st.sampled_from(["text", "integers", "floats", "booleans"]))
    strategies = {
        "text": st.text(max_size=3),
        "integers": st.integers(-(2**62), 2**62),
        "floats": st.floats(allow_nan=False),
        "booleans": st.booleans(),
    }
    return draw(st.lists(st.none() | strategies[kind], min_size=1, max_size=12))


def polars_words(column, dtype):
    """Make a column of strings or categories; polars has no other categories."""
    is_text = any(isinstance(label, str) for label in column)
    return pl.DataFrame({"a": pl.Series(column, dtype=dtype(column) if is_text else None)})


MAKERS = {
    "pandas": lambda column: pd.DataFrame({"a": pd.Series(column, dtype=object)}),
    "pandas categories": lambda column: pd.DataFrame({"a": pd.Categorical(column)}),
    "polars": lambda column: pl.DataFrame({"a": column}),
    "polars categories": lambda column: polars_words(column, lambda _: pl.Categorical),
    "polars enum": lambda column: polars_words(
        column, lambda column: pl.Enum(["unused", *{c for c in column if c is not None}][::-1])
    ),
    "pyarrow": lambda column: pa.table({"a": column}),
    "pyarrow dictionary": lambda column: pa.table({"a": pa.array(column).dictionary_encode()}),
    "objects": lambda column: np.array(column, dtype=object)[:, None],
}


@given(column=columns_of_labels(), library=st.sampled_from(sorted(MAKERS)))
def test_codes_are_those_of_the_labels_for_every_library(column, library):
    assume(library != "pyarrow dictionary" or any(label is not None for label in column))
    X, y = MAKERS[library](column), np.arange(len(column), dtype=float)
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    expected = sorted({label for label in column if label is not None})
    assert model.categories_[0].tolist() == expected
    codes = [np.nan if label is None else expected.index(label) for label in column]
    np.testing.assert_array_equal(model._rows(X)[:, 0], codes)
    means = [y[[other == label for other in column]].mean() for label in column]
    np.testing.assert_allclose(model.predict(X), means, rtol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_a_fit_and_a_prediction_read_the_rows_of_a_column_once(library, monkeypatch):
    counted = []

    def count(column):
        def factorize():
            counted.append(column.name)
            return column.factorize()

        return column._replace(factorize=factorize)

    reader = splitwood._inputs.read_columns
    monkeypatch.setattr(
        splitwood._inputs,
        "read_columns",
        lambda X: None if (columns := reader(X)) is None else [*map(count, columns)],
    )
    arrays = splitwood._inputs.array_columns
    monkeypatch.setattr(splitwood._inputs, "array_columns", lambda X: [*map(count, arrays(X))])
    X = MAKERS[library](["b", "a", None, "b"])
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, [1.0, 2.0, 3.0, 4.0])
    assert len(counted) == 1
    model.predict(X)
    assert len(counted) == 2


def test_codes_of_polars_with_gaps_are_found():
    # Categories of earlier columns take codes between those of this one.
    words = [f"word {i}" for i in range(5000)]
    held = pl.Series([words[0], *words, words[-1]], dtype=pl.Categorical)
    X = pl.DataFrame({"a": held.filter(held.is_in([words[0], words[-1]]))})
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, [1.0, 1.0, 2.0, 2.0])
    assert model.categories_[0].tolist() == [words[0], words[-1]]
    np.testing.assert_array_equal(model.predict(X), [1.0, 1.0, 2.0, 2.0])


def test_sets_of_many_labels_take_memory_in_proportion_to_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    n_labels, n = 5_000, 10_000
    labels = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
    y = rng.normal(size=n_labels)[labels] + 0.1 * rng.normal(size=n)
    X = labels[:, None].astype(float)
    X[::50] = np.nan
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    assert model.tree_.node_count > n_labels
    # As bitmaps, 79 words each: 3 MB or more.
    assert len(model.tree_._state()["categories"]["sets"]) < 25 * n_labels
    model.save(tmp_path / "model")
    others = [
        pickle.loads(pickle.dumps(model)),
        splitwood.load(tmp_path / "model"),
        splitwood.load(tmp_path / "model", as_estimator=False),
        splitwood.from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False))),
        model.prune(0.0),
    ]
    assert model.to_dict()["version"] == [1, 1]
    unseen = np.array([[np.nan], [7_000.0], [-1.0]])
    for other in others:
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.predict(unseen), model.predict(unseen))
    codes = np.arange(len(model.categories_[0]), dtype=float)[:, None]
    path = model.tree_.decision_path(codes).tocsc()
    for node in np.flatnonzero(model.tree_.children_left >= 0)[:50]:
        passes, left = (set(path[:, int(place)].indices) for place in (node, node + 1))
        assert left == set(model.tree_.categories_left(int(node))) & passes


# ---- refusals ------------------------------------------------------------------------------------

REFUSED = [
    (DecisionTreeRegressor(splitter="random"), Y, 'use splitter="best"'),
    (ExtraTreeRegressor(), Y, 'use splitter="best"'),
    (DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0]), Y, "no order to be monotonic in"),
]


@pytest.mark.parametrize(("model", "y", "problem"), REFUSED)
def test_what_categories_cannot_do_is_refused(model, y, problem):
    model = clone(model).set_params(categorical_features=["city"])
    with pytest.raises(ValueError, match=f"^categorical_features: .*{problem}"):
        model.fit(TABLES["pandas"], y)
    # The same settings are valid without categories.
    numbers = TABLES["pandas"].drop(columns="city").assign(zero=0.0)
    model.set_params(categorical_features=None).fit(numbers, y)


def test_sparse_rows_are_refused():
    X = scipy.sparse.csc_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"^categorical_features: .*sparse X.*toarray"):
        DecisionTreeRegressor(categorical_features=[0]).fit(X, [0, 1, 2])
    model = DecisionTreeRegressor(categorical_features=[0]).fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match=r"^categorical_features: .*sparse X.*toarray"):
        model.predict(X.tocsr())


def test_category_columns_are_refused_with_the_remedy():
    for table in TELLING.values():
        with pytest.raises(ValueError, match=r"column 'city'.*categorical_features=\"from_dtype\""):
            DecisionTreeRegressor().fit(table, Y)


def test_a_refused_fit_leaves_the_model_alone():
    model = fitted()
    before = pickle.dumps(model)
    model.set_params(splitter="random")
    with pytest.raises(ValueError, match="categorical_features"):
        model.fit(TABLES["polars"], Y)
    assert pickle.dumps(model.set_params(splitter="best")) == before


# ---- with other parameters and tools -------------------------------------------------------------


def shops(n=400):
    X, y = mixed(n, 6)
    names = np.array(["Bonn", "Lima", "Oslo", "Paris", "Quito", "Rome"])[X[:, 0].astype(int)]
    return pd.DataFrame({"city": pd.Categorical(names), "a": X[:, 1], "b": X[:, 2]}), y


def test_other_parameters_go_with_categories():
    X, y = shops()
    settings = {"categorical_features": "from_dtype", "min_samples_leaf": 5}
    whole = DecisionTreeRegressor(**settings).fit(X, y)
    few = DecisionTreeRegressor(max_leaf_nodes=7, **settings).fit(X, y)
    pruned = DecisionTreeRegressor(ccp_alpha=0.1, **settings).fit(X, y)
    drawn = DecisionTreeRegressor(max_features=1, random_state=0, **settings).fit(X, y)
    monotonic = DecisionTreeRegressor(monotonic_cst=[0, 1, 0], **settings).fit(X, y)
    medians = DecisionTreeRegressor(leaf_value="median", max_depth=3, **settings).fit(X, y)
    assert few.get_n_leaves() == 7
    assert 1 < pruned.get_n_leaves() < whole.get_n_leaves()
    assert set(drawn.tree_.feature) == {0, 1, 2, -2}
    up = X.assign(a=X["a"] + 1.0)
    assert (monotonic.predict(up) >= monotonic.predict(X)).all()
    leaves = medians.apply(X)
    for leaf in set(leaves):
        assert medians.predict(X)[leaves == leaf][0] == np.median(y[leaves == leaf])
    path = whole.cost_complexity_pruning_path(X, y)
    assert path.ccp_alphas[0] == 0.0
    assert whole.feature_importances_[0] > 0.5


def test_classes_with_categories():
    X, y = shops()
    labels = np.where(y > np.median(y), "yes", "no")
    for criterion in ("gini", "entropy", "log_loss"):
        tree = DecisionTreeClassifier(
            criterion=criterion, max_depth=4, class_weight="balanced", categorical_features=["city"]
        ).fit(X, labels)
        assert tree.score(X, labels) > 0.9
        assert tree.predict_proba(X[:1]).shape == (1, 2)
        assert np.isneginf(tree.predict_log_proba(X)).any()


def test_grid_search_cross_validation_and_pipelines():
    X, y = shops()
    search = GridSearchCV(
        DecisionTreeRegressor(min_samples_leaf=5),
        {"categorical_features": ["from_dtype", [0], ["city"]], "max_depth": [1, 6]},
    ).fit(X, y)
    assert search.best_params_["max_depth"] == 6
    assert search.best_score_ > 0.8
    by_dtype = DecisionTreeRegressor(min_samples_leaf=5, categorical_features="from_dtype")
    assert cross_val_score(by_dtype, pl.from_pandas(X), y).mean() > 0.8
    scaled = ColumnTransformer(
        [("city", "passthrough", ["city"]), ("rest", StandardScaler(), ["a", "b"])]
    )
    pipeline = make_pipeline(scaled, DecisionTreeRegressor(categorical_features=[0])).fit(X, y)
    assert pipeline.score(X, y) > 0.99
    scaled.set_output(transform="pandas")
    pipeline = make_pipeline(scaled, by_dtype).fit(X, y)
    assert pipeline.score(X, y) > 0.9


@pytest.mark.parametrize("duplicate", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_predict_the_same(duplicate):
    X, y = shops()
    model = DecisionTreeRegressor(categorical_features="from_dtype").fit(X, y)
    twin = duplicate(model)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    for found, expected in zip(twin.categories_, model.categories_, strict=True):
        np.testing.assert_array_equal(found, expected)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "categories_")
    assert_same_tree(fresh.fit(X, y), model)


# ---- in files ------------------------------------------------------------------------------------


def by_file(model, path, as_estimator):
    model.save(path / "tree.splitwood")
    return splitwood.load(path / "tree.splitwood", as_estimator=as_estimator)


def by_json(model, _, as_estimator):
    return splitwood.from_dict(json.loads(json.dumps(model.to_dict())), as_estimator=as_estimator)


STORED = [
    *TABLES.values(),
    pd.DataFrame({"a": [0.5, np.inf, -np.inf, 0.5, 3.0, np.nan, 7.0, 8.0]}),
    pd.DataFrame({"a": [True, False, None, True, False, None, True, True]}),
    pd.DataFrame({"a": np.array(["a", 1, 2.5, "1", None, 2**70, "b", "c"], object)}),
    pd.DataFrame({"a": [None] * 8}),
]


@pytest.mark.parametrize("as_estimator", [True, False])
@pytest.mark.parametrize("way", [by_file, by_json])
@pytest.mark.parametrize("X", STORED, ids=range(len(STORED)))
def test_labels_are_saved(X, way, as_estimator, tmp_path):
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, Y)
    twin = way(model, tmp_path, as_estimator)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.is_categorical_, model.is_categorical_)
    np.testing.assert_array_equal(twin.categories_[0], model.categories_[0], strict=True)
    for known, expected in zip(twin.categories_[0], model.categories_[0], strict=True):
        assert type(known) is type(expected)
    assert twin.categories_[1:] == model.categories_[1:]
    if as_estimator:
        assert twin.get_params() == model.get_params()
        assert_same_tree(clone(twin).fit(X, Y), model)


def test_a_model_reads_arrays_and_refuses_what_the_estimator_refuses(tmp_path):
    X, y = shops()
    rows = X.to_numpy()
    model = DecisionTreeRegressor(categorical_features=[0]).fit(rows, y)
    twin = by_file(model, tmp_path, False)
    for cells in (rows, rows.tolist(), rows[:1], X, pl.from_pandas(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(twin.predict(cells), model.predict(cells))
            np.testing.assert_array_equal(twin.apply(cells), model.apply(cells))
    for wrong in (rows[:, :2], rows[:0], rows[0], [["Rome", "x", 1.0]]):
        with pytest.raises(ValueError, match=r"^X: "):
            twin.predict(wrong)
    codes = DecisionTreeRegressor(categorical_features=[0]).fit(mixed()[0], mixed()[1])
    twin = by_file(codes, tmp_path, False)
    np.testing.assert_array_equal(twin.predict(mixed()[0]), codes.predict(mixed()[0]))


@pytest.mark.parametrize("label", [("t", 1), b"a", pd.Timestamp("2024-01-01")])
def test_labels_that_no_file_can_hold_are_refused(label, tmp_path):
    X = np.empty((2, 1), object)
    X[:, 0] = [label, "a"]
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"^categories_: a label such as"):
        model.save(tmp_path / "tree.splitwood")
    with pytest.raises(ValueError, match=r"^categories_: a label such as"):
        model.to_dict()


@pytest.mark.parametrize(
    "crafted",
    [
        [],
        [["Lima", "Oslo", "Rome"]],
        [["Lima", "Oslo"], None, None, None],
        [["Lima", "Oslo", "Oslo"], None, None, None],
        [["Lima", "Oslo", None], None, None, None],
        [["Lima", "Oslo", ["Rome"]], None, None, None],
        [["Lima", "Oslo", {"float": "nan"}], None, None, None],
        [None, None, None, None],
        [["Lima", "Oslo", "Rome"], ["x"], None, None],
        "labels",
        {"0": []},
    ],
    ids=repr,
)
def test_crafted_labels_are_refused(crafted):
    data = fitted().to_dict()
    for as_estimator in (True, False):
        with pytest.raises(ValueError, match=r"^model: "):
            splitwood.from_dict(data | {"categories": crafted}, as_estimator=as_estimator)


def test_without_labels_rows_hold_codes():
    X, y = mixed()
    model = DecisionTreeRegressor(categorical_features=[0]).fit(X, y)
    data = model.to_dict()
    del data["categories"]
    twin = splitwood.from_dict(data)
    assert twin.categories_ is None
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_fit_forgets_the_categories_of_the_last_one():
    X, y = shops()
    model = DecisionTreeRegressor(categorical_features=["city"]).fit(X, y)
    model.set_params(categorical_features=None).fit(X[["a", "b"]].to_numpy(), y)
    assert model.is_categorical_ is None
    np.testing.assert_allclose(model.predict(X[["a", "b"]].to_numpy()), y)


def test_names_and_numbers_of_features_are_checked_at_prediction():
    X, y = shops()
    model = DecisionTreeRegressor(categorical_features=["city"]).fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(X[["a", "city", "b"]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        model.predict(X[["city", "a"]])
    with pytest.raises(ValueError, match=r"^X: column 'a' holds strings"):
        model.predict(X.assign(a="x"))
    array = DecisionTreeRegressor(categorical_features=[0]).fit(X.to_numpy(), y)
    with pytest.raises(
        ValueError, match="X has 2 features, but DecisionTreeRegressor is expecting 3"
    ):
        array.predict(X.to_numpy()[:, :2])
    np.testing.assert_array_equal(array.predict(X.to_numpy()), model.predict(X))


def test_splits_are_written_in_labels():
    X, y = shops()
    model = DecisionTreeRegressor(max_depth=1, categorical_features="from_dtype").fit(X, y)
    left = [str(model.categories_[0][code]) for code in model.tree_.categories_left(0)]
    assert f"city in {{{', '.join(left)}}}" in export_text(model)
