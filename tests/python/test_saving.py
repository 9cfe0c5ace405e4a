"""Files, dicts and pickles of fitted estimators, also damaged ones: hostile cases 23 to 26."""

import copy
import json
import multiprocessing
import os
import pickle
import stat
import struct
import threading
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import splitwood
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    _core,
    _parameters,
)
from splitwood._tree_state import CategoryState, TreeState
from trees import assert_same_tree

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(300, 4)), 1)
X[RNG.random(X.shape) < 0.1] = np.nan
NUMBERS = np.where(np.isnan(X[:, 0]), 2.0, X[:, 0]) + 0.1 * RNG.normal(size=len(X))
CODES = np.digitize(NUMBERS, [-0.5, 0.5])
WEIGHTS = RNG.uniform(0.0, 3.0, len(X)) * (RNG.random(len(X)) < 0.9)


def rebuilt(text):
    return splitwood.from_dict(json.loads(text))


def by_json(model, path):
    return rebuilt(json.dumps(model.to_dict(), allow_nan=False))


def by_file(model, path):
    model.save(path)
    return splitwood.load(path)


def by_pickle(model, path):
    return pickle.loads(pickle.dumps(model))


WAYS = pytest.mark.parametrize("way", [by_file, by_json, by_pickle])


def assert_same_model(actual, expected, rows=X):
    assert type(actual) is type(expected)
    assert_same_tree(actual, expected)
    assert pickle.dumps(actual.tree_) == pickle.dumps(expected.tree_)
    for name in ("n_features_in_", "n_outputs_", "n_classes_", "classes_", "feature_names_in_"):
        assert_same(getattr(actual, name, None), getattr(expected, name, None))
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        if hasattr(expected, method):
            assert_same(getattr(actual, method)(rows), getattr(expected, method)(rows))


def assert_same(actual, expected):
    """Assert that arrays, lists of arrays or missing attributes are the same."""
    assert type(actual) is type(expected)
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_same(a, e)
    elif expected is not None:
        np.testing.assert_array_equal(actual, expected, strict=isinstance(expected, np.ndarray))


# ---- round trips ---------------------------------------------------------------------------------


