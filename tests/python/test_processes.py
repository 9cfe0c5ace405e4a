"""Forks, worker processes and limits on CPUs: fits complete, with no more threads than allowed."""

import os

import pytest

from scripts import LINUX, POSIX, run_script
from splitwood import _core

DATA = """
    import json, os, sys
    from pathlib import Path
    import numpy as np
    from splitwood import DecisionTreeRegressor, _core

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 4)), rng.normal(size=20_000)

    def workers():
        "The number of splitwood's threads in this process."
        names = [task.joinpath("comm").read_text() for task in Path("/proc/self/task").iterdir()]
        return sum(name.startswith("splitwood-") for name in names)

    def fit_and_count(n_jobs=None):
        model = DecisionTreeRegressor(n_jobs=n_jobs).fit(X, y)
        return os.getpid(), workers(), float(model.predict(X).sum())
"""


def run(body, **environment):
    return run_script(DATA, body, **environment)


def check(answers, processes):
    """Assert the same tree in all processes; return the total number of threads."""
    assert len({total for _, _, total in answers}) == 1
    threads = {process: count for process, count, _ in answers}
    assert len(threads) <= processes
    assert all(1 <= count <= _core.available_threads() for count in threads.values())
    return sum(threads.values())


@LINUX
def test_case_07_a_forked_child_fits_and_predicts_with_threads_of_its_own():
    answers = run("""
    here = fit_and_count()
    model = DecisionTreeRegressor().fit(X, y)
    read, write = os.pipe()
    if os.fork() == 0:
        again = fit_and_count()
        assert float(model.predict(X).sum()) == again[2]
        os.write(write, json.dumps(again).encode())
        os._exit(0)
    _, status = os.wait()
    assert status == 0
    print(json.dumps([here, json.loads(os.read(read, 1000)), fit_and_count()]))
    """)
    check(answers, processes=2)


@LINUX
def test_case_07_a_fork_of_a_fork():
    answers = run("""
    answers = [fit_and_count()]
    read, write = os.pipe()
    if os.fork() == 0:
        one = fit_and_count()
        if os.fork() == 0:
            os.write(write, json.dumps([one, fit_and_count()]).encode())
            os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    _, status = os.wait()
    assert status == 0
    print(json.dumps(answers + json.loads(os.read(read, 1000))))
    """)
    check(answers, processes=3)


@LINUX
def test_case_07_a_fork_while_another_thread_fits():
    answers = run("""
    import threading
    stop = threading.Event()
    def fit_on():
        while not stop.is_set():
            fit_and_count()
    busy = threading.Thread(target=fit_on)
    busy.start()
    for _ in range(10):
        child = os.fork()
        if child == 0:
            fit_and_count()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    busy.join()
    print(json.dumps([fit_and_count()]))
    """)
    check(answers, processes=1)


@LINUX
def test_case_07_a_forked_pool_of_processes():
    answers = run("""
    import multiprocessing
    answers = [fit_and_count()]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers += pool.map(fit_and_count, [1] * 4)
    print(json.dumps(answers))
    """)
    check(answers, processes=3)


@LINUX
def test_case_07_workers_of_joblib_share_the_cpus():
    """loky limits the threads of its workers."""
    answers = run("""
    from joblib import Parallel, delayed
    answers = Parallel(n_jobs=2, backend="loky")(delayed(fit_and_count)() for _ in range(6))
    print(json.dumps(answers))
    """)
    assert check(answers, processes=2) <= max(2, os.cpu_count())


@LINUX
def test_case_07_threads_of_joblib_share_one_pool():
    answers = run("""
    from joblib import Parallel, delayed
    answers = Parallel(n_jobs=4, backend="threading")(delayed(fit_and_count)() for _ in range(12))
    print(json.dumps(answers))
    """)
    assert check(answers, processes=1) <= _core.available_threads()


@POSIX
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_case_07_a_grid_search_with_two_jobs_completes(backend):
    scores = run(f"""
    from joblib import parallel_config
    from sklearn.model_selection import GridSearchCV
    DecisionTreeRegressor(n_jobs=2).fit(X, y)
    grid = GridSearchCV(DecisionTreeRegressor(), {{"max_depth": [2, 5]}}, cv=2, n_jobs=2)
    with parallel_config(backend={backend!r}):
        grid.fit(X, y)
    print(json.dumps(grid.cv_results_["mean_test_score"].tolist()))
    """)
    assert len(scores) == 2
    assert all(score < 0.1 for score in scores)


@LINUX
def test_case_09_no_more_threads_than_the_affinity_mask_allows():
    (answer, allowed) = run("""
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    print(json.dumps([fit_and_count(n_jobs=10**15), _core.available_threads()]))
    """)
    assert allowed == 1
    assert answer[1] == 1


@LINUX
def test_case_09_no_more_threads_than_the_environment_allows():
    (answer, allowed) = run(
        "print(json.dumps([fit_and_count(), _core.available_threads()]))", OMP_NUM_THREADS="1"
    )
    assert allowed == 1
    assert answer[1] == 1


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "RAYON_NUM_THREADS"])
@pytest.mark.parametrize("value", ["1", " 1 ", "1,4"])
def test_case_09_limits_of_the_environment_are_read_as_openmp_reads_them(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    assert _core.available_threads() == 1


@pytest.mark.parametrize("value", ["", "0", "-3", "many", "1e3", str(10**30)])
def test_case_09_limits_that_are_no_number_are_ignored(value, monkeypatch):
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    expected = _core.available_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert _core.available_threads() == expected
