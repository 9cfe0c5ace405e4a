"""The data of the cases: Friedman's first function with noise, hard variants, and real tables."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_friedman1

from compare import diamonds, flights
from compare.cases import (
    BREAST_CANCER,
    COARSE,
    DIAMONDS,
    DIGITS,
    FLIGHTS,
    FRIEDMAN1,
    IRIS,
    MISSING,
    NOISE,
    TIES,
    Case,
    Prediction,
)

Table = tuple[np.ndarray, np.ndarray]
# The columns that it depends on.
FRIEDMAN1_COLUMNS = 5


@dataclass(frozen=True)
class Data:
    """Features in C order; y as float64, or as class codes from 0 on; weights."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray


def _friedman1(case: Case, rows: int, seed: int, noise: float) -> Table:
    """Friedman's function of five columns; the rest is noise. A case may see fewer than five."""
    columns = max(case.columns, FRIEDMAN1_COLUMNS)
    X, y = make_friedman1(rows, columns, noise=noise, random_state=seed)
    return X[:, : case.columns], y


def _training(case: Case) -> Table:
    return _friedman1(case, case.rows, seed=0, noise=1.0)


def _coarse(case: Case) -> Table:
    X, y = _training(case)
    return np.floor(10 * X), y


def _ties(case: Case) -> Table:
    """Half of the cells have one value, the rest has 50 values; targets are integers."""
    X, y = _training(case)
    return np.round(np.maximum(X, 0.5), 2), np.round(y)


def _noise(case: Case) -> Table:
    """The target does not depend on any feature."""
    X, y = _training(case)
    return X, np.random.default_rng(0).permutation(y)


def _missing(case: Case) -> Table:
    X, y = _training(case)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, y


LABELLED: dict[str, Callable[..., Table]] = {
    DIGITS: load_digits,
    BREAST_CANCER: load_breast_cancer,
    IRIS: load_iris,
}
SOURCES: dict[str, Callable[[Case], Table]] = {
    FRIEDMAN1: _training,
    COARSE: _coarse,
    TIES: _ties,
    NOISE: _noise,
    FLIGHTS: lambda case: flights.load(),
    DIAMONDS: lambda case: diamonds.load(),
    MISSING: _missing,
} | {name: lambda case: LABELLED[case.source](return_X_y=True) for name in LABELLED}


def make_data(case: Case) -> Data:
    """The first rows of the case's data set."""
    X, y = SOURCES[case.source](case)
    X, y = X[: case.rows], y[: case.rows]
    if case.classes and case.source not in LABELLED:
        ends = np.quantile(y, np.linspace(0, 1, case.n_classes + 1)[1:-1])
        y = np.searchsorted(ends, y).astype(np.int64)
    elif case.criterion == "poisson":
        y = np.maximum(y, 0)
    dice = np.random.default_rng(0)
    if case.bootstrap:
        weights = np.bincount(dice.integers(0, case.rows, case.rows), minlength=case.rows) * 1.0
    else:
        weights = dice.uniform(0.5, 2.0, case.rows)
    return Data(np.ascontiguousarray(X, case.dtype), y, weights)


def make_rows(case: Prediction) -> np.ndarray:
    """Rows that no tree has seen."""
    X, _ = _friedman1(case, case.predicted, seed=1, noise=0.0)
    return np.ascontiguousarray(X, case.dtype)
