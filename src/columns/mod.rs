//! How the features of a fit are stored. A node is a range of places, the same in every column.
//!
//! Large nodes use sorted columns (`sorted.rs`), 4 bytes per cell and the target, or codes of 2
//! bytes per cell where a feature has few distinct values (`coded.rs`); subtrees use
//! local row numbers (`local.rs`), 2 bytes per cell, carried along or made from ranks when a
//! feature is drawn (`ranks.rs`).

pub(crate) mod coded;
pub(crate) mod local;
pub(crate) mod ranks;
pub(crate) mod sorted;

pub(crate) use self::coded::{CodedColumn, CodedColumns, OrderBuffer};
pub(crate) use self::sorted::{ColumnSlice, SortedColumn};

/// All columns, by feature.
pub(crate) struct Columns<T> {
    /// Empty if the feature is coded.
    pub features: Vec<SortedColumn<T>>,
    /// Whether any row of the fit has no value for the feature. If so, a node's last place shows
    /// whether the node has missing values.
    pub has_missing: Vec<bool>,
    /// One more column, in the order of the targets, for criteria that rank them. Otherwise empty.
    pub targets: SortedColumn<T>,
    /// Features with few distinct values.
    pub coded: CodedColumns<T>,
}
