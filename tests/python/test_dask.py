"""Trees on a Dask cluster: the models of the plain estimators, whatever the partitions are."""

import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import Client, LocalCluster, futures_of, wait
from distributed.comm import tcp
from distributed.comm.utils import from_frames, to_frames
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import splitwood
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, _dask_tasks
from splitwood.dask import (
    DaskDecisionTreeClassifier,
    DaskDecisionTreeRegressor,
    DaskRandomForestRegressor,
)

ROOT = Path(__file__).parents[2]
# Users' rows are freed when the user drops them.
pytestmark = pytest.mark.usefixtures("no_collector")


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def table(n_rows=30_000, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns))
    X[:, 1] = np.floor(8 * X[:, 1])
    X[rng.random(X.shape) < 0.03] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2]) ** 2 + rng.random(n_rows)
    return X, y, rng.integers(0, 3, n_rows).astype(float)


def same(model, local):
    """Whether two fitted estimators have the same tree, byte for byte."""
    return pickle.dumps(model.tree_) == pickle.dumps(local.tree_)


def left_behind(client):
    """What the workers hold, actors and results, and the tasks that the scheduler knows."""

    def held(dask_worker):
        return len(dask_worker.state.actors), len(dask_worker.data)

    def known(dask_scheduler):
        return len(dask_scheduler.tasks)

    return [*client.run(held).values(), client.run_on_scheduler(known)]


NOTHING = [(0, 0), (0, 0), 0]


def assert_nothing_is_left(client, seconds=60):
    """Workers forget what a fit has released within a moment; a busy machine takes longer."""
    deadline = time.monotonic() + seconds
    while left_behind(client) != NOTHING and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_behind(client) == NOTHING


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"criterion": "absolute_error", "max_depth": 6},
        {"criterion": "quantile", "quantile": 0.2, "min_samples_leaf": 20},
        {"criterion": "poisson", "max_leaf_nodes": 60},
        {"ccp_alpha": 1e-4, "min_impurity_decrease": 1e-6, "max_features": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_arrays_give_the_local_tree(client, parameters, is_weighted):
    X, y, weights = table()
    local = DecisionTreeRegressor(**parameters).fit(X, y, weights if is_weighted else None)
    # Columns in several chunks, and other partitions for y and the weights.
    given = da.from_array(weights, chunks=11_000) if is_weighted else None
    dX, dy = da.from_array(X, chunks=(7_000, 4)), da.from_array(y, chunks=20_000)
    model = DaskDecisionTreeRegressor(**parameters).fit(dX, dy, given)
    assert same(model, local)
    assert (model.n_features_in_, model.n_outputs_) == (6, 1)
    assert model._x_dtype == "float64"


def test_partitions_may_be_empty_or_of_unknown_length(client):
    X, y, _ = table(20_000)
    X, y = X.astype(np.float32), y.astype(np.float32)
    local = DecisionTreeRegressor(max_depth=7).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, kept=np.arange(len(X)) // 5_000 % 2)
    everything = dd.from_pandas(pd.concat([frame, frame.assign(kept=3)]), npartitions=9)
    rows = everything[everything.kept < 3]
    unknown, targets = rows[list("abcdef")].values, rows.y.values
    assert np.isnan(unknown.shape[0])
    model = DaskDecisionTreeRegressor(max_depth=7).fit(unknown, targets)
    assert same(model, local)
    named = DaskDecisionTreeRegressor(max_depth=7).fit(rows[list("abcdef")], rows.y)
    assert same(named, local)
    assert named.feature_names_in_.tolist() == list("abcdef")
    predicted = named.predict(rows[list("abcdef")])
    assert isinstance(predicted, dd.Series)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(rows[["a", "c", "b", "d", "e", "f"]]).compute()


def test_frames_of_several_dtypes(client):
    X, y, _ = table(4_000)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.arange(4_000), "c": X[:, 2].astype("f4")})
    frame["d"] = pd.array(np.where(np.arange(4_000) % 3 == 0, None, 5), dtype="Int64")
    local = DecisionTreeRegressor(max_depth=8).fit(frame, y)
    rows = dd.from_pandas(frame, npartitions=3)
    model = DaskDecisionTreeRegressor(max_depth=8).fit(rows, dd.from_pandas(pd.Series(y), 2))
    assert same(model, local)


