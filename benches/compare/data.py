"""The data of the cases: Friedman's first function with noise, hard variants, and real tables."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from sklearn.datasets import make_friedman1
from sklearn.feature_extraction.text import TfidfTransformer

from compare import diamonds, flights
from compare.cases import (
    COARSE,
    DIAMONDS,
    FIVE_OUTPUTS,
    FLIGHTS,
    FRIEDMAN1,
    NOISE,
    SPARSE,
    TEXT,
    THREE_LABELS,
    TIES,
    Case,
    Prediction,
)

Table = tuple[np.ndarray, np.ndarray]
# The columns that it depends on.
FRIEDMAN1_COLUMNS = 5


@dataclass(frozen=True)
class Data:
    """Features in C order, or sparse; y as float64, or as class codes; weights."""

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


def _five_outputs(case: Case) -> Table:
    """Friedman's function, and four mixtures of it with products of columns."""
    X, y = _training(case)
    noise = np.random.default_rng(1).normal(size=(len(y), 4))
    others = [y / 2 + 3 * X[:, k] * X[:, k + 1] + noise[:, k] for k in range(4)]
    return X, np.stack([y, *others], axis=1)


def _three_labels(case: Case) -> Table:
    """Class codes of three outputs: three, two and four classes."""
    X, y = _training(case)
    noise = 0.3 * np.random.default_rng(1).normal(size=(len(y), 2))
    first = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    second = X[:, 0] + X[:, 1] + noise[:, 0] > 1
    third = np.clip((3 * X[:, 2] + noise[:, 1]).astype(int), 0, 3)
    return X, np.stack([first, second, third], axis=1)


def _sparse(case: Case) -> Table:
    """The target is a sum of 20 columns, and noise."""
    X = scipy.sparse.random(
        case.rows, case.columns, 0.01, "csc", case.dtype, np.random.default_rng(0)
    )
    noise = np.random.default_rng(1).normal(size=case.rows)
    return X, 3 * np.asarray(X[:, :20].sum(axis=1)).ravel() + noise


def _text(case: Case) -> Table:
    """Documents of about 100 words; each of five classes has its own frequencies of words."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, case.rows)
    frequencies = np.exp(0.7 * rng.normal(size=(5, case.columns))) / np.arange(1, case.columns + 1)
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    lengths = 5 + rng.poisson(100, case.rows)
    words = np.empty(lengths.sum(), dtype=np.int64)
    of_class = np.repeat(classes, lengths)
    for label, p in enumerate(frequencies):
        words[of_class == label] = rng.choice(case.columns, np.sum(of_class == label), p=p)
    documents = np.repeat(np.arange(case.rows), lengths)
    counts = scipy.sparse.csr_matrix(
        (np.ones(len(words)), (documents, words)), (case.rows, case.columns)
    )
    return TfidfTransformer().fit_transform(counts).tocsc(), classes


SOURCES: dict[str, Callable[[Case], Table]] = {
    FRIEDMAN1: _training,
    FIVE_OUTPUTS: _five_outputs,
    THREE_LABELS: _three_labels,
    SPARSE: _sparse,
    TEXT: _text,
    COARSE: _coarse,
    TIES: _ties,
    NOISE: _noise,
    FLIGHTS: lambda case: flights.load(),
    DIAMONDS: lambda case: diamonds.load(),
}


def make_data(case: Case) -> Data:
    """The first rows of the case's data set."""
    X, y = SOURCES[case.source](case)
    X, y = X[: case.rows], y[: case.rows]
    if case.classes and case.source not in (THREE_LABELS, TEXT):
        y = (y > np.median(y)).astype(np.int64)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, case.rows)
    is_sparse = scipy.sparse.issparse(X)
    X = X.astype(case.dtype) if is_sparse else np.ascontiguousarray(X, case.dtype)
    return Data(X, y, weights)


def make_rows(case: Prediction) -> np.ndarray:
    """Rows that no tree has seen."""
    X, _ = _friedman1(case, case.predicted, seed=1, noise=0.0)
    return np.ascontiguousarray(X, case.dtype)
