"""Trees as ONNX models, with predictions that are identical to the last bit.

The operator ``TreeEnsemble`` (``ai.onnx.ml`` 5) has one number per leaf, in the type of ``X``. Here
that number is the leaf's index among the leaves, and tables map it to the leaf's prediction:

    X ──► TreeEnsemble ──► Cast, Squeeze ──┬──► Gather(values) ──► prediction, or probabilities
                                 the leaf  └──► Gather(codes) ──► Gather(classes) ──► label

Values and probabilities thus stay in float64 even for float32 rows, and all classes share one walk
down the tree.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import Estimator
from ._estimators import DecisionTreeClassifier
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
    tree = estimator.tree_
    cells = np.dtype(estimator._x_dtype if dtype is None else dtype)
    if cells not in (np.float32, np.float64):
        raise ValueError(f"dtype: must be float32 or float64, got {cells}")
    if cells == np.float32 and tree.n_leaves > _EXACT_IN_FLOAT32:
        raise ValueError(
            f"dtype: {tree.n_leaves:,} leaves can't be told apart in float32; pass float64"
        )
    if tree.max_depth > _DEEP:
        warnings.warn(
            f"to_onnx: the tree is {tree.max_depth:,} levels deep; the model is valid, but "
            "runtimes that recurse, such as onnxruntime, may crash when they load it",
            UserWarning,
            stacklevel=3,
        )
    graph = _Graph(tree, cells, _Members(estimator, cells))
    if isinstance(estimator, DecisionTreeClassifier):
        outputs = [estimator.classes_] if tree.n_outputs == 1 else estimator.classes_
        for output, classes in enumerate(outputs):
            suffix = "" if tree.n_outputs == 1 else f"_{output}"
            graph.add_classes(tree.value[:, output, : len(classes)], classes, suffix)
    else:
        graph.add_values(tree.value[:, 0, 0] if tree.n_outputs == 1 else tree.value[:, :, 0])
    return graph.model(type(estimator).__name__)


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_onnx needs onnx: pip install 'splitwood[onnx]'") from error


class _Members:
    """The cells that decide at a split on categories."""

    def __init__(self, estimator: Estimator, cells: np.dtype[Any]) -> None:
        self._tree = estimator.tree_
        # Not known if the tree was fitted to codes.
        labels = getattr(estimator, "categories_", None)
        state = self._tree._state()["categories"] if np.isnan(self._tree.threshold).any() else None
        self._labels = [
            _as_cells(count, None if labels is None else labels[feature], cells)
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


def _as_cells(count: int, labels: NDArray[Any] | None, cells: np.dtype[Any]) -> NDArray[Any]:
    """Get the cells of ``X`` that stand for labels: the labels if they are numbers, or codes."""
    if labels is None or labels.dtype.kind not in "biuf":
        labels = np.arange(count)
    values = labels.astype(cells)
    if (values != labels).any():
        lost = labels[np.flatnonzero(values != labels)[0]]
        raise ValueError(
            f"dtype: {cells} does not hold the label {lost} of a category exactly; pass float64"
        )
    return values


class _Graph:
    """An ONNX graph, which starts with the path from the rows to the tensor "leaf"."""

    def __init__(self, tree: _core.Tree, cells: np.dtype[Any], members: _Members) -> None:
        self._helper, self._numpy = _load("onnx.helper"), _load("onnx.numpy_helper")
        self._nodes: list[Any] = []
        self._tables: list[Any] = []
        self._outputs: list[Any] = []
        self._is_leaf = tree.children_left < 0
        self._input = self._tensor("X", cells, [None, tree.n_features])
        self._node(
            *("TreeEnsemble", ["X"], "leaf_number"),
            **{"domain": "ai.onnx.ml", **self._walk(tree, cells, members)},
        )
        # The leaf numbers become a vector of int64.
        self._node("Cast", ["leaf_number"], "leaf_column", to=self._type(np.dtype(np.int64)))
        self._table("one", np.array([1]))
        self._node("Squeeze", ["leaf_column", "one"], "leaf")

    def _walk(self, tree: _core.Tree, cells: np.dtype[Any], members: _Members) -> dict[str, Any]:
        """Get the attributes of TreeEnsemble, which numbers inner nodes and leaves separately."""
        is_leaf = self._is_leaf
        inner = np.flatnonzero(~is_leaf)
        number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
        left, right = tree.children_left[inner], tree.children_right[inner]
        feature, threshold = tree.feature[inner], tree.threshold[inner]
        missing_left = tree.missing_go_to_left[inner]
        if len(inner) == 0:
            # The operator needs a split: a tree of one leaf has the leaf on both sides of it.
            left = right = feature = missing_left = np.zeros(1, dtype=np.int64)
            threshold = np.zeros(1)
        if cells == np.float32:
            threshold = float32_below(threshold)
        by_set = np.isnan(threshold)
        modes = np.where(by_set, _BRANCH_MEMBER, _BRANCH_LEQ).astype(np.uint8)
        threshold = np.where(by_set, 0.0, threshold)
        # Members go to the other side than missing values and unknown labels, which are none.
        swapped = by_set & (missing_left != 0)
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        missing_left = np.where(by_set, 0, missing_left)
        sets = [np.append(members.of(int(node)), np.nan) for node in inner[by_set[: len(inner)]]]
        listed = np.concatenate(sets).astype(cells) if sets else None
        return {
            **(
                {}
                if listed is None
                else {"membership_values": self._numpy.from_array(listed, "members")}
            ),
            "n_targets": 1,
            "tree_roots": [0],
            "nodes_modes": self._numpy.from_array(modes, "modes"),
            "nodes_featureids": feature.tolist(),
            "nodes_splits": self._numpy.from_array(threshold.astype(cells), "splits"),
            "nodes_truenodeids": number[left].tolist(),
            "nodes_falsenodeids": number[right].tolist(),
            "nodes_trueleafs": is_leaf[left].astype(int).tolist(),
            "nodes_falseleafs": is_leaf[right].astype(int).tolist(),
            "nodes_missing_value_tracks_true": missing_left.tolist(),
            "leaf_targetids": [0] * tree.n_leaves,
            "leaf_weights": self._numpy.from_array(
                np.arange(tree.n_leaves).astype(cells), "leaves"
            ),
        }

    def add_values(self, values: NDArray[np.float64]) -> None:
        """Add the output "prediction" of a regressor, given the values of all nodes."""
        self._table("values", values[self._is_leaf])
        self._node("Gather", ["values", "leaf"], "prediction")
        shape = [None, *values.shape[1:]]
        self._outputs.append(self._tensor("prediction", values.dtype, shape))

    def add_classes(self, shares: NDArray[np.float64], classes: NDArray[Any], suffix: str) -> None:
        """Add the outputs "label" and "probabilities", given the class shares of all nodes."""
        shares, labels = shares[self._is_leaf], _plain_labels(classes)
        self._table(f"shares{suffix}", shares)
        self._table(f"codes{suffix}", np.argmax(shares, axis=1).astype(np.int64))
        self._table(f"classes{suffix}", labels)
        self._node("Gather", [f"codes{suffix}", "leaf"], f"code{suffix}")
        self._node("Gather", [f"classes{suffix}", f"code{suffix}"], f"label{suffix}")
        self._node("Gather", [f"shares{suffix}", "leaf"], f"probabilities{suffix}")
        self._outputs += [
            self._tensor(f"label{suffix}", labels.dtype, [None]),
            self._tensor(f"probabilities{suffix}", shares.dtype, [None, len(labels)]),
        ]

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


def _plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Convert labels to a type that ONNX has."""
    plain = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    # All other labels of a classifier are strings, which ONNX takes as objects.
    return classes.astype(plain.get(classes.dtype.kind, np.object_))
