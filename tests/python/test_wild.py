"""Wild arrays, dtypes, strides and settings give a consistent tree or a documented error.

Fits with settings that the slow reference in ``brute_force`` supports are checked node by node.
"""

import math
import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from test_brute_force import assert_tree_is_greedy, judge_of

# `make fuzz` runs more cases, different ones each time.
TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
# The documented exceptions of `fit` and `predict` for invalid arguments.
REFUSALS = (ValueError, TypeError)
TAME = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0]
WILD = [*TAME, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-12, 1e9 + 0.1, 2.0**24 + 1]
DTYPES = ["f8", "f4", ">f8", "<f4", "f2", "i8", "i1", "u2", "?", "O", "g"]
NUMBERS = [0, 1, 2, 3, 5, -1, -5, 2**31, 2**62, 0.0, 0.1, 0.5, 1.0, 1.5, -0.1, math.nan, math.inf]
THINGS = [
    *NUMBERS,
    None,
    "2",
    "",
    b"x",
    [],
    [1],
    (2,),
    {},
    1j,
    np.int8(3),
    np.float32(0.5),
    True,
    object(),
]

SETTINGS = {
    "criterion": [
        "squared_error",
        "absolute_error",
        "quantile",
        "poisson",
        "gini",
        "entropy",
        "log_loss",
    ],
    "splitter": ["best", "random"],
    "max_depth": [None, 1, 2, 7],
    "min_samples_split": [2, 3, 0.3],
    "min_samples_leaf": [1, 2, 0.2],
    "min_weight_fraction_leaf": [0.0, 0.1, 0.5],
    "min_impurity_decrease": [0.0, 0.01],
    "max_features": [None, 1, 2, 0.5, "sqrt", "log2"],
    "random_state": [None, 0, 7],
    "max_leaf_nodes": [None, 2, 5],
    "ccp_alpha": [0.0, 0.01, 1e6],
    "monotonic_cst": [None, [1], [0, 1], [-1, 0, 1]],
    "n_jobs": [None, 1, 2, -1],
    "leaf_value": [None, "mean", "median"],
    "quantile": [0.5, 0.05, 0.9],
    "class_weight": [None, "balanced", {0: 2.0}],
}
KINDS = [DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor, ExtraTreeClassifier]


@st.composite
def layouts(draw, X):
    """The same cells with other strides, another dtype or in another container."""
    way = draw(
        st.sampled_from(["C", "F", "steps", "back", "read-only", "list", "csr", "csc", "coo"])
    )
    if way == "F":
        return np.asfortranarray(X)
    if way == "steps":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if way == "back":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if way == "read-only":
        X.flags.writeable = False
        return X
    if way == "list":
        return X.tolist()
    if (
        way in ("csr", "csc", "coo")
        and X.dtype.kind == "f"
        and X.dtype.isnative
        and X.itemsize in (4, 8)
    ):
        return sparse.coo_array(X).asformat(way)
    return X


