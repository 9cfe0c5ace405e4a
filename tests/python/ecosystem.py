"""What was tried with packages of others: the table of docs/ecosystem.md, as code.

Each trial uses a package as its users do, and fails if a result differs from splitwood's. A trial
with the outcome "no" must fail. ``python tests/python/ecosystem.py`` runs all trials and writes the
table with the versions that are installed; `test_ecosystem.py` compares it.
"""

import importlib.metadata
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import splitwood
from scripts import run_script
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

PAGE = Path(__file__).parents[2] / "docs" / "ecosystem.md"
RULE = "|---|---|---|---|---|"
HEADER = "| package | version tried | straight | through `to_sklearn()` | how |"

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)).astype(np.float32)
Y = np.sin(2.0 * X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0.0, "high", "low")
REGRESSOR = DecisionTreeRegressor(max_depth=5).fit(X, Y)
CLASSIFIER = DecisionTreeClassifier(max_depth=5).fit(X, LABELS)
FOREST = RandomForestRegressor(10, max_depth=5, random_state=0).fit(X, Y)
FOREST_CLASSIFIER = RandomForestClassifier(10, max_depth=5, random_state=0).fit(X, LABELS)
NAMES = ["a", "b", "c", "d"]


def same(predicted, tree=REGRESSOR):
    np.testing.assert_array_equal(np.ravel(predicted), tree.predict(X))


def converted(tree=REGRESSOR):
    return tree.to_sklearn()


# ---- files ---------------------------------------------------------------------------------------


def in_joblib(tree=REGRESSOR):
    import joblib

    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(tree, Path(folder) / "tree.joblib", compress=3)
        same(joblib.load(Path(folder) / "tree.joblib").predict(X))


def in_cloudpickle(tree=REGRESSOR):
    import cloudpickle

    same(cloudpickle.loads(cloudpickle.dumps(tree)).predict(X))


def in_skops(tree=REGRESSOR):
    import skops.io

    data = skops.io.dumps(tree)
    types = skops.io.get_untrusted_types(data=data)
    if tree is REGRESSOR:
        # Nothing but the estimator and its tree needs trust.
        assert types == ["splitwood._core.Tree", "splitwood._estimators.DecisionTreeRegressor"]
    same(skops.io.loads(data, trusted=types).predict(X))


MLFLOW = """
import json, os, pathlib, tempfile, warnings
# A folder without a database, which mlflow creates.
store = pathlib.Path(tempfile.mkdtemp(), "runs").as_uri()
os.environ.update(
    MLFLOW_TRACKING_URI=store, MLFLOW_ALLOW_FILE_STORE="true", MLFLOW_DISABLE_TELEMETRY="true"
)
import mlflow, mlflow.sklearn
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from splitwood import DecisionTreeRegressor
X = np.random.default_rng(0).normal(size=(100, 3))
tree = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
"""


def in_mlflow(conversion=""):
    equal = run_script(
        MLFLOW,
        f"""
    with mlflow.start_run():
        made = mlflow.sklearn.log_model(
            tree{conversion}, name="tree", pip_requirements=[], serialization_format="cloudpickle"
        )
    loaded = mlflow.sklearn.load_model(made.model_uri)
    served = mlflow.pyfunc.load_model(made.model_uri)
    expected = tree{conversion}.predict(X)
    print(json.dumps([(m.predict(X) == expected).all().item() for m in (loaded, served)]))
    """,
    )
    assert equal == [True, True]


# ---- scikit-learn's tools ------------------------------------------------------------------------


def in_sklearn():
    tree = DecisionTreeRegressor()
    search = GridSearchCV(make_pipeline(StandardScaler(), tree), {}, cv=2).fit(X, Y)
    np.testing.assert_allclose(search.predict(X), Y)
    assert sklearn.ensemble.BaggingRegressor(tree, 3, random_state=0).fit(X, Y).score(X, Y) > 0.8
    inspected(REGRESSOR)


