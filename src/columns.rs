//! The columns: every feature's rows in that feature's order, with the target carried along.
//!
//! A node is a range, the same one in every column. Carrying the target in each column costs memory (one item a cell)
//! and buys a scan that reads forward instead of gathering through the row ids.

use std::ops::Range;

/// One feature's rows in its order, NaN last, and the target in the same order.
///
/// Invariant: within the range of a node, `rows` holds just the rows of that node, sorted by the feature's value and,
/// among equal values, in ascending row order.
#[derive(Default)]
pub(crate) struct Column<T> {
    pub rows: Vec<u32>,
    pub items: Vec<T>,
}

impl<T: Copy + Default> Column<T> {
    pub fn with_len(len: usize) -> Self {
        Self { rows: vec![0; len], items: vec![T::default(); len] }
    }

    /// Empty, with room for this many rows.
    pub fn with_capacity(len: usize) -> Self {
        Self { rows: Vec::with_capacity(len), items: Vec::with_capacity(len) }
    }

    /// Makes room for at least `len` rows; what the column held is lost.
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

    pub fn range(&self, range: Range<usize>) -> Stretch<'_, T> {
        Stretch { rows: &self.rows[range.clone()], items: &self.items[range] }
    }
}

/// A node's range of one column.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a, T> {
    pub rows: &'a [u32],
    pub items: &'a [T],
}

/// All the columns, by feature. Whether a node has missing values of a feature is seen at the end of its range;
/// `has_missing` says whether there is any reason to look.
#[allow(clippy::struct_field_names)] // The columns are what it is about.
pub(crate) struct Columns<T> {
    pub columns: Vec<Column<T>>,
    pub has_missing: Vec<bool>,
    /// One more column, in the order of the targets, for criteria that ask for it. Else empty.
    pub targets: Column<T>,
}