@WAYS
@pytest.mark.parametrize("weights", [None, WEIGHTS, np.ones(len(X))], ids=["none", "some", "ones"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_a_regressor_comes_back(way, criterion, weights, tmp_path):
    y = NUMBERS - NUMBERS.min()
    model = DecisionTreeRegressor(criterion=criterion, max_depth=6).fit(X, y, weights)
    twin = way(model, tmp_path / "model")
    assert_same_model(twin, model)
    assert twin.get_params() == model.get_params()


LABELS = {
    "int64": CODES.astype(np.int64) - 1,
    "int8": CODES.astype(np.int8),
    "uint16": CODES.astype(np.uint16),
    "uint64": CODES.astype(np.uint64) + np.uint64(2**63 - 3),
    "extremes": np.array([-(2**63), 0, 2**63 - 1])[CODES],
    "float32": CODES.astype(np.float32),
    "float64": np.array([-0.0, 1e15, 2.0])[CODES],
    "bool": CODES > 0,
    "one class": np.full(len(X), 7),
    "str": np.array(["a", "ß", "日本語"])[CODES],
    "wide str": np.array(["a", "b", "c"], dtype="<U40")[CODES],
    "object": np.array(["a", "", "long label, with a comma"], dtype=object)[CODES],
}


@WAYS
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_a_classifier_comes_back_with_its_labels(way, labels, tmp_path):
    model = DecisionTreeClassifier(max_depth=4).fit(X, labels)
    assert_same_model(way(model, tmp_path / "model"), model)


@pytest.mark.parametrize(
    "way", [by_file, by_json]
)  # numpy's own pickle has the byte order of the machine.
def test_big_endian_labels_stay_so(way, tmp_path):
    model = DecisionTreeClassifier(max_depth=4).fit(X, CODES.astype(">i4"))
    assert_same_model(way(model, tmp_path / "model"), model)


@WAYS
def test_names_of_features_come_back(way, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "größe", "", "d e"])
    model = DecisionTreeRegressor(max_depth=3).fit(frame, NUMBERS)
    twin = way(model, tmp_path / "model")
    assert_same_model(twin, model, frame)
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(frame[["größe", "a", "", "d e"]])


PARAMETERS = {
    "ints": (DecisionTreeRegressor, {"max_depth": 2**70, "min_samples_leaf": 3, "n_jobs": -2}),
    "floats": (DecisionTreeRegressor, {"min_samples_leaf": 0.1, "min_impurity_decrease": 5e-324}),
    "inf": (DecisionTreeRegressor, {"min_impurity_decrease": np.inf, "ccp_alpha": 0.1}),
    "quantile": (DecisionTreeRegressor, {"criterion": "quantile", "quantile": 0.7}),
    "leaf": (DecisionTreeRegressor, {"leaf_value": "median"}),
    "balanced": (DecisionTreeClassifier, {"class_weight": "balanced", "criterion": "entropy"}),
    "dict": (DecisionTreeClassifier, {"class_weight": {0: 1.5, 1: 2, 2: 0.25}}),
    "bools": (DecisionTreeClassifier, {"class_weight": {False: 1.5, True: 2}}),
    "strings": (DecisionTreeClassifier, {"class_weight": {"a": 1.5, "ß": 2, "日本語": 1}}),
}


@WAYS
@pytest.mark.parametrize(("kind", "parameters"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_parameters_come_back(way, kind, parameters, tmp_path):
    y = NUMBERS
    if kind is DecisionTreeClassifier:
        weights = parameters["class_weight"]
        y = LABELS["str"] if "a" in weights else CODES > 0 if len(weights) == 2 else CODES
    model = kind(**parameters).fit(X, y)
    twin = way(model, tmp_path / "model")
    assert twin.get_params() == model.get_params()
    types = {name: type(value) for name, value in twin.get_params().items()}
    assert types == {name: type(value) for name, value in model.get_params().items()}
    assert_same_tree(clone(twin).fit(X, y), model)


@pytest.mark.parametrize("way", [by_file, by_json])
def test_numpy_parameters_come_back_as_pythons(way, tmp_path):
    model = DecisionTreeClassifier(
        max_depth=np.int32(3),
        min_samples_leaf=np.float32(0.25),
        class_weight={np.int64(0): np.float64(2.0), np.int64(1): 1},
    ).fit(X, CODES > 0)
    parameters = way(model, tmp_path / "model").get_params()
    assert parameters == model.get_params()
    assert type(parameters["max_depth"]) is int
    assert {type(key) for key in parameters["class_weight"]} == {int}


@pytest.mark.parametrize("way", [by_file, by_json])
@pytest.mark.parametrize(
    "names", [pd.Index, pd.Series, pl.Series, pa.array, np.array, tuple], ids=lambda f: f.__name__
)
def test_categorical_features_of_any_kind_come_back(names, way, tmp_path):
    frame = pd.DataFrame({"city": list("abab"), "size": np.arange(4.0), "kind": list("xxyy")})
    wanted = names(["city", "kind"])
    model = DecisionTreeRegressor(categorical_features=wanted).fit(frame, [1.0, 2.0, 5.0, 9.0])
    twin = way(model, tmp_path / "model")
    assert twin.categorical_features == ["city", "kind"]
    assert_same_tree(twin.fit(frame, [1.0, 2.0, 5.0, 9.0]), model)


@pytest.mark.parametrize("way", [by_file, by_json])
def test_a_range_of_categorical_features_comes_back(way, tmp_path):
    model = DecisionTreeRegressor(categorical_features=range(2)).fit(np.round(X), NUMBERS)
    assert way(model, tmp_path / "model").categorical_features == [0, 1]


@pytest.mark.parametrize("way", [by_file, by_json])
def test_what_is_not_data_is_not_stored_and_says_so(way, tmp_path):
    model = DecisionTreeRegressor(max_depth=3, leaf_value=lambda y, w: y.max()).fit(X, NUMBERS)
    twin = way(model, tmp_path / "model")
    assert twin.leaf_value == "not stored: function"
    assert_same_model(twin, model)
    with pytest.raises(ValueError, match=r"leaf_value: .*not stored: function"):
        twin.fit(X, NUMBERS)
    assert_same_model(way(twin, tmp_path / "again"), model)
    twin.set_params(leaf_value="median").fit(X, NUMBERS)


def test_a_derived_class_comes_back_as_its_base(tmp_path):
    class Mine(DecisionTreeRegressor):
        def __init__(self, *, mine=1, max_depth=None):
            super().__init__(max_depth=max_depth)
            self.mine = mine

    model = Mine(max_depth=2).fit(X, NUMBERS)
    twin = by_file(model, tmp_path / "model")
    assert type(twin) is DecisionTreeRegressor
    assert twin.max_depth == 2
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@WAYS
def test_infinite_thresholds_come_back(way, tmp_path):
    rows = np.array([[-np.inf], [-np.finfo(float).max], [0.0], [np.inf]])
    model = DecisionTreeRegressor().fit(rows, [1.0, 2.0, 3.0, 4.0])
    assert_same_model(way(model, tmp_path / "model"), model, rows)


@given(
    st.lists(
        st.tuples(st.floats(), st.floats(-1e150, 1e150), st.sampled_from([0.0, 0.1, 1.0, 3e8])),
        min_size=1,
        max_size=30,
    )
)
def test_json_keeps_every_bit(rows):
    x, y, weights = map(np.array, zip(*rows, strict=True))
    weights[0] = 1.0
    model = DecisionTreeRegressor().fit(x[:, None], y, weights)
    twin = rebuilt(json.dumps(model.to_dict(), allow_nan=False))
    assert pickle.dumps(twin.tree_) == pickle.dumps(model.tree_)


def test_the_same_model_is_the_same_file(tmp_path):
    for name, n_jobs in [("a", None), ("b", None)]:
        DecisionTreeClassifier(n_jobs=n_jobs).fit(X, CODES).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    splitwood.load(tmp_path / "a").save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()
    rebuilt(json.dumps(splitwood.load(tmp_path / "a").to_dict())).save(str(tmp_path / "d"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "d").read_bytes()


def test_a_loaded_estimator_is_an_estimator(tmp_path):
    model = by_file(DecisionTreeClassifier(max_depth=3).fit(X, CODES), tmp_path / "model")
    assert model.score(X, CODES) > 0.8
    assert_same_tree(clone(model).fit(X, CODES), model)
    assert_same_model(copy.deepcopy(model), model)


@WAYS
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_several_outputs_come_back(way, kind, tmp_path):
    y = np.stack([CODES, CODES > 0, 7 * (CODES > 1)], axis=1)
    model = kind(max_depth=4).fit(X, y)
    assert_same_model(way(model, tmp_path / "model"), model)
    small = splitwood.from_dict(model.to_dict(), as_estimator=False)
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        assert hasattr(small, method) == hasattr(model, method)
        if hasattr(model, method):
            assert_same(getattr(small, method)(X), getattr(model, method)(X))


@WAYS
@pytest.mark.parametrize(
    "model",
    [
        ExtraTreeRegressor(random_state=0, max_depth=5, max_leaf_nodes=9),
        ExtraTreeClassifier(random_state=0, max_features="sqrt"),
        DecisionTreeRegressor(
            max_features=2, random_state=np.int64(7), monotonic_cst=[1, 0, 0, -1]
        ),
    ],
    ids=str,
)
def test_random_and_constrained_trees_come_back(way, model, tmp_path):
    model = model.fit(X, CODES)
    twin = way(model, tmp_path / "model")
    assert_same_model(twin, model)
    assert twin.get_params() == model.get_params()
    assert_same_tree(clone(twin).fit(X, CODES), model)


@pytest.mark.parametrize("way", [by_file, by_json])
def test_a_random_generator_is_not_stored(way, tmp_path):
    generator = np.random.RandomState(0)
    model = DecisionTreeRegressor(max_features=2, random_state=generator).fit(X, CODES)
    twin = way(model, tmp_path / "model")
    assert twin.random_state == "not stored: RandomState"
    assert_same_model(twin, model)
    with pytest.raises(ValueError, match="not stored: RandomState"):
        twin.fit(X, CODES)


def with_categories():
    """A tree that the core grew from categories; the first column has 70 of them."""
    rows = np.stack([np.arange(300) * 7 % 70, np.arange(300) % 3], axis=1).astype(float)
    rows[::11, 0] = np.nan
    y = rows[:, 1] + np.nan_to_num(rows[:, 0]) % 5
    model = DecisionTreeRegressor(max_depth=4).fit(rows, y)
    settings = model._settings() | {"quantile": 0.5, "leaf_value": None, "categories": [70, 0]}
    model.tree_ = _core.fit_regressor(rows, y, None, settings)
    assert np.isnan(model.tree_.threshold[0])
    return model, rows


@WAYS
def test_categories_come_back(way, tmp_path):
    model, rows = with_categories()
    rows = np.concatenate([rows, [[70.0, 0.0], [-1.0, 0.0], [0.5, 1.0], [np.inf, 2.0]]])
    twin = way(model, tmp_path / "model")
    assert pickle.dumps(twin.tree_) == pickle.dumps(model.tree_)
    np.testing.assert_array_equal(twin.predict(rows), model.predict(rows))
    sets = [twin.tree_.categories_left(node) for node in range(twin.tree_.node_count)]
    assert sets == [model.tree_.categories_left(node) for node in range(len(sets))]
    assert any(sets)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.update(categories=None),
        lambda tree: tree.update(categories=[]),
        lambda tree: tree["categories"].pop("sets"),
        lambda tree: tree["categories"].update(more=1),
        lambda tree: tree["categories"]["counts"].pop(),
        lambda tree: tree["categories"]["sets"].clear(),
        lambda tree: tree["categories"]["counts"].__setitem__(0, 2**32),
        lambda tree: tree["categories"]["sets"].__setitem__(0, 2**64),
        lambda tree: tree["categories"]["sets"].__setitem__(0, -1),
        lambda tree: tree["threshold"].__setitem__(0, {"set": 10**6}),
        lambda tree: tree["threshold"].__setitem__(0, {"set": -1}),
        lambda tree: tree["threshold"].__setitem__(0, {"set": 0, "more": 1}),
        lambda tree: tree["threshold"].__setitem__(0, "nan"),
    ],
)
def test_crafted_categories_are_refused(change):
    data = with_categories()[0].to_dict()
    change(data["tree"])
    with pytest.raises(ValueError, match=r"^(model|tree): "):
        splitwood.from_dict(data)


# 23: a chain with as many levels as rows


@WAYS
def test_case_23_a_deep_chain_comes_back(way, tmp_path):
    n = 20_000 if way is by_json else 200_000
    rows = np.arange(n, dtype=float)[:, None]
    chain = DecisionTreeRegressor(max_depth=1).fit(rows, rows[:, 0])
    inner, leaf = 2 * n - 1, -1
    feature = np.full(inner, -2)
    feature[0:-1:2] = 0
    right = np.full(inner, leaf)
    right[0:-1:2] = np.arange(2, inner, 2)
    numbers = np.zeros(inner)
    missing = np.zeros(inner, dtype=np.uint8)
    ones = np.ones(inner, dtype=np.int64)
    chain.tree_ = _core.Tree._from_state(
        {
            "n_features": 1,
            "n_outputs": 1,
            "n_values": 1,
            "feature": feature,
            "threshold": numbers,
            "missing_go_to_left": missing,
            "children_right": right,
            "value": numbers,
            "impurity": numbers,
            "n_node_samples": ones,
            "weighted_n_node_samples": None,
            "categories": None,
        }
    )
    twin = way(chain, tmp_path / "model")
    assert twin.get_depth() == n - 1
    assert_same_tree(twin, chain)


# ---- saving --------------------------------------------------------------------------------------


def test_only_fitted_estimators_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().to_dict()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_as_a_whole(tmp_path):
    """While one thread saves repeatedly, other threads always read a complete model."""
    path = tmp_path / "model"
    models = [DecisionTreeRegressor(max_depth=depth).fit(X, NUMBERS) for depth in (2, 8)]
    answers = [model.predict(X[:5]).tolist() for model in models]
    models[0].save(path)
    done = threading.Event()

    def save():
        for i in range(200):
            models[i % 2].save(path)
        done.set()

    saver = threading.Thread(target=save)
    saver.start()
    try:
        while not done.is_set():
            assert splitwood.load(path).predict(X[:5]).tolist() in answers
    finally:
        saver.join()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_what_can_not_be_written_leaves_nothing_behind(tmp_path):
    model = DecisionTreeRegressor(max_depth=1).fit(X, NUMBERS)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path / "folder")
    with pytest.raises(FileNotFoundError) as missing:
        model.save(tmp_path / "nowhere" / "model")
    assert missing.value.filename == str(tmp_path / "nowhere" / "model")
    with pytest.raises(TypeError):
        model.save(None)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1, 2**63], dtype=np.uint64),
        np.array(["a", "b", None], dtype=object),
        np.array([b"a", b"b", b"c"]),
        np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="M8[D]"),
        np.array([0.0, 1.0, 2.0], dtype=np.complex128),
        np.array([0, 1, 2], dtype=object),
    ],
)
def test_labels_that_a_file_can_not_hold_are_refused(classes, tmp_path):
    model = DecisionTreeClassifier().fit(X, CODES)
    model.classes_ = classes
    with pytest.raises(ValueError, match=r"classes_: labels of dtype .* can't be saved"):
        model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="classes_"):
        model.to_dict()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are a Unix thing")
