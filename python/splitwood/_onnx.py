"""Trees and forests as ONNX models; those of trees predict the same to the last bit.

The operator ``TreeEnsemble`` (``ai.onnx.ml`` 5) has one number per leaf, in the type of ``X``. Here
that number is the leaf's index among the leaves, and tables map it to the leaf's prediction:

    X ──► TreeEnsemble ──► Cast, Squeeze ──┬──► Gather(values) ──► prediction, or probabilities
                                 the leaf  └──► Gather(codes) ──► Gather(classes) ──► label

Values and probabilities thus stay in float64 even for float32 rows, and all classes share one walk
down the tree. A forest has a target per tree, and takes the mean of what it looks up.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import Estimator
from ._categories import as_cells
from ._float32 import float32_below

if TYPE_CHECKING:
    from onnx import ModelProto

# The oldest versions that have all operators: newer runtimes read older versions.
_OPSETS = {"": 17, "ai.onnx.ml": 5}
_IR_VERSION = 10
_BRANCH_LEQ, _BRANCH_MEMBER = 0, 6
# float32 holds all integers up to this one exactly, and leaves are numbered in the type of ``X``.
_EXACT_IN_FLOAT32 = 1 << 24
# With a stack of 8 MB, onnxruntime loads 10,000 levels and crashes on 50,000.
_DEEP = 5_000


def to_onnx(estimator: Estimator, dtype: DTypeLike | None) -> ModelProto:
    """Convert a fitted tree; see the method `to_onnx`."""
    check_is_fitted(estimator)
    return _converted(estimator, [estimator], dtype)


def forest_to_onnx(estimator: Any, dtype: DTypeLike | None) -> ModelProto:
    """Convert a fitted forest; see the method `to_onnx`."""
    check_is_fitted(estimator)
    return _converted(estimator, estimator.estimators_, dtype)


def _converted(estimator: Any, trees: list[Any], dtype: DTypeLike | None) -> ModelProto:
    parts = [tree.tree_ for tree in trees]
    cells = np.dtype(estimator._x_dtype if dtype is None else dtype)
    if cells not in (np.float32, np.float64):
        raise ValueError(f"dtype: must be float32 or float64, got {cells}")
    n_leaves = max(tree.n_leaves for tree in parts)
    if cells == np.float32 and n_leaves > _EXACT_IN_FLOAT32:
        raise ValueError(f"dtype: {n_leaves:,} leaves can't be told apart in float32; pass float64")
    if (depth := max(tree.max_depth for tree in parts)) > _DEEP:
        warnings.warn(
            f"to_onnx: the tree is {depth:,} levels deep; the model is valid, but "
            "runtimes that recurse, such as onnxruntime, may crash when they load it",
            UserWarning,
            stacklevel=4,
        )
    # Not known if the tree was fitted to codes.
    labels = getattr(estimator, "categories_", None)
    graph = _Graph(parts, cells, labels)
    n_outputs = estimator.n_outputs_
    value = np.concatenate([tree.value[tree.children_left < 0] for tree in parts])
    if hasattr(estimator, "classes_"):
        outputs = [estimator.classes_] if n_outputs == 1 else estimator.classes_
        for output, classes in enumerate(outputs):
            suffix = "" if n_outputs == 1 else f"_{output}"
            graph.add_classes(value[:, output, : len(classes)], classes, suffix)
    else:
        graph.add_values(value[:, 0, 0] if n_outputs == 1 else value[:, :, 0])
    return graph.model(type(estimator).__name__)


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_onnx needs onnx: pip install 'splitwood[onnx]'") from error


class _Members:
    """The cells that decide at the splits of a tree on categories."""

    def __init__(self, tree: _core.Tree, labels: Any, cells: np.dtype[Any]) -> None:
        self._tree = tree
        state = tree._state()["categories"] if np.isnan(tree.threshold).any() else None
        self._labels = [
            as_cells(count, None if labels is None else labels[feature], cells)
            for feature, count in enumerate([] if state is None else state["counts"])
        ]

    def of(self, node: int) -> NDArray[Any]:
        """Get the cells that go to the other side than missing ones; all others go with these."""
        left = self._tree.categories_left(node)
        known = self._labels[self._tree.feature[node]]
        listed = np.zeros(len(known), dtype=bool)
        listed[left] = True
        members: NDArray[Any] = known[listed != bool(self._tree.missing_go_to_left[node])]
        return members


class _Graph:
    """An ONNX graph, which starts with the path from the rows to the tensor "leaf".

    The tensor has the number of each row's leaf, among the leaves of all trees; for a forest, it
    has a column per tree.
    """

    def __init__(self, trees: list[_core.Tree], cells: np.dtype[Any], labels: Any) -> None:
        self._helper, self._numpy = _load("onnx.helper"), _load("onnx.numpy_helper")
        self._nodes: list[Any] = []
        self._tables: list[Any] = []
        self._outputs: list[Any] = []
        self._is_forest = len(trees) > 1
        self._input = self._tensor("X", cells, [None, trees[0].n_features])
        self._node(
            *("TreeEnsemble", ["X"], "leaf_number"),
            **{"domain": "ai.onnx.ml", **self._walk(trees, cells, labels)},
        )
        self._node("Cast", ["leaf_number"], "leaf_column", to=self._type(np.dtype(np.int64)))
        if self._is_forest:
            n_leaves = np.array([tree.n_leaves for tree in trees])
            self._table("first_leaf", np.cumsum(n_leaves) - n_leaves)
            self._node("Add", ["leaf_column", "first_leaf"], "leaf")
        else:
            # The leaf numbers become a vector.
            self._table("one", np.array([1]))
            self._node("Squeeze", ["leaf_column", "one"], "leaf")

    def _walk(self, trees: list[_core.Tree], cells: np.dtype[Any], labels: Any) -> dict[str, Any]:
        """Get the attributes of TreeEnsemble, with one target per tree: the number of the leaf."""
        parts = [_Walk.of(tree, cells, _Members(tree, labels, cells)) for tree in trees]
        n_splits = np.array([len(part.left) for part in parts])
        n_leaves = np.array([tree.n_leaves for tree in trees])
        roots = np.cumsum(n_splits) - n_splits
        first_leaves = np.cumsum(n_leaves) - n_leaves
        sides: dict[str, list[int]] = {"true": [], "false": []}
        for part, root, first in zip(parts, roots, first_leaves, strict=True):
            for side, number, is_leaf in (
                ("true", part.left, part.left_is_leaf),
                ("false", part.right, part.right_is_leaf),
            ):
                sides[side] += (number + np.where(is_leaf, first, root)).tolist()
        by_set = np.concatenate([part.by_set for part in parts])
        modes = np.where(by_set, _BRANCH_MEMBER, _BRANCH_LEQ).astype(np.uint8)
        listed = [listed for part in parts for listed in part.members]
        members = np.concatenate(listed).astype(cells) if listed else None
        splits = np.concatenate([part.threshold for part in parts]).astype(cells)
        leaves = np.concatenate([np.arange(n) for n in n_leaves]).astype(cells)
        return {
            **(
                {}
                if members is None
                else {"membership_values": self._numpy.from_array(members, "members")}
            ),
            "n_targets": len(trees),
            "tree_roots": roots.tolist(),
            "nodes_modes": self._numpy.from_array(modes, "modes"),
            "nodes_featureids": _joined(part.feature for part in parts),
            "nodes_splits": self._numpy.from_array(splits, "splits"),
            "nodes_truenodeids": sides["true"],
            "nodes_falsenodeids": sides["false"],
            "nodes_trueleafs": _joined(part.left_is_leaf for part in parts),
            "nodes_falseleafs": _joined(part.right_is_leaf for part in parts),
            "nodes_missing_value_tracks_true": _joined(part.missing_left for part in parts),
            "leaf_targetids": np.repeat(np.arange(len(trees)), n_leaves).tolist(),
            "leaf_weights": self._numpy.from_array(leaves, "leaves"),
        }

    def add_values(self, values: NDArray[np.float64]) -> None:
        """Add the output "prediction" of a regressor, given the values of all leaves."""
        self._table("values", values)
        self._gather_mean("values", "prediction")
        shape = [None, *values.shape[1:]]
        self._outputs.append(self._tensor("prediction", values.dtype, shape))

    def add_classes(self, shares: NDArray[np.float64], classes: NDArray[Any], suffix: str) -> None:
        """Add the outputs "label" and "probabilities", given the class shares of all leaves."""
        labels = _plain_labels(classes)
        self._table(f"shares{suffix}", shares)
        self._table(f"classes{suffix}", labels)
        self._gather_mean(f"shares{suffix}", f"probabilities{suffix}")
        if self._is_forest:
            means = [f"probabilities{suffix}"]
            self._node("ArgMax", means, f"code{suffix}", axis=1, keepdims=0)
        else:
            self._table(f"codes{suffix}", np.argmax(shares, axis=1).astype(np.int64))
            self._node("Gather", [f"codes{suffix}", "leaf"], f"code{suffix}")
        self._node("Gather", [f"classes{suffix}", f"code{suffix}"], f"label{suffix}")
        self._outputs += [
            self._tensor(f"label{suffix}", labels.dtype, [None]),
            self._tensor(f"probabilities{suffix}", shares.dtype, [None, len(labels)]),
        ]

    def _gather_mean(self, table: str, output: str) -> None:
        """Look up the entries of the rows' leaves, and take their mean over the trees."""
        if not self._is_forest:
            self._node("Gather", [table, "leaf"], output)
            return
        self._node("Gather", [table, "leaf"], f"{output}_of_trees")
        self._node("ReduceMean", [f"{output}_of_trees"], output, axes=[1], keepdims=0)

    def model(self, name: str) -> ModelProto:
        graph = self._helper.make_graph(
            self._nodes, name, [self._input], self._outputs, initializer=self._tables
        )
        return self._helper.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[self._helper.make_opsetid(*opset) for opset in _OPSETS.items()],
            producer_name="splitwood",
            producer_version=_core.__version__,
        )

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self._nodes.append(
            self._helper.make_node(operator, inputs, [output], name=output, **attributes)
        )

    def _table(self, name: str, entries: NDArray[Any]) -> None:
        self._tables.append(self._numpy.from_array(np.ascontiguousarray(entries), name))

    def _tensor(self, name: str, dtype: np.dtype[Any], shape: list[int | None]) -> Any:
        return self._helper.make_tensor_value_info(name, self._type(dtype), shape)

    def _type(self, dtype: np.dtype[Any]) -> int:
        return int(self._helper.np_dtype_to_tensor_dtype(dtype))


