//! Sums over the rows on the left of a cut, updated row by row, for criteria whose gains follow
//! from such sums.
//!
//! A sweep of one output screens, sums up and offers in one kernel. Two searches can't use it:
//! several outputs add up their gains cut by cut (`outputs/`), and a sparse column has all its
//! zeros in one group (`grow/sparse_column.rs`). Both drive these sums instead. The gains are
//! those of [`Criterion::sweep`], bit for bit, because the sums are integers.

use super::{Criterion, OneCut};

pub(crate) trait RunningSums: Criterion {
    /// Sums over the rows on the left, and what [`RunningSums::scaled_bound`] reads of the node.
    type Running: Default + Clone + Send + Sync;

    /// The sums with no rows on the left. They are computed once per node and copied for each
    /// feature.
    fn start(&self, node: &Self::NodeStats, running: &mut Self::Running);

    /// Moves a row to the left.
    fn add(&self, running: &mut Self::Running, contribution: Self::Contribution);

    /// Writes the same sums with left and right exchanged.
    fn mirror(&self, running: &Self::Running, mirrored: &mut Self::Running);

    /// The weights of the rows on both sides, in units of the node.
    fn weights(&self, running: &Self::Running) -> [f64; 2];

    /// An upper bound on the decrease of the loss, times both [`RunningSums::weights`].
    fn scaled_bound(&self, running: &Self::Running, weights: [f64; 2]) -> f64;

    /// A number for each row without a weight of its own. Their sum over the rows on the left,
    /// squared, bounds the decrease of the loss times both [`RunningSums::weights`], as
    /// [`RunningSums::scaled_bound`] does. `start` has no rows on the left.
    fn deviation(&self, _start: &Self::Running, _contribution: Self::Contribution) -> f64 {
        f64::INFINITY
    }

    /// Bound on the error of such a sum, apart from that of adding and rounding the numbers;
    /// `None` if there are no such numbers.
    fn deviation_error(&self, _start: &Self::Running) -> Option<f64> {
        None
    }

    /// The gain, in units of the node; `None` if a rule forbids the cut. `goes_left` of the cut is
    /// not read.
    fn gain(&self, node: &Self::NodeStats, running: &Self::Running, cut: &OneCut<'_>) -> Option<f64>;
}
