"""Fits on several workers in threads: the models of local fits, byte for byte, and lost workers."""

import pickle
from functools import partial

import dask.array as da
import numpy as np
import pytest

from seats import ThreadEngine, TurnEngine
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor, dask
from splitwood._cluster import WorkerLost, deal
from splitwood._dask_data import checked_targets, reader_of
from splitwood._forest_cluster import WholeSeat, on_all


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
    {"criterion": "absolute_error", "max_depth": 5, "min_samples_split": 0.1},
    {"criterion": "squared_error", "min_weight_fraction_leaf": 0.01, "max_leaf_nodes": 25},
    {"criterion": "absolute_error", "min_samples_leaf": 3},
    {"criterion": "quantile", "quantile": 0.9},
    {"criterion": "poisson", "max_leaf_nodes": 40},
    {"criterion": "squared_error", "ccp_alpha": 0.001, "min_impurity_decrease": 1e-4},
]


@pytest.mark.parametrize("n_seats", [1, 2, 3, 7])
@pytest.mark.parametrize("parameters", REGRESSORS, ids=str)
def test_the_tree_of_a_local_fit(parameters, n_seats):
    X, y, weights = data()
    given = weights if n_seats % 2 else None
    tree = DecisionTreeRegressor(**parameters).fit(X, y, given)
    seats, settings = engine(DecisionTreeRegressor(**parameters), X, y, n_seats, given, n_pieces=5)
    grown, table = seats.grow(settings)
    assert pickle.dumps(grown) == pickle.dumps(tree.tree_)
    assert (table.n_rows, table.dtype, table.classes) == (len(X), "float64", None)
    # Nobody gets more than a bit per row and level.
    received = [n_bytes for level in seats.sides for n_bytes in level]
    assert max(received) <= 1.5 * len(X) / 8
    assert (max(received) > 0) == (n_seats > 1)


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


PARAMETERS = {"n_estimators": 23, "random_state": 5, "max_depth": 4, "oob_score": True}


def forest_on(n_seats, faults=()):
    """Grow a forest on seats of which some are lost; count the calls."""
    X, y, weights = data(200, 6)
    model, _ = dask.DaskRandomForestRegressor(**PARAMETERS)._twin(da.from_array(X), y)
    pieces, targets = np.array_split(X, 3), np.array_split(y, 2)
    given = pieces, targets, [weights], checked_targets, 1
    seats = TurnEngine([WholeSeat(reader_of(model), *given) for _ in range(n_seats)], faults)
    held = on_all(seats, "sort", model._seat_settings(), True)
    model._x_dtype = held[0].dtype
    model._grow_on(seats, held[0], None, lambda line: None)
    return model, seats.calls


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_seats", [1, 2, 3, 7])
def test_the_forest_of_a_local_fit_whatever_seats_are_lost(n_seats):
    X, y, weights = data(200, 6)
    local = RandomForestRegressor(**PARAMETERS).fit(X, y, weights)
    whole, n_calls = forest_on(n_seats)
    models = [whole]
    if n_seats > 1:
        models += [forest_on(n_seats, [fault])[0] for fault in range(1, n_calls + 1)]
        # All but one of them.
        models.append(forest_on(n_seats, range(n_seats + 2, 2 * n_seats + 1))[0])
    for model in models:
        assert pickle.dumps(model.forest_) == pickle.dumps(local.forest_)
        assert model.oob_score_ == local.oob_score_
    with pytest.raises(WorkerLost, match="all workers were lost; the last: on purpose"):
        forest_on(n_seats, range(100))