@st.composite
def tables(draw):
    """Rows of any dtype and layout, and the same rows as plain float64."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    cells = draw(st.sampled_from([TAME, TAME, WILD]))
    plain = np.array(draw(st.lists(st.sampled_from(cells), min_size=n * d, max_size=n * d)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = plain.reshape(n, d).astype(draw(st.sampled_from(DTYPES)))
    return draw(layouts(X)), X.astype(np.float64)


@st.composite
def targets(draw, kind, n):
    is_wild = draw(st.integers(0, 9)) == 0
    n_outputs = draw(st.sampled_from([None, None, None, 1, 2]))
    cells = WILD if is_wild else [0.0, 1.0, 2.0, 3.0]
    y = np.array(draw(st.lists(st.sampled_from(cells), min_size=3 * n, max_size=3 * n)))
    y = y[:n] if n_outputs is None else y[: n * n_outputs].reshape(n, n_outputs)
    if draw(st.integers(0, 19)) == 0:
        y = y[:-1]
    if "Classifier" in kind.__name__ and draw(st.booleans()):
        return y.astype(str)
    dtypes = ["f8", "f4", "O"] if is_wild else DTYPES[:-1]
    return y.astype(draw(st.sampled_from(dtypes)))


@st.composite
def estimators(draw, things):
    """An estimator with a few settings: valid ones, or, if given, ``things``."""
    kind = draw(st.sampled_from(KINDS))
    known = kind().get_params()
    names = draw(
        st.lists(st.sampled_from(sorted(set(SETTINGS) & set(known))), max_size=4, unique=True)
    )
    chosen = {}
    for name in names:
        values = things if things and draw(st.booleans()) else SETTINGS[name]
        chosen[name] = draw(st.sampled_from(values))
    return kind(**chosen)


def weights_of(draw, n):
    some = st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1, 1e-300, 1e300]), min_size=n, max_size=n)
    bad = st.lists(st.sampled_from([math.nan, -1.0, math.inf, 0.0]), min_size=n, max_size=n)
    return draw(st.none() | st.none() | some | bad | st.sampled_from([2.0, "x", [], [[1.0]]]))


def assert_holds_together(model, X):
    """Assert what holds for every tree, whatever the data."""
    tree = model.tree_
    leaf = tree.children_left < 0
    assert np.isfinite(tree.value).all()
    assert np.isfinite(tree.impurity).all()
    assert (tree.impurity >= 0).all()
    assert tree.n_node_samples[leaf].sum() == tree.n_node_samples[0]
    assert leaf.sum() == model.get_n_leaves()
    leaves = model.apply(X)
    assert leaf[leaves].all()
    # scipy accepts these arrays as indices.
    assert (model.decision_path(X)[np.arange(len(leaves)), leaves] == 1).all()
    predicted = model.predict(X)
    assert len(predicted) == len(leaves)
    if hasattr(model, "predict_proba") and model.n_outputs_ == 1:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert set(predicted.tolist()) <= set(model.classes_.tolist())
    elif not hasattr(model, "predict_proba"):
        assert np.isfinite(predicted).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), predicted)


def refusal_of(work, *arguments):
    """The exception that the work raised, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work(*arguments)
    except REFUSALS as refusal:
        return refusal
    return None


@given(data=st.data())
@settings(max_examples=400 * TIMES, deadline=None)
def test_sensible_settings_and_wild_tables(data):
    X, plain = data.draw(tables())
    model = data.draw(estimators([]))
    y = data.draw(targets(type(model), len(plain)))
    weights = weights_of(data.draw, len(plain))
    refusal = refusal_of(model.fit, X, y, weights)
    if refusal is not None:
        assert str(refusal)
        assert not hasattr(model, "tree_")
        return
    assert_holds_together(model, X)
    if not isinstance(X, list):
        np.testing.assert_array_equal(model.apply(plain), model.apply(X))


@given(data=st.data())
@settings(max_examples=300 * TIMES, deadline=None)
def test_settings_that_are_anything_at_all(data):
    model = data.draw(estimators(THINGS))
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 0.5]])
    refusal = refusal_of(model.fit, X, [0, 0, 1, 2, 1])
    if refusal is not None:
        assert str(refusal)
        assert not hasattr(model, "tree_")
        return
    assert_holds_together(model, X)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "gini"])
@given(data=st.data())
@settings(max_examples=100 * TIMES, deadline=None)
def test_every_layout_and_dtype_is_split_as_the_judge_splits(criterion, data):
    X, plain = data.draw(tables())
    y = data.draw(st.lists(st.integers(0, 3), min_size=len(plain), max_size=len(plain)))
    rules = {
        "criterion": criterion,
        "max_depth": data.draw(st.sampled_from([None, 2])),
        "min_samples_split": 2,
        "min_samples_leaf": data.draw(st.sampled_from([1, 2])),
        "min_impurity_decrease": 0.0,
    }
    model = (DecisionTreeClassifier if criterion == "gini" else DecisionTreeRegressor)(**rules)
    model.fit(X, y)
    assert_tree_is_greedy(model, judge_of(plain, y, None, rules), rules)


NESTED = st.recursive(
    st.sampled_from(THINGS), lambda inner: st.lists(inner, max_size=3), max_leaves=8
)


@given(X=NESTED, y=NESTED)
@settings(max_examples=300 * TIMES, deadline=None)
def test_things_that_are_no_tables(X, y):
    for kind in (DecisionTreeRegressor, DecisionTreeClassifier):
        fitted = kind().fit([[0.0], [1.0]], [0, 1])
        for refusal in (refusal_of(kind().fit, X, y), refusal_of(fitted.predict, X)):
            assert refusal is None or str(refusal)
