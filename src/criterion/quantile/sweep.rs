//! HOT: one feature of a node: which cuts are swept, by which kernel, and which are offered.
//!
//! Gains of all cuts are written first. Those below the bar, which the highest one has raised by
//! then, are not offered. Cost: that of the kernel, and a pass over the gains.

use super::int256::Int256;
use super::rank_bitmap::Bitmap;
use super::screened_order::{CutRange, ScreenedOrder};
use super::weighted_sweep::{BitmapWithSums, WeightedBitmap};
use super::{
    FineTargets, GridWeights, Quantile, QuantileNode, RankTable, RankedSample, heap_sweep, median_sweep, pinball_sweep,
};
use crate::criterion::{ContributionsOf, Cuts};
use crate::median::{Level, RunningMedian};
use crate::params::MedianMethod;
use crate::split::{Contest, TIE};

/// With at least this many rows per cut, pointers settle at cuts only.
const FAR_APART: usize = 32;

/// Buffers of a sweep, reused from feature to feature.
#[derive(Default)]
pub(crate) struct QuantileScratch {
    pub(super) kernels: KernelBuffers,
    /// The ranks of the node's rows in a feature's order: of all of them, or of the first ones.
    pub(super) ranks: Vec<u32>,
    /// By number of rows on the left: whether the cut keeps the monotonic constraint. Empty without
    /// one.
    keeps_order: Vec<bool>,
    /// By number of rows on the left. Only entries of cuts that were swept for this feature count.
    pub(super) gains: Vec<i64>,
    /// The same in single precision, feature after feature, for small nodes with weights.
    pub(super) floats: Vec<f32>,
    /// The highest gain of each feature.
    pub(super) highest: Vec<i64>,
    /// The cuts of a feature that are swept.
    ranges: Vec<CutRange>,
    /// Those that are swept from the back, by their number of rows on the right.
    mirrored: Vec<CutRange>,
}

/// Buffers of the kernels.
#[derive(Default)]
pub(super) struct KernelBuffers {
    bitmap: Bitmap,
    weighted: WeightedBitmap,
    fine: BitmapWithSums<Int256>,
}

