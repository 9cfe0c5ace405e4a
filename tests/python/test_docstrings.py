"""The examples in the docstrings run and print what they show."""

import doctest

import pytest

import splitwood
import splitwood._estimators
import splitwood._graphviz
import splitwood._growth
import splitwood._median
import splitwood._model
import splitwood._plot
import splitwood._sklearn_bridge
import splitwood._storage
import splitwood._text

MODULES = [
    splitwood,
    splitwood._estimators,
    splitwood._graphviz,
    splitwood._growth,
    splitwood._median,
    splitwood._model,
    splitwood._plot,
    splitwood._sklearn_bridge,
    splitwood._storage,
    splitwood._text,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
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


def test_the_examples_of_the_compiled_class_are_among_them():
    found = {test.name: len(test.examples) for test in doctest.DocTestFinder().find(splitwood)}
    names = ["RunningMedian", "RunningMedian.push", "RunningMedian.remove"]
    assert all(found[f"splitwood.{name}"] > 0 for name in names)
