//! HOT: how much the cuts of an order could gain at most, from a few thresholds. Most orders need no sweep then.
//!
//! The loss of a set around c is convex in c. So what the rows on the left gain when they leave the node's quantile m for a place of
//! their own is at most, interval by interval away from m, the slope where the interval begins times its width:
//!
//! ```text
//! targets    c₀ ───────── c₁ ─── m ─── c₃ ───────── c₄        the nearer to m, the denser
//! class            0         1      2        3
//! slope            ◄ c₁      ◄ m    m ►      c₃ ►             weight beyond minus weight on the way, if that is positive
//! ```
//!
//! and the same for those on the right. A row that comes to the left changes the slope of each class by an amount that its own class
//! tells. Slopes become gains now and then only: a row more or less changes a slope by its weight at most, which bounds
//! the cuts in between. Near the ends, where a few rows are all of a side, each cut is looked at.
//!
//! With weights, and in large nodes, rows only add to what there is up to each class, in integers, and a look makes slopes of those sums.
//!
//! Cost: some ten instructions a row, where the sweeps take several times that.

use super::screened_order::{CutRange, Same, ScreenedOrder, TagAt, Weights, half, neighbours};
use super::slopes::{
    CLASS_BITS, CLASS_TABLE, ClassTally, FewCounted, ManyCounted, Slopes, Summed, add_apart, by_class, class,
    direction, weight,
};
use crate::median::{Level, upper_place};
use crate::simd::{F32x16, F64x16, I16x16, LANES, MaskVector, Vector};

/// One for each of the numbers that are computed together.
pub(super) const CLASSES: usize = LANES;
/// Classes on either side of the quantile.
pub(super) const SIDE: usize = CLASSES / 2;
/// Where they begin and end, as shares of the ranks on that side: each is 1.6 times as wide as the one before.
const SHARES: [f64; SIDE + 1] = [0.0, 0.037, 0.06, 0.095, 0.153, 0.244, 0.39, 0.625, 1.0];
/// Rows that small integers can count.
const COUNTED: usize = i16::MAX as usize;
/// With weights, rows whose sums are kept in single precision.
const SINGLE_ROWS: usize = 2_048;

/// Small integers hold all widths if their sum is this many units,
const SHORT_RANGE: f64 = 32_000.0;
/// and the least of them at least so many.
const LEAST_WIDTH: f64 = 16.0;

/// Most bits of that weight.
const WEIGHT_BITS: u32 = 22;
/// So many such weights have a sum of 31 bits.
pub(super) const BATCH: usize = 1 << (31 - WEIGHT_BITS);

/// The screen of a node.
#[derive(Clone, Debug, Default)]
pub struct SlopeScreen {
    tags: Vec<u32>,
    precision: Precision,
    short: SlopeClasses<I16x16>,
    single: SlopeClasses<F32x16>,
    double: SlopeClasses<F64x16>,
    tally: ClassTally,
}

/// How slopes are kept, in the smallest numbers that do.
#[derive(Clone, Copy, Debug, Default)]
enum Precision {
    /// Each row adds to them what its class adds,
    #[default]
    Short,
    /// or to what there is up to each class.
    Single,
    Double,
}

impl SlopeScreen {
    /// Describes a node with these targets, in ascending order, and their weights.
    pub fn describe<W: Weights>(&mut self, level: Level, sorted: &[i64], weights: W) {
        let outline = Outline::new(level, sorted, weights);
        self.precision = outline.precision::<W>();
        let unit = outline.weight_unit::<W>();
        let sums = outline.tag(weights, unit, &mut self.tags);
        self.tally.describe(level, unit);
        match self.precision {
            Precision::Short => self.short.describe::<W>(&outline, outline.range / SHORT_RANGE, &sums),
            Precision::Single => self.single.describe::<W>(&outline, 1.0, &sums),
            Precision::Double => self.double.describe::<W>(&outline, 1.0, &sums),
        }
    }

    /// By rank: what a look needs to know of each row. Without weights, it fits in a byte.
    #[must_use]
    pub fn tags(&self) -> &[u32] {
        &self.tags
    }

    /// The most that any cut of this order can gain, as pinball loss in units of the grids.
    #[inline(always)]
    pub fn gain_bound(&self, order: &ScreenedOrder<impl Same, impl TagAt, impl Weights>) -> f64 {
        let mut most = 0.0;
        self.evaluate(order, |range| most = if range.bound > most { range.bound } else { most });
        most
    }

