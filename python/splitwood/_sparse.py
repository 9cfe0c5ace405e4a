"""Sparse matrices of scipy → arrays that the core reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# The size of the axis that the indices refer to, indptr, indices and data.
Entries = tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[Any]]


def is_sparse(X: object) -> bool:
    """Whether ``X`` is a sparse matrix or array."""
    return bool(issparse(X))


def sparse_columns(X: Any) -> Entries:
    """Get the columns of a CSC matrix."""
    return _entries(X, X.shape[0])


def sparse_rows(X: Any) -> Entries:
    """Get the rows of a CSR matrix."""
    return _entries(X, X.shape[1])


def _entries(X: Any, n: int) -> Entries:
    if not X.has_canonical_format:
        # The user's matrix must not change.
        X = X.copy()
        X.sum_duplicates()
    data = X.data if X.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
    return n, X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), data
