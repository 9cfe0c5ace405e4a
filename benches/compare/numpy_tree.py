"""Exact trees the way they are written in numpy: features sorted once, children keep the order.

By squared error, running sums give all the cuts of all the features in a few calls. By absolute
error, a median runs along each feature between two heaps, forwards and backwards; the loss changes
by what the newcomer lies outside of the two middle values. Cuts fall between distinct values, at
the midpoint, and `<=` goes left, when fitting as when predicting.
"""

from collections.abc import Callable
from heapq import heappush, heappushpop

import numpy as np

from compare.walker import Walker

# Takes the targets in the order of each feature, and says what each cut leaves: the loss, up to a
# constant, of the first 1, 2, … and the rest.
LossesOfCuts = Callable[[np.ndarray], np.ndarray]


def squared_errors(y: np.ndarray) -> np.ndarray:
    """Sums of targets centred on their mean tell all: it is −SL²·n/(nL·nR), as SR = −SL."""
    n = y.shape[1]
    sums = np.cumsum(y - y[0].mean(), axis=1)[:, :-1]
    left = np.arange(1.0, n)
    return -np.square(sums) * (n / (left * (n - left)))


def absolute_errors(y: np.ndarray) -> np.ndarray:
    forwards = np.array([_running_loss(row) for row in y.tolist()])
    backwards = np.array([_running_loss(row[::-1])[::-1] for row in y.tolist()])
    return forwards[:, :-1] + backwards[:, 1:]


def _running_loss(values: list[float]) -> list[float]:
    """The absolute error around the median of the first 1, 2, … values."""
    below, above = [], []  # the lower half, negated: its largest is first; and the upper half
    loss, losses = 0.0, []
    for value in values:
        if below:
            # The two middle values are one and the same when their number is odd.
            small = -below[0]
            large = above[0] if len(above) == len(below) else small
            loss += max(small - value, value - large, 0.0)
        if len(above) == len(below):
            heappush(below, -heappushpop(above, value))
        else:
            heappush(above, -heappushpop(below, -value))
        losses.append(loss)
    return losses


def fit(
    X: np.ndarray,
    y: np.ndarray,
    losses: LossesOfCuts,
    leaf_value: Callable[[np.ndarray], float],
    max_depth: int | None,
    min_samples_leaf: int,
) -> Walker:
    """Grows the tree node by node, each with the order of its rows by every feature."""
    columns = np.ascontiguousarray(X.T, np.float64)
    y = np.asarray(y, np.float64)
    left, right, feature, threshold, answer = [], [], [], [], []
    is_left = np.zeros(len(y), bool)
    # A parent's list of children, the place in it that the node is to take, its orders and depth.
    pending = [(None, np.argsort(columns, axis=1, kind="stable"), 0)]
    while pending:
        place, orders, depth = pending.pop()
        node = len(answer)
        if place is not None:
            siblings, parent = place
            siblings[parent] = node
        left.append(-1)
        right.append(-1)
        feature.append(-1)
        threshold.append(np.nan)
        answer.append(leaf_value(y[orders[0]]))
        if max_depth is not None and depth >= max_depth:
            continue
        cut = _best_cut(columns, y, orders, losses, min_samples_leaf)
        if cut is None:
            continue
        feature[node], rows_left, threshold[node] = cut
        goes_left = orders[feature[node], :rows_left]
        is_left[goes_left] = True
        sides = is_left[orders]
        is_left[goes_left] = False
        # Every feature has the same rows on each side, so that what is picked is a rectangle.
        pending.append(((right, node), orders[~sides].reshape(len(orders), -1), depth + 1))
        pending.append(((left, node), orders[sides].reshape(len(orders), -1), depth + 1))
    return Walker(left, right, feature, threshold, np.array(answer))


def _best_cut(
    columns: np.ndarray,
    y: np.ndarray,
    orders: np.ndarray,
    losses: LossesOfCuts,
    min_samples_leaf: int,
) -> tuple[int, int, float] | None:
    """The feature, how many rows go left, and the threshold; None where nothing can be parted."""
    targets = y[orders]
    if orders.shape[1] < 2 * min_samples_leaf or targets[0].min() == targets[0].max():
        return None
    values = np.take_along_axis(columns, orders, axis=1)
    allowed = values[:, :-1] < values[:, 1:]
    allowed[:, : min_samples_leaf - 1] = False
    allowed[:, allowed.shape[1] - min_samples_leaf + 1 :] = False
    if not allowed.any():
        return None
    best = int(np.argmin(np.where(allowed, losses(targets), np.inf)))
    feature, cut = divmod(best, allowed.shape[1])
    low, high = values[feature, cut], values[feature, cut + 1]
    middle = low / 2 + high / 2
    return feature, cut + 1, float(middle if middle < high else low)
