"""Hostile cases of threads: the number of threads changes nothing, and the pool survives misuse."""

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from problems import BOTH, SIZE, random_problem
from splitwood import DecisionTreeRegressor, _core
from trees import assert_same_tree

# ---- 6: threads, repetitions, memory order -------------------------------------------------------


@BOTH
@pytest.mark.parametrize("size", [SIZE, (12_000, 5)], ids=["small", "large"])
def test_case_06_the_same_bytes_for_every_number_of_threads_and_memory_order(kind, criterion, size):
    X, y = random_problem(kind, size)

    def model_bytes(rows, n_jobs):
        return pickle.dumps(kind(criterion=criterion, n_jobs=n_jobs).fit(rows, y).tree_)

    expected = model_bytes(X, 1)
    for n_jobs in (1, 2, 3, None, -1):
        assert model_bytes(X, n_jobs) == expected, n_jobs
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1]):
        assert model_bytes(rows, 2) == expected, rows.strides


SETTINGS = {
    "absolute error": {"criterion": "absolute_error"},
    "quantile": {"criterion": "quantile", "quantile": 0.8},
    "poisson": {"criterion": "poisson"},
    "max_features": {"max_features": 2, "random_state": 3},
    "random thresholds": {"splitter": "random", "random_state": 3},
    "max_leaf_nodes": {"max_leaf_nodes": 50},
    "pruned": {"ccp_alpha": 1e-3},
    "monotonic": {"monotonic_cst": [1, 0, -1, 0, 0]},
    "median leaves": {"leaf_value": "median"},
}


# Monotonic constraints and `leaf_value` take one output only.
@pytest.mark.parametrize(
    ("name", "outputs"),
    [*((name, 1) for name in SETTINGS), *((name, 2) for name in [*SETTINGS][:-2])],
)
def test_case_06_the_same_bytes_for_every_setting(name, outputs):
    X, y = random_problem(DecisionTreeRegressor, (8_000, 5))
    y = np.abs(y)
    y = y if outputs == 1 else np.column_stack([y, y[::-1]])
    settings = {"min_samples_leaf": 5, **SETTINGS[name]}

    def model_bytes(rows, n_jobs):
        return pickle.dumps(DecisionTreeRegressor(n_jobs=n_jobs, **settings).fit(rows, y).tree_)

    expected = model_bytes(X, 1)
    for rows in (X, np.asfortranarray(X), X[::-1].copy()[::-1]):
        assert model_bytes(rows, -1) == expected


def test_case_06_sparse_rows_give_the_same_bytes_for_every_number_of_threads():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 5))
    X[np.abs(X) < 1.0] = 0.0
    columns, rows = sparse.csc_array(X), sparse.csr_array(X)
    one, two, by_rows = (
        pickle.dumps(DecisionTreeRegressor(n_jobs=n).fit(given, y).tree_)
        for n, given in ((1, columns), (2, columns), (2, rows))
    )
    assert one == two == by_rows


# ---- 34, 35: many threads on the same data -------------------------------------------------------


def test_case_34_rows_changed_during_a_fit_do_no_harm():
    X, y = random_problem(DecisionTreeRegressor, (20_000, 5))
    stop = threading.Event()

    def overwrite():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(0, len(X), 1000)] = rng.normal()
            X[rng.integers(0, len(X), 100)] = np.nan

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        models = [DecisionTreeRegressor(n_jobs=2).fit(X, y) for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    for model in models:
        tree = model.tree_
        assert tree.n_node_samples[tree.children_left < 0].sum() == len(X)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"criterion": "absolute_error"},
        {"max_features": 3, "random_state": 0},
        {"splitter": "random", "random_state": 0},
        {"max_leaf_nodes": 100},
    ],
    ids=str,
)
def test_case_34_rows_changed_during_a_fit_do_no_harm_for_every_setting(settings):
    X, y = random_problem(DecisionTreeRegressor, (10_000, 5))
    stop = threading.Event()

    def overwrite():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(0, len(X), 1000)] = rng.choice([np.nan, np.inf, -0.0, rng.normal()])

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        for _ in range(3):
            model = DecisionTreeRegressor(n_jobs=2, **settings).fit(X, y)
            assert np.isfinite(model.predict(X)).all()
    finally:
        stop.set()
        writer.join()
    # The pool still works.
    expected = DecisionTreeRegressor(n_jobs=1, **settings).fit(X, y)
    assert_same_tree(DecisionTreeRegressor(n_jobs=2, **settings).fit(X, y), expected)


@BOTH
def test_case_35_many_threads_predict_with_one_model(kind, criterion):
    X, y = random_problem(kind, (5000, 4))
    model = kind(criterion=criterion).fit(X, y)
    parts = [X[i::40] for i in range(40)]
    expected = [model.predict(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        for actual, one in zip(pool.map(model.predict, parts), expected, strict=True):
            np.testing.assert_array_equal(actual, one)


def test_case_35_many_threads_fit_at_once():
    X, y = random_problem(DecisionTreeRegressor, (3000, 4))
    expected = DecisionTreeRegressor().fit(X, y)
    models = [DecisionTreeRegressor(n_jobs=n) for n in (1, 2, 3, 4, None, -1)]
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(lambda model: model.fit(X, y), models):
            assert_same_tree(model, expected)


# ---- 36: leaf callables (test_leaf_value.py has more) --------------------------------------------


class LeafError(Exception):
    pass


def test_case_36_an_exception_of_a_leaf_callable_reaches_the_caller():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))

    def fail(y, sample_weight):
        raise LeafError

    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    before = pickle.dumps(model.tree_)
    model.set_params(leaf_value=fail)
    with pytest.raises(LeafError):
        model.fit(X, y)
    assert pickle.dumps(model.tree_) == before


@pytest.mark.parametrize("result", [math.nan, math.inf, "text", None])
def test_case_36_a_leaf_callable_must_return_a_finite_number(result):
    model = DecisionTreeRegressor(leaf_value=lambda y, sample_weight: result)
    with pytest.raises((TypeError, ValueError), match="leaf_value"):
        model.fit([[1.0], [2.0]], [1.0, 2.0])


def test_case_36_a_leaf_callable_may_fit_with_all_threads():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))

    def inner(mine, sample_weight):
        return DecisionTreeRegressor(max_depth=1).fit(X, y).predict(X)[0] + len(mine)

    model = DecisionTreeRegressor(max_depth=2, leaf_value=inner).fit(X, y)
    root = DecisionTreeRegressor(max_depth=1).fit(X, y).predict(X)[0]
    leaf = model.apply(X)[0]
    assert model.predict(X)[0] == root + model.tree_.n_node_samples[leaf]


# ---- 37: panics (src/threads.rs has more) --------------------------------------------------------


def test_case_37_a_panic_is_an_ordinary_exception_and_the_pool_still_works():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))
    before = pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"a bug; please report it: on purpose"):
            _core._panic()
    assert pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_) == before
