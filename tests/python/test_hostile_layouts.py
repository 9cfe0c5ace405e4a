"""Hostile case 15: every memory layout, dtype and container of X gives the same model."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from problems import KINDS, random_problem, stump
from splitwood import DecisionTreeRegressor
from trees import assert_same_tree


def packed_records(X):
    """Return the same cells at unaligned addresses."""
    records = np.empty(len(X), dtype=[("pad", "u1"), ("cells", X.dtype, X.shape[1:])])
    records["cells"] = X
    assert not records["cells"].flags.aligned
    return records["cells"]


def memory_mapped(X):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        return np.load(path, mmap_mode="r")


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "fortran": np.asfortranarray,
    "every second cell": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "packed records": packed_records,
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X),
    "frame with pd.NA type": lambda X: pd.DataFrame(X).convert_dtypes(),
    "objects": lambda X: X.astype(object),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@KINDS
def test_case_15_every_layout_gives_the_same_model(kind, layout):
    X, y = random_problem(kind)
    X_other = LAYOUTS[layout](X)
    expected = kind().fit(X, y)
    actual = kind().fit(X_other, y)
    assert_same_tree(actual, expected)
    np.testing.assert_array_equal(actual.predict(X_other), expected.predict(X))
    np.testing.assert_array_equal(actual.apply(X_other), expected.apply(X))
    np.testing.assert_array_equal(expected.predict(X_other), expected.predict(X))


@pytest.mark.parametrize("dtype", ["i1", "i8", "u2", "?", "f2", "f4", "g", ">i4"])
def test_case_15_every_dtype_gives_the_same_model(dtype):
    X, y = random_problem(DecisionTreeRegressor)
    X = np.round(np.abs(X)).astype(dtype)
    expected = DecisionTreeRegressor().fit(X.astype(np.float64), y)
    actual = DecisionTreeRegressor().fit(X, y)
    assert_same_tree(actual, expected)
    np.testing.assert_array_equal(actual.predict(X), expected.predict(X.astype(np.float64)))


@pytest.mark.parametrize("layout", ["fortran", "every second cell", "read-only"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_15_the_estimator_does_not_copy_the_rows(layout, dtype):
    X, y = random_problem(DecisionTreeRegressor, (2000, 50))
    X = LAYOUTS[layout](X.astype(dtype))
    # The first fit allocates what is kept for later ones.
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    tracemalloc.start()
    model.fit(X, y).predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.size * X.itemsize / 2


def test_case_15_models_predict_rows_of_the_other_precision():
    X, y = random_problem(DecisionTreeRegressor)
    X = X.astype(np.float32)
    narrow, wide = (DecisionTreeRegressor().fit(X.astype(t), y) for t in (np.float32, np.float64))
    assert_same_tree(narrow, wide)
    np.testing.assert_array_equal(narrow.predict(X.astype(np.float64)), wide.predict(X))


def test_case_15_float64_rows_are_compared_exactly_by_a_float32_model():
    model = stump(np.array([1.0, 1.0 + 2.0**-23], dtype=np.float32), [1.0, 2.0])
    assert model.tree_.threshold[0] == 1.0 + 2.0**-24
    rows = np.array([[1.0 + 2.0**-24], [1.0 + 2.0**-24 + 2.0**-50]])
    assert model.predict(rows).tolist() == [1.0, 2.0]
