"""Class weights, compared with weights of rows and with scikit-learn's."""

import numpy as np
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from splitwood import DecisionTreeClassifier
from test_parity import assert_same_structure
from trees import assert_same_tree, leaf_loss

X = [[0.0], [1.0], [2.0], [3.0]]


@st.composite
def problems(draw):
    n = draw(st.integers(1, 25))
    cells = st.tuples(*[st.integers(0, 3)] * 2)
    rows = draw(st.lists(cells, min_size=n, max_size=n))
    labels = draw(st.sampled_from([["no", "yes", "perhaps"], [-1, 0, 7], [False, True]]))
    y = np.array(draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)))
    weights = {label: draw(st.integers(1, 4)) / 2 for label in labels}
    sample_weight = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return rows, y, weights, sample_weight


@given(problems())
def test_a_class_weight_is_the_weight_of_its_rows(problem):
    rows, y, weights, sample_weight = problem
    weighted = DecisionTreeClassifier(class_weight=weights).fit(rows, y, sample_weight)
    by_hand = np.array([weights[label] for label in y.tolist()])
    by_hand = by_hand * (1.0 if sample_weight is None else sample_weight)
    assert_same_tree(weighted, DecisionTreeClassifier().fit(rows, y, by_hand))


@given(problems())
def test_balanced_classes_have_the_same_total_weight(problem):
    rows, y, _, _ = problem
    tree = DecisionTreeClassifier(class_weight="balanced").fit(rows, y).tree_
    shares = tree.value[0, 0]
    np.testing.assert_allclose(shares, 1 / len(shares), rtol=1e-12)
    assert tree.weighted_n_node_samples[0] == pytest.approx(len(y), rel=1e-12)


# Weights that break the ties between counts of classes.
def breaking_ties(n):
    return np.random.default_rng(1).integers(1024, 1280, n) / 1024


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("loader", [datasets.load_breast_cancer, datasets.load_wine])
@pytest.mark.parametrize(
    "class_weight", ["balanced", {0: 0.5, 1: 2.0, 2: 1.25}, {0: 4}], ids=["balanced", "all", "one"]
)
def test_the_same_tree_as_scikit_learns(class_weight, loader, criterion):
    rows, y = loader(return_X_y=True)
    if isinstance(class_weight, dict) and len(class_weight) == 3:
        class_weight = {label: class_weight[label] for label in np.unique(y).tolist()}
    rows, weight = rows.astype(np.float32), breaking_ties(len(y))
    settings = {"criterion": criterion, "class_weight": class_weight, "min_samples_leaf": 8}
    # Without the last setting, scikit-learn splits pure nodes whose weights don't sum exactly.
    settings |= {"max_depth": 3, "min_weight_fraction_leaf": 0.02, "min_impurity_decrease": 1e-9}
    ours = DecisionTreeClassifier(**settings).fit(rows, y, weight)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **settings).fit(rows, y, weight)
    assert_same_structure(ours, theirs)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize("name", ["iris", "digits", "breast_cancer", "wine"])
def test_the_same_loss_as_scikit_learns(name):
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = rows.astype(np.float32)
    settings = {"class_weight": "balanced", "max_depth": 1}
    ours = DecisionTreeClassifier(**settings).fit(rows, y)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **settings).fit(rows, y)
    assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=1e-9)


def test_balance_counts_rows_whatever_they_weigh():
    y, weight = ["a", "a", "a", "b"], [3.0, 2.0, 1.0, 1.0]
    ours = DecisionTreeClassifier(class_weight="balanced").fit(X, y, weight)
    theirs = sklearn.tree.DecisionTreeClassifier(class_weight="balanced").fit(X, y, weight)
    np.testing.assert_allclose(ours.tree_.value[0], theirs.tree_.value[0], rtol=1e-12)


def test_classes_that_are_not_mentioned_weigh_one():
    y = ["a", "a", "b", "b"]
    tree = DecisionTreeClassifier(class_weight={"b": 3.0}).fit(X, y).tree_
    np.testing.assert_array_equal(tree.value[0, 0], [0.25, 0.75])
    assert DecisionTreeClassifier(class_weight={}).fit(X, y).tree_.value[0, 0, 0] == 0.5


def test_rows_of_a_class_without_weight_count_as_dropped():
    y = [0, 1, 2, 1]
    model = DecisionTreeClassifier(class_weight={0: 1, 1: 1, 2: 0}).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.tree_.n_node_samples[0] == 3
    assert model.predict([[2.0]]) == [1]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("balance", "must be a dict"),
        ("balanced_subsample", "must be a dict"),
        (2.0, "must be a dict"),
        (np.array([1.0, 2.0]), "must be a dict"),
        ([{0: 1.0, 1: 2.0}], "a list is for several outputs"),
        ({0: -1.0, 1: 1.0}, "finite and not negative, got -1.0 for 0"),
        ({0: np.nan}, "finite and not negative, got nan for 0"),
        ({1: np.inf}, "finite and not negative, got inf for 1"),
        ({1: "heavy"}, "finite and not negative, got 'heavy' for 1"),
        ({1: None}, "finite and not negative, got None for 1"),
        ({1: [1.0]}, "finite and not negative"),
        ({0: 0.0, 1: 0.0}, "every class of y weighs 0"),
    ],
)
def test_bad_class_weights_are_refused(bad, message):
    with pytest.raises(ValueError, match=r"^class_weight: .*" + message):
        DecisionTreeClassifier(class_weight=bad).fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier])
def test_a_dict_that_forgot_a_class_is_refused_in_scikit_learns_words(kind):
    with pytest.raises(ValueError, match=r"The classes, \[1\], are not in class_weight"):
        kind(class_weight={0: 1.0, 5: 2.0}).fit(X, [0, 0, 1, 1])
