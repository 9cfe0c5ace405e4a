"""docs/ecosystem.md: its table is that of the trials, and every outcome in it is tried again."""

import importlib.metadata
import re

import pytest

from ecosystem import MLFLOW, PAGE, TRIALS, table_of
from scripts import run_script

PAGE_ROWS = table_of(PAGE.read_text(encoding="utf-8"))
BY_PACKAGE = pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.package)


def installed(package: str) -> None:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")


def test_the_page_has_the_rows_of_the_trials() -> None:
    versions = [re.fullmatch(r"\| [\w-]+ \| (\d+(?:\.\d+)+) \|.*", row) for row in PAGE_ROWS]
    assert None not in versions
    assert [
        trial.row(version[1]) for trial, version in zip(TRIALS, versions, strict=True)
    ] == PAGE_ROWS


@BY_PACKAGE
def test_what_the_page_says_is_true(trial) -> None:
    installed(trial.package)
    trial.run()


def test_autolog_logs_pipelines_and_the_fit_of_a_tree_alone_gives_a_warning() -> None:
    installed("mlflow-skinny")
    before, alone, depth, in_pipeline, logged = run_script(
        MLFLOW,
        """
    import re, sklearn.pipeline

    def warned(fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit()
        return [str(w.message) for w in caught if "autolog logs scikit-learn's" in str(w.message)]

    one = DecisionTreeRegressor(max_depth=3)
    before = warned(lambda: one.fit(X, X[:, 0]))
    mlflow.sklearn.autolog(log_models=False)
    alone = warned(lambda: one.fit(X, X[:, 0]))
    in_pipeline = warned(lambda: make_pipeline(StandardScaler(), one).fit(X, X[:, 0]))
    depth = mlflow.last_active_run().data.params["decisiontreeregressor__max_depth"]
    # What the warning advises.
    _, fitted, call = re.fullmatch("(.*); fit (.*), or call (.*)", alone[0]).groups()
    names = {"mlflow": mlflow, "sklearn": sklearn, "model": one}
    eval(fitted, names).fit(X, X[:, 0])
    made = eval(call, names)
    logged = mlflow.sklearn.load_model(made.model_uri).predict(X).tolist() == one.predict(X).tolist()
    print(json.dumps([before, alone, depth, in_pipeline, logged]))
    """,
    )
    assert logged
    assert before == in_pipeline == []
    assert len(alone) == 1
    assert depth == "3"
