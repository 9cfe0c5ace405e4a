"""Sparse X: the same model as for the same cells in an array."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.tree

from scripts import run_script
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from trees import STATISTICS

KINDS = [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor, ExtraTreeClassifier]


def problem(dtype=np.float64, n=300, missing=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8)).astype(dtype)
    X[rng.random(X.shape) < 0.7] = 0.0
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 > 0.3).astype(int)
    return X, y


def assert_same_model(sparse, dense, X):
    for name in STATISTICS:
        np.testing.assert_allclose(
            getattr(sparse.tree_, name), getattr(dense.tree_, name), rtol=1e-12, atol=1e-15
        )
    np.testing.assert_array_equal(sparse.tree_.threshold, dense.tree_.threshold)
    np.testing.assert_array_equal(sparse.tree_.feature, dense.tree_.feature)
    rows = scipy.sparse.csr_matrix(X)
    np.testing.assert_array_equal(sparse.apply(rows), dense.apply(X))
    np.testing.assert_array_equal(sparse.predict(rows), dense.predict(X))
    path = sparse.decision_path(rows)
    assert (path != dense.decision_path(X)).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csc", "csr", "coo", "lil"])
def test_the_same_model(kind, dtype, form):
    X, y = problem(dtype)
    settings = {"random_state": 0, "min_samples_leaf": 2}
    sparse = kind(**settings).fit(scipy.sparse.coo_matrix(X).asformat(form), y)
    assert_same_model(sparse, kind(**settings).fit(X, y), X)


@pytest.mark.parametrize("criterion", ["absolute_error", "quantile", "poisson", "squared_error"])
def test_every_criterion(criterion):
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y))
    dense = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y, weight)
    sparse = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(
        scipy.sparse.csc_array(X), y, weight
    )
    assert_same_model(sparse, dense, X)


def test_leaf_values_of_sparse_rows():
    X, y = problem()
    settings = {"max_depth": 3, "leaf_value": lambda y, w: float(len(y))}
    dense = DecisionTreeRegressor(**settings).fit(X, y)
    sparse = DecisionTreeRegressor(**settings).fit(scipy.sparse.csc_matrix(X), y)
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(X))


def test_probabilities_of_sparse_rows():
    X, y = problem()
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(scipy.sparse.csr_matrix(X)), model.predict_proba(X)
    )


def test_duplicates_are_added_up_and_the_matrix_is_left_alone():
    X = scipy.sparse.csc_matrix(
        (np.array([1.0, 2.0, 5.0]), np.array([0, 0, 2]), np.array([0, 3])), shape=(3, 1)
    )
    model = DecisionTreeRegressor().fit(X, [3.0, 0.0, 5.0])
    assert X.nnz == 3
    np.testing.assert_array_equal(model.tree_.threshold[:2], [1.5, -2.0])


def test_memory_grows_with_the_entries_not_with_the_cells():
    """As an array, X would take 10 GB. Where the system can limit a process, 0.5 GB must do."""
    right_feature, prediction = run_script("""
    import json, sys
    from pathlib import Path
    import numpy as np
    import scipy.sparse
    from splitwood import DecisionTreeRegressor

    n_rows, n_columns = 20_000, 125_000
    rng = np.random.default_rng(0)
    entries = rng.integers(0, [n_rows, n_columns], size=(1000, 2))
    X = scipy.sparse.csc_matrix(
        (np.ones(1000), entries.T), shape=(n_rows, n_columns), dtype=np.float32
    )
    row, column = entries[0]
    y = np.asarray(X[:, [column]].todense()).ravel()
    # The first fit starts the threads, which takes address space.
    DecisionTreeRegressor().fit(rng.normal(size=(20_000, 2)), y)
    if sys.platform.startswith("linux"):
        import resource
        lines = Path("/proc/self/status").read_text().splitlines()
        in_use = next(int(line.split()[1]) for line in lines if line.startswith("VmSize")) * 1024
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (in_use + (1 << 29), hard))
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    print(json.dumps([bool(model.tree_.feature[0] == column), model.predict(X[[row]]).tolist()]))
    """)
    assert right_feature
    assert prediction == [1.0]


def test_as_scikit_learn_fits_sparse_rows():
    X, y = problem(np.float32, missing=False)
    columns = scipy.sparse.csc_matrix(X)
    settings = {"max_depth": 4, "min_samples_leaf": 10}
    ours = DecisionTreeClassifier(**settings).fit(columns, y)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **settings).fit(columns, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
