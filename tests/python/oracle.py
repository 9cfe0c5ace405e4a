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
from dataclasses import dataclass, field

import numpy as np

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CRITERIA = ("squared_error", "absolute_error", "quantile", "poisson", "gini", "entropy")
WEIGHTS = ("none", "integers", "three decades", "six decades", "twelve decades")
TARGETS = ("integers", "normal", "heavy tails", "offset", "duplicates")
CELLS = ("continuous", "ties", "constant", "extreme", "missing", "few", "mixed")
# A tree is checked in all nodes of more than 16 rows, and in this many of the smaller ones.
TINY_NODES = 60


@dataclass(frozen=True)
class Fits:
    """Fits to try: rows around the limits of the kernels, numbers of features, what is fixed."""

    rows: tuple[int, ...]
    widths: tuple[int, ...]
    depth: int | None = None
    fixed: dict = field(default_factory=dict)


SIZES = (2, 3, 5, 9, 15, 16, 17, 18, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300)
SMALL = Fits(SIZES, (1, 2, 3))
LARGE = Fits((2047, 2048, 2049, 4095, 4096, 4097), (1, 2), 3)
# `subtree::max_rows` is 16,384 up to 4 features, 512 with 128 and 256 from 256 on: larger nodes are
# grown level by level. Subtrees number their rows in 16 bits.
HUGE = Fits((16383, 16384, 16385, 65535, 65536, 65537), (1, 2), 1)
WIDE = Fits((255, 256, 257, 511, 512, 513), (128, 256), 1)
# Larger nodes of whole targets without weights count columns of few distinct values by their codes.
CODED = Fits(
    (257, 513, 520, 1025, 1100),
    (64, 128, 256),
    4,
    {
        "criterion": ("squared_error", "poisson", "gini", "entropy"),
        "weights": "none",
        "targets": "integers",
        "cells": ("few", "mixed", "ties"),
    },
)


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
    min_gain: float
    rules: dict
    unit: float = 1.0  # of y

    def gains(self, order, is_cut):
        """Get (gain, weights of both sides, their values) of cuts of rows in this order.

        ``is_cut`` says for each row but the last whether rows may be cut behind it. The gain is
        None if the criterion allows no such cut. Values are what monotonic constraints apply to.
        """
        if self.criterion in ("gini", "entropy"):
            return self.class_gains(order, is_cut)
        if self.criterion in ("absolute_error", "quantile"):
            return self.pinball_gains(order, is_cut)
        return self.mean_gains(order, is_cut)

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

    def mean_gains(self, order, is_cut):
        weight, value = sum(self.w[i] for i in order), sum(self.w[i] * self.y[i] for i in order)
        w = s = 0
        for i, is_cut_here in zip(order, is_cut, strict=False):
            w, s = w + self.w[i], s + self.w[i] * self.y[i]
            if not is_cut_here:
                continue
            rest, d = weight - w, weight * s - w * value
            values = (s / w * self.unit, (value - s) / rest * self.unit)
            if self.criterion == "squared_error":
                gain = d * d / (w * rest * weight)
            elif s == 0 or s == value:
                gain = None
            else:
                parts = w * h(d / (w * value)) + rest * h(-d / (rest * value))
                gain = parts * (value / weight)
            yield gain, (w, rest), values

    def class_gains(self, order, is_cut):
        counts = [0] * self.n_classes
        for i in order:
            counts[self.y[i]] += self.w[i]
        left, w, weight = [0] * self.n_classes, 0, sum(counts)
        present = [k for k in range(self.n_classes) if counts[k]]
        for i, is_cut_here in zip(order, is_cut, strict=False):
            left[self.y[i]] += self.w[i]
            w += self.w[i]
            if not is_cut_here:
                continue
            rest = weight - w
            ds = [(weight * left[k] - w * counts[k], counts[k]) for k in present]
            values = (left[-1] / w, (counts[-1] - left[-1]) / rest)
            if self.criterion == "gini":
                gain = sum(d * d for d, _ in ds) / (w * rest * weight)
            else:
                gain = math.fsum(
                    (n / weight) * (w * h(d / (n * w)) + rest * h(-d / (n * rest))) for d, n in ds
                )
            yield gain, (w, rest), values

    def pinball_gains(self, order, is_cut):
        p, q = self.level
        y = [self.y[i] for i in order]

        def running(order, is_cut):
            sums = PinballSums(y, p, q)
            for i, is_cut_here in zip(order, [*is_cut, True], strict=True):
                sums.add(self.y[i], self.w[i])
                if is_cut_here:
                    yield sums.loss()

        before, after = list(running(order, is_cut)), list(running(order[::-1], is_cut[::-1]))
        losses = zip(before[:-1], after[-2::-1], strict=True)
        w, weight = 0, sum(self.w[i] for i in order)
        for i, is_cut_here in zip(order, is_cut, strict=False):
            w += self.w[i]
            if is_cut_here:
                yield before[-1] - sum(next(losses)), (w, weight - w), None

    def cuts(self, rows, features=None, went_left=frozenset(), ends=(-math.inf, math.inf)):
        """List (gain, clear, chosen) of all allowed cuts of a node by these features.

        A cut is clear if no rounding of weights or values can forbid it, and chosen if one of its
        sides has the rows that went left. Monotonic constraints leave values between the ends.
        """
        total = sum(self.w[i] for i in rows)
        largest = 1 if self.n_classes else max(abs(self.y[i]) for i in rows) * self.unit
        for feature in range(self.X.shape[1]) if features is None else features:
            sign = self.rules.get("monotonic_cst", {feature: 0})[feature]
            x = self.X[rows, feature]
            known = [rows[k] for k in np.argsort(x, kind="stable") if not np.isnan(x[k])]
            missing = [i for i in rows if np.isnan(self.X[i, feature])]
            orders = [known + missing] + ([missing + known] if missing else [])
            for order in orders:
                a, b = self.X[order[:-1], feature], self.X[order[1:], feature]
                is_cut = (a != b) & ~(np.isnan(a) & np.isnan(b))
                is_cut[: self.min_rows - 1] = False
                is_cut[max(len(order) - self.min_rows, 0) :] = False
                shared = np.cumsum([i in went_left for i in order])
                places = np.flatnonzero(is_cut) + 1
                gains = self.gains(order, is_cut.tolist())
                for place, (gain, weights, values) in zip(places.tolist(), gains, strict=True):
                    n_shared = shared[place - 1]
                    room = order_room(sign, values, ends) if sign else math.inf
                    # Sums are known to a share of those of the node.
                    doubt = largest * (1e-9 + 2.0**-45 * total / min(weights)) if sign else 0.0
                    if gain is None or room < -doubt:
                        continue
                    if min(weights) < self.min_weight * (1.0 - 1e-9):
                        continue
                    is_clear = min(weights) >= self.min_weight * (1.0 + 1e-9)
                    # Missing values alone count as the highest ones.
                    is_first = sign != 0 and order is orders[-1] and place == len(missing) > 0
                    is_clear = is_clear and room > doubt and not is_first
                    is_left = n_shared == place == len(went_left)
                    is_right = n_shared == 0 and place == len(order) - len(went_left)
                    yield gain, is_clear, is_left or is_right


