"""Trees of splitwood as trees of scikit-learn, and the other way round.

The one difference that matters: scikit-learn casts the cells of ``X`` to float32 before it compares them with
a threshold in float64; splitwood compares what it is given.

- From splitwood, rows in float32 take the same way in both. A cell in float64 may be rounded across a
  threshold next to it, and no other threshold could help: both sides round to the same float32.
- From scikit-learn, a cell goes left if its float32 does. Rounding keeps the order, so that there is a
  largest float64 that goes left, and that is the threshold: all rows take the same way.

A genuine estimator is made by fitting one to a few rows of zeros and replacing its nodes, field by field:
whatever a version of scikit-learn adds to its estimators, its trees or its nodes is there.
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

# A node's fields in scikit-learn, and where we have what belongs there.
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
_NODES_AT_A_TIME = 1 << 22
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


# ---- to scikit-learn -----------------------------------------------------------------------------


def to_sklearn(
    estimator: Estimator, X: ArrayLike | None
) -> sklearn.tree.DecisionTreeRegressor | sklearn.tree.DecisionTreeClassifier:
    """A genuine estimator of scikit-learn with the nodes of this one; see the method `to_sklearn`."""
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
        # Some versions refuse to predict missing values for the name of the criterion, or for constraints.
        made.set_params(criterion="squared_error", monotonic_cst=None)
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    _warn_of_float32(estimator, X)
    return made


def _all_classes(estimator: DecisionTreeClassifier) -> NDArray[Any]:
    """Targets that have each class of each output."""
    if estimator.n_outputs_ == 1:
        classes: NDArray[Any] = estimator.classes_
        return classes
    n_rows = max(map(len, estimator.classes_))
    columns = [labels[np.arange(n_rows) % len(labels)] for labels in estimator.classes_]
    return np.stack(columns, axis=1)


def _with_nodes(model: Any, tree: _core.Tree) -> Any:
    """A tree of scikit-learn like `model`, but with the nodes of `tree`."""
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
    """The parameters that both have."""
    ours = to.get_params(deep=False)
    to.set_params(**{k: v for k, v in source.get_params(deep=False).items() if k in ours})


def _warn_of_float32(estimator: Estimator, X: ArrayLike | None) -> None:
    if X is None:
        affected = _lost_thresholds(estimator.tree_)
        finding = "part values that are the same in float32"
    else:
        affected = _crossed_thresholds(estimator, X)
        finding = "are crossed by cells of X when these are rounded to float32"
    if affected:
        inner = estimator.tree_.node_count // 2
        warnings.warn(
            f"to_sklearn: {affected:,} of {inner:,} thresholds {finding}, as scikit-learn does it; "
            "rows there get other predictions than from splitwood. Fit X in float32, or subtract an "
            "offset first.",
            UserWarning,
            stacklevel=4,
        )


def _crossed_thresholds(estimator: Estimator, X: ArrayLike) -> int:
    """Number of nodes at which a row of `X` would turn the other way in float32."""
    rows = estimator._rows(X)
    tree = estimator.tree_
    feature, threshold = tree.feature, tree.threshold
    crossed: set[int] = set()
    # In parts, as many rows as pass a few million nodes.
    n_rows = max(1, _NODES_AT_A_TIME // (tree.max_depth + 1))
    for start in range(0, rows.shape[0], n_rows):
        part = rows[start : start + n_rows]
        part = part.toarray() if is_sparse(part) else part
        starts, nodes = tree.decision_path(part)
        passed = np.repeat(np.arange(len(part)), np.diff(starts))
        inner = feature[nodes] >= 0
        nodes, passed = nodes[inner], passed[inner]
        cells = part[passed, feature[nodes]]
        limits = threshold[nodes]
        with np.errstate(over="ignore"):
            rounded = cells.astype(np.float32)
        # NaN is on neither side, before and after.
        crossed.update(nodes[(cells <= limits) != (rounded <= limits)].tolist())
    return len(crossed)


def _lost_thresholds(tree: _core.Tree) -> int:
    """Number of nodes with a child that no float32 can reach: its rows are others in float32, for sure."""
    inner = np.flatnonzero((tree.children_left >= 0) & np.isfinite(tree.threshold))
    feature, threshold = tree.feature[inner], tree.threshold[inner]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    rounded = float32_below(threshold)
    # Without two thresholds of a feature that have no float32 in between, there is nothing to look for.
    close = (feature[1:] == feature[:-1]) & (rounded[1:] == rounded[:-1])
    if not np.any(close & (threshold[1:] > threshold[:-1])) and np.isfinite(rounded).all():
        return 0
    return _unreachable(tree)


def _unreachable(tree: _core.Tree) -> int:
    """Walks down with the range of each feature, undoing it on the way back: O(nodes), whatever the depth."""
    features, thresholds = tree.feature.tolist(), tree.threshold
    rights = tree.children_right.tolist()
    # Rounded down, a range of float32 is empty if its ends are equal.
    floors = float32_below(thresholds).tolist()
    low, high = (
        np.full(tree.n_features, -np.inf).tolist(),
        np.full(tree.n_features, np.inf).tolist(),
    )
    lost = 0
    # Either a node to visit, or a bound to set on the way: (node, None) or (feature, (bounds, value)).
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
        # An infinite threshold parts all values from the missing ones.
        lost += floor < np.inf and not (low[feature] < floor < high[feature])
        # Backwards: left branch below the threshold, right branch above it, and all as it was.
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
    """Make a tree of splitwood from a fitted tree of scikit-learn, with the same predictions for every row.

    Parameters
    ----------
    estimator : DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor or ExtraTreeClassifier
        A fitted tree of scikit-learn. The trees of a forest are in its ``estimators_``.

    Returns
    -------
    tree : splitwood.DecisionTreeRegressor or splitwood.DecisionTreeClassifier
        A fitted tree with the parameters that both have. Nodes are numbered depth-first, whatever their
        order was. Thresholds are moved a little, to where scikit-learn's rounding of ``X`` puts them.

    See Also
    --------
    DecisionTreeRegressor.to_sklearn : The other way.

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
        raise ValueError("from_sklearn: categorical features can't be taken over yet")
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
    """The nodes of a tree of scikit-learn, depth-first."""
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
    """The node ids in depth-first order."""
    inner = np.flatnonzero(left >= 0)
    if np.array_equal(left[inner], inner + 1):
        # As they are, but for trees that were grown best-first.
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
    """The largest float64 whose float32 is at most the threshold.

    It is halfway between two neighbours in float32, one on each side; what is just halfway is rounded to
    the one whose last bit is 0.
    """
    below = float32_below(thresholds)
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        # Sums of two such numbers are exact in float64, halves too.
        halfway = 0.5 * (below + above)
        rounds_up = halfway.astype(np.float32) > below
    moved = np.where(rounds_up, np.nextafter(halfway, -np.inf), halfway)
    # Beyond the largest float32 there is nothing to part.
    return np.where(np.abs(thresholds) >= _LARGEST_FLOAT32, thresholds, moved)
