//! Criteria: what a split is worth. A criterion reads targets and weights, never features.
//!
//! For each node it describes the targets once (`describe`). For each feature it walks the rows in
//! the feature's order (`sweep`) and offers the cuts that could win. [`Cuts`] tells it which
//! neighbours in that order have the same value, so that no cut may part them.
//!
//! [`Criterion`] is the core that every criterion implements in full. What only some criteria can
//! do is an associated type with a trait of its own, and an implementation that does nothing for
//! the others:
//!
//! | associated type | trait | for criteria without it |
//! |---|---|---|
//! | `Ranking` | [`TargetRanking`]: the order of the targets counts | [`Unranked`] |
//! | `Bounds` | [`GainBounds`]: features are ruled out without a sweep | [`NoBounds`] |
//! | `TinyKernel` | [`TinyKernel`]: nodes of up to 16 rows have a kernel | [`NoTinyKernel`] |
//! | `Groups` | [`GroupSums`]: sums over rows with equal values | [`NoGroups`] |

mod bounds;
pub(crate) mod classes;
mod common_unit;
mod cuts;
pub(crate) mod fixed_point;
mod groups;
pub(crate) mod outputs;
pub(crate) mod poisson;
pub(crate) mod quantile;
mod ranking;
mod running;
mod sample;
pub(crate) mod squared;
#[cfg(test)]
mod tests;
mod tiny;

pub(crate) use self::bounds::{BoundVerdict, ContributionsOf, GainBounds, NoBounds, SmallNode, TagCellOf};
pub(crate) use self::common_unit::FineGrid;
pub(crate) use self::cuts::{Cuts, OneCut, ValueOrder};
pub(crate) use self::fixed_point::Grid;
pub(crate) use self::groups::{Group, GroupOf, GroupSums, NoGroups};
pub(crate) use self::ranking::{Ranked, TargetRanking, Unranked};
pub(crate) use self::running::RunningSums;
pub(crate) use self::sample::{LabelOrder, Sample, Weighted};
pub(crate) use self::tiny::{NoTinyKernel, TinyKernel, TinyNode, TinySummary, TinyTargets};
use crate::split::Contest;

/// A loss that a tree can minimise greedily. It is chosen once per fit, so that every kernel is
/// compiled for its criterion.
pub(crate) trait Criterion: Sync + Sized {
    /// What a column carries for each row.
    type Item: Copy + Default + Send + Sync;
    /// What a row adds to the sums of a sweep, on the node's grids.
    type Contribution: Copy + Default + Send + Sync;
    /// What a node's sweeps and its statistics need of its targets.
    type NodeStats: Send + Sync;
    /// What the contributions of a node refer to, where they are not complete by themselves.
    type Table: Default + Send + Sync;
    /// Buffers of a sweep, reused from feature to feature.
    type Scratch: Default + Send;
    type Ranking: TargetRanking<Self::Item>;
    type Bounds: GainBounds<Self>;
    type TinyKernel: TinyKernel<Self> + Send;
    type Groups: GroupSums<Self>;
    /// Whether rows have weights of their own.
    const WEIGHTED: bool;
    /// Whether nodes that are not pure often have no cut with a gain, as around medians.
    const OFTEN_GAINS_NOTHING: bool = false;
    /// Whether the criterion itself forbids some cuts, by the targets of a side.
    const FORBIDS_SIDES: bool = false;

    /// The gain up to which a cut of a node gains nothing, if that is frequent.
    fn nothing(&self, node: &Self::NodeStats) -> Option<f64> {
        Self::OFTEN_GAINS_NOTHING.then(|| self.noise(node))
    }

    /// Describes the targets of a node; they ascend if the criterion ranks them. Reported
    /// statistics may depend on the order of the items by rounding; sums that decide between splits
    /// must not depend on it at all.
    fn describe(&self, items: &[Self::Item]) -> Self::NodeStats;

    /// Makes the table of a node. Targets ascend if the criterion ranks them.
    fn tabulate(&self, node: &Self::NodeStats, items: &[Self::Item], table: &mut Self::Table);

    /// True if all targets are equal, or no cut is allowed whatever the features: nothing to gain.
    fn is_pure(&self, node: &Self::NodeStats) -> bool;

    /// True if no cut of a node with these targets is allowed, although there may be something to
    /// gain.
    fn forbids_every_cut(&self, node: &Self::NodeStats) -> bool;

    fn rows(&self, node: &Self::NodeStats) -> usize;

    /// The number of rows without copies (`fit/repeats.rs`).
    fn distinct_rows(&self, node: &Self::NodeStats) -> usize {
        self.rows(node)
    }

    /// Whether trees store the weights of nodes.
    fn stores_weights(&self) -> bool {
        Self::WEIGHTED
    }

    fn weight(&self, node: &Self::NodeStats) -> f64;

    /// The loss of a node, averaged over its weight.
    fn impurity(&self, node: &Self::NodeStats) -> f64;

    /// How many numbers a leaf predicts.
    fn n_values(&self) -> usize;

    /// Appends the `n_values` numbers that this node predicts.
    fn write_value(&self, node: &Self::NodeStats, values: &mut Vec<f64>);

    /// What this row adds to the node's sums. `rank` is its rank among the node's targets, for
    /// criteria that rank them.
    fn contribution(
        &self,
        node: &Self::NodeStats,
        item: Self::Item,
        rank: impl FnOnce() -> usize,
    ) -> Self::Contribution;

    /// Offers the cuts of the rows, in the order of `contributions`, that could win the contest.
    /// Gains are in units of the node.
    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Self::NodeStats,
        table: &Self::Table,
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut Self::Scratch,
    );

    /// The gain of one cut of rows in any order; `None` if a rule forbids it.
    fn gain_of_cut(
        &self,
        node: &Self::NodeStats,
        table: &Self::Table,
        contributions: &[Self::Contribution],
        cut: &OneCut<'_>,
        scratch: &mut Self::Scratch,
    ) -> Option<f64>;

    /// Finds the gains of several cuts in one pass over the rows, if the criterion can; returns
    /// whether it can. `sides` has −1 for each cut that sends a row left, and 0 for the other cuts.
    /// `cut` returns the rules of a cut, given how many rows go left, unless that number forbids
    /// it. `found` receives for each cut how many rows go left, and the gain if the cut is allowed.
    fn gains_of_cuts<const L: usize>(
        &self,
        _node: &Self::NodeStats,
        _contributions: &[Self::Contribution],
        _sides: impl Iterator<Item = [i32; L]>,
        _cut: impl Fn(usize, usize) -> Option<OneCut<'static>>,
        _found: impl FnMut(usize, usize, Option<f64>),
    ) -> bool {
        false
    }

    /// Absolute error of this node's gains, in their units.
    fn noise(&self, node: &Self::NodeStats) -> f64;

    /// A gain of this node in units of the loss, summed over rows.
    fn loss_decrease(&self, node: &Self::NodeStats, gain: f64) -> f64;

    /// How the labels of a categorical feature are put in order in this node.
    fn label_order(&self, node: &Self::NodeStats) -> LabelOrder;

    /// How many numbers [`Criterion::label_numbers`] appends.
    fn n_label_numbers(&self) -> usize {
        1
    }

    /// Appends the numbers behind a target, whose means describe a label, and returns its weight.
    fn label_numbers(&self, item: Self::Item, numbers: &mut Vec<f64>) -> f64;
}
