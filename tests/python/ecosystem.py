"""What was tried with packages of others: the table of docs/ecosystem.md, as code.

Each trial uses a package as its users do, and fails if a result differs from splitwood's. A trial
with the outcome "no" must fail. ``python tests/python/ecosystem.py`` runs all trials and writes the
table with the versions that are installed; `test_ecosystem.py` compares it.
"""

import importlib.metadata
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from numpy.typing import NDArray
from sklearn.base import clone
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
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)

PAGE = Path(__file__).parents[2] / "docs" / "ecosystem.md"
COLUMNS = (
    "package",
    "version tried",
    "trees",
    "forests",
    "quantile forests",
    "`to_sklearn()`",
    "how",
)
HEADER = f"| {' | '.join(COLUMNS)} |"
RULE = "|---" * len(COLUMNS) + "|"

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)).astype(np.float32)
Y = np.sin(2.0 * X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0.0, "high", "low")
NAMES = ["a", "b", "c", "d"]


@dataclass(frozen=True)
class Fitted:
    """A regressor and a classifier to hand on, if there is one, and what they must predict."""

    regressor: Any
    classifier: Any
    values: NDArray[np.float64]
    shares: NDArray[np.float64] | None

    @classmethod
    def of(cls, regressor: Any, classifier: Any = None) -> Self:
        regressor.fit(X, Y)
        if classifier is None:
            return cls(regressor, None, regressor.predict(X), None)
        classifier.fit(X, LABELS)
        return cls(regressor, classifier, regressor.predict(X), classifier.predict_proba(X))

    def converted(self) -> Self:
        models = self.regressor.to_sklearn(), self.classifier.to_sklearn()
        return replace(self, regressor=models[0], classifier=models[1])

    def predicts(self, values: Any) -> None:
        """Other packages add up the trees of a forest in an order of their own."""
        np.testing.assert_allclose(
            np.ravel(values), self.values, rtol=1e-14 * hasattr(self.regressor, "estimators_")
        )


TREES = Fitted.of(DecisionTreeRegressor(max_depth=5), DecisionTreeClassifier(max_depth=5))
FORESTS = Fitted.of(
    RandomForestRegressor(10, max_depth=5, random_state=0),
    RandomForestClassifier(10, max_depth=5, random_state=0),
)
QUANTILE_FORESTS = Fitted.of(RandomForestQuantileRegressor(10, max_depth=5, random_state=0))


# ---- files ---------------------------------------------------------------------------------------


def in_joblib(models: Fitted) -> None:
    import joblib

    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(models.regressor, Path(folder) / "model.joblib", compress=3)
        models.predicts(joblib.load(Path(folder) / "model.joblib").predict(X))


def in_cloudpickle(models: Fitted) -> None:
    import cloudpickle

    models.predicts(cloudpickle.loads(cloudpickle.dumps(models.regressor)).predict(X))


def in_skops(models: Fitted) -> None:
    import skops.io

    data = skops.io.dumps(models.regressor)
    types = skops.io.get_untrusted_types(data=data)
    if models is TREES:
        # Nothing but the estimator and its tree needs trust.
        assert types == ["splitwood._core.Tree", "splitwood._estimators.DecisionTreeRegressor"]
    models.predicts(skops.io.loads(data, trusted=types).predict(X))


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


def in_mlflow(models: Fitted) -> None:
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        pickle.dump((models.regressor, X), file)
        file.flush()
        loaded, served = run_script(
            MLFLOW,
            f"""
        import pickle
        model, X = pickle.loads(pathlib.Path({file.name!r}).read_bytes())
        with mlflow.start_run():
            made = mlflow.sklearn.log_model(
                model, name="model", pip_requirements=[], serialization_format="cloudpickle"
            )
        models = mlflow.sklearn.load_model(made.model_uri), mlflow.pyfunc.load_model(made.model_uri)
        print(json.dumps([model.predict(X).tolist() for model in models]))
        """,
        )
    models.predicts(loaded)
    models.predicts(served)


# ---- scikit-learn's tools ------------------------------------------------------------------------


