//! Criteria: what a split is worth. A criterion knows targets and weights, never features.
//!
//! For each node it describes the targets once (`describe`), and for each feature it walks the targets in the
//! feature's order (`sweep`) and offers the cuts that could win. Which neighbours in that order have the same value,
//! so that no cut may part them, it learns from [`Cuts`].

pub(crate) mod classes;
mod common_unit;
pub(crate) mod fixed_point;
pub(crate) mod outputs;
pub(crate) mod poisson;
pub(crate) mod quantile;
pub(crate) mod squared;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU8, AtomicU32};

pub(crate) use self::common_unit::FineGrid;
pub(crate) use self::fixed_point::Grid;
use crate::median::Level;
use crate::split::{Contest, Cut, partition_point};
use crate::steps::{Mark, Orders, Steps, TABLE};

/// A loss that a tree can minimise greedily. Chosen once a fit, so that every kernel is compiled for its criterion.
pub(crate) trait Criterion: Sync {
    /// What a column carries for each row.
    type Item: Copy + Default + Send + Sync;
    /// What a row adds to the sums of a sweep, on the node's grids.
    type Step: Copy + Default + Send + Sync;
    /// What a node's sweeps and its statistics need to know of its targets.
    type Node: Send + Sync;
    /// What the steps of a node refer to, if they say not all themselves.
    type Table: Default + Send + Sync;
    /// Buffers of a sweep, reused from feature to feature.
    type Scratch: Default + Send;
    /// What is noted of a row for promises, as it is stored.
    type Mark: Mark;
    /// Whether rows have weights of their own.
    const WEIGHTED: bool;
    /// The loss by which the smallest nodes are grown, if there is a kernel for it.
    const TINY: Option<TinyLoss> = None;
    /// Whether what counts of a row is its rank among the node's targets. Then a column of rows in the order of their targets is kept up.
    const ORDERED: bool = false;

    /// Describes the targets of a node, which are in ascending order if that counts. The answer must not depend on their order by more than rounding of reported
    /// statistics; sums that decide between splits must not depend on it at all.
    fn describe(&self, items: &[Self::Item]) -> Self::Node;

    /// True if all targets are equal, or no cut is allowed whatever the features: there is nothing to gain.
    fn is_pure(&self, node: &Self::Node) -> bool;

    fn rows(&self, node: &Self::Node) -> usize;

    fn weight(&self, node: &Self::Node) -> f64;

    /// The loss of a node, averaged over its weight.
    fn impurity(&self, node: &Self::Node) -> f64;

    /// Numbers that a leaf with these targets predicts.
    fn n_values(&self) -> usize;

    /// Appends the `n_values` numbers that this node predicts.
    fn write_value(&self, node: &Self::Node, values: &mut Vec<f64>);

    /// Makes the table of a node. Targets are in ascending order if that counts.
    fn tabulate(&self, _node: &Self::Node, _items: &[Self::Item], _table: &mut Self::Table) {}

    /// The row's rank among all targets of the fit, where order counts.
    fn ticket(_item: Self::Item) -> usize {
        unreachable!("order does not count")
    }

    /// By rank: what [`Criterion::promise`] needs to know of a row, if it promises anything.
    fn marks(_table: &Self::Table) -> &[u32] {
        &[]
    }

    /// What this row adds to the node's sums; `rank` is its rank among the node's targets, where order counts.
    fn step(&self, node: &Self::Node, item: Self::Item, rank: impl FnOnce() -> usize) -> Self::Step;

