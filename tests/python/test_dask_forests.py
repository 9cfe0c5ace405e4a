"""Forests, categories and values of leaves on a Dask cluster: the plain estimators' models."""

import os
import pickle
import signal
import threading
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import splitwood
from splitwood import _dask_tasks, _dask_watch
from splitwood import dask as on_dask
from splitwood._cluster import WorkerLost
from test_dask import NOTHING, assert_nothing_is_left, left_behind, table

NAMES = [
    "RandomForestRegressor",
    "RandomForestClassifier",
    "ExtraTreesRegressor",
    "ExtraTreesClassifier",
]


# Users' rows are freed when the user drops them.
pytestmark = pytest.mark.usefixtures("no_collector")


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def chunked(*arrays):
    """Collections with different partitions."""
    sizes = [1_300, 1_700, 900]
    return [
        da.from_array(array, chunks=(size, *array.shape[1:]))
        for array, size in zip(arrays, sizes, strict=False)
    ]


def same_forest(model, local):
    return pickle.dumps(model.forest_) == pickle.dumps(local.forest_)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_local_forest(client, name, is_weighted):
    X, y, weights = table(4_000)
    if "Classifier" in name:
        y = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    dX, dy, dw = chunked(X, y, weights)
    parameters = {"n_estimators": 9, "random_state": 3, "bootstrap": True, "oob_score": True}
    parameters |= {"importance_type": "unbiased", "max_depth": 9}
    if "Classifier" in name:
        parameters["class_weight"] = "balanced_subsample" if is_weighted else "balanced"
    given = [weights] if is_weighted else []
    local = getattr(splitwood, name)(**parameters).fit(X, y, *given)
    model = getattr(on_dask, f"Dask{name}")(**parameters)
    model.fit(dX, dy, *([dw] if is_weighted else []))
    assert same_forest(model, local)
    assert vars(model.to_local()).keys() == vars(local).keys()
    assert model.oob_score_ == local.oob_score_
    np.testing.assert_array_equal(model.feature_importances_, local.feature_importances_)
    np.testing.assert_array_equal(model.estimators_samples_[8], local.estimators_samples_[8])
    np.testing.assert_array_equal(model.predict(dX).compute(), local.predict(X))
    np.testing.assert_array_equal(model.apply(dX).compute(), local.apply(X))
    assert model.score(dX, dy) == local.score(X, y)
    assert type(model.to_local()) is type(local)
    assert model.to_local().get_params() == local.get_params()
    if "Classifier" in name:
        np.testing.assert_array_equal(model.predict_proba(dX).compute(), local.predict_proba(X))
    else:
        medians = model.predict(dX, aggregate="median").compute()
        np.testing.assert_array_equal(medians, local.predict(X, aggregate="median"))
    again = pickle.loads(pickle.dumps(model))
    assert same_forest(again, local)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_other_criteria_and_all_rows(client, criterion):
    X, y, _ = table(2_000)
    parameters = {"criterion": criterion, "n_estimators": 5, "bootstrap": False, "max_features": 2}
    parameters |= {"random_state": 0, "monotonic_cst": None, "max_leaf_nodes": 40}
    dX, dy = chunked(X, y)
    model = on_dask.DaskRandomForestRegressor(**parameters).fit(dX, dy)
    assert same_forest(model, splitwood.RandomForestRegressor(**parameters).fit(X, y))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_warm_start_adds_the_trees_of_a_larger_forest(client):
    X, y, _ = table(2_000)
    dX, dy = chunked(X, y)
    parameters = {"oob_score": True, "random_state": 1, "max_depth": 6}
    model = on_dask.DaskRandomForestRegressor(6, warm_start=True, **parameters).fit(dX, dy)
    model.set_params(n_estimators=20).fit(dX, dy)
    local = splitwood.RandomForestRegressor(20, **parameters).fit(X, y)
    assert same_forest(model, local)
    assert model.oob_score_ == local.oob_score_
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(dX, dy)
    with pytest.raises(ValueError, match="must be larger or equal"):
        model.set_params(n_estimators=3).fit(dX, dy)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("as_function", [False, True])