def _joined(parts: Iterable[NDArray[Any]]) -> list[int]:
    numbers: list[int] = np.concatenate([part.astype(np.int64) for part in parts]).tolist()
    return numbers


class _Walk(NamedTuple):
    """The splits of a tree. Splits and leaves are numbered separately."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    left_is_leaf: NDArray[np.bool_]
    right_is_leaf: NDArray[np.bool_]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    # Whether the split is on categories.
    by_set: NDArray[np.bool_]
    # The cells of each split on categories, with NaN at the end.
    members: list[NDArray[Any]]

    @classmethod
    def of(cls, tree: _core.Tree, cells: np.dtype[Any], members: _Members) -> _Walk:
        is_leaf = tree.children_left < 0
        inner = np.flatnonzero(~is_leaf)
        number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
        left, right = tree.children_left[inner], tree.children_right[inner]
        feature, threshold = tree.feature[inner], tree.threshold[inner]
        missing_left = tree.missing_go_to_left[inner]
        if len(inner) == 0:
            # The operator needs a split: a tree of one leaf has the leaf on both sides of it.
            left = right = feature = np.zeros(1, dtype=np.int64)
            threshold, missing_left = np.zeros(1), np.zeros(1, dtype=np.uint8)
        if cells == np.float32:
            threshold = float32_below(threshold)
        by_set = np.isnan(threshold)
        # Members go to the other side than missing values and unknown labels, which are none.
        swapped = by_set & (missing_left != 0)
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        sets = [np.append(members.of(int(node)), np.nan) for node in inner[by_set[: len(inner)]]]
        return cls(
            number[left],
            number[right],
            is_leaf[left],
            is_leaf[right],
            feature,
            np.where(by_set, 0.0, threshold),
            np.where(by_set, 0, missing_left),
            by_set,
            sets,
        )


def _plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Convert labels to a type that ONNX has."""
    plain = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    # All other labels of a classifier are strings, which ONNX takes as objects.
    return classes.astype(plain.get(classes.dtype.kind, np.object_))
