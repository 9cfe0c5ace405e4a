"""Running medians against their definition, in exact fractions, and against numpy."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import pinball_loss, quantile_of
from splitwood import RunningMedian, running_median

LEVELS = st.sampled_from(["1/2", "1/2", "1/20", "1/4", "1/3", "7/10", "19/20"]).map(Fraction)
# Multiples of 1/8, also around 1e9, where squares and sums of floats lose them.
VALUES = st.integers(-20, 20).map(lambda v: v / 8) | st.integers(0, 9).map(lambda v: 1e9 + v / 8)
ROWS = st.lists(st.tuples(VALUES, st.integers(0, 4)), min_size=1, max_size=30)


def expected(rows, level):
    """Quantile and loss of these rows; for the median, the absolute error."""
    rows = [(Fraction(y), Fraction(w)) for y, w in rows if w > 0]
    if not rows:
        return math.nan, 0.0
    y, weights = zip(*rows, strict=True)
    factor = 2 if level == Fraction(1, 2) else 1
    loss = factor * pinball_loss(y, weights, level)
    return float(quantile_of(y, weights, level)), float(loss)


def assert_matches(median, loss, rows, level):
    wanted = expected(rows, level)
    np.testing.assert_array_equal(median, wanted[0])
    assert math.isclose(loss, wanted[1], rel_tol=1e-13, abs_tol=1e-15)


@given(rows=ROWS, level=LEVELS, scale=st.sampled_from([1, 0.1, 1 / 3, 1e-200, 1e200]))
@settings(max_examples=300, deadline=None)
def test_every_prefix_has_its_median_whatever_the_scale_of_the_weights(rows, level, scale):
    y, weights = zip(*rows, strict=True)
    medians, losses = running_median(y, [w * scale for w in weights], float(level))
    for k in range(len(rows)):
        assert_matches(medians[k], losses[k] / scale, rows[: k + 1], level)


@given(rows=ROWS, level=LEVELS, data=st.data())
@settings(max_examples=300, deadline=None)
def test_values_come_and_go(rows, level, data):
    running, there = RunningMedian(float(level)), []
    for y, w in rows:
        running.push(y, w)
        there.append((y, w))
        if data.draw(st.booleans()):
            gone = there.pop(data.draw(st.integers(0, len(there) - 1)))
            running.remove(*gone)
        assert len(running) == sum(w > 0 for _, w in there)
        assert_matches(running.median, running.absolute_error, there, level)


@given(y=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
@settings(max_examples=200, deadline=None)
def test_without_weights_they_are_those_of_numpy(y):
    medians, losses = running_median(y)
    np.testing.assert_array_equal(medians, [np.median(y[: k + 1]) for k in range(len(y))])
    wanted = [np.abs(np.subtract(y[: k + 1], medians[k])).sum() for k in range(len(y))]
    np.testing.assert_allclose(losses, wanted, rtol=1e-12, atol=1e-300)


def test_the_worked_example():
    # X = [1, 3, 8, 7] and Y = [3, 1, 6, 9], with Y in the order of X.
    y = np.array([3, 1, 6, 9])[np.argsort([1, 3, 8, 7])]
    np.testing.assert_array_equal(running_median(y)[0], [3, 2, 3, 4.5])
    np.testing.assert_array_equal(running_median(y[::-1])[0], [6, 7.5, 6, 4.5])
    left, right = running_median(y)[1], running_median(y[::-1])[1][::-1]
    np.testing.assert_array_equal(left[:-1] + right[1:], [8, 5, 8])


def test_weights_like_tenths_meet_the_half_as_integers_do():
    for weights in ([1, 2, 3], [0.1, 0.2, 0.3], [1e-5, 2e-5, 3e-5]):
        np.testing.assert_array_equal(running_median([1, 2, 4], weights)[0], [1, 2, 3])
        running = RunningMedian()
        for y, w in zip([1, 2, 4], weights, strict=True):
            running.push(y, w)
        assert (running.small_median, running.median, running.large_median) == (2, 3, 4)


def test_integer_weights_are_repeated_values():
    y, weights = [5.0, 1.0, 2.0, 2.0, 9.0], [2, 1, 3, 1, 2]
    for level in (0.5, 0.1, 0.75):
        one_by_one = [
            running_median(np.repeat(y[:k], weights[:k]), quantile=level) for k in (1, 3, 5)
        ]
        medians, losses = running_median(y, weights, level)
        for k, (m, d) in zip((1, 3, 5), one_by_one, strict=True):
            assert (medians[k - 1], losses[k - 1]) == (m[-1], pytest.approx(d[-1], rel=1e-14))


def test_an_offset_costs_nothing():
    noise = np.random.default_rng(0).integers(-1000, 1000, 500) / 1024
    weights = np.random.default_rng(1).random(500)
    for given_weights in (None, weights):
        medians, losses = running_median(noise, given_weights)
        far, far_losses = running_median(noise + 2.0**33, given_weights)
        np.testing.assert_array_equal(far - 2.0**33, medians)
        np.testing.assert_allclose(far_losses, losses, rtol=1e-13)


def test_what_was_removed_leaves_nothing_behind():
    running = RunningMedian()
    for y in (0.1, 0.2, 0.4):
        running.push(y)
    error = running.absolute_error
    for giant, weight in ((1e300, 1.0), (7.0, 1e300), (-1e250, 3.0)):
        running.push(giant, weight)
        running.remove(giant, weight)
        assert (running.median, running.absolute_error) == (0.2, error)


def test_nothing_has_no_median():
    running = RunningMedian()
    assert np.isnan([running.median, running.small_median, running.large_median]).all()
    assert (running.absolute_error, len(running)) == (0.0, 0)
    medians, losses = running_median([])
    assert (medians.shape, losses.shape) == ((0,), (0,))
    medians, losses = running_median([4, 5, 6], [0, 0, 1])
    np.testing.assert_array_equal(medians, [math.nan, math.nan, 6])
    np.testing.assert_array_equal(losses, [0, 0, 0])


def test_arrays_of_all_kinds():
    y = np.arange(10) * 7 % 10
    wanted = running_median(y.astype(float))
    for same in (y.tolist(), y.astype(np.int8), y.astype(">f4"), np.repeat(y, 2)[::2]):
        np.testing.assert_array_equal(running_median(same), wanted)


def test_a_copy_goes_its_own_way():
    running = RunningMedian(0.25)
    running.push(1)
    other = copy.copy(running)
    other.push(3)
    assert (len(running), len(other), other.quantile) == (1, 2, 0.25)
    assert repr(other) == "<RunningMedian of 2 values, quantile=0.25>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, math.nan],), "y: must be finite, got NaN at index 1"),
        (([1, math.inf],), "y: must be finite, got inf at index 1"),
        (([[1, 2]],), r"y: must be one-dimensional, got shape \(1, 2\)"),
        (([1, 2], [1]), "sample_weight: must have one weight a value: 1 for 2"),
        (([1, 2], [1, -1]), "sample_weight: must be finite and not negative, got -1 at index 1"),
        (([1, 2], None, 1), "quantile: must be strictly between 0 and 1, got 1"),
        (([1, 2], None, math.nan), "quantile: must be strictly between 0 and 1, got NaN"),
        (([1, 2], None, "half"), "quantile: must be a number, got 'half'"),
    ],
)
def test_refusals_of_the_function(arguments, message):
    with pytest.raises(ValueError, match=message):
        running_median(*arguments)


def test_refusals_of_the_class():
    running = RunningMedian()
    running.push(1.0, 2.0)
    refusals = [
        (lambda: RunningMedian(0), "quantile: must be strictly between 0 and 1, got 0"),
        (lambda: running.push(math.nan), "value: must be finite, got NaN"),
        (lambda: running.push(1, -1), "weight: must be finite and not negative, got -1"),
        (lambda: running.push(1, math.inf), "weight: must be finite and not negative, got inf"),
        (lambda: running.remove(2), "value: 2 with weight 1 is not there to be removed"),
        (lambda: running.remove(1.0), "value: 1 with weight 1 is not there to be removed"),
    ]
    for call, message in refusals:
        with pytest.raises(ValueError, match=message):
            call()
    assert (len(running), running.median) == (1, 1.0)
