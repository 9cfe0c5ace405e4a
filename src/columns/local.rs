//! The columns of a subtree and of a tiny node. Rows are numbered from 0 within the subtree or the
//! node, so a cell takes two bytes in a subtree and one byte in a tiny node.

/// Number of values of a `u16`. An index into a table of this length needs no bounds check.
pub(crate) const LOCAL_ROWS: usize = 1 << 16;

/// Rows of the largest tiny node.
pub(crate) const MAX_TINY_ROWS: usize = 16;

/// The rows of a tiny node in some order, by their number in that node. Entries beyond the node's
/// length are arbitrary numbers below 16.
pub(crate) type TinyOrder = [u8; MAX_TINY_ROWS];

/// A table with an entry for every local row number, on the heap.
#[allow(clippy::unnecessary_box_returns)] // Half a megabyte.
pub(crate) fn local_table<T: Default>() -> Box<[T; LOCAL_ROWS]> {
    (0..LOCAL_ROWS)
        .map(|_| T::default())
        .collect::<Box<[T]>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!("the length is LOCAL_ROWS"))
}

/// The rows of a node of a subtree in the order of every feature.
#[derive(Clone, Copy)]
pub(crate) struct LocalOrders<'a> {
    /// The orders of all rows of the subtree, feature after feature.
    pub columns: &'a [u16],
    pub n_rows: usize,
    /// The node's range in each of them.
    pub start: usize,
    pub len: usize,
}

impl<'a> LocalOrders<'a> {
    #[inline(always)]
    pub fn of(self, feature: usize) -> &'a [u16] {
        &self.columns[feature * self.n_rows + self.start..][..self.len]
    }
}
