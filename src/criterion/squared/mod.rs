//! HOT: squared error.
//!
//! With the sums over the left child, `s` of w·(y − lowest y) and `w` of weights, and `S`, `W` over
//! the node,
//!
//! ```text
//! gain = d² / (w · (W − w)),   d = W·s − w·S      (times W, and in units of the node's grids)
//! ```
//!
//! which is the decrease of Σw(y − mean)² without the terms that are the same for every cut. `d` is
//! exact: both products are of integers on the node's grids. Most cuts are ruled out before this
//! division:
//!
//! 1. A multiplication and a comparison tell whether a gain can reach the bar:
//!    `(s − w·S/W)² ≥ bar · w · (W − w) / W²`.
//! 2. In nodes of 256 rows and more, whole blocks of 32 rows are skipped. Inside a block, a prefix
//!    sum differs from the line between the sums at the block's edges by at most a quarter of 32
//!    times the range of y.
//!
//! Both tests are upper bounds with room for their own rounding, so what they drop can't win.
//! `criterion/tests.rs` compares all cuts with the definition.
//!
//! Cost: O(rows) per feature. The larger the node, the smaller the share of its blocks that is
//! searched.

mod bounds;
mod groups;
mod running;
mod sweep;
mod tiny;
mod tiny_search;
mod tiny_weighted;

use self::bounds::{BoundBuffers, SquaredBounds};
use self::groups::SquaredGroups;
use self::sweep::{Screen, Sweep};
use self::tiny::TinySquaredError;
use self::tiny_weighted::TinyWeightedSquaredError;
use super::{
    ContributionsOf, Criterion, Cuts, GainBounds, Grid, LabelOrder, OneCut, Sample, TinyKernel, Unranked, Weighted,
};
use crate::split::Contest;
use crate::wire::wire_struct;

/// Up to this many rows of weight one, products of two sums stay below 2^63: rows² · 2^51.
const FITS_64_BITS: usize = 45;

/// What a leaf reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SquaredReport {
    /// The mean and the variance.
    Mean,
    /// The shares of two classes with codes 0 and 1, and their Gini impurity, which is twice the
    /// variance of the codes.
    TwoClasses,
}

/// Squared error over targets with (`Weighted<f64>`) or without (`f64`) weights.
pub(crate) struct SquaredError<T> {
    report: SquaredReport,
    sample: std::marker::PhantomData<T>,
}

impl<T> SquaredError<T> {
    pub fn new(report: SquaredReport) -> Self {
        Self { report, sample: std::marker::PhantomData }
    }
}

/// The targets of a node and their sums on its grids.
pub(crate) struct SquaredNode {
    rows: usize,
    lowest: f64,
    highest: f64,
    /// Grid of w·(y − lowest).
    values: Grid,
    /// Grid of w; without weights, the integers.
    weights: Grid,
    total: Sums,
    /// The largest w·(y − lowest) in units, rounded up: bounds what one row adds to a sum.
    largest_contribution: f64,
    mean: f64,
    impurity: f64,
}

wire_struct!(SquaredNode { rows, lowest, highest, values, weights, total, largest_contribution, mean, impurity });

impl SquaredNode {
    fn new<T: Sample<f64>>(items: &[T]) -> Self {
        match items {
            // Half of all nodes, in a fully grown tree.
            &[item] => Self::of_one(item),
            _ => Self::of_many(items),
        }
    }

    /// The heaviest row, the weight of all rows, and the grid of their weights.
    #[inline(always)]
    fn weights_of<T: Sample<f64>>(items: &[T]) -> (f64, f64, Grid) {
        if !T::WEIGHTED {
            return (1.0, items.len() as f64, Grid::ONE);
        }
        let (heaviest, weight) = (extremes(items, T::weight).1, sum_in_lanes(items, T::weight));
        (heaviest, weight, Grid::new(heaviest, weight))
    }

    /// The weight of a node with these rows.
    fn weight_of<T: Sample<f64>>(items: &[T]) -> f64 {
        let (.., grid) = Self::weights_of(items);
        items.iter().map(|item| grid.put(item.weight())).sum::<i64>() as f64 * grid.unit
    }

    /// A single row, which needs no sums because it is never swept.
    fn of_one<T: Sample<f64>>(item: T) -> Self {
        let weights = if T::WEIGHTED { Grid::new(item.weight(), item.weight()) } else { Grid::ONE };
        Self {
            rows: 1,
            lowest: item.y(),
            highest: item.y(),
            values: Grid::ONE,
            weights,
            total: Sums { value: 0, weight: weights.put(item.weight()) },
            largest_contribution: 0.0,
            mean: item.y(),
            impurity: 0.0,
        }
    }

