//! HOT: the slope screen: upper bounds on the gains of an order's cuts, at a fraction of a sweep's
//! cost.
//!
//! ```text
//! targets    c₀ ───────── c₁ ─── m ─── c₃ ───────── c₄     m: the node's quantile; classes are
//! class            0         1      2        3             narrower near it (drawn: 4 of the 16)
//! slope at                ◄ c₁   ◄ m m ►     c₃ ►          each class's end near m
//!
//! describe(node):
//!     widths, tags, node_slopes ← classes of the ranks around m
//! evaluate(order):
//!     slopes ← 0
//!     for each range of cuts [start, start + 2h]:         h = 0 near the ends, larger between them
//!         slopes += contributions of the rows up to the middle cut
//!         change ← h · the most that one row changes a slope
//!         bound  ← Σ width · (max(0, slopes + change) + max(0, node_slopes − slopes + change))
//! ```
//!
//! The code departs from this in three points:
//!
//! 1. With weights, and in large nodes, rows add to integer counts, which each evaluation converts
//!    to slopes (`slopes.rs`). Only where slopes and widths fit in 16 bits do rows add slopes.
//! 2. Ranges within a run of equal values are skipped (`screened_order.rs`).
//! 3. Widths are rounded up, and a bound has room for the rounding of slopes and weights.
//!
//! Cost: about ten instructions per row, several times less than a sweep; one tag per row is read.
//! `README.md` proves the bound; `tests.rs::no_cut_gains_more_than_the_screen_says` tests it.

use super::screened_order::{CutRange, Same, ScreenedOrder, TagAt, Weights, half_length, range_shift};
use super::slopes::{
    BatchedCounts, CLASS_BITS, CLASS_TABLE, ClassCounts, ClassTally, SlopeSums, SummedSlopes, add_outlined, by_class,
    class, direction, weight,
};
use crate::median::{Level, upper_place};
use crate::simd::{F32x16, F64x16, I16x16, LANES, MaskVector, Vector};

/// Classes of ranks, one per lane.
pub(super) const CLASSES: usize = LANES;
/// Number of classes on either side of the quantile.
pub(super) const CLASSES_PER_SIDE: usize = CLASSES / 2;
/// Boundaries of the classes of one side, from the quantile outwards, as shares of the ranks on
/// that side: each boundary is 1.6 times as far out as the one before.
const BOUNDARIES: [f64; CLASSES_PER_SIDE + 1] = [0.0, 0.037, 0.06, 0.095, 0.153, 0.244, 0.39, 0.625, 1.0];
/// Number of rows that 16-bit integers can count.
const MAX_I16_COUNT: usize = i16::MAX as usize;
/// With weights, nodes of fewer rows than this compute slopes in single precision.
const F32_WEIGHTED_ROWS: usize = 2_048;

/// Sum of all widths, in their unit, where they are 16-bit integers.
const I16_RANGE: f64 = 32_000.0;
/// Widths of fewer units than this, other than 0, would lose too much by rounding up to a 16-bit
/// integer.
const MIN_I16_WIDTH: f64 = 16.0;

/// Most bits of the weight in a tag.
const WEIGHT_BITS: u32 = 22;
/// The sum of this many such weights fits in 31 bits.
pub(super) const BATCH: usize = 1 << (31 - WEIGHT_BITS);

/// The screen of a node. Its memory is reused from node to node.
#[derive(Clone, Debug, Default)]
pub struct SlopeScreen {
    /// By rank: the row's class, and its weight in the bits above.
    tags: Vec<u32>,
    /// Only the classes of this precision are up to date.
    precision: Precision,
    in_i16: SlopeClasses<I16x16>,
    in_f32: SlopeClasses<F32x16>,
    in_f64: SlopeClasses<F64x16>,
    tally: ClassTally,
}

/// The numbers that slopes are computed in: the narrowest that hold them.
#[derive(Clone, Copy, Debug, Default)]
enum Precision {
    /// Each row adds its class's contribution to the slopes.
    #[default]
    I16,
    /// Each row adds to integer counts, which are converted to slopes where a bound is evaluated.
    F32,
    /// As with `F32`, for more rows than the integers can count: in batches.
    F64,
}

