//! Whether a criterion depends on the order of its targets.

/// How a criterion numbers its rows by their targets.
pub(crate) trait TargetRanking<I> {
    /// Whether the criterion looks each row up by its rank among the node's targets. The engine
    /// then keeps a column of rows in the order of their targets, and passes targets in ascending
    /// order. Rows with several outputs are ranked by their number.
    const RANKED: bool;

    /// The row's rank among all targets of the fit. It never changes, unlike the rank in the node.
    fn global_rank(item: I) -> usize;
}

/// For criteria that need only sums: every row has the rank 0, and no ranks are kept.
pub(crate) struct Unranked;

impl<I> TargetRanking<I> for Unranked {
    const RANKED: bool = false;

    fn global_rank(_: I) -> usize {
        0
    }
}

/// For criteria whose items are global ranks.
pub(crate) struct Ranked;

impl TargetRanking<u32> for Ranked {
    const RANKED: bool = true;

    fn global_rank(item: u32) -> usize {
        item as usize
    }
}