impl<T: RankedSample> Quantile<T> {
    /// Offers the cuts of a feature that could win. Without a constraint, the rows behind the last
    /// cut need not be known, except for the one that follows it.
    pub(super) fn sweep_ranks<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        ranks: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut QuantileScratch,
    ) {
        // All together: in large nodes each rank is a cache miss, and the processor overlaps them.
        scratch.ranks.resize(ranks.len(), 0);
        ranks.fill(0, &mut scratch.ranks);
        self.apply_constraint(node, table, cuts, scratch);
        let mut ranges = std::mem::take(&mut scratch.ranges);
        if T::WEIGHTED && table.is_screened && ranks.len() == node.rows {
            ranges.clear();
            self.screen(table, ranks, cuts, contest, scratch, &mut ranges);
        } else {
            Self::order(table, ranks, cuts).write_ranges(node.rows, FAR_APART, &mut ranges);
        }
        let (mut highest, mut unit) = (self.write_gains(table, &ranges, scratch), table.unit);
        let reaches_bar = highest >= units(contest.bar() - table.grid_error, unit);
        if reaches_bar && table.grid_error > 0.0 && is_in_doubt(table, &ranges, cuts, scratch) {
            (highest, unit) = self.write_fine_gains(node, table, &ranges, scratch);
        }
        if highest >= units(contest.bar(), unit) {
            raise_to_highest(unit, &ranges, cuts, contest, scratch, highest);
            Self::offer(node, (table, unit), &ranges, cuts, contest, scratch);
        }
        scratch.ranges = ranges;
    }

    /// Notes which cuts keep the monotonic constraint of the feature, if it has one. Cost: two
    /// running quantiles, O(rows · log rows).
    fn apply_constraint<F: Fn(usize, usize) -> bool>(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        cuts: &Cuts<F>,
        scratch: &mut QuantileScratch,
    ) {
        scratch.keeps_order.clear();
        if cuts.value_order.is_none() {
            return;
        }
        // On the grid, a quantile would be rounded: it may lie on the end of the range that the
        // node has inherited.
        let row = |&rank: &u32| {
            let target = self.targets[table.global_ranks[rank as usize] as usize];
            (target.y(), target.weight())
        };
        let left = self.running_quantiles(scratch.ranks.iter().map(row));
        let right = self.running_quantiles(scratch.ranks.iter().rev().map(row));
        scratch.keeps_order.push(false);
        scratch.keeps_order.extend(
            (1..node.rows).map(|n_left| cuts.allow_values(|| [left[n_left - 1], right[node.rows - n_left - 1]])),
        );
    }

    /// The quantile of the first 1, 2, 3, … rows.
    fn running_quantiles(&self, rows: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
        let mut running = RunningMedian::with_quantile(self.level.cost_above()).expect("levels have been checked");
        let quantile = |(y, weight)| {
            running.push(y, weight).expect("targets and weights have been checked");
            // Rows too light for the grid have no weight: without others there is no quantile.
            running.median().unwrap_or(f64::NAN)
        };
        rows.map(quantile).collect()
    }

    /// Finds the ranges of cuts that could win: bounds cost little compared with gains. The range
    /// with the largest bound is swept first and raises the bar.
    fn screen<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool>(
        &self,
        table: &RankTable,
        ranks: &P,
        cuts: &Cuts<F>,
        contest: &mut impl Contest,
        scratch: &mut QuantileScratch,
        ranges: &mut Vec<CutRange>,
    ) {
        let order = Self::order(table, ranks, cuts);
        let room = table.unit + table.grid_error;
        table.screen.ranges_that_could_gain(contest.bar() - room, &order, ranges);
        let Some(&favourite) = ranges.iter().max_by(|a, b| a.bound.total_cmp(&b.bound)) else { return };
        // Moving the rows before the range costs time, too.
        if cuts.min_weight > 0.0 || 4 * CutRange::cuts(ranges) < favourite.last {
            return;
        }
        self.write_gains(table, &[favourite], scratch);
        let allowed = (favourite.first..=favourite.last).filter(|&n_left| scratch.allow(cuts, n_left));
        if let Some(gain) = allowed.map(|n_left| scratch.gains[n_left]).max() {
            contest.raise(gain.max(0) as f64 * table.unit - table.grid_error);
            ranges.retain(|range| range.bound >= contest.bar() - room);
        }
    }

    /// Writes the gains of these ranges' cuts to the scratch, where the ranks are, and returns the
    /// highest.
    pub(super) fn write_gains(&self, table: &RankTable, ranges: &[CutRange], scratch: &mut QuantileScratch) -> i64 {
        let QuantileScratch { kernels, ranks, gains, mirrored, .. } = scratch;
        let n_rows = table.sorted.len();
        gains.resize(gains.len().max(n_rows), 0);
        if !T::WEIGHTED || ranks.len() < n_rows {
            let rank = |place: usize| ranks[place] as usize;
            self.each_gain(table, rank, ranges, kernels, |n_left, gain| gains[n_left] = gain);
            return highest(ranges, gains);
        }
        // Weighted rows take long to move. A gain is the same with left and right exchanged, so the
        // ranges of the back half are reached from the back, if the rows there are known.
        let (front, back) = ranges.split_at(ranges.partition_point(|range| range.first <= n_rows / 2));
        mirrored.clear();
        mirrored.extend(back.iter().rev().map(|range| CutRange::new(n_rows - range.last, n_rows - range.first)));
        for (ranges, is_mirrored) in [(front, false), (mirrored.as_slice(), true)] {
            let rank = |place: usize| ranks[if is_mirrored { n_rows - 1 - place } else { place }] as usize;
            self.each_gain(table, rank, ranges, kernels, |n_moved, gain| {
                gains[if is_mirrored { n_rows - n_moved } else { n_moved }] = gain;
            });
        }
        highest(ranges, gains)
    }

    /// The same on finer grids; also returns the unit of these gains.
    fn write_fine_gains(
        &self,
        node: &QuantileNode,
        table: &RankTable,
        ranges: &[CutRange],
        scratch: &mut QuantileScratch,
    ) -> (i64, f64) {
        let QuantileScratch { kernels, ranks, gains, .. } = scratch;
        let FineTargets { targets, unit } = table.fine.get_or_init(|| self.fine_targets(node, &table.global_ranks));
        let rank = |place: usize| ranks[place] as usize;
        targets.sweep(rank, ranges, &mut kernels.fine, |n_left, gain| gains[n_left] = gain);
        (highest(ranges, gains), *unit)
    }

    /// Calls `visit(n_left, gain)` for each cut of these ranges, which ascend, and possibly for
    /// others. Gains are in the table's units.
    #[inline(always)]
    pub(super) fn each_gain(
        &self,
        table: &RankTable,
        rank: impl Fn(usize) -> usize,
        ranges: &[CutRange],
        kernels: &mut KernelBuffers,
        mut visit: impl FnMut(usize, i64),
    ) {
        let RankTable { sorted, weights, weighted, unit, .. } = table;
        let last = ranges.last().map_or(0, |range| range.last);
        match self.method {
            MedianMethod::TwoHeaps => {
                let weight = |rank: usize| GridWeights::<T>::new(weights).units(rank);
                // The heaps' gains are in units of 1/denominator of the level. The units of the
                // other kernels are a power of two times that.
                let shift = ((self.level.denominator() as f64 * unit).round() as u128).ilog2();
                heap_sweep::sweep(self.level, sorted, weight, rank, |n_left, gain| {
                    if n_left <= last {
                        visit(n_left, (gain >> shift) as i64);
                    }
                });
            }
            MedianMethod::RankBitmap if T::WEIGHTED => weighted.sweep(rank, ranges, &mut kernels.weighted, visit),
            MedianMethod::RankBitmap if CutRange::cuts(ranges) * FAR_APART < last => {
                let bits = if self.level == Level::HALF { 0 } else { self.level.denominator_bits() };
                pinball_sweep::sweep_ranges(self.level, bits, sorted, rank, ranges, &mut kernels.bitmap, visit);
            }
            MedianMethod::RankBitmap if self.level == Level::HALF => {
                median_sweep::sweep(sorted, rank, last, &mut kernels.bitmap, visit);
            }
            MedianMethod::RankBitmap => {
                pinball_sweep::sweep(self.level, sorted, rank, last, &mut kernels.bitmap, visit);
            }
        }
    }

    /// Offers the cuts whose gains, in this unit, reach the bar.
    fn offer<F: Fn(usize, usize) -> bool, O: Contest>(
        node: &QuantileNode,
        (table, unit): (&RankTable, f64),
        ranges: &[CutRange],
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &QuantileScratch,
    ) {
        let counts_rows_alone = cuts.min_weight == 0.0;
        let is_heavy = |units: i64| units as f64 * node.weights.unit >= cuts.min_weight;
        let mut least = units(contest.bar(), unit);
        let (mut left, mut seen) = (0, 0);
        for n_left in n_lefts(ranges) {
            if !counts_rows_alone {
                let ranks = scratch.ranks[seen..n_left].iter();
                left += ranks.map(|&rank| GridWeights::<T>::new(&table.weights).units(rank as usize)).sum::<i64>();
                seen = n_left;
            }
            let gain = scratch.gains[n_left];
            if gain >= least
                && scratch.allow(cuts, n_left)
                && (counts_rows_alone || is_heavy(left) && is_heavy(node.units - left))
            {
                contest.offer(gain.max(0) as f64 * unit, cuts.cut(n_left));
                least = units(contest.bar(), unit);
            }
        }
    }

    /// The order of a feature, for the node's screen.
    #[inline(always)]
    pub(super) fn order<'a, F: Fn(usize, usize) -> bool, P: ContributionsOf<Self>>(
        table: &'a RankTable,
        ranks: &'a P,
        cuts: &'a Cuts<F>,
    ) -> ScreenedOrder<&'a F, impl Fn(usize) -> u32 + 'a, GridWeights<'a, T>> {
        ScreenedOrder {
            cuts: (cuts.first, cuts.last),
            same: &cuts.same,
            tag: |place| ranks.tag(place),
            weights: GridWeights::new(&table.weights),
        }
    }
}

