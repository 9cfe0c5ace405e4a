"""Checks of the arguments of functions on fitted trees; errors name argument and problem."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor

Estimator = DecisionTreeRegressor | DecisionTreeClassifier


def check_tree(decision_tree: object, purpose: str) -> Estimator:
    """Check that an argument is a fitted estimator of splitwood."""
    if not isinstance(decision_tree, Estimator):
        hint = (
            "the trees of a forest are in estimators_"
            if hasattr(decision_tree, "estimators_")
            else "splitwood.from_sklearn converts trees of scikit-learn"
        )
        raise TypeError(
            f"decision_tree: {purpose} needs a tree of splitwood, got "
            f"{type(decision_tree).__name__}; {hint}"
        )
    check_is_fitted(decision_tree)
    return decision_tree


def check_can_be_handed_on(estimator: Estimator, purpose: str) -> _core.Tree:
    """Get the tree of a fitted estimator, and check that it has no splits on categories."""
    check_is_fitted(estimator)
    tree = estimator.tree_
    # The threshold of a split on categories is NaN.
    if np.isnan(tree.threshold).any():
        raise ValueError(f"{purpose}: splits on categories can't be converted yet")
    return tree


def check_count(name: str, value: object, least: int) -> int:
    """Check that an argument is an integer of at least this value."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}: must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_max_depth(max_depth: object) -> int | None:
    """Check that an argument is a depth, or None for no limit."""
    return None if max_depth is None else check_count("max_depth", max_depth, 0)