    fn of_many<T: Sample<f64>>(items: &[T]) -> Self {
        Self::of_padded(items, items.len())
    }

    /// Of the first `rows` items. Any others repeat a target, with weight 0: they change no extreme
    /// and add 0 to each sum, so every bit is that of [`Self::of_many`]. In a number of items that
    /// the compiler knows, all loops are unrolled.
    #[inline(always)]
    fn of_padded<T: Sample<f64>>(items: &[T], rows: usize) -> Self {
        debug_assert!(items[rows..].iter().all(|item| item.weight() == 0.0 && item.y() == items[0].y()));
        let (lowest, highest) = extremes(items, T::y);
        let (heaviest, weight, weights) = Self::weights_of(items);
        let range = highest - lowest;
        let grids = NodeGrids { lowest, values: Grid::new(heaviest * range, weight * range), weights };
        let total = grids.sum(items);
        let weight = total.weight as f64 * grids.weights.unit;
        // Relative to the lowest value: there the mean keeps all its bits, however far from 0 it
        // is.
        let mean = total.value as f64 * grids.values.unit / weight;
        let squares = sum_in_lanes(items, |item| {
            let deviation = (item.y() - lowest) - mean;
            item.weight() * (deviation * deviation)
        });
        Self {
            rows,
            lowest,
            highest,
            values: grids.values,
            weights: grids.weights,
            total,
            largest_contribution: heaviest * range / grids.values.unit + 1.0,
            mean: lowest + mean,
            impurity: squares / weight,
        }
    }

    fn weight(&self) -> f64 {
        self.total.weight as f64 * self.weights.unit
    }

    /// The gain of a cut, exact but for three roundings; the same if left and right are exchanged.
    fn gain(&self, n_left: usize, sums: Sums, fits_64_bits: bool) -> f64 {
        let total = self.total;
        let few_rows = n_left.min(self.rows - n_left);
        let d = if fits_64_bits {
            let d = total.weight * sums.value - sums.weight * total.value;
            // Each row was rounded to a unit: means that are closer than that count as equal.
            if d.unsigned_abs() <= total.weight as u64 * few_rows as u64 { 0.0 } else { d as f64 }
        } else {
            let (value, weight) = (i128::from(sums.value), i128::from(sums.weight));
            let d = i128::from(total.weight) * value - weight * i128::from(total.value);
            if d.unsigned_abs() <= total.weight as u128 * few_rows as u128 { 0.0 } else { d as f64 }
        };
        if d == 0.0 {
            // Also for rows that are too light for the grid, where the quotient would be 0 / 0.
            return 0.0;
        }
        d * d / (sums.weight as f64 * (total.weight - sums.weight) as f64)
    }

    /// The mean of some of the node's rows.
    fn mean_of(&self, sums: Sums) -> f64 {
        self.lowest + sums.value as f64 * self.values.unit / (sums.weight as f64 * self.weights.unit)
    }

    /// Share of class 1 and its complement, each rounded once.
    fn shares(&self) -> [f64; 2] {
        let total = self.weight();
        let ones =
            if self.lowest == self.highest { self.lowest * total } else { self.total.value as f64 * self.values.unit };
        [(total - ones) / total, ones / total]
    }
}

/// Sums over the rows before a position, on the node's grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    value: i64,
    weight: i64,
}

wire_struct!(Sums { value, weight });

impl Sums {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, weight: self.weight + other.weight }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { value: self.value - other.value, weight: self.weight - other.weight }
    }
}

/// What a row adds to the sums.
pub(crate) trait SumContribution: Copy + Default + Send + Sync {
    const WEIGHTED: bool;
    fn new(sums: Sums) -> Self;
    fn sums(self) -> Sums;
}

/// A row of weight one: its value alone.
impl SumContribution for i64 {
    const WEIGHTED: bool = false;
    #[inline(always)]
    fn new(sums: Sums) -> Self {
        sums.value
    }
    #[inline(always)]
    fn sums(self) -> Sums {
        Sums { value: self, weight: 1 }
    }
}

impl SumContribution for Sums {
    const WEIGHTED: bool = true;
    #[inline(always)]
    fn new(sums: Sums) -> Self {
        sums
    }
    #[inline(always)]
    fn sums(self) -> Sums {
        self
    }
}

/// A target with or without a weight, and the types that go with it.
pub(crate) trait ValueSample: Sample<f64> {
    type Contribution: SumContribution;
    type Bounds: GainBounds<SquaredError<Self>>;
    type TinyKernel: TinyKernel<SquaredError<Self>> + Send;
}

impl ValueSample for f64 {
    type Contribution = i64;
    type Bounds = SquaredBounds;
    type TinyKernel = TinySquaredError;
}

