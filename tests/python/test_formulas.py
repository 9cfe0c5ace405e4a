"""The formulas of docs/how-it-works.md, compared with the definitions and with splitwood's trees.

Targets and weights are small integers, so that comparisons are exact, or exact up to rounding.
"""

from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, RunningMedian, running_median

NUMBERS = st.integers(-20, 20).map(float)
COUNTS = st.integers(0, 12).map(float)
WEIGHTS = st.integers(1, 5).map(float)
# As fractions.
LEVELS = st.sampled_from([(1, 2), (1, 10), (7, 10), (1, 3)])


def vectors(elements, least=2, most=40):
    return hnp.arrays(np.float64, st.integers(least, most), elements=elements)


@st.composite
def cuts(draw, elements=NUMBERS):
    """Targets in a feature's order, their weights, and a number of rows that go left."""
    y = draw(vectors(elements))
    w = draw(hnp.arrays(np.float64, len(y), elements=WEIGHTS))
    return y, w, draw(st.integers(1, len(y) - 1))


def variance_loss(y, w=None):
    """Σw(y − mean)², by definition."""
    return (np.ones(len(y)) if w is None else w) @ (y - np.average(y, weights=w)) ** 2


def stump_gain(y, w=None, **settings):
    """The gain of the first split of 0, 1, 2, … and its rows on the left; None for a leaf."""
    X = np.arange(len(y), dtype=float)[:, None]
    tree = DecisionTreeRegressor(max_depth=1, **settings).fit(X, y, w).tree_
    if tree.node_count == 1:
        return None
    losses = tree.impurity * tree.weighted_n_node_samples
    return losses[0] - losses[1] - losses[2], int(tree.n_node_samples[1])


def near(a, b, scale=1.0):
    return abs(a - b) <= 1e-10 * max(abs(a), abs(b), scale)


# ---- squared error -------------------------------------------------------------------------------


@given(y=vectors(NUMBERS, least=1))
def test_the_loss_is_the_squares_less_the_square_of_the_sum(y):
    assert near(variance_loss(y), (y**2).sum() - y.sum() ** 2 / len(y), scale=(y**2).sum())


@given(cut=cuts())
def test_four_forms_of_the_squared_error_gain(cut):
    y, _, k = cut
    n, left, right = len(y), y[:k], y[k:]
    gain = variance_loss(y) - variance_loss(left) - variance_loss(right)
    scale = (y**2).sum()

    sums = left.sum() ** 2 / k + right.sum() ** 2 / (n - k) - y.sum() ** 2 / n
    assert near(sums, gain, scale)

    centred = (left - y.mean()).sum() ** 2 * n / (k * (n - k))
    assert near(centred, gain, scale)

    ratio_a, ratio_b = np.sqrt(1 / (k * (n - k))), np.sqrt(k / (n - k))
    ratio = (ratio_a * left.sum() - ratio_b * y.mean()) ** 2
    assert near(n * ratio, gain, scale)

    # The remaining loss: the squares *minus* the part of the sums.
    rest = (y**2).sum() - left.sum() ** 2 / k - right.sum() ** 2 / (n - k)
    assert near(rest, variance_loss(left) + variance_loss(right), scale)


@given(cut=cuts())
def test_the_integer_form_of_the_squared_error_gain(cut):
    y, w, k = cut
    steps = w * (y - y.min())
    s, S, wl, W = steps[:k].sum(), steps.sum(), w[:k].sum(), w.sum()
    d = W * s - wl * S
    gain = variance_loss(y, w) - variance_loss(y[:k], w[:k]) - variance_loss(y[k:], w[k:])
    assert near(d**2 / (wl * (W - wl)) / W, gain, scale=W * 400)


@given(cut=cuts(), weighted=st.booleans())
def test_our_first_split_has_the_highest_gain_of_the_formula(cut, weighted):
    y, w, _ = cut
    w = w if weighted else np.ones(len(y))
    centred = np.cumsum(w * (y - np.average(y, weights=w)))[:-1]
    left = np.cumsum(w)[:-1]
    gains = centred**2 * w.sum() / (left * (w.sum() - left))
    found = stump_gain(y, w)
    assert (found is None) == (np.ptp(y) == 0)
    if found is not None:
        gain, n_left = found
        assert near(gain, gains.max(), scale=w.sum() * 400)
        assert near(gains[n_left - 1], gains.max(), scale=w.sum() * 400)