impl SlopeScreen {
    /// Describes a node with these targets, in ascending order, and their weights.
    pub fn describe<W: Weights>(&mut self, level: Level, sorted: &[i64], weights: W) {
        let classes = TargetClasses::new(level, sorted, weights);
        self.precision = classes.precision::<W>();
        let unit = classes.weight_unit::<W>();
        let sums = classes.tag(weights, unit, &mut self.tags);
        self.tally.describe(level, unit);
        match self.precision {
            Precision::I16 => self.in_i16.describe::<W>(&classes, classes.range / I16_RANGE, &sums),
            Precision::F32 => self.in_f32.describe::<W>(&classes, 1.0, &sums),
            Precision::F64 => self.in_f64.describe::<W>(&classes, 1.0, &sums),
        }
    }

    /// By rank: the class tags of the node's rows. Without weights, a tag fits in a byte.
    #[must_use]
    pub fn tags(&self) -> &[u32] {
        &self.tags
    }

    /// An upper bound on the gains of this order's cuts, as pinball loss in units of the grids.
    #[inline(always)]
    pub fn gain_bound(&self, order: &ScreenedOrder<impl Same, impl TagAt, impl Weights>) -> f64 {
        let mut most = 0.0;
        self.evaluate(order, |range| most = if range.bound > most { range.bound } else { most });
        most
    }

    /// Appends ranges that contain every cut of this order that could gain at least `gain`.
    #[inline(always)]
    pub fn ranges_that_could_gain(
        &self,
        gain: f64,
        order: &ScreenedOrder<impl Same, impl TagAt, impl Weights>,
        ranges: &mut Vec<CutRange>,
    ) {
        self.evaluate(order, |range| {
            if range.bound >= gain {
                ranges.push(range);
            }
        });
    }

    /// Calls `visit` for ranges that contain all cuts, with their bounds.
    #[inline(always)]
    fn evaluate<W: Weights>(&self, order: &ScreenedOrder<impl Same, impl TagAt, W>, visit: impl FnMut(CutRange)) {
        let (n_rows, tally) = (self.tags.len(), &self.tally);
        let one = |place: usize| (tally.ones[class((order.tag)(place))], 1);
        let weighted = |place: usize| {
            let tag = (order.tag)(place);
            (tally.masks[class(tag)].and(weight(tag)), i64::from(weight(tag)))
        };
        match self.precision {
            Precision::I16 => {
                let contribution = |place: usize| self.in_i16.contributions[class((order.tag)(place))];
                self.in_i16.evaluate(n_rows, order, &SummedSlopes { contribution }, visit);
            }
            Precision::F32 if W::DIFFER => {
                self.in_f32.evaluate(n_rows, order, &ClassCounts { tally, contribution: weighted }, visit);
            }
            Precision::F32 => self.in_f32.evaluate(n_rows, order, &ClassCounts { tally, contribution: one }, visit),
            Precision::F64 if W::DIFFER => {
                self.in_f64.evaluate(
                    n_rows,
                    order,
                    &BatchedCounts(ClassCounts { tally, contribution: weighted }),
                    visit,
                );
            }
            Precision::F64 => {
                self.in_f64.evaluate(n_rows, order, &BatchedCounts(ClassCounts { tally, contribution: one }), visit);
            }
        }
    }
}

/// The classes of a node's ranks.
struct TargetClasses {
    level: Level,
    n_rows: usize,
    /// Sum of all weights.
    total: f64,
    heaviest: f64,
    /// Rank of the quantile.
    quantile: usize,
    /// By class: the distance of the targets at its two ends.
    widths: [f64; CLASSES],
    /// From the lowest target to the highest: the sum of all widths.
    range: f64,
}

impl TargetClasses {
    fn new<W: Weights>(level: Level, sorted: &[i64], weights: W) -> Self {
        let n_rows = sorted.len();
        let weight = |rank: usize| weights.of(rank);
        let (total, heaviest) = if W::DIFFER {
            (0..n_rows).map(weight).fold((0.0, 0.0), |(sum, most), weight| (sum + weight, f64::max(most, weight)))
        } else {
            (n_rows as f64, 1.0)
        };
        let quantile = if W::DIFFER { level.rank(n_rows, total, weight) } else { upper_place(level, n_rows).0 };
        let width = |class: usize| {
            let (near, far) = ends(class, quantile, n_rows);
            (sorted[far] - sorted[near]).abs() as f64
        };
        let range = (sorted[n_rows - 1] - sorted[0]) as f64;
        Self { level, n_rows, total, heaviest, quantile, widths: std::array::from_fn(width), range }
    }

