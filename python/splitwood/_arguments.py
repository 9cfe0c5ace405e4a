"""What users pass to the functions about fitted trees, judged: errors name the argument and the problem."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor

Estimator = DecisionTreeRegressor | DecisionTreeClassifier


def check_tree(decision_tree: object, purpose: str) -> Estimator:
    """The estimator, if it is one of ours and fitted."""
    if not isinstance(decision_tree, Estimator):
        raise TypeError(
            f"decision_tree: {purpose} needs a tree of splitwood, got {type(decision_tree).__name__}; "
            "splitwood.from_sklearn makes one of a tree of scikit-learn"
        )
    check_is_fitted(decision_tree)
    return decision_tree


def check_can_be_handed_on(estimator: Estimator, purpose: str) -> _core.Tree:
    """The tree of a fitted estimator, if no categories decide in it."""
    check_is_fitted(estimator)
    tree = estimator.tree_
    # Their thresholds are NaN.
    if np.isnan(tree.threshold).any():
        raise ValueError(f"{purpose}: splits on categories can't be handed on yet")
    return tree


def check_count(name: str, value: object, least: int) -> int:
    """An integer of at least so much."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}: must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_max_depth(max_depth: object) -> int | None:
    """A depth, or None for no limit."""
    return None if max_depth is None else check_count("max_depth", max_depth, 0)