@given(y=vectors(NUMBERS, least=8, most=200), block=st.integers(2, 32))
def test_no_cut_inside_a_block_gains_more_than_its_bound(y, block):
    n = len(y)
    prefix = np.concatenate([[0.0], np.cumsum(y - y.mean())])
    reach = block * np.ptp(y) / 4
    for start in range(0, n, block):
        end = min(start + block, n)
        largest = max(abs(prefix[start]), abs(prefix[end])) + reach
        least = min(start * (n - start), end * (n - end))
        for k in range(start + 1, end):
            # gain <= bound, without the division, because the outermost blocks have no bound.
            assert prefix[k] ** 2 * least <= largest**2 * k * (n - k) * (1 + 1e-12)


# ---- absolute error ------------------------------------------------------------------------------


def absolute_loss(y):
    return np.abs(y - np.median(y)).sum() if len(y) else 0.0


def small_and_large(y):
    """The two middle targets, which are the same one if the number of targets is odd."""
    ordered = np.sort(y)
    return ordered[(len(y) - 1) // 2], ordered[len(y) // 2]


def running(y):
    heaps = RunningMedian()
    for value in y:
        heaps.push(value)
    assert (heaps.small_median, heaps.large_median) == small_and_large(y)
    assert heaps.absolute_error == absolute_loss(y)
    return heaps


@given(y=vectors(NUMBERS))
def test_a_target_that_comes_adds_its_distance_from_the_nearer_median_before(y):
    y, new = y[:-1], y[-1]
    small, large = small_and_large(y)
    delta = max(small - new, new - large, 0.0)
    assert absolute_loss(np.append(y, new)) - absolute_loss(y) == delta
    ours = running(y)
    before = ours.absolute_error
    ours.push(new)
    assert ours.absolute_error - before == delta


@given(y=vectors(NUMBERS), place=st.integers(0, 39))
def test_a_target_that_goes_takes_its_distance_from_the_farther_median_before(y, place):
    gone = y[place % len(y)]
    small, large = small_and_large(y)
    delta = large - gone if gone <= small else gone - small
    rest = np.delete(y, place % len(y))
    assert absolute_loss(y) - absolute_loss(rest) == delta
    ours = running(y)
    ours.remove(gone)
    assert absolute_loss(y) - ours.absolute_error == delta


@given(y=vectors(NUMBERS))
def test_only_medians_of_odd_sets_are_needed(y):
    before, after = y[:-1], y
    odd = before if len(before) % 2 else after
    assert absolute_loss(after) - absolute_loss(before) == abs(y[-1] - np.median(odd))


@given(y=vectors(NUMBERS))
def test_our_first_split_has_the_highest_gain_in_absolute_error(y):
    gains = [
        absolute_loss(y) - absolute_loss(y[:k]) - absolute_loss(y[k:]) for k in range(1, len(y))
    ]
    found = stump_gain(y, criterion="absolute_error")
    assert (found is None) == (np.ptp(y) == 0)
    if found is not None:
        assert near(found[0], max(gains), scale=absolute_loss(y))
        assert gains[found[1] - 1] == max(gains)


@given(y=vectors(NUMBERS, least=1))
def test_two_heaps_that_differ_by_one_at_most_have_the_median_on_top(y):
    low, high, medians = [], [], []
    for value in y:
        # Push to the lower heap, move its greatest up, and one back if the lower is too small.
        heappush(low, -value)
        heappush(high, -heappop(low))
        if len(high) > len(low):
            heappush(low, -heappop(high))
        assert 0 <= len(low) - len(high) <= 1
        small = -low[0]
        large = high[0] if len(high) == len(low) else small
        medians.append((small + large) / 2)
    assert medians == [np.median(y[:n]) for n in range(1, len(y) + 1)]
    assert running_median(y)[0].tolist() == medians


def test_the_worked_example_of_two_children():
    """Sorted by the feature, the targets 3, 1, 9, 6: medians of both sides of each cut."""
    X, y = np.array([1, 3, 8, 7]), np.array([3.0, 1.0, 6.0, 9.0])
    y = y[np.argsort(X)]
    assert running_median(y)[0].tolist() == [3.0, 2.0, 3.0, 4.5]
    assert running_median(y[::-1])[0].tolist() == [6.0, 7.5, 6.0, 4.5]
    right = RunningMedian()
    for value in y:
        right.push(value)
    seen = []
    for value in y[:-1]:
        right.remove(value)
        seen.append(right.median)
    assert seen == [6.0, 7.5, 6.0]


# ---- weighted medians and quantiles --------------------------------------------------------------


@given(cut=cuts(), level=LEVELS)
def test_the_quantile_has_at_most_its_share_below_and_at_most_the_rest_above(cut, level):
    y, w, _ = cut
    p, q = level

    def is_quantile(value):
        is_low_enough = q * w[y < value].sum() <= p * w.sum()
        return is_low_enough and q * w[y > value].sum() <= (q - p) * w.sum()

    quantile = running_median(y, w, quantile=p / q)[0][-1]
    assert is_quantile(quantile)
    # If all values between two neighbours are quantiles, it is their midpoint.
    ends = [value for value in y if is_quantile(value)]
    assert quantile == (min(ends) + max(ends)) / 2


@given(cut=cuts(), level=LEVELS)
def test_the_pinball_loss_from_sums_below_the_pointer(cut, level):
    y, w, _ = cut
    p, q = level
    for m in y:
        loss = (w * np.maximum(p * (y - m), (q - p) * (m - y))).sum()  # times q
        below = y < m
        e = q * w[below].sum() - p * w.sum()
        assert loss == p * (w * y).sum() - q * (w * y)[below].sum() + m * e
        # The loss is lowest where the sum of slopes changes its sign: e ≤ 0 ≤ e + q·w(m).
        least = min((w * np.maximum(p * (y - v), (q - p) * (v - y))).sum() for v in y)
        assert (loss == least) == (e <= 0 <= e + q * w[y == m].sum())


@given(y=vectors(NUMBERS))
def test_half_the_absolute_error_is_the_pinball_loss_of_one_half(y):
    medians, losses = running_median(y)
    by_quantile = DecisionTreeRegressor(criterion="quantile", max_depth=1)
    by_median = DecisionTreeRegressor(criterion="absolute_error", max_depth=1)
    X = np.arange(len(y), dtype=float)[:, None]
    half, whole = by_quantile.fit(X, y).tree_, by_median.fit(X, y).tree_
    assert (2 * half.impurity).tolist() == whole.impurity.tolist()
    assert near(whole.impurity[0] * len(y), losses[-1], scale=losses[-1])
    assert whole.value[0, 0, 0] == medians[-1]


# ---- counts and classes --------------------------------------------------------------------------


def deviance(y, w):
    """Half the Poisson deviance, by definition, where 0 · ln 0 is 0."""
    mean = np.average(y, weights=w)
    logs = np.log(np.where(y > 0, y, mean) / mean)
    return w @ (y * logs - y + mean)


@given(cut=cuts(COUNTS))
def test_the_poisson_gain_without_cancellation(cut):
    y, w, k = cut
    assume(y[:k].any() and y[k:].any())
    mean = np.average(y, weights=w)
    gain = 0.0
    for part in (slice(None, k), slice(k, None)):
        x = np.average(y[part], weights=w[part]) / mean - 1
        h = (1 + x) * np.log1p(x) - x
        # The term "− x" sums to zero. With it, h(x) is never negative and at most x².
        assert -1e-15 <= h <= x**2 + 1e-15
        gain += mean * w[part].sum() * h
    expected = deviance(y, w) - deviance(y[:k], w[:k]) - deviance(y[k:], w[k:])
    assert near(gain, expected, scale=w.sum() * 50)


@given(codes=vectors(st.integers(0, 3).map(float), least=1))
def test_gini_is_the_chance_that_two_draws_differ(codes):
    n = len(codes)
    counts = np.unique(codes, return_counts=True)[1]
    differ = (codes[:, None] != codes).sum() / n**2
    assert near(1 - ((counts / n) ** 2).sum(), differ)
    tree = DecisionTreeClassifier(max_depth=1).fit(np.zeros((n, 1)), codes).tree_
    assert near(tree.impurity[0], differ)


@given(cut=cuts(st.sampled_from([0.0, 1.0])))
def test_the_gini_impurity_of_two_classes_is_twice_the_variance(cut):
    y, w, _ = cut
    assume(np.ptp(y) > 0)
    X = np.arange(len(y), dtype=float)[:, None]
    gini = DecisionTreeClassifier().fit(X, y, w).tree_
    squares = DecisionTreeRegressor().fit(X, y, w).tree_
    assert gini.threshold.tolist() == squares.threshold.tolist()
    np.testing.assert_allclose(gini.impurity, 2 * squares.impurity, rtol=1e-12, atol=1e-15)


@given(codes=vectors(st.integers(0, 3).map(float), least=1))
def test_entropy_is_in_bits(codes):
    share = np.unique(codes, return_counts=True)[1] / len(codes)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=1)
    impurity = tree.fit(np.zeros((len(codes), 1)), codes).tree_.impurity[0]
    assert near(impurity, -(share * np.log2(share)).sum())


