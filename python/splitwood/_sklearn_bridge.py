"""Trees of splitwood ⇄ trees of scikit-learn.

Only one difference matters: scikit-learn rounds the cells of ``X`` to float32 before it compares
them with a float64 threshold; splitwood compares cells in their own precision.

- From splitwood: float32 rows take the same path in both trees. A float64 cell may be rounded
  across a threshold next to it. No other threshold would help, because the values on both sides
  round to the same float32.
- From scikit-learn: a cell goes left if its float32 does. Rounding keeps the order, so there is a
  largest float64 that goes left. That value is the threshold, and all rows take the same path.

scikit-learn's estimator is fitted to a few rows of zeros, and then its nodes are replaced field by
field. Attributes and fields that a version of scikit-learn adds are therefore present.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import Estimator, check_can_be_handed_on
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
from ._float32 import float32_below
from ._sparse import is_sparse
from ._tree_state import TreeState

if TYPE_CHECKING:
    import sklearn.tree

# The fields of scikit-learn's nodes, and the attributes of our tree with their values.
_FIELDS = {
    "left_child": "children_left",
    "right_child": "children_right",
    "feature": "feature",
    "threshold": "threshold",
    "impurity": "impurity",
    "n_node_samples": "n_node_samples",
    "weighted_n_node_samples": "weighted_n_node_samples",
    "missing_go_to_left": "missing_go_to_left",
}
# Entries of decision paths per chunk of rows.
_NODES_PER_CHUNK = 1 << 22
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


# ---- to scikit-learn -----------------------------------------------------------------------------


def to_sklearn(
    estimator: Estimator, X: ArrayLike | None
) -> sklearn.tree.DecisionTreeRegressor | sklearn.tree.DecisionTreeClassifier:
    """Create an estimator of scikit-learn with the same nodes; see the method `to_sklearn`."""
    import sklearn.tree

    tree = check_can_be_handed_on(estimator, "to_sklearn")
    if isinstance(estimator, DecisionTreeClassifier):
        made = sklearn.tree.DecisionTreeClassifier()
        targets = _all_classes(estimator)
    else:
        made = sklearn.tree.DecisionTreeRegressor()
        targets = np.zeros((1, tree.n_outputs))
    made.fit(np.zeros((len(targets), tree.n_features), dtype=np.float32), targets)
    made.tree_ = _with_nodes(made.tree_, tree)
    _copy_parameters(estimator, made)
    if made.criterion == "quantile":
        made.set_params(criterion="absolute_error")
    try:
        made.predict(np.full((1, tree.n_features), np.nan))
    except ValueError:
        # Some versions do not predict missing values with some criteria, or with constraints.
        made.set_params(criterion="squared_error", monotonic_cst=None)
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    _warn_of_float32(estimator, X)
    return made


def _all_classes(estimator: DecisionTreeClassifier) -> NDArray[Any]:
    """Get targets in which each class of each output occurs."""
    if estimator.n_outputs_ == 1:
        classes: NDArray[Any] = estimator.classes_
        return classes
    n_rows = max(map(len, estimator.classes_))
    columns = [labels[np.arange(n_rows) % len(labels)] for labels in estimator.classes_]
    return np.stack(columns, axis=1)


def _with_nodes(model: Any, tree: _core.Tree) -> Any:
    """Copy a tree of scikit-learn, with the nodes of `tree`."""
    make, arguments, state = model.__reduce__()
    nodes = np.zeros(tree.node_count, dtype=state["nodes"].dtype)
    for field, name in _FIELDS.items():
        nodes[field] = getattr(tree, name)
    made = make(*arguments)
    made.__setstate__(
        {
            **state,
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": nodes,
            "values": np.ascontiguousarray(tree.value),
        }
    )
    return made


def _copy_parameters(source: BaseEstimator, to: BaseEstimator) -> None:
    """Copy the parameters that both estimators have."""
    ours = to.get_params(deep=False)
    to.set_params(**{k: v for k, v in source.get_params(deep=False).items() if k in ours})


def _warn_of_float32(estimator: Estimator, X: ArrayLike | None) -> None:
    if X is None:
        affected = _lost_thresholds(estimator.tree_)
        finding = "separate values that are the same in float32"
    else:
        affected = _crossed_thresholds(estimator, X)
        finding = "are crossed by cells of X when these are rounded to float32"
    if affected:
        inner = estimator.tree_.node_count // 2
        warnings.warn(
            f"to_sklearn: {affected:,} of {inner:,} thresholds {finding}, which scikit-learn uses; "
            "the predictions of such rows differ from those of splitwood. Fit X in float32, or "
            "subtract an offset first.",
            UserWarning,
            stacklevel=4,
        )


def _crossed_thresholds(estimator: Estimator, X: ArrayLike) -> int:
    """Count the nodes at which a row of `X` goes to the other side in float32."""
    rows = estimator._rows(X)
    tree = estimator.tree_
    feature, threshold = tree.feature, tree.threshold
    crossed: set[int] = set()
    # The paths of each chunk of rows have at most a few million nodes.
    n_rows = max(1, _NODES_PER_CHUNK // (tree.max_depth + 1))
    for start in range(0, rows.shape[0], n_rows):
        part = rows[start : start + n_rows]
        part = part.toarray() if is_sparse(part) else part
        paths = tree.decision_path(part)
        nodes = paths.indices
        passed = np.repeat(np.arange(len(part)), np.diff(paths.indptr))
        inner = feature[nodes] >= 0
        nodes, passed = nodes[inner], passed[inner]
        cells = part[passed, feature[nodes]]
        limits = threshold[nodes]
        with np.errstate(over="ignore"):
            rounded = cells.astype(np.float32)
        # Both comparisons are False for NaN.
        crossed.update(nodes[(cells <= limits) != (rounded <= limits)].tolist())
    return len(crossed)


def _lost_thresholds(tree: _core.Tree) -> int:
    """Count the nodes with a child that no float32 row reaches."""
    inner = np.flatnonzero((tree.children_left >= 0) & np.isfinite(tree.threshold))
    feature, threshold = tree.feature[inner], tree.threshold[inner]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    rounded = float32_below(threshold)
    # There is such a node only if two thresholds of a feature have no float32 in between, or if a
    # threshold is beyond the range of float32.
    close = (feature[1:] == feature[:-1]) & (rounded[1:] == rounded[:-1])
    if not np.any(close & (threshold[1:] > threshold[:-1])) and np.isfinite(rounded).all():
        return 0
    return _unreachable(tree)


def _unreachable(tree: _core.Tree) -> int:
    """Count the nodes with an empty child in float32, in O(nodes) for every depth.

    The walk keeps the range of each feature, and restores it when it leaves a branch.
    """
    features, thresholds = tree.feature.tolist(), tree.threshold
    rights = tree.children_right.tolist()
    # A range of float32 is empty if its ends, rounded down, are equal.
    floors = float32_below(thresholds).tolist()
    low, high = (
        np.full(tree.n_features, -np.inf).tolist(),
        np.full(tree.n_features, np.inf).tolist(),
    )
    lost = 0
    # A stack of nodes to visit, (node, None), and of bounds to set, (feature, (bounds, value)).
    todo: list[tuple[int, tuple[list[float], float] | None]] = [(0, None)]
    while todo:
        at, bound = todo.pop()
        if bound is not None:
            bound[0][at] = bound[1]
            continue
        feature = features[at]
        if feature < 0:
            continue
        floor = floors[at]
        # An infinite threshold separates missing values from all others.
        lost += floor < np.inf and not (low[feature] < floor < high[feature])
        # The last entry comes first: set the upper bound, visit the left branch, restore the bound;
        # then the same with the lower bound and the right branch.
        todo += [
            (feature, (low, low[feature])),
            (rights[at], None),
            (feature, (low, max(floor, low[feature]))),
            (feature, (high, high[feature])),
            (at + 1, None),
            (feature, (high, min(floor, high[feature]))),
        ]
    return lost


# ---- from scikit-learn ---------------------------------------------------------------------------


def from_sklearn(estimator: Any) -> Estimator:
    """Convert a fitted tree of scikit-learn to a tree of splitwood with the same predictions.

    Parameters
    ----------
    estimator : sklearn.tree.DecisionTreeRegressor or sklearn.tree.DecisionTreeClassifier
        A fitted tree, possibly an ``ExtraTreeRegressor`` or ``ExtraTreeClassifier``. The trees of a
        forest are in its attribute ``estimators_``.

    Returns
    -------
    tree : splitwood.DecisionTreeRegressor or splitwood.DecisionTreeClassifier
        A fitted tree with the parameters that both classes have. Its nodes are numbered
        depth-first, whatever their order in scikit-learn was. Its thresholds differ slightly, to
        account for scikit-learn's rounding of ``X``.

    See Also
    --------
    DecisionTreeRegressor.to_sklearn : The conversion in the other direction.

    Examples
    --------
    >>> import sklearn.tree
    >>> import splitwood
    >>> X, y = [[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0]
    >>> theirs = sklearn.tree.DecisionTreeRegressor().fit(X, y)
    >>> splitwood.from_sklearn(theirs).predict([[0.0], [4.0]])
    array([5., 9.])
    """
    import sklearn.tree

    made: Estimator
    if isinstance(estimator, Estimator):
        raise TypeError("estimator: it is a tree of splitwood already")
    if isinstance(estimator, sklearn.tree.DecisionTreeClassifier):
        made = DecisionTreeClassifier()
    elif isinstance(estimator, sklearn.tree.DecisionTreeRegressor):
        made = DecisionTreeRegressor()
    else:
        raise TypeError(
            f"estimator: must be a decision tree of scikit-learn, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    tree = estimator.tree_
    if np.any(getattr(tree, "_n_categories", -1) > 0):
        raise ValueError("from_sklearn: categorical features can't be converted yet")
    _copy_parameters(estimator, made)
    made.tree_ = _from_nodes(tree)
    made.n_outputs_ = tree.n_outputs
    made.n_features_in_ = estimator.n_features_in_
    made.is_categorical_ = made.categories_ = None
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    if isinstance(made, DecisionTreeClassifier):
        made.classes_ = estimator.classes_
        made.n_classes_ = (
            int(tree.n_classes[0]) if tree.n_outputs == 1 else np.array(tree.n_classes)
        )
    return made


def _from_nodes(tree: Any) -> _core.Tree:
    """Get the nodes of a tree of scikit-learn in depth-first order."""
    order = _depth_first(tree.children_left, tree.children_right)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    right = tree.children_right[order].astype(np.int64)
    return _core.Tree._from_state(
        TreeState(
            n_features=tree.n_features,
            n_outputs=tree.n_outputs,
            n_values=tree.n_outputs * tree.max_n_classes,
            feature=tree.feature[order].astype(np.int64),
            threshold=_threshold_of_float32(tree.threshold[order]),
            missing_go_to_left=tree.missing_go_to_left[order].astype(np.uint8),
            children_right=np.where(right >= 0, number[right], right),
            value=tree.value[order].ravel(),
            impurity=tree.impurity[order],
            n_node_samples=tree.n_node_samples[order].astype(np.int64),
            weighted_n_node_samples=tree.weighted_n_node_samples[order],
            categories=None,
        )
    )


def _depth_first(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int64]:
    """Get the node ids in depth-first order."""
    inner = np.flatnonzero(left >= 0)
    if np.array_equal(left[inner], inner + 1):
        # The order is depth-first already, unless the tree was grown best-first.
        return np.arange(len(left))
    left, right = left.tolist(), right.tolist()
    order = []
    pending = [0]
    while pending:
        node = pending.pop()
        order.append(node)
        if left[node] >= 0:
            pending += (right[node], left[node])
    return np.array(order, dtype=np.int64)


def _threshold_of_float32(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Get the largest float64 that is at most the threshold when rounded to float32.

    Two float32 neighbours enclose the threshold. The result is halfway between them, or just below,
    because the halfway value itself is rounded to the neighbour whose last bit is 0.
    """
    below = float32_below(thresholds)
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        # Sums of two float32 neighbours and their halves are exact in float64.
        halfway = 0.5 * (below + above)
        rounds_up = halfway.astype(np.float32) > below
    moved = np.where(rounds_up, np.nextafter(halfway, -np.inf), halfway)
    # Thresholds beyond the largest float32 need no change: there are no cells to separate.
    return np.where(np.abs(thresholds) >= _LARGEST_FLOAT32, thresholds, moved)
