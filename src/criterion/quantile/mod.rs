//! Absolute error and quantiles: the loss of a node around its median, or around another quantile.
//!
//! What counts of a row is its rank among the node's targets. Rows therefore carry their global
//! rank, the rank in the whole fit, and targets are stored by global rank. Each node numbers its
//! own rows anew from the fit's order of the targets, which is partitioned like one more column.
//! The kernels work in integers on the node's grid: gains don't depend on the order of the rows,
//! and an offset of the targets is removed before anything is summed up. `README.md` in this folder
//! explains the kernels.
//!
//! Cost: O(rows) per feature without weights; O(rows · log rows) in the worst case of weights and
//! orders.

mod bounds;
pub mod few_rows;
pub mod gaps;
pub mod heap_sweep;
pub mod int256;
pub mod median_sweep;
pub mod pinball_sweep;
pub mod rank_bitmap;
pub mod screen;
pub mod screened_order;
mod slopes;
mod sweep;
#[cfg(test)]
mod tests;
mod tiny;
pub mod weighted_sweep;

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32};

use self::bounds::QuantileBounds;
use self::few_rows::{FEW_ROWS, FewRows};
use self::int256::Int256;
use self::screen::SlopeScreen;
use self::screened_order::Weights;
use self::sweep::QuantileScratch;
use self::tiny::TinyAbsoluteError;
use self::weighted_sweep::{TargetsWithSums, WeightedTargets};
use super::common_unit::{FineGrid, common_unit};
use super::{
    ContributionsOf, Criterion, Cuts, GainBounds, Grid, LabelOrder, NoGroups, NoTinyKernel, OneCut, Ranked, Sample,
    TinyKernel, Weighted,
};
use crate::contribution::{Carried, TagCell};
use crate::data::lowest_bit;
use crate::median::{Center, Level};
use crate::params::MedianMethod;
use crate::split::{Contest, Tournament};
use crate::wire::wire_struct;

/// Nodes up to this size sweep all features before they offer any cut; larger ones compute gain
/// bounds first.
const SMALL: usize = 64;
/// The same with weights, whose sweeps take longer: floats decide nearly all of those nodes.
const SMALL_WEIGHTED: usize = FEW_ROWS;

/// A node is coarse if the error of its gains on the grids exceeds this share of its deviations.
/// Without weights, no node of up to 16 rows is: their deviations sum up to the range or more.
const COARSE: f64 = 1.0 / (1u64 << 42) as f64;
/// The error of a coarse node's gains, as a share of its deviations: a few roundings of each row.
const FINE: f64 = 1.0 / (1u64 << 50) as f64;
/// By how many bits finer grids of targets and of weights are finer.
const FINER_BITS: [u32; 2] = [50, 48];

/// What a leaf reports as its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuantileReport {
    /// The absolute error: twice the pinball loss at the level one half.
    AbsoluteError,
    PinballLoss,
}

/// A target with or without a weight, and the types that depend on it.
pub(crate) trait RankedSample: Sample<f64> {
    /// Tags of weighted rows are wider.
    type TagCell: TagCell<Tag = u32>;
    type TinyKernel: TinyKernel<Quantile<Self>> + Send;
}

impl RankedSample for f64 {
    type TagCell = AtomicU8;
    type TinyKernel = TinyAbsoluteError;
}

impl RankedSample for Weighted<f64> {
    type TagCell = AtomicU32;
    type TinyKernel = NoTinyKernel;
}

/// Quantiles of targets with (`Weighted<f64>`) or without (`f64`) weights.
pub(crate) struct Quantile<T> {
    level: Level,
    report: QuantileReport,
    method: MedianMethod,
    /// By global rank, in ascending order of y.
    targets: Vec<T>,
    /// The grid of the unit that all targets are multiples of, if there is one.
    multiples: Option<Grid>,
    /// Whether sums of weights are exact in floats, as those of counts are.
    has_exact_weights: bool,
    /// By global rank: whether the row is a copy of another one. `None` if no row can be one.
    copies: Option<Vec<bool>>,
}

