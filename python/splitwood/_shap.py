"""Trees as dicts for ``shap.TreeExplainer``, without rounding and without an import of shap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import Estimator, check_can_be_handed_on
from ._estimators import DecisionTreeClassifier

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
    tree = check_can_be_handed_on(estimator, "to_shap")
    is_classifier = isinstance(estimator, DecisionTreeClassifier)
    if is_classifier and tree.n_outputs != 1:
        raise ValueError("to_shap: shap can't explain several outputs of classes at once")
    left, right = tree.children_left, tree.children_right
    # Copies, because shap writes to some of the arrays.
    return {
        "trees": [
            {
                "children_left": left.copy(),
                "children_right": right.copy(),
                "children_default": np.where(tree.missing_go_to_left, left, right),
                "features": tree.feature.copy(),
                "thresholds": tree.threshold.copy(),
                "values": tree.value.reshape(tree.node_count, -1).copy(),
                "node_sample_weight": tree.weighted_n_node_samples.copy(),
            }
        ],
        # shap must not round rows to float32.
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "objective": _OBJECTIVES.get(estimator.criterion),
        "tree_output": "probability" if is_classifier else "raw_value",
    }
