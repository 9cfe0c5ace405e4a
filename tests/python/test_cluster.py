"""Fits on several workers in threads: the models of local fits, byte for byte, and lost workers."""

import pickle
from functools import partial

import numpy as np
import pytest

from seats import ThreadEngine
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, dask
from splitwood._cluster import WorkerLost, deal


def data(n_rows=900, n_columns=300):
    """Draw a table with ties and missing values; nodes of more than 256 rows are large."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, n_columns))
    X[:, 1] = np.floor(4 * X[:, 1])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) ** 2 + rng.random(n_rows)
    return X, y, rng.integers(0, 3, n_rows).astype(float)


def engine(tree, X, y, n_seats, weights=None, **options):
    """Prepare the fit of an estimator in threads."""
    tree.n_features_in_, tree.n_outputs_, tree.categories_ = X.shape[1], 1, None
    settings = tree._settings() | {"n_jobs": 1}
    if isinstance(tree, DecisionTreeRegressor):
        settings["quantile"] = tree.quantile
        encode = dask._encode_numbers
    else:
        encode = partial(dask._encode_classes, tree.class_weight)
    return ThreadEngine(X, encode, settings, n_seats, weights=weights, y=y, **options), settings


REGRESSORS = [
    {"criterion": "squared_error"},
    {"criterion": "absolute_error", "min_samples_leaf": 3},
    {"criterion": "quantile", "quantile": 0.9},
    {"criterion": "poisson", "max_leaf_nodes": 40},
    {"criterion": "squared_error", "ccp_alpha": 0.001, "min_impurity_decrease": 1e-4},
]


@pytest.mark.parametrize("n_seats", [1, 2, 3, 7])
@pytest.mark.parametrize("parameters", REGRESSORS, ids=lambda given: given["criterion"])
def test_the_tree_of_a_local_fit(parameters, n_seats):
    X, y, weights = data()
    given = weights if n_seats % 2 else None
    tree = DecisionTreeRegressor(**parameters).fit(X, y, given)
    seats, settings = engine(DecisionTreeRegressor(**parameters), X, y, n_seats, given, n_pieces=5)
    grown, table = seats.grow(settings)
    assert pickle.dumps(grown) == pickle.dumps(tree.tree_)
    assert (table.n_rows, table.dtype, table.classes) == (len(X), "float64", None)


@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]], ids=len)
@pytest.mark.parametrize("parameters", [{}, {"criterion": "entropy", "class_weight": "balanced"}])
def test_the_tree_of_a_local_classifier(labels, parameters):
    X, y, weights = data()
    y = np.array(labels)[np.digitize(y, np.quantile(y, [0.3, 0.6][: len(labels) - 1]))]
    tree = DecisionTreeClassifier(**parameters).fit(X.astype("f4"), y, weights)
    seats, settings = engine(
        DecisionTreeClassifier(**parameters), X.astype("f4"), y, 3, weights, n_pieces=2
    )
    grown, table = seats.grow(settings)
    assert pickle.dumps(grown) == pickle.dumps(tree.tree_)
    assert table.dtype == "float32"
    assert table.classes.tolist() == labels


def test_a_lost_worker_ends_the_fit_at_every_call():
    X, y, _ = data(400)
    whole, settings = engine(DecisionTreeRegressor(), X, y, 2)
    whole.grow(settings)
    assert whole.calls > 12
    for fault in range(1, whole.calls + 1):
        seats, settings = engine(DecisionTreeRegressor(), X, y, 2, fault=fault)
        with pytest.raises(WorkerLost, match="on purpose"):
            seats.grow(settings)


def test_features_are_dealt_out_in_turn():
    assert deal(5, 2) == [[0, 2, 4], [1, 3]]
    assert deal(2, 7) == [[0], [1]]


def test_rows_and_targets_must_match():
    X, y, _ = data(20, 3)
    with pytest.raises(ValueError, match="y: has 19 entries, but X has 20 rows"):
        engine(DecisionTreeRegressor(), X, y[1:], 2)
