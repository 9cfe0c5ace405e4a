"""``python -m splitwood``: its output, and that each of its checks can fail."""

import platform
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn

import splitwood
from scripts import WITHOUT_SKLEARN
from splitwood import __main__, _answers, _core, _self_check


def run(*arguments, **keywords):
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **keywords,
    )


def test_it_says_what_is_installed_and_that_it_works():
    done = run("-m", "splitwood")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"splitwood {splitwood.__version__}"
    assert lines[-1] == "self-check: passed"
    facts = {line[2:18].strip(): line[19:] for line in lines[1:]}
    assert facts["numpy"] == np.__version__
    assert facts["scikit-learn"] == sklearn.__version__
    assert facts["Python"].startswith(platform.python_version())
    assert facts["threads"].startswith(f"{_core.available_threads()} (n_jobs=None)")
    assert facts["instruction set"].startswith(f"{platform.machine()}; ")
    for criterion in ("squared_error", "absolute_error", "quantile", "poisson"):
        for estimator in ("DecisionTreeRegressor", "ExtraTreeRegressor"):
            assert f"{estimator}, {criterion}" in done.stdout
    for criterion in ("gini", "entropy", "log_loss"):
        for estimator in ("DecisionTreeClassifier", "ExtraTreeClassifier"):
            assert f"{estimator}, {criterion}" in done.stdout
    for forest in ("RandomForest", "ExtraTrees"):
        for task in ("Regressor", "Classifier", "QuantileRegressor"):
            assert f"{forest}{task}" in done.stdout


def test_limits_of_threads_are_named(monkeypatch, capsys):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert dict(__main__.facts())["threads"].startswith("1 (n_jobs=None)")
    assert dict(__main__.facts())["threads"].endswith("OMP_NUM_THREADS=1")


def test_numpy_alone_is_enough_for_what_models_do():
    script = "import runpy; runpy.run_module('splitwood', run_name='__main__', alter_sys=True)"
    done = run("-c", textwrap.dedent(WITHOUT_SKLEARN) + script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("self-check: passed (without scikit-learn, fits are not checked)\n")
    assert "not installed: models can be loaded" in done.stdout
    assert "model files" in done.stdout
    assert "DecisionTree" not in done.stdout
    assert "Forest" not in done.stdout


def test_arguments_are_refused_and_help_is_given():
    assert run("-m", "splitwood", "--nonsense").returncode == 2
    assert "whether it works" in run("-m", "splitwood", "--help").stdout


# ---- every check can fail ------------------------------------------------------------------------


def failures(capsys):
    """Names of the checks that failed, and the exit code."""
    code = __main__.main([])
    lines = capsys.readouterr().out.splitlines()
    failed = [line[2:41].strip() for line in lines if "  FAILED: " in line]
    assert lines[-1].startswith("self-check: FAILED" if failed else "self-check: passed")
    return failed, code


FIT_REGRESSOR, FIT_CLASSIFIER = _core.fit_regressor, _core.fit_classifier


def another_target(X, y, *rest):
    return FIT_REGRESSOR(X, y[::-1].copy(), *rest)


def another_class(X, y, *rest):
    return FIT_CLASSIFIER(X, y[::-1].copy(), *rest)


def a_worse_split(X, y, weights, settings):
    """A tree whose numbers are right, but whose splits ignore half of the features."""
    worse = {"max_features": 1, "splitter": "best"}
    return FIT_REGRESSOR(X, y, weights, settings | worse)


def early_leaves(X, y, weights, settings):
    return FIT_REGRESSOR(X, y, weights, settings | {"min_samples_split": 8})


def a_tree_that_knows_its_threads(X, y, weights, settings):
    if settings["n_jobs"] is None and settings["max_depth"] is None:
        settings = settings | {"max_depth": 5}
    return FIT_REGRESSOR(X, y, weights, settings)


def sums_that_cancel(X, y, *rest):
    return FIT_REGRESSOR(X, y.astype(np.float32).astype(float), *rest)


def raises(*_):
    raise RuntimeError("broken on purpose")


def another_forest(X, y, *rest):
    return FIT_FOREST(X, y[::-1].copy(), *rest)


FIT_FOREST = _core.fit_forest_regressor
REGRESSION = [name for name, _ in _self_check.checks() if "Regressor, " in name]
CLASSIFICATION = [name for name, _ in _self_check.checks() if "Classifier, " in name]
FOREST_REGRESSION = [name for name in _self_check.FORESTS if name.endswith("Regressor")]
FOREST_CLASSIFICATION = [name for name in _self_check.FORESTS if name.endswith("Classifier")]
EXACT_REGRESSION = [name for name in REGRESSION if name.startswith("Decision")]


@pytest.mark.parametrize(
    ("module", "function", "broken", "expected"),
    [
        (_core, "fit_regressor", another_target, {*REGRESSION, "categories"}),
        (_core, "fit_regressor", a_worse_split, set(EXACT_REGRESSION)),
        (_core, "fit_regressor", early_leaves, set(REGRESSION)),
        (_core, "fit_regressor", a_tree_that_knows_its_threads, {"one thread or all"}),
        (_core, "fit_regressor", sums_that_cancel, {"an offset of y"}),
        (_core, "fit_classifier", another_class, set(CLASSIFICATION)),
        (_core, "fit_classifier", raises, {*CLASSIFICATION, "saved and loaded"}),
        (_core, "fit_forest_regressor", another_forest, set(FOREST_REGRESSION)),
        (_core, "fit_forest_classifier", raises, set(FOREST_CLASSIFICATION)),
        (_core, "running_median", lambda y, *_: (y, y), {"running medians"}),
        (_core, "write_model", raises, {"model files", "saved and loaded"}),
        (_answers, "shares", lambda values, _: values[::-1], {"predictions of models"}),
        (
            _answers,
            "labels",
            lambda tree, classes, X, _: classes[[0] * len(X)],
            {"predictions of models"},
        ),
    ],
)
def test_what_is_broken_is_found(monkeypatch, capsys, module, function, broken, expected):
    monkeypatch.setattr(module, function, broken)
    failed, code = failures(capsys)
    assert expected <= set(failed)
    assert code == 1


def test_a_damaged_file_that_is_believed_is_found(monkeypatch, capsys):
    good = {}

    def remember(path, *rest):
        write_model(path, *rest)
        good["file"] = path.read_bytes()

    def believe(path):
        path.write_bytes(good["file"])
        return read_model(path)

    write_model, read_model = _core.write_model, _core.read_model
    monkeypatch.setattr(_core, "write_model", remember)
    monkeypatch.setattr(_core, "read_model", believe)
    assert failures(capsys) == (["model files"], 1)


def test_nothing_is_found_where_nothing_is_broken(capsys):
    assert failures(capsys) == ([], 0)
