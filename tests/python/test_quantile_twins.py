"""The slow reference medians and quantiles, compared with scikit-learn's and numpy's."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, mean_pinball_loss

from brute_force import Judge, absolute_error, level_of, pinball_loss, quantile_of

ROWS = st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=12)
LEVELS = st.sampled_from([0.05, 0.25, 1 / 3, 0.5, 0.7, 0.95])


def test_levels_are_the_fractions_that_they_stand_for():
    assert [level_of(q) for q in (0.5, 0.7, 1 / 3)] == [
        Fraction(1, 2),
        Fraction(7, 10),
        Fraction(1, 3),
    ]


@given(rows=ROWS, quantile=LEVELS, other=st.integers(-9, 9))
def test_no_other_value_has_less_loss(rows, quantile, other):
    y, weights = zip(*rows, strict=True)
    level = level_of(quantile)
    here = float(pinball_loss(y, weights, level))

    def loss(q):
        mean = mean_pinball_loss(y, [q] * len(y), sample_weight=weights, alpha=quantile)
        return mean * sum(weights)

    assert np.isclose(here, loss(float(quantile_of(y, weights, level))))
    assert loss(other) >= here - 1e-9


@given(rows=ROWS)
def test_the_median_is_that_of_the_repeated_rows(rows):
    y, weights = zip(*rows, strict=True)
    repeated = np.repeat(y, weights)
    median = quantile_of([Fraction(v) for v in y], weights, Fraction(1, 2))
    assert median == np.median(repeated)
    error = mean_absolute_error(repeated, np.full(len(repeated), float(median)))
    assert np.isclose(float(absolute_error(y, weights)), error * len(repeated))


def test_a_judge_knows_its_losses_and_leaves():
    X, y, weights = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 5, 9], [1, 1, 1, 1]
    rows = frozenset(range(4))
    absolute = Judge(X, y, weights, "absolute_error")
    assert (absolute.loss(rows), absolute.value(rows)) == (13, 3)
    best = min(absolute.candidates(rows), key=lambda c: c.loss)
    assert (best.loss, best.below, best.above) == (5, 1.0, 2.0)
    upper = Judge(X, y, weights, "quantile", quantile=0.75)
    assert (upper.value(rows), upper.loss(rows)) == (7, Fraction(3 * 2 + 2 + 6 + 7, 4))