    /// Appends the ranges of this order that have all the cuts that could gain so much.
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

    #[inline(always)]
    fn evaluate<W: Weights>(&self, order: &ScreenedOrder<impl Same, impl TagAt, W>, visit: impl FnMut(CutRange)) {
        let (n_rows, tally) = (self.tags.len(), &self.tally);
        let one = |place: usize| (tally.ones[class((order.tag)(place))], 1);
        let weighted = |place: usize| {
            let tag = (order.tag)(place);
            (tally.masks[class(tag)].and(weight(tag)), i64::from(weight(tag)))
        };
        match self.precision {
            Precision::Short => {
                let contribution = |place: usize| self.short.contributions[class((order.tag)(place))];
                self.short.evaluate(n_rows, order, &Summed { contribution }, visit);
            }
            Precision::Single if W::DIFFER => {
                self.single.evaluate(n_rows, order, &FewCounted { tally, contribution: weighted }, visit);
            }
            Precision::Single => self.single.evaluate(n_rows, order, &FewCounted { tally, contribution: one }, visit),
            Precision::Double if W::DIFFER => {
                self.double.evaluate(n_rows, order, &ManyCounted(FewCounted { tally, contribution: weighted }), visit);
            }
            Precision::Double => {
                self.double.evaluate(n_rows, order, &ManyCounted(FewCounted { tally, contribution: one }), visit);
            }
        }
    }
}

/// A node's targets, class by class.
struct Outline {
    level: Level,
    n_rows: usize,
    total: f64,
    heaviest: f64,
    /// The rank of the quantile.
    quantile: usize,
    /// From each class's near end to its far end.
    widths: [f64; CLASSES],
    /// From the lowest target to the highest: the sum of all widths.
    range: f64,
}

