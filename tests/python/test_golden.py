"""Models and pickles that earlier versions wrote, with the predictions of those versions."""

import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest

import splitwood

FOLDER = Path(__file__).parents[1] / "golden"
FILES = sorted(FOLDER.glob("*/*.splitwood"))
PICKLES = sorted(FOLDER.glob("pickles/*/*.pickle"))


def read_lines(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split(",") for line in lines]


def read_rows(path):
    return np.array([[float(cell or "nan") for cell in row] for row in read_lines(path)])


def test_there_are_models_of_every_kind():
    names = {file.stem for file in FILES if file.parent.name == "1.0"}
    assert names == {
        "regressor",
        "weighted-median-of-a-frame",
        "string-classes",
        "object-classes",
        "int32-classes",
        "bool-classes",
        "float-classes",
        "two-numbers",
        "two-classes",
        "leaf",
    }
    assert {file.stem for file in FILES if file.parent.name == "1.1"} == {"many-categories"}
    forests = {file.stem for file in FILES if file.parent.name == "1.2"}
    assert forests == {"forest", "forest-of-classes", "quantile-forest"}


@pytest.mark.parametrize("as_estimator", [True, False])
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_golden_models_answer_as_they_did(file, as_estimator):
    X = read_rows(file.with_name("rows.csv"))
    expected = read_lines(file.with_suffix(".expected.csv"))
    assert len(X) == len(expected) == 60
    model = splitwood.load(file, as_estimator=as_estimator)
    if as_estimator and hasattr(model, "feature_names_in_"):
        # An array without names gives a warning.
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    n_outputs = model.n_outputs_
    answers = model.predict(X).reshape(len(X), n_outputs).tolist()
    assert [list(map(str, answer)) for answer in answers] == [line[:n_outputs] for line in expected]
    if hasattr(model, "classes_"):
        shares = np.array([[float(share) for share in line[n_outputs:]] for line in expected])
        proba = model.predict_proba(X)
        for j, output in enumerate([proba] if n_outputs == 1 else proba):
            expected_shares = np.split(shares, n_outputs, axis=1)[j][:, : output.shape[1]]
            np.testing.assert_array_equal(output, expected_shares, strict=True)


def test_golden_labels_have_their_dtypes():
    dtypes = {
        file.stem: splitwood.load(file).classes_.dtype.str
        for file in FILES
        if file.stem.endswith("-classes")
        and file.stem != "two-classes"
        and file.parent.name == "1.0"
    }
    assert dtypes == {
        "string-classes": "<U4",
        "object-classes": "|O",
        "int32-classes": "<i4",
        "bool-classes": "|b1",
        "float-classes": "<f8",
    }


# ---- pickles -------------------------------------------------------------------------------------


def names_of_ours(data):
    """The strings in a pickle that name our modules and classes."""
    words = {word for _, word, _ in pickletools.genops(data) if isinstance(word, str)}
    return {word for word in words if word.startswith("splitwood") or word in splitwood.__all__}


def test_there_are_pickles_of_every_estimator():
    names = {file.stem for file in PICKLES if file.parent.name == "0.1.0"}
    assert names == {
        "DecisionTreeRegressor",
        "DecisionTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreeClassifier",
        "categories",
    }


@pytest.mark.parametrize("file", PICKLES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_golden_pickles_answer_as_they_did(file):
    X = read_rows(file.with_name("rows.csv"))
    expected = [label for (label,) in read_lines(file.with_suffix(".expected.csv"))]
    model = pickle.loads(file.read_bytes())
    assert [str(label) for label in model.predict(X).tolist()] == expected
    assert len(expected) == 60


@pytest.mark.parametrize("file", PICKLES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_pickles_name_the_modules_that_earlier_ones_name(file):
    """A class that moves to another module can't be found by the versions before."""
    data = file.read_bytes()
    names = names_of_ours(data)
    assert {"splitwood._core"} < names
    assert names_of_ours(pickle.dumps(pickle.loads(data), protocol=4)) == names
