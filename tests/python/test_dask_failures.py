"""Workers that are killed, stopped or retired during a fit: the same model or an error, no hang.

``CLUSTER_FAULTS`` sets how many moments are tried.
"""

import os
import pickle
import random
import signal
import threading
import time
from functools import partial

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from splitwood import DecisionTreeRegressor, _dask_engine
from splitwood.dask import DaskDecisionTreeRegressor, WorkerLost

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "6"))


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((200_000, 8), dtype=np.float32)
    y = X[:, 0] + rng.random(200_000)
    return X, y, pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_)


def outcome(client, data, fault, delay):
    """Fit with a fault after a delay; say what came of it, and after how many seconds."""
    X, y, expected = data
    dX, dy = da.from_array(X, chunks=(50_000, 8)), da.from_array(y, chunks=50_000)
    timer = threading.Timer(delay, fault)
    start = time.monotonic()
    timer.start()
    try:
        tree = DaskDecisionTreeRegressor(client=client).fit(dX, dy).tree_
    except WorkerLost:
        return "lost", time.monotonic() - start
    finally:
        timer.join()
    assert pickle.dumps(tree) == expected
    return "done", time.monotonic() - start


def processes(client):
    return list(client.run(os.getpid).values())


def test_a_killed_worker(client, data):
    dice = random.Random(0)
    outcomes = []
    for _ in range(FAULTS):
        victim = dice.choice(processes(client))
        delay = dice.uniform(0.0, 0.8)
        what, seconds = outcome(client, data, partial(os.kill, victim, signal.SIGKILL), delay)
        assert seconds < 30
        outcomes.append(what)
        time.sleep(0.5)
        client.wait_for_workers(2, timeout=30)
    assert "lost" in outcomes, outcomes
    assert outcome(client, data, lambda: None, 0.0)[0] == "done"


def test_a_stopped_worker(client, data, monkeypatch):
    monkeypatch.setattr(_dask_engine, "_SILENCE", 3.0)
    victim = processes(client)[0]
    what, seconds = outcome(client, data, lambda: os.kill(victim, signal.SIGSTOP), 0.1)
    os.kill(victim, signal.SIGCONT)
    assert what == "lost"
    assert seconds < 30
    client.wait_for_workers(2, timeout=30)
    assert outcome(client, data, lambda: None, 0.0)[0] == "done"


def test_a_retired_worker(client, data):
    address = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    what, seconds = outcome(client, data, lambda: client.retire_workers([address]), 0.2)
    assert what in {"lost", "done"}
    assert seconds < 30
    assert outcome(client, data, lambda: None, 0.0)[0] == "done"
