"""Trees and rows for the tests of conversions to other libraries.

Cells are missing, equal to thresholds, next to them, far from 0 or infinite. Trees are deep,
shallow or a single leaf.
"""

import numpy as np

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, _core


def training_rows(seed, *, missing=True, dtype=np.float64, n_rows=600):
    """Five features: smooth, of few values, far from 0, tiny, and mostly missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = rng.integers(0, 4, n_rows)
    X[:, 2] = 1000.0 + rng.integers(0, 60, n_rows)
    X[:, 3] *= 1e-9
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[rng.random(n_rows) < 0.6, 4] = np.nan
    return X.astype(dtype)


def regression_target(X, seed):
    rng = np.random.default_rng(seed + 1000)
    known = np.where(np.isnan(X), [0.7, 0.7, 0.7, 0.0, 0.0], X)
    signal = np.sin(2 * known[:, 0]) + 0.3 * known[:, 1] + 2 * (known[:, 2] % 7 > 3)
    return signal + 1e9 * known[:, 3] + np.isnan(X[:, 4]) + rng.normal(scale=0.3, size=len(X))


def fitted_regressor(seed=0, *, missing=True, dtype=np.float64, sample_weight=None, **settings):
    X = training_rows(seed, missing=missing, dtype=dtype)
    y = regression_target(X, seed)
    return DecisionTreeRegressor(**settings).fit(X, y, sample_weight)


def fitted_classifier(
    seed=0, *, missing=True, dtype=np.float64, labels=("a", "b", "c"), **settings
):
    X = training_rows(seed, missing=missing, dtype=dtype)
    y = regression_target(X, seed)
    edges = np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
    return DecisionTreeClassifier(**settings).fit(X, np.array(labels)[np.digitize(y, edges)])


def fitted_outputs(*, classes=False, **settings):
    """Two outputs: numbers, or labels of three and of two classes."""
    X = training_rows(0)
    y = regression_target(X, 0)
    if not classes:
        return DecisionTreeRegressor(**settings).fit(X, np.stack([y, np.round(y**2, 1)], axis=1))
    three = np.array(["low", "mid", "top"])[np.digitize(y, [0.5, 1.5])]
    two = np.array(["no", "yes"])[(X[:, 1] > 1).astype(int)]
    return DecisionTreeClassifier(**settings).fit(X, np.stack([three, two], axis=1))


def fitted_categories():
    """A tree that splits on categories: the first feature has codes 0 to 19, every third high."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 20, 500).astype(np.float64), rng.random(500)], axis=1)
    y = 5.0 * (X[:, 0] % 3 == 0) + X[:, 1]
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    own = {"quantile": 0.5, "leaf_value": None, "categories": [20, 0]}
    settings = model._settings() | own
    model.tree_ = _core.fit_regressor(X, y, None, settings)
    return model


def hostile_rows(estimator, seed=0, *, missing=True, infinite=False, dtype=np.float64, n_rows=4000):
    """Random rows with thresholds, their neighbours in `dtype`, and missing cells."""
    rng = np.random.default_rng(seed)
    X = training_rows(seed + 1, missing=False, n_rows=n_rows).astype(dtype)
    tree = estimator.tree_
    for j in range(X.shape[1]):
        at = np.unique(tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)])
        if len(at) == 0:
            continue
        at = at.astype(dtype)
        near = np.concatenate(
            [at, np.nextafter(at, dtype(-np.inf)), np.nextafter(at, dtype(np.inf))]
        )
        chosen = rng.random(n_rows) < 0.5
        X[chosen, j] = rng.choice(near, chosen.sum())
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    if infinite:
        X[rng.random(X.shape) < 0.05] = np.inf
        X[rng.random(X.shape) < 0.05] = -np.inf
    return X


def chain(depth, n_features=1):
    """A tree of the given depth, in which the left child of each split is the next split.

    The splits take turns through the features: with several, no two in a row test the same one.
    """
    inner = np.arange(depth)
    n_nodes = 2 * depth + 1
    feature = np.full(n_nodes, -2)
    feature[:depth] = inner % n_features
    threshold = np.full(n_nodes, -2.0)
    threshold[:depth] = depth - inner - 0.5
    right = np.full(n_nodes, -1)
    right[:depth] = n_nodes - 1 - inner
    rows = np.ones(n_nodes, dtype=np.int64)
    rows[:depth] = depth + 1 - inner
    values = np.arange(n_nodes, dtype=np.float64)
    missing_left = np.zeros(n_nodes, dtype=np.uint8)
    model = DecisionTreeRegressor().fit(np.zeros((1, n_features)), [0.0])
    model.tree_ = model.tree_._from_state(
        {
            "n_features": n_features,
            "n_outputs": 1,
            "n_values": 1,
            "feature": feature,
            "threshold": threshold,
            "missing_go_to_left": missing_left,
            "children_right": right,
            "value": values,
            "impurity": np.zeros(n_nodes),
            "n_node_samples": rows,
            "weighted_n_node_samples": None,
            "categories": None,
        }
    )
    return model


REGRESSORS = {
    "whole": {},
    "shallow": {"max_depth": 3},
    "leaf": {"min_samples_leaf": 600},
    "median": {"criterion": "absolute_error", "max_depth": 6},
    "quantile": {"criterion": "quantile", "quantile": 0.9, "max_depth": 6},
    "pruned": {"ccp_alpha": 0.01},
}
CLASSIFIERS = {
    "whole": {},
    "two": {"labels": (False, True), "max_depth": 5},
    "strings": {"labels": ("x", "yy", "zzz", "ß"), "criterion": "entropy", "min_samples_leaf": 5},
    "numbers": {"labels": (-1, 0, 30), "max_depth": 4},
    "one": {"labels": ("only",)},
    "many": {"labels": tuple(range(12)), "max_depth": 8},
}
