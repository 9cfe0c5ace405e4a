"""Assertions and numbers of fitted trees, shared by several tests."""

from itertools import pairwise

import numpy as np

STRUCTURE = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left")
STATISTICS = ("value", "impurity", "n_node_samples", "weighted_n_node_samples")


def assert_same_tree(actual, expected, names=STRUCTURE + STATISTICS):
    """Assert that every array is the same to the last bit."""
    for name in names:
        a, e = getattr(actual.tree_, name), getattr(expected.tree_, name)
        np.testing.assert_array_equal(a, e, err_msg=name, strict=True)


def leaf_loss(estimator):
    """Total loss of the leaves, divided by the training weight."""
    tree = estimator.tree_
    leaf = tree.children_left < 0
    loss = tree.impurity[leaf] * tree.weighted_n_node_samples[leaf]
    return loss.sum() / tree.weighted_n_node_samples[0]


def rows_by_node(estimator, X):
    """For each node, the rows of X whose path contains it."""
    passes = estimator.decision_path(X).tocsc()
    return [passes.indices[a:b] for a, b in pairwise(passes.indptr)]