@pytest.mark.parametrize("labels", [["no", "yes"], [7, 3, 5]], ids=len)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classifiers(client, labels, class_weight):
    X, y, weights = table(12_000)
    y = np.array(labels)[np.digitize(y, np.quantile(y, [0.3, 0.6])[: len(labels) - 1])]
    local = DecisionTreeClassifier(class_weight=class_weight, max_depth=9).fit(X, y, weights)
    dX, dy = da.from_array(X, chunks=(5_000, 6)), da.from_array(y, chunks=7_000)
    model = DaskDecisionTreeClassifier(class_weight=class_weight, max_depth=9)
    model.fit(dX, dy, da.from_array(weights, chunks=4_000))
    assert same(model, local)
    np.testing.assert_array_equal(model.classes_, local.classes_)
    shares, leaves = model.predict_proba(dX), model.apply(dX)
    assert shares.shape == (12_000, len(labels))
    np.testing.assert_array_equal(shares.compute(), local.predict_proba(X))
    np.testing.assert_array_equal(model.predict(dX).compute(), local.predict(X))
    np.testing.assert_array_equal(leaves.compute(), local.apply(X))
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    assert model.to_local().predict_proba(X[:5]).tolist() == shares[:5].compute().tolist()
    assert list(model.predict_proba(frame).columns) == list(local.classes_)
    assert model.score(dX, dy) == local.score(X, y)


def test_a_fitted_model_is_the_plain_one(client, tmp_path):
    X, y, _ = table(3_000)
    dX, dy = da.from_array(X, chunks=(1_000, 6)), da.from_array(y, chunks=1_000)
    model = DaskDecisionTreeRegressor(client=client, max_depth=4).fit(dX, dy)
    local = DecisionTreeRegressor(max_depth=4).fit(X, y)
    assert type(model.to_local()) is DecisionTreeRegressor
    assert same(model.to_local(), local)
    assert vars(model.to_local()).keys() == vars(local).keys()
    assert model.to_local().get_params() == local.get_params()
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(dX, dy) == local.score(X, y) == model.score(X, y)
    assert splitwood.export_text(model) == splitwood.export_text(local)
    model.save(tmp_path / "model")
    assert type(splitwood.load(tmp_path / "model")) is DecisionTreeRegressor
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert same(again, local)
    twin = clone(model)
    assert twin.client is client
    assert not hasattr(twin, "tree_")
    assert twin.get_params() == model.get_params()
    assert "max_depth" in str(DaskDecisionTreeRegressor.__signature__)


@pytest.mark.parametrize(
    "parameters",
    [
        {"splitter": "worst"},
        {"max_features": 0},
        {"monotonic_cst": [1, 0, 1]},
        {"random_state": "no"},
        {"max_depth": 0},
        {"criterion": "gini"},
    ],
    ids=str,
)
def test_what_is_invalid_is_refused_by_name_before_any_work(client, parameters):
    X, y = da.ones((10, 2)), da.ones(10)
    assert_nothing_is_left(client)
    words = "seed" if "random_state" in parameters else next(iter(parameters))
    with pytest.raises(ValueError, match=words):
        DaskDecisionTreeRegressor(**parameters).fit(X, y)
    assert left_behind(client) == NOTHING


def test_bad_data_are_refused(client):
    X, y = da.ones((10, 2), chunks=(5, 2)), da.arange(10, chunks=5)
    tree = DaskDecisionTreeRegressor()
    with pytest.raises(TypeError, match="X: must be a dask array"):
        tree.fit(np.ones((10, 2)), y)
    with pytest.raises(TypeError, match="y: must be a collection of Dask"):
        tree.fit(X, np.ones(10))
    with pytest.raises(ValueError, match="sample_weight: must have one dimension"):
        tree.fit(X, y, da.ones((10, 2)))
    with pytest.raises(ValueError, match="y: has 9 entries, but X has 10 rows"):
        tree.fit(X, y[:9])
    with pytest.raises(ValueError, match="NaN"):
        tree.fit(X, y * np.nan)
    with pytest.raises(ValueError, match="X: has no rows"):
        tree.fit(X[:0], y[:0])
    for meta in [None, scipy.sparse.csr_matrix((0, 2))]:
        rows = X.map_blocks(scipy.sparse.csr_matrix, meta=meta)
        with pytest.raises(TypeError, match="X: sparse rows are not supported on a cluster"):
            tree.fit(rows, y)
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize("kind", [DaskDecisionTreeRegressor, DaskRandomForestRegressor])
def test_what_is_missing_is_said_at_once(kind):
    X = da.ones((10, 2))
    for method in ["predict", "apply"]:
        with pytest.raises(NotFittedError):
            getattr(kind(), method)(X)


@pytest.mark.parametrize("kind", [DaskDecisionTreeRegressor, DaskRandomForestRegressor])
def test_too_little_memory_is_an_error_with_both_numbers(client, monkeypatch, kind):
    workers = _dask_tasks.workers_of

    def small(client):
        return {at: info | {"memory_limit": 10**7} for at, info in workers(client).items()}

    monkeypatch.setattr(_dask_tasks, "workers_of", small)
    X = da.random.default_rng(0).random((20_000, 6), chunks=(5_000, 6)).persist()
    words = r"needs about 0\.\d+ GB for .*, beside 0\.\d+ GB that it uses, .* limit is 0\.01 GB"
    with pytest.raises(MemoryError, match=words):
        kind().fit(X, X[:, 0])
    # The rows are the user's.
    assert X.sum().compute() > 0
    del X
    assert_nothing_is_left(client)


