"""Prediction: which input skips scikit-learn's validation, and how much memory it allocates."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
from splitwood import _estimators as estimators
from splitwood import _sklearn_inputs as inputs

METHODS = ("predict", "predict_proba", "predict_log_proba", "apply", "decision_path")


@pytest.fixture
def validations(monkeypatch):
    """Counts the calls of scikit-learn's validation."""
    calls = []
    validate = inputs.validate_data

    def counting(*args, **settings):
        calls.append(args)
        return validate(*args, **settings)

    monkeypatch.setattr(inputs, "validate_data", counting)
    return calls


@pytest.fixture
def model():
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=4).fit(X[:, :3], y)


ROW = np.array([[14.0, 20.0, 90.0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "X",
    [
        ROW,
        ROW.astype(np.float32),
        np.asfortranarray(np.repeat(ROW, 5, axis=0)),
        np.repeat(ROW, 6, axis=0)[::-2],
        np.broadcast_to(ROW, (4, 3)),
    ],
    ids=["float64", "float32", "fortran", "strided", "broadcast"],
)
def test_plain_arrays_skip_the_validation(method, X, model, validations):
    validations.clear()
    actual = getattr(model, method)(X)
    assert not validations
    expected = getattr(model, method)(X.tolist() if X.dtype == np.float64 else pd.DataFrame(X))
    assert validations
    if method == "decision_path":
        actual, expected = actual.toarray(), expected.toarray()
    np.testing.assert_array_equal(actual, expected, strict=True)


class Derived(np.ndarray):
    pass


PACKED = np.zeros(1, dtype=[("pad", "i1"), ("x", "f8", (3,))])["x"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "X",
    [
        ROW.tolist(),
        ROW.astype(np.int64),
        ROW.astype(np.float16),
        ROW.astype(">f8"),
        ROW.view(Derived),
        PACKED,
        pd.DataFrame(ROW),
    ],
    ids=["list", "int", "float16", "big-endian", "subclass", "packed", "frame"],
)
def test_everything_else_is_validated(method, X, model, validations):
    validations.clear()
    getattr(model, method)(X)
    assert len(validations) == 1


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("X", [csr_matrix(ROW), ROW.tolist()], ids=["sparse", "list"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("has_names", [False, True])
def test_rows_are_validated_once(method, X, n_outputs, has_names, validations):
    rows, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows = rows.iloc[:, :3] if has_names else rows.iloc[:, :3].to_numpy()
    targets = y if n_outputs == 1 else np.stack([y, 1 - y], axis=1)
    model = DecisionTreeClassifier(max_depth=4).fit(rows, targets)
    validations.clear()
    getattr(model, method)(X)
    assert len(validations) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "X",
    [
        ROW[0],
        ROW[None],
        ROW[:, :2],
        np.ones((1, 4)),
        np.ones((0, 3)),
        np.ones((1, 0)),
        np.float64(1),
    ],
    ids=["1-d", "3-d", "narrow", "wide", "no rows", "no columns", "number"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_refusals_are_those_of_scikit_learn(method, X, dtype, model):
    X = X.astype(dtype)
    theirs = sklearn.tree.DecisionTreeClassifier().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match=r".") as expected:
        getattr(theirs, method)(X)
    with pytest.raises(ValueError, match=r".") as actual:
        getattr(model, method)(X)
    # scikit-learn converts to float32 first and says so.
    assert str(actual.value).splitlines()[0] == str(expected.value).splitlines()[0]


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_arrays_for_a_model_with_names_warn_as_in_scikit_learn(kind):
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    messages = []
    for package in (sklearn.tree, estimators):
        model = getattr(package, f"DecisionTree{kind}")().fit(frame, [0, 1, 2])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.predict(np.eye(3))
            model.predict(frame)
        messages.append([str(warning.message) for warning in caught])
    assert messages[0] == messages[1]
    assert len(messages[1]) == 1


def test_names_for_a_model_without_warn_as_in_scikit_learn():
    model = DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))


def test_a_second_fit_is_what_counts():
    model = DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2])
    model.predict(np.eye(3))
    model.fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.eye(3))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7, 9]),
        np.array([3.0, 7.0, 9.0], np.float32),
        np.array([False, True, True]),
        np.array(["a", "bb", "c"]),
        np.array(["a", "bb", "c"], object),
    ],
    ids=lambda labels: str(labels.dtype),
)
@pytest.mark.parametrize("rows", [1, 40, (1 << 15) - 1, 1 << 15, 70_000])
def test_labels_are_those_of_the_largest_shares(labels, rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = DecisionTreeClassifier(max_depth=2).fit(X, labels[rng.integers(3, size=60)])
    X = rng.normal(size=(rows, 2))
    shares = model.predict_proba(X)
    expected = model.classes_[shares.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected, strict=True)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares), strict=True)


@pytest.mark.parametrize("depth", [6, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bit_identical_to_the_tree_walked_in_python(depth, dtype):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(dtype)
    X[::7, 2] = np.nan
    model = DecisionTreeRegressor(max_depth=depth).fit(X, y)
    tree = model.tree_
    arrays = (tree.children_left, tree.children_right, tree.feature, tree.threshold)
    left, right, feature, threshold = (array.tolist() for array in arrays)
    missing_left = tree.missing_go_to_left.tolist()
    leaves = []
    for row in X.tolist():
        node = 0
        while left[node] >= 0:
            cell = row[feature[node]]
            goes_left = missing_left[node] if cell != cell else cell <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves.append(node)
    np.testing.assert_array_equal(model.apply(X), leaves)
    np.testing.assert_array_equal(model.predict(X), tree.value[leaves, 0, 0], strict=True)


PEAK = """
    import ctypes, gc
    from pathlib import Path
    import numpy as np
    from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

    def resident(field):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024

    def added(predict):
        for _ in range(2):  # what is made once comes first
            size = predict(X).nbytes
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        result = predict(X)
        return resident("VmHWM") - before - size

    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(500_000, 10)), dtype=np.{dtype}, order="{order}")
    y = X[:, 0] * X[:, 1]
    values = DecisionTreeRegressor(max_depth=6).fit(X[:20_000], y[:20_000])
    codes = np.digitize(y, [-1, -0.5, 0, 0.5, 1])
    classes = DecisionTreeClassifier(max_depth=6).fit(X[:20_000], codes[:20_000])
    for model, method in (
        (values, "predict"),
        (values, "apply"),
        (classes, "predict"),
        (classes, "predict_proba"),
        (classes, "predict_log_proba"),
    ):
        print(method, added(getattr(model, method)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
@pytest.mark.parametrize(("dtype", "order"), [("float32", "C"), ("float64", "C"), ("float64", "F")])
def test_a_prediction_adds_its_result_to_the_memory_and_little_else(dtype, order):
    code = textwrap.dedent(PEAK).format(dtype=dtype, order=order)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    for line in lines:
        method, added = line.split()
        assert int(added) < 400_000, (method, added)
