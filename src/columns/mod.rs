//! How the features of a fit are stored. A node is a range, the same one in every column.

pub(crate) mod local;
pub(crate) mod sorted;

pub(crate) use self::sorted::{ColumnSlice, SortedColumn};

/// All columns, by feature.
pub(crate) struct Columns<T> {
    pub features: Vec<SortedColumn<T>>,
    /// Whether any row of the fit misses a feature. Whether a node has missing values is then seen at
    /// the end of its range.
    pub has_missing: Vec<bool>,
    /// One more column, in the order of the targets, for criteria that rank them. Otherwise empty.
    pub targets: SortedColumn<T>,
}
