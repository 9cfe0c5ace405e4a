"""What users pass to the functions that show a tree, judged: errors name the argument and what was wrong."""

from __future__ import annotations

from numbers import Integral

from sklearn.utils.validation import check_is_fitted

from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor

Estimator = DecisionTreeRegressor | DecisionTreeClassifier


def check_tree(decision_tree: object, purpose: str) -> Estimator:
    """The estimator, if it is one of ours, fitted, and of a single output."""
    if not isinstance(decision_tree, Estimator):
        raise TypeError(
            f"decision_tree: {purpose} needs a tree of splitwood, got {type(decision_tree).__name__}; "
            "splitwood.from_sklearn makes one of a tree of scikit-learn"
        )
    check_is_fitted(decision_tree)
    if decision_tree.tree_.n_outputs != 1:
        raise ValueError(f"decision_tree: {purpose} can't do several outputs yet")
    return decision_tree


def check_count(name: str, value: object, least: int) -> int:
    """An integer of at least so much."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}: must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_max_depth(max_depth: object) -> int | None:
    """A depth, or None for no limit."""
    return None if max_depth is None else check_count("max_depth", max_depth, 0)
