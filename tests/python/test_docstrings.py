"""The examples in the docstrings run and print what they show."""

import doctest
import inspect
import re

import numpy as np
import pandas as pd
import pytest

import splitwood
import splitwood._base_forest
import splitwood._base_tree
import splitwood._conversions
import splitwood._estimators
import splitwood._extra_trees
import splitwood._fitted_forest
import splitwood._forest_conversions
import splitwood._forest_tasks
import splitwood._forests
import splitwood._graphviz
import splitwood._growth
import splitwood._median
import splitwood._model
import splitwood._plot
import splitwood._quantile_forests
import splitwood._skl2onnx
import splitwood._sklearn_bridge
import splitwood._storage
import splitwood._text
import splitwood.dask

MODULES = [
    splitwood,
    splitwood._base_tree,
    splitwood._conversions,
    splitwood._estimators,
    splitwood._base_forest,
    splitwood._fitted_forest,
    splitwood._extra_trees,
    splitwood._forest_conversions,
    splitwood._forest_tasks,
    splitwood._forests,
    splitwood._graphviz,
    splitwood._growth,
    splitwood._median,
    splitwood._model,
    splitwood._plot,
    splitwood._quantile_forests,
    splitwood._skl2onnx,
    splitwood._sklearn_bridge,
    splitwood._storage,
    splitwood._text,
    splitwood.dask,
]
REGRESSORS = [splitwood.DecisionTreeRegressor, splitwood.ExtraTreeRegressor]
CLASSIFIERS = [splitwood.DecisionTreeClassifier, splitwood.ExtraTreeClassifier]
ESTIMATORS = REGRESSORS + CLASSIFIERS
FOREST_REGRESSORS = [splitwood.RandomForestRegressor, splitwood.ExtraTreesRegressor]
FOREST_CLASSIFIERS = [splitwood.RandomForestClassifier, splitwood.ExtraTreesClassifier]
QUANTILE_FORESTS = [
    splitwood.RandomForestQuantileRegressor,
    splitwood.ExtraTreesQuantileRegressor,
]
FORESTS = FOREST_REGRESSORS + FOREST_CLASSIFIERS + QUANTILE_FORESTS
# What these parameters mean depends on the targets.
DEPENDS_ON_THE_TARGETS = {"criterion", "monotonic_cst", "categorical_features"}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_examples_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize(
    "owner", [splitwood.DecisionTreeRegressor, splitwood.DecisionTreeClassifier, *FORESTS]
)
def test_every_public_method_of_its_own_has_an_example(owner):
    ours = [c for c in owner.__mro__ if c.__module__.startswith("splitwood.")]
    members = {n: m for c in ours for n, m in vars(c).items() if not n.startswith("_")}
    assert {"fit", "predict", "apply"} <= members.keys()
    assert owner in QUANTILE_FORESTS or {"save", "to_onnx"} <= members.keys()
    assert [n for n, m in members.items() if callable(m) and ">>>" not in (m.__doc__ or "")] == []


def test_the_examples_of_the_compiled_class_are_among_them():
    found = {test.name: len(test.examples) for test in doctest.DocTestFinder().find(splitwood)}
    names = ["RunningMedian", "RunningMedian.push", "RunningMedian.remove"]
    assert all(found[f"splitwood.{name}"] > 0 for name in names)


# ---- the four classes are documented in full, in the same words ----------------------------------


def section(owner, title):
    """The entries of a numpydoc section, in their order: name, type, and description."""
    text = inspect.cleandoc(owner.__doc__)
    (body,) = re.findall(rf"^{title}\n-+\n(.*?)\n\n", text, flags=re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^(\w+) : (.+)\n((?: {4}.+\n?)+)", body, flags=re.MULTILINE)
    # Nothing is left over: no entry without a type, none for several names.
    assert "".join(f"{n} : {t}\n{d}" for n, t, d in entries) == body
    return {name: (kind, " ".join(words.split())) for name, kind, words in entries}


def written(default):
    return f'"{default}"' if isinstance(default, str) else str(default)


@pytest.mark.parametrize("owner", ESTIMATORS + FORESTS)
def test_parameters_are_documented_in_their_order_with_their_defaults(owner):
    documented = section(owner, "Parameters")
    parameters = inspect.signature(owner).parameters.values()
    assert list(documented) == [parameter.name for parameter in parameters]
    defaults = {name: kind.rpartition(", default=")[2] for name, (kind, _) in documented.items()}
    assert defaults == {parameter.name: written(parameter.default) for parameter in parameters}


@pytest.mark.parametrize("owner", ESTIMATORS)
def test_attributes_are_documented(owner):
    frame = pd.DataFrame({"city": pd.Categorical(list("abab")), "size": np.arange(4.0)})
    model = owner(splitter="best", categorical_features="from_dtype").fit(frame, [0, 1, 0, 1])
    attributes = {name for name in dir(model) if re.fullmatch(r"[a-z]\w*[a-z]_", name)}
    assert section(owner, "Attributes").keys() == attributes


@pytest.mark.parametrize("owner", FORESTS)
def test_attributes_of_forests_are_documented(owner):
    frame = pd.DataFrame({"age": np.ones(4), "size": np.arange(4.0)})
    model = owner(50, bootstrap=True, oob_score=True, random_state=0).fit(frame, [0, 1, 0, 1])
    attributes = {name for name in dir(model) if re.fullmatch(r"[a-z]\w*[a-z]_", name)}
    assert section(owner, "Attributes").keys() == attributes


@pytest.mark.parametrize("title", ["Parameters", "Attributes"])
def test_descriptions_of_forests_agree(title):
    for alike in (FOREST_REGRESSORS, FOREST_CLASSIFIERS, QUANTILE_FORESTS):
        one, other = (section(owner, title) for owner in alike)
        assert {n: w for n, (_, w) in one.items()} == {n: w for n, (_, w) in other.items()}


@pytest.mark.parametrize("title", ["Parameters", "Attributes"])
def test_descriptions_of_the_same_thing_agree(title):
    sections = {owner: section(owner, title) for owner in ESTIMATORS}
    compared = 0
    for owner, entries in sections.items():
        alike = REGRESSORS if owner in REGRESSORS else CLASSIFIERS
        for name, (_, words) in entries.items():
            assert not words.startswith("As in")
            for twin in alike if name in DEPENDS_ON_THE_TARGETS else ESTIMATORS:
                if name in sections[twin]:
                    assert sections[twin][name][1] == words
                    compared += twin is not owner
    assert compared > 0
