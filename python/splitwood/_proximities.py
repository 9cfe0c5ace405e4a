"""Proximities of rows: in how many trees of a forest they share a leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


def proximities(
    leaves: NDArray[np.int64], others: NDArray[np.int64], node_counts: NDArray[np.int64]
) -> csr_matrix:
    """Get the share of trees in which two rows have the same leaf; a column per tree is given."""
    rows, columns = (_leaf_indicator(each, node_counts) for each in (leaves, others))
    together = csr_matrix(rows @ columns.T, dtype=np.float64)
    together.data /= len(node_counts)
    together.sort_indices()
    return together


def _leaf_indicator(leaves: NDArray[np.int64], node_counts: NDArray[np.int64]) -> csr_matrix:
    """Get a matrix with a row per row and a column per node of any tree; 1 marks a row's leaf."""
    n_rows, n_trees = leaves.shape
    first = np.cumsum(node_counts) - node_counts
    places = (leaves + first).ravel()
    ends = np.arange(n_rows + 1) * n_trees
    ones = np.ones(len(places), dtype=np.int32)
    return csr_matrix((ones, places, ends), shape=(n_rows, int(node_counts.sum())))
