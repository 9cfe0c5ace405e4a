"""An oracle for splits: exact integers of any size, and none of the project's code.

Targets and weights are float64, so they are integers times a power of two. All sums are exact, in
Python's integers; a gain is a quotient of two integers (squared error, Gini), an integer (absolute
error, quantiles), or a sum of positive terms of such quotients (entropy, Poisson), so that no digit
is lost in a difference. ``python tests/python/oracle.py --nodes 100000`` checks that many nodes of
random fits and prints, for each criterion, how many chose a cut that gains less than another one,
or ended in a leaf although a cut is allowed that gains something. In forests, the rows and weights
of a tree are those of its bag; where features are drawn, a cut is compared with the other cuts of
its own feature.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CRITERIA = ("squared_error", "absolute_error", "quantile", "poisson", "gini", "entropy")
# Rows around the limits of the kernels, and what is checked of such fits: (rows, numbers of
# features, depth of the tree).
SIZES = (2, 3, 5, 9, 15, 16, 17, 18, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300)
SMALL = (SIZES, (1, 2, 3), None)
LARGE = ((2047, 2048, 2049, 4095, 4096, 4097), (1, 2), 3)
# `subtree::max_rows` is 16,384 up to 4 features, 512 with 128 and 256 from 256 on: larger nodes are
# grown level by level. Subtrees number their rows in 16 bits.
HUGE = ((16383, 16384, 16385, 65535, 65536, 65537), (1,), 1)
WIDE = ((255, 256, 257, 511, 512, 513), (128, 256), 1)
WEIGHTS = ("none", "integers", "three decades", "six decades", "twelve decades")
TARGETS = ("integers", "normal", "heavy tails", "offset", "duplicates")
CELLS = ("continuous", "ties", "constant", "extreme", "missing")


# ---- exact numbers -------------------------------------------------------------------------------


def as_integers(numbers):
    """Get integers and the exponent e with number = integer * 2**e."""
    mantissas, exponents = np.frexp(np.asarray(numbers, dtype=np.float64))
    whole = [int(m) for m in np.ldexp(mantissas, 53)]
    used = [int(e) - 53 for e, m in zip(exponents, whole, strict=True) if m]
    least = min(used, default=0)
    shifts = (int(e) - 53 - least for e in exponents)
    return [m << s if m else 0 for m, s in zip(whole, shifts, strict=True)], least


def h(x):
    """(1 + x) ln(1 + x) - x for x >= -1, without cancellation."""
    if x <= -1.0:
        return 1.0
    if abs(x) < 0.05:
        terms = ((-x) ** k / ((k + 1) * (k + 2)) for k in range(16))
        return x * x * math.fsum(terms)
    return (1.0 + x) * math.log1p(x) - x


class PinballSums:
    """The least pinball loss of a growing set of rows, times q, by a binary indexed tree."""

    def __init__(self, y, p, q):
        self.levels, self.p, self.q = sorted(set(y)), p, q
        self.rank = {value: rank + 1 for rank, value in enumerate(self.levels)}
        self.weights, self.sums = [0] * (len(self.levels) + 1), [0] * (len(self.levels) + 1)
        self.weight = self.sum = 0
        self.top = 1 << len(self.levels).bit_length()

    def add(self, y, w):
        self.weight += w
        self.sum += w * y
        rank = self.rank[y]
        while rank < len(self.weights):
            self.weights[rank] += w
            self.sums[rank] += w * y
            rank += rank & -rank

    def loss(self):
        """Find the quantile: the lowest level whose weight up to it is at least p/q of all."""
        place, below, below_sum, step = 0, 0, 0, self.top
        while step:
            following = place + step
            if following < len(self.weights) and (
                self.q * (below + self.weights[following]) < self.p * self.weight
            ):
                place, below = following, below + self.weights[following]
                below_sum += self.sums[following]
            step >>= 1
        t = self.levels[min(place, len(self.levels) - 1)]
        above = (self.sum - below_sum) - t * (self.weight - below)
        return self.p * above + (self.q - self.p) * (t * below - below_sum)


# ---- gains ---------------------------------------------------------------------------------------


@dataclass
class Problem:
    """The rows of one fit, with exact targets and weights."""

    criterion: str
    level: tuple[int, int]
    X: np.ndarray
    y: list[int]
    w: list[int]
    n_classes: int
    min_rows: int
    min_weight: float
    rules: dict

    def gains(self, order):
        """Get (gain, allowed) of each cut of rows in this order, from one row on the left on."""
        if self.criterion in ("gini", "entropy"):
            return self.class_gains(order)
        if self.criterion in ("absolute_error", "quantile"):
            return self.pinball_gains(order)
        return self.mean_gains(order)

    def loss_scale(self, rows):
        """Bound the rounding of the data themselves: the sum of w * |y|, in units of the gains."""
        if self.criterion in ("gini", "entropy"):
            return float(sum(self.w[i] for i in rows))
        total = sum(self.w[i] * abs(self.y[i]) for i in rows)
        if self.criterion == "squared_error":
            # Of a gain with the square of y: twice the rounding of y times its deviation.
            weight, s = sum(self.w[i] for i in rows), sum(self.w[i] * self.y[i] for i in rows)
            spread = sum(self.w[i] * abs(weight * self.y[i] - s) for i in rows)
            return 2 * max(abs(self.y[i]) for i in rows) * spread / weight
        if self.criterion == "poisson":
            return float(total)
        return float(total * max(self.level))

    def mean_gains(self, order):
        weight, value = sum(self.w[i] for i in order), sum(self.w[i] * self.y[i] for i in order)
        w = s = 0
        for i in order[:-1]:
            w, s = w + self.w[i], s + self.w[i] * self.y[i]
            rest, d = weight - w, weight * s - w * value
            if self.criterion == "squared_error":
                yield d * d / (w * rest * weight), w, rest
            elif s == 0 or s == value:
                yield None, w, rest
            else:
                parts = w * h(d / (w * value)) + rest * h(-d / (rest * value))
                yield parts * (value / weight), w, rest

    def class_gains(self, order):
        counts = [0] * self.n_classes
        for i in order:
            counts[self.y[i]] += self.w[i]
        left, w, weight = [0] * self.n_classes, 0, sum(counts)
        present = [k for k in range(self.n_classes) if counts[k]]
        for i in order[:-1]:
            left[self.y[i]] += self.w[i]
            w += self.w[i]
            rest = weight - w
            ds = [(weight * left[k] - w * counts[k], counts[k]) for k in present]
            if self.criterion == "gini":
                yield sum(d * d for d, _ in ds) / (w * rest * weight), w, rest
            else:
                yield (
                    math.fsum(
                        (n / weight) * (w * h(d / (n * w)) + rest * h(-d / (n * rest)))
                        for d, n in ds
                    ),
                    w,
                    rest,
                )

    def pinball_gains(self, order):
        p, q = self.level
        y = [self.y[i] for i in order]

        def running(order):
            sums = PinballSums(y, p, q)
            for i in order:
                sums.add(self.y[i], self.w[i])
                yield sums.loss()

        before, after = list(running(order)), list(running(order[::-1]))[::-1]
        w, weight = 0, sum(self.w[i] for i in order)
        for place, i in enumerate(order[:-1]):
            w += self.w[i]
            yield before[-1] - before[place] - after[place + 1], w, weight - w

    def cuts(self, rows, features=None, went_left=frozenset()):
        """List (gain, clear, chosen) of all allowed cuts of a node by these features.

        A cut is clear if no rounding of weights can forbid it, and chosen if one of its sides has
        the rows that went left.
        """
        for feature in range(self.X.shape[1]) if features is None else features:
            x = self.X[rows, feature]
            known = [rows[k] for k in np.argsort(x, kind="stable") if not np.isnan(x[k])]
            missing = [i for i in rows if np.isnan(self.X[i, feature])]
            orders = [known + missing] + ([missing + known] if missing else [])
            for order in orders:
                cells, n_shared = self.X[order, feature], 0
                for place, (gain, w, rest) in enumerate(self.gains(order), 1):
                    a, b = cells[place - 1], cells[place]
                    n_shared += order[place - 1] in went_left
                    if a == b or (np.isnan(a) and np.isnan(b)) or gain is None:
                        continue
                    if min(place, len(order) - place) < self.min_rows:
                        continue
                    if min(w, rest) < self.min_weight * (1.0 - 1e-9):
                        continue
                    is_clear = min(w, rest) >= self.min_weight * (1.0 + 1e-9)
                    is_left = n_shared == place == len(went_left)
                    is_right = n_shared == 0 and place == len(order) - len(went_left)
                    yield gain, is_clear, is_left or is_right


# ---- random fits ---------------------------------------------------------------------------------


def draw_problem(rng, sizes, widths):
    n, n_features = int(rng.choice(sizes)), int(rng.choice(widths))
    kinds = {
        "criterion": rng.choice(CRITERIA),
        "weights": rng.choice(WEIGHTS),
        "targets": rng.choice(TARGETS),
        "cells": rng.choice(CELLS),
    }
    X = rng.normal(size=(n, n_features))
    if kinds["cells"] == "ties":
        X = np.round(X)
    elif kinds["cells"] == "constant":
        X[:, 0] = 0.0
    elif kinds["cells"] == "extreme":
        X = np.sign(X) * 10.0 ** (300 * np.abs(np.tanh(X)))
        X[rng.random(X.shape) < 0.05] = np.inf
        X[rng.random(X.shape) < 0.05] = -np.inf
    elif kinds["cells"] == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
    y = {
        "integers": lambda: rng.integers(0, 9, n).astype(float),
        "normal": lambda: rng.normal(size=n),
        "heavy tails": lambda: rng.standard_cauchy(n) ** 3,
        "offset": lambda: 1e6 + rng.normal(size=n),
        "duplicates": lambda: rng.choice([0.1, 0.7, 3.3], n),
    }[kinds["targets"]]()
    n_classes = 0
    if kinds["criterion"] in ("gini", "entropy"):
        n_classes = int(rng.choice([2, 3, 5]))
        y = rng.integers(0, n_classes, n)
        if rng.random() < 0.5:
            # Nodes that are nearly pure.
            y = np.where(rng.random(n) < 0.9, np.nan_to_num(X[:, 0]) > 0.3, y)
        y = np.unique(y, return_inverse=True)[1]
        n_classes = int(y.max()) + 1
    elif kinds["criterion"] == "poisson":
        y = np.abs(y)
        y[rng.random(n) < 0.2] = 0.0
        y[0] = 1.0
    weight = {
        "none": lambda: None,
        "integers": lambda: rng.integers(1, 6, n).astype(float),
        "three decades": lambda: 10.0 ** rng.uniform(-1.5, 1.5, n),
        "six decades": lambda: 10.0 ** rng.uniform(-3, 3, n),
        "twelve decades": lambda: 10.0 ** rng.uniform(-6, 6, n),
    }[kinds["weights"]]()
    rules = {}
    if rng.random() < 0.4:
        rules["min_samples_leaf"] = int(rng.integers(1, 6))
    if rng.random() < 0.2:
        rules["min_weight_fraction_leaf"] = float(rng.uniform(0, 0.3))
    if rng.random() < 0.2:
        rules["min_samples_split"] = int(rng.integers(2, 40))
    if rng.random() < 0.2:
        rules["max_depth"] = int(rng.integers(1, 12))
    return kinds, X, y, weight, n_classes, rules


def check_fit(rng, sizes, widths, depth):
    """Fit one random problem; yield, for each node that is checked, how it compares."""
    kinds, X, y, weight, n_classes, rules = draw_problem(rng, sizes, widths)
    criterion = str(kinds["criterion"])
    level = (1, 2)
    rules["max_depth"] = min(rules.get("max_depth", 10**6), depth or 10**6)
    settings = dict(rules, criterion=criterion, n_jobs=int(rng.integers(1, 4)))
    if criterion == "quantile":
        level = ((1, 10), (1, 4), (9, 10))[int(rng.integers(3))]
        settings["quantile"] = level[0] / level[1]
    exact_y = [int(k) for k in y] if n_classes else as_integers(y)[0]

    def problem(w):
        share = rules.get("min_weight_fraction_leaf", 0.0)
        least = rules.get("min_samples_leaf", 1)
        weight = share * float(sum(w))
        return Problem(criterion, level, X, exact_y, w, n_classes, least, weight, rules)

    if rng.random() < 0.8:
        kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
        model = kind(**settings).fit(X, y, weight)
        w = [1] * len(y) if weight is None else as_integers(weight)[0]
        for verdict in check_tree(problem(w), model, list(range(len(y))), False):
            yield kinds, *verdict
        return
    drawn = int(rng.integers(1, X.shape[1] + 1))
    settings |= {"n_estimators": 3, "max_features": drawn, "random_state": int(rng.integers(99))}
    settings["bootstrap"] = bool(rng.random() < 0.8)
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = kind(**settings).fit(X, y, weight if settings["bootstrap"] else None)
    kinds = kinds | {"weights": "a bag"}
    for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(bag, minlength=len(y))
        own_feature = drawn < X.shape[1]
        w = [int(count) for count in counts]
        rows = [int(i) for i in np.flatnonzero(counts)]
        for verdict in check_tree(problem(w), tree, rows, own_feature):
            yield kinds, *verdict


def check_tree(problem, model, rows, own_feature):
    """Yield (rows, gain of the split, highest gain, size of the data) of each node.

    The gain of a leaf is 0. Leaves that a rule or a draw of features may have made are left out.
    """
    tree = model.tree_
    path = model.decision_path(problem.X[rows]).tocsc()
    depths, least = tree.compute_node_depths() - 1, problem.rules.get("min_samples_split", 2)
    for node in range(tree.node_count):
        here = [rows[int(k)] for k in path[:, node].indices]
        if tree.children_left[node] < 0:
            if own_feature or len(here) < least or depths[node] >= problem.rules["max_depth"]:
                continue
            best = max((gain for gain, is_clear, _ in problem.cuts(here) if is_clear), default=0)
            yield len(here), 0, best, problem.loss_scale(here)
            continue
        went_left = frozenset(rows[int(k)] for k in path[:, int(tree.children_left[node])].indices)
        features = [int(tree.feature[node])] if own_feature else None
        found = list(problem.cuts(here, features, went_left))
        chosen = max((gain for gain, _, is_chosen in found if is_chosen), default=None)
        best = max((gain for gain, is_clear, _ in found if is_clear), default=0)
        yield len(here), chosen, best, problem.loss_scale(here)


def judge(chosen, best, scale, criterion):
    """Name how a choice compares with the best one."""
    if chosen is None:
        return "not a cut"
    short = float(best - chosen)
    if short <= 0:
        return "best"
    if short <= 1e-10 * float(best):
        return "tie"
    # A few roundings of each target or weight: what the data themselves leave open. Gains of
    # medians and quantiles are known to 2**-42 of the deviations: docs/reliability.md.
    is_ranked = criterion in ("absolute_error", "quantile")
    return "rounding" if short <= (2.0**-42 if is_ranked else 2.0**-50) * scale else "worse"


def explore(n_nodes, seed, fits=SMALL, report=None):
    """Check at least this many nodes of such fits; count verdicts by criterion, weights, target."""
    rng = np.random.default_rng(seed)
    verdicts, worst, done = Counter(), {}, 0
    while done < n_nodes:
        for kinds, n_rows, chosen, best, scale in check_fit(rng, *fits):
            done += 1
            verdict = judge(chosen, best, scale, str(kinds["criterion"]))
            key = (str(kinds["criterion"]), str(kinds["weights"]), str(kinds["targets"]))
            verdicts[(*key, verdict)] += 1
            if verdict in ("worse", "not a cut"):
                short = float(best - (chosen or 0)) / float(best or 1)
                seen = worst.get(key, (0.0,))[0]
                worst[key] = max(
                    (seen, *worst.get(key, ())[1:]), (short, n_rows, float(best), scale)
                )
        if report is not None:
            report(done)
    return verdicts, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=0, help="nodes of up to 4,097 rows")
    parser.add_argument("--huge", type=int, default=0, help="nodes of up to 65,537 rows")
    parser.add_argument("--wide", type=int, default=0, help="nodes of 128 and 256 features")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = np.random.SeedSequence().entropy % 2**32 if args.seed is None else args.seed
    print(f"seed {seed}")
    runs = ((args.nodes, SMALL), (args.large, LARGE), (args.huge, HUGE), (args.wide, WIDE))
    verdicts, worst = Counter(), {}
    for n_nodes, fits in runs:
        more, other = explore(n_nodes, seed, fits)
        verdicts, worst = verdicts + more, worst | other
    for criterion in CRITERIA:
        counts = Counter()
        for key, count in verdicts.items():
            counts[key[-1]] += count if key[0] == criterion else 0
        counts = {name: count for name, count in counts.items() if count}
        print(f"{criterion:15}", ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    for key, (short, n_rows, best, scale) in sorted(worst.items()):
        print(
            f"  {', '.join(key)}: {short:.1e} of the best gain lost in a node of {n_rows} rows, "
            f"whose best gain is {best / scale:.1e} of the size of its data"
        )
    return int(bool(worst))


if __name__ == "__main__":
    sys.exit(main())
