"""Trees on a Dask cluster on this machine, beside a local fit and `xgboost.dask`.

The cluster has a process with one thread for each thread of the local fit. It is up, and the rows
are in its memory, before the time begins. All models are fitted in the same process, in turns.
"""

import logging
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.markdown import ratio, seconds, table
from compare.progress import Progress
from splitwood import DecisionTreeRegressor

LOCAL, ON_DASK, PEER = "one process", "splitwood.dask", "xgboost.dask"
PARTITIONS = 8


@dataclass(frozen=True)
class Scene:
    """A table and a depth, and the most that the cluster may take: local time × factor + extra."""

    rows: int
    columns: int
    depth: int | None
    factor: float
    extra: float
    planned: float
    rounds: int = 3

    @property
    def title(self) -> str:
        depth = "unlimited" if self.depth is None else f"depth {self.depth}"
        return f"{self.rows:,} × {self.columns}, {depth}"


SCENES = (Scene(1_000_000, 10, None, 3, 1.5, 30), Scene(5_000_000, 20, 8, 2, 0, 120, rounds=2))
QUICK_SCENES = (Scene(200_000, 10, None, 3, 1.5, 10), Scene(500_000, 20, 8, 2, 0, 10))

# By title and system: the seconds of each round.
Times = dict[str, dict[str, list[float]]]


def planned_seconds(quick: bool) -> float:
    return sum(scene.planned for scene in _scenes(quick))


def _scenes(quick: bool) -> tuple[Scene, ...]:
    return QUICK_SCENES if quick else SCENES


def compare(
    threads: int, quick: bool, with_peer: bool, progress: Progress
) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Measures scene by scene; the model of the cluster must be the local one."""
    for scene in _scenes(quick):
        progress(f"cluster: {scene.title}", scene.planned)
        with _cluster(threads) as client:
            yield scene.title, _measure(scene, client, threads, with_peer)


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _measure(scene: Scene, client: Any, threads: int, with_peer: bool) -> dict[str, list[float]]:
    from splitwood.dask import DaskDecisionTreeRegressor

    dX, dy = _rows_on(client, scene)
    X, y = dX.compute(), dy.compute()
    # The first fits import packages on the workers.
    few = dX.partitions[0][:100], dy.partitions[0][:100]
    DaskDecisionTreeRegressor(client=client).fit(*few)
    if with_peer:
        _fit_peer(client, *few, 1)
    local = DecisionTreeRegressor(max_depth=scene.depth, n_jobs=threads)
    on_dask = DaskDecisionTreeRegressor(max_depth=scene.depth, client=client)
    fits: dict[str, Callable[[], Any]] = {
        LOCAL: lambda: local.fit(X, y),
        ON_DASK: lambda: on_dask.fit(dX, dy),
    }
    if scene.depth is not None and with_peer:
        fits[PEER] = lambda: _fit_peer(client, dX, dy, scene.depth)
    found: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(scene.rounds):
        for name, fit in fits.items():
            start = time.perf_counter()
            fit()
            found[name].append(time.perf_counter() - start)
    assert pickle.dumps(local.tree_) == pickle.dumps(on_dask.tree_)
    return found


def _rows_on(client: Any, scene: Scene) -> Any:
    """Makes friedman1 with noise in the memory of the workers."""
    import dask.array as da
    from distributed import wait

    rng, chunk = da.random.default_rng(0), scene.rows // PARTITIONS
    X = rng.random((scene.rows, scene.columns), chunks=(chunk, scene.columns), dtype=np.float32)
    wave = 10 * da.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = wave + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=scene.rows, chunks=chunk)
    rows = client.persist([X, y.astype(np.float32)])
    wait(rows)
    return rows


def _fit_peer(client: Any, X: Any, y: Any, depth: int | None) -> None:
    """One tree of histograms, from the rows to the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from xgboost import dask as xgboost_dask

        rows = xgboost_dask.DaskQuantileDMatrix(client, X, y)
        settings = {"tree_method": "hist", "max_depth": depth, "learning_rate": 1.0}
        xgboost_dask.train(client, settings, rows, num_boost_round=1)


def cluster_table(times: Times) -> str:
    """The best times, and their ratios to a local fit and to the peer."""
    rows = []
    for scene, best in _best(times):
        peer = best.get(PEER)
        rows.append(
            [
                scene.title,
                seconds(best[LOCAL]),
                seconds(best[ON_DASK]),
                ratio(best[ON_DASK] / best[LOCAL]),
                "–" if peer is None else seconds(peer),
                "–" if peer is None else ratio(peer / best[ON_DASK]),
            ]
        )
    header = [
        "fit",
        LOCAL,
        ON_DASK,
        f"{ON_DASK} / {LOCAL}",
        f"{PEER}, one tree",
        f"{PEER} / {ON_DASK}",
    ]
    return table(header, rows)


def target_lines(times: Times) -> Iterator[str]:
    """What the cluster may take beside what it took: for the terminal."""
    for scene, best in _best(times):
        limit = scene.factor * best[LOCAL] + scene.extra
        verdict = "reached" if best[ON_DASK] <= limit else "**missed**"
        yield f"- {scene.title}: {seconds(best[ON_DASK])}, target ≤ {seconds(limit)}, {verdict}"


def _best(times: Times) -> Iterator[tuple[Scene, dict[str, float]]]:
    for scene in (*SCENES, *QUICK_SCENES):
        if scene.title in times:
            yield scene, {name: min(rounds) for name, rounds in times[scene.title].items()}
