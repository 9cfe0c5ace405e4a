"""What users will do to it, and what they must get: one group of tests for each numbered case."""

import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor
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


# 7: processes that fork

FORK = """
    import os, time
    import numpy as np
    from splitwood import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 4)), rng.normal(size=20_000)
    model = DecisionTreeRegressor(n_jobs=2).fit(X, y)
    expected = model.predict(X)

    child = os.fork()
    if child == 0:
        again = DecisionTreeRegressor(n_jobs=2).fit(X, y)
        same = (again.predict(X) == expected).all() and (model.predict(X) == expected).all()
        os._exit(0 if same else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_case_07_fit_and_predict_in_a_forked_child_complete():
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORK)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            kill_group(process)
            raise
    assert output.strip() == "0"


def kill_group(process):
    """The child that hangs as well as its parent, which waits for it."""
    os.killpg(process.pid, signal.SIGKILL)


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
    ],
)
def test_case_33_settings_of_another_type_are_refused(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        DecisionTreeRegressor(**{name: value}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