def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="neither a file nor a folder"):
        splitwood.load(pipe)
    with pytest.raises(ValueError, match="neither a file nor a folder"):
        DecisionTreeRegressor(max_depth=1).fit(X, NUMBERS).save(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# ---- 24, 25: damaged and crafted files -----------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """A file with all sections, and its bytes."""
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    labels = LABELS["str"]
    model = DecisionTreeClassifier(max_depth=1).fit(frame, labels, WEIGHTS)
    path = tmp_path / "small"
    model.save(path)
    return path, path.read_bytes()


def repaired(data):
    """The same bytes with valid checksums."""
    data = bytearray(data)
    (n_sections,) = struct.unpack_from("<I", data, 12)
    for at in range(64, 64 + 32 * n_sections, 32):
        offset, length = struct.unpack_from("<QQ", data, at + 8)
        struct.pack_into("<I", data, at + 24, zlib.crc32(data[offset : offset + length]))
    table = data[64 : 64 + 32 * n_sections]
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60] + table))
    return bytes(data)


def with_params(data, text):
    """The file with another last section."""
    (n_sections,) = struct.unpack_from("<I", data, 12)
    at = 64 + 32 * (n_sections - 1)
    assert data[at : at + 6] == b"params"
    (offset,) = struct.unpack_from("<Q", data, at + 8)
    data = bytearray(data[:offset] + text)
    struct.pack_into("<Q", data, at + 16, len(text))
    struct.pack_into("<Q", data, 16, len(data))
    return repaired(data)


