"""A converter for skl2onnx: pipelines and ensembles of trees and forests become ONNX models.

The graph is that of `_onnx.py`, with the operator that skl2onnx targets, ``TreeEnsembleRegressor``
of ``ai.onnx.ml`` 3. Its result is a float32, which here is the index of the row's leaf among the
leaves; tables map it to the prediction:

    X ──► Cast ──► TreeEnsembleRegressor ──► Cast, Reshape ──┬──► Gather(values) ──► predictions
                                                   the leaf  └──► Gather(labels) ──► label

A forest has one target per tree, and takes the mean of what it looks up, in float64:

    … ──► Cast, Add(first leaves) ──► Gather(values) ──► ReduceSum, Div ──► Cast ──► predictions

skl2onnx gives predictions the type of the rows, so those of float32 rows are rounded to float32.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arguments import check_can_be_handed_on
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
from ._extra_trees import ExtraTreeClassifier, ExtraTreeRegressor
from ._float32 import float32_below
from ._forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

# float32 holds all integers up to this one exactly, and leaves are numbered in float32.
_EXACT_IN_FLOAT32 = 1 << 24
_REGRESSORS = (
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    RandomForestRegressor,
    ExtraTreesRegressor,
)
_CLASSIFIERS = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
)


def register_skl2onnx() -> None:
    """Register trees and forests with skl2onnx, so that it converts pipelines that contain them.

    Needs skl2onnx: ``pip install skl2onnx``. For a tree or a forest alone, the method ``to_onnx``
    gives predictions in float64 for rows of either type, and accepts several outputs of a
    classifier. Quantile forests can't be converted.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import splitwood
    >>> splitwood.register_skl2onnx()
    >>> X = np.array([[1.0], [2.0], [3.0]], dtype=np.float32)
    >>> tree = splitwood.DecisionTreeRegressor()
    >>> pipeline = make_pipeline(StandardScaler(), tree).fit(X, [5.0, 5.0, 9.0])
    >>> [output.name for output in to_onnx(pipeline, X).graph.output]
    ['variable']
    """
    skl2onnx, shapes = _load("skl2onnx"), _load("skl2onnx.common.shape_calculator")
    options = {
        "zipmap": [True, False, "columns"],
        "nocl": [False, True],
        "output_class_labels": [False, True],
    }
    for regressor in _REGRESSORS:
        skl2onnx.update_registered_converter(
            regressor,
            f"Splitwood{regressor.__name__}",
            _regressor_shapes,
            _convert_regressor,
        )
    for classifier in _CLASSIFIERS:
        skl2onnx.update_registered_converter(
            classifier,
            f"Splitwood{classifier.__name__}",
            shapes.calculate_linear_classifier_output_shapes,
            _convert_classifier,
            options=options,
        )


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "register_skl2onnx needs skl2onnx: pip install skl2onnx"
        ) from error


# skl2onnx passes its own types: the names in use, the estimator with its variables, and the model
# that is being built.


def _regressor_shapes(operator: Any) -> None:
    _load("skl2onnx.common.shape_calculator").calculate_linear_regressor_output_shapes(operator)
    # skl2onnx counts the outputs of its own linear models only.
    operator.outputs[0].type.shape[1] = operator.raw_operator.n_outputs_


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    (prediction,) = operator.outputs
    graph.look_up("values", graph.leaf_values()[:, :, 0], prediction)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    if operator.raw_operator.n_outputs_ > 1:
        raise NotImplementedError(
            "skl2onnx: a classifier with several outputs can't be converted; use its method to_onnx"
        )
    shares = graph.leaf_values()[:, 0]
    # The classes, or with the option "nocl" their indices. skl2onnx has labels of two types.
    utils = _load("skl2onnx.common.utils_classifier")
    classes: NDArray[Any] = utils.get_label_classes(scope, operator.raw_operator)
    plain = classes.astype(np.int64 if classes.dtype.kind in "biuf" else np.object_)
    label, probabilities = operator.outputs
    graph.look_up("shares", shares, probabilities)
    graph.label(shares, plain, label)


class _Graph:
    """The nodes of an estimator, which start with the path from the rows to the tensor of leaves.

    The tensor has the number of each row's leaf, among the leaves of all trees; for a forest, it
    has a column per tree.
    """

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        self._scope, self._container = scope, container
        self._numpy = _load("onnx.numpy_helper")
        self._types = _load("onnx").TensorProto
        estimator = operator.raw_operator
        self._is_forest = hasattr(estimator, "estimators_")
        parts = estimator.estimators_ if self._is_forest else [estimator]
        self._trees = [check_can_be_handed_on(part, "skl2onnx") for part in parts]
        if (most := max(tree.n_leaves for tree in self._trees)) > _EXACT_IN_FLOAT32:
            raise ValueError(f"skl2onnx: {most:,} leaves are too many for float32")
        (rows,) = operator.inputs
        kind = type(rows.type).__name__
        # The type of the predictions. Integers are read exactly, in float64.
        self._cells = np.dtype(np.float64 if kind == "DoubleTensorType" else np.float32)
        read_as = np.dtype(np.float32 if kind == "FloatTensorType" else np.float64)
        cast = self._types.FLOAT if read_as == np.float32 else self._types.DOUBLE
        cells = self._node("Cast", [rows.full_name], "cells", to=cast)
        number = self._node(
            *("TreeEnsembleRegressor", [cells], "leaf_number"),
            op_domain="ai.onnx.ml",
            op_version=3,
            **self._walk(read_as),
        )
        column = self._node("Cast", [number], "leaf_column", to=self._types.INT64)
        if self._is_forest:
            n_leaves = np.array([tree.n_leaves for tree in self._trees])
            first = self._table("first_leaf", np.cumsum(n_leaves) - n_leaves)
            self._leaf = self._node("Add", [column, first], "leaf")
        else:
            vector = self._table("vector", np.array([-1]))
            self._leaf = self._node("Reshape", [column, vector], "leaf")

    def leaf_values(self) -> NDArray[np.float64]:
        """Get the values of the leaves of all trees."""
        return np.concatenate([tree.value[tree.children_left < 0] for tree in self._trees])

    def _walk(self, cells: np.dtype[Any]) -> dict[str, Any]:
        """Get the attributes of TreeEnsembleRegressor, whose nodes have the ids of the trees."""
        parts = [_nodes(tree, number) for number, tree in enumerate(self._trees)]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        threshold = joined.pop("nodes_values")
        if cells == np.float32:
            threshold = float32_below(threshold)
        weights = joined.pop("target_weights")
        return {
            "n_targets": len(self._trees),
            **{name: numbers.tolist() for name, numbers in joined.items()},
            **self._numbers("nodes_values", threshold.astype(cells)),
            **self._numbers("target_weights", weights.astype(cells)),
        }

    def _numbers(self, name: str, numbers: NDArray[Any]) -> dict[str, Any]:
        """Get an attribute of numbers: a list of float32, or a tensor of float64."""
        if numbers.dtype == np.float32:
            return {name: numbers.tolist()}
        return {f"{name}_as_tensor": self._numpy.from_array(numbers, name)}

    def look_up(self, name: str, entries: NDArray[np.float64], output: Any) -> None:
        """Add the output that has the entry of each row's leaf, or their mean over the trees."""
        if not self._is_forest:
            self._gather(name, entries.astype(self._cells), self._leaf, output)
            return
        of_trees = self._node(
            "Gather", [self._table(name, entries), self._leaf], f"{name}_of_trees"
        )
        axis = self._table("axis", np.array([1]))
        total = self._node("ReduceSum", [of_trees, axis], f"{name}_sum", keepdims=0, op_version=13)
        count = self._table("n_trees", np.array([float(len(self._trees))]))
        self._mean = self._node("Div", [total, count], f"{name}_mean")
        wide = self._cells == np.float64
        self._finish(
            "Cast", [self._mean], output, to=self._types.DOUBLE if wide else self._types.FLOAT
        )

    def label(self, shares: NDArray[np.float64], classes: NDArray[Any], output: Any) -> None:
        """Add the output that has the class with the largest share; the shares were looked up."""
        if not self._is_forest:
            self._gather("labels", classes[shares.argmax(axis=1)], self._leaf, output)
            return
        code = self._node("ArgMax", [self._mean], "code", axis=1, keepdims=0)
        self._gather("labels", classes, code, output)

    def _gather(self, name: str, entries: NDArray[Any], index: str, output: Any) -> None:
        self._finish("Gather", [self._table(name, entries), index], output)

    def _finish(self, operator: str, inputs: list[str], output: Any, **attributes: Any) -> None:
        name = self._scope.get_unique_operator_name(f"splitwood_{operator.lower()}")
        self._container.add_node(operator, inputs, output.full_name, name=name, **attributes)

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        result: str = self._scope.get_unique_variable_name(output)
        name = self._scope.get_unique_operator_name(f"splitwood_{output}")
        self._container.add_node(operator, inputs, result, name=name, **attributes)
        return result

    def _table(self, name: str, entries: NDArray[Any]) -> str:
        result: str = self._scope.get_unique_variable_name(name)
        types = {"i": self._types.INT64, "O": self._types.STRING}
        wide = self._types.DOUBLE if entries.dtype == np.float64 else self._types.FLOAT
        kind = types.get(entries.dtype.kind, wide)
        flat = entries.ravel().tolist()
        if kind == self._types.STRING:
            # onnx 1.17 encodes strings as ASCII.
            flat = [text.encode() for text in flat]
        self._container.add_initializer(result, kind, entries.shape, flat)
        return result


def _nodes(tree: _core.Tree, number: int) -> dict[str, NDArray[Any]]:
    """Get what TreeEnsembleRegressor stores of a tree. Its target has the number of the tree."""
    is_leaf = tree.children_left < 0
    leaves = np.flatnonzero(is_leaf)
    return {
        "nodes_treeids": np.full(tree.node_count, number),
        "nodes_nodeids": np.arange(tree.node_count),
        "nodes_featureids": np.where(is_leaf, 0, tree.feature),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_values": np.where(is_leaf, 0.0, tree.threshold),
        "nodes_truenodeids": np.where(is_leaf, 0, tree.children_left),
        "nodes_falsenodeids": np.where(is_leaf, 0, tree.children_right),
        "nodes_missing_value_tracks_true": tree.missing_go_to_left,
        "target_treeids": np.full(len(leaves), number),
        "target_nodeids": leaves,
        "target_ids": np.full(len(leaves), number),
        "target_weights": np.arange(len(leaves)),
    }
