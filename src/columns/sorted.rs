//! A sorted column: each node's rows in the order of the feature, with their targets.
//!
//! Storing the target in every column costs one item per cell. In return, a scan reads memory in
//! order instead of gathering targets through row ids.

use std::ops::Range;

/// One feature's rows in its order, NaN last, and the target in the same order.
///
/// Invariant: within the range of a node, `rows` holds exactly the rows of that node, sorted by the
/// feature's value and, among equal values, in ascending row order.
#[derive(Default)]
pub(crate) struct SortedColumn<T> {
    pub rows: Vec<u32>,
    pub items: Vec<T>,
}

impl<T: Copy + Default> SortedColumn<T> {
    pub fn with_len(len: usize) -> Self {
        Self { rows: vec![0; len], items: vec![T::default(); len] }
    }

    /// Empty, with room for this many rows.
    pub fn with_capacity(len: usize) -> Self {
        Self { rows: Vec::with_capacity(len), items: Vec::with_capacity(len) }
    }

    /// Makes room for at least `len` rows; the previous contents are lost.
    pub fn reserve(&mut self, len: usize) {
        if self.rows.len() < len {
            *self = Self::with_len(len);
        }
    }

    /// Copies a range from another column.
    pub fn copy(&mut self, range: Range<usize>, from: &Self) {
        self.rows[range.clone()].copy_from_slice(&from.rows[range.clone()]);
        self.items[range.clone()].copy_from_slice(&from.items[range]);
    }

    pub fn slice(&self, range: Range<usize>) -> ColumnSlice<'_, T> {
        ColumnSlice { rows: &self.rows[range.clone()], items: &self.items[range] }
    }
}

/// A node's range of one column.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSlice<'a, T> {
    pub rows: &'a [u32],
    pub items: &'a [T],
}
