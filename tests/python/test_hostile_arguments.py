"""Hostile cases of arguments: shapes, types and settings that must be refused or understood.

A refused fit leaves the estimator as it was.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from problems import BOTH, KINDS, random_problem
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from trees import assert_same_tree

# ---- 13: one row, two rows -----------------------------------------------------------------------


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


# ---- 14: invalid shapes and types ----------------------------------------------------------------


@KINDS
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
    with pytest.raises(ValueError):  # noqa: PT011 (the message differs by version of scikit-learn)
        kind().fit(X, y)


@KINDS
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
def test_case_14_arrays_and_lists_are_refused_with_the_same_message(kind, X, y):
    # scikit-learn's messages differ by version.
    with pytest.raises(ValueError) as by_arrays:  # noqa: PT011
        kind().fit(X, y)
    with pytest.raises(ValueError) as by_lists:  # noqa: PT011
        kind().fit(X.tolist(), y.tolist())
    assert str(by_arrays.value) == str(by_lists.value)


@pytest.mark.parametrize(
    "y", [["a", "b"], ["1.0", "2.0"], np.array(["1", "2"], dtype=object), [b"1", b"2"]]
)
def test_case_14_a_regressor_refuses_strings_as_targets(y):
    with pytest.raises(ValueError, match="strings"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], y)


@KINDS
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("others", [["a", "b"], [1, 2]], ids=["words", "numbers"])
def test_case_14_a_missing_target_is_named(kind, missing, others):
    y = [*others, missing]
    for given in (y, np.array(y, dtype=object), pd.Series(y, dtype=object)):
        with pytest.raises(ValueError, match=r"Input y contains NaN"):
            kind().fit([[1.0], [2.0], [3.0]], given)
    two = np.array([y, [*others, others[0]]], dtype=object).T
    with pytest.raises(ValueError, match=r"Input y contains NaN"):
        kind().fit([[1.0], [2.0], [3.0]], two)


@KINDS
def test_case_14_words_in_an_array_are_named_with_a_remedy(kind):
    words = [[1.0, "red"], [2.0, "blue"]]
    for X in (words, np.array(words), np.array(words, dtype=object)):
        with pytest.raises(ValueError, match=r"X: column 1 .* 'red' in row 0.*categorical_feat"):
            kind().fit(X, [0, 1])
    model = kind().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"X: column 1 .* 'red' in row 0"):
        model.predict(np.array(words, dtype=object))
    with pytest.raises(ValueError, match="sample_weight: must be numbers"):
        kind().fit([[1.0], [2.0]], [0, 1], ["a", "b"])


def test_case_14_a_classifier_refuses_continuous_targets():
    with pytest.raises(ValueError, match="continuous"):
        DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], [0.5, 1.5, 2.7])


@pytest.mark.parametrize("weight", [[1.0], [1.0] * 3, np.ones((2, 1)), np.ones((2, 2))])
def test_case_14_weights_of_a_wrong_shape_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0], weight)


@KINDS
def test_case_14_sparse_rows_of_impossible_shapes_are_refused(kind):
    for X, y in (
        (sparse.csr_array((0, 3)), []),
        (sparse.csr_array((3, 0)), [0, 1, 2]),
        (sparse.csr_array(np.eye(3)), [0, 1]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (the message differs by version of scikit-learn)
            kind().fit(X, y)


def test_case_14_a_column_as_target_is_one_output():
    X, y = random_problem(DecisionTreeRegressor)
    model = DecisionTreeRegressor().fit(X, y[:, None])
    assert_same_tree(model, DecisionTreeRegressor().fit(X, y))
    assert model.predict(X).shape == (len(X),)


# ---- 16: prediction before fit or with other columns ---------------------------------------------


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


@KINDS
def test_case_16_properties_of_the_tree_before_fit_are_refused(kind):
    for read in (kind().get_depth, kind().get_n_leaves, lambda: kind().feature_importances_):
        with pytest.raises(NotFittedError):
            read()


# ---- 33: invalid, huge and numpy settings --------------------------------------------------------


@KINDS
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
def test_case_33_settings_out_of_range_are_refused(kind, name, value):
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
def test_case_33_settings_of_a_wrong_type_are_refused(name, value):
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
def test_case_33_huge_counts_and_numpy_numbers_are_accepted(name, value):
    X, y = random_problem(DecisionTreeRegressor)
    expected = DecisionTreeRegressor().fit(X, y)
    assert_same_tree(DecisionTreeRegressor(**{name: value}).fit(X, y), expected)


@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf"])
def test_case_33_a_minimum_above_the_number_of_rows_gives_a_leaf(name):
    model = DecisionTreeRegressor(**{name: 2**40}).fit([[1.0], [2.0]], [0, 1])
    assert model.tree_.node_count == 1


# ---- fitting again -------------------------------------------------------------------------------


@KINDS
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
    with pytest.raises(ValueError):  # noqa: PT011 (the messages are tested above)
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


# ---- 14: errors that came from numpy -------------------------------------------------------------


NUMBERS, ODD = np.arange(20.0)[:, None], np.arange(20) % 2
NAMED = [
    (
        DecisionTreeClassifier(class_weight="balanced"),
        ODD,
        np.ones(21),
        "^sample_weight: has 21 entries, but X has 20 rows$",
    ),
    (
        DecisionTreeClassifier(class_weight={0: 1.0, 1: 2.0}),
        ODD,
        np.ones(19),
        "^sample_weight: has 19 entries, but X has 20 rows$",
    ),
    (
        DecisionTreeClassifier(),
        np.array(["a", 1] * 10, dtype=object),
        None,
        "^y: labels of the types int, str have no common order",
    ),
    (
        RandomForestClassifier(),
        np.array(["a", 1] * 10, dtype=object),
        None,
        "^y: labels of the types int, str have no common order",
    ),
    (
        RandomForestRegressor(max_samples=0.5),
        ODD,
        np.full(20, 1e290),
        "^max_samples: must draw 1 to 4294967295 rows, got ",
    ),
    (RandomForestRegressor(max_samples=2**70), ODD, None, "^max_samples: must draw 1 to"),
]


@pytest.mark.parametrize(("model", "y", "weight", "problem"), NAMED)
def test_case_14_errors_name_the_argument(model, y, weight, problem):
    with pytest.raises(ValueError, match=problem):
        model.fit(NUMBERS, y, weight)
