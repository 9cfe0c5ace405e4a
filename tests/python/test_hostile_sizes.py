"""Hostile cases of cost: deep chains, and orders of targets that could make medians slow."""

import pickle
import threading
import time

import numpy as np
import pytest

from handover import chain
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_graphviz,
    export_text,
    running_median,
)

# ---- 23: chains (test_saving.py saves and loads them) --------------------------------------------


def test_case_23_a_chain_of_thousands_is_fitted():
    """Alternating labels: each split separates one row at an end of the order."""
    n = 8_000
    X, y = np.arange(float(n))[:, None], np.arange(n) % 2
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() > n // 4
    assert (model.predict(X) == y).all()
    assert export_text(model, max_depth=10)


def test_case_23_a_chain_a_million_deep_needs_no_stack():
    """Runs in a thread with a stack of 256 KiB, which any recursion on the depth would overflow."""
    outcome = []

    def work():
        model = chain(1_000_000)
        rows = np.array([[-1.0], [500_000.2], [2_000_000.0], [np.nan]])
        assert model.get_depth() == 1_000_000
        assert model.apply(rows)[0] == 1_000_000
        assert model.decision_path(rows).indptr[1] == 1_000_001
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        assert export_text(model, max_depth=3)
        assert export_graphviz(model, max_depth=3)
        assert repr(model.tree_)
        assert model._repr_html_()
        outcome.append("done")

    before = threading.stack_size(1 << 18)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert outcome == ["done"]


CHAINS = {
    "entropy": (DecisionTreeClassifier, {"criterion": "entropy"}),
    "poisson": (DecisionTreeRegressor, {"criterion": "poisson"}),
    "monotonic": (DecisionTreeRegressor, {"monotonic_cst": [1]}),
    "absolute error": (DecisionTreeRegressor, {"criterion": "absolute_error"}),
}


@pytest.mark.parametrize("is_weighted", [False, True])
def test_case_23_a_level_of_a_chain_costs_about_the_same_for_all_criteria(is_weighted):
    """Per row and level, as a multiple of what squared error takes: 10 and more were seen."""
    n = 20_000
    X, odd = np.arange(float(n))[:, None], np.arange(n) % 2
    weight = 1.0 + np.arange(n) % 3 if is_weighted else None
    # Two values of y make no chain of medians.
    growing = np.where(odd, 1.0, -1.0) * np.arange(n)

    def cost(kind, y, **settings):
        model = kind(max_depth=300, n_jobs=1, **settings)
        times = []
        for _ in range(3):
            start = time.process_time()
            model.fit(X, y, weight)
            times.append(time.process_time() - start)
        tree = model.tree_
        assert model.get_depth() == 300
        return min(times) / tree.n_node_samples[tree.children_left >= 0].sum()

    usual = cost(DecisionTreeRegressor, growing)
    for name, (kind, settings) in CHAINS.items():
        y = growing if name == "absolute error" else 1 + odd
        assert cost(kind, y, **settings) < 8 * usual, name


def test_case_23_predictions_of_a_chain_search_it():
    """Level by level, 100,000 rows would take ten seconds."""
    model = chain(100_000)
    rows = np.random.default_rng(0).uniform(-1.0, 100_001.0, 100_000)[:, None]
    start = time.process_time()
    found = model.apply(rows)
    assert time.process_time() - start < 1.0
    # The deepest leaf follows the chain, and the leaves beside it come back up.
    n_thresholds_below = np.searchsorted(np.arange(100_000) + 0.5, rows[:, 0])
    np.testing.assert_array_equal(found, 100_000 + n_thresholds_below)


# ---- 38: orders of targets that could make medians slow ------------------------------------------


N_SLOW = 60_000
SLOW_ORDERS = {
    "sorted": np.arange(N_SLOW, dtype=float),
    "reversed": -np.arange(N_SLOW, dtype=float),
    "organ pipe": np.minimum(np.arange(N_SLOW), N_SLOW - np.arange(N_SLOW)).astype(float),
    "equal": np.ones(N_SLOW),
    "alternating": np.where(np.arange(N_SLOW) % 2, 1.0, -1.0) * np.arange(N_SLOW),
}
SLOW_WEIGHTS = {
    "none": None,
    "one heavy row": np.where(np.arange(N_SLOW) == N_SLOW // 2, 1e9, 1.0),
    "alternating": np.where(np.arange(N_SLOW) % 2, 1e6, 1.0),
    "powers": 2.0 ** (np.arange(N_SLOW) % 40),
}


def seconds_to(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize("weight", SLOW_WEIGHTS)
def test_case_38_no_order_of_targets_makes_medians_slow(weight):
    """At this size, quadratic work would take a thousand times as long as shuffled targets do."""
    X = np.arange(float(N_SLOW))[:, None]
    weights = SLOW_WEIGHTS[weight]
    shuffled = np.random.default_rng(0).permutation(N_SLOW).astype(float)

    def work(y):
        DecisionTreeRegressor(criterion="absolute_error", max_depth=2, n_jobs=1).fit(X, y, weights)
        running_median(y, sample_weight=weights)

    usual = seconds_to(lambda: work(shuffled))
    for name, y in SLOW_ORDERS.items():
        assert seconds_to(lambda y=y: work(y)) < 20 * usual + 2, name
