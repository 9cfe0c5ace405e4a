//! Kernels for tiny nodes, of at most 16 rows: what `grow/tiny.rs` needs of a criterion.

use super::Criterion;
use crate::columns::local::{MAX_TINY_ROWS, TinyOrder};

/// Decides the splits of tiny nodes.
///
/// A kernel computes approximate gains and uses them where one cut is clearly the best. It decides
/// the few close calls as larger nodes do, by integers that don't depend on any order.
pub(crate) trait TinyKernel<C: Criterion>: Sized {
    /// The kernel for a fit with this least number of rows on either side of a split; `None` if the
    /// criterion has none for its settings.
    fn new(criterion: &C, min_rows_leaf: usize) -> Option<Self>;

    /// The target of a row, and its weight.
    fn sample(&self, criterion: &C, item: C::Item) -> (f64, f64);

    /// Whether a row is a copy of another one.
    fn is_copy(_criterion: &C, _item: C::Item) -> bool {
        false
    }

    /// Takes in the targets of the largest node, by row; ascending if the criterion ranks its
    /// targets.
    fn take_in(&mut self, targets: &[f64]);

    /// What a node with these rows would predict; for monotonic constraints.
    fn value(rows: &[u8], targets: &TinyTargets) -> f64;

    /// Whether the first rows weigh more than the second ones.
    fn is_heavier(rows: [&[u8]; 2], targets: &TinyTargets) -> bool;

    /// Summary of a node of one row.
    fn describe_one(&mut self, row: usize, targets: &TinyTargets) -> TinySummary;

    /// Summary of a node of two rows.
    fn describe_pair(&mut self, rows: [usize; 2], targets: &TinyTargets) -> TinySummary;

    /// Summary of a node of three to `N` rows, which is searched next.
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &TinyTargets) -> TinySummary;

    /// The feature and the number of rows on the left of the best cut of the node that was
    /// described last.
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(&mut self, node: &TinyNode<'_, F>)
    -> Option<(usize, usize)>;

    /// Appends what the node that was described last predicts and returns its impurity.
    fn write_summary(&self, criterion: &C, rows: usize, summary: TinySummary, values: &mut Vec<f64>) -> f64;
}

/// The targets of the largest node, by row, and their weights if rows have any.
#[derive(Debug, Default)]
pub(crate) struct TinyTargets {
    pub y: [f64; MAX_TINY_ROWS],
    pub weights: [f64; MAX_TINY_ROWS],
}

/// What a tiny node reports.
#[derive(Clone, Copy)]
pub(crate) struct TinySummary {
    /// The mean or the median.
    pub value: f64,
    /// The loss around it, averaged over the rows.
    pub loss: f64,
    /// Whether all targets are the same.
    pub is_pure: bool,
    pub weight: f64,
}

impl TinySummary {
    /// Of a single row without a weight.
    pub fn of_one(value: f64) -> Self {
        Self { value, loss: 0.0, is_pure: true, weight: 1.0 }
    }
}

/// A tiny node that is searched.
pub(crate) struct TinyNode<'a, F> {
    pub rows: &'a [u8],
    /// By feature.
    pub orders: &'a [TinyOrder],
    /// Whether a feature's cut with this many rows on the left parts different values and keeps the
    /// feature's monotonic constraint.
    pub allow: F,
}

impl<F: Fn(usize, usize) -> bool> TinyNode<'_, F> {
    /// The first allowed one of some cuts, if all of them part the node's rows in the same way:
    /// then their gains are equal.
    ///
    /// For each feature, `cuts` has a bit per cut, the lowest for a single row on the left.
    #[inline(always)]
    pub fn first_of_same_partition(&self, cuts: impl Fn(usize, &TinyOrder) -> u32) -> Option<(usize, usize)> {
        let rows = |order: &[u8]| order.iter().fold(0u32, |rows, row| rows | 1 << (row % MAX_TINY_ROWS as u8));
        let all = rows(self.rows);
        let mut winner = None;
        let mut parted = None;
        for (feature, order) in self.orders.iter().enumerate() {
            let mut cuts = cuts(feature, order);
            while cuts != 0 {
                let n_left = cuts.trailing_zeros() as usize + 1;
                cuts &= cuts - 1;
                let left = rows(&order[..n_left % MAX_TINY_ROWS]);
                if *parted.get_or_insert(left) != left && parted != Some(all ^ left) {
                    return None;
                }
                if winner.is_none() && (self.allow)(feature, n_left) {
                    winner = Some((feature, n_left));
                }
            }
        }
        winner
    }
}

/// For criteria without a kernel. It can't be made, so nothing of it is ever called.
pub(crate) enum NoTinyKernel {}

impl<C: Criterion> TinyKernel<C> for NoTinyKernel {
    fn new(_: &C, _: usize) -> Option<Self> {
        None
    }

    fn sample(&self, _: &C, _: C::Item) -> (f64, f64) {
        match *self {}
    }

    fn take_in(&mut self, _: &[f64]) {
        match *self {}
    }

    /// No node is grown by this kernel.
    fn value(_: &[u8], _: &TinyTargets) -> f64 {
        f64::NAN
    }

    fn is_heavier(_: [&[u8]; 2], _: &TinyTargets) -> bool {
        false
    }

    fn describe_one(&mut self, _: usize, _: &TinyTargets) -> TinySummary {
        match *self {}
    }

    fn describe_pair(&mut self, _: [usize; 2], _: &TinyTargets) -> TinySummary {
        match *self {}
    }

    fn describe<const N: usize>(&mut self, _: &[u8], _: &TinyTargets) -> TinySummary {
        match *self {}
    }

    fn search<const N: usize, F: Fn(usize, usize) -> bool>(&mut self, _: &TinyNode<'_, F>) -> Option<(usize, usize)> {
        match *self {}
    }

    fn write_summary(&self, _: &C, _: usize, _: TinySummary, _: &mut Vec<f64>) -> f64 {
        match *self {}
    }
}
