"""The training rows of each leaf of a forest, and quantiles of their targets.

A row that a tree's bag has several times is in its leaf several times. The rows of all leaves of
all trees stand in one array, leaf after leaf and tree after tree; a prediction collects those of
the leaves that it reaches, and sorts them by the rank of their target::

    leaves of a row   7 in tree 0, 4 in tree 1, …
    its rows          [5 9 9 | 5 2 | …]            numbers of training rows
    their ranks       [0 3 3 | 0 1 | …]            sorted: [0 0 1 3 3 …]

The cost is that of a sort of all entries that a prediction collects, in chunks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._bags import Counts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]
RankKind = Literal["rank", "weak", "strict", "mean"]

# Entries that are collected at the same time.
_ENTRIES_PER_CHUNK = 1 << 22


@dataclass(frozen=True)
class Groups:
    """Collected training rows in groups, which ascend by the rank of their target."""

    # The first entry of each group, and the number behind the last one.
    ends: Ints
    ranks: Ints
    # None if every entry counts 1.
    weights: Floats | None

    @property
    def sizes(self) -> Ints:
        return np.diff(self.ends)


@dataclass(frozen=True)
class ForestLeaves:
    """The training rows of the leaves, and the order of their targets."""

    # The rows of node i are at indptr[i]:indptr[i + 1]; the nodes of all trees are numbered on.
    indptr: Ints
    rows: NDArray[np.int32]
    # Number of the first node of each tree.
    first: Ints
    # Per output, the targets in ascending order, and the place of each training row in it.
    y: Floats
    ranks: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        forest: _core.Forest,
        counts: list[Callable[[], Counts]],
        seeds: list[int],
        X: Any,
        y: Floats,
        max_samples_leaf: float | None,
        n_jobs: int | None,
    ) -> ForestLeaves:
        """Group the training rows by leaf; ``y`` has a column per output."""
        limit = _rows_per_leaf(max_samples_leaf, len(y))
        sizes, rows = [], []
        for number, (counts_of, seed) in enumerate(zip(counts, seeds, strict=True)):
            tree = forest.tree(number)
            members = np.repeat(np.arange(len(y), dtype=np.int32), counts_of())
            leaves = tree.apply(X, n_jobs)[members]
            order = _by_leaf(leaves, limit, seed)
            rows.append(members[order])
            sizes.append(np.bincount(leaves[order], minlength=tree.node_count))
        return cls.of_rows(np.concatenate(sizes), np.concatenate(rows), forest.node_counts, y)

    @classmethod
    def of_rows(
        cls, sizes: NDArray[Any], rows: NDArray[Any], node_counts: Ints, y: Floats
    ) -> ForestLeaves:
        """Rank the targets, given the number of rows of each node, and the rows."""
        order = np.argsort(y, axis=0, kind="stable")
        ranks = np.empty_like(order, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(len(y), dtype=np.int32)[:, None], axis=0)
        return cls(
            indptr=np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
            rows=rows.astype(np.int32, copy=False),
            first=np.cumsum(node_counts) - node_counts,
            y=np.ascontiguousarray(np.take_along_axis(y, order, axis=0).T),
            ranks=np.ascontiguousarray(ranks.T),
        )

    def parts(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Floats]:
        """Get what a file holds: `sizes`, `rows` and ``y`` of `of_rows`."""
        y = np.take_along_axis(self.y, self.ranks.astype(np.int64), axis=1).T
        sizes = np.diff(self.indptr).astype(np.uint32)
        return sizes, self.rows.astype(np.uint32), np.ascontiguousarray(y)

    def in_core(self, forest: _core.Forest) -> list[_core.LeafTargets]:
        """Hand the targets to the core, an entry per output."""
        ends = np.append(self.first, len(self.indptr) - 1)
        # Where the rows of each node begin, and the end of the last one, counted within its tree.
        starts = [self.indptr[a : b + 1] - self.indptr[a] for a, b in pairwise(ends)]
        made = []
        for y, ranks in zip(self.y, self.ranks, strict=True):
            in_leaves = ranks[self.rows].astype(np.uint32)
            of_nodes = np.concatenate(starts).astype(np.uint32)
            made.append(_core.LeafTargets(forest, y, of_nodes, in_leaves))
        return made

    def join(self, other: ForestLeaves) -> ForestLeaves:
        """Append the trees and the training rows of another forest."""
        pair = (self, other)
        firsts = [np.append(one.first, len(one.indptr) - 1) for one in pair]
        shifted = other.rows + np.int32(self.ranks.shape[1])
        return ForestLeaves.of_rows(
            np.concatenate([np.diff(one.indptr) for one in pair]),
            np.concatenate([self.rows, shifted]),
            np.concatenate([np.diff(first) for first in firsts]),
            np.concatenate([one.parts()[2] for one in pair]),
        )

    def quantiles(
        self,
        leaves: Ints,
        mask: NDArray[np.bool_] | None,
        levels: Floats | None,
        interpolation: Interpolation,
        weighted_leaves: bool,
        together: bool,
    ) -> Floats:
        """Get quantiles with axes for rows, outputs and levels; means if there are no levels.

        ``mask`` says which trees count for a row. ``together`` collects the rows of all trees;
        otherwise each tree has its own quantiles, of which the means are taken.
        """
        n_levels = 1 if levels is None else len(levels)
        found = np.empty((len(leaves), len(self.y), n_levels))
        for part, members, sizes in self._chunks(leaves, mask):
            for output, y in enumerate(self.y):
                groups = self._groups(members, sizes, output, weighted_leaves, together)
                if levels is None:
                    each = _means(groups, y)[:, None]
                elif groups.weights is None:
                    each = _quantiles(groups, y, levels, interpolation)
                else:
                    each = _weighted_quantiles(groups, y, levels, interpolation)
                found[part, output] = _over_trees(each, len(sizes), together)
        return found

    def shares_below(
        self,
        leaves: Ints,
        mask: NDArray[np.bool_] | None,
        scores: Floats,
        kind: RankKind,
        together: bool,
    ) -> Floats:
        """Get the share of collected targets below a score, with axes for rows and outputs."""
        found = np.empty(scores.shape)
        for part, members, sizes in self._chunks(leaves, mask):
            for output, y in enumerate(self.y):
                groups = self._groups(members, sizes, output, False, together)
                score = np.repeat(scores[part, output], 1 if together else sizes.shape[1])
                each = _shares_below(groups, y, score, kind)[:, None]
                found[part, output] = _over_trees(each, len(sizes), together)[:, 0]
        return found

    def counts(self, leaves: Ints, mask: NDArray[np.bool_] | None) -> Iterator[tuple[Ints, Ints]]:
        """Get, for each row, the training rows in its leaves and how often they are there."""
        for _, members, sizes in self._chunks(leaves, mask):
            ends = np.concatenate(([0], np.cumsum(sizes.sum(axis=1))))
            for start, end in pairwise(ends):
                yield np.unique(members[start:end].astype(np.int64), return_counts=True)

    def _chunks(
        self, leaves: Ints, mask: NDArray[np.bool_] | None
    ) -> Iterator[tuple[slice, NDArray[np.int32], Ints]]:
        """Collect training rows for some rows at a time, and their number per row and tree."""
        nodes = leaves + self.first
        sizes = self.indptr[nodes + 1] - self.indptr[nodes]
        if mask is not None:
            sizes = np.where(mask, sizes, 0)
        ends = np.cumsum(sizes.sum(axis=1))
        start = 0
        while start < len(leaves):
            taken = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, taken + _ENTRIES_PER_CHUNK)))
            part = slice(start, stop)
            places = _ranges(self.indptr[nodes[part]].ravel(), sizes[part].ravel())
            yield part, self.rows[places], sizes[part]
            start = stop

    def _groups(
        self,
        members: NDArray[np.int32],
        sizes: Ints,
        output: int,
        weighted_leaves: bool,
        together: bool,
    ) -> Groups:
        """Sort collected rows by the rank of their target: per row, or per row and tree."""
        of_groups = sizes.sum(axis=1) if together else sizes.ravel()
        group = np.repeat(np.arange(len(of_groups)), of_groups)
        n = len(self.ranks[output])
        keys = group * n + self.ranks[output][members]
        ends = np.concatenate(([0], np.cumsum(of_groups)))
        if not weighted_leaves:
            keys.sort()
            return Groups(ends, keys - group * n, None)
        weights = np.repeat(_weights_of_leaves(sizes).ravel(), sizes.ravel())
        order = np.argsort(keys, kind="stable")
        # A row that was collected several times is one entry with the sum of its weights.
        distinct, starts = np.unique(keys[order], return_index=True)
        merged = np.add.reduceat(weights[order], starts) if len(starts) else weights
        ends = np.searchsorted(distinct, np.arange(len(of_groups) + 1) * n)
        return Groups(ends, distinct % n, merged)


def _rows_per_leaf(max_samples_leaf: Any, n_rows: int) -> int | None:
    if max_samples_leaf is None:
        return None
    if isinstance(max_samples_leaf, Integral) and int(max_samples_leaf) >= 1:
        return int(max_samples_leaf)
    if isinstance(max_samples_leaf, float) and 0.0 < max_samples_leaf <= 1.0:
        return ceil(max_samples_leaf * n_rows)
    raise ValueError(
        "max_samples_leaf: must be None, an integer of at least 1 or a float above 0 and up to 1, "
        f"got {max_samples_leaf!r}"
    )


def _by_leaf(leaves: Ints, limit: int | None, seed: int) -> NDArray[np.intp]:
    """Get an order by leaf, with at most ``limit`` random entries per leaf."""
    if limit is None:
        return np.argsort(leaves, kind="stable")
    order = np.lexsort((np.random.default_rng(seed).random(len(leaves)), leaves))
    by_leaf = leaves[order]
    place = np.arange(len(order)) - np.searchsorted(by_leaf, by_leaf)
    kept: NDArray[np.intp] = order[place < limit]
    return kept


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Get ``starts[0], starts[0] + 1, …`` for as many numbers as ``sizes[0]`` says, and so on."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    places: Ints = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return places


def _weights_of_leaves(sizes: Ints) -> Floats:
    """Get weights in inverse proportion to the size of a leaf; those of a row sum to its size."""
    n_trees = np.maximum((sizes > 0).sum(axis=1, keepdims=True), 1)
    weights: Floats = sizes.sum(axis=1, keepdims=True) / n_trees / np.maximum(sizes, 1)
    return weights


def _over_trees(each: Floats, n_rows: int, together: bool) -> Floats:
    """Get the means over the trees that have any rows; NaN if no tree has."""
    if together:
        return each
    of_trees = each.reshape(n_rows, -1, each.shape[1])
    known = ~np.isnan(of_trees[:, :, :1])
    total = np.where(known, of_trees, 0.0).sum(axis=1)
    n_known = known.sum(axis=1)
    return np.where(n_known > 0, total / np.maximum(n_known, 1), np.nan)


def _means(groups: Groups, y: Floats) -> Floats:
    n = len(groups.sizes)
    group = np.repeat(np.arange(n), groups.sizes)
    weights = np.ones(len(group)) if groups.weights is None else groups.weights
    totals = np.bincount(group, weights, minlength=n)
    sums = np.bincount(group, weights * y[groups.ranks], minlength=n)
    return np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), np.nan)


def _quantiles(groups: Groups, y: Floats, levels: Floats, interpolation: Interpolation) -> Floats:
    """Get quantiles at the places ``level * (n - 1)`` of each group, with a column per level."""
    sizes = groups.sizes
    is_empty = sizes == 0
    place = np.where(is_empty, 0, sizes - 1)[:, None] * levels
    below = np.floor(place).astype(np.int64)
    above = np.ceil(place).astype(np.int64)
    if len(groups.ranks) == 0:
        return np.full(place.shape, np.nan)
    first = np.where(is_empty, 0, groups.ends[:-1])[:, None]
    low, high = y[groups.ranks[first + below]], y[groups.ranks[first + above]]
    found = _between(low, high, place - below, interpolation, below % 2 == 0)
    return np.where(is_empty[:, None], np.nan, found)


def _weighted_quantiles(
    groups: Groups, y: Floats, levels: Floats, interpolation: Interpolation
) -> Floats:
    """Get quantiles of weighted entries, with a column per level.

    Let W be the total weight of a group, and C the weights up to an entry, inclusive. If all
    weights are whole numbers, the result is that of `_quantiles` with each entry repeated: the
    level q is at the place p = q (W - 1) + 1 of C, between the last entry with C <= p and the next.
    """
    sizes, weights = groups.sizes, groups.weights
    assert weights is not None
    found = np.full((len(sizes), len(levels)), np.nan)
    if len(weights) == 0:
        return found
    group = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    # Sums within the group.
    upto = sums[1:] - sums[groups.ends[:-1]][group]
    filled = np.flatnonzero(sizes)
    first, last = groups.ends[:-1][filled], groups.ends[1:][filled] - 1
    spread = upto[last] - 1.0
    for column, level in enumerate(levels):
        place = np.zeros(len(sizes))
        place[filled] = level * spread + 1.0
        # A sum of weights that would be whole without rounding counts as whole.
        passed = np.bincount(group, upto <= place[group] + 1e-9, minlength=len(sizes))[filled]
        low = np.clip(first + passed.astype(np.int64) - 1, first, last)
        high = np.minimum(low + 1, last)
        start = np.minimum(level * spread, upto[low] - 1.0)
        width = np.maximum(level * spread, upto[high] - 1.0) - start
        width = np.where(high > low, width / weights[high], 1.0)
        share = (level * spread - start) / np.where(width > 0.0, width, 1.0)
        share = np.where(passed > 0, np.clip(share, 0.0, 1.0), 0.0)
        is_even = np.floor(upto[low] + 1e-9) % 2 == 1
        found[filled, column] = _between(
            y[groups.ranks[low]], y[groups.ranks[high]], share, interpolation, is_even
        )
    return found


def _between(
    low: Floats,
    high: Floats,
    share: Floats,
    interpolation: Interpolation,
    is_even: NDArray[np.bool_],
) -> Floats:
    """Get the value at a share of the way; of two equally near values, that of the even place."""
    check_interpolation(interpolation)
    inside = (share > 0.0) & (share < 1.0)
    match interpolation:
        case "linear":
            return low + share * (high - low)
        case "lower":
            return np.where(share < 1.0, low, high)
        case "higher":
            return np.where(share > 0.0, high, low)
        case "midpoint":
            return np.where(inside, 0.5 * (low + high), np.where(share < 1.0, low, high))
        case _:
            return np.where((share < 0.5) | ((share == 0.5) & is_even), low, high)


def check_interpolation(interpolation: object) -> None:
    """Check the name of an interpolation."""
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(
            'interpolation: must be "linear", "lower", "higher", "midpoint" or "nearest", got '
            f"{interpolation!r}"
        )


def _shares_below(groups: Groups, y: Floats, score: Floats, kind: RankKind) -> Floats:
    n = len(groups.sizes)
    group = np.repeat(np.arange(n), groups.sizes)
    values = y[groups.ranks]
    less: Floats = np.bincount(group, values < score[group], minlength=n).astype(np.float64)
    upto: Floats = np.bincount(group, values <= score[group], minlength=n).astype(np.float64)
    match kind:
        case "rank":
            counted: Floats = 0.5 * (less + upto + (upto > less))
        case "weak":
            counted = upto
        case "strict":
            counted = less
        case "mean":
            counted = 0.5 * (less + upto)
        case _:
            raise ValueError(f'kind: must be "rank", "weak", "strict" or "mean", got {kind!r}')
    sizes = groups.sizes
    return np.where(sizes > 0, counted / np.maximum(sizes, 1), np.nan)
