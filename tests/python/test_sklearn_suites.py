"""scikit-learn's own tests of ensembles and of error messages, with splitwood's trees.

The tests come with the installed scikit-learn. docs/ecosystem.md lists those that fail on purpose.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn.tree

import splitwood

HERE = Path(__file__).parent

ENSEMBLES = [
    "sklearn.ensemble.tests.test_bagging",
    "sklearn.ensemble.tests.test_iforest",
    "sklearn.ensemble.tests.test_weight_boosting",
]
# Infinite values are accepted.
DIFFERENCES = [
    "test_bagging_regressor_with_missing_inputs",
    "test_bagging_classifier_with_missing_inputs",
]
# These pass as well, but take seconds: they repeat the same code for many settings or processes.
SLOW = [
    "sparse_classification",
    "oob_score_classification",
    "parallel",
    "n_jobs_does_not_segfault",
    "test_probability",
    "estimators_samples_deterministic",
]
TREES = ["sklearn.tree.tests.test_tree", "sklearn.tree.tests.test_monotonic_tree"]
MESSAGES = [
    "test_min_sample_split_1_error",
    "test_class_weight_errors",
    "test_multiclass_raises",
    "test_multiple_output_raises",
    "test_bad_monotonic_cst_raises",
]


def outcomes(modules: list[str], expression: str) -> tuple[list[str], list[str]]:
    """Run the tests that an expression selects; get the names of those that passed and failed."""
    if any(importlib.util.find_spec(module) is None for module in modules):
        pytest.skip("scikit-learn is installed without its tests")
    options = ["-rA", "-p", "our_trees_in_sklearn", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *modules, "-k", expression],
        # Our settings of pytest are not those of scikit-learn's tests.
        cwd=HERE.anchor,
        env={"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    # 1 says that tests have failed.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    passed, failed = (
        re.findall(rf"^(?:{outcome}) .*?::(\w+)", done.stdout, flags=re.MULTILINE)
        for outcome in ("PASSED", "FAILED|ERROR")
    )
    assert bool(failed) == (done.returncode == 1), done.stdout + done.stderr
    return passed, failed


def test_ensembles_of_our_trees_pass_the_tests_of_scikit_learn() -> None:
    passed, failed = outcomes(ENSEMBLES, " and ".join(f"not {name}" for name in SLOW))
    assert sorted(failed) == sorted(DIFFERENCES)
    assert len(passed) > 80
    assert {"test_iforest", "test_classification", "test_staged_predict"} <= set(passed)


def test_messages_are_those_that_scikit_learn_asks_for() -> None:
    passed, failed = outcomes(TREES, " or ".join(MESSAGES))
    assert failed == []
    assert set(MESSAGES) <= set(passed)


# scikit-learn's test has three targets for one row, which is refused first here.
@pytest.mark.parametrize(
    ("y", "message"),
    [([0, 0, 0], "y is not positive.*Poisson"), ([5, -0.1, 2], "Some.*y are negative.*Poisson")],
)
def test_messages_about_targets_of_poisson_are_those_of_scikit_learn(y, message) -> None:
    for module in (sklearn.tree, splitwood):
        with pytest.raises(ValueError, match=message):
            module.DecisionTreeRegressor(criterion="poisson").fit([[0], [1], [2]], y)