def in_sklearn(models: Fitted) -> None:
    model = clone(models.regressor)
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=2).fit(X, Y)
    assert search.score(X, Y) > 0.7
    assert sklearn.ensemble.BaggingRegressor(model, 3, random_state=0).fit(X, Y).score(X, Y) > 0.7
    # Quantile forests are no subclasses of scikit-learn's forests, whose means recursion needs.
    methods = ["brute"] if models is QUANTILE_FORESTS else ["brute", "recursion"]
    slow, *fast = (
        partial_dependence(models.regressor, X, [0], method=method, kind="average")["average"][0]
        for method in methods
    )
    assert slow.std() > 0.1
    # Both average over the other features: by the nodes' weights, or row by row.
    assert all(np.corrcoef(one, slow)[0, 1] > 0.9 for one in fast)
    if not hasattr(models.regressor, "estimators_"):
        text = sklearn.tree.export_text(models.regressor)
        assert text.count("value") == models.regressor.get_n_leaves()
        assert text == sklearn.tree.export_text(TREES.converted().regressor)


# ---- explanations and pictures -------------------------------------------------------------------


def explained(model: Any, models: Fitted) -> None:
    import shap

    explanation = shap.TreeExplainer(model)(X)
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(np.ravel(total), models.values, rtol=1e-6, atol=1e-12)


def in_shap(models: Fitted) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 (shap's own error)
        explained(models.regressor, models)
    explained(models.regressor.to_shap(), models)
    shares = models.classifier.to_shap()
    assert len(shares["trees"]) == len(getattr(models.classifier, "estimators_", "1"))


def in_dtreeviz(models: Fitted) -> None:
    import dtreeviz

    tree = models.regressor
    drawn = dtreeviz.model(tree, X, Y, feature_names=NAMES, target_name="target")
    assert drawn.shadow_tree.nnodes() == TREES.regressor.tree_.node_count
    models.predicts([drawn.shadow_tree.predict(row) for row in X])


# ---- other runtimes ------------------------------------------------------------------------------


def run_onnx(model: Any) -> list[Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString())
    results: list[Any] = session.run(None, {session.get_inputs()[0].name: X})
    return results


def in_onnxruntime(models: Fitted) -> None:
    models.predicts(run_onnx(models.regressor.to_onnx())[0])
    labels, shares = run_onnx(models.classifier.to_onnx())
    np.testing.assert_allclose(shares, models.shares, rtol=1e-14)
    assert (labels == models.classifier.predict(X)).all()


def in_skl2onnx(models: Fitted) -> None:
    import skl2onnx

    splitwood.register_skl2onnx()
    (predicted,) = run_onnx(skl2onnx.to_onnx(models.regressor, X[:1]))
    # skl2onnx rounds to the type of the rows; its own forests add up in that type, too.
    np.testing.assert_allclose(predicted[:, 0], models.values, rtol=1e-5)
    pipeline = make_pipeline(StandardScaler().fit(X), models.classifier)
    labels, _ = run_onnx(skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False}))
    assert (labels == pipeline.predict(X)).all()


def in_treelite(models: Fitted) -> None:
    import treelite

    rows = X.astype(np.float64)
    model = treelite.sklearn.import_model(models.regressor)
    models.predicts(treelite.gtil.predict(model, rows))
    if models.classifier is not None:
        model = treelite.sklearn.import_model(models.classifier)
        # treelite adds up shares that are divided by the number of trees.
        np.testing.assert_allclose(
            treelite.gtil.predict(model, rows)[:, 0], models.shares, rtol=1e-6
        )


# ---- tables --------------------------------------------------------------------------------------


def of_table(table: Callable[[], Any], models: Fitted) -> None:
    """Fit and predict with rows of a table, which a stream gives only once."""
    model = clone(models.regressor).fit(table(), Y)
    assert model.feature_names_in_.tolist() == NAMES
    models.predicts(model.predict(table()))


def arrow_table() -> Any:
    import pyarrow as pa

    return pa.table({name: X[:, j] for j, name in enumerate(NAMES)})


def from_pandas(models: Fitted) -> None:
    import pandas as pd

    of_table(lambda: pd.DataFrame(X, columns=NAMES), models)


def from_polars(models: Fitted) -> None:
    import polars as pl

    of_table(lambda: pl.DataFrame(X, schema=NAMES), models)


def from_pyarrow(models: Fitted) -> None:
    of_table(arrow_table, models)
    of_table(lambda: arrow_table().to_reader(), models)


def from_duckdb(models: Fitted) -> None:
    import duckdb

    table = arrow_table()
    of_table(lambda: duckdb.from_arrow(table), models)


# ---- the table -----------------------------------------------------------------------------------

