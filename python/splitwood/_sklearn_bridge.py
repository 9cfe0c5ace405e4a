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

from . import _core, _forests
from ._arguments import Estimator, check_can_be_handed_on
from ._base_forest import BaseForest
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
# The forests that both libraries have, by the same names.
_FORESTS = (
    "RandomForestRegressor",
    "RandomForestClassifier",
    "ExtraTreesRegressor",
    "ExtraTreesClassifier",
)
# Entries of decision paths per chunk of rows.
_NODES_PER_CHUNK = 1 << 22
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


# ---- to scikit-learn -----------------------------------------------------------------------------


def to_sklearn(
    estimator: Estimator, X: ArrayLike | None
) -> sklearn.tree.DecisionTreeRegressor | sklearn.tree.DecisionTreeClassifier:
    """Create an estimator of scikit-learn with the same nodes; see the method `to_sklearn`."""
    made = _tree_to_sklearn(estimator)
    _warn_of_float32([estimator], X)
    return made


def forest_to_sklearn(estimator: Any, X: ArrayLike | None) -> Any:
    """Create a forest of scikit-learn with the same trees; see the method `to_sklearn`."""
    import sklearn.ensemble

    check_is_fitted(estimator)
    (kind,) = (name for name in _FORESTS if isinstance(estimator, getattr(_forests, name)))
    made = getattr(sklearn.ensemble, kind)(n_estimators=1, bootstrap=False)
    if hasattr(estimator, "classes_"):
        targets = _all_classes(estimator)
    else:
        targets = np.zeros(1 if estimator.n_outputs_ == 1 else (1, estimator.n_outputs_))
    made.fit(np.zeros((len(targets), estimator.n_features_in_), dtype=np.float32), targets)
    trees = estimator.estimators_
    made.estimators_ = [_tree_to_sklearn(tree) for tree in trees]
    _copy_parameters(estimator, made)
    made.set_params(n_estimators=len(trees))
    if made.criterion == "quantile":
        made.set_params(criterion="absolute_error")
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    _warn_of_float32(trees, None if X is None else estimator._rows(X))
    return made


def _tree_to_sklearn(
    estimator: Estimator,
) -> sklearn.tree.DecisionTreeRegressor | sklearn.tree.DecisionTreeClassifier:
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
    return made


def _all_classes(estimator: Any) -> NDArray[Any]:
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


def _warn_of_float32(trees: list[Any], X: ArrayLike | None) -> None:
    if X is None:
        affected = sum(_lost_thresholds(one.tree_) for one in trees)
        finding = "separate values that are the same in float32"
    else:
        affected = sum(_crossed_thresholds(one, X) for one in trees)
        finding = "are crossed by cells of X when these are rounded to float32"
    if affected:
        inner = sum(one.tree_.node_count // 2 for one in trees)
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


def from_sklearn(estimator: Any) -> Any:
    """Convert a fitted tree or forest of scikit-learn to splitwood's, with the same predictions.

    Parameters
    ----------
    estimator : object
        A fitted ``DecisionTreeRegressor``, ``DecisionTreeClassifier``, ``ExtraTreeRegressor`` or
        ``ExtraTreeClassifier`` of ``sklearn.tree``; or a ``RandomForestRegressor``,
        ``RandomForestClassifier``, ``ExtraTreesRegressor`` or ``ExtraTreesClassifier`` of
        ``sklearn.ensemble``.

    Returns
    -------
    converted : object
        A fitted ``DecisionTreeRegressor`` or ``DecisionTreeClassifier`` of splitwood, or its forest
        of the same name, with the parameters that both classes have. The nodes of a tree are
        numbered depth-first, whatever their order in scikit-learn was. Thresholds differ slightly,
        to account for scikit-learn's rounding of ``X``.

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
    import sklearn.ensemble
    import sklearn.tree

    if isinstance(estimator, Estimator | BaseForest):
        raise TypeError("estimator: it is an estimator of splitwood already")
    for name in _FORESTS:
        if isinstance(estimator, getattr(sklearn.ensemble, name)):
            return _from_forest(estimator, getattr(_forests, name)())
    if isinstance(estimator, sklearn.tree.DecisionTreeClassifier):
        return _from_tree(estimator, DecisionTreeClassifier())
    if isinstance(estimator, sklearn.tree.DecisionTreeRegressor):
        return _from_tree(estimator, DecisionTreeRegressor())
    raise TypeError(
        "estimator: must be a decision tree or a forest of scikit-learn, got "
        f"{type(estimator).__name__}"
    )


def _from_tree(estimator: Any, made: Estimator) -> Estimator:
    check_is_fitted(estimator)
    made.tree_ = _from_nodes(estimator.tree_)
    _copy_fit(estimator, made)
    return made


def _from_forest(estimator: Any, made: BaseForest) -> BaseForest:
    check_is_fitted(estimator)
    made.forest_ = _core.Forest.of_trees([_from_nodes(one.tree_) for one in estimator.estimators_])
    made._bags = []
    _copy_fit(estimator, made)
    made.n_estimators = len(estimator.estimators_)
    return made


def _copy_fit(estimator: Any, made: Any) -> None:
    """Copy the parameters that both estimators have, and what describes features and classes."""
    _copy_parameters(estimator, made)
    made.n_outputs_ = estimator.n_outputs_
    made.n_features_in_ = estimator.n_features_in_
    made.is_categorical_ = made.categories_ = None
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    if hasattr(estimator, "classes_"):
        made.classes_ = estimator.classes_
        n_classes = estimator.n_classes_
        made.n_classes_ = int(n_classes) if made.n_outputs_ == 1 else n_classes


def _from_nodes(tree: Any) -> _core.Tree:
    """Get the nodes of a tree of scikit-learn in depth-first order."""
    if np.any(getattr(tree, "_n_categories", -1) > 0):
        raise ValueError("from_sklearn: categorical features can't be converted yet")
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
