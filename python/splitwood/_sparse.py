"""scipy's sparse matrices → what the core reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

# Cells that a part of a sparse matrix has when it is made dense: 8 MB.
_CELLS_AT_A_TIME = 1 << 20

# Size along which indices run, indptr, indices and data.
Entries = tuple[int, NDArray[np.int64], NDArray[np.int32], NDArray[Any]]


def is_sparse(X: object) -> bool:
    """Whether ``X`` is a sparse matrix or array."""
    return bool(issparse(X))


def sparse_columns(X: Any) -> Entries:
    """A CSC matrix as the core takes it."""
    return _entries(X, X.shape[0])


def sparse_rows(X: Any) -> Entries:
    """A CSR matrix as the core takes it."""
    return _entries(X, X.shape[1])


def _entries(X: Any, n: int) -> Entries:
    if not X.has_canonical_format:
        # The user's matrix stays as it is.
        X = X.copy()
        X.sum_duplicates()
    return n, X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def dense_parts(X: Any) -> Iterator[NDArray[Any]]:
    """The rows of a CSR matrix as arrays, a few at a time."""
    step = max(1, _CELLS_AT_A_TIME // X.shape[1])
    return (X[start : start + step].toarray() for start in range(0, X.shape[0], step))
