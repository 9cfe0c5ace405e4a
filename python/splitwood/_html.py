"""The HTML of a fitted tree in a notebook: its size, a small drawing and the importances.

scikit-learn's diagram is above it. The HTML has an inline SVG, and needs neither scripts nor
matplotlib. All text from the user is escaped.
"""

from __future__ import annotations

import html

import numpy as np

from ._arguments import Estimator
from ._colors import GREY, NodeColors, ink
from ._labels import Labels
from ._outline import Shown, deepest_outline, outline, positions

# The largest numbers of boxes in the drawing and of features in the list of importances.
_MAX_BOXES, _MAX_FEATURES = 15, 8
# Characters per line; a tooltip shows the whole of a longer name.
_LINE = 26
# Pixels per character and per line in a font of 12 pixels, and between boxes.
_CHARACTER, _LINE_HEIGHT, _GAP, _LEVEL = 6.6, 15.0, 14.0, 66.0
_BOX_HEIGHT = 2 * _LINE_HEIGHT + 8.0
_BAR = 160.0


def fitted_html(estimator: Estimator) -> str:
    """Get the HTML of a fitted tree: its size, its first levels and its importances."""
    tree = estimator.tree_
    size = [
        _count(tree.node_count, "node"),
        _count(tree.n_leaves, "leaf"),
        f"depth {tree.max_depth:,}",
        _count(tree.n_features, "feature"),
    ]
    parts = [f"<div>{' · '.join(size)}</div>"]
    parts += [_drawing(estimator), _importances(estimator)]
    style = "font:12px sans-serif; margin:6px 2px; overflow-x:auto"
    return f'<div class="splitwood-tree" style="{style}">{"".join(parts)}</div>'


def _count(n: int, noun: str) -> str:
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{n:,} {noun if n == 1 else plural}"


def _labels(estimator: Estimator) -> Labels:
    return Labels(
        estimator,
        feature_names=None,
        unnamed="x[{}]",
        class_names=True,
        decimals=2,
        padded=False,
        show_missing=None,
        at_most="≤",
    )


# ---- the drawing ---------------------------------------------------------------------------------


def _drawing(estimator: Estimator) -> str:
    tree = estimator.tree_
    whole = tree.node_count <= _MAX_BOXES
    shown = outline(tree, None if whole else deepest_outline(tree, _MAX_BOXES))
    texts = _texts(estimator, shown)
    widths = np.array([_width(lines) + _GAP for lines in texts])
    middles = positions(shown, widths)
    colors = NodeColors(tree)
    edges = [
        _edge(item, float(middles[item.parent]), float(middle))
        for item, middle in zip(shown, middles, strict=True)
        if item.parent is not None
    ]
    boxes = [
        _box(item, lines, middle, GREY if item.is_cut else colors.of(item.node))
        for item, lines, middle in zip(shown, texts, middles, strict=True)
    ]
    across = float((middles + widths / 2).max())
    down = max(item.depth for item in shown) * _LEVEL + _BOX_HEIGHT + 4.0
    return (
        f'<svg role="img" aria-label="the first levels of the tree" width="{across:.0f}" '
        f'height="{down:.0f}" viewBox="0 -2 {across:.0f} {down:.0f}" '
        'style="display:block; margin:8px 0" font-family="sans-serif" font-size="12">'
        f"{''.join(edges)}{''.join(boxes)}</svg>"
    )


def _texts(estimator: Estimator, shown: list[Shown]) -> list[tuple[str, str]]:
    """Get two lines for each box: its test or prediction, and its number of rows."""
    labels = _labels(estimator)
    rows, values = estimator.tree_.n_node_samples, estimator.tree_.value
    texts = []
    for item in shown:
        if item.is_cut:
            texts.append(("…", _count(item.size, "node")))
            continue
        if not item.is_leaf:
            first = labels.test(item.node).question
        elif labels.class_names is not None:
            first = labels.classes(values[item.node])
        elif values.shape[1] > 1:
            first = labels.numbers(values[item.node, :, 0])
        else:
            first = labels.number(values[item.node, 0, 0])
        texts.append((first, _count(int(rows[item.node]), "row")))
    return texts


def _shortened(text: str) -> str:
    """Keep the beginning and the end of a text; a threshold is at the end."""
    if len(text) <= _LINE:
        return text
    return f"{text[: _LINE // 2 - 1]}…{text[-_LINE // 2 :]}"


def _width(lines: tuple[str, str]) -> float:
    return max(len(_shortened(line)) for line in lines) * _CHARACTER + 12.0


def _edge(item: Shown, x: float, to_x: float) -> str:
    """Draw the line from the parent's bottom to a node's top."""
    y, to_y = (item.depth - 1) * _LEVEL + _BOX_HEIGHT, item.depth * _LEVEL
    line = f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="gray"/>'
    if item.parent != 0:
        return line
    word, anchor = ("yes", "end") if item.is_left else ("no", "start")
    shift = -4 if item.is_left else 4
    return line + (
        f'<text x="{(x + to_x) / 2 + shift:.1f}" y="{(y + to_y) / 2:.1f}" text-anchor="{anchor}" '
        f'fill="gray">{word}</text>'
    )


def _box(item: Shown, lines: tuple[str, str], middle: float, color: str) -> str:
    width, top = _width(lines), item.depth * _LEVEL
    texts = "".join(
        f'<text x="{middle:.1f}" y="{top + (place + 1) * _LINE_HEIGHT + 1:.1f}" '
        f'text-anchor="middle" fill="{ink(color)}">{html.escape(_shortened(line))}</text>'
        for place, line in enumerate(lines)
    )
    return (
        f"<g><title>{html.escape(', '.join(lines))}</title>"
        f'<rect x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_BOX_HEIGHT:.1f}" rx="4" fill="{color}" stroke="gray"/>{texts}</g>'
    )


# ---- importances ---------------------------------------------------------------------------------


def _importances(estimator: Estimator) -> str:
    importances = estimator.feature_importances_
    used = np.flatnonzero(importances > 0.0)
    if len(used) == 0:
        return ""
    labels = _labels(estimator)
    first = used[np.argsort(-importances[used], kind="stable")][:_MAX_FEATURES]
    rows = [
        _row(
            labels.feature(j),
            f'<svg width="{_BAR * importances[j] + 1.0:.1f}" height="10">'
            f'<rect width="100%" height="10" fill="cornflowerblue"/></svg> {importances[j]:.1%}',
        )
        for j in first
    ]
    if len(used) > len(first):
        share = 1.0 - importances[first].sum()
        rows.append(_row(f"{len(used) - len(first):,} more", f"{share:.1%}"))
    caption = '<caption style="text-align:left">importances</caption>'
    return f'<table style="margin:0">{caption}{"".join(rows)}</table>'


def _row(name: str, cell: str) -> str:
    title, text = html.escape(name), html.escape(_shortened(name))
    return (
        f'<tr><td style="text-align:right" title="{title}">{text}</td>'
        f'<td style="text-align:left">{cell}</td></tr>'
    )