impl<T: RankedSample> Quantile<T> {
    /// For targets in ascending order.
    pub fn new(level: Level, report: QuantileReport, method: MedianMethod, targets: Vec<T>) -> Self {
        debug_assert!(targets.is_sorted_by(|a, b| a.y() <= b.y()));
        let multiples = common_unit(&targets.iter().map(|target| target.y()));
        let has_exact_weights = T::WEIGHTED && has_exact_sums(targets.iter().map(|target| target.weight()));
        Self { level, report, method, targets, multiples, has_exact_weights, copies: None }
    }

    /// By global rank: whether the row is a copy, which nodes don't count.
    pub fn with_copies(self, copies: Option<Vec<bool>>) -> Self {
        Self { copies, ..self }
    }

    fn is_copy(&self, global_rank: u32) -> bool {
        self.copies.as_ref().is_some_and(|copies| copies[global_rank as usize])
    }

    fn targets<'a>(&'a self, global_ranks: &'a [u32]) -> impl Iterator<Item = T> + Clone + 'a {
        global_ranks.iter().map(|&global_rank| self.targets[global_rank as usize])
    }

    /// The noise and the grid error of a node whose deviations sum up to this. `exact_units` is its
    /// weight if no weight was rounded. All are in units of its grids.
    ///
    /// Each target was rounded to a unit of its grid, and so was each weight. The rounding of the
    /// targets themselves does not count: an offset, which rounds them more, must not change the
    /// tree.
    fn noise(n_rows: usize, deviations: f64, values: FineGrid, exact_units: Option<i64>) -> (f64, f64) {
        let grid_error = exact_units.map_or(n_rows as f64 * 2f64.powi(52), |units| units as f64);
        let is_exact = values.is_exact && exact_units.is_some();
        if is_exact || grid_error <= deviations * COARSE || !deviations.is_finite() {
            return (grid_error, 0.0);
        }
        // What is left of the error on finer grids, or the rounding of the rows.
        let [_, left] = FINER_BITS.map(|bits| grid_error / (1u64 << bits) as f64);
        (left.max(deviations * FINE), grid_error)
    }

    /// The rows of a coarse node on finer grids.
    fn fine_targets(&self, node: &QuantileNode, global_ranks: &[u32]) -> FineTargets {
        let [bits, weight_bits] = FINER_BITS;
        let weight = |row: T| (node.weights.in_units(row.weight()) * (1u64 << weight_bits) as f64) as i128;
        let finer = |row: T| {
            let target = node.values.put_difference(row.y(), node.lowest, bits);
            (target, if T::WEIGHTED { weight(row) } else { 1 })
        };
        let mut targets = TargetsWithSums::default();
        targets.describe_rows(self.level, self.targets(global_ranks).map(finer));
        let bits = bits + if T::WEIGHTED { weight_bits } else { 0 };
        let unit = targets.unit() / 2f64.powi(bits as i32);
        FineTargets { targets, unit }
    }

    /// The reported loss per unit of pinball loss.
    fn factor(&self) -> f64 {
        match self.report {
            QuantileReport::AbsoluteError => 2.0,
            QuantileReport::PinballLoss => 1.0,
        }
    }
}

/// Whether sums of these weights are exact in floats, in any order: all are multiples of a power of
/// two, of which the sum has at most 2^52.
fn has_exact_sums(weights: impl Iterator<Item = f64>) -> bool {
    let (mut total, mut unit) = (0.0, f64::INFINITY);
    for weight in weights.filter(|&weight| weight > 0.0) {
        total += weight;
        unit = f64::min(unit, lowest_bit(weight));
    }
    total <= unit * 2f64.powi(52)
}

/// The quantile of a node, and the grids that its targets and weights are put on.
pub(crate) struct QuantileNode {
    rows: usize,
    distinct_rows: usize,
    lowest: f64,
    highest: f64,
    values: FineGrid,
    weights: Grid,
    /// Weight of all rows, on the grid.
    units: i64,
    quantile: f64,
    impurity: f64,
    /// Absolute error of the gains that decide, in units of the grids.
    noise: f64,
    /// The same of the gains on the grids, if the node is coarse; otherwise 0.
    grid_error: f64,
}

wire_struct!(QuantileNode {
    rows,
    distinct_rows,
    lowest,
    highest,
    values,
    weights,
    units,
    quantile,
    impurity,
    noise,
    grid_error
});