Attempt = Callable[[Fitted], object]
KINDS = (TREES, FORESTS, QUANTILE_FORESTS)


@dataclass
class Trial:
    """A row: what was tried with trees, forests and quantile forests, and the outcomes.

    The fourth outcome is that of trees and forests from `to_sklearn`. Everything but "no" must
    work, by the method that is named if there is one.
    """

    package: str
    how: str
    attempt: Attempt
    outcomes: tuple[str, str, str, str] = ("yes", "yes", "yes", "yes")
    # What is done with scikit-learn's classes, where it differs.
    converted: Attempt | None = None

    def row(self, version: str) -> str:
        return f"| {' | '.join([self.package, version, *self.outcomes, self.how])} |"

    def run(self) -> None:
        """Try everything. What is said not to work must fail."""
        for models, outcome in zip(KINDS, self.outcomes[:3], strict=True):
            self._run(self.attempt, models, outcome)
        outcome = self.outcomes[3]
        for models, kind in ((TREES, "trees"), (FORESTS, "forests")):
            works = outcome if outcome in ("yes", "–") else "yes" if outcome == kind else "no"
            self._run(self.converted or self.attempt, models.converted(), works)

    def _run(self, attempt: Attempt, models: Fitted, outcome: str) -> None:
        if outcome == "–":
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if outcome != "no":
                attempt(models)
            else:
                with pytest.raises(Exception):  # noqa: B017, PT011 (each package has its own error)
                    attempt(models)


TRIALS = [
    Trial(
        "scikit-learn",
        "pipelines, searches, ensembles, `partial_dependence`; `export_text` of trees",
        in_sklearn,
    ),
    Trial("joblib", "`dump`, `load`", in_joblib),
    Trial("cloudpickle", "`dumps`, `loads`", in_cloudpickle),
    Trial("skops", "`io.dump`, `io.load` with the types of splitwood as `trusted`", in_skops),
    Trial("mlflow-skinny", "`mlflow.sklearn.log_model`, `load_model`, `pyfunc`", in_mlflow),
    Trial(
        "onnxruntime",
        "the operator `TreeEnsemble`",
        in_onnxruntime,
        ("`to_onnx()`", "`to_onnx()`", "no", "–"),
    ),
    Trial(
        *("skl2onnx", "`splitwood.register_skl2onnx()`, then `skl2onnx.to_onnx`", in_skl2onnx),
        ("yes", "yes", "no", "yes"),
    ),
    Trial(
        *("shap", "`shap.TreeExplainer(model.to_shap())`, in float64", in_shap),
        ("`to_shap()`", "`to_shap()`", "no", "yes"),
        converted=lambda models: explained(models.regressor, models),
    ),
    Trial(
        *("dtreeviz", "`dtreeviz.model`, without missing values and categories", in_dtreeviz),
        ("yes", "no", "no", "trees"),
    ),
    Trial(
        *("treelite", "`treelite.sklearn.import_model`", in_treelite),
        ("no", "yes", "no", "forests"),
    ),
    Trial("pandas", "data frames as `X`", from_pandas, ("yes", "yes", "yes", "–")),
    Trial("polars", "data frames as `X`", from_polars, ("yes", "yes", "yes", "–")),
    Trial(
        "pyarrow",
        "tables and record batch readers as `X`",
        from_pyarrow,
        ("yes", "yes", "yes", "–"),
    ),
    Trial(
        *("duckdb", "relations as `X`, with pyarrow or polars installed", from_duckdb),
        ("yes", "yes", "yes", "–"),
    ),
]


def rows() -> list[str]:
    return [trial.row(importlib.metadata.version(trial.package)) for trial in TRIALS]


def table_of(page: str) -> list[str]:
    """The rows of the table in the page, without its header."""
    _, _, rest = page.partition(f"{HEADER}\n{RULE}\n")
    return re.findall(r"^\| .*$", rest, flags=re.MULTILINE)


if __name__ == "__main__":
    for trial in TRIALS:
        trial.run()
        print(trial.row(importlib.metadata.version(trial.package)), flush=True)
    before, rule, after = PAGE.read_text(encoding="utf-8").partition(f"{HEADER}\n{RULE}\n")
    text = "\n".join([before + rule.rstrip(), *rows(), "", after.partition("\n\n")[2]])
    PAGE.write_text(text, encoding="utf-8")