impl Outline {
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
        let least_width = self.range / SHORT_RANGE * LEAST_WIDTH;
        // Twice, for the neighbours of a cut.
        if !W::DIFFER
            && 2.0 * slope <= I16x16::EXACT
            && !self.widths.iter().any(|&width| 0.0 < width && width < least_width)
        {
            Precision::Short
        } else if self.n_rows < if W::DIFFER { SINGLE_ROWS } else { COUNTED } {
            Precision::Single
        } else {
            Precision::Double
        }
    }

    /// Of the weights in tags.
    fn weight_unit<W: Weights>(&self) -> f64 {
        if W::DIFFER { self.heaviest / f64::from((1 << self.weight_bits()) - 1) } else { 1.0 }
    }

    /// So many that sums between two looks, or of all rows if there are few, fit in 31.
    fn weight_bits(&self) -> u32 {
        if self.n_rows < SINGLE_ROWS {
            WEIGHT_BITS.min(31 - (usize::BITS - self.n_rows.leading_zeros()))
        } else {
            WEIGHT_BITS
        }
    }

    /// Writes the tag of each rank, with its weight in these units, and returns the weight of each class.
    ///
    /// Ranks below the quantile have the number of their class, those above one more than it; between them is the quantile itself.
    fn tag<W: Weights>(&self, weights: W, unit: f64, tags: &mut Vec<u32>) -> [f64; CLASSES + 1] {
        let per_unit = 1.0 / unit;
        tags.clear();
        std::array::from_fn(|own| {
            let end = match own {
                SIDE => self.quantile + 1,
                below if below < SIDE => ends(below, self.quantile, self.n_rows).0,
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

/// A node's classes, and what all its orders need to know of them. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
struct SlopeClasses<L> {
    /// What a row of weight one on the left adds to the slopes there, by its class.
    contributions: [L; CLASS_TABLE],
    /// The level that they are for.
    level: Option<Level>,
    /// The slopes of all rows together.
    node: L,
    /// From each class's near end to its far end.
    widths: L,
    /// Most that a row can change a slope by.
    reach: f64,
    /// What a unit of slope times width is as pinball loss, and a little more.
    unit: f64,
    /// Room for the rounding of sums, as pinball loss.
    slack: f64,
}

impl<L: Vector> SlopeClasses<L> {
    /// Widths become whole numbers of `width_unit` if the lanes hold no others, rounded up. `sums` are the weights of the classes.
    fn describe<W: Weights>(&mut self, outline: &Outline, width_unit: f64, sums: &[f64; CLASSES + 1]) {
        let &Outline { level, n_rows, total, heaviest, widths, range, .. } = outline;
        if self.level.replace(level) != Some(level) {
            let contribution = |row: usize, class: usize| direction(class) * level.slope(row <= class);
            self.contributions = by_class(|row| L::new(std::array::from_fn(|class| contribution(row, class))));
        }
        self.node = L::default();
        for (&weight, contribution) in sums.iter().zip(self.contributions) {
            self.node = self.node.plus(L::splat(weight).times(contribution));
        }
        let (below, whole) = (level.numerator() as f64, level.denominator() as f64);
        self.widths = L::new(widths.map(|width| (width / width_unit).ceil()));
        self.reach = heaviest * below.max(whole - below);
        self.unit = (1.0 + L::ROUNDING + 4.0 * f64::EPSILON) * width_unit / whole;
        let is_exact = !W::DIFFER && whole * total <= L::EXACT;
        // Of the slopes of the node and of a side, each made of few terms; and of the tags' weights, half a unit each, on both sides.
        let (rounding, tags) = (64.0 * total / L::EXACT, n_rows as f64 * outline.weight_unit::<W>());
        self.slack = if is_exact { 0.0 } else { (rounding + if W::DIFFER { tags } else { 0.0 }) * range };
    }

    /// Calls `visit` for ranges that have all cuts.
    #[inline(always)]
    fn evaluate(
        &self,
        n_rows: usize,
        order: &ScreenedOrder<impl Same, impl TagAt, impl Weights>,
        rows: &impl Slopes<L>,
        visit: impl FnMut(CutRange),
    ) {
        // Apart, because calls in a loop keep the compiler from keeping slopes in registers.
        if order.is_tied(n_rows) {
            self.evaluate_ranges::<true, _, _>(n_rows, order, rows, visit);
        } else {
            self.evaluate_ranges::<false, _, _>(n_rows, order, rows, visit);
        }
    }

    #[inline(always)]
    fn evaluate_ranges<const TIED: bool, R: Slopes<L>, W: Weights>(
        &self,
        n_rows: usize,
        order: &ScreenedOrder<impl Same, impl TagAt, W>,
        rows: &R,
        mut visit: impl FnMut(CutRange),
    ) {
        let (first, last) = order.cuts;
        let neighbours = neighbours::<W>(n_rows);
        let (mut left, mut place, mut start) = (rows.none(), 0, first);
        // Stretches since the last one without a cut. Where there are many, it is asked now and then only: values are far to fetch.
        let mut with_cuts = 0usize;
        while start <= last {
            let mut half = half(start, n_rows, neighbours);
            if TIED && (with_cuts < 4 || with_cuts.is_multiple_of(8)) {
                let next = order.tied_range(start, half, n_rows, neighbours);
                with_cuts = if next.0 == start { with_cuts } else { 0 };
                (start, half) = next;
                if start > last {
                    return;
                }
            }
            with_cuts += 1;
            let middle = start + half;
            left = if TIED { add_apart(rows, left, place..middle) } else { rows.add(left, place..middle) };
            place = middle;
            let slopes = rows.slopes(left);
            let gain = if half == 0 { self.gain(slopes) } else { self.gain_nearby(slopes, self.reach * half as f64) };
            let bound = gain * self.unit + self.slack;
            visit(CutRange { first: start, last: (middle + half).min(last), bound });
            start = middle + half + 1;
        }
    }

    /// What can be gained with these slopes on the left.
    #[inline(always)]
    fn gain(&self, slopes: L) -> f64 {
        self.widths.dot(slopes.max_zero().plus(self.node.minus(slopes).max_zero()))
    }

    /// The same with all slopes larger by `reach`.
    #[inline(always)]
    fn gain_nearby(&self, slopes: L, reach: f64) -> f64 {
        let reach = L::splat(reach);
        let (left, right) = (slopes.plus(reach).max_zero(), self.node.minus(slopes).plus(reach).max_zero());
        self.widths.dot(left.plus(right))
    }
}

/// The ranks of a class's ends, the one near the quantile first. Ranks of the class are those from end to end without the near one.
fn ends(class: usize, quantile: usize, n_rows: usize) -> (usize, usize) {
    // One rank at least, so that those of few rows have classes of their own.
    let distance = |rows: usize, i: usize| ((rows as f64 * SHARES[i]).ceil() as usize).max(i).min(rows);
    if class < SIDE {
        let i = SIDE - 1 - class;
        (quantile - distance(quantile, i), quantile - distance(quantile, i + 1))
    } else {
        let (i, ranks_above) = (class - SIDE, n_rows - 1 - quantile);
        (quantile + distance(ranks_above, i), quantile + distance(ranks_above, i + 1))
    }
}
