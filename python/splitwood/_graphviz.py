"""``export_graphviz``, as in scikit-learn but for trees of any depth."""

from __future__ import annotations

import html
import os
from typing import IO

from numpy.typing import ArrayLike

from ._arguments import Estimator, check_count, check_max_depth, check_tree
from ._box import BoxText, cut_lines
from ._colors import GREY, NodeColors
from ._labels import Labels
from ._outline import Shown, outline


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
    """Write a tree as a graph in the DOT language of Graphviz.

    The command ``dot -Tsvg tree.dot -o tree.svg`` draws the graph.

    Parameters
    ----------
    decision_tree : DecisionTreeRegressor or DecisionTreeClassifier
        A fitted tree.
    out_file : str, path or file, default=None
        The file to write. None returns the text.
    max_depth : int, default=None
        Deepest level of a split that is written; the root is at depth 0. A box with the number of
        its nodes stands for a deeper branch. None means the whole tree.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features. None means those of the fit or, if the fit had none, "x[0]", "x[1]"
        and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of ``classes_``. True shows the labels, None shows no
        classes.
    label : {"all", "root", "none"}, default="all"
        Which nodes name their numbers, for example "samples": all, the root, or none.
    filled : bool, default=False
        Whether to colour nodes by their class and purity, or by their value.
    leaves_parallel : bool, default=False
        Whether to draw all leaves at the bottom.
    impurity : bool, default=True
        Whether to show the impurity of each node.
    node_ids : bool, default=False
        Whether to show the id of each node.
    proportion : bool, default=False
        Whether to show shares of rows instead of their number, and shares of classes instead of
        their weights.
    rotate : bool, default=False
        Whether to draw from left to right instead of top to bottom.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether to write "≤" instead of "<=", and indices as subscripts.
    precision : int, default=3
        Digits after the decimal point. A number that these would change by more than a tenth is
        written with significant digits instead.
    fontname : str, default="helvetica"
        Font of all texts.
    show_missing : bool, default=None
        Whether to show the side to which missing values go. None shows it unless all of them go to
        the child with more weight, as they do in nodes without missing values in training.

    Returns
    -------
    dot_data : str or None
        The graph, if `out_file` is None.

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
    """Put leaves and boxes of branches in one rank, and other nodes in one rank per depth."""
    ranks: dict[str, list[str]] = {"leaves": []}
    for item in shown:
        rank = "leaves" if item.is_leaf or item.is_cut else str(item.depth)
        ranks.setdefault(rank, []).append(str(item.node))
    return ["{rank=same ; " + "; ".join(ranks[rank]) + "} ;\n" for rank in sorted(ranks)]


def _escape_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escape_html(text: str) -> str:
    return html.escape(text).replace("\n", "<br/>")
