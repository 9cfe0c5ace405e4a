"""Comparison with scikit-learn's trees: data, fits of both, and assertions about two trees.

scikit-learn casts X to float32, so all data here is float32. It breaks ties by a random permutation
of the features. Nodes of few rows tie often, because two features that order a few rows alike
separate them alike. So structures are compared where nodes keep enough rows, and losses elsewhere.
"""

import numpy as np
import pytest
import sklearn.tree
from sklearn import datasets

import splitwood
from trees import STATISTICS

REGRESSORS = (splitwood.DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
CLASSIFIERS = (splitwood.DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)

LOADERS = {
    "diabetes": datasets.load_diabetes,
    "breast_cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
}
CLASS_SETS = ["breast_cancer", "iris", "wine", "digits"]


def need_missing_values_of_1_9():
    """Skip the test before scikit-learn 1.9, whose trees have missing values in more places.

    scikit-learn 1.8 refuses them with medians and with monotonic constraints, and its trees by
    Poisson deviance do not find the best side for them.
    """
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("missing values are compared with scikit-learn 1.9 and later")


def load(name):
    X, y = LOADERS[name](return_X_y=True)
    return X.astype(np.float32), y


def friedman(n=600):
    X, y = datasets.make_friedman1(n, n_features=6, noise=1.0, random_state=0)
    return X.astype(np.float32), y


def three_classes(n=600):
    X, y = datasets.make_classification(
        n, n_features=6, n_informative=4, n_classes=3, flip_y=0.1, random_state=0
    )
    return X.astype(np.float32), y


def random_weights(n, low, high):
    """Multiples of 2**-10, whose sums are exact, so that scikit-learn recognises pure nodes."""
    return np.random.default_rng(1).integers(int(1024 * low), int(1024 * high), n) / 1024


def both(kinds, X, y, sample_weight=None, **settings):
    """Fits of splitwood and of scikit-learn with the same settings."""
    ours, theirs = kinds
    return (
        ours(**settings).fit(X, y, sample_weight),
        theirs(random_state=0, **settings).fit(X, y, sample_weight),
    )


def assert_same_structure(actual, expected):
    """Assert that nodes, splits and statistics agree; statistics up to rounding.

    Two things are left out. Where a node has no missing values, scikit-learn chooses their
    direction by the number of rows, and splitwood by weight. Ids of nodes follow the order of the
    splits in scikit-learn, and are depth-first in splitwood.
    """
    a, e = actual.tree_, expected.tree_
    order = depth_first(e)
    new_ids = np.append(np.argsort(order), -1)
    for name in ("children_left", "children_right"):
        children = new_ids[getattr(e, name)[order]]
        np.testing.assert_array_equal(getattr(a, name), children, err_msg=name, strict=True)
    for name in ("feature", "threshold"):
        np.testing.assert_array_equal(
            getattr(a, name), getattr(e, name)[order], err_msg=name, strict=True
        )
    for name in STATISTICS:
        np.testing.assert_allclose(
            getattr(a, name), getattr(e, name)[order], rtol=1e-7, atol=1e-9, err_msg=name
        )


def depth_first(tree):
    """The ids of all nodes in depth-first order, left branch first."""
    ids, pending = [], [0]
    while pending:
        node = pending.pop()
        ids.append(node)
        if tree.children_left[node] >= 0:
            pending += [tree.children_right[node], tree.children_left[node]]
    return ids
