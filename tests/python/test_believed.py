"""What is read from a file or a dict is either refused or can be shown in every way."""

import copy
import random
import warnings

import numpy as np
import pytest

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_graphviz,
    export_text,
    from_dict,
    plot_tree,
)

matplotlib = pytest.importorskip("matplotlib", reason="drawings need matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)

RNG = np.random.default_rng(0)
X = RNG.random((60, 3))
X[RNG.random(X.shape) < 0.1] = np.nan
LABELLED = np.column_stack(
    [np.array(list("abcd"), dtype=object)[RNG.integers(0, 4, 60)], X[:, 0], RNG.integers(0, 3, 60)]
)
TWO, FOUR = RNG.integers(0, 2, 60), RNG.integers(0, 4, 60)
DICTS = [
    DecisionTreeRegressor(max_depth=3).fit(X, RNG.random(60)).to_dict(),
    DecisionTreeRegressor(max_depth=2).fit(X, RNG.random((60, 2))).to_dict(),
    DecisionTreeClassifier(max_depth=3).fit(X, FOUR).to_dict(),
    DecisionTreeClassifier(max_depth=3).fit(X, TWO, RNG.random(60)).to_dict(),
    DecisionTreeClassifier(max_depth=2).fit(X, np.column_stack([TWO, FOUR])).to_dict(),
    DecisionTreeRegressor(max_depth=4, categorical_features=[0, 2])
    .fit(LABELLED, RNG.random(60))
    .to_dict(),
    DecisionTreeClassifier(max_depth=4, categorical_features=[0, 2]).fit(LABELLED, TWO).to_dict(),
]
ODD = [0, 1, 2, 3, -1, -2, 0.5, -0.5, 1e308, -1e308, 1e-300, 2**31 - 1, 2**32, 2**63]
ODD += ["inf", "-inf", "x", None, True, [], {"set": 0}, {"set": 1}, {"set": 10**6}]


def places(value, path=()):
    """List the paths to all parts of nested dicts and lists."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))
        else:
            yield (*path, key)


def mutated(data, draw):
    data = copy.deepcopy(data)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        known = ("tree", "classes", "n_features", "n_outputs", "feature_names", "categories")
        path = draw.choice([path for path in places(data) if path[0] in known])
        part = data
        for key in path[:-1]:
            part = part[key]
        old = part[path[-1]]
        if draw.random() < 0.4 and type(old) in (int, float):
            part[path[-1]] = old * draw.choice([2, -1, 10, 0.5])
        else:
            part[path[-1]] = draw.choice(ODD)
    return data


def show(model, draws):
    export_graphviz(model, filled=True, class_names=True)
    export_graphviz(model, proportion=True)
    export_text(model, **({"show_weights": True} if hasattr(model, "classes_") else {}))
    assert "splitwood-tree" in model._repr_mimebundle_()["text/html"]
    if draws:
        plot_tree(model, filled=True, class_names=True, proportion=draws > 1)
        pyplot.close("all")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_believed_can_be_shown(seed):
    draw = random.Random(seed)
    believed = 0
    for attempt in range(400):
        data = mutated(draw.choice(DICTS), draw)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = from_dict(data)
        except ValueError:
            continue
        believed += 1
        # The names of colours and the like are matplotlib's; a few drawings are enough.
        show(model, draws=attempt % 20)
    assert believed > 50


def crafted(change, data):
    data = copy.deepcopy(data)
    change(data["tree"])
    return data


@pytest.mark.parametrize(
    ("change", "data", "problem"),
    [
        (lambda tree: tree["n_node_samples"].__setitem__(0, 0), DICTS[0], "no training rows"),
        (lambda tree: tree["value"][1].__setitem__(0, 2.0), DICTS[2], "shares"),
        (lambda tree: tree["value"][1].__setitem__(0, -0.1), DICTS[2], "shares"),
        (lambda tree: tree["categories"]["sets"].__setitem__(0, 1 << 63), DICTS[5], "categories"),
    ],
    ids=["rows", "share above 1", "share below 0", "unknown category"],
)
def test_what_no_fit_can_produce_is_refused(change, data, problem):
    with pytest.raises(ValueError, match=problem):
        from_dict(crafted(change, data))


def test_an_infinite_impurity_or_weight_is_shown():
    def change(tree):
        tree["impurity"][1] = "inf"
        tree["weighted_n_node_samples"] = ["inf"] * len(tree["impurity"])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in DICTS:
            show(from_dict(crafted(change, data)), draws=1)