# ---- categories and leaves -----------------------------------------------------------------------


@given(data=st.data())
def test_the_best_set_of_categories_is_a_cut_of_their_means(data):
    n_labels = data.draw(st.integers(2, 6))
    codes = data.draw(
        hnp.arrays(np.int64, st.integers(2, 25), elements=st.integers(0, n_labels - 1))
    )
    y = data.draw(hnp.arrays(np.float64, len(codes), elements=NUMBERS))
    labels = np.unique(codes)
    assume(len(labels) > 1)

    def gain(chosen):
        left = np.isin(codes, chosen)
        return variance_loss(y) - variance_loss(y[left]) - variance_loss(y[~left])

    sets = [
        [label for place, label in enumerate(labels) if bits >> place & 1]
        for bits in range(1, 2 ** len(labels) - 1)
    ]
    by_mean = sorted(labels, key=lambda label: y[codes == label].mean())
    best = max(map(gain, sets))
    ordered = max(gain(by_mean[:size]) for size in range(1, len(by_mean)))
    scale = (y**2).sum()
    assert near(ordered, best, scale)
    stump = DecisionTreeRegressor(
        max_depth=1, categorical_features=[0], categorical_smoothing=0.0
    ).fit(codes[:, None], y)
    if np.ptp(y) > 0:
        assert near(gain(np.unique(codes[stump.apply(codes[:, None]) == 1])), best, scale)