/// A node's targets in ascending order, on its grids.
#[derive(Default)]
pub(crate) struct RankTable {
    sorted: Vec<i64>,
    /// Empty without weights.
    weights: Vec<i64>,
    weighted: WeightedTargets,
    global_ranks: Vec<u32>,
    /// Of a coarse node.
    grid_error: f64,
    /// Made when a gain is in doubt.
    fine: OnceLock<FineTargets>,
    /// Only of nodes that are screened.
    screen: SlopeScreen,
    is_screened: bool,
    /// Only of small nodes with weights.
    few_rows: FewRows,
    /// Pinball loss per unit of the kernel's gains, in units of the grids.
    unit: f64,
}

/// A node's targets and weights on finer grids, and their table's unit.
struct FineTargets {
    targets: TargetsWithSums<Int256>,
    unit: f64,
}

/// Weights of a node's rows, on its grid; all are one if there are none.
struct GridWeights<'a, T>(&'a [i64], PhantomData<T>);

impl<T> Clone for GridWeights<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GridWeights<'_, T> {}

impl<'a, T: Sample<f64>> GridWeights<'a, T> {
    fn new(weights: &'a [i64]) -> Self {
        Self(weights, PhantomData)
    }

    #[inline(always)]
    fn units(self, rank: usize) -> i64 {
        if T::WEIGHTED { self.0[rank] } else { 1 }
    }
}

impl<T: Sample<f64>> Weights for GridWeights<'_, T> {
    const DIFFER: bool = T::WEIGHTED;

    #[inline(always)]
    fn of(&self, rank: usize) -> f64 {
        self.units(rank) as f64
    }
}

impl<T: RankedSample> Criterion for Quantile<T> {
    /// The global rank.
    type Item = u32;
    /// The rank within the node.
    type Contribution = u32;
    type NodeStats = QuantileNode;
    type Table = RankTable;
    type Scratch = QuantileScratch;
    type Ranking = Ranked;
    type Bounds = QuantileBounds;
    type TinyKernel = T::TinyKernel;
    type Groups = NoGroups;
    const WEIGHTED: bool = T::WEIGHTED;
    const OFTEN_GAINS_NOTHING: bool = true;

    fn describe(&self, global_ranks: &[u32]) -> QuantileNode {
        let n_rows = global_ranks.len();
        let y = |place: usize| self.targets[global_ranks[place] as usize].y();
        let (lowest, highest) = (y(0), y(n_rows - 1));
        let (center, weights, units) = if T::WEIGHTED {
            let rows = self.targets(global_ranks).map(|target| (target.y(), target.weight()));
            let (heaviest, weight) =
                rows.clone().fold((0.0, 0.0), |(most, sum): (f64, f64), (_, w)| (most.max(w), sum + w));
            // The grid is coarser where the level's denominator takes more bits.
            let room = 2f64.powi(62 - weighted_sweep::weight_bits(self.level) as i32);
            let weights = Grid::new(heaviest, weight * room);
            let units = rows.clone().map(|(_, weight)| weights.put(weight)).sum();
            let center = if self.has_exact_weights {
                Center::of_exact_weights(self.level, rows)
            } else {
                Center::of_weighted(self.level, rows)
            };
            (center, weights, units)
        } else {
            (Center::of_places(self.level, n_rows, y), Grid::ONE, n_rows as i64)
        };
        let loss = match self.report {
            QuantileReport::AbsoluteError => center.absolute_error(),
            QuantileReport::PinballLoss => center.pinball_loss(self.level),
        };
        let range = highest - lowest;
        let values = FineGrid::new(self.multiples, range, range * n_rows as f64);
        let deviations = center.absolute_error() / values.unit / weights.unit;
        // The noise of weights of one is that of no weights, so that the trees are the same.
        let is_whole = |row: T| weights.put(row.weight()) as f64 == weights.in_units(row.weight());
        let exact_units = (!T::WEIGHTED || self.targets(global_ranks).all(is_whole)).then_some(units);
        let (noise, grid_error) = Self::noise(n_rows, deviations, values, exact_units);
        let n_copies = match &self.copies {
            Some(copies) => global_ranks.iter().filter(|&&global_rank| copies[global_rank as usize]).count(),
            None => 0,
        };
        QuantileNode {
            rows: n_rows,
            distinct_rows: n_rows - n_copies,
            lowest,
            highest,
            values,
            weights,
            units,
            quantile: center.value,
            impurity: loss / (units as f64 * weights.unit),
            noise,
            grid_error,
        }
    }

