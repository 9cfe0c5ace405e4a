"""The examples in the docstrings run and print what they say."""

import doctest

import pytest

import splitwood
import splitwood._estimators


@pytest.mark.parametrize("module", [splitwood, splitwood._estimators], ids=lambda m: m.__name__)
def test_examples_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize(
    "owner", [splitwood.DecisionTreeRegressor, splitwood.DecisionTreeClassifier]
)
def test_every_public_method_of_its_own_has_an_example(owner):
    ours = [c for c in owner.__mro__ if c.__module__ == "splitwood._estimators"]
    members = {n: m for c in ours for n, m in vars(c).items() if not n.startswith("_")}
    assert {"fit", "predict", "apply"} <= members.keys()
    assert [n for n, m in members.items() if callable(m) and ">>>" not in (m.__doc__ or "")] == []