    fn precision<W: Weights>(&self) -> Precision {
        let slope = self.level.denominator() as f64 * self.total;
        let least_width = self.range / I16_RANGE * MIN_I16_WIDTH;
        // Twice, because the bound of a range adds at most as much again to a slope.
        if !W::DIFFER
            && 2.0 * slope <= I16x16::EXACT
            && !self.widths.iter().any(|&width| 0.0 < width && width < least_width)
        {
            Precision::I16
        } else if self.n_rows < if W::DIFFER { F32_WEIGHTED_ROWS } else { MAX_I16_COUNT } {
            Precision::F32
        } else {
            Precision::F64
        }
    }

    /// Unit of the weights in tags.
    fn weight_unit<W: Weights>(&self) -> f64 {
        if W::DIFFER { self.heaviest / f64::from((1 << self.weight_bits()) - 1) } else { 1.0 }
    }

    /// Bits of the weights in tags: sums of a batch, or of all rows where there are no batches, fit
    /// in 31 bits.
    fn weight_bits(&self) -> u32 {
        if self.n_rows < F32_WEIGHTED_ROWS {
            WEIGHT_BITS.min(31 - (usize::BITS - self.n_rows.leading_zeros()))
        } else {
            WEIGHT_BITS
        }
    }

    /// Writes the tag of each rank, with its weight in these units, and returns the weights by
    /// tagged class.
    ///
    /// Ranks below the quantile are tagged with the number of their class, and ranks above it with
    /// one more; the tag between them is the quantile's own.
    fn tag<W: Weights>(&self, weights: W, unit: f64, tags: &mut Vec<u32>) -> [f64; CLASSES + 1] {
        let per_unit = 1.0 / unit;
        tags.clear();
        std::array::from_fn(|own| {
            let end = match own {
                CLASSES_PER_SIDE => self.quantile + 1,
                below if below < CLASSES_PER_SIDE => ends(below, self.quantile, self.n_rows).0,
                above => ends(above - 1, self.quantile, self.n_rows).1 + 1,
            };
            let ranks = tags.len()..end;
            if !W::DIFFER {
                tags.resize(end, 1 << CLASS_BITS | own as u32);
                return ranks.len() as f64;
            }
            let mut sum = 0.0;
            tags.extend(ranks.map(|rank| {
                let weight = weights.of(rank);
                sum += weight;
                ((weight * per_unit).round_ties_even() as u32) << CLASS_BITS | own as u32
            }));
            sum
        })
    }
}

/// What all orders of a node share. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
struct SlopeClasses<V> {
    /// By tagged class: what a row of weight one on the left adds to the slopes of the left side.
    contributions: [V; CLASS_TABLE],
    /// The level that `contributions` are for.
    level: Option<Level>,
    /// The slopes of all rows. Those of the right side are `node_slopes` minus those of the left.
    node_slopes: V,
    /// By class: the distance of the targets at its two ends.
    widths: V,
    /// The most that one row can change a slope by.
    max_change: f64,
    /// Pinball loss per unit of slope times width, with room for the rounding of the product.
    loss_per_unit: f64,
    /// Room for the rounding of slopes and of the tags' weights, as pinball loss.
    slack: f64,
}

impl<V: Vector> SlopeClasses<V> {
    /// Widths are rounded up to multiples of `width_unit`. `sums` are the weights by tagged class.
    fn describe<W: Weights>(&mut self, classes: &TargetClasses, width_unit: f64, sums: &[f64; CLASSES + 1]) {
        let &TargetClasses { level, n_rows, total, heaviest, widths, range, .. } = classes;
        if self.level.replace(level) != Some(level) {
            let contribution = |row: usize, class: usize| direction(class) * level.slope(row <= class);
            self.contributions = by_class(|row| V::new(std::array::from_fn(|class| contribution(row, class))));
        }
        self.node_slopes = V::default();
        for (&weight, contribution) in sums.iter().zip(self.contributions) {
            self.node_slopes = self.node_slopes.plus(V::splat(weight).times(contribution));
        }
        let (below, whole) = (level.numerator() as f64, level.denominator() as f64);
        self.widths = V::new(widths.map(|width| (width / width_unit).ceil()));
        self.max_change = heaviest * below.max(whole - below);
        self.loss_per_unit = (1.0 + V::ROUNDING + 4.0 * f64::EPSILON) * width_unit / whole;
        let is_exact = !W::DIFFER && whole * total <= V::EXACT;
        // Rounding of the slopes of the node and of a side, sums of few terms each; and of the
        // tags' weights, half a unit per row on either side.
        let (rounding, tags) = (64.0 * total / V::EXACT, n_rows as f64 * classes.weight_unit::<W>());
        self.slack = if is_exact { 0.0 } else { (rounding + if W::DIFFER { tags } else { 0.0 }) * range };
    }