def test_bags_of_your_own(client, as_function):
    X, y, weights = table(2_000)
    dX, dy, dw = chunked(X, y, weights)
    parameters = {"n_estimators": 7, "random_state": 2, "oob_score": True, "max_depth": 6}
    bags = np.random.default_rng(0).integers(0, 3, (len(X), 7))
    bags = (lambda rng: rng.integers(0, 3, 2_000)) if as_function else bags
    local = splitwood.RandomForestRegressor(**parameters).fit(X, y, weights, bags=bags)
    model = on_dask.DaskRandomForestRegressor(**parameters).fit(dX, dy, dw, bags=bags)
    assert same_forest(model, local)
    assert vars(model.to_local()).keys() == vars(local).keys()
    assert model.oob_score_ == local.oob_score_
    np.testing.assert_array_equal(model.estimators_samples_[6], local.estimators_samples_[6])
    with pytest.raises(ValueError, match="bags: must have a row per row of X"):
        on_dask.DaskRandomForestRegressor(**parameters).fit(dX, dy, bags=np.ones((3, 7)))
    assert_nothing_is_left(client)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"oob_score": True, "bootstrap": False}, "Out of bag"),
        ({"max_samples": 0.5, "bootstrap": False}, "max_sample"),
        ({"max_samples": -1}, "max_samples"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_depth": 0}, "max_depth"),
    ],
    ids=str,
)
def test_what_is_invalid_is_refused_before_any_work(client, parameters, words):
    assert_nothing_is_left(client)
    with pytest.raises(ValueError, match=words):
        on_dask.DaskRandomForestRegressor(**parameters).fit(da.ones((10, 2)), da.ones(10))
    with pytest.raises(ValueError, match="max_sample"):
        on_dask.DaskRandomForestRegressor(max_samples=5).fit(
            da.ones((10, 2)), da.ones(10), bags=lambda rng: np.ones(10)
        )
    assert left_behind(client) == NOTHING


def test_rows_that_do_not_fit_a_worker_are_an_error_with_both_numbers(client, monkeypatch):
    monkeypatch.setattr(_dask_tasks, "_room", lambda _: _dask_tasks.Room(2 * 10**6, 0))
    X, y, _ = table(20_000)
    with pytest.raises(MemoryError, match=r"needs about 0\.\d+ GB for all 20,000 rows .* is 0\.00"):
        on_dask.DaskRandomForestRegressor(5).fit(da.from_array(X), da.from_array(y))


@pytest.mark.parametrize("leaf_value", ["mean", "median", lambda y, w: np.average(y, weights=w)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_values_of_leaves(client, leaf_value, is_weighted):
    X, y, weights = table(4_000)
    dX, dy, dw = chunked(X, y, weights)
    parameters = {"leaf_value": leaf_value, "max_leaf_nodes": 50}
    local = splitwood.DecisionTreeRegressor(**parameters).fit(X, y, *[weights] * is_weighted)
    model = on_dask.DaskDecisionTreeRegressor(**parameters).fit(dX, dy, *[dw] * is_weighted)
    assert pickle.dumps(model.tree_) == pickle.dumps(local.tree_)


def labelled(n_rows=3_000):
    """A frame with two kinds of labels; some occur in one partition only."""
    rng = np.random.default_rng(0)
    cities = np.array(["Oslo", "Rome", None, "Bern", "Lima"], dtype=object)
    frame = pd.DataFrame({"size": rng.random(n_rows), "city": cities[rng.integers(0, 5, n_rows)]})
    frame["floor"] = rng.integers(0, 3, n_rows)
    frame.loc[frame.index > n_rows - 100, "floor"] = 9
    frame["city"] = frame.city.astype("category")
    y = frame["size"] + (frame.city == "Rome") + rng.random(n_rows)
    return frame, y


@pytest.mark.parametrize("features", ["from_dtype", ["city", "floor"]], ids=str)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("DecisionTreeRegressor", {"max_depth": 6}),
        ("DecisionTreeClassifier", {"max_depth": 6}),
        ("RandomForestRegressor", {"n_estimators": 4, "random_state": 0}),
    ],
    ids=str,
)
def test_categories_in_frames(client, name, parameters, features):
    frame, y = labelled()
    y = y > y.median() if "Classifier" in name else y
    parameters = parameters | {"categorical_features": features}
    local = getattr(splitwood, name)(**parameters).fit(frame, y)
    rows = dd.from_pandas(frame, npartitions=4)
    model = getattr(on_dask, f"Dask{name}")(**parameters).fit(rows, dd.from_pandas(y, 3))
    fitted = "forest_" if "Forest" in name else "tree_"
    assert pickle.dumps(getattr(model, fitted)) == pickle.dumps(getattr(local, fitted))
    assert [None if one is None else one.tolist() for one in model.categories_] == [
        None if one is None else one.tolist() for one in local.categories_
    ]
    np.testing.assert_array_equal(model.predict(rows).compute(), local.predict(frame))
    assert vars(model.to_local()).keys() == vars(local).keys()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("DecisionTreeRegressor", {"splitter": "random", "leaf_value": "median"}),
        ("DecisionTreeRegressor", {"max_features": "sqrt", "ccp_alpha": 1e-3}),
        ("DecisionTreeRegressor", {"monotonic_cst": [1, 0, -1, 0, 0, 0], "max_leaf_nodes": 30}),
        ("DecisionTreeClassifier", {"monotonic_cst": [1, 0, -1, 0, 0, 0]}),
        ("DecisionTreeClassifier", {"splitter": "random", "max_features": 2}),
        ("RandomForestRegressor", {"monotonic_cst": [1, 0, -1, 0, 0, 0], "n_estimators": 3}),
    ],
    ids=str,
)
def test_random_choices_and_monotonic_trees(client, name, parameters):
    """The generator of the user goes on as after local fits, be it its own or numpy's."""
    X, y, weights = table(3_000)
    y = y > np.median(y) if "Classifier" in name else y
    dX, dy, dw = chunked(X, y, weights)
    fitted = "forest_" if "Forest" in name else "tree_"
    for own in [7, None, np.random.RandomState(3)]:
        grown = []
        for kind, rows in [
            (getattr(splitwood, name), (X, y, weights)),
            (getattr(on_dask, f"Dask{name}"), (dX, dy, dw)),
        ]:
            np.random.seed(5)  # noqa: NPY002 -- What None stands for.
            given = np.random.RandomState(3) if isinstance(own, np.random.RandomState) else own
            models = [kind(random_state=given, **parameters).fit(*rows) for _ in range(2)]
            grown.append([pickle.dumps(getattr(model, fitted)) for model in models])
        assert grown[0] == grown[1]


