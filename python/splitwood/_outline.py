"""The first levels of a tree: which nodes are shown, what is left out below them, and where to draw each.

Nothing here recurses: nodes are numbered depth-first, so a branch is a range of node ids, and walking through
the ids is walking through the tree. A chain a million deep is read like any other tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _core


@dataclass(frozen=True)
class Shown:
    """A node that is shown."""

    node: int
    depth: int
    # Place of the parent among the shown nodes; None for the root.
    parent: int | None
    is_left: bool
    is_leaf: bool
    # Nodes of its branch, itself included, and levels: 1 for a leaf.
    size: int
    height: int

    # Whether what is below is left out. Leaves have nothing below.
    is_cut: bool


def outline(tree: _core.Tree, max_depth: int | None) -> list[Shown]:
    """The nodes down to `max_depth` and, one level below, leaves and cut branches; in depth-first order."""
    right = tree.children_right
    depths: NDArray[np.int64] | None = None
    shown: list[Shown] = []
    # The branches still to come: range of ids, depth, place of the parent, side.
    pending: list[tuple[int, int, int, int | None, bool]] = [(0, tree.node_count, 0, None, False)]
    while pending:
        node, end, depth, parent, is_left = pending.pop()
        is_leaf = end - node == 1
        is_cut = not is_leaf and max_depth is not None and depth > max_depth
        height = 1
        if is_cut:
            depths = node_depths(tree) if depths is None else depths
            height = int(depths[node:end].max()) - depth + 1
        elif not is_leaf:
            below = int(right[node])
            pending.append((below, end, depth + 1, len(shown), False))
            pending.append((node + 1, below, depth + 1, len(shown), True))
        shown.append(Shown(node, depth, parent, is_left, is_leaf, end - node, height, is_cut))
    return shown


def node_depths(tree: _core.Tree) -> NDArray[np.int64]:
    """Depth of each node. Each adds up its way to the root in strides that double: O(n log depth)."""
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left >= 0)
    ancestor = np.zeros(len(left), dtype=np.int64)
    ancestor[left[inner]] = ancestor[right[inner]] = inner
    depths = np.ones(len(left), dtype=np.int64)
    depths[0] = 0
    while ancestor.any():
        depths += depths[ancestor]
        ancestor = ancestor[ancestor]
    return depths


def deepest_outline(tree: _core.Tree, max_nodes: int) -> int:
    """The deepest `max_depth` whose outline has no more than `max_nodes`, or 0 if there is none."""
    per_level = np.bincount(node_depths(tree))
    whole_levels = int(np.searchsorted(np.cumsum(per_level), max_nodes, side="right"))
    # An outline shows the level below its depth, too.
    return max(0, whole_levels - 2)


def positions(shown: list[Shown], widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the middle of each shown node goes from left to right, the leftmost edge of all at 0.

    A parent stands above the middle of its children, and no two nodes of a level overlap by their widths.
    Branches are put as close together as their outlines allow: each keeps, level by level, how far it
    reaches to the left and to the right of the middle of its top node.
    """
    children: list[list[int]] = [[] for _ in shown]
    for place, item in enumerate(shown):
        if item.parent is not None:
            children[item.parent].append(place)
    reach: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    half_gap = np.zeros(len(shown))
    # Depth-first order, backwards: children before their parents.
    for place in reversed(range(len(shown))):
        top = widths[place : place + 1] / 2.0
        if not children[place]:
            reach[place] = (-top, top)
            continue
        (left_l, left_r), (right_l, right_r) = (reach.pop(child) for child in children[place])
        common = min(len(left_r), len(right_l))
        half = half_gap[place] = np.max(left_r[:common] - right_l[:common]) / 2.0
        reach[place] = (
            np.concatenate((-top, left_l - half, right_l[len(left_l) :] + half)),
            np.concatenate((top, right_r + half, left_r[len(right_r) :] - half)),
        )
    middles = np.zeros(len(shown))
    for place, item in enumerate(shown):
        if item.parent is not None:
            side = -1.0 if item.is_left else 1.0
            middles[place] = middles[item.parent] + side * half_gap[item.parent]
    middles -= (middles - widths / 2.0).min()
    return middles
