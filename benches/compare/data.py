"""The data of the cases: Friedman's first function with noise, hard variants, and real tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1

from compare import census, diamonds, flights, text
from compare.cases import (
    CANCER,
    CENSUS,
    COARSE,
    COUNTS,
    DIAMONDS,
    DIGITS,
    FLIGHTS,
    FRIEDMAN1,
    MISSING,
    NOISE,
    SPARSE,
    TEXT,
    TIES,
    Case,
    Prediction,
)

# X is an array or a sparse matrix.
Table = tuple[Any, np.ndarray]
# The columns that it depends on.
FRIEDMAN1_COLUMNS = 5
# Share of the cells that are missing.
MISSING_SHARE = 0.1
SPARSE_DENSITY = 0.01


@dataclass(frozen=True)
class Data:
    """The rows of a fit, and rows that are held out.

    X is in C order or sparse; y has float64 or class codes, one column per output if there are
    several.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray
    # Rows that the loss is computed for: the fitted rows themselves if none are held out.
    judged: Table


def _friedman1(case: Case, rows: int, seed: int, noise: float) -> Table:
    """Friedman's function of five columns; the rest is noise. A case may see fewer than five.

    Output k is the same function of other columns: the first is number k.
    """
    columns = max(case.columns, FRIEDMAN1_COLUMNS)
    X, y = make_friedman1(rows, columns, noise=noise, random_state=seed)
    if case.n_outputs > 1:
        rng = np.random.default_rng(seed)
        shifted = (np.roll(X, -k, axis=1) for k in range(case.n_outputs))
        y = np.column_stack([_function(one) + rng.normal(0.0, noise, rows) for one in shifted])
    return X[:, : case.columns], y


def _function(X: np.ndarray) -> np.ndarray:
    """Friedman's first function, without noise."""
    return (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )


def _training(case: Case) -> Table:
    return _friedman1(case, case.rows + case.held_out, seed=0, noise=1.0)


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
    X[np.random.default_rng(0).random(X.shape) < MISSING_SHARE] = np.nan
    return X, y


def _sparse(case: Case) -> Table:
    """Entries at random places. The target adds up twenty columns, and has noise."""
    rng = np.random.default_rng(0)
    shape = case.rows + case.held_out, case.columns
    X = sparse.random(*shape, SPARSE_DENSITY, "csc", rng=rng)
    return X, X[:, :20] @ rng.normal(0.0, 5.0, 20) + rng.normal(0.0, 1.0, shape[0])


SOURCES: dict[str, Callable[[Case], Table]] = {
    FRIEDMAN1: _training,
    COARSE: _coarse,
    TIES: _ties,
    NOISE: _noise,
    MISSING: _missing,
    SPARSE: _sparse,
    TEXT: lambda case: text.make(case.rows + case.held_out, case.columns, case.n_classes),
    CENSUS: lambda case: census.make(case.rows + case.held_out),
    FLIGHTS: lambda case: flights.load(),
    DIAMONDS: lambda case: diamonds.load(),
    DIGITS: lambda case: load_digits(return_X_y=True),
    CANCER: lambda case: load_breast_cancer(return_X_y=True),
}
# Sources whose targets are class codes already.
OF_CLASSES = (TEXT, CENSUS, DIGITS, CANCER)


def make_data(case: Case) -> Data:
    """The first rows of the case's data set; in random order if some are held out."""
    X, y = SOURCES[case.source](case)
    if case.held_out:
        rows = np.random.default_rng(0).permutation(len(y))[: case.rows + case.held_out]
        X, y = X[rows], y[rows]
    if case.n_classes and case.source not in OF_CLASSES:
        y = _classes(y, case.n_classes)
    elif case.criterion == "poisson":
        y = np.random.default_rng(0).poisson(np.maximum(y, 0.0)).astype(np.float64)
    end = case.rows + case.held_out
    fitted, test = slice(case.rows), slice(case.rows, end) if case.held_out else slice(case.rows)
    rows, test_rows = (_prepared(X[part], case.dtype) for part in (fitted, test))
    return Data(rows, y[fitted], _weights(case), (test_rows, y[test]))


def _classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Codes of classes of the same size, output by output."""
    limits = np.quantile(y, np.arange(1, n_classes) / n_classes, axis=0)
    return sum((y > limit).astype(np.int64) for limit in limits)


def _prepared(X: Any, dtype: str) -> Any:
    return X.astype(dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype)


def _weights(case: Case) -> np.ndarray:
    rng = np.random.default_rng(0)
    if case.weights == COUNTS:
        return np.bincount(rng.integers(case.rows, size=case.rows), minlength=case.rows) * 1.0
    return rng.uniform(0.5, 2.0, case.rows)


def make_rows(case: Prediction) -> np.ndarray:
    """Rows that no tree has seen."""
    X, _ = _friedman1(case, case.predicted, seed=1, noise=0.0)
    return np.ascontiguousarray(X, case.dtype)
