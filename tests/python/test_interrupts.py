"""Ctrl-C ends a long fit or prediction at once, and the estimator stays as it was.

The limit is one second. Other work on the machine may cause delays, so the tests allow five.
Measured times are in docs/reliability.md.
"""

import pytest

from scripts import POSIX, run_script

pytestmark = POSIX

SLACK_SECONDS = 5.0

# Each piece of work takes several seconds unless it is interrupted.
SCRIPT = """
    import json, os, pickle, signal, sys, threading, time
    import numpy as np
    from scipy.sparse import csr_array, random as random_sparse
    from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
    sys.path.insert(0, {folder!r})
    from handover import chain

    # A background job of a shell starts with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    rng = np.random.default_rng(0)
    n = 600_000
    X = rng.random((n, 20), dtype=np.float32)
    y = rng.normal(size=n)
    outputs = y.reshape(-1, 3)
    sparse = random_sparse(200_000, 50, 0.2, format="csc", random_state=rng)

    def fit(kind, X, y, **settings):
        model = kind(**settings)
        small = slice(0, 50)
        model.fit(X[small], y[small])
        before = pickle.dumps(model)
        def work():
            model.fit(X, y)
        return work, lambda: pickle.dumps(model) == before

    # Long runs over one feature would be searched, not walked.
    deep = chain(20_000, n_features=2)
    lowest = np.full((400_000, 2), -1.0)
    many = np.broadcast_to(np.float64(-1.0), (20_000_000, 2))
    state = pickle.dumps(deep)

    def predict(method, X):
        return lambda: getattr(deep, method)(X), lambda: pickle.dumps(deep) == state

    R, C = DecisionTreeRegressor, DecisionTreeClassifier
    labels = rng.integers(0, 5, n)
    works = {{
        "squared error, 1 thread": fit(R, X, y, n_jobs=1),
        "squared error": fit(R, X, y),
        "absolute error, 1 thread": fit(R, X, y, n_jobs=1, criterion="absolute_error"),
        "absolute error": fit(R, X, y, criterion="absolute_error"),
        "gini": fit(C, X, labels),
        "poisson": fit(R, X, y**2, criterion="poisson"),
        "max_features, 1 thread": fit(R, X, y, n_jobs=1, max_features=15),
        "max_features": fit(R, X, y, max_features=15),
        "max_leaf_nodes": fit(R, X, y, max_leaf_nodes=1000),
        "forest, 1 thread": fit(RandomForestRegressor, X, y, n_jobs=1, random_state=0),
        "forest": fit(RandomForestRegressor, X, y, random_state=0, oob_score=True),
        "several outputs": fit(R, X[: n // 3], outputs),
        "sparse rows": fit(R, sparse, y[:200_000]),
        "predict": predict("predict", many),
        "predict, deep tree": predict("predict", lowest),
        "apply": predict("apply", lowest),
        "decision_path": predict("decision_path", np.full((20_000, 2), -1.0)),
        "sparse apply": predict("apply", csr_array(lowest)),
    }}

    def interrupt(work):
        sent = []
        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, send).start()
        try:
            work()
        except KeyboardInterrupt:
            return time.perf_counter() - sent[0]
        return None

    outcomes = {{name: (interrupt(work), is_as_it_was()) for name, (work, is_as_it_was) in works.items()}}

    # A fit in another thread goes on, whatever the main thread is told.
    part = slice(0, 100_000)
    elsewhere = DecisionTreeRegressor()
    other = threading.Thread(target=lambda: elsewhere.fit(X[part], y[part]))
    other.start()
    seconds = interrupt(works["squared error"][0])
    other.join()
    same = DecisionTreeRegressor().fit(X[part], y[part])
    outcomes["beside another thread"] = seconds, pickle.dumps(elsewhere) == pickle.dumps(same)
    print(json.dumps(outcomes))
"""

WORKS = [
    "squared error, 1 thread",
    "squared error",
    "absolute error, 1 thread",
    "absolute error",
    "gini",
    "poisson",
    "max_features, 1 thread",
    "max_features",
    "max_leaf_nodes",
    "forest, 1 thread",
    "forest",
    "several outputs",
    "sparse rows",
    "predict",
    "predict, deep tree",
    "apply",
    "decision_path",
    "sparse apply",
    "beside another thread",
]


@pytest.fixture(scope="module")
def outcomes(request):
    """Per piece of work: seconds from signal to exception, and whether the model is unchanged."""
    return run_script(SCRIPT.format(folder=str(request.path.parent)))


@pytest.mark.parametrize("work", WORKS)
def test_case_08_an_interrupt_ends_the_work_and_changes_nothing(work, outcomes):
    seconds, is_as_it_was = outcomes[work]
    assert seconds is not None, "the work was done before the signal"
    assert seconds < SLACK_SECONDS
    assert is_as_it_was
