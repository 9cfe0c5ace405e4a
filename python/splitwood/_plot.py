"""``plot_tree``, as in scikit-learn but with boxes that are large enough to be read."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arguments import Estimator, check_count, check_max_depth, check_tree
from ._box import BoxText, cut_lines
from ._colors import GREY, NodeColors, ink
from ._labels import Labels
from ._outline import Shown, deepest_outline, outline, positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

# A tree with more nodes than the first number is illegible; at most the second number are drawn.
_WHOLE, _IN_PART = 127, 63
# Sizes of a new figure in inches: per character, per line, and the minimum.
_CHARACTER_INCHES, _LINE_INCHES = 0.085, 0.165
_LEAST_INCHES = (6.4, 4.8)
# Characters between neighbouring boxes, and lines between levels.
_MARGIN, _BETWEEN_LEVELS = 4, 4
# In points. Text below the smallest size can't be read.
_LARGEST_FONT, _SMALLEST_FONT = 11.0, 5.0
# Share of a level's height that a box may take.
_FILLED = 0.75


def load_pyplot(purpose: str) -> Any:
    """Import matplotlib's pyplot; the error says how to install it."""
    try:
        return import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{purpose} needs matplotlib: pip install 'splitwood[plot]'"
        ) from error


def plot_tree(
    decision_tree: Estimator,
    *,
    max_depth: int | None = None,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | bool | None = None,
    label: str = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Axes | None = None,
    fontsize: int | None = None,
    show_missing: bool | None = None,
) -> list[Annotation]:
    """Draw a tree.

    Needs matplotlib: ``pip install 'splitwood[plot]'``.

    Parameters
    ----------
    decision_tree : DecisionTreeRegressor or DecisionTreeClassifier
        A fitted tree.
    max_depth : int, default=None
        Deepest level of a split that is drawn; the root is at depth 0. A box with the number of its
        nodes stands for a deeper branch. None means as many levels as are legible: at most 127
        nodes, and no more than the axes have room for at 5 points. A line below the drawing says
        how much was left out.
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
    impurity : bool, default=True
        Whether to show the impurity of each node.
    node_ids : bool, default=False
        Whether to show the id of each node.
    proportion : bool, default=False
        Whether to show shares of rows instead of their number, and shares of classes instead of
        their weights.
    rounded : bool, default=False
        Whether boxes have round corners.
    precision : int, default=3
        Digits after the decimal point. A number that these would change by more than a tenth is
        written with significant digits instead.
    ax : matplotlib axes, default=None
        The axes to draw on, which are cleared first. None means the current axes or, if no figure
        is open, those of a new figure that is large enough.
    fontsize : int, default=None
        Size of the text. None means the largest size at which no boxes overlap.
    show_missing : bool, default=None
        Whether to show the side to which missing values go. None shows it unless all of them go to
        the child with more weight, as they do in nodes without missing values in training.

    Returns
    -------
    annotations : list of matplotlib annotations
        The boxes.

    See Also
    --------
    export_text : The rules of the tree as text.
    export_graphviz : A graph for Graphviz, which lays out large trees.

    Examples
    --------
    >>> from splitwood import DecisionTreeRegressor, plot_tree
    >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
    >>> [box.get_text() for box in plot_tree(tree, label="none", impurity=False)]
    ['x[0] <= 2.5\\n3\\n6.333', '2\\n5.0', '1\\n9.0']
    """
    estimator = check_tree(decision_tree, "plot_tree")
    pyplot = load_pyplot("plot_tree")
    labels = Labels(
        estimator,
        feature_names=feature_names,
        unnamed="x[{}]",
        class_names=class_names,
        decimals=check_count("precision", precision, 0),
        padded=False,
        show_missing=show_missing,
        # matplotlib would typeset text between dollar signs as a formula.
        escape=lambda text: text.replace("$", r"\$"),
    )
    box = BoxText(
        estimator, labels, label=label, impurity=impurity, node_ids=node_ids, proportion=proportion
    )
    tree = estimator.tree_
    max_depth = check_max_depth(max_depth)
    if ax is None and pyplot.get_fignums():
        ax = pyplot.gca()
    if max_depth is None:
        layout = _legible_layout(tree, box, None if fontsize is not None else ax)
    else:
        layout = _Layout.of(tree, box, max_depth)
    shown, texts, widths, middles = layout
    columns, levels = layout.columns, layout.levels
    if ax is None:
        ax = _new_axes(pyplot, columns, levels, texts)
    ax.clear()
    ax.set_axis_off()
    ax.set(xlim=(0.0, columns), ylim=(levels - 0.5, -0.5))
    places = [(float(middle), item.depth) for middle, item in zip(middles, shown, strict=True)]
    _draw_edges(ax, shown, places)
    colors = NodeColors(tree) if filled else None
    boxes = [
        _draw_box(ax, item, place, lines, colors, rounded)
        for item, place, lines in zip(shown, places, texts, strict=True)
    ]
    _fit_font(ax, boxes, widths / columns, levels, fontsize)
    if any(item.is_cut for item in shown):
        drawn = sum(not item.is_cut for item in shown)
        note = (
            f"{drawn:,} of {tree.node_count:,} nodes; "
            f"the tree goes down to depth {tree.max_depth:,}"
        )
        ax.text(0.5, 0.0, note, transform=ax.transAxes, ha="center", va="top", style="italic")
    return boxes


