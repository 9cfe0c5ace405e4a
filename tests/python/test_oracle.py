"""Splits against the oracle in exact integers; ``make explore`` checks 100,000 nodes more."""

import math
from fractions import Fraction

import numpy as np
import pytest

import oracle


@pytest.mark.parametrize("seed", range(2))
def test_no_node_has_a_better_cut(seed):
    verdicts, worst = oracle.explore(2_000, seed)
    assert sum(verdicts.values()) >= 2_000
    assert worst == {}


@pytest.mark.parametrize("fits", [oracle.LARGE, oracle.HUGE, oracle.WIDE, oracle.CODED])
def test_no_large_node_has_a_better_cut(fits):
    _, worst = oracle.explore(6, 0, fits)
    assert worst == {}


def test_gains_in_doubt_are_swept_on_finer_grids(monkeypatch):
    """Heavy tails and weights over decades: the grids of a node hide the gains of most rows."""
    monkeypatch.setattr(oracle, "CRITERIA", ("absolute_error", "quantile"))
    monkeypatch.setattr(oracle, "TARGETS", ("heavy tails",))
    monkeypatch.setattr(oracle, "WEIGHTS", ("integers", "six decades", "twelve decades"))
    _, worst = oracle.explore(3_000, 11)
    assert worst == {}


def test_the_oracle_knows_its_formulas():
    numbers = [0.1, -3.0, 1e300, 0.0, 5e-324]
    whole, exponent = oracle.as_integers(numbers)
    scale = Fraction(2) ** exponent
    assert [float(n * scale) for n in whole] == numbers
    for x in (-1.0, -0.9, -0.04, 1e-9, 0.049, 0.06, 3.0):
        expected = (1 + x) * math.log1p(x) - x if x > -1 else 1.0
        assert oracle.h(x) == pytest.approx(expected, rel=1e-6, abs=1e-15)
    sums = oracle.PinballSums([5, 1, 9, 1], 1, 4)
    for y, w in ((5, 2), (1, 1), (9, 3), (1, 1)):
        sums.add(y, w)
    losses = [
        sum(w * (1 * (y - t) if y > t else 3 * (t - y)) for y, w in ((5, 2), (1, 2), (9, 3)))
        for t in (1, 5, 9)
    ]
    assert sums.loss() == min(losses)


def test_the_oracle_sees_a_split_that_is_not_the_best():
    # A cut far from the best one is worse, whatever the weights.
    problem = oracle.Problem(
        "squared_error",
        (1, 2),
        np.arange(6.0)[:, None],
        [0, 0, 0, 9, 9, 9],
        [1] * 6,
        0,
        1,
        0.0,
        0.0,
        {},
    )
    gains = [gain for gain, _, _ in problem.cuts(list(range(6)))]
    assert gains.index(max(gains)) == 2
    assert oracle.judge(gains[0], max(gains), problem.loss_scale(range(6)), "gini") == "worse"
    assert oracle.judge(gains[2], max(gains), problem.loss_scale(range(6)), "gini") == "best"
