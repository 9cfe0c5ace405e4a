"""shap's values for splits on categories, against Shapley values from their definition.

`known_value` is what a tree predicts on average when only some features of a row are known. It
walks the tree itself, whose splits are on sets; what `to_shap` hands over has thresholds only.
"""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    _shap_categories,
)

shap = pytest.importorskip("shap", reason="there is nothing to explain trees with")

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def goes_left(tree, node, cell):
    """Whether a cell goes left; a category is its code."""
    if np.isnan(cell):
        return bool(tree.missing_go_to_left[node])
    categories = tree.categories_left(node)
    return cell <= tree.threshold[node] if categories is None else cell in categories


def known_value(tree, row, known, node=0):
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return tree.value[node].ravel()
    if tree.feature[node] in known:
        child = left if goes_left(tree, node, row[tree.feature[node]]) else right
        return known_value(tree, row, known, child)
    weight = tree.weighted_n_node_samples
    return sum(
        weight[child] / weight[node] * known_value(tree, row, known, child)
        for child in (left, right)
    )


def shapley(value_of, n_features):
    """The values of the players of a game, by their definition."""
    orders = factorial(n_features)
    values = []
    for player in range(n_features):
        others = [other for other in range(n_features) if other != player]
        values.append(
            sum(
                factorial(size)
                * factorial(n_features - size - 1)
                / orders
                * (value_of({*known, player}) - value_of({*known}))
                for size in range(n_features)
                for known in combinations(others, size)
            )
        )
    return np.array(values)


def rows_of(seed, counts, n_rows):
    """Categorical features with these numbers of labels, then a number; a few cells are missing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([*(rng.integers(0, n, n_rows) for n in counts), rng.random(n_rows)])
    X[rng.random(X.shape) < 0.05] = np.nan
    effects = [rng.normal(size=n) for n in counts]
    y = np.sum([e[np.nan_to_num(X[:, j]).astype(int)] for j, e in enumerate(effects)], axis=0)
    return X, y * (X[:, -1] > 0.4) + np.nan_to_num(X[:, -1]), rng.integers(1, 4, n_rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("counts", [(5,), (7, 4), (12, 3, 5)], ids=len)
def test_values_are_those_of_the_definition(counts, seed):
    X, y, weight = rows_of(seed, counts, 300)
    model = DecisionTreeRegressor(max_depth=7, categorical_features=range(len(counts)))
    model.fit(X, y, weight)
    assert np.isnan(model.tree_.threshold).sum() > 1
    explainer = shap.TreeExplainer(model.to_shap())
    np.testing.assert_array_equal(explainer.model.predict(X), model.predict(X))
    rows = X[:12]
    # The codes: a label that is missing at the fit would have none.
    codes = rows.copy()
    for j in range(len(counts)):
        code = {label: code for code, label in enumerate(model.categories_[j].tolist())}
        codes[:, j] = [code.get(cell, np.nan) for cell in rows[:, j]]
    expected = [
        shapley(lambda known, row=row: known_value(model.tree_, row, known)[0], X.shape[1])
        for row in codes
    ]
    np.testing.assert_allclose(explainer.shap_values(rows), expected, **TOLERANCE)
    mean = np.average(model.predict(X), weights=weight)
    assert explainer.expected_value == pytest.approx(mean)


def test_values_against_a_background_are_those_of_the_definition():
    X, y, _ = rows_of(0, (9, 4), 300)
    model = DecisionTreeRegressor(max_depth=6, categorical_features=[0, 1]).fit(X, y)
    background = X[100:110]

    def value_of(row, known):
        mixed = background.copy()
        mixed[:, sorted(known)] = row[sorted(known)]
        return model.predict(mixed).mean()

    rows = X[:10]
    expected = [shapley(lambda known, row=row: value_of(row, known), 3) for row in rows]
    explainer = shap.TreeExplainer(model.to_shap(), background)
    # shap's own kernel for backgrounds has thresholds and values in float32.
    np.testing.assert_allclose(explainer.shap_values(rows), expected, rtol=1e-5, atol=1e-5)


@given(
    seed=st.integers(0, 10_000),
    counts=st.lists(st.integers(2, 20), min_size=1, max_size=3),
    scale=st.sampled_from([1.0, -3.0, 0.1, 1e300]),
    max_depth=st.integers(1, 6),
)
def test_values_add_up_whatever_the_labels_are(seed, counts, scale, max_depth):
    X, y, _ = rows_of(seed, counts, 120)
    X[:, 0] *= scale
    model = DecisionTreeRegressor(max_depth=max_depth, categorical_features=range(len(counts)))
    model.fit(X, y)
    explainer = shap.TreeExplainer(model.to_shap())
    np.testing.assert_array_equal(explainer.model.predict(X), model.predict(X))
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict(X), **TOLERANCE)


def test_words_are_explained_by_their_codes():
    rng = np.random.default_rng(0)
    words = np.array(["Bonn", "Lima", "Oslo", "Rome", "Seoul"], dtype=object)
    X = np.column_stack([words[rng.integers(0, 5, 200)], rng.random(200)])
    classes = np.where(rng.random(200) < 0.2, "c", np.where(X[:, 0] > "M", "a", "b"))
    model = DecisionTreeClassifier(max_depth=4, categorical_features=[0]).fit(X, classes)
    code = {label: code for code, label in enumerate(model.categories_[0])}
    rows = np.concatenate([X[:30], [["Paris", 0.5], [None, 0.5]]])
    cells = np.array([[code.get(word, np.nan), number] for word, number in rows], dtype=float)
    explainer = shap.TreeExplainer(model.to_shap())
    total = explainer(cells).values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict_proba(rows), **TOLERANCE)


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_values_of_forests_add_up(kind):
    X, y, _ = rows_of(3, (8, 3), 300)
    if kind is RandomForestClassifier:
        y = np.digitize(y, [-0.5, 0.5])
    forest = kind(10, max_depth=5, categorical_features=[0, 1], random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(forest.to_shap())
    total = explainer(X[:50]).values.sum(axis=1) + explainer.expected_value
    predicted = getattr(forest, "predict_proba", forest.predict)(X[:50])
    np.testing.assert_allclose(total, predicted, **TOLERANCE)


def test_too_many_thresholds_are_refused(monkeypatch):
    X, y, _ = rows_of(0, (9, 4), 300)
    model = DecisionTreeRegressor(max_depth=6, categorical_features=[0, 1]).fit(X, y)
    (described,) = model.to_shap()["trees"]
    monkeypatch.setattr(_shap_categories, "MOST_NODES", len(described["features"]))
    model.to_shap()
    monkeypatch.setattr(_shap_categories, "MOST_NODES", len(described["features"]) - 1)
    with pytest.raises(ValueError, match="to_shap: as thresholds, the splits on categories take"):
        model.to_shap()
