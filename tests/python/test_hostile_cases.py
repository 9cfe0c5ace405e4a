"""What users will do to it, and what they must get: one group of tests for each numbered case."""

import math
import pickle
import sys
import tempfile
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from handover import chain
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    _core,
    export_graphviz,
    export_text,
    running_median,
)
from trees import STRUCTURE, assert_same_tree

BOTH = pytest.mark.parametrize(
    ("kind", "criterion"),
    [
        (DecisionTreeRegressor, "squared_error"),
        (DecisionTreeClassifier, "gini"),
        (DecisionTreeClassifier, "entropy"),
    ],
)
SIZE = (400, 4)
LARGEST = sys.float_info.max


def random_problem(kind, size=SIZE, seed=0):
    """Rows with ties and without, and a target of the estimator's kind that follows them in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=size)
    X[:, 0] = np.round(X[:, 0])
    signal = X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.5 * rng.normal(size=size[0])
    return X, (signal if kind is DecisionTreeRegressor else np.digitize(signal, [-0.7, 0.7]))


def stump(x, y, **settings):
    """The tree on one feature, split once."""
    X = np.asarray(x)[:, None]
    return DecisionTreeRegressor(max_depth=1, **settings).fit(X, y)


def assert_close_trees(actual, expected, scale=1.0):
    """The same nodes, and values that differ by a factor."""
    assert_same_tree(actual, expected, ("children_left", "children_right", "feature"))
    assert_same_tree(actual, expected, ("n_node_samples",))
    np.testing.assert_allclose(actual.tree_.value, scale * expected.tree_.value, rtol=1e-9)


# 1: ties among the values


@BOTH
def test_case_01_training_rows_reach_the_leaf_that_they_trained(kind, criterion):
    X, y = random_problem(kind)
    X = np.round(X)
    model = kind(criterion=criterion).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    for leaf in np.flatnonzero(tree.children_left < 0):
        mine = y[leaves == leaf]
        assert tree.n_node_samples[leaf] == len(mine)
        if kind is DecisionTreeClassifier:
            mine = mine[:, None] == model.classes_
        np.testing.assert_allclose(tree.value[leaf, 0], mine.mean(axis=0), rtol=1e-12, atol=1e-12)


def test_case_01_duplicate_rows_are_never_parted():
    X = np.repeat([[1.0], [2.0]], 50, axis=0)
    model = DecisionTreeRegressor().fit(X, np.arange(100.0))
    assert model.tree_.threshold.tolist() == [1.5, -2.0, -2.0]
    assert model.tree_.n_node_samples.tolist() == [100, 50, 50]


# 2: missing values


@BOTH
def test_case_02_missing_values_learn_their_direction(kind, criterion):
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, side in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        model = kind(criterion=criterion).fit(x[:, None], y)
        assert model.predict([[np.nan]]) == [side]
        assert model.tree_.missing_go_to_left[0] == (side == 0)
        assert model.tree_.threshold[0] == 2.5


@BOTH
def test_case_02_missing_values_may_stand_alone(kind, criterion):
    x = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    model = kind(criterion=criterion).fit(x[:, None], [0, 0, 0, 1, 1])
    assert model.tree_.node_count == 3
    assert model.tree_.threshold[0] == math.inf
    assert model.predict([[-math.inf], [math.inf], [np.nan]]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(("weight", "goes"), [([1, 1, 1], 9.0), ([3, 1, 1], 5.0), ([1, 5, 1], 9.0)])
def test_case_02_missing_values_first_seen_at_prediction_follow_the_weight(weight, goes):
    model = stump([1.0, 2.0, 3.0], [5.0, 9.0, 9.0])
    assert model.predict([[np.nan]]) == [9.0]
    model.fit([[1.0], [2.0], [3.0]], [5.0, 9.0, 9.0], weight)
    assert model.predict([[np.nan]]) == [goes]


def test_case_02_a_column_of_missing_values_is_no_candidate():
    X = np.column_stack([np.full(4, np.nan), np.arange(4.0)])
    model = DecisionTreeRegressor().fit(X, [1.0, 1.0, 2.0, 2.0])
    assert model.tree_.feature.tolist() == [1, -2, -2]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "quantile"])
def test_case_02_every_criterion_of_the_regressor_learns_the_direction(criterion):
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, side in (([1, 1, 9, 9, 1, 1], 1), ([1, 1, 9, 9, 9, 9], 9)):
        for settings in ({}, {"max_features": 1, "random_state": 0}):
            model = DecisionTreeRegressor(criterion=criterion, **settings).fit(x[:, None], y)
            assert model.predict([[np.nan]]) == [side]


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_case_02_missing_values_of_sparse_rows_and_several_outputs(n_outputs):
    X, y = random_problem(DecisionTreeRegressor)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    X[np.random.default_rng(2).random(X.shape) < 0.3] = 0.0
    y = np.column_stack([y] * n_outputs) if n_outputs > 1 else y
    expected = DecisionTreeRegressor(max_depth=6).fit(X, y)
    actual = DecisionTreeRegressor(max_depth=6).fit(sparse.csc_array(X), y)
    assert_same_tree(actual, expected, STRUCTURE)
    np.testing.assert_array_equal(actual.predict(sparse.csr_array(X)), expected.predict(X))


# 3: targets and weights that are no numbers


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_03_not_finite_targets_are_refused(kind, bad):
    with pytest.raises(ValueError, match=r"\by\b"):
        kind().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, bad])


def test_case_03_not_finite_targets_are_refused_among_objects():
    with pytest.raises(ValueError, match=r"\by\b"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], np.array([1, math.inf], dtype=object))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_03_not_finite_weights_are_refused(kind, bad):
    with pytest.raises(ValueError, match="sample_weight"):
        kind().fit([[1.0], [2.0]], [0, 1], [1.0, bad])


# 4: infinite values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_04_infinite_values_are_ends_of_the_order(dtype):
    x = np.array([-np.inf, -1.0, 1.0, np.inf], dtype=dtype)
    model = DecisionTreeRegressor().fit(x[:, None], [1.0, 2.0, 3.0, 4.0])
    assert model.predict(x[:, None]).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.isfinite(model.tree_.threshold).all()


def test_case_04_only_infinite_values():
    model = stump([-np.inf, np.inf], [1.0, 2.0])
    assert model.predict([[-np.inf], [np.inf]]).tolist() == [1.0, 2.0]
    assert np.isfinite(model.tree_.threshold[0])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_case_04_random_thresholds_between_infinite_values_are_finite(value):
    X = np.array([[value], [1.0], [2.0], [-value]])
    for seed in range(20):
        model = ExtraTreeRegressor(random_state=seed).fit(X, [1.0, 2.0, 3.0, 4.0])
        assert np.isfinite(model.tree_.threshold).all()
        assert model.predict(X).tolist() == [1.0, 2.0, 3.0, 4.0]


# 5: constant features


@BOTH
def test_case_05_constant_features_are_skipped(kind, criterion):
    X, y = random_problem(kind)
    with_constant = np.column_stack([np.full(len(X), 7.0), X])
    model = kind(criterion=criterion).fit(with_constant, y)
    assert 0 not in model.tree_.feature
    assert_same_tree(model, kind(criterion=criterion).fit(X, y), ("children_left", "threshold"))


@BOTH
def test_case_05_nothing_but_constants_gives_a_leaf(kind, criterion):
    model = kind(criterion=criterion).fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    assert model.tree_.node_count == 1
    assert model.tree_.value[0, 0, -1] == pytest.approx(2 / 3)


# 6: threads, repetitions, memory order


@BOTH
@pytest.mark.parametrize("size", [SIZE, (12_000, 5)], ids=["small", "large"])
def test_case_06_the_same_bytes_for_every_number_of_threads_and_memory_order(kind, criterion, size):
    X, y = random_problem(kind, size)

    def model_bytes(rows, n_jobs):
        return pickle.dumps(kind(criterion=criterion, n_jobs=n_jobs).fit(rows, y).tree_)

    expected = model_bytes(X, 1)
    for n_jobs in (1, 2, 3, None, -1):
        assert model_bytes(X, n_jobs) == expected, n_jobs
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1].copy()[::-1]):
        assert model_bytes(rows, 2) == expected, rows.strides


WAYS = {
    "absolute error": {"criterion": "absolute_error"},
    "quantile": {"criterion": "quantile", "quantile": 0.8},
    "poisson": {"criterion": "poisson"},
    "max_features": {"max_features": 2, "random_state": 3},
    "random thresholds": {"splitter": "random", "random_state": 3},
    "max_leaf_nodes": {"max_leaf_nodes": 50},
    "pruned": {"ccp_alpha": 1e-3},
    "monotonic": {"monotonic_cst": [1, 0, -1, 0, 0]},
    "median leaves": {"leaf_value": "median"},
}


# The last two are for one output only.
@pytest.mark.parametrize(
    ("way", "outputs"), [*((way, 1) for way in WAYS), *((way, 2) for way in [*WAYS][:-2])]
)
def test_case_06_the_same_bytes_whatever_way_a_tree_is_grown(way, outputs):
    X, y = random_problem(DecisionTreeRegressor, (8_000, 5))
    y = np.abs(y)
    y = y if outputs == 1 else np.column_stack([y, y[::-1]])
    settings = {"min_samples_leaf": 5, **WAYS[way]}

    def model_bytes(rows, n_jobs):
        return pickle.dumps(DecisionTreeRegressor(n_jobs=n_jobs, **settings).fit(rows, y).tree_)

    expected = model_bytes(X, 1)
    for rows in (X, np.asfortranarray(X), X[::-1].copy()[::-1]):
        assert model_bytes(rows, -1) == expected


def test_case_06_sparse_rows_give_the_same_bytes_for_every_number_of_threads():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 5))
    X[np.abs(X) < 1.0] = 0.0
    columns, rows = sparse.csc_array(X), sparse.csr_array(X)
    one, two, by_rows = (
        pickle.dumps(DecisionTreeRegressor(n_jobs=n).fit(given, y).tree_)
        for n, given in ((1, columns), (2, columns), (2, rows))
    )
    assert one == two == by_rows


# 7, 8, 9: test_processes.py and test_interrupts.py


# 10: values beyond the precision of float32


@pytest.mark.parametrize(
    "x",
    [1.7e9 + np.arange(40.0), 2.0**24 + np.arange(40.0), 1.0 + np.arange(40.0) * 1e-12],
    ids=["timestamps", "ids", "beyond-1"],
)
def test_case_10_values_distinct_only_in_float64_are_split(x):
    y = np.arange(40) % 7.0
    model = DecisionTreeRegressor().fit(x[:, None], y)
    np.testing.assert_array_equal(model.predict(x[:, None]), y)


# 11, 12: offsets and scales


def rounded_problem():
    """Targets on a grid that stays exact under the offset of 1e9."""
    X, y = random_problem(DecisionTreeRegressor)
    return X, np.round(y * 2.0**20) / 2.0**20


def test_case_11_large_offset_gives_the_same_tree():
    X, y = rounded_problem()
    centred, far = DecisionTreeRegressor().fit(X, y), DecisionTreeRegressor().fit(X, 1e9 + y)
    assert_same_tree(far, centred, (*STRUCTURE, "n_node_samples"))
    np.testing.assert_allclose(far.tree_.value - 1e9, centred.tree_.value, atol=1e-6)
    np.testing.assert_allclose(far.tree_.impurity, centred.tree_.impurity, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-40, 1e-12, 1e-100, 1e12, 1e100])
def test_case_12_scaled_targets_give_the_same_tree(scale):
    X, y = random_problem(DecisionTreeRegressor)
    expected = DecisionTreeRegressor().fit(X, y)
    assert_close_trees(DecisionTreeRegressor().fit(X, scale * y), expected, scale)


@BOTH
@pytest.mark.parametrize("scale", [2.0**-40, 1e-9, 1e-300, 1e300])
def test_case_12_scaled_features_give_the_same_tree(kind, criterion, scale):
    X, y = random_problem(kind)
    expected = kind(criterion=criterion).fit(X, y)
    actual = kind(criterion=criterion).fit(scale * X, y)
    assert_close_trees(actual, expected)
    inner = expected.tree_.children_left >= 0
    thresholds = scale * expected.tree_.threshold[inner]
    np.testing.assert_allclose(actual.tree_.threshold[inner], thresholds, rtol=1e-9)


# 13: hardly any rows


@BOTH
def test_case_13_one_row_is_a_leaf(kind, criterion):
    model = kind(criterion=criterion).fit([[1.0, 2.0]], [3])
    assert (model.tree_.node_count, model.get_depth(), model.get_n_leaves()) == (1, 0, 1)
    assert model.predict([[9.0, 9.0]]) == [3]
    assert model.feature_importances_.tolist() == [0.0, 0.0]


@BOTH
def test_case_13_two_rows_are_split_unless_leaves_need_more(kind, criterion):
    X, y = [[1.0], [2.0]], [3, 4]
    assert kind(criterion=criterion).fit(X, y).tree_.node_count == 3
    assert kind(criterion=criterion, min_samples_leaf=2).fit(X, y).tree_.node_count == 1
    assert kind(criterion=criterion, min_samples_leaf=100).fit(X, y).tree_.node_count == 1
    assert kind(criterion=criterion, min_samples_split=3).fit(X, y).tree_.node_count == 1


# 14: shapes and types that make no sense


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.empty((0, 3)), np.empty(0)),
        (np.empty((3, 0)), np.arange(3)),
        (np.ones((3, 2)), np.arange(4)),
        (np.ones(3), np.arange(3)),
        (np.ones((3, 2, 2)), np.arange(3)),
        (np.ones((3, 2)), np.ones((3, 2, 2))),
        (np.ones((3, 2)), None),
        (np.array([["a"], ["b"]]), np.arange(2)),
        (np.ones((2, 1), dtype=complex), np.arange(2)),
    ],
    ids=["no rows", "no columns", "lengths", "1-D", "3-D", "3-D y", "no y", "text", "complex"],
)
def test_case_14_impossible_shapes_and_types_are_refused(kind, X, y):
    with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's words, which differ by version)
        kind().fit(X, y)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((3, 2)), np.arange(4)),
        (np.ones((3, 2)), np.array([0.0, np.nan, 1.0])),
        (np.ones((3, 2)), np.array([0.0, np.inf, 1.0])),
        (np.ones(3), np.arange(3)),
        (np.ones((3, 2)), np.ones((3, 2, 2))),
        (np.ones((3, 2)), np.arange(3) * 1j),
    ],
    ids=["lengths", "NaN in y", "infinity in y", "1-D", "3-D y", "complex y"],
)
def test_case_14_arrays_are_refused_in_the_same_words_as_lists(kind, X, y):
    with pytest.raises(ValueError) as by_arrays:  # noqa: PT011 (scikit-learn's words, which differ by version)
        kind().fit(X, y)
    with pytest.raises(ValueError) as by_lists:  # noqa: PT011
        kind().fit(X.tolist(), y.tolist())
    assert str(by_arrays.value) == str(by_lists.value)


@pytest.mark.parametrize(
    "y", [["a", "b"], ["1.0", "2.0"], np.array(["1", "2"], dtype=object), [b"1", b"2"]]
)
def test_case_14_strings_are_no_targets_of_a_regressor(y):
    with pytest.raises(ValueError, match="strings"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], y)


def test_case_14_real_targets_are_no_classes():
    with pytest.raises(ValueError, match="continuous"):
        DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], [0.5, 1.5, 2.7])


@pytest.mark.parametrize("weight", [[1.0], [1.0] * 3, np.ones((2, 1)), np.ones((2, 2))])
def test_case_14_weights_of_another_shape_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0], weight)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_14_sparse_rows_of_impossible_shapes_are_refused(kind):
    for X, y in (
        (sparse.csr_array((0, 3)), []),
        (sparse.csr_array((3, 0)), [0, 1, 2]),
        (sparse.csr_array(np.eye(3)), [0, 1]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (scikit-learn's words, which differ by version)
            kind().fit(X, y)


def test_case_14_a_column_as_target_is_one_output():
    X, y = random_problem(DecisionTreeRegressor)
    model = DecisionTreeRegressor().fit(X, y[:, None])
    assert_same_tree(model, DecisionTreeRegressor().fit(X, y))
    assert model.predict(X).shape == (len(X),)


# 15: every layout and dtype


def packed_records(X):
    """The same cells across word boundaries."""
    records = np.empty(len(X), dtype=[("pad", "u1"), ("cells", X.dtype, X.shape[1:])])
    records["cells"] = X
    assert not records["cells"].flags.aligned
    return records["cells"]


def memory_mapped(X):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        return np.load(path, mmap_mode="r")


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "fortran": np.asfortranarray,
    "every second cell": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "packed records": packed_records,
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X),
    "frame with pd.NA type": lambda X: pd.DataFrame(X).convert_dtypes(),
    "objects": lambda X: X.astype(object),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_15_every_layout_gives_the_same_model(kind, layout):
    X, y = random_problem(kind)
    X_other = LAYOUTS[layout](X)
    expected = kind().fit(X, y)
    actual = kind().fit(X_other, y)
    assert_same_tree(actual, expected)
    np.testing.assert_array_equal(actual.predict(X_other), expected.predict(X))
    np.testing.assert_array_equal(actual.apply(X_other), expected.apply(X))
    np.testing.assert_array_equal(expected.predict(X_other), expected.predict(X))


@pytest.mark.parametrize("dtype", ["i1", "i8", "u2", "?", "f2", "f4", "g", ">i4"])
def test_case_15_every_dtype_gives_the_same_model(dtype):
    X, y = random_problem(DecisionTreeRegressor)
    X = np.round(np.abs(X)).astype(dtype)
    expected = DecisionTreeRegressor().fit(X.astype(np.float64), y)
    actual = DecisionTreeRegressor().fit(X, y)
    assert_same_tree(actual, expected)
    np.testing.assert_array_equal(actual.predict(X), expected.predict(X.astype(np.float64)))


@pytest.mark.parametrize("layout", ["fortran", "every second cell", "read-only"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_15_the_estimator_does_not_copy_the_rows(layout, dtype):
    X, y = random_problem(DecisionTreeRegressor, (2000, 50))
    X = LAYOUTS[layout](X.astype(dtype))
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)  # what is allocated once comes before
    tracemalloc.start()
    model.fit(X, y).predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.size * X.itemsize / 2


def test_case_15_models_predict_the_other_precision():
    X, y = random_problem(DecisionTreeRegressor)
    X = X.astype(np.float32)
    narrow, wide = (DecisionTreeRegressor().fit(X.astype(t), y) for t in (np.float32, np.float64))
    assert_same_tree(narrow, wide)
    np.testing.assert_array_equal(narrow.predict(X.astype(np.float64)), wide.predict(X))


def test_case_15_float64_rows_meet_the_thresholds_of_a_float32_model_exactly():
    model = stump(np.array([1.0, 1.0 + 2.0**-23], dtype=np.float32), [1.0, 2.0])
    assert model.tree_.threshold[0] == 1.0 + 2.0**-24
    rows = np.array([[1.0 + 2.0**-24], [1.0 + 2.0**-24 + 2.0**-50]])
    assert model.predict(rows).tolist() == [1.0, 2.0]


# 16: prediction with other data than the fit's


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
def test_case_16_prediction_with_other_columns_is_refused(method):
    model = DecisionTreeClassifier().fit(np.eye(3), [0, 1, 2])
    for X in (np.eye(2), np.ones((3, 4)), np.ones(3), np.ones((0, 3))):
        with pytest.raises(ValueError, match=r"features|2D|0 sample"):
            getattr(model, method)(X)


def test_case_16_prediction_with_other_names_is_refused():
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = DecisionTreeRegressor().fit(frame, [0.0, 1.0, 2.0])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"b": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(frame.to_numpy())


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_log_proba", "apply", "decision_path"]
)
def test_case_16_prediction_before_fit_is_refused(method):
    with pytest.raises(NotFittedError):
        getattr(DecisionTreeClassifier(), method)([[1.0]])


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_16_questions_about_the_tree_before_fit_are_refused(kind):
    for ask in (kind().get_depth, kind().get_n_leaves, lambda: kind().feature_importances_):
        with pytest.raises(NotFittedError):
            ask()


# 17 to 20: weights


@BOTH
def test_case_17_rows_of_weight_zero_count_as_dropped(kind, criterion):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    settings = {"criterion": criterion, "min_samples_leaf": 3}
    expected = kind(**settings).fit(X[kept], y[kept], weight[kept])
    assert_same_tree(kind(**settings).fit(X, y, weight), expected)


def test_case_17_classes_of_weight_zero_stay_known():
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "c"], [1.0, 0.0, 1.0])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba([[1.0]]).tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_17_only_zeros_are_refused(kind):
    with pytest.raises(ValueError, match=r"sample_weight.*zero"):
        kind().fit([[1.0], [2.0]], [0, 1], [0.0, 0.0])


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_18_negative_weights_are_refused(kind):
    with pytest.raises(ValueError, match=r"sample_weight.*negative"):
        kind().fit([[1.0], [2.0]], [0, 1], [1.0, -1.0])


@BOTH
def test_case_19_integer_weights_are_repeated_rows(kind, criterion):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    actual = kind(criterion=criterion).fit(X, y, weight)
    expected = kind(criterion=criterion).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


@BOTH
@pytest.mark.parametrize("factor", [0.25, 3.7, 1e-20, 1e20])
def test_case_20_a_factor_of_all_weights_changes_no_tree(kind, criterion, factor):
    X, y = random_problem(kind)
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    expected = kind(criterion=criterion).fit(X, y, weight)
    actual = kind(criterion=criterion).fit(X, y, factor * weight)
    assert_same_tree(actual, expected, (*STRUCTURE, "n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-9, atol=1e-12)


@BOTH
def test_case_20_one_number_weighs_all_rows_alike(kind, criterion):
    X, y = random_problem(kind)
    expected = kind(criterion=criterion).fit(X, y)
    assert_same_tree(kind(criterion=criterion).fit(X, y, 2.0), expected, STRUCTURE)


# Weights that are no more than integers, so that sums are exact.
@pytest.mark.parametrize("criterion", ["absolute_error", "quantile", "poisson"])
def test_case_19_integer_weights_are_repeated_rows_of_every_regressor(criterion):
    X, y = random_problem(DecisionTreeRegressor)
    y = np.round(np.abs(y), 1)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    actual = DecisionTreeRegressor(criterion=criterion).fit(X, y, weight)
    expected = DecisionTreeRegressor(criterion=criterion).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [2, 3])
def test_case_19_integer_weights_are_repeated_rows_of_several_outputs(n_outputs):
    X, y = random_problem(DecisionTreeRegressor)
    y = np.round(np.column_stack([y, *[y[::-1]] * (n_outputs - 1)]), 1)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    actual = DecisionTreeRegressor(max_depth=5).fit(X, y, weight)
    expected = DecisionTreeRegressor(max_depth=5).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0)
    )
    assert_same_tree(actual, expected, (*STRUCTURE, "weighted_n_node_samples"))
    np.testing.assert_allclose(actual.tree_.value, expected.tree_.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("factor", [0.25, 3.7, 1e-20, 1e20])
def test_case_20_a_factor_of_all_weights_changes_no_median(factor):
    X, y = random_problem(DecisionTreeRegressor)
    weight = np.random.default_rng(1).integers(1, 4, len(y)) / 10
    settings = {"criterion": "absolute_error", "min_samples_leaf": 5}
    expected = DecisionTreeRegressor(**settings).fit(X, y, weight)
    actual = DecisionTreeRegressor(**settings).fit(X, y, factor * weight)
    assert_same_tree(actual, expected, (*STRUCTURE, "n_node_samples", "value"))


# 21: weighted medians


@pytest.mark.parametrize(
    ("y", "weight", "median"),
    [
        ([1.0, 2.0, 4.0], [0.1, 0.2, 0.3], 3.0),
        ([1.0, 2.0, 4.0], [0.3, 0.2, 0.1], 1.5),
        ([1.0, 2.0, 4.0], [1, 2, 3], 3.0),
        ([0.0, 1.0, 5.0, 9.0], [0.7, 0.1, 0.2, 0.6], 3.0),
        ([0.0, 10.0], [1e-300, 1e-300], 5.0),
        ([0.0, 10.0], [1e300, 1e300], 5.0),
    ],
)
def test_case_21_a_weighted_median_at_the_half_is_the_midpoint(y, weight, median):
    leaf = DecisionTreeRegressor(criterion="absolute_error").fit(np.zeros((len(y), 1)), y, weight)
    assert leaf.predict([[0.0]]) == [median]
    leaf = DecisionTreeRegressor(leaf_value="median").fit(np.zeros((len(y), 1)), y, weight)
    assert leaf.predict([[0.0]]) == [median]
    assert running_median(y, sample_weight=weight)[0][-1] == median


# 22: ties between splits


@BOTH
@pytest.mark.parametrize("n", [2, 10, 300, 6000])
def test_case_22_of_equal_features_the_lowest_wins(kind, criterion, n):
    x = np.random.default_rng(n).permutation(n).astype(float)
    X = np.column_stack([np.zeros(n), x, x, -x])
    y = (x > n // 3).astype(int) if kind is DecisionTreeClassifier else x**2 / n
    model = kind(criterion=criterion, max_depth=6).fit(X, y)
    assert set(model.tree_.feature) == {1, -2}


@BOTH
def test_case_22_of_equal_thresholds_the_lowest_wins(kind, criterion):
    X = np.arange(5.0)[:, None]
    model = kind(criterion=criterion, max_depth=1).fit(X, [1, 0, 0, 0, 1])
    assert model.tree_.threshold[0] == 0.5


def test_case_22_no_random_state_is_involved():
    X, y = random_problem(DecisionTreeRegressor)
    X = np.round(X)
    trees = []
    for seed in range(3):
        np.random.seed(seed)  # noqa: NPY002 (the global state is what must not matter)
        trees.append(pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_))
    assert len(set(trees)) == 1


# 23: chains; what is saved of them is in test_saving.py


def test_case_23_a_chain_of_thousands_is_fitted():
    """Labels in turns: a row is split off at an end, again and again."""
    n = 8_000
    X, y = np.arange(float(n))[:, None], np.arange(n) % 2
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() > n // 4
    assert (model.predict(X) == y).all()
    assert export_text(model, max_depth=10)


def test_case_23_a_chain_a_million_deep_needs_no_stack():
    """In a thread with hardly any stack: whatever recursed would overflow it."""
    outcome = []

    def work():
        model = chain(1_000_000)
        rows = np.array([[-1.0], [500_000.2], [2_000_000.0], [np.nan]])
        assert model.get_depth() == 1_000_000
        assert model.apply(rows)[0] == 1_000_000
        assert model.decision_path(rows).indptr[1] == 1_000_001
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        assert export_text(model, max_depth=3)
        assert export_graphviz(model, max_depth=3)
        assert repr(model.tree_)
        assert model._repr_html_()
        outcome.append("done")

    before = threading.stack_size(1 << 18)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert outcome == ["done"]


# 27 to 31: the ends of floating point


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 3.0, 1e-3, 1e30])
def test_case_27_adjacent_floats_are_separated(dtype, start):
    below = np.array(start, dtype=dtype)
    above = np.nextafter(below, np.array(np.inf, dtype=dtype))
    model = stump(np.array([below, above]), [1.0, 2.0])
    assert float(below) <= model.tree_.threshold[0] < float(above)
    assert model.predict(np.array([[below], [above]])).tolist() == [1.0, 2.0]


def test_case_27_a_midpoint_that_rounds_up_gives_way_to_the_lower_value():
    below = np.nextafter(1.0, 2.0)
    above = np.nextafter(below, 2.0)
    assert (below + above) / 2 == above
    assert stump([below, above], [1.0, 2.0]).tree_.threshold[0] == below


@pytest.mark.parametrize("x", [(-LARGEST, LARGEST), (LARGEST / 2, LARGEST), (-LARGEST, -1e308)])
def test_case_28_huge_values_get_a_finite_threshold(x):
    model = stump(x, [1.0, 2.0])
    assert x[0] <= model.tree_.threshold[0] < x[1]
    assert model.predict(np.array(x)[:, None]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_29_both_zeros_are_equal(dtype):
    zeros = np.array([-0.0, 0.0, -0.0, 0.0], dtype=dtype)
    assert stump(zeros, [1.0, 2.0, 1.0, 2.0]).tree_.node_count == 1
    model = stump(np.array([-0.0, 0.0, 1.0, 1.0], dtype=dtype), [1.0, 1.0, 2.0, 2.0])
    assert model.predict(zeros[:, None]).tolist() == [1.0] * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_case_30_denormals_are_distinct(dtype):
    tiny = np.nextafter(dtype(0), dtype(1))
    x = np.array([-tiny, 0.0, tiny, 2 * tiny], dtype=dtype)
    y = [1.0, 2.0, 4.0, 8.0]
    model = DecisionTreeRegressor().fit(x[:, None], y)
    assert model.predict(x[:, None]).tolist() == y


@pytest.mark.parametrize("size", [1e150, 1e153, 1e200, 1e308])
def test_case_31_huge_targets_give_finite_results_or_are_refused(size):
    y = size * np.array([1.0, -1.0, 0.5, -0.25])
    try:
        tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0], [4.0]], y).tree_
    except ValueError as refusal:
        assert "y" in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        assert np.isfinite(tree.value).all()
        assert np.isfinite(tree.impurity).all()


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "quantile"])
@pytest.mark.parametrize("size", [1e-300, 1e150, 1e200, 1.7e308])
def test_case_31_extreme_targets_of_every_criterion_give_finite_results_or_are_refused(
    criterion, size
):
    y = size * np.array([1.0, 0.1, 0.5, 0.25])
    try:
        tree = DecisionTreeRegressor(criterion=criterion).fit([[1.0], [2.0], [3.0], [4.0]], y).tree_
    except ValueError as refusal:
        assert "y" in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        assert np.isfinite(tree.value).all()
        assert np.isfinite(tree.impurity).all()


@BOTH
@pytest.mark.parametrize("light", [5e-324, 1e-300, 1e-15, 1e-7, 1.0])
def test_case_31_weights_of_any_range_give_finite_results(kind, criterion, light):
    """Beside a weight of 1e300, one of 1e-15 is lost; a leaf of it alone would have no shares."""
    tree = (
        kind(criterion=criterion).fit([[1.0], [2.0], [3.0]], [0, 1, 2], [light, 1e300, light]).tree_
    )
    assert np.isfinite(tree.value).all()
    assert np.isfinite(tree.impurity).all()
    assert (tree.weighted_n_node_samples > 0).all()


# 32: test_memory.py
# 33: settings that make no sense


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("criterion", "nonsense"),
        ("max_depth", 0),
        ("max_depth", -1),
        ("min_samples_split", 1),
        ("min_samples_split", -3),
        ("min_samples_split", 1.5),
        ("min_samples_split", math.nan),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", -1),
        ("min_samples_leaf", 0.0),
        ("min_samples_leaf", 1.0),
        ("min_samples_leaf", math.nan),
        ("min_weight_fraction_leaf", -0.1),
        ("min_weight_fraction_leaf", 0.51),
        ("min_weight_fraction_leaf", math.nan),
        ("min_impurity_decrease", -1e-9),
        ("min_impurity_decrease", math.nan),
        ("n_jobs", 0),
        ("ccp_alpha", -1e-9),
        ("ccp_alpha", math.nan),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", -1),
        ("max_features", 0),
        ("max_features", -1),
        ("max_features", 0.0),
        ("max_features", 1.5),
        ("max_features", math.nan),
        ("max_features", "auto"),
        ("splitter", "nonsense"),
        ("monotonic_cst", [2]),
        ("monotonic_cst", [0, 0]),
    ],
)
def test_case_33_settings_out_of_their_domain_are_refused(kind, name, value):
    with pytest.raises(ValueError, match=name):
        kind(**{name: value}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("criterion", 3),
        ("max_depth", 2.5),
        ("max_depth", "2"),
        ("min_samples_split", "2"),
        ("min_samples_leaf", None),
        ("min_weight_fraction_leaf", "0.1"),
        ("min_impurity_decrease", None),
        ("n_jobs", 1.5),
        ("max_leaf_nodes", 2.5),
        ("max_leaf_nodes", "3"),
        ("ccp_alpha", "0.1"),
        ("splitter", 3),
        ("max_features", [1]),
        ("monotonic_cst", "up"),
        ("monotonic_cst", [0.5]),
    ],
)
def test_case_33_settings_of_another_type_are_refused(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        DecisionTreeRegressor(**{name: value}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_leaf_nodes", 2**62),
        ("max_features", 2**62),
        ("max_depth", 2**31),
        ("max_depth", 2**62),
        ("n_jobs", 10**15),
        ("n_jobs", -(10**6)),
        ("max_depth", np.int64(50)),
        ("min_samples_leaf", np.int32(1)),
        ("min_samples_split", np.float32(0.001)),
    ],
)
def test_case_33_huge_counts_and_numpy_numbers_are_understood(name, value):
    X, y = random_problem(DecisionTreeRegressor)
    expected = DecisionTreeRegressor().fit(X, y)
    assert_same_tree(DecisionTreeRegressor(**{name: value}).fit(X, y), expected)


@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf"])
def test_case_33_a_count_beyond_all_rows_leaves_a_leaf(name):
    model = DecisionTreeRegressor(**{name: 2**40}).fit([[1.0], [2.0]], [0, 1])
    assert model.tree_.node_count == 1


# 34, 35: many threads


def test_case_34_rows_changed_during_the_fit_do_no_harm():
    X, y = random_problem(DecisionTreeRegressor, (20_000, 5))
    stop = threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(0, len(X), 1000)] = rng.normal()
            X[rng.integers(0, len(X), 100)] = np.nan

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        models = [DecisionTreeRegressor(n_jobs=2).fit(X, y) for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    for model in models:
        tree = model.tree_
        assert tree.n_node_samples[tree.children_left < 0].sum() == len(X)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"criterion": "absolute_error"},
        {"max_features": 3, "random_state": 0},
        {"splitter": "random", "random_state": 0},
        {"max_leaf_nodes": 100},
    ],
    ids=str,
)
def test_case_34_rows_changed_during_any_fit_or_prediction_do_no_harm(settings):
    X, y = random_problem(DecisionTreeRegressor, (10_000, 5))
    stop = threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(0, len(X), 1000)] = rng.choice([np.nan, np.inf, -0.0, rng.normal()])

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(3):
            model = DecisionTreeRegressor(n_jobs=2, **settings).fit(X, y)
            assert np.isfinite(model.predict(X)).all()
    finally:
        stop.set()
        writer.join()
    # 37: whatever happened, the pool goes on.
    expected = DecisionTreeRegressor(n_jobs=1, **settings).fit(X, y)
    assert_same_tree(DecisionTreeRegressor(n_jobs=2, **settings).fit(X, y), expected)


@BOTH
def test_case_35_many_threads_predict_as_one(kind, criterion):
    X, y = random_problem(kind, (5000, 4))
    model = kind(criterion=criterion).fit(X, y)
    parts = [X[i::40] for i in range(40)]
    expected = [model.predict(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        for actual, one in zip(pool.map(model.predict, parts), expected, strict=True):
            np.testing.assert_array_equal(actual, one)


def test_case_35_many_threads_fit_at_once():
    X, y = random_problem(DecisionTreeRegressor, (3000, 4))
    expected = DecisionTreeRegressor().fit(X, y)
    models = [DecisionTreeRegressor(n_jobs=n) for n in (1, 2, 3, 4, None, -1)]
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(lambda model: model.fit(X, y), models):
            assert_same_tree(model, expected)


# 36: leaf callables; more of them in test_leaf_value.py


class MischiefError(Exception):
    pass


def test_case_36_what_a_leaf_callable_raises_reaches_the_caller():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))

    def mischief(y, sample_weight):
        raise MischiefError

    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    before = pickle.dumps(model.tree_)
    model.set_params(leaf_value=mischief)
    with pytest.raises(MischiefError):
        model.fit(X, y)
    assert pickle.dumps(model.tree_) == before


@pytest.mark.parametrize("result", [math.nan, math.inf, "text", None])
def test_case_36_a_leaf_callable_must_return_a_finite_number(result):
    model = DecisionTreeRegressor(leaf_value=lambda y, sample_weight: result)
    with pytest.raises((TypeError, ValueError), match="leaf_value"):
        model.fit([[1.0], [2.0]], [1.0, 2.0])


def test_case_36_a_leaf_callable_may_fit_with_all_threads():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))

    def inner(mine, sample_weight):
        return DecisionTreeRegressor(max_depth=1).fit(X, y).predict(X)[0] + len(mine)

    model = DecisionTreeRegressor(max_depth=2, leaf_value=inner).fit(X, y)
    root = DecisionTreeRegressor(max_depth=1).fit(X, y).predict(X)[0]
    leaf = model.apply(X)[0]
    assert model.predict(X)[0] == root + model.tree_.n_node_samples[leaf]


# 37: nothing that users do is known to panic, so one is made on purpose; src/threads.rs has more


def test_case_37_a_panic_is_an_ordinary_exception_and_the_pool_goes_on():
    X, y = random_problem(DecisionTreeRegressor, (12_000, 4))
    before = pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"a bug; please report it: on purpose"):
            _core._panic()
    assert pickle.dumps(DecisionTreeRegressor().fit(X, y).tree_) == before


# 38: orders of targets that could make medians slow

N_SLOW = 60_000
SLOW_ORDERS = {
    "sorted": np.arange(N_SLOW, dtype=float),
    "reversed": -np.arange(N_SLOW, dtype=float),
    "organ pipe": np.minimum(np.arange(N_SLOW), N_SLOW - np.arange(N_SLOW)).astype(float),
    "equal": np.ones(N_SLOW),
    "in turns": np.where(np.arange(N_SLOW) % 2, 1.0, -1.0) * np.arange(N_SLOW),
}
SLOW_WEIGHTS = {
    "none": None,
    "one heavy row": np.where(np.arange(N_SLOW) == N_SLOW // 2, 1e9, 1.0),
    "heavy in turns": np.where(np.arange(N_SLOW) % 2, 1e6, 1.0),
    "powers": 2.0 ** (np.arange(N_SLOW) % 40),
}


def seconds_to(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize("weight", SLOW_WEIGHTS)
def test_case_38_no_order_of_targets_makes_medians_slow(weight):
    """A quadratic sweep of so many rows would take a thousand times as long as that of shuffled ones."""
    X = np.arange(float(N_SLOW))[:, None]
    weights = SLOW_WEIGHTS[weight]
    shuffled = np.random.default_rng(0).permutation(N_SLOW).astype(float)

    def work(y):
        DecisionTreeRegressor(criterion="absolute_error", max_depth=2, n_jobs=1).fit(X, y, weights)
        running_median(y, sample_weight=weights)

    usual = seconds_to(lambda: work(shuffled))
    for name, y in SLOW_ORDERS.items():
        assert seconds_to(lambda y=y: work(y)) < 20 * usual + 2, name


# Whatever was fitted before stays as it was


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize(
    "bad",
    [
        {"y": [0, np.nan]},
        {"sample_weight": [1.0, -1.0]},
        {"sample_weight": [[1.0], [1.0]]},
        {"y": [0, 1, 2]},
    ],
    ids=["y", "weight", "weight's shape", "length"],
)
def test_a_refused_fit_changes_nothing(kind, bad):
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = kind().fit(frame, [0, 1, 2])
    before = dict(vars(model))
    with pytest.raises(ValueError):  # noqa: PT011 (what is refused is tested above)
        model.fit(**{"X": [[1.0], [2.0]], "y": [5, 6], **bad})
    assert vars(model) == before


def test_a_fit_refused_by_the_core_changes_nothing():
    model = DecisionTreeClassifier().fit(np.eye(3), ["a", "b", "c"])
    before = {**vars(model), "max_depth": -1}
    model.set_params(max_depth=-1)
    with pytest.raises(ValueError, match="max_depth"):
        model.fit(pd.DataFrame({"z": [1.0, 2.0]}), ["d", "e"])
    assert vars(model) == before
    assert model.predict(np.eye(3)).tolist() == ["a", "b", "c"]


def test_a_second_fit_forgets_the_first():
    model = DecisionTreeClassifier().fit(pd.DataFrame({"a": [1.0, 2.0]}), ["x", "y"])
    model.fit(np.eye(3), [0, 1, 2])
    assert not hasattr(model, "feature_names_in_")
    assert (model.n_features_in_, model.n_classes_) == (3, 3)
    assert model.predict(np.eye(3)).tolist() == [0, 1, 2]
