"""Several outputs: the same trees, shapes and types as scikit-learn's."""

import numpy as np
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier

from peers import (
    CLASSIFIERS,
    REGRESSORS,
    assert_same_structure,
    both,
    friedman,
    need_missing_values_of_1_9,
    random_weights,
)
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from trees import assert_same_tree, leaf_loss

RULES = [
    {"max_depth": 4},
    {"min_samples_split": 40},
    {"min_samples_split": 40, "max_leaf_nodes": 8},
    {"min_samples_split": 40, "min_impurity_decrease": 0.01},
    {"min_samples_split": 40, "ccp_alpha": 0.01},
]
EVERY_RULE = pytest.mark.parametrize("rules", RULES, ids=lambda rules: list(rules)[-1])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def values(n=600):
    """Three non-negative outputs of different scales, which depend on different features."""
    X, y = friedman(n)
    rng = np.random.default_rng(3)
    Y = np.stack([y, 3.0 * np.sin(6.0 * X[:, 4]) + rng.normal(size=n), 10.0 * X[:, 5]], axis=1)
    return X, Y - Y.min(axis=0) + 0.5


def classes(n=600):
    """Outputs of 3, 2 and 4 classes with numbers as labels."""
    X, Y = values(n)
    codes = [
        np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)
        for y, k in zip(Y.T, (3, 2, 4), strict=True)
    ]
    return X, np.stack(codes, axis=1) * 10 - 5


# ---- regression ----------------------------------------------------------------------------------


@WEIGHTED
@EVERY_RULE
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_same_regression_trees(criterion, rules, weighted):
    X, Y = values()
    weight = random_weights(len(Y), 0.25, 3.0) if weighted else None
    settings = {"criterion": criterion, "min_samples_leaf": 5, **rules}
    ours, theirs = both(REGRESSORS, X, Y, weight, **settings)
    assert_same_structure(ours, theirs)
    assert ours.tree_.value.shape == theirs.tree_.value.shape == (ours.tree_.node_count, 3, 1)
    assert (ours.n_outputs_, ours.tree_.n_outputs) == (3, 3)
    found, expected = ours.predict(X), theirs.predict(X)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y), rel=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7)
    np.testing.assert_array_equal(ours.tree_.n_classes, theirs.tree_.n_classes)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_same_loss_on_linnerud(criterion):
    # 20 rows of small integers tie often, so only the loss of the first split is compared.
    X, Y = datasets.load_linnerud(return_X_y=True)
    ours, theirs = both(REGRESSORS, X, Y, criterion=criterion, max_depth=1)
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_missing_values_with_several_outputs(criterion):
    if criterion != "squared_error":
        need_missing_values_of_1_9()
    X, Y = values()
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    weight = random_weights(len(Y), 0.5, 1.5)
    settings = {"criterion": criterion, "min_samples_leaf": 5, "min_samples_split": 40}
    ours, theirs = both(REGRESSORS, X, Y, weight, **settings)
    assert_same_structure(ours, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor])
def test_one_column_of_targets_is_one_output(kind):
    X, y = friedman()
    settings = {"max_depth": 4, "random_state": 0}
    flat, column = kind(**settings).fit(X, y), kind(**settings).fit(X, y[:, None])
    assert_same_tree(column, flat)
    assert column.n_outputs_ == 1
    assert column.predict(X).shape == (len(X),)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "quantile", "poisson"])
def test_the_same_output_twice_makes_the_tree_of_one(criterion):
    X, y = friedman()
    y = y - y.min() + 0.5
    settings = {"criterion": criterion, "min_samples_leaf": 5}
    one = DecisionTreeRegressor(**settings).fit(X, y)
    two = DecisionTreeRegressor(**settings).fit(X, np.column_stack([y, y]))
    np.testing.assert_array_equal(two.tree_.threshold, one.tree_.threshold)
    np.testing.assert_allclose(two.tree_.impurity, one.tree_.impurity, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.predict(X), np.column_stack([one.predict(X)] * 2), rtol=1e-12)


def test_leaf_values_of_several_outputs():
    """Medians and callables as leaf values take one output only."""
    X, Y = values(100)
    for leaf_value in ("median", lambda y, w: 0.0):
        with pytest.raises(ValueError, match=r"^leaf_value: "):
            DecisionTreeRegressor(leaf_value=leaf_value).fit(X, Y)


# ---- classification ------------------------------------------------------------------------------