    fn tabulate(&self, node: &QuantileNode, global_ranks: &[u32], table: &mut RankTable) {
        let RankTable { sorted, weights, weighted, screen, is_screened, few_rows, unit, .. } = table;
        sorted.clear();
        sorted.extend(self.targets(global_ranks).map(|target| node.values.put(target.y() - node.lowest)));
        if T::WEIGHTED {
            weights.clear();
            weights.extend(self.targets(global_ranks).map(|target| node.weights.put(target.weight())));
            weighted.describe(self.level, sorted, weights);
            *unit = weighted.unit();
        } else if self.level == Level::HALF {
            // The kernel's gains are absolute errors.
            *unit = 0.5;
        } else {
            *unit = pinball_sweep::unit(self.level);
        }
        // The heaps sweep every feature: the other kernels are compared with them.
        let small = if T::WEIGHTED { SMALL_WEIGHTED } else { SMALL };
        let is_fast = self.method != MedianMethod::TwoHeaps;
        *is_screened = is_fast && node.rows > small;
        if *is_screened {
            screen.describe(self.level, sorted, GridWeights::<T>::new(weights));
        } else if is_fast && T::WEIGHTED {
            few_rows.describe(self.level, sorted, weights);
        }
        table.grid_error = node.grid_error;
        table.fine.take();
        table.global_ranks.clear();
        table.global_ranks.extend_from_slice(global_ranks);
    }

    fn is_pure(&self, node: &QuantileNode) -> bool {
        node.lowest == node.highest
    }

    fn forbids_every_cut(&self, _: &QuantileNode) -> bool {
        false
    }

    fn rows(&self, node: &QuantileNode) -> usize {
        node.rows
    }

    fn distinct_rows(&self, node: &QuantileNode) -> usize {
        node.distinct_rows
    }

    fn stores_weights(&self) -> bool {
        T::WEIGHTED || self.copies.is_some()
    }

    fn weight(&self, node: &QuantileNode) -> f64 {
        node.units as f64 * node.weights.unit
    }

    fn impurity(&self, node: &QuantileNode) -> f64 {
        node.impurity
    }

    fn n_values(&self) -> usize {
        1
    }

    fn write_value(&self, node: &QuantileNode, values: &mut Vec<f64>) {
        values.push(node.quantile);
    }

    #[inline(always)]
    fn contribution(&self, _: &QuantileNode, _: u32, rank: impl FnOnce() -> usize) -> u32 {
        rank() as u32
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        ranks: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut QuantileScratch,
    ) {
        self.sweep_ranks(node, table, ranks, cuts, contest, scratch);
    }

    fn gain_of_cut(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut QuantileScratch,
    ) -> Option<f64> {
        let ranks = cut.left_first(ranks);
        let tags = <QuantileBounds as GainBounds<Self>>::class_tags(table);
        let ordered =
            Carried { items: &ranks, contribution: |rank| rank, tag: |place: usize| tags[ranks[place] as usize] };
        let mut contest = Tournament::new();
        contest.restart(self.noise(node), 0.0);
        self.sweep_ranks(node, table, &ordered, &cut.cuts(), &mut contest, scratch);
        contest.found().map(|found| found.top)
    }

    fn noise(&self, node: &QuantileNode) -> f64 {
        node.noise
    }

    fn loss_decrease(&self, node: &QuantileNode, gain: f64) -> f64 {
        self.factor() * gain * node.values.unit * node.weights.unit
    }

    fn label_order(&self, node: &QuantileNode) -> LabelOrder {
        LabelOrder::Quantile { level: self.level, of_node: node.quantile }
    }

    fn label_numbers(&self, global_rank: u32, numbers: &mut Vec<f64>) -> f64 {
        let target = self.targets[global_rank as usize];
        numbers.push(target.y());
        target.weight()
    }
}
