"""A slow reference for greedy trees.

It scores every possible split of a node from its rows, by the definition of the loss, in exact
fractions where the loss is rational.
"""

import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple


class Candidate(NamedTuple):
    """A possible split of a node."""

    loss: Fraction | float
    feature: int
    below: float  # largest value that goes left
    above: float  # smallest value that goes right; NaN if only missing values do
    left: frozenset[int]


def squared_error(targets, weights):
    total = sum(weights)
    mean = sum(w * y for w, y in zip(weights, targets, strict=True)) / total
    return sum(w * (y - mean) ** 2 for w, y in zip(weights, targets, strict=True))


def class_weights(targets, weights):
    return [
        sum(w for w, y in zip(weights, targets, strict=True) if y == c)
        for c in sorted(set(targets))
    ]


def gini(targets, weights):
    total = sum(weights)
    return total - sum(w * w for w in class_weights(targets, weights)) / total


def entropy(targets, weights):
    total = sum(weights)
    return -sum(w * math.log2(w / total) for w in class_weights(targets, weights))


def level_of(quantile):
    """The fraction that a float stands for: 0.7 is 7/10."""
    return Fraction(quantile).limit_denominator(2**30)


def quantile_ends(targets, weights, level):
    """The lowest and the highest target that are quantiles.

    At most the level's share of the weight is strictly below, at most the rest strictly above.
    """
    total = sum(weights)

    def is_quantile(q):
        below = sum(w for w, y in zip(weights, targets, strict=True) if y < q)
        above = sum(w for w, y in zip(weights, targets, strict=True) if y > q)
        return below <= level * total and above <= (1 - level) * total

    ends = [y for y in targets if is_quantile(y)]
    return min(ends), max(ends)


def quantile_of(targets, weights, level):
    """The midpoint of all values that are quantiles."""
    lower, upper = quantile_ends(targets, weights, level)
    return (lower + upper) / 2


def pinball_loss(targets, weights, level):
    q = quantile_of(targets, weights, level)
    return sum(
        w * (level * (y - q) if y > q else (1 - level) * (q - y))
        for w, y in zip(weights, targets, strict=True)
    )


def absolute_error(targets, weights):
    return 2 * pinball_loss(targets, weights, Fraction(1, 2))


# Each is the total over the node's weight, not the average.
LOSSES = {
    "squared_error": squared_error,
    "absolute_error": absolute_error,
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
}


class Judge:
    """The training data and the rules of one fit."""

    def __init__(
        self,
        X,
        y,
        weights,
        criterion,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        quantile=0.5,
    ):
        self.X = [[float(x) for x in row] for row in X]
        self.y = [Fraction(value) for value in y]
        self.weights = [Fraction(w) for w in weights]
        self.criterion = criterion
        self.level = level_of(quantile)
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = Fraction(min_weight_fraction_leaf) * sum(self.weights)

    def rows(self):
        """The rows whose weight is not zero."""
        return frozenset(i for i, w in enumerate(self.weights) if w > 0)

    def weight(self, rows):
        return sum(self.weights[i] for i in rows)

    def loss(self, rows):
        y, weights = self.targets(rows)
        if self.criterion == "quantile":
            return pinball_loss(y, weights, self.level)
        return LOSSES[self.criterion](y, weights)

    def targets(self, rows):
        order = sorted(rows)
        return [self.y[i] for i in order], [self.weights[i] for i in order]

    def value(self, rows):
        """The value of a leaf of a regression tree."""
        if self.criterion == "squared_error":
            return sum(self.weights[i] * self.y[i] for i in rows) / self.weight(rows)
        level = self.level if self.criterion == "quantile" else Fraction(1, 2)
        return quantile_of(*self.targets(rows), level)

    def ranks_targets(self):
        """Whether the loss is that around a median or a quantile."""
        return self.criterion in ("absolute_error", "quantile")

    def is_pure(self, rows):
        return len({self.y[i] for i in rows}) == 1

    def allows(self, rows):
        enough_rows = len(rows) >= self.min_samples_leaf
        return enough_rows and self.weight(rows) >= self.min_weight_leaf

    def candidates(self, rows):
        """Every allowed split, lowest feature first, then lowest threshold."""
        for feature in range(len(self.X[0])):
            for below, above, left in self.cuts(rows, feature):
                right = rows - left
                if self.allows(left) and self.allows(right):
                    loss = self.loss(left) + self.loss(right)
                    yield Candidate(loss, feature, below, above, left)

    def cuts(self, rows, feature):
        """Cuts between distinct values, missing values on either side, or missing values alone."""
        x = {i: self.X[i][feature] for i in rows}
        missing = frozenset(i for i in rows if math.isnan(x[i]))
        present = rows - missing
        values = sorted({x[i] for i in present})
        for below, above in pairwise(values):
            left = frozenset(i for i in present if x[i] <= below)
            yield below, above, left
            if missing:
                yield below, above, left | missing
        if missing and present:
            yield values[-1], math.nan, present


def midpoint(below, above):
    """The threshold between two finite neighbours: their midpoint, if it separates them."""
    middle = float((Fraction(below) + Fraction(above)) / 2)
    return middle if below <= middle < above else below
