"""Loading and predicting need numpy only."""

import json
import subprocess
import sys
import textwrap
import xml

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import splitwood
from scripts import WITHOUT_SKLEARN
from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(200, 3)), 1)
X[RNG.random(X.shape) < 0.1] = np.nan
LABELS = np.where(np.nan_to_num(X[:, 0]) > 0.1, "yes", "no")


def run(script, *arguments):
    code = textwrap.dedent(WITHOUT_SKLEARN) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("by", ["load", "from_dict"])
def test_models_answer_without_sklearn(tmp_path, by):
    regressor = DecisionTreeRegressor(max_depth=5, n_jobs=1).fit(X, np.nan_to_num(X[:, 1]))
    classifier = DecisionTreeClassifier(max_depth=5).fit(X, LABELS)
    np.save(tmp_path / "X.npy", X)
    for name, model in [("regressor", regressor), ("classifier", classifier)]:
        model.save(tmp_path / name)
        (tmp_path / f"{name}.json").write_text(json.dumps(model.to_dict()))
        for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
            if hasattr(model, method):
                np.save(tmp_path / f"{name}.{method}.npy", getattr(model, method)(X))
    run(
        """
        import json, pathlib
        import numpy as np, splitwood

        folder, by = pathlib.Path(sys.argv[1]), sys.argv[2]
        X = np.load(folder / "X.npy")
        for name in ("regressor", "classifier"):
            if by == "load":
                model = splitwood.load(folder / name)
            else:
                model = splitwood.from_dict(json.loads((folder / f"{name}.json").read_text()))
            assert isinstance(model, splitwood.Model)
            compared = 0
            for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
                file = folder / f"{name}.{method}.npy"
                assert file.exists() == hasattr(model, method), method
                if file.exists():
                    np.testing.assert_array_equal(getattr(model, method)(X), np.load(file), strict=True)
                    compared += 1
            assert compared == (2 if name == "regressor" else 4)
        splitwood.running_median([1.0, 2.0])
        assert not {"sklearn", "scipy"} & sys.modules.keys()
        """,
        tmp_path,
        by,
    )


def test_what_needs_sklearn_says_so(tmp_path):
    DecisionTreeRegressor(max_depth=1).fit(X, X[:, 1] > 0).save(tmp_path / "model")
    run(
        """
        import splitwood

        for attempt in (
            lambda: splitwood.DecisionTreeRegressor,
            lambda: splitwood.load(sys.argv[1], as_estimator=True),
        ):
            try:
                attempt()
            except ImportError as error:
                wanted = "splitwood.DecisionTreeRegressor needs scikit-learn: pip install scikit-learn"
                assert str(error) == wanted, error
            else:
                raise AssertionError("imported")
        """,
        tmp_path / "model",
    )


def test_the_package_is_imported_without_sklearn_even_where_it_is():
    code = "import sys, splitwood; assert not {'sklearn', 'scipy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_lazy_names_are_listed_and_others_refused():
    names = dir(splitwood)
    assert {"DecisionTreeRegressor", "DecisionTreeClassifier", "load"} <= set(names)
    assert all(hasattr(splitwood, name) for name in names)
    # Nothing else but what every package has: no private modules, no imports.
    package = set(dir(xml)) - set(xml.__all__)
    assert set(splitwood.__all__) <= set(names) <= set(splitwood.__all__) | package
    with pytest.raises(AttributeError, match="no attribute 'Novelty'"):
        splitwood.Novelty  # noqa: B018


# ---- a Model accepts what an estimator accepts ---------------------------------------------------


@pytest.fixture
def pair(tmp_path):
    estimator = DecisionTreeClassifier(max_depth=5).fit(X, LABELS)
    estimator.save(tmp_path / "model")
    return estimator, splitwood.load(tmp_path / "model", as_estimator=False)


INPUTS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "big-endian": X.astype(">f8"),
    "int": np.nan_to_num(X).astype(np.int32),
    "bool": X > 0,
    "object": X.astype(object),
    "Fortran": np.asfortranarray(X),
    "strides": np.repeat(X, 2, axis=0)[::2],
    "backwards": X[::-1],
    "list": np.nan_to_num(X).tolist(),
    "one row": X[:1],
    "unaligned": np.frombuffer(b"-" + X.tobytes(), dtype=np.uint8)[1:]
    .view(np.float64)
    .reshape(X.shape),
    "pandas": pd.DataFrame(X, columns=list("abc")),
    "polars": pl.DataFrame(X, schema=list("abc")),
    "pyarrow": pa.table({name: X[:, j] for j, name in enumerate("abc")}),
}


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("rows", INPUTS.values(), ids=INPUTS.keys())
def test_a_model_answers_as_the_estimator(pair, rows):
    estimator, model = pair
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        answer, expected = getattr(model, method)(rows), getattr(estimator, method)(rows)
        np.testing.assert_array_equal(answer, expected, strict=True)


@pytest.mark.parametrize(
    "rows",
    [
        X[:, :2],
        X[:0],
        X[0],
        X[None],
        X.astype(complex),
        None,
    ],
)
def test_a_model_refuses_what_the_estimator_refuses(pair, rows):
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        for model in pair:
            with pytest.raises((ValueError, TypeError)):
                getattr(model, method)(rows)


@pytest.mark.parametrize("rows", [[["1", "2", "3"]], np.array([["1", 2, 3]], dtype=object)])
def test_a_model_reads_no_numbers_out_of_strings(pair, rows):
    """scikit-learn reads them as numbers."""
    with pytest.raises(ValueError, match="X: must be a table of numbers"):
        pair[1].predict(rows)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame,
        lambda cells, columns: pl.DataFrame(cells, schema=columns),
        lambda cells, columns: pa.table(list(cells.T.copy()), names=columns),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_a_model_checks_names(tmp_path, table):
    DecisionTreeRegressor(max_depth=2).fit(table(X, columns=list("abc")), X[:, 1] > 0).save(
        tmp_path / "model"
    )
    model = splitwood.load(tmp_path / "model", as_estimator=False)
    assert model.feature_names_in_.tolist() == list("abc")
    assert model.predict(table(X, columns=list("abc"))).tolist() == model.predict(X).tolist()
    for names in ["acb", "xyz"]:
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(table(X, columns=list(names)))


def test_a_model_knows_its_parameters(tmp_path):
    model = DecisionTreeRegressor(max_depth=2, n_jobs=1, min_impurity_decrease=1e-3).fit(
        X, X[:, 1] > 0
    )
    model.save(tmp_path / "model")
    small = splitwood.load(tmp_path / "model", as_estimator=False)
    assert small.parameters == model.get_params()
    assert small.n_jobs == 1
    assert small.n_features_in_ == 3
    assert small.n_outputs_ == 1
    assert "regression model" in repr(small)
    assert not hasattr(small, "predict_proba")