def assert_same_predictions(ours, theirs, X):
    assert isinstance(ours.classes_, list)
    for found, expected in zip(ours.classes_, theirs.classes_, strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(ours.n_classes_, theirs.n_classes_, strict=True)
    for method in ("predict_proba", "predict_log_proba"):
        found, expected = getattr(ours, method)(X), getattr(theirs, method)(X)
        assert isinstance(found, list)
        for a, e in zip(found, expected, strict=True):
            assert (a.shape, a.dtype) == (e.shape, e.dtype)
            np.testing.assert_allclose(a, e, rtol=1e-9, atol=1e-12)


@WEIGHTED
@EVERY_RULE
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_the_same_classification_trees(criterion, rules, weighted):
    X, Y = classes()
    weight = random_weights(len(Y), 1.0, 3.0 if weighted else 1.25)
    settings = {"criterion": criterion, "min_samples_leaf": 5, **rules}
    ours, theirs = both(CLASSIFIERS, X, Y, weight, **settings)
    assert_same_structure(ours, theirs)
    assert ours.tree_.value.shape == theirs.tree_.value.shape == (ours.tree_.node_count, 3, 4)
    assert_same_predictions(ours, theirs, X)
    # Shares are equal up to rounding. Where two of them tie, rounding decides in scikit-learn.
    expected = theirs.predict(X)
    found = ours.predict(X)
    assert found.shape == expected.shape == Y.shape
    shares = np.stack([np.sort(p, axis=1)[:, -2:] for p in ours.predict_proba(X)], axis=1)
    clear = shares[..., 1] - shares[..., 0] > 1e-9
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found[clear], expected[clear])


@pytest.mark.parametrize(
    "class_weight",
    [
        "balanced",
        [{-5: 1, 5: 3, 15: 2}, {-5: 1, 5: 5}, {-5: 1, 5: 1.5, 15: 2, 25: 0.5}],
        [{-5: 1, 5: 3, 15: 2}, "balanced", {-5: 1, 5: 1.5, 15: 2, 25: 0.5}],
    ],
    ids=["balanced", "dicts", "mixed"],
)
@WEIGHTED
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_the_same_trees_of_weighted_classes(class_weight, weighted):
    X, Y = classes()
    Y = Y[(Y[:, 1] > 0) | (np.arange(len(Y)) % 3 > 0)]
    X = X[: len(Y)]
    weight = random_weights(len(Y), 1.0, 3.0) if weighted else None
    settings = {"class_weight": class_weight, "min_samples_leaf": 20, "max_depth": 4}
    ours, theirs = both(CLASSIFIERS, X, Y, weight, **settings)
    assert_same_structure(ours, theirs)
    assert_same_predictions(ours, theirs, X)


@pytest.mark.parametrize(
    "class_weight",
    [{-5: 1, 5: 2}, [{-5: 1, 5: 2}], "other", ["balanced"] * 2, [{7: 1.0}] * 3],
)
def test_bad_class_weights_are_refused_by_both(class_weight):
    X, Y = classes(100)
    for kind in CLASSIFIERS:
        with pytest.raises(ValueError, match=r"class_weight|class label"):
            kind(class_weight=class_weight).fit(X, Y)


def test_labels_may_be_strings():
    X, Y = classes()
    names = np.array(["a", "bb", "ccc", "dddd"], object)[np.unique(Y, return_inverse=True)[1]]
    for labels in (names.astype(str), names):
        ours, theirs = both(CLASSIFIERS, X, labels, max_depth=3)
        for found, expected in zip(ours.classes_, theirs.classes_, strict=True):
            np.testing.assert_array_equal(found, expected)
        predicted = ours.predict(X)
        assert predicted.shape == labels.shape
        assert set(predicted.ravel()) <= {"a", "bb", "ccc", "dddd"}
        assert (predicted == labels).mean() > 0.6


def test_multi_label_indicators_work_as_in_scikit_learn():
    X, y = datasets.make_multilabel_classification(300, n_classes=4, random_state=0)
    X = X.astype(np.float32)
    ours, theirs = both(CLASSIFIERS, X, y, min_samples_leaf=10, max_depth=1)
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9)
    whole = DecisionTreeClassifier().fit(X, y)
    assert whole.score(X, y) == 1.0
    assert whole.predict(X).dtype == y.dtype
    one_by_one = MultiOutputClassifier(DecisionTreeClassifier()).fit(X, y)
    assert one_by_one.score(X, y) == 1.0