class _Layout(NamedTuple):
    """The nodes that are drawn, their lines of text, and their widths and middles in characters."""

    shown: list[Shown]
    texts: list[list[str]]
    widths: NDArray[np.float64]
    middles: NDArray[np.float64]

    @classmethod
    def of(cls, tree: _core.Tree, box: BoxText, max_depth: int | None) -> _Layout:
        shown = outline(tree, max_depth)
        texts = [cut_lines(item) if item.is_cut else box.lines(item) for item in shown]
        widths = np.array([max(map(len, lines)) + _MARGIN for lines in texts], dtype=np.float64)
        return cls(shown, texts, widths, positions(shown, widths))

    @property
    def columns(self) -> float:
        return float((self.middles + self.widths / 2.0).max())

    @property
    def levels(self) -> int:
        return max(item.depth for item in self.shown) + 1

    def font(self, ax: Axes) -> float:
        """Estimate the size of the largest font at which no boxes overlap."""
        dots = ax.figure.dpi
        room = ax.get_window_extent()
        lines = max(map(len, self.texts)) / _FILLED
        across = room.width / dots / (self.columns * _CHARACTER_INCHES)
        down = room.height / dots / (self.levels * lines * _LINE_INCHES)
        return _LARGEST_FONT * min(float(across), float(down))


def _legible_layout(tree: _core.Tree, box: BoxText, ax: Axes | None) -> _Layout:
    """Lay out as many levels as can be read; without axes, the figure will be large enough."""
    max_depth = None if tree.node_count <= _WHOLE else deepest_outline(tree, _IN_PART)
    layout = _Layout.of(tree, box, max_depth)
    # The last level of a layout is the one below its `max_depth`.
    while ax is not None and layout.levels > 2 and layout.font(ax) < _SMALLEST_FONT:
        layout = _Layout.of(tree, box, layout.levels - 3)
    return layout


def _new_axes(pyplot: Any, columns: float, levels: int, texts: list[list[str]]) -> Axes:
    lines = max(map(len, texts)) + _BETWEEN_LEVELS
    needed = (columns * _CHARACTER_INCHES, levels * lines * _LINE_INCHES)
    size = tuple(map(max, needed, _LEAST_INCHES))
    return pyplot.figure(figsize=size, layout="constrained").gca()


def _draw_edges(ax: Axes, shown: list[Shown], places: list[tuple[float, int]]) -> None:
    color = ax.spines["left"].get_edgecolor()
    for item, (x, y) in zip(shown, places, strict=True):
        if item.parent is None:
            continue
        px, py = places[item.parent]
        ax.plot([px, x], [py, y], color=color, linewidth=0.8, zorder=1)
        if item.parent == 0:
            side = {"ha": "right"} if item.is_left else {"ha": "left"}
            ax.text((px + x) / 2, (py + y) / 2, f" {item.is_left} ", va="center", **side)


def _draw_box(
    ax: Axes,
    item: Shown,
    place: tuple[float, int],
    lines: list[str],
    colors: NodeColors | None,
    rounded: bool,
) -> Annotation:
    fill = GREY if item.is_cut else colors.of(item.node) if colors is not None else None
    style = {
        "boxstyle": "round" if rounded else "square",
        "facecolor": ax.get_facecolor() if fill is None else fill,
        "edgecolor": ax.spines["left"].get_edgecolor(),
        "linewidth": 0.8,
    }
    center = {"ha": "center", "va": "center", "multialignment": "center"}
    if fill is not None:
        center["color"] = ink(fill)
    return ax.annotate("\n".join(lines), place, bbox=style, zorder=2, **center)


def _fit_font(
    ax: Axes,
    boxes: list[Annotation],
    shares: NDArray[np.float64],
    levels: int,
    fontsize: int | None,
) -> None:
    """Set the largest font that leaves gaps between boxes, given each box's share of the width."""
    size = fontsize
    if size is None:
        # A constrained layout moves the axes, so it must run before the axes are measured.
        ax.figure.canvas.figure.draw_without_rendering()
        room = ax.get_window_extent()
        patches = [patch for box in boxes if (patch := box.get_bbox_patch()) is not None]
        extents = [patch.get_window_extent() for patch in patches]
        across = min(
            share * room.width / extent.width for share, extent in zip(shares, extents, strict=True)
        )
        down = room.height / levels / max(extent.height for extent in extents)
        size = min(_LARGEST_FONT, boxes[0].get_fontsize() * min(0.95 * across, _FILLED * down))
    for text in ax.texts:
        text.set_fontsize(size)
