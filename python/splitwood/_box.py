"""The text in the box of a node, in a Graphviz graph and in a drawing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._arguments import Estimator
from ._estimators import DecisionTreeClassifier
from ._labels import Labels
from ._outline import Shown

# Shares of classes per line; more classes take more lines.
_CLASSES_PER_LINE = 10


class BoxText:
    """The lines of text of each node."""

    def __init__(
        self,
        estimator: Estimator,
        labels: Labels,
        *,
        label: str,
        impurity: bool,
        node_ids: bool,
        proportion: bool,
        hash_sign: str = "#",
    ) -> None:
        if label not in ("all", "root", "none"):
            raise ValueError(f'label: must be "all", "root" or "none", got {label!r}')
        self._labels, self._label, self._hash = labels, label, hash_sign
        self._impurity, self._node_ids, self._proportion = impurity, node_ids, proportion
        self._criterion = str(estimator.criterion)
        self._is_classifier = isinstance(estimator, DecisionTreeClassifier)
        tree = estimator.tree_
        self._impurities, self._rows = tree.impurity, tree.n_node_samples
        self._weight, self._values = tree.weighted_n_node_samples, tree.value

    def lines(self, item: Shown) -> list[str]:
        """Get the lines of a node whose branch is shown."""
        node, number = item.node, self._labels.number
        named = self._label == "all" or (self._label == "root" and node == 0)

        def line(name: str, text: str) -> str:
            return f"{name} = {text}" if named else text

        lines = []
        if self._node_ids:
            lines.append(f"{'node ' if named else ''}{self._hash}{node}")
        if not item.is_leaf:
            lines.append(self._labels.test(node).question)
        if self._impurity:
            lines.append(line(self._criterion, number(self._impurities[node])))
        rows = int(self._rows[node])
        share = f"{round(100.0 * rows / int(self._rows[0]), 1)}%"
        lines.append(line("samples", share if self._proportion else str(rows)))
        first, *more = self._value_lines(node)
        lines += [line("value", first), *more]
        if self._labels.class_names is not None:
            lines.append(line("class", self._labels.classes(self._values[node])))
        return lines

    def _value_lines(self, node: int) -> list[str]:
        if self._is_classifier:
            return [
                line for shares in self._values[node] for line in self._share_lines(node, shares)
            ]
        values = self._values[node, :, 0]
        return [
            self._labels.number(values[0]) if len(values) == 1 else self._labels.numbers(values)
        ]

    def _share_lines(self, node: int, shares: NDArray[np.float64]) -> list[str]:
        """Get the shares or the weights of the classes of one output."""
        if not self._proportion:
            # The weight of a node may be infinite, and of such a node no class has any.
            with np.errstate(over="ignore", invalid="ignore"):
                shares = shares * self._weight[node]
        if not self._proportion and np.all(shares == np.rint(shares)) and np.isfinite(shares).all():
            texts = [str(int(v)) for v in shares]
        else:
            texts = [self._labels.number(v) for v in shares]
        starts = range(0, len(texts), _CLASSES_PER_LINE)
        lines = [", ".join(texts[start : start + _CLASSES_PER_LINE]) for start in starts]
        return ("[" + ",\n".join(lines) + "]").split("\n")


def cut_lines(item: Shown) -> list[str]:
    """Get the lines of a node that stands for a branch that is not shown."""
    return ["(...)", f"{item.size:,} nodes"]