def inspected(tree):
    fast, slow = (
        partial_dependence(tree, X, [0], method=method, kind="average")["average"]
        for method in ("recursion", "brute")
    )
    # Both average over the other features: by the nodes' weights, or row by row.
    assert np.corrcoef(fast[0], slow[0])[0, 1] > 0.9
    text = sklearn.tree.export_text(tree)
    assert text.count("value") == REGRESSOR.get_n_leaves()
    assert text == sklearn.tree.export_text(converted())


# ---- explanations and pictures -------------------------------------------------------------------


def in_shap(model=REGRESSOR):
    import shap

    explanation = shap.TreeExplainer(model)(X)
    np.testing.assert_allclose(
        explanation.values.sum(axis=1) + explanation.base_values, REGRESSOR.predict(X), rtol=1e-6
    )


def in_dtreeviz(tree=REGRESSOR):
    import dtreeviz

    drawn = dtreeviz.model(tree, X, Y, feature_names=NAMES, target_name="target")
    assert drawn.shadow_tree.nnodes() == REGRESSOR.tree_.node_count
    assert all(drawn.shadow_tree.predict(row) == REGRESSOR.predict([row])[0] for row in X[:20])


# ---- other runtimes ------------------------------------------------------------------------------


def run_onnx(model, rows=X):
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: rows})


def in_onnxruntime():
    same(run_onnx(REGRESSOR.to_onnx())[0])
    same(run_onnx(CLASSIFIER.to_onnx())[0], CLASSIFIER)


def in_skl2onnx(tree=REGRESSOR, classifier=CLASSIFIER):
    import skl2onnx

    splitwood.register_skl2onnx()
    (predicted,) = run_onnx(skl2onnx.to_onnx(tree, X[:1]))
    np.testing.assert_array_equal(predicted[:, 0], REGRESSOR.predict(X).astype(np.float32))
    pipeline = make_pipeline(StandardScaler().fit(X), classifier)
    labels, _ = run_onnx(skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False}))
    assert (labels == pipeline.predict(X)).all()
    if tree is REGRESSOR:
        (means,) = run_onnx(skl2onnx.to_onnx(FOREST, X[:1]))
        np.testing.assert_array_max_ulp(means[:, 0], FOREST.predict(X).astype(np.float32))


def in_treelite(forest=FOREST, classifier=FOREST_CLASSIFIER, tree=REGRESSOR):
    import treelite

    model = treelite.sklearn.import_model(forest)
    same(treelite.gtil.predict(model, X.astype(np.float64)), FOREST)
    model = treelite.sklearn.import_model(classifier)
    shares = treelite.gtil.predict(model, X.astype(np.float64))[:, 0]
    # treelite adds up shares that are divided by the number of trees.
    np.testing.assert_allclose(shares, FOREST_CLASSIFIER.predict_proba(X), rtol=1e-6)
    with pytest.raises(Exception, match="DecisionTreeRegressor"):
        treelite.sklearn.import_model(tree)


# ---- tables --------------------------------------------------------------------------------------


def from_pandas():
    import pandas as pd

    frame = pd.DataFrame(X, columns=NAMES)
    same(DecisionTreeRegressor(max_depth=5).fit(frame, Y).predict(frame))


def from_polars():
    import polars as pl

    frame = pl.DataFrame(X, schema=NAMES)
    same(DecisionTreeRegressor(max_depth=5).fit(frame, Y).predict(frame))


def arrow_table():
    import pyarrow as pa

    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)})


def from_pyarrow():
    table = arrow_table()
    tree = DecisionTreeRegressor(max_depth=5).fit(table.to_reader(), Y)
    assert tree.feature_names_in_.tolist() == NAMES
    same(tree.predict(table))
    same(tree.predict(table.to_reader()))


def from_duckdb():
    import duckdb

    table = arrow_table()
    relation = duckdb.from_arrow(table)
    tree = DecisionTreeRegressor(max_depth=5).fit(relation, Y)
    assert tree.feature_names_in_.tolist() == NAMES
    same(tree.predict(relation))


# ---- the table -----------------------------------------------------------------------------------

Attempt = Callable[[], object]