impl QuantileScratch {
    /// Whether rows, values and constraint allow a cut; weights are the caller's.
    fn allow<F: Fn(usize, usize) -> bool>(&self, cuts: &Cuts<F>, n_left: usize) -> bool {
        cuts.allow(n_left) && self.keeps_order.get(n_left).is_none_or(|&keeps| keeps)
    }
}

impl RankTable {
    /// Whether the error of the grids decides between gains like this one, rather than the
    /// tolerance for ties.
    pub(super) fn is_in_doubt(&self, gain: f64) -> bool {
        self.grid_error > 0.0 && gain * TIE < self.grid_error
    }
}

/// The least gain, in these units, that reaches this bar.
fn units(bar: f64, unit: f64) -> i64 {
    (bar / unit).floor() as i64
}

/// The highest gain of the cuts in these ranges.
fn highest(ranges: &[CutRange], gains: &[i64]) -> i64 {
    let highest = |range: &CutRange| gains[range.first..=range.last].iter().fold(i64::MIN, |a, &b| a.max(b));
    ranges.iter().map(highest).fold(i64::MIN, i64::max)
}

/// Whether the highest gain of the cuts that are allowed is in doubt. Gains between equal values
/// may be far higher. With a least weight per side, every gain counts as doubtful.
fn is_in_doubt<F: Fn(usize, usize) -> bool>(
    table: &RankTable,
    ranges: &[CutRange],
    cuts: &Cuts<F>,
    scratch: &QuantileScratch,
) -> bool {
    let allowed = n_lefts(ranges).filter(|&n_left| scratch.allow(cuts, n_left));
    let highest = allowed.map(|n_left| scratch.gains[n_left]).max();
    cuts.min_weight > 0.0 || highest.is_some_and(|highest| table.is_in_doubt(highest as f64 * table.unit))
}

/// Raises the bar to the highest gain if its cut is allowed, so that fewer cuts are offered.
fn raise_to_highest<F: Fn(usize, usize) -> bool, O: Contest>(
    unit: f64,
    ranges: &[CutRange],
    cuts: &Cuts<F>,
    contest: &mut O,
    scratch: &QuantileScratch,
    highest: i64,
) {
    let best = n_lefts(ranges).find(|&n_left| scratch.gains[n_left] == highest);
    if cuts.min_weight == 0.0 && best.is_some_and(|n_left| scratch.allow(cuts, n_left)) {
        contest.raise(highest.max(0) as f64 * unit);
    }
}

/// All cuts of these ranges, by their number of rows on the left.
fn n_lefts(ranges: &[CutRange]) -> impl Iterator<Item = usize> + '_ {
    ranges.iter().flat_map(|range| range.first..=range.last)
}