def test_the_test_repairs_as_the_format_says(small):
    assert repaired(small[1]) == small[1]


def test_case_24_every_truncation_is_refused(small):
    path, data = small
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"^model: .*(truncated|no splitwood model)"):
            splitwood.load(path)


def test_case_24_every_flipped_bit_is_noticed(small):
    path, data = small
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match=r"^model: "):
            splitwood.load(path)


@pytest.mark.parametrize("make", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_case_24_a_damaged_pickle_of_a_tree_is_refused(make):
    data = pickle.dumps(make(max_depth=2).fit(X, CODES).tree_)
    start = data.index(b"\x89SPW")
    for at in range(start, len(data) - 8):
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        with pytest.raises((ValueError, pickle.UnpicklingError, EOFError)):
            pickle.loads(flipped)
    for length in range(len(data)):
        with pytest.raises((ValueError, pickle.UnpicklingError, EOFError, IndexError)):
            pickle.loads(data[:length])


def test_case_25_crafted_trees_are_refused(small):
    path, data = small
    nodes = 64 + 32
    (offset,) = struct.unpack_from("<Q", data, nodes + 8)
    assert data[nodes : nodes + 5] == b"nodes"
    for at, form, value in [
        (12, "<I", 0),
        (12, "<I", 1),
        (12, "<I", 2**32 - 1),
        (8, "<I", 2),
        (8, "<I", 2**31 - 1),
        (0, "<d", np.nan),
    ]:
        crafted = bytearray(data)
        struct.pack_into(form, crafted, offset + at, value)
        path.write_bytes(repaired(crafted))
        with pytest.raises(ValueError, match=r"^model: "):
            splitwood.load(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"{}",
        b'{"estimator": "os.system", "parameters": {}}',
        b'{"estimator": "DecisionTreeRegressor", "parameters": {}}',
        b'{"estimator": "BaseTree", "parameters": {}}',
        b'{"estimator": ["DecisionTreeClassifier"], "parameters": {}}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": []}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": '
        + b"[" * 900
        + b"]" * 900
        + b"}}",
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": {"eval": '
        + b"[" * 900
        + b"]" * 900
        + b"}}}",
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": %s}}' % (b"9" * 5000),
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": {"eval": "1"}}}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": {"float": "1"}}}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"class_weight": {"dict": [[[1], 1]]}}}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {"class_weight": {"dict": [1]}}}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": "<U3"}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": ["<i8"]}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": ["O"]}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": ["<U1"]}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": ["<U999999999"]}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": [["<U3"]]}',
        b'{"estimator": "DecisionTreeClassifier", "parameters": {}, "classes_dtype": ["<U3", "<U3"]}',
    ],
)
def test_case_25_crafted_parameters_are_refused(small, text):
    path, data = small
    path.write_bytes(with_params(data, text))
    for as_estimator in (None, True, False):
        with pytest.raises(ValueError, match=r"^model: "):
            splitwood.load(path, as_estimator=as_estimator)


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def test_levels_of_nested_parameters_are_counted(small):
    path, data = small
    form = b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": %s}}'
    # The object of all parameters is a level too.
    most = _parameters.MAX_NESTING - 1
    path.write_bytes(with_params(data, form % json.dumps(nested(most)).encode()))
    model = splitwood.load(path)
    assert model.max_depth == nested(most)
    assert splitwood.from_dict(model.to_dict()).max_depth == nested(most)
    crafted = model.to_dict()
    for levels in (most + 1, most + 2, 500):
        path.write_bytes(with_params(data, form % json.dumps(nested(levels)).encode()))
        with pytest.raises(ValueError, match=r"^model: .*nested"):
            splitwood.load(path)
        crafted["parameters"]["max_depth"] = nested(levels)
        with pytest.raises(ValueError, match=r"^model: .*nested"):
            splitwood.from_dict(crafted)
        with pytest.raises(ValueError, match=r"^model: .*nested"):
            model.set_params(max_depth=nested(levels)).save(path)


