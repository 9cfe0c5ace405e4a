"""Pipelines and ensembles as ONNX models, by the converter for skl2onnx."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    VotingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import splitwood
from handover import (
    CLASSIFIERS,
    REGRESSORS,
    fitted_categories,
    fitted_classifier,
    fitted_outputs,
    fitted_regressor,
    hostile_rows,
    training_rows,
)
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

skl2onnx = pytest.importorskip("skl2onnx", reason="the converter needs skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="there is nothing to run models with")

splitwood.register_skl2onnx()
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def run(estimator, X, **options):
    model = skl2onnx.to_onnx(estimator, X[:1], options=options or None)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: X})


@DTYPES
@pytest.mark.parametrize("settings", REGRESSORS.values(), ids=REGRESSORS)
def test_a_regressor_predicts_the_same(settings, dtype):
    tree = fitted_regressor(**settings)
    X = hostile_rows(tree, infinite=True, dtype=dtype)
    (predicted,) = run(tree, X)
    np.testing.assert_array_equal(predicted[:, 0], tree.predict(X).astype(dtype), strict=True)


@DTYPES
@pytest.mark.parametrize("settings", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_predicts_the_same(settings, dtype):
    tree = fitted_classifier(**settings)
    X = hostile_rows(tree, infinite=True, dtype=dtype)
    label, probabilities = run(tree, X, zipmap=False)
    np.testing.assert_array_equal(label, tree.predict(X))
    expected = tree.predict_proba(X).astype(dtype)
    np.testing.assert_array_equal(probabilities, expected, strict=True)


def test_options_of_skl2onnx_are_known():
    tree = fitted_classifier()
    X = hostile_rows(tree, dtype=np.float32)
    label, maps = run(tree, X)
    assert list(maps[0]) == tree.classes_.tolist()
    np.testing.assert_array_equal(label, tree.predict(X))
    codes, _ = run(tree, X, zipmap=False, nocl=True)
    np.testing.assert_array_equal(tree.classes_[codes], tree.predict(X))
    *_, classes = run(tree, X, zipmap=False, output_class_labels=True)
    assert classes.tolist() == tree.classes_.tolist()


def test_several_outputs_of_a_regressor_and_none_of_a_classifier():
    tree = fitted_outputs()
    X = hostile_rows(tree)
    np.testing.assert_array_equal(run(tree, X)[0], tree.predict(X))
    with pytest.raises(NotImplementedError, match=r"several outputs .* to_onnx"):
        run(fitted_outputs(classes=True), X)


def test_integers_are_read_exactly():
    X = 2**30 + np.arange(20)[:, None]
    tree = DecisionTreeRegressor().fit(X, np.arange(20.0))
    assert run(tree, X)[0][:, 0].tolist() == list(range(20))


X = training_rows(0, missing=False, dtype=np.float32)[:, :3]
Y = np.sin(X[:, 0]) + X[:, 1]
NAMES = np.where(Y > 1.0, "high", "low")


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)), NAMES),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=4), random_state=0), NAMES),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), random_state=0), NAMES),
        (make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=4)), Y),
        (BaggingRegressor(DecisionTreeRegressor(max_depth=4), random_state=0), Y),
        (AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), random_state=0), Y),
        (VotingRegressor([("tree", ExtraTreeRegressor(max_depth=4, random_state=0))]), Y),
    ],
    ids=lambda case: type(case).__name__ if hasattr(case, "fit") else "",
)
def test_pipelines_and_ensembles_predict_the_same(estimator, y):
    estimator.fit(X, y)
    expected = estimator.predict(X)
    if y is NAMES:
        label, _ = run(estimator, X, zipmap=False)
        # The scaler and the averages of ensembles round in float32.
        assert (label == expected).mean() > 0.99
    else:
        np.testing.assert_allclose(run(estimator, X)[0][:, 0], expected, rtol=1e-5, atol=1e-5)


FORESTS = {
    "random": (RandomForestRegressor, RandomForestClassifier),
    "extra": (ExtraTreesRegressor, ExtraTreesClassifier),
}


@DTYPES
@pytest.mark.parametrize(("regressor", "classifier"), FORESTS.values(), ids=FORESTS)
@pytest.mark.parametrize("n_estimators", [1, 7])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_forest_predicts_the_same(regressor, classifier, dtype, n_estimators, in_pipeline):
    """The means are float64 here and there, and are then rounded to the type of the rows."""
    rows = X.astype(dtype)
    settings = {"n_estimators": n_estimators, "random_state": 0}
    # A step that rounds nothing: every row reaches the same leaves.
    steps = [FunctionTransformer()] if in_pipeline else []
    forest = make_pipeline(*steps, regressor(**settings)).fit(rows, Y)
    forest = forest if in_pipeline else forest[-1]
    (predicted,) = run(forest, rows)
    expected = forest.predict(rows).astype(dtype)
    np.testing.assert_array_max_ulp(predicted[:, 0], expected, 4)

    forest = make_pipeline(*steps, classifier(max_depth=4, **settings)).fit(rows, NAMES)
    forest = forest if in_pipeline else forest[-1]
    label, shares = run(forest, rows, zipmap=False)
    np.testing.assert_array_equal(label, forest.predict(rows))
    np.testing.assert_array_max_ulp(shares, forest.predict_proba(rows).astype(dtype), 4)


def test_a_forest_with_missing_values_and_several_outputs():
    rows = training_rows(0, missing=True, dtype=np.float32)
    targets = np.nan_to_num(rows[:, :2]) @ [[1.0, 2.0], [0.5, -1.0]]
    forest = RandomForestRegressor(5, random_state=0).fit(rows, targets)
    np.testing.assert_array_max_ulp(run(forest, rows)[0], forest.predict(rows).astype("f4"), 4)


def test_categories_are_refused():
    with pytest.raises(ValueError, match="skl2onnx: splits on categories can't be converted yet"):
        run(fitted_categories(), np.zeros((1, 2)))


def test_without_skl2onnx_the_error_says_how_to_install_it():
    code = """
import sys
sys.modules["skl2onnx"] = None
import splitwood
try:
    splitwood.register_skl2onnx()
except ModuleNotFoundError as error:
    print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "register_skl2onnx needs skl2onnx: pip install skl2onnx\n"
