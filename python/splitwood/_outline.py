"""The first levels of a tree: the nodes that are shown, and their positions in a drawing.

Nodes are numbered depth-first, so a branch is a range of node ids, and a loop over the ids walks
through the tree. Nothing recurses: a chain a million levels deep is read like any other tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _core


@dataclass(frozen=True)
class Shown:
    """A node that is shown, possibly in place of its whole branch."""

    node: int
    depth: int
    # Index of the parent among the shown nodes; None for the root.
    parent: int | None
    is_left: bool
    is_leaf: bool
    # Number of nodes and of levels of its branch, itself included: 1 for a leaf.
    size: int
    height: int
    # Whether the nodes below are not shown; False for leaves.
    is_cut: bool


def outline(tree: _core.Tree, max_depth: int | None) -> list[Shown]:
    """List the nodes down to `max_depth` and, one level below, the leaves and the cut branches.

    The order is depth-first.
    """
    right = tree.children_right
    depths: NDArray[np.int64] | None = None
    shown: list[Shown] = []
    # The branches to visit: first id, end of the ids, depth, index of the parent, side.
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
    """Get the depth of each node in O(n log depth).

    All nodes walk to the root at once, in strides that double.
    """
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
    """Get the largest `max_depth` whose outline has at most `max_nodes` nodes; 0 if none has."""
    per_level = np.bincount(node_depths(tree))
    whole_levels = int(np.searchsorted(np.cumsum(per_level), max_nodes, side="right"))
    # An outline also shows the level below its depth.
    return max(0, whole_levels - 2)


def positions(shown: list[Shown], widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Get the horizontal position of the middle of each shown node; the leftmost edge is at 0.

    A parent is above the middle of its children, and no two nodes of a level overlap. Sibling
    branches are as close together as their outlines allow: a branch has, for each of its levels,
    its extent to the left and to the right of the middle of its top node.
    """
    children: list[list[int]] = [[] for _ in shown]
    for place, item in enumerate(shown):
        if item.parent is not None:
            children[item.parent].append(place)
    reach: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    half_gap = np.zeros(len(shown))
    # Depth-first order backwards visits children before their parents.
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