impl ValueSample for Weighted<f64> {
    type Contribution = Sums;
    type Bounds = SquaredBounds;
    type TinyKernel = TinyWeightedSquaredError;
}

/// The rows, values and weights on the left of several cuts. `sides` has −1 for the cuts that send
/// a row left, and 0 for the others. Not inlined: the compiler keeps the sums in registers only
/// where the loop stands alone.
#[inline(never)]
fn left_sums<K: SumContribution, const L: usize>(
    contributions: &[K],
    sides: impl Iterator<Item = [i32; L]>,
) -> ([i32; L], [i64; L], [i64; L]) {
    let (mut rows, mut values, mut weights) = ([0; L], [0; L], [0; L]);
    for (sides, contribution) in sides.zip(contributions) {
        let sums = contribution.sums();
        for (rows, side) in rows.iter_mut().zip(&sides) {
            *rows -= side;
        }
        for (value, &side) in values.iter_mut().zip(&sides) {
            *value += sums.value & i64::from(side);
        }
        if K::WEIGHTED {
            for (weight, &side) in weights.iter_mut().zip(&sides) {
                *weight += sums.weight & i64::from(side);
            }
        }
    }
    (rows, values, weights)
}

/// The node's grids, and the number that is 0 on them.
#[derive(Clone, Copy)]
struct NodeGrids {
    lowest: f64,
    values: Grid,
    weights: Grid,
}

impl NodeGrids {
    #[inline(always)]
    fn put<T: Sample<f64>>(&self, item: T) -> Sums {
        let above = item.y() - self.lowest;
        if T::WEIGHTED {
            Sums { value: self.values.put(item.weight() * above), weight: self.weights.put(item.weight()) }
        } else {
            Sums { value: self.values.put(above), weight: 1 }
        }
    }

    /// Sum over some rows. Eight sums side by side let the compiler use vectors; the order of
    /// integer additions can't matter.
    #[inline(always)]
    fn sum<T: Sample<f64>>(&self, items: &[T]) -> Sums {
        let mut lanes = [Sums::default(); 8];
        let (chunks, rest) = items.as_chunks::<8>();
        for chunk in chunks {
            for (lane, &item) in lanes.iter_mut().zip(chunk) {
                *lane = lane.plus(self.put(item));
            }
        }
        let sum = lanes.into_iter().fold(Sums::default(), Sums::plus);
        rest.iter().fold(sum, |sum, &item| sum.plus(self.put(item)))
    }
}

/// Sums `term(item)` over eight lanes in a fixed order: the result is the same for every vector
/// width.
#[inline(always)]
fn sum_in_lanes<T: Copy>(items: &[T], term: impl Fn(T) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let (chunks, rest) = items.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &item) in lanes.iter_mut().zip(chunk) {
            *lane += term(item);
        }
    }
    for (lane, &item) in lanes.iter_mut().zip(rest) {
        *lane += term(item);
    }
    let [mut quarter, other] = [[lanes[0], lanes[1], lanes[2], lanes[3]], [lanes[4], lanes[5], lanes[6], lanes[7]]];
    quarter.iter_mut().zip(other).for_each(|(lane, other)| *lane += other);
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}

/// Buffers of a search, reused from node to node.
#[derive(Default)]
pub(crate) struct SquaredScratch {
    bounds: BoundBuffers,
    /// Sums up to the end of each block.
    edges: Vec<Sums>,
}

impl<T: ValueSample> SquaredError<T> {
    /// The gain of a cut with these sums on the left; `None` if a rule forbids it.
    #[inline(always)]
    fn gain_of_sums(node: &SquaredNode, left: Sums, cut: &OneCut<'_>) -> Option<f64> {
        let right = node.total.minus(left);
        let heavy_enough = |side: Sums| side.weight as f64 * node.weights.unit >= cut.min_weight;
        let keeps_order = || cut.cuts().allow_values(|| [left, right].map(|side| node.mean_of(side)));
        let fits_64_bits = !T::WEIGHTED && node.rows <= FITS_64_BITS;
        (heavy_enough(left) && heavy_enough(right) && keeps_order()).then(|| node.gain(cut.n_left, left, fits_64_bits))
    }
}

impl<T: ValueSample> Criterion for SquaredError<T> {
    type Item = T;
    type Contribution = T::Contribution;
    type NodeStats = SquaredNode;
    type Table = ();
    type Scratch = SquaredScratch;
    type Ranking = Unranked;
    type Bounds = T::Bounds;
    type TinyKernel = T::TinyKernel;
    type Groups = SquaredGroups;
    const WEIGHTED: bool = T::WEIGHTED;

    fn describe(&self, items: &[T]) -> SquaredNode {
        SquaredNode::new(items)
    }

    fn tabulate(&self, _: &SquaredNode, _: &[T], (): &mut ()) {}

