"""The parts of a tree by name, as the core and the Python side exchange them."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray


class CategoryState(TypedDict):
    """The categories of all features, and the sets of them that go left."""

    # Per feature, its number of categories; 0 for numeric features.
    counts: list[int]
    # All sets, as bitmaps of 64 categories per word or as lists of two categories per word, after
    # their number. A node refers to the first word of its set.
    sets: list[int]


class TreeState(TypedDict):
    """The parts of a tree, from which the core can rebuild it.

    Arrays have one entry per node in depth-first order; the left child of a node follows it.
    """

    n_features: int
    n_outputs: int
    # Per node: the number of outputs times the largest number of classes, which is 1 for numbers.
    n_values: int
    # -2 for leaves.
    feature: NDArray[np.int64]
    # -2 for leaves. A NaN stands for a set of categories; its lower half is the index of the set's
    # first word in `sets`, its upper half tells a bitmap from a list.
    threshold: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    # -1 for leaves.
    children_right: NDArray[np.int64]
    # `n_values` numbers per node.
    value: NDArray[np.float64]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int64]
    # None if every row has weight 1.
    weighted_n_node_samples: NDArray[np.float64] | None
    # None if no feature is categorical.
    categories: CategoryState | None