def order_room(sign, values, ends):
    """By how much values could move before they break a monotonic constraint."""
    (low, high), (left, right) = ends, values if sign > 0 else values[::-1]
    return min(left - low, right - left, high - right)


# ---- random fits ---------------------------------------------------------------------------------


def draw_column(rng, kind, n):
    x = rng.normal(size=n)
    if kind == "ties":
        return np.round(x)
    if kind == "constant":
        return np.zeros(n)
    if kind == "extreme":
        x = np.sign(x) * 10.0 ** (300 * np.abs(np.tanh(x)))
        x[rng.random(n) < 0.05] = np.inf
        x[rng.random(n) < 0.05] = -np.inf
    elif kind == "few":
        # From two values to about as many as rows; zeros have both signs.
        n_values = int(rng.choice([2, 3, 12, 40, max(n // 2, 2), n]))
        x = np.round(x * n_values / 3) * rng.choice([1.0, 0.1])
        x[rng.random(n) < 0.02] = rng.choice([np.inf, -np.inf])
    if kind == "missing" or (kind != "continuous" and rng.random() < 0.3):
        x[rng.random(n) < rng.choice([0.02, 0.15, 0.6])] = np.nan
    return x


def draw_problem(rng, fits):
    n, n_features = int(rng.choice(fits.rows)), int(rng.choice(fits.widths))
    axes = {"criterion": CRITERIA, "weights": WEIGHTS, "targets": TARGETS, "cells": CELLS}
    kinds = {name: rng.choice(np.atleast_1d(fits.fixed.get(name, axes[name]))) for name in axes}
    cells = [str(kinds["cells"])] * n_features
    if kinds["cells"] == "mixed":
        cells = rng.choice(CELLS[:-1], n_features)
    elif kinds["cells"] == "constant":
        cells[1:] = ["continuous"] * (n_features - 1)
    X = np.stack([draw_column(rng, kind, n) for kind in cells], axis=1)
    if rng.random() < 0.3:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
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
        "integers": lambda: rng.integers(rng.integers(2), 6, n).astype(float),
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
    if rng.random() < 0.1:
        rules["max_leaf_nodes"] = int(rng.integers(2, 40))
    if rng.random() < 0.1:
        # A share of the impurity of the root.
        rules["min_impurity_decrease"] = float(10.0 ** rng.uniform(-6, -1))
    # Of medians and quantiles, test_monotonic_parity.py checks constraints.
    has_value = kinds["criterion"] in ("squared_error", "poisson") or n_classes == 2
    if has_value and rng.random() < 0.3:
        rules["monotonic_cst"] = [int(sign) for sign in rng.integers(-1, 2, n_features)]
    if weight is not None:
        weight[0] = max(weight[0], 1.0)
    return kinds, X, y, weight, n_classes, rules


def check_fit(rng, fits):
    """Fit one random problem; yield, for each node that is checked, how it compares."""
    kinds, X, y, weight, n_classes, rules = draw_problem(rng, fits)
    criterion = str(kinds["criterion"])
    level = (1, 2)
    rules["max_depth"] = min(rules.get("max_depth", 10**6), fits.depth or 10**6)
    settings = dict(rules, criterion=criterion, n_jobs=int(rng.choice([1, 2, 3, -1])))
    if criterion == "quantile":
        level = ((1, 10), (1, 4), (9, 10))[int(rng.integers(3))]
        settings["quantile"] = level[0] / level[1]
    exact_y, y_exponent = ([int(k) for k in y], 0) if n_classes else as_integers(y)
    exact_w = [1] * len(y) if weight is None else as_integers(weight)[0]
    unit = math.ldexp(1.0, y_exponent)
    # Of a gain in integers to one in the units of y: entropy is in bits, pinball losses times q.
    y_exponent *= 2 if criterion == "squared_error" else 1
    factor = {"entropy": 1.0 / math.log(2.0), "quantile": 1.0 / level[1]}.get(criterion, 1.0)

    def problem(w):
        least_weight = rules.get("min_weight_fraction_leaf", 0.0) * float(sum(w))
        least_gain = rules.get("min_impurity_decrease", 0.0) * float(sum(w))
        # Weights and their sum have the same unit.
        least_gain = math.ldexp(least_gain / factor, -y_exponent)
        least = rules.get("min_samples_leaf", 1)
        limits = (least, least_weight, least_gain, rules)
        return Problem(criterion, level, X, exact_y, w, n_classes, *limits, unit)

    if rng.random() < 0.7:
        kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
        model = kind(**settings).fit(X, y, weight)
        rows = [i for i, w in enumerate(exact_w) if w]
        for verdict in check_tree(rng, problem(exact_w), model, rows, False):
            yield kinds, *verdict
        return
    drawn = int(rng.integers(1, X.shape[1] + 1))
    settings |= {"n_estimators": 3, "max_features": drawn, "random_state": int(rng.integers(99))}
    own_bags = None
    if rng.random() < 0.2:
        own_bags = rng.choice([0, 1, 1, 2, 7, 1000], (len(y), 3))
        own_bags[0] = 1
    settings["bootstrap"] = bool(rng.random() < 0.7)
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    forest = kind(**settings).fit(X, y, weight, bags=own_bags)
    sees_weights = own_bags is not None or not settings["bootstrap"]
    if not sees_weights:
        kinds = kinds | {"weights": "a bag"}
    for number, tree in enumerate(forest.estimators_):
        if own_bags is not None:
            counts = own_bags[:, number]
        elif settings["bootstrap"]:
            counts = np.bincount(forest.estimators_samples_[number], minlength=len(y))
        else:
            counts = np.ones(len(y), dtype=int)
        w = [int(c) * (v if sees_weights else 1) for c, v in zip(counts, exact_w, strict=True)]
        rows = [i for i, v in enumerate(w) if v]
        for verdict in check_tree(rng, problem(w), tree, rows, drawn < X.shape[1]):
            yield kinds, *verdict


def ends_of_values(tree, signs):
    """By node: the range of values that the constraints on its ancestors leave."""
    ends = [(-math.inf, math.inf)] * tree.node_count
    value = tree.value.reshape(tree.node_count, -1)[:, -1]
    for node in np.flatnonzero(tree.children_left >= 0):
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        ends[left] = ends[right] = low, high = ends[node]
        sign = signs[tree.feature[node]]
        if sign:
            middle = (value[left] + value[right]) / 2.0
            below, above = (left, right) if sign > 0 else (right, left)
            ends[below], ends[above] = (low, middle), (middle, high)
    return ends


def check_tree(rng, problem, model, rows, own_feature):
    """Yield (rows, gain of the split, highest gain, size of the data) of each node.

    The gain of a leaf is 0. Leaves that a rule or a draw of features may have made are left out.
    """
    tree, rules = model.tree_, problem.rules
    path = model.decision_path(problem.X[rows]).tocsc()
    depths, least = tree.compute_node_depths() - 1, rules.get("min_samples_split", 2)
    tiny = np.flatnonzero(np.diff(path.indptr) <= 16)
    skipped = set(rng.permutation(tiny)[TINY_NODES:].tolist())
    ends = ends_of_values(tree, rules.get("monotonic_cst", [0] * problem.X.shape[1]))
    for node in range(tree.node_count):
        here = [rows[int(k)] for k in path[:, node].indices]
        if node in skipped:
            continue
        if tree.children_left[node] < 0:
            is_ruled = len(here) < least or depths[node] >= rules["max_depth"]
            if own_feature or is_ruled or "max_leaf_nodes" in rules:
                continue
            found = problem.cuts(here, ends=ends[node])
            best = max((gain for gain, is_clear, _ in found if is_clear), default=0)
            if best >= problem.min_gain * (1.0 + 1e-9):
                yield len(here), 0, best, problem.loss_scale(here)
            continue
        went_left = frozenset(rows[int(k)] for k in path[:, int(tree.children_left[node])].indices)
        features = [int(tree.feature[node])] if own_feature else None
        found = list(problem.cuts(here, features, went_left, ends[node]))
        chosen = max((gain for gain, _, is_chosen in found if is_chosen), default=None)
        if chosen is not None and chosen < problem.min_gain * (1.0 - 1e-9):
            chosen = None
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
    verdicts, worst, done, number = Counter(), {}, 0, 0
    while done < n_nodes:
        # A fit can be repeated alone: its generator has the seed of the run and its number.
        number += 1
        rng = np.random.default_rng([seed, number])
        for kinds, n_rows, chosen, best, scale in check_fit(rng, fits):
            done += 1
            verdict = judge(chosen, best, scale, str(kinds["criterion"]))
            key = (str(kinds["criterion"]), str(kinds["weights"]), str(kinds["targets"]))
            verdicts[(*key, verdict)] += 1
            if verdict in ("worse", "not a cut"):
                short = float(best - (chosen or 0)) / float(best or 1)
                found = (short, n_rows, float(best), scale, number)
                worst[key] = max(worst.get(key, found), found)
        if report is not None:
            report(done)
    return verdicts, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=0, help="nodes of up to 4,097 rows")
    parser.add_argument("--huge", type=int, default=0, help="nodes of up to 65,537 rows")
    parser.add_argument("--wide", type=int, default=0, help="nodes of 128 and 256 features")
    parser.add_argument("--coded", type=int, default=0, help="large nodes of few distinct values")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = np.random.SeedSequence().entropy % 2**32 if args.seed is None else args.seed
    print(f"seed {seed}")
    runs = ((args.nodes, SMALL), (args.large, LARGE), (args.huge, HUGE))
    runs += ((args.wide, WIDE), (args.coded, CODED))
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
    print(f"{sum(verdicts.values()):,} nodes")
    for key, (short, n_rows, best, scale, number) in sorted(worst.items()):
        print(
            f"  {', '.join(key)}: {short:.1e} of the best gain lost in a node of {n_rows} rows, "
            f"whose best gain is {best / scale:.1e} of the size of its data (fit {number})"
        )
    return int(bool(worst))


if __name__ == "__main__":
    sys.exit(main())