def test_brackets_in_strings_are_no_levels(small):
    path, _ = small
    name = '[{"\\' * 500
    table = pd.DataFrame({name: ["a", "b"] * 5})
    DecisionTreeClassifier(categorical_features=[name]).fit(table, CODES[:10] > 0).save(path)
    assert splitwood.load(path).categorical_features == [name]


@pytest.mark.parametrize(
    "text",
    [b"[" * 9_000, b'{"a":' * 9_000, b'"' + b'\\"[' * 500_000],
    ids=["lists", "dicts", "string"],
)
def test_nested_parameters_do_not_overflow_a_small_stack(small, text):
    path, data = small
    path.write_bytes(with_params(data, text))
    refused = []

    def load():
        with pytest.raises(ValueError, match=r"^model: "):
            splitwood.load(path)
        refused.append(True)

    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=load)
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()
    assert refused


def test_parameters_of_a_later_version_are_left_out_with_a_warning(small):
    path, data = small
    text = b'{"estimator": "DecisionTreeClassifier", "parameters": {"max_depth": 1, "novelty": 3}, "more": 1}'
    path.write_bytes(with_params(data, text))
    with pytest.warns(UserWarning, match="novelty") as caught:
        model = splitwood.load(path)
    assert caught[0].filename == __file__
    assert model.max_depth == 1
    assert model.classes_.tolist() == ["a", "ß", "日本語"]