@pytest.mark.parametrize("leaf_value", [None, "median"])
def test_persisted_rows_are_the_users(client, leaf_value):
    X = da.random.default_rng(0).random((4_000, 6), chunks=(900, 6)).persist()
    y = X[:, 0].persist()
    keys = {future.key for future in futures_of([X, y])}
    for estimator in [DaskDecisionTreeRegressor(leaf_value=leaf_value)] * 2 + [
        DaskRandomForestRegressor(2)
    ]:
        estimator.fit(X, y)
        with pytest.raises(ValueError, match="y: has 100 entries"):
            estimator.fit(X, y[:100])
        time.sleep(0.2)
        assert keys <= {key for held in client.has_what().values() for key in held}
    del X, y
    assert_nothing_is_left(client)


def test_nothing_large_passes_the_client_or_the_scheduler(client, monkeypatch):
    """Both are in this process; all that it sends and receives is counted."""
    X = da.random.default_rng(0).random((400_000, 10), chunks=(50_000, 10), dtype="f4").persist()
    y = X[:, 0].persist()
    wait([X, y])
    for given in [None, y]:
        # The first fit brings the package's modules to the workers.
        DaskDecisionTreeRegressor(max_depth=8, client=client).fit(X, y, given)
    n_bytes = 0

    async def received(frames, **options):
        nonlocal n_bytes
        n_bytes += sum(memoryview(frame).nbytes for frame in frames)
        return await from_frames(frames, **options)

    async def sent(message, **options):
        nonlocal n_bytes
        frames = await to_frames(message, **options)
        n_bytes += sum(memoryview(frame).nbytes for frame in frames)
        return frames

    monkeypatch.setattr(tcp, "from_frames", received)
    monkeypatch.setattr(tcp, "to_frames", sent)
    start = time.monotonic()
    model = DaskDecisionTreeRegressor(max_depth=8, client=client).fit(X, y)
    seconds = time.monotonic() - start
    monkeypatch.undo()
    # X has 16 MB and y 1.6 MB. What goes to a worker passes the scheduler, and is counted twice.
    # Heartbeats and looks at the workers go on while a busy machine takes its time.
    print(n_bytes, seconds)
    assert 10_000 < n_bytes < 800_000 + 50_000 * max(0, seconds - 2)
    assert model.tree_.node_count > 400


def test_fits_leave_nothing_behind(client):
    X, y, _ = table(20_000)
    dX, dy = da.from_array(X, chunks=(5_000, 6)), da.from_array(y, chunks=5_000)
    trees = [DaskDecisionTreeRegressor(max_depth=5).fit(dX, dy) for _ in range(3)]
    assert same(trees[0], trees[2])
    assert_nothing_is_left(client)


def test_two_fits_at_once(client):
    X, y, _ = table(20_000)
    dX, dy = da.from_array(X, chunks=(5_000, 6)), da.from_array(y, chunks=5_000)

    def fit(depth):
        return DaskDecisionTreeRegressor(client=client, max_depth=depth).fit(dX, dy)

    with ThreadPoolExecutor(2) as threads:
        for model, depth in zip(threads.map(fit, [6, 9]), [6, 9], strict=True):
            assert same(model, DecisionTreeRegressor(max_depth=depth).fit(X, y))


def test_two_clients_at_once(client):
    X, y, _ = table(20_000)
    dX, dy = da.from_array(X, chunks=(5_000, 6)), da.from_array(y, chunks=5_000)
    address = client.scheduler.address

    def fit(depth):
        with Client(address, set_as_default=False) as other:
            return DaskDecisionTreeRegressor(client=other, max_depth=depth).fit(dX, dy)

    with ThreadPoolExecutor(2) as threads:
        for model, depth in zip(threads.map(fit, [6, 9]), [6, 9], strict=True):
            assert same(model, DecisionTreeRegressor(max_depth=depth).fit(X, y))
    assert_nothing_is_left(client)


ENDLESS = """
import sys
import dask.array as da
from distributed import Client
from splitwood.dask import DaskDecisionTreeRegressor, DaskRandomForestRegressor

client = Client(sys.argv[1])
X = da.random.default_rng(0).random((200_000, 6), chunks=(50_000, 6))
models = {
    "tree": DaskDecisionTreeRegressor(criterion="absolute_error", verbose=1),
    "forest": DaskRandomForestRegressor(100_000, verbose=1),
}
while True:
    models[sys.argv[2]].fit(X, X[:, 0])
"""


