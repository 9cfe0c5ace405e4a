"""A converter for skl2onnx, so that pipelines and ensembles with these trees become ONNX models.

The graph is that of `_onnx.py`, with the operator that skl2onnx targets, ``TreeEnsembleRegressor``
of ``ai.onnx.ml`` 3. Its result is a float32, which here is the index of the row's leaf among the
leaves; tables map it to the prediction:

    X ──► Cast ──► TreeEnsembleRegressor ──► Cast, Reshape ──┬──► Gather(values) ──► predictions
                                                   the leaf  └──► Gather(labels) ──► label

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

# float32 holds all integers up to this one exactly, and leaves are numbered in float32.
_EXACT_IN_FLOAT32 = 1 << 24


def register_skl2onnx() -> None:
    """Register the trees with skl2onnx, which then converts pipelines and ensembles with them.

    Needs skl2onnx: ``pip install skl2onnx``. For a tree alone, the method ``to_onnx`` gives
    predictions in float64 for rows of either type, and accepts several outputs of a classifier.

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
    for regressor in (DecisionTreeRegressor, ExtraTreeRegressor):
        skl2onnx.update_registered_converter(
            regressor,
            f"Splitwood{regressor.__name__}",
            _regressor_shapes,
            _convert_regressor,
        )
    for classifier in (DecisionTreeClassifier, ExtraTreeClassifier):
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
    graph.gather("values", graph.tree.value[graph.is_leaf, :, 0].astype(graph.cells), prediction)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    if graph.tree.n_outputs > 1:
        raise NotImplementedError(
            "skl2onnx: a classifier with several outputs can't be converted; use its method to_onnx"
        )
    shares = graph.tree.value[graph.is_leaf, 0]
    # The classes, or with the option "nocl" their indices. skl2onnx has labels of two types.
    utils = _load("skl2onnx.common.utils_classifier")
    classes: NDArray[Any] = utils.get_label_classes(scope, operator.raw_operator)
    plain = classes.astype(np.int64 if classes.dtype.kind in "biuf" else np.object_)
    label, probabilities = operator.outputs
    graph.gather("labels", plain[shares.argmax(axis=1)], label)
    graph.gather("shares", shares.astype(graph.cells), probabilities)


class _Graph:
    """The nodes of one tree, which start with the path from the rows to the tensor of leaves."""

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        self._scope, self._container = scope, container
        self._numpy = _load("onnx.numpy_helper")
        self._types = _load("onnx").TensorProto
        self.tree = check_can_be_handed_on(operator.raw_operator, "skl2onnx")
        if self.tree.n_leaves > _EXACT_IN_FLOAT32:
            raise ValueError(f"skl2onnx: {self.tree.n_leaves:,} leaves are too many for float32")
        self.is_leaf = self.tree.children_left < 0
        (rows,) = operator.inputs
        kind = type(rows.type).__name__
        # The type of the predictions. Integers are read exactly, in float64.
        self.cells = np.dtype(np.float64 if kind == "DoubleTensorType" else np.float32)
        read_as = np.dtype(np.float32 if kind == "FloatTensorType" else np.float64)
        cast = self._types.FLOAT if read_as == np.float32 else self._types.DOUBLE
        cells = self._node("Cast", [rows.full_name], "cells", to=cast)
        number = self._node(
            *("TreeEnsembleRegressor", [cells], "leaf_number"),
            op_domain="ai.onnx.ml",
            op_version=3,
            **self._walk(self.tree, read_as),
        )
        column = self._node("Cast", [number], "leaf_column", to=self._types.INT64)
        vector = self._table("vector", np.array([-1]))
        self._leaf = self._node("Reshape", [column, vector], "leaf")

    def _walk(self, tree: _core.Tree, cells: np.dtype[Any]) -> dict[str, Any]:
        """Get the attributes of TreeEnsembleRegressor, whose nodes have the ids of the tree."""
        is_leaf, leaves = self.is_leaf, np.flatnonzero(self.is_leaf)
        threshold = np.where(is_leaf, 0.0, tree.threshold)
        if cells == np.float32:
            threshold = float32_below(threshold)
        weights = np.arange(len(leaves)).astype(cells)
        return {
            "n_targets": 1,
            "nodes_treeids": [0] * tree.node_count,
            "nodes_nodeids": list(range(tree.node_count)),
            "nodes_featureids": np.where(is_leaf, 0, tree.feature).tolist(),
            "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
            "nodes_truenodeids": np.where(is_leaf, 0, tree.children_left).tolist(),
            "nodes_falsenodeids": np.where(is_leaf, 0, tree.children_right).tolist(),
            "nodes_missing_value_tracks_true": tree.missing_go_to_left.tolist(),
            "target_treeids": [0] * len(leaves),
            "target_nodeids": leaves.tolist(),
            "target_ids": [0] * len(leaves),
            **self._numbers("nodes_values", threshold.astype(cells)),
            **self._numbers("target_weights", weights),
        }

    def _numbers(self, name: str, numbers: NDArray[Any]) -> dict[str, Any]:
        """Get an attribute of numbers: a list of float32, or a tensor of float64."""
        if numbers.dtype == np.float32:
            return {name: numbers.tolist()}
        return {f"{name}_as_tensor": self._numpy.from_array(numbers, name)}

    def gather(self, name: str, entries: NDArray[Any], output: Any) -> None:
        """Add the output whose entry of each row is that of the row's leaf."""
        self._container.add_node(
            *("Gather", [self._table(name, entries), self._leaf], output.full_name),
            name=self._scope.get_unique_operator_name(f"splitwood_{name}"),
        )

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
