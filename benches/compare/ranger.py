"""ranger, an R package with forests, called in this process through the Python package rpy2.

It takes part where R has ranger and rpy2 finds R. On Debian 12: `apt install r-cran-ranger` and
`pip install rpy2==3.5.17`; later versions of rpy2 need a later R.
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from compare.cases import Case
    from compare.data import Data

# It draws rows with replacement, and grows trees as deep as the others.
FIT = """
function(x, y, trees, drawn, classes, threads) {
    if (classes) y <- factor(y)
    ranger::ranger(x = x, y = y, num.trees = trees, mtry = drawn, min.node.size = 1,
        probability = classes, oob.error = FALSE, num.threads = threads, seed = 1)
}
"""
PREDICT = """
function(forest, x, threads) {
    predicted <- predict(forest, data = x, num.threads = threads)$predictions
    if (is.matrix(predicted)) predicted[, 2] else predicted
}
"""


MATRIX = """
function(cells, columns) {
    x <- matrix(cells, ncol = columns)
    colnames(x) <- paste0("x", seq_len(columns))
    x
}
"""
VERSION = """
function(package) if (nzchar(system.file(package = package))) as.character(packageVersion(package)) else ""
"""


def _r() -> Any:
    # Without a compiler for R; the variable is read when rpy2 is imported first.
    os.environ.setdefault("RPY2_CFFI_MODE", "ABI")
    from rpy2 import robjects

    return robjects


def version(package: str) -> str | None:
    """The version of a package of R, or None where R or the package is missing."""
    try:
        return str(_r().r(VERSION)(package)[0]) or None
    except (ImportError, OSError, ValueError):  # without rpy2, or without R
        return None


def fit(case: "Case", data: "Data", threads: int) -> Any:
    """All features are candidates for values, the square root of their number for classes."""
    r = _r().r
    drawn = case.columns if not case.n_classes else max(1, int(case.columns**0.5))
    forest = r(FIT)(
        _matrix(data.X), _vector(data.y), case.n_trees, drawn, bool(case.n_classes), threads
    )
    return lambda X: np.asarray(r(PREDICT)(forest, _matrix(X), threads))


def _vector(values: np.ndarray) -> Any:
    return _r().FloatVector(memoryview(np.ascontiguousarray(values, np.float64)))


def _matrix(X: np.ndarray) -> Any:
    cells = _vector(np.asarray(X, np.float64).ravel(order="F"))
    return _r().r(MATRIX)(cells, X.shape[1])