@pytest.mark.parametrize("n_rows", [1, 7])
def test_few_rows(n_rows):
    X, Y = values()
    model = DecisionTreeRegressor(max_depth=3).fit(X, Y)
    assert model.predict(X[:n_rows]).shape == (n_rows, 3)
    X, Y = classes()
    model = DecisionTreeClassifier(max_depth=3).fit(X, Y)
    assert model.predict(X[:n_rows]).shape == (n_rows, 3)
    assert [p.shape for p in model.predict_proba(X[:n_rows])] == [(n_rows, k) for k in (3, 2, 4)]


# ---- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        DecisionTreeRegressor(criterion="absolute_error"),
        DecisionTreeRegressor(max_features=2, random_state=0),
        ExtraTreeRegressor(random_state=0),
        DecisionTreeClassifier(),
        ExtraTreeClassifier(random_state=0, max_leaf_nodes=30),
    ],
    ids=str,
)
def test_the_same_tree_on_any_number_of_threads(model):
    X, Y = (classes if hasattr(model, "predict_proba") else values)(8000)
    model = clone(model).set_params(min_samples_leaf=3)
    first = clone(model).set_params(n_jobs=1).fit(X, Y)
    for n_jobs in (2, 5):
        assert_same_tree(clone(model).set_params(n_jobs=n_jobs).fit(np.asfortranarray(X), Y), first)


@st.composite
def small_problems(draw):
    n_rows = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, 4, (n_rows, 2)).astype(float)
    Y = rng.integers(0, 4, (n_rows, draw(st.integers(2, 3)))).astype(float)
    weight = rng.integers(1, 4, n_rows).astype(float)
    return X, Y, weight


def loss_of(criterion, y, weight):
    """The mean loss over the outputs, by definition."""
    if criterion == "squared_error":
        mean = np.average(y, axis=0, weights=weight)
        return (weight @ (y - mean) ** 2).mean()
    if criterion == "absolute_error":
        # One of the targets is a median.
        return np.mean([min(weight @ abs(column - m) for m in column) for column in y.T])
    shares = [[weight[column == c].sum() / weight.sum() for c in range(4)] for column in y.T]
    if criterion == "gini":
        return weight.sum() * np.mean([1 - np.square(share).sum() for share in shares])
    logs = [[-p * np.log2(p) for p in share if p > 0] for share in shares]
    return weight.sum() * np.mean([np.sum(log) for log in logs])


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "gini", "entropy"])
@given(problem=small_problems())
def test_the_first_split_is_the_best_of_all(criterion, problem):
    X, Y, weight = problem
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    stump = kind(criterion=criterion, max_depth=1).fit(X, Y, weight)
    whole = loss_of(criterion, Y, weight)
    losses = [whole]
    for column in X.T:
        for t in np.unique(column)[:-1]:
            left = column <= t
            losses.append(sum(loss_of(criterion, Y[s], weight[s]) for s in (left, ~left)))
    assert stump.tree_.impurity[0] * weight.sum() == pytest.approx(whole, abs=1e-9)
    assert leaf_loss(stump) * weight.sum() == pytest.approx(min(losses), abs=1e-9)


BAD_TARGETS = [
    (REGRESSORS, [[0.0, np.nan], [1.0, 2.0]]),
    (REGRESSORS, [[0.0, np.inf], [1.0, 2.0]]),
    (REGRESSORS, [[0.0, 1.0]]),
    (REGRESSORS, np.zeros((2, 2, 2))),
    (CLASSIFIERS, [[0.5, 1.5], [1.5, 0.25]]),
    (CLASSIFIERS, np.zeros((2, 2, 2))),
]


@pytest.mark.parametrize(("kinds", "Y"), BAD_TARGETS)
def test_bad_targets_are_refused_by_both(kinds, Y):
    for kind in kinds:
        with pytest.raises(ValueError):  # noqa: PT011 (what is said differs)
            kind().fit([[0.0], [1.0]], Y)


def test_poisson_needs_events_in_every_output():
    X, Y = values(50)
    Y[:, 1] = 0.0
    with pytest.raises(ValueError, match=r"(?i)y|positive"):
        DecisionTreeRegressor(criterion="poisson").fit(X, Y)
    Y[0, 1] = -1.0
    with pytest.raises(ValueError, match=r"(?i)negative"):
        DecisionTreeRegressor(criterion="poisson").fit(X, Y)