@dataclass
class Trial:
    """A row: what was tried with the tree itself and with the converted one, and the outcomes."""

    package: str
    how: str
    straight: Attempt | None
    converted: Attempt | None = None
    straight_works: bool | str = True
    converted_works: bool | str = True

    def cells(self) -> list[str]:
        """The outcomes as the page shows them; a dash where there is nothing to try."""
        outcomes = [
            None if self.straight is None else self.straight_works,
            None if self.converted is None else self.converted_works,
        ]
        words = {None: "–", True: "yes", False: "no"}
        return [words.get(outcome, str(outcome)) for outcome in outcomes]

    def row(self, version: str) -> str:
        return f"| {' | '.join([self.package, version, *self.cells(), self.how])} |"


TRIALS = [
    Trial(
        *("scikit-learn", "pipelines, searches, ensembles, `partial_dependence`, `export_text`"),
        in_sklearn,
        lambda: inspected(converted()),
    ),
    Trial("joblib", "`dump`, `load`", in_joblib, lambda: in_joblib(converted())),
    Trial("cloudpickle", "`dumps`, `loads`", in_cloudpickle, lambda: in_cloudpickle(converted())),
    Trial(
        *("skops", "`io.dump`, `io.load` with the types of splitwood as `trusted`"),
        in_skops,
        lambda: in_skops(converted()),
    ),
    Trial(
        *("mlflow-skinny", "`mlflow.sklearn.log_model`, `load_model`, `pyfunc`"),
        in_mlflow,
        lambda: in_mlflow(".to_sklearn()"),
    ),
    Trial("onnxruntime", "`tree.to_onnx()`", in_onnxruntime),
    Trial(
        *("skl2onnx", "`splitwood.register_skl2onnx()`, then `skl2onnx.to_onnx`"),
        in_skl2onnx,
        lambda: in_skl2onnx(converted(), converted(CLASSIFIER)),
    ),
    Trial(
        *("shap", "`shap.TreeExplainer(tree.to_shap())`, in float64; or `tree.to_sklearn()`"),
        in_shap,
        lambda: (in_shap(REGRESSOR.to_shap()), in_shap(converted())),
        straight_works=False,
    ),
    Trial(
        *("dtreeviz", "`dtreeviz.model`, without missing values and categories"),
        in_dtreeviz,
        lambda: in_dtreeviz(converted()),
    ),
    Trial(
        *("treelite", "`treelite.sklearn.import_model`; it takes no single trees"),
        in_treelite,
        lambda: in_treelite(converted(FOREST), converted(FOREST_CLASSIFIER), converted()),
        straight_works="forests",
        converted_works="forests",
    ),
    Trial("pandas", "data frames as `X`", from_pandas),
    Trial("polars", "data frames as `X`", from_polars),
    Trial("pyarrow", "tables and record batch readers as `X`", from_pyarrow),
    Trial("duckdb", "relations as `X`, with pyarrow or polars installed", from_duckdb),
]


def outcome(attempt: Attempt | None, works: bool | str) -> None:
    """Run an attempt, which must fail if it is said not to work."""
    if attempt is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if works:
            attempt()
        else:
            with pytest.raises(Exception):  # noqa: B017, PT011 (each package has its own error)
                attempt()


def rows() -> list[str]:
    return [trial.row(importlib.metadata.version(trial.package)) for trial in TRIALS]


def table_of(page: str) -> list[str]:
    """The rows of the table in the page, without its header."""
    _, _, rest = page.partition(f"{HEADER}\n{RULE}\n")
    return re.findall(r"^\| .*$", rest, flags=re.MULTILINE)


if __name__ == "__main__":
    for trial in TRIALS:
        outcome(trial.straight, trial.straight_works)
        outcome(trial.converted, trial.converted_works)
        print(trial.row(importlib.metadata.version(trial.package)), flush=True)
    before, rule, after = PAGE.read_text(encoding="utf-8").partition(f"{HEADER}\n{RULE}\n")
    text = "\n".join([before + rule.rstrip(), *rows(), "", after.partition("\n\n")[2]])
    PAGE.write_text(text, encoding="utf-8")