    /// Calls `visit` for ranges that contain all cuts, with their bounds.
    #[inline(always)]
    fn evaluate(
        &self,
        n_rows: usize,
        order: &ScreenedOrder<impl Same, impl TagAt, impl Weights>,
        rows: &impl SlopeSums<V>,
        visit: impl FnMut(CutRange),
    ) {
        // Compiled twice: calls of `same` in the loop would keep the slopes out of registers.
        if order.has_long_runs(n_rows) {
            self.evaluate_ranges::<true, _, _>(n_rows, order, rows, visit);
        } else {
            self.evaluate_ranges::<false, _, _>(n_rows, order, rows, visit);
        }
    }

    #[inline(always)]
    fn evaluate_ranges<const HAS_RUNS: bool, R: SlopeSums<V>, W: Weights>(
        &self,
        n_rows: usize,
        order: &ScreenedOrder<impl Same, impl TagAt, W>,
        rows: &R,
        mut visit: impl FnMut(CutRange),
    ) {
        let (first, last) = order.cuts;
        let range_shift = range_shift::<W>(n_rows);
        let (mut left, mut place, mut start) = (rows.empty(), 0, first);
        // Ranges since the last one that held no cut. Where most ranges hold one, runs are looked
        // for less often: reading values costs cache misses.
        let mut n_since_run = 0usize;
        while start <= last {
            let mut half = half_length(start, n_rows, range_shift);
            if HAS_RUNS && (n_since_run < 4 || n_since_run.is_multiple_of(8)) {
                let next = order.next_range(start, half, n_rows, range_shift);
                n_since_run = if next.0 == start { n_since_run } else { 0 };
                (start, half) = next;
                if start > last {
                    return;
                }
            }
            n_since_run += 1;
            let middle = start + half;
            left = if HAS_RUNS { add_outlined(rows, left, place..middle) } else { rows.add(left, place..middle) };
            place = middle;
            let slopes = rows.slopes(left);
            let gain =
                if half == 0 { self.gain(slopes) } else { self.gain_in_range(slopes, self.max_change * half as f64) };
            let bound = gain * self.loss_per_unit + self.slack;
            visit(CutRange { first: start, last: (middle + half).min(last), bound });
            start = middle + half + 1;
        }
    }

    /// The bound at a cut with these slopes on the left, in units of slope times width.
    #[inline(always)]
    fn gain(&self, slopes: V) -> f64 {
        self.widths.dot(slopes.max_zero().plus(self.node_slopes.minus(slopes).max_zero()))
    }

    /// The bound at all cuts whose slopes differ from these by at most `change`.
    #[inline(always)]
    fn gain_in_range(&self, slopes: V, change: f64) -> f64 {
        let change = V::splat(change);
        let (left, right) = (slopes.plus(change).max_zero(), self.node_slopes.minus(slopes).plus(change).max_zero());
        self.widths.dot(left.plus(right))
    }
}

/// The ranks of a class's ends, first the one near the quantile. The class has the ranks from end
/// to end without the near one.
fn ends(class: usize, quantile: usize, n_rows: usize) -> (usize, usize) {
    // At least one rank per class, so that each of few ranks has a class of its own.
    let distance = |rows: usize, i: usize| ((rows as f64 * BOUNDARIES[i]).ceil() as usize).max(i).min(rows);
    if class < CLASSES_PER_SIDE {
        let i = CLASSES_PER_SIDE - 1 - class;
        (quantile - distance(quantile, i), quantile - distance(quantile, i + 1))
    } else {
        let (i, ranks_above) = (class - CLASSES_PER_SIDE, n_rows - 1 - quantile);
        (quantile + distance(ranks_above, i), quantile + distance(ranks_above, i + 1))
    }
}