@pytest.mark.parametrize(("kind", "sign"), [("tree", "level 3"), ("forest", "bytes moved")])
def test_a_client_that_goes_away(client, kind, sign):
    """Its process is killed in the middle of a fit: the workers stop, and serve others."""
    command = [sys.executable, "-c", ENDLESS, client.scheduler.address, kind]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    shown = []
    for line in process.stderr:
        shown.append(line)
        if sign in line:
            break
    process.kill()
    process.communicate()
    assert any(sign in line for line in shown), shown
    assert_nothing_is_left(client)
    X, y, _ = table(5_000)
    start = time.monotonic()
    model = DaskDecisionTreeRegressor(client=client).fit(da.from_array(X), da.from_array(y))
    # The fit that was left took minutes more.
    assert time.monotonic() - start < 30
    assert same(model, DecisionTreeRegressor().fit(X, y))


def test_a_tree_and_a_forest_at_once(client):
    X, y, _ = table(20_000)
    dX, dy = da.from_array(X, chunks=(5_000, 6)), da.from_array(y, chunks=5_000)
    tree = DaskDecisionTreeRegressor(client=client)
    forest = DaskRandomForestRegressor(12, random_state=0, client=client)
    with ThreadPoolExecutor(2) as threads:
        tree, forest = threads.map(lambda model: model.fit(dX, dy), [tree, forest])
    assert same(tree, DecisionTreeRegressor().fit(X, y))
    local = splitwood.RandomForestRegressor(12, random_state=0).fit(X, y)
    assert pickle.dumps(forest.forest_) == pickle.dumps(local.forest_)


def test_twenty_fits_do_not_grow_memory(client):
    X, y, _ = table(60_000)
    dX, dy = da.from_array(X, chunks=(15_000, 6)), da.from_array(y, chunks=15_000)
    estimators = [
        DaskDecisionTreeRegressor(max_depth=6, leaf_value="median"),
        DaskRandomForestRegressor(2, max_depth=6),
    ]

    def resident(dask_worker):
        dask_worker.monitor.update()
        return dask_worker.monitor.get_process_memory()

    def fit():
        for estimator in estimators:
            clone(estimator).fit(dX, dy)

    for _ in range(4):
        fit()
    assert_nothing_is_left(client)
    before = client.run(resident)
    for _ in range(20):
        fit()
    assert_nothing_is_left(client)
    # The rows of one fit and their order are 10 MB and more.
    for address, after in client.run(resident).items():
        assert after - before[address] < 20e6, (before, address, after)


def test_verbose_shows_levels_and_bytes(client, capsys):
    X, y, _ = table(30_000)
    DaskDecisionTreeRegressor(max_depth=3, verbose=1).fit(da.from_array(X), da.from_array(y))
    shown = capsys.readouterr().err
    assert "sorting 30,000 rows" in shown
    assert re.search(r"level 1: \d+ large nodes, \d+ small; ", shown)
    sides = [int(one.replace(",", "")) for one in re.findall(r"up to ([\d,]+) bytes of", shown)]
    # A bit per row, from the winner to the other worker.
    assert max(sides) > 0
    assert all(n_bytes <= 1.5 * 30_000 / 8 for n_bytes in sides)
    moved = [int(one.replace(",", "")) for one in re.findall(r"([\d,]+) bytes moved", shown)]
    assert moved == sorted(moved)


def test_an_interrupt_frees_the_workers(client):
    X, y, _ = table(200_000)
    dX, dy = da.from_array(X, chunks=(50_000, 6)), da.from_array(y, chunks=50_000)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    tree = DaskDecisionTreeRegressor(criterion="absolute_error")
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 -- The signal may come late.
        timer.start()
        while True:
            tree.fit(dX, dy)
    assert_nothing_is_left(client, seconds=20)


def run(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )


def test_the_package_imports_no_dask():
    script = "import sys, splitwood; splitwood.DecisionTreeRegressor; print('dask' in sys.modules)"
    assert run(script).stdout == "False\n"


def test_without_a_client_the_error_names_the_parameter():
    script = """if True:
        import dask.array as da
        from splitwood.dask import DaskDecisionTreeRegressor
        DaskDecisionTreeRegressor().fit(da.ones((10, 2)), da.ones(10))
    """
    assert "ValueError: client: there is no current client" in run(script).stderr


def test_without_dask_the_error_names_the_extra():
    shown = run("import sys; sys.modules['distributed'] = None; import splitwood.dask").stderr
    assert "install splitwood[dask]" in shown


def test_the_first_fit_of_the_guide_runs(tmp_path):
    text = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    script = tmp_path / "first.py"
    script.write_text(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0])
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "True (3,)\n", done.stderr
