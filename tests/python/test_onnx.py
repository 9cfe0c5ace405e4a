"""Trees as ONNX models: onnxruntime gives the same numbers to the last bit."""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import splitwood
from handover import (
    CLASSIFIERS,
    REGRESSORS,
    chain,
    fitted_classifier,
    fitted_outputs,
    fitted_regressor,
    hostile_rows,
)
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

onnx = pytest.importorskip("onnx", reason="models need onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="there is nothing to run models with")


def run(model, X):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, {"X": X}), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", REGRESSORS.values(), ids=REGRESSORS)
def test_a_regressor_predicts_the_same(settings, dtype):
    tree = fitted_regressor(**settings)
    X = hostile_rows(tree, infinite=True, dtype=dtype)
    predicted = run(tree.to_onnx(dtype), X)
    np.testing.assert_array_equal(predicted["prediction"], tree.predict(X), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_predicts_the_same(settings, dtype):
    tree = fitted_classifier(**settings)
    X = hostile_rows(tree, infinite=True, dtype=dtype)
    predicted = run(tree.to_onnx(dtype), X)
    np.testing.assert_array_equal(predicted["label"], tree.predict(X))
    np.testing.assert_array_equal(predicted["probabilities"], tree.predict_proba(X), strict=True)


def test_several_outputs_are_predicted():
    tree = fitted_outputs()
    X = hostile_rows(tree)
    np.testing.assert_array_equal(run(tree.to_onnx(), X)["prediction"], tree.predict(X))
    tree = fitted_outputs(classes=True)
    predicted = run(tree.to_onnx(), X)
    for output in range(2):
        np.testing.assert_array_equal(predicted[f"label_{output}"], tree.predict(X)[:, output])
        proba = tree.predict_proba(X)[output]
        np.testing.assert_array_equal(predicted[f"probabilities_{output}"], proba, strict=True)


def test_float64_is_the_default():
    tree = DecisionTreeRegressor().fit(1.7e9 + np.arange(100.0)[:, None], np.arange(100.0))
    X = 1.7e9 + np.arange(-1.0, 101.0, 0.25)[:, None]
    np.testing.assert_array_equal(run(tree.to_onnx(), X)["prediction"], tree.predict(X))


def test_one_row_and_no_row():
    tree = fitted_classifier()
    X = hostile_rows(tree, n_rows=1)
    np.testing.assert_array_equal(run(tree.to_onnx(), X)["label"], tree.predict(X))
    assert run(tree.to_onnx(), X[:0])["probabilities"].shape == (0, 3)


def test_labels_keep_their_kind():
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, str: np.object_}
    for kind, expected in kinds.items():
        labels = [kind(0), kind(1)]
        tree = DecisionTreeClassifier().fit([[0.0], [1.0]], labels)
        predicted = run(tree.to_onnx(), np.array([[0.0], [1.0]]))["label"]
        assert predicted.dtype == expected
        assert predicted.tolist() == labels


def test_a_deep_tree_gives_a_warning():
    with pytest.warns(UserWarning, match="the tree is 20,000 levels deep"):
        chain(20_000).to_onnx()
    tree = chain(4_000)
    X = np.arange(4_000.0)[:, None]
    np.testing.assert_array_equal(run(tree.to_onnx(), X)["prediction"], tree.predict(X))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="dtype: must be float32 or float64, got int64"):
        fitted_regressor().to_onnx(np.int64)


def test_without_onnx_the_error_names_the_extra():
    code = """
import sys
sys.modules["onnx"] = None
import splitwood
try:
    splitwood.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).to_onnx()
except ModuleNotFoundError as error:
    print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "to_onnx needs onnx: pip install 'splitwood[onnx]'\n"


def by_pickle(tree):
    return pickle.loads(pickle.dumps(tree))


def by_dict(tree):
    return splitwood.from_dict(tree.to_dict())


def by_file(tree):
    with tempfile.TemporaryDirectory() as folder:
        tree.save(Path(folder) / "tree")
        return splitwood.load(Path(folder) / "tree")


def input_type(model):
    return model.graph.input[0].type.tensor_type.elem_type


@pytest.mark.parametrize(
    "duplicate",
    [lambda tree: tree, by_pickle, by_dict, by_file],
    ids=["fitted", "pickle", "dict", "file"],
)
def test_rows_are_of_the_dtype_of_the_fit(duplicate):
    types = {np.float32: onnx.TensorProto.FLOAT, np.float64: onnx.TensorProto.DOUBLE}
    for dtype, expected in types.items():
        tree = duplicate(fitted_regressor(dtype=dtype))
        assert input_type(tree.to_onnx()) == expected
        X = hostile_rows(tree, dtype=dtype)
        np.testing.assert_array_equal(run(tree.to_onnx(), X)["prediction"], tree.predict(X))
        for chosen, given in types.items():
            assert input_type(tree.to_onnx(chosen)) == given


# ---- categories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [3, 30, 200])
@pytest.mark.parametrize("missing", [False, True])
def test_categories_that_are_numbers_are_cells(n_labels, missing, dtype):
    rng = np.random.default_rng(n_labels)
    labels = rng.permutation(n_labels) * 3 - 7
    X = np.column_stack([rng.choice(labels, 600), rng.random(600)]).astype(dtype)
    y = np.sin(X[:, 0]) + X[:, 1]
    if missing:
        X[rng.random(600) < 0.1] = np.nan
    rows = np.concatenate([X, [[np.nan, 0.5], [1e6, 0.5], [0.5, np.nan]]]).astype(dtype)
    tree = DecisionTreeRegressor(max_depth=8, categorical_features=[0]).fit(X, y)
    predicted = run(tree.to_onnx(dtype), rows)["prediction"]
    np.testing.assert_array_equal(predicted, tree.predict(rows), strict=True)
    classes = np.where(y > 0.5, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=8, categorical_features=[0]).fit(X, classes)
    predicted = run(tree.to_onnx(dtype), rows)
    np.testing.assert_array_equal(predicted["label"], tree.predict(rows))
    np.testing.assert_array_equal(predicted["probabilities"], tree.predict_proba(rows))


def test_other_categories_are_codes():
    rng = np.random.default_rng(0)
    words = np.array(["Bonn", "Lima", "Oslo", "Rome"], dtype=object)
    X = np.column_stack([words[rng.integers(0, 4, 200)], rng.random(200)])
    y = np.array([len(word) * (word > "M") for word in X[:, 0]]) + X[:, 1].astype(float)
    tree = DecisionTreeRegressor(max_depth=4, categorical_features=[0]).fit(X, y)
    codes = {label: code for code, label in enumerate(tree.categories_[0])}
    rows = np.concatenate([X[:50], [["Paris", 0.5], [None, 0.5]]])
    cells = np.array([[codes.get(word, np.nan), number] for word, number in rows], dtype=float)
    predicted = run(tree.to_onnx(np.float64), cells)["prediction"]
    np.testing.assert_array_equal(predicted, tree.predict(rows))


def test_labels_that_float32_does_not_have_are_refused():
    X = np.array([[0.1], [0.5], [0.7]] * 3)
    tree = DecisionTreeRegressor(categorical_features=[0]).fit(X, np.arange(9.0))
    np.testing.assert_array_equal(run(tree.to_onnx(np.float64), X)["prediction"], tree.predict(X))
    with pytest.raises(ValueError, match="dtype: float32 does not hold the label"):
        tree.to_onnx(np.float32)
