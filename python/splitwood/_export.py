"""A tree as text, and as a graph for Graphviz: scikit-learn's functions, for trees of any depth."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import Estimator, check_count, check_max_depth, check_tree
from ._colors import GREY, NodeColors
from ._estimators import DecisionTreeClassifier
from ._labels import Labels
from ._outline import Shown, outline

# Shares of so many classes in a line; more lines for more classes.
_CLASSES_A_LINE = 10


def export_text(
    decision_tree: Estimator,
    *,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_missing: bool | None = None,
) -> str:
    """Write the rules of a tree as text.

    Parameters
    ----------
    decision_tree : DecisionTreeRegressor or DecisionTreeClassifier
        A fitted tree.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features. None means those of the data frame that was fitted or, if it had none,
        "feature_0", "feature_1" and so on.
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of ``classes_``. None means the labels themselves.
    max_depth : int, default=10
        Deepest level of a split that is written; the root is at depth 0. What is cut off is marked with the
        levels and nodes that it has. None means the whole tree.
    spacing : int, default=3
        Width of an indentation.
    decimals : int, default=2
        Digits after the point. A number that they would change by more than a tenth is written with
        significant digits instead.
    show_weights : bool, default=False
        Whether the leaves of a classifier show the weight of each class.
    show_missing : bool, default=None
        Whether to show to which side missing values go. None means: if they go anywhere but to the child with
        more weight, which is where they go in nodes that had none in training.

    Returns
    -------
    report : str
        The rules, a line each.

    See Also
    --------
    export_graphviz : A graph of the tree.
    plot_tree : A drawing of the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from splitwood import DecisionTreeClassifier, export_text
    >>> iris = load_iris(as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target)
    >>> print(export_text(tree, class_names=iris.target_names))
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: versicolor
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: virginica
    <BLANKLINE>
    """
    estimator = check_tree(decision_tree, "export_text")
    max_depth = check_max_depth(max_depth)
    spacing = check_count("spacing", spacing, 1)
    labels = Labels(
        estimator,
        feature_names=feature_names,
        unnamed="feature_{}",
        class_names=True if class_names is None else class_names,
        decimals=check_count("decimals", decimals, 0),
        padded=True,
        show_missing=show_missing,
    )
    describe = _leaf_words(estimator, labels, show_weights)
    shown = outline(estimator.tree_, max_depth)
    lines = []
    for item in shown:
        if item.parent is not None:
            parent = shown[item.parent]
            test = labels.test(parent.node)
            lines.append(f"{_indent(parent, spacing)} {test.left if item.is_left else test.right}")
        if item.is_leaf:
            lines.append(f"{_indent(item, spacing)} {describe(item.node)}")
        elif item.is_cut:
            lines.append(
                f"{_indent(item, spacing)} truncated branch of depth {item.height}, {item.size:,} nodes"
            )
    return "\n".join(lines) + "\n"


def _indent(item: Shown, spacing: int) -> str:
    return ("|" + " " * spacing) * item.depth + "|" + "-" * spacing


def _leaf_words(estimator: Estimator, labels: Labels, show_weights: bool) -> Callable[[int], str]:
    """What a leaf predicts, as a function of its node id."""
    tree = estimator.tree_
    values, weight = tree.value, tree.weighted_n_node_samples

    def describe(node: int) -> str:
        if labels.class_names is None:
            return f"value: {labels.numbers(values[node, :, 0])}"
        words = f"class: {labels.classes(values[node])}"
        if show_weights:
            weights = ", ".join(map(labels.numbers, values[node] * weight[node]))
            words = f"weights: {weights} {words}"
        return words

    return describe


class BoxText:
    """The lines in the box of a node, in a graph or a drawing."""

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
        """The lines in the box of a node that is not cut off."""
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
        """The shares or weights of the classes of one output."""
        if not self._proportion:
            shares = shares * self._weight[node]
        if not self._proportion and np.all(shares == np.rint(shares)):
            texts = [str(int(v)) for v in shares]
        else:
            texts = [self._labels.number(v) for v in shares]
        starts = range(0, len(texts), _CLASSES_A_LINE)
        lines = [", ".join(texts[start : start + _CLASSES_A_LINE]) for start in starts]
        return ("[" + ",\n".join(lines) + "]").split("\n")


def cut_lines(item: Shown) -> list[str]:
    """The lines in the box of a branch that is cut off."""
    return ["(...)", f"{item.size:,} nodes"]


def export_graphviz(
    decision_tree: Estimator,
    out_file: str | os.PathLike[str] | IO[str] | None = None,
    *,
    max_depth: int | None = None,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | bool | None = None,
    label: str = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
    show_missing: bool | None = None,
) -> str | None:
    """Write a tree as a graph in the language of Graphviz.

    ``dot -Tsvg tree.dot -o tree.svg`` draws it.

    Parameters
    ----------
    decision_tree : DecisionTreeRegressor or DecisionTreeClassifier
        A fitted tree.
    out_file : str, path or file, default=None
        Where to write. None means that the text is returned.
    max_depth : int, default=None
        Deepest level of a split that is written; the root is at depth 0. What is cut off is marked with the
        number of its nodes. None means the whole tree.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features. None means those of the data frame that was fitted or, if it had none,
        "x[0]", "x[1]" and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of ``classes_``. True means the labels themselves, None that
        classes are not named.
    label : {"all", "root", "none"}, default="all"
        Where numbers have names such as "samples": at all nodes, at the root, or nowhere.
    filled : bool, default=False
        Whether to colour nodes by their class and purity, or by their value.
    leaves_parallel : bool, default=False
        Whether to draw all leaves at the bottom.
    impurity, node_ids : bool
        Whether to show the impurity and the id of each node.
    proportion : bool, default=False
        Whether to show shares instead of numbers of rows.
    rotate : bool, default=False
        Whether to draw from left to right instead of top to bottom.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether to write "≤" instead of "<=", and indices as subscripts.
    precision : int, default=3
        Digits after the point. A number that they would change by more than a tenth is written with
        significant digits instead.
    fontname : str, default="helvetica"
        Font of all texts.
    show_missing : bool, default=None
        Whether to show to which side missing values go. None means: if they go anywhere but to the child with
        more weight, which is where they go in nodes that had none in training.

    Returns
    -------
    dot_data : str or None
        The graph, if there is no `out_file`.

    See Also
    --------
    plot_tree : A drawing of the tree, without Graphviz.
    export_text : The rules of the tree as text.

    Examples
    --------
    >>> from splitwood import DecisionTreeRegressor, export_graphviz
    >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
    >>> print(export_graphviz(tree, impurity=False))
    digraph Tree {
    node [shape=box, fontname="helvetica"] ;
    edge [fontname="helvetica"] ;
    0 [label="x[0] <= 2.5\\nsamples = 3\\nvalue = 6.333"] ;
    1 [label="samples = 2\\nvalue = 5.0"] ;
    0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;
    2 [label="samples = 1\\nvalue = 9.0"] ;
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    }
    """
    estimator = check_tree(decision_tree, "export_graphviz")
    labels = Labels(
        estimator,
        feature_names=feature_names,
        unnamed="x<SUB>{}</SUB>" if special_characters else "x[{}]",
        class_names=class_names,
        decimals=check_count("precision", precision, 0),
        padded=False,
        show_missing=show_missing,
        escape=_escape_html if special_characters else _escape_dot,
        at_most="&le;" if special_characters else "<=",
    )
    box = BoxText(
        estimator,
        labels,
        label=label,
        impurity=impurity,
        node_ids=node_ids,
        proportion=proportion,
        hash_sign="&#35;" if special_characters else "#",
    )
    head = _graph_head(fontname, filled, rounded, leaves_parallel, rotate)
    shown = outline(estimator.tree_, check_max_depth(max_depth))
    colors = NodeColors(estimator.tree_) if filled else None
    body = [_graph_node(item, shown, box, colors, special_characters, rotate) for item in shown]
    ranks = _graph_ranks(shown) if leaves_parallel else []
    graph = "".join([*head, *body, *ranks, "}"])
    if out_file is None:
        return graph
    if isinstance(out_file, str | os.PathLike):
        with open(out_file, "w", encoding="utf-8") as file:
            file.write(graph)
    else:
        out_file.write(graph)
    return None


def _graph_head(
    fontname: str, filled: bool, rounded: bool, leaves_parallel: bool, rotate: bool
) -> list[str]:
    styles = ", ".join(["filled"] * filled + ["rounded"] * rounded)
    style = f', style="{styles}", color="black"' if styles else ""
    font = f'fontname="{_escape_dot(fontname)}"'
    head = ["digraph Tree {\n", f"node [shape=box{style}, {font}] ;\n"]
    if leaves_parallel:
        head.append("graph [ranksep=equally, splines=polyline] ;\n")
    head.append(f"edge [{font}] ;\n")
    if rotate:
        head.append("rankdir=LR ;\n")
    return head


def _graph_node(
    item: Shown,
    shown: list[Shown],
    box: BoxText,
    colors: NodeColors | None,
    special_characters: bool,
    rotate: bool,
) -> str:
    lines = cut_lines(item) if item.is_cut else box.lines(item)
    text = f"<{'<br/>'.join(lines)}>" if special_characters else '"' + "\\n".join(lines) + '"'
    fill = ""
    if colors is not None:
        fill = f', fillcolor="{GREY if item.is_cut else colors.of(item.node)}"'
    node = f"{item.node} [label={text}{fill}] ;\n"
    if item.parent is None:
        return node
    edge = f"{shown[item.parent].node} -> {item.node}"
    if item.parent == 0:
        angle = 45 if item.is_left != rotate else -45
        edge += f' [labeldistance=2.5, labelangle={angle}, headlabel="{item.is_left}"]'
    return f"{node}{edge} ;\n"


def _graph_ranks(shown: list[Shown]) -> list[str]:
    """Leaves and what is cut off in one row, other nodes in a row for each depth."""
    ranks: dict[str, list[str]] = {"leaves": []}
    for item in shown:
        rank = "leaves" if item.is_leaf or item.is_cut else str(item.depth)
        ranks.setdefault(rank, []).append(str(item.node))
    return ["{rank=same ; " + "; ".join(ranks[rank]) + "} ;\n" for rank in sorted(ranks)]


def _escape_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escape_html(text: str) -> str:
    return html.escape(text).replace("\n", "<br/>")