    fn is_pure(&self, node: &SquaredNode) -> bool {
        node.lowest == node.highest
    }

    fn forbids_every_cut(&self, _: &SquaredNode) -> bool {
        false
    }

    fn rows(&self, node: &SquaredNode) -> usize {
        node.rows
    }

    fn weight(&self, node: &SquaredNode) -> f64 {
        node.weight()
    }

    fn impurity(&self, node: &SquaredNode) -> f64 {
        match self.report {
            SquaredReport::Mean => node.impurity,
            SquaredReport::TwoClasses => {
                let [zeros, ones] = node.shares();
                2.0 * zeros * ones
            }
        }
    }

    fn n_values(&self) -> usize {
        match self.report {
            SquaredReport::Mean => 1,
            SquaredReport::TwoClasses => 2,
        }
    }

    fn write_value(&self, node: &SquaredNode, values: &mut Vec<f64>) {
        match self.report {
            SquaredReport::Mean => values.push(node.mean),
            SquaredReport::TwoClasses => values.extend(node.shares()),
        }
    }

    #[inline(always)]
    fn contribution(&self, node: &SquaredNode, item: T, _: impl FnOnce() -> usize) -> T::Contribution {
        let grids = NodeGrids { lowest: node.lowest, values: node.values, weights: node.weights };
        T::Contribution::new(grids.put(item))
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &SquaredNode,
        (): &(),
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut SquaredScratch,
    ) {
        let fits_64_bits = !T::WEIGHTED && contributions.len() <= FITS_64_BITS;
        let screen = Screen::new(node, cuts.value_order);
        Sweep { node, contributions, cuts, contest, fits_64_bits, screen }.walk(&mut scratch.edges);
    }

    fn gain_of_cut(
        &self,
        node: &SquaredNode,
        (): &(),
        contributions: &[T::Contribution],
        cut: &OneCut<'_>,
        _: &mut SquaredScratch,
    ) -> Option<f64> {
        let mut left = Sums::default();
        for (contribution, &goes_left) in contributions.iter().zip(cut.goes_left) {
            let sums = contribution.sums();
            // A mask instead of a branch, which could not be predicted.
            let mask = -i64::from(goes_left);
            left.value += sums.value & mask;
            if T::WEIGHTED {
                left.weight += sums.weight & mask;
            }
        }
        if !T::WEIGHTED {
            left.weight = cut.n_left as i64;
        }
        Self::gain_of_sums(node, left, cut)
    }

    fn gains_of_cuts<const L: usize>(
        &self,
        node: &SquaredNode,
        contributions: &[T::Contribution],
        sides: impl Iterator<Item = [i32; L]>,
        cut: impl Fn(usize, usize) -> Option<OneCut<'static>>,
        mut found: impl FnMut(usize, usize, Option<f64>),
    ) -> bool {
        let (rows, values, weights) = left_sums(contributions, sides);
        for (lane, &rows) in rows.iter().enumerate() {
            let weight = if T::WEIGHTED { weights[lane] } else { i64::from(rows) };
            let (n_left, left) = (rows as usize, Sums { value: values[lane], weight });
            found(lane, n_left, cut(lane, n_left).and_then(|cut| Self::gain_of_sums(node, left, &cut)));
        }
        true
    }

    fn noise(&self, _: &SquaredNode) -> f64 {
        0.0
    }

    fn loss_decrease(&self, node: &SquaredNode, gain: f64) -> f64 {
        let factor = if self.report == SquaredReport::TwoClasses { 2.0 } else { 1.0 };
        factor * gain * node.values.unit / (node.total.weight as f64 * node.weights.unit) * node.values.unit
    }

    fn label_order(&self, _: &SquaredNode) -> LabelOrder {
        LabelOrder::Mean
    }

    #[inline]
    fn label_numbers(&self, item: T, numbers: &mut Vec<f64>) -> f64 {
        numbers.push(item.y());
        item.weight()
    }
}

/// Least and greatest of some numbers, none of them NaN. Lanes let the compiler use vectors.
#[inline(always)]
fn extremes<T: Copy>(items: &[T], number: impl Fn(T) -> f64) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    let (chunks, rest) = items.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &item) in low.iter_mut().zip(chunk) {
            *lane = lane.min(number(item));
        }
        for (lane, &item) in high.iter_mut().zip(chunk) {
            *lane = lane.max(number(item));
        }
    }
    let mut ends = (low[0], high[0]);
    if !chunks.is_empty() {
        ends = (low.into_iter().fold(low[0], f64::min), high.into_iter().fold(high[0], f64::max));
    }
    rest.iter().fold(ends, |(low, high), &item| (low.min(number(item)), high.max(number(item))))
}