@pytest.mark.parametrize("major", [0, 2, 65535])
def test_case_26_other_versions_are_refused_by_number(small, major):
    path, data = small
    path.write_bytes(repaired(data[:8] + struct.pack("<H", major) + data[10:]))
    with pytest.raises(ValueError, match=rf"format {major}\.0.*reads 1\.x.*newer"):
        splitwood.load(path)


def test_case_26_a_later_minor_version_is_read(small):
    path, data = small
    path.write_bytes(repaired(data[:10] + struct.pack("<H", 9) + data[12:]))
    assert splitwood.load(path).classes_.tolist() == ["a", "ß", "日本語"]


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        splitwood.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        splitwood.load(tmp_path / "missing")
    with pytest.raises(ValueError, match="no splitwood model"):
        splitwood.load(__file__)
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="0 bytes"):
        splitwood.load(tmp_path / "empty")
    (tmp_path / "pickle").write_bytes(pickle.dumps(DecisionTreeRegressor().fit(X, NUMBERS)))
    with pytest.raises(ValueError, match="no splitwood model"):
        splitwood.load(tmp_path / "pickle")


def test_a_pickled_tree_is_no_model_file(tmp_path):
    tree = DecisionTreeRegressor().fit(X, NUMBERS).tree_
    (tmp_path / "tree").write_bytes(tree.__reduce__()[1][0])
    with pytest.raises(ValueError, match="tree alone"):
        splitwood.load(tmp_path / "tree")


