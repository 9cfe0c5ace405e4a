"""Trees and forests as dicts for ``shap.TreeExplainer``, without rounding and an import of shap."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core, _shap_categories
from ._arguments import Estimator

# The losses that shap can explain, by its names.
_OBJECTIVES = {
    "squared_error": "squared_error",
    "friedman_mse": "squared_error",
    "absolute_error": "absolute_error",
    "gini": "binary_crossentropy",
    "entropy": "binary_crossentropy",
    "log_loss": "binary_crossentropy",
}


def to_shap(estimator: Estimator) -> dict[str, Any]:
    """Describe a fitted tree; see the method `to_shap`."""
    check_is_fitted(estimator)
    return _described(estimator, [estimator])


def forest_to_shap(estimator: Any) -> dict[str, Any]:
    """Describe a fitted forest; see the method `to_shap`."""
    check_is_fitted(estimator)
    return _described(estimator, estimator.estimators_)


def _described(estimator: Any, trees: list[Any]) -> dict[str, Any]:
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier and estimator.n_outputs_ != 1:
        raise ValueError("to_shap: shap can't explain several outputs of classes at once")
    labels = getattr(estimator, "categories_", None)
    parts = []
    room = _shap_categories.MOST_NODES
    for tree in trees:
        parts.append(_tree(tree.tree_, labels, room))
        room -= len(parts[-1]["features"])
    for part in parts:
        # shap adds up the values of the trees.
        part["values"] = part["values"] / len(parts)
    return {
        "trees": parts,
        # shap must not round rows to float32.
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "objective": _OBJECTIVES.get(estimator.criterion),
        "tree_output": "probability" if is_classifier else "raw_value",
    }


def _tree(tree: _core.Tree, labels: Any, room: int) -> dict[str, Any]:
    # The threshold of a split on categories is NaN.
    if np.isnan(tree.threshold).any():
        return _shap_categories.by_thresholds(tree, labels, room)
    left, right = tree.children_left, tree.children_right
    # Copies, because shap writes to some of the arrays.
    return {
        "children_left": left.copy(),
        "children_right": right.copy(),
        "children_default": np.where(tree.missing_go_to_left, left, right),
        "features": tree.feature.copy(),
        "thresholds": tree.threshold.copy(),
        "values": tree.value.reshape(tree.node_count, -1),
        "node_sample_weight": tree.weighted_n_node_samples.copy(),
    }
