"""Trees and forests as dicts for ``shap.TreeExplainer``, without rounding and an import of shap."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import Estimator, check_can_be_handed_on

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
    return _described(estimator, [estimator])


def forest_to_shap(estimator: Any) -> dict[str, Any]:
    """Describe a fitted forest; see the method `to_shap`."""
    check_is_fitted(estimator)
    return _described(estimator, estimator.estimators_)


def _described(estimator: Any, trees: list[Any]) -> dict[str, Any]:
    parts = [check_can_be_handed_on(tree, "to_shap") for tree in trees]
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier and estimator.n_outputs_ != 1:
        raise ValueError("to_shap: shap can't explain several outputs of classes at once")
    return {
        "trees": [_tree(tree, len(parts)) for tree in parts],
        # shap must not round rows to float32.
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "objective": _OBJECTIVES.get(estimator.criterion),
        "tree_output": "probability" if is_classifier else "raw_value",
    }


def _tree(tree: _core.Tree, n_trees: int) -> dict[str, Any]:
    left, right = tree.children_left, tree.children_right
    # Copies, because shap writes to some of the arrays. shap adds up the values of the trees.
    return {
        "children_left": left.copy(),
        "children_right": right.copy(),
        "children_default": np.where(tree.missing_go_to_left, left, right),
        "features": tree.feature.copy(),
        "thresholds": tree.threshold.copy(),
        "values": tree.value.reshape(tree.node_count, -1) / n_trees,
        "node_sample_weight": tree.weighted_n_node_samples.copy(),
    }