    /// Offers the cuts of the rows, in the order of `steps`, that could win the contest; gains are in units of the node.
    fn sweep<P: Steps<Step = Self::Step>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Self::Node,
        table: &Self::Table,
        steps: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut Self::Scratch,
    );

    /// The most that any of these cuts can gain, where that costs less than a sweep. Who promises most is then swept first. Steps are
    /// marked where order counts.
    fn promise<P: Steps<Step = Self::Step>, F: Fn(usize, usize) -> bool>(
        &self,
        _table: &Self::Table,
        _steps: &P,
        _cuts: &Cuts<F>,
    ) -> Option<f64> {
        None
    }

    /// The number behind a target, and its weight; of two classes, whether it is the second.
    fn sample(&self, item: Self::Item) -> (f64, f64);

    /// What a leaf predicts of such numbers.
    fn location(&self) -> Location {
        Location::Mean
    }

    /// True if no cut of a node with these targets is allowed, whatever else there is to gain.
    fn is_hopeless(&self, _node: &Self::Node) -> bool {
        false
    }

    /// The grid that numbers of this range, as many as there are rows, are put on, once the lowest has been subtracted.
    fn grid(&self, rows: usize, range: f64) -> FineGrid {
        FineGrid::new(None, range, range * rows as f64)
    }

    /// Whether the kernel for the smallest nodes may be used.
    fn is_tiny_loss(&self) -> bool {
        true
    }

    /// Appends what a node predicts whose mean and variance these are, or median and mean absolute deviation, and returns its impurity;
    /// for the losses of [`Criterion::TINY`].
    fn write_summary(&self, _rows: usize, _center: f64, _loss: f64, _values: &mut Vec<f64>) -> f64 {
        unreachable!("this loss has no kernel for the smallest nodes")
    }

    /// Writes for each feature an upper bound on its gains, missing values left aside, where that costs less than sweeping them all.
    fn bound(
        &self,
        _node: &Self::Node,
        _table: &Self::Table,
        _rows: &SmallNode<'_, Self>,
        _scratch: &mut Self::Scratch,
        _bounds: &mut Vec<f64>,
    ) -> Outlook {
        Outlook::Unknown
    }

    /// Absolute error of this node's gains, in their units.
    fn noise(&self, node: &Self::Node) -> f64;

    /// A gain of this node in units of the loss, summed over rows.
    fn loss_decrease(&self, node: &Self::Node, gain: f64) -> f64;
}

/// Losses of unweighted numbers with a kernel for the smallest nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TinyLoss {
    SquaredError,
    AbsoluteError,
}

/// What of some numbers a leaf predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Location {
    Mean,
    Quantile(Level),
}

/// The rows of a node of a subtree in the order of every feature, and what is known of each row by its number.
pub(crate) struct SmallNode<'a, C: Criterion + ?Sized> {
    pub orders: Orders<'a>,
    pub n_features: usize,
    pub items: &'a [C::Item],
    /// Only where the order of targets counts.
    pub steps: &'a [C::Step; TABLE],
    /// Least number of rows on either side of a cut.
    pub min_rows: usize,
}

/// What can be said of a node's cuts before any order is swept.
pub(crate) enum Outlook {
    Unknown,
    /// The gains of each feature are bounded.
    Bounded,
    /// And this cut, if it parts different values, is the winner.
    Clear {
        feature: usize,
        n_left: usize,
    },
}

/// The cuts of one feature's range that are allowed.
pub(crate) struct Cuts<F> {
    /// Whether the values at these two places of the range are the same.
    pub same: F,
    /// Least and greatest number of rows on the left.
    pub first: usize,
    pub last: usize,
    /// Least weight on either side.
    pub min_weight: f64,
    pub missing_left: bool,
}

impl<F: Fn(usize, usize) -> bool> Cuts<F> {
    /// True if `n_left` rows may go left: enough on both sides, and no value on both.
    #[inline]
    pub fn allow(&self, n_left: usize) -> bool {
        self.first <= n_left && n_left <= self.last && !(self.same)(n_left - 1, n_left)
    }

    #[inline]
    pub fn cut(&self, n_left: usize) -> Cut {
        Cut { n_left, missing_left: self.missing_left }
    }

    /// Start and end of the run of equal values that `place` is in; sorted order makes this a binary search.
    pub fn run_around(&self, place: usize, len: usize) -> (usize, usize) {
        let start = partition_point(0, place, |i| !(self.same)(i, place));
        let end = partition_point(place, len, |i| (self.same)(i, place));
        (start, end)
    }
}

/// A row's target and weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weighted<Y> {
    pub y: Y,
    pub weight: f64,
}

/// What a column carries for a row: a target, with a weight or with the weight one.
pub(crate) trait Sample<Y>: Copy + Default + Send + Sync {
    const WEIGHTED: bool;
    /// With weights, marks are wider.
    type Mark: Mark;
    fn y(self) -> Y;
    fn weight(self) -> f64;
}

impl<Y: Copy + Default + Send + Sync> Sample<Y> for Y {
    const WEIGHTED: bool = false;
    type Mark = AtomicU8;
    #[inline]
    fn y(self) -> Y {
        self
    }
    #[inline]
    fn weight(self) -> f64 {
        1.0
    }
}

impl<Y: Copy + Default + Send + Sync> Sample<Y> for Weighted<Y> {
    const WEIGHTED: bool = true;
    type Mark = AtomicU32;
    #[inline]
    fn y(self) -> Y {
        self.y
    }
    #[inline]
    fn weight(self) -> f64 {
        self.weight
    }
}
