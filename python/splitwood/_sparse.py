"""Sparse matrices of scipy → arrays that the core reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# Cells per chunk when a sparse matrix is made dense: 8 MB.
_CELLS_PER_CHUNK = 1 << 20

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
    return n, X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def dense_parts(X: Any) -> Iterator[NDArray[Any]]:
    """Convert the rows of a CSR matrix to dense arrays, one chunk at a time."""
    step = max(1, _CELLS_PER_CHUNK // X.shape[1])
    return (X[start : start + step].toarray() for start in range(0, X.shape[0], step))