@given(y=vectors(NUMBERS, least=3, most=25), max_leaves=st.integers(2, 8))
def test_best_first_makes_the_splits_that_gain_most(y, max_leaves):
    X = np.arange(len(y), dtype=float)[:, None]
    whole = DecisionTreeRegressor().fit(X, y).tree_
    loss = whole.impurity * whole.weighted_n_node_samples
    left, right = whole.children_left, whole.children_right

    def offer(node):
        gain = loss[node] - loss[left[node]] - loss[right[node]]
        return (-round(gain, 6), node)

    offers, leaves, rest = [], 1, loss[0]
    if left[0] >= 0:
        offers.append(offer(0))
    while offers and leaves < max_leaves:
        gain, node = heappop(offers)
        rest, leaves = rest + gain, leaves + 1
        for child in (left[node], right[node]):
            if left[child] >= 0:
                heappush(offers, offer(child))
    few = DecisionTreeRegressor(max_leaf_nodes=max_leaves).fit(X, y).tree_
    is_leaf = few.children_left < 0
    assert few.n_leaves == leaves
    total = (few.impurity * few.weighted_n_node_samples)[is_leaf].sum()
    assert total == pytest.approx(rest, abs=1e-4)


@given(values=st.lists(st.floats(-1e308, 1e308), min_size=2, max_size=2, unique=True))
def test_a_threshold_is_not_below_its_left_neighbour_and_below_its_right_one(values):
    assume(values[0] != values[1])
    a, b = sorted(values)
    tree = DecisionTreeRegressor().fit([[a], [b]], [0.0, 1.0]).tree_
    assert a <= tree.threshold[0] < b
