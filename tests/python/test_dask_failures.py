"""Workers that are killed, stopped, retired or restarted during a fit: the same model, or an error.

Never a hang: each fit has a watchdog. ``CLUSTER_MOMENTS`` sets how many random moments are tried,
and ``CLUSTER_SEED`` which ones; ``make soak-cluster`` tries a hundred, with the times that users
get.
"""

import faulthandler
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections import Counter
from functools import partial

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from splitwood import DecisionTreeRegressor, RandomForestRegressor, _dask_watch
from splitwood.dask import DaskDecisionTreeRegressor, DaskRandomForestRegressor, WorkerLost

MOMENTS = int(os.environ.get("CLUSTER_MOMENTS", "0"))
SEED = int(os.environ.get("CLUSTER_SEED", "0"))
# A stopped worker is noticed after two silences. The tests of every day don't wait that long.
SILENCE = _dask_watch.SILENCE if MOMENTS else 8.0


# Users' rows are freed when the user drops them.
pytestmark = pytest.mark.usefixtures("no_collector")


@pytest.fixture(autouse=True)
def short_silence(monkeypatch):
    monkeypatch.setattr(_dask_watch, "SILENCE", SILENCE)


class Cluster:
    """Two workers with one thread each, whatever becomes of them."""

    def __init__(self):
        self.cluster = None
        self.n_replaced = 0
        self.replace()

    def replace(self):
        self.close()
        self.cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = Client(self.cluster)

    def close(self):
        if self.cluster is not None:
            self.client.close()
            self.cluster.close()

    def workers(self):
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def repair(self):
        """Wait until there are two workers again; if Dask starts none, start a cluster."""
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            if len(self.workers()) == 2 and self.pids():
                # On a busy machine, imports can take longer than the silence of these tests.
                self.client.run(exec, "import splitwood.dask", on_error="ignore")
                return
            time.sleep(0.3)
        self.n_replaced += 1
        self.replace()

    def pids(self):
        """Get the process of each worker; nothing while one of them comes or goes."""
        found = self.client.run(os.getpid, on_error="ignore")
        return found if len(found) == 2 else None


@pytest.fixture(scope="module")
def cluster():
    made = Cluster()
    yield made
    made.close()


def problem(rows=200_000):
    rng = np.random.default_rng(0)
    X = rng.random((rows, 8), dtype=np.float32)
    return X, X[:, 0] + rng.random(rows)