# ---- crafted dicts -------------------------------------------------------------------------------


def broken(change):
    data = json.loads(json.dumps(DecisionTreeClassifier(max_depth=1).fit(X, CODES).to_dict()))
    change(data)
    return data


def put(*path):
    *way, last, value = path

    def change(data):
        for key in way:
            data = data[key]
        data[last] = value

    return change


CHANGES = [
    lambda data: data.clear(),
    *(lambda data, key=key: data.pop(key) for key in ("format", "version", "estimator", "tree")),
    *(
        lambda data, key=key: data["tree"].pop(key)
        for key in ("feature", "threshold", "value", "impurity")
    ),
    put("format", "other"),
    put("version", [2, 0]),
    put("version", ["1", "0"]),
    put("novelty", 1),
    put("tree", "novelty", 1),
    put("estimator", "DecisionTreeRegressor"),
    put("estimator", 1),
    put("parameters", "max_depth", {"eval": "1"}),
    put("n_features", 0),
    put("n_features", 2**31),
    put("n_features", True),
    put("n_features", 1.0),
    put("n_outputs", 0),
    put("n_outputs", 2),
    put("n_outputs", 3),
    put("feature_names", ["a"]),
    put("feature_names", "abcd"),
    put("classes", None),
    put("classes", [[0, 1]]),
    put("classes", [[0, 1, "2"]]),
    put("classes", [[0, 1, 2], [0, 1, 2]]),
    put("classes_dtype", ["<i1,<i1"]),
    put("classes_dtype", ["<U3"]),
    put("tree", None),
    put("tree", "feature", 0, 4),
    put("tree", "feature", 0, 2**31 - 1),
    put("tree", "feature", 0, 2**64),
    put("tree", "feature", 0, 0.5),
    put("tree", "feature", [0]),
    put("tree", "children_right", 0, 0),
    put("tree", "children_right", 0, -1),
    put("tree", "threshold", 0, "nan"),
    put("tree", "threshold", 0, None),
    put("tree", "threshold", 0, 10**400),
    put("tree", "threshold", "abc"),
    put("tree", "value", 0, [0.5, 0.5]),
    put("tree", "value", 0, 0, "inf"),
    put("tree", "value", []),
    put("tree", "value", [[], [], []]),
    put("tree", "impurity", 0, "nan"),
    put("tree", "impurity", 0, [1.0]),
    put("tree", "missing_go_to_left", 0, 1),
    put("tree", "n_node_samples", 0, -1),
    put("tree", "n_node_samples", 0, 2**32),
    put("tree", "weighted_n_node_samples", [1.0]),
]


@pytest.mark.parametrize("change", CHANGES)
def test_crafted_dicts_are_refused(change):
    with pytest.raises(ValueError, match=r"^(model|tree): "):
        splitwood.from_dict(broken(change))


@pytest.mark.parametrize("data", [None, [], "{}", 1])
def test_what_is_no_dict_is_refused(data):
    with pytest.raises(ValueError, match=r"^model: "):
        splitwood.from_dict(data)


# ---- processes -----------------------------------------------------------------------------------


def _load_and_predict(path):
    return splitwood.load(path).predict(X).tolist()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_case_07_a_child_loads_after_its_parent_fitted(tmp_path):
    model = DecisionTreeRegressor(max_depth=4).fit(X, NUMBERS)
    model.save(tmp_path / "model")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        answer = pool.apply_async(_load_and_predict, (Path(tmp_path / "model"),)).get(timeout=60)
    assert answer == model.predict(X).tolist()


# ---- what the core and the Python side exchange --------------------------------------------------


@pytest.mark.parametrize("categorical_features", [None, [0]])
def test_the_parts_of_a_tree_have_their_names(categorical_features):
    model = DecisionTreeRegressor(max_depth=3, categorical_features=categorical_features)
    tree = model.fit(np.nan_to_num(X).round(), NUMBERS).tree_
    state = tree._state()
    assert list(state) == list(TreeState.__annotations__)
    if categorical_features is not None:
        assert list(state["categories"]) == list(CategoryState.__annotations__)
    assert pickle.dumps(_core.Tree._from_state(state)) == pickle.dumps(tree)
    for name in state:
        with pytest.raises(KeyError, match=name):
            _core.Tree._from_state({key: part for key, part in state.items() if key != name})
