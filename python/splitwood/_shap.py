"""A tree as the dictionary that ``shap.TreeExplainer`` takes for a model: no import of shap, no rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._arguments import Estimator
from ._estimators import DecisionTreeClassifier

# What shap can explain as a loss, by its own names.
_OBJECTIVES = {
    "squared_error": "squared_error",
    "friedman_mse": "squared_error",
    "absolute_error": "absolute_error",
    "gini": "binary_crossentropy",
    "entropy": "binary_crossentropy",
    "log_loss": "binary_crossentropy",
}


def to_shap(estimator: Estimator) -> dict[str, Any]:
    """The model of a fitted tree; see the method `to_shap`."""
    check_is_fitted(estimator)
    tree = estimator.tree_
    if tree.n_outputs != 1:
        raise ValueError("to_shap: several outputs can't be handed on yet")
    left, right = tree.children_left, tree.children_right
    is_classifier = isinstance(estimator, DecisionTreeClassifier)
    return {
        "trees": [
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(tree.missing_go_to_left, left, right),
                "features": tree.feature,
                "thresholds": tree.threshold,
                "values": tree.value[:, 0, :],
                "node_sample_weight": tree.weighted_n_node_samples,
            }
        ],
        # Rows are compared as they are, not in float32.
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
        "objective": _OBJECTIVES.get(estimator.criterion),
        "tree_output": "probability" if is_classifier else "raw_value",
    }