class Kind:
    """A fit, the model that it must give, and how long it takes."""

    def __init__(self, name, estimator, local, X, y, frame=False):
        self.name, self.estimator = name, estimator
        self.expected = self.bytes_of(local.fit(X, y))
        if frame:
            self.X, self.y = dd.from_pandas(X, npartitions=4), dd.from_pandas(y, npartitions=3)
        else:
            self.X = da.from_array(X, chunks=(len(X) // 4, X.shape[1]))
            self.y = da.from_array(y, chunks=len(y) // 3 + 1)
        self.seconds = 1.0

    @staticmethod
    def bytes_of(model):
        return pickle.dumps(model.forest_ if hasattr(model, "forest_") else model.tree_)

    def fit(self, client, is_persisted=False):
        """Fit; say whether a worker was lost, and how many seconds it took."""
        X, y = client.persist([self.X, self.y]) if is_persisted else (self.X, self.y)
        model = self.estimator()
        model.client = client
        start = time.monotonic()
        faulthandler.dump_traceback_later(100, exit=True, file=sys.__stderr__)
        try:
            model.fit(X, y)
        except WorkerLost:
            return "lost", time.monotonic() - start
        finally:
            faulthandler.cancel_dump_traceback_later()
        assert self.bytes_of(model) == self.expected
        return "same", time.monotonic() - start


@pytest.fixture(scope="module")
def kinds(cluster):
    X, y = problem()
    frame = pd.DataFrame(X[:20_000], columns=list("abcdefgh"))
    frame["city"] = pd.Categorical.from_codes((8 * X[:20_000, 7]).astype(int), list("ABCDEFGH"))
    targets = pd.Series(y[:20_000])
    forest = {"n_estimators": 12, "random_state": 0, "max_depth": 12}
    found = [
        Kind("tree", DaskDecisionTreeRegressor, DecisionTreeRegressor(), X, y),
        Kind(
            "medians in leaves",
            partial(DaskDecisionTreeRegressor, leaf_value="median"),
            DecisionTreeRegressor(leaf_value="median"),
            X,
            y,
        ),
        Kind(
            "forest",
            partial(DaskRandomForestRegressor, **forest),
            RandomForestRegressor(**forest),
            X[:40_000],
            y[:40_000],
        ),
        Kind(
            "categories",
            partial(DaskDecisionTreeRegressor, categorical_features="from_dtype"),
            DecisionTreeRegressor(categorical_features="from_dtype"),
            frame,
            targets,
            frame=True,
        ),
    ]
    for kind in found:
        # The first one imports packages on the workers.
        for _ in range(2):
            what, kind.seconds = kind.fit(cluster.client)
            assert what == "same"
    return found


def end(cluster, address, pid):
    os.kill(pid, signal.SIGKILL)


def stop(cluster, address, pid):
    os.kill(pid, signal.SIGSTOP)


def retire(cluster, address, pid):
    cluster.client.retire_workers([address])


def restart(cluster, address, pid):
    cluster.client.restart_workers([address], timeout=60, raise_for_error=False)


def try_moment(cluster, kind, fault, dice):
    """Fit with a fault at a random moment, then without one; say what came of it."""
    cluster.repair()
    address, pid = dice.choice(sorted(cluster.pids().items()))
    is_persisted = dice.random() < 0.3 and fault is not stop
    timer = threading.Timer(dice.uniform(0, kind.seconds), fault, [cluster, address, pid])
    timer.start()
    try:
        what, seconds = kind.fit(cluster.client, is_persisted)
        was_late = timer.is_alive()
        assert seconds < (60 if fault is stop else 30), (kind.name, what, seconds)
        timer.join()
        if what == "lost" and fault is stop:
            # The worker is still there, for the scheduler.
            assert kind.fit(cluster.client)[0] == "same"
    finally:
        timer.join()
        if fault is stop:
            os.kill(pid, signal.SIGCONT)
    if fault is retire:
        # A retired worker does not come back.
        assert kind.fit(cluster.client)[0] == "same"
        cluster.replace()
    cluster.repair()
    next_one, kind.seconds = kind.fit(cluster.client)
    assert next_one == "same"
    return "after the fit" if was_late else what, seconds


def plan(kinds):
    """List the fits and the faults that are tried."""
    if MOMENTS == 0:
        tree, _, forest, _ = kinds
        return [(tree, end), (forest, end), (tree, stop), (tree, restart), (forest, retire)]
    dice = random.Random(SEED)
    faults = dice.choices([end, stop, retire, restart], [6, 1, 2, 2], k=MOMENTS)
    return [(dice.choice(kinds), fault) for fault in faults]


def test_faults_at_random_moments(cluster, kinds):
    dice = random.Random(SEED)
    outcomes, longest = Counter(), Counter()
    for number, (kind, fault) in enumerate(plan(kinds)):
        what, seconds = try_moment(cluster, kind, fault, dice)
        outcomes[fault.__name__, what] += 1
        longest[fault.__name__] = max(longest[fault.__name__], seconds)
        print(f"{number + 1}: {kind.name}, {fault.__name__}: {what}, {seconds:.1f} s", flush=True)
    for (fault, what), count in sorted(outcomes.items()):
        print(f"{fault:8} {what}: {count}")
    print("longest fits:", {fault: round(seconds, 1) for fault, seconds in longest.items()})
    print(f"{cluster.n_replaced} times Dask did not restart a worker within 40 s")


def test_a_lost_worker_gets_no_part_of_the_next_fit():
    """Although the last heartbeat of the other one is a while ago, too."""

    def seen(seconds_ago):
        return {"status": "running", "last_seen": 1_000.0 - seconds_ago}

    known = {
        "here": seen(0.3 * SILENCE),
        "stopped": seen(1.01 * SILENCE),
        "late": seen(0.5 * SILENCE),
    }
    assert _dask_watch.answering(known) == ["here", "late"]