@pytest.mark.parametrize("as_frames", [False, True])
@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor"])
def test_several_outputs(client, name, as_frames):
    X, y, weights = table(3_000)
    Y = np.column_stack([y, X[:, 2] > 0.4, y**2])
    parameters = {"max_depth": 6, "random_state": 0} | (
        {"n_estimators": 3, "oob_score": False} if "Forest" in name else {}
    )
    local = getattr(splitwood, name)(**parameters).fit(X, Y, weights)
    dX, dY, dw = chunked(X, Y, weights)
    if as_frames:
        dX, dY = (dd.from_pandas(pd.DataFrame(values), npartitions=3) for values in (X, Y))
        dw = dd.from_pandas(pd.Series(weights), npartitions=2)
    model = getattr(on_dask, f"Dask{name}")(**parameters).fit(dX, dY, dw)
    fitted = "forest_" if "Forest" in name else "tree_"
    assert pickle.dumps(getattr(model, fitted)) == pickle.dumps(getattr(local, fitted))
    assert vars(model.to_local()).keys() == vars(local).keys()
    assert model.n_outputs_ == 3
    predicted = model.predict(dX)
    assert predicted.shape[1] == 3
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(dX, dY) == local.score(X, Y)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "ExtraTreesClassifier"])
def test_several_outputs_of_labels(client, name):
    X, y, _ = table(3_000)
    Y = np.column_stack([np.digitize(y, [0.5, 1.0]), X[:, 2] > 0.4]).astype(int)
    dX, dY = chunked(X, Y)
    parameters = {"max_depth": 5, "random_state": 0} | (
        {"n_estimators": 3} if "Trees" in name else {}
    )
    local = getattr(splitwood, name)(**parameters).fit(X, Y)
    model = getattr(on_dask, f"Dask{name}")(**parameters).fit(dX, dY)
    fitted = "forest_" if "Trees" in name else "tree_"
    assert pickle.dumps(getattr(model, fitted)) == pickle.dumps(getattr(local, fitted))
    assert [one.tolist() for one in model.classes_] == [one.tolist() for one in local.classes_]
    predicted = model.predict(dX)
    assert predicted.dtype == local.predict(X).dtype
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    for rows in (dX, frame):
        shares = model.predict_proba(rows)
        assert [one.shape[1] for one in shares] == [3, 2]
        for one, expected in zip(shares, local.predict_proba(X), strict=True):
            np.testing.assert_array_equal(one.compute(), expected)


def slow_forest(client, X, y, n_estimators=60):
    dX, dy = da.from_array(X, chunks=(10_000, 6)), da.from_array(y, chunks=10_000)
    return on_dask.DaskRandomForestRegressor(n_estimators, random_state=0, client=client).fit(
        dX, dy
    )


def test_the_trees_of_a_lost_worker_are_grown_elsewhere(client):
    X, y, _ = table(40_000)
    local = splitwood.RandomForestRegressor(60, random_state=0).fit(X, y)
    for sign, delay in [(signal.SIGKILL, 1.0), (signal.SIGKILL, 1.6)]:
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(delay, os.kill, [victim, sign])
        timer.start()
        start = time.monotonic()
        model = slow_forest(client, X, y)
        timer.join()
        assert time.monotonic() - start < 60
        assert same_forest(model, local)
        client.wait_for_workers(2, timeout=120)


def test_a_stopped_worker_of_a_forest(client, monkeypatch):
    monkeypatch.setattr(_dask_watch, "SILENCE", 3.0)
    X, y, _ = table(40_000)
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(1.0, os.kill, [victim, signal.SIGSTOP])
    timer.start()
    try:
        model = slow_forest(client, X, y)
    except WorkerLost:
        model = None
    finally:
        timer.join()
        os.kill(victim, signal.SIGCONT)
    if model is not None:
        assert same_forest(model, splitwood.RandomForestRegressor(60, random_state=0).fit(X, y))


def test_an_interrupt_stops_the_trees(client):
    X, y, _ = table(40_000)
    timer = threading.Timer(1.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slow_forest(client, X, y, 100_000)
    assert_nothing_is_left(client, seconds=20)
    # The threads of the actors are free.
    assert slow_forest(client, X[:2_000], y[:2_000], 2).forest_.n_trees == 2
