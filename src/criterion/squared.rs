//! HOT: squared error. With sums over the left child, `s` of w·(y − lowest y) and `w` of weights, and `S`, `W` over the node,
//!
//! ```text
//! gain = d² / (w · (W − w)),   d = W·s − w·S            (times W, and in units of the node's grids)
//! ```
//!
//! which is the decrease of Σw(y − mean)² without its parts that are the same for every cut. `d` is exact: both products
//! are of integers on the node's grids. Most positions never see this division. One multiply and compare tells whether
//! `(s − w·S/W)² ≥ bar · w · (W − w) / W²` can hold, and for nodes of 256 rows and more, whole blocks of 32 rows are
//! skipped: inside a block the prefix sum can't leave the sums at its edges by more than a quarter of 32 times the range of y.
//! Both tests are upper bounds with room for their own rounding, so what they drop can't win.
//!
//! Cost: O(rows) a feature; about 1 % of the blocks are looked into in large nodes, a sixth over an unlimited tree.

use super::fixed_point::Grid;
use super::{Criterion, Cuts, Sample, Summary, least_weight};
use crate::instructions::{Kernel, dispatch};
use crate::split::{Contest, Cut};

/// Rows whose prefix sums are looked at together.
const BLOCK: usize = 32;

/// Nodes from this size on skip blocks.
const LARGE: usize = 8 * BLOCK;

/// Up to this many rows of weight one, products of two sums stay below 2^63: rows² · 2^51.
const FITS_64_BITS: usize = 45;

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

/// What a leaf reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The mean and the variance.
    Mean,
    /// The shares of two classes coded 0 and 1, and their Gini impurity: twice the variance of the code.
    TwoClasses,
}

/// Squared error over targets with (`Weighted<f64>`) or without (`f64`) weights.
pub(crate) struct SquaredError<T> {
    report: Report,
    sample: std::marker::PhantomData<T>,
}

impl<T> SquaredError<T> {
    pub fn new(report: Report) -> Self {
        Self { report, sample: std::marker::PhantomData }
    }
}

/// The targets of a node and their sums on its grids.
pub(crate) struct Node {
    rows: usize,
    lowest: f64,
    highest: f64,
    /// Grid of w·(y − lowest).
    values: Grid,
    /// Grid of w; the integers themselves without weights.
    weights: Grid,
    total: Sums,
    /// Largest w·(y − lowest) in units, rounded up: bounds what one row can add to a sum.
    largest_step: f64,
    screen: Screen,
    mean: f64,
    impurity: f64,
}

impl Node {
    fn weight(&self) -> f64 {
        self.total.weight as f64 * self.weights.unit
    }

    /// Share of class 1 and its complement, each rounded once.
    fn shares(&self) -> [f64; 2] {
        let total = self.weight();
        let ones = if self.lowest == self.highest {
            self.lowest * total
        } else {
            self.total.value as f64 * self.values.unit
        };
        [(total - ones) / total, ones / total]
    }
}

/// Sums over the rows before a position, on the node's grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    value: i64,
    weight: i64,
}

impl Sums {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, weight: self.weight + other.weight }
    }
}

/// Sums before and including each row of a block.
#[derive(Default)]
struct Prefixes {
    values: [i64; BLOCK],
    weights: [i64; BLOCK],
}

impl Prefixes {
    #[inline(always)]
    fn at(&self, i: usize) -> Sums {
        Sums { value: self.values[i], weight: self.weights[i] }
    }
}

/// The node's grids, and how a row is put on them.
#[derive(Clone, Copy)]
struct Scale {
    lowest: f64,
    values: Grid,
    weights: Grid,
}

impl Scale {
    #[inline(always)]
    fn put<T: Sample<f64>>(&self, item: T) -> Sums {
        let above = item.y() - self.lowest;
        if T::WEIGHTED {
            Sums { value: self.values.put(item.weight() * above), weight: self.weights.put(item.weight()) }
        } else {
            Sums { value: self.values.put(above), weight: 1 }
        }
    }

    /// Sum over some rows. Eight sums side by side, so that the compiler can use vectors; their order can't matter.
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

/// Sums term(item) in f64 over eight lanes in a fixed order: the same result for every vector width.
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
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

impl<T: Sample<f64>> Criterion for SquaredError<T> {
    type Item = T;
    type Node = Node;
    /// Sums at the end of each block.
    type Scratch = Vec<Sums>;
    const WEIGHTED: bool = T::WEIGHTED;

    fn describe(&self, items: &[T]) -> Node {
        dispatch(Describe(items))
    }

    fn is_pure(&self, node: &Node) -> bool {
        node.lowest == node.highest
    }

    fn summary(&self, node: &Node) -> Summary {
        let impurity = match self.report {
            Report::Mean => node.impurity,
            Report::TwoClasses => {
                let [zeros, ones] = node.shares();
                2.0 * zeros * ones
            }
        };
        Summary { rows: node.rows, weight: node.weight(), impurity }
    }

    fn n_values(&self) -> usize {
        match self.report {
            Report::Mean => 1,
            Report::TwoClasses => 2,
        }
    }

    fn write_value(&self, node: &Node, values: &mut Vec<f64>) {
        match self.report {
            Report::Mean => values.push(node.mean),
            Report::TwoClasses => values.extend(node.shares()),
        }
    }

    fn sweep<F: Fn(usize, usize) -> bool>(
        &self,
        node: &Node,
        items: &[T],
        cuts: &Cuts<F>,
        contest: &mut Contest<Cut>,
        edges: &mut Vec<Sums>,
    ) {
        let mut sweep = Sweep::new(node, items, cuts, contest);
        if items.len() <= BLOCK {
            sweep.one_by_one();
        } else {
            dispatch(Walk { sweep, edges });
        }
    }

    fn noise(&self, _: &Node) -> f64 {
        0.0
    }

    fn loss_decrease(&self, node: &Node, gain: f64) -> f64 {
        let factor = if self.report == Report::TwoClasses { 2.0 } else { 1.0 };
        factor * gain * node.values.unit / (node.total.weight as f64 * node.weights.unit) * node.values.unit
    }
}

/// Describes the targets of a node, compiled for each level of instructions.
struct Describe<'a, T>(&'a [T]);

impl<T: Sample<f64>> Kernel for Describe<'_, T> {
    type Output = Node;
    #[inline(always)]
    fn run(self) -> Node {
        let items = self.0;
        let fold = |pick: fn(f64, f64) -> f64, start: f64| items.iter().fold(start, |acc, item| pick(acc, item.y()));
        let least = |a: f64, b: f64| if b < a { b } else { a };
        let most = |a: f64, b: f64| if b > a { b } else { a };
        let (lowest, highest) = (fold(least, f64::INFINITY), fold(most, f64::NEG_INFINITY));
        let (heaviest, weight) = if T::WEIGHTED {
            let heaviest = items.iter().fold(0.0, |acc, item| most(acc, item.weight()));
            (heaviest, sum_in_lanes(items, T::weight))
        } else {
            (1.0, items.len() as f64)
        };
        let range = highest - lowest;
        let scale = Scale {
            lowest,
            values: Grid::new(heaviest * range, weight * range),
            weights: if T::WEIGHTED { Grid::new(heaviest, weight) } else { Grid::ONE },
        };
        let total = scale.sum(items);
        let weight = total.weight as f64 * scale.weights.unit;
        let mean = if range == 0.0 { lowest } else { lowest + total.value as f64 * scale.values.unit / weight };
        let squares = sum_in_lanes(items, |item| {
            let deviation = item.y() - mean;
            item.weight() * (deviation * deviation)
        });
        let (sum, units) = (total.value as f64, total.weight as f64);
        Node {
            rows: items.len(),
            lowest,
            highest,
            values: scale.values,
            weights: scale.weights,
            total,
            largest_step: heaviest * range / scale.values.unit + 1.0,
            screen: Screen {
                mean: sum / units,
                weight: units,
                slack: sum * f64::EPSILON * 4.0,
                scale: (1.0 - SCREEN_SLACK) / (units * units),
                bar: 0.0,
            },
            mean,
            impurity: squares / weight,
        }
    }
}

/// One walk over the targets in a feature's order.
struct Sweep<'a, T, F> {
    node: &'a Node,
    scale: Scale,
    items: &'a [T],
    cuts: &'a Cuts<F>,
    contest: &'a mut Contest<Cut>,
    min_weight: f64,
    screen: Screen,
}

/// The walk itself, compiled for each level of instructions.
struct Walk<'a, T, F> {
    sweep: Sweep<'a, T, F>,
    edges: &'a mut Vec<Sums>,
}

impl<T: Sample<f64>, F: Fn(usize, usize) -> bool> Kernel for Walk<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(mut self) {
        if self.sweep.items.len() < LARGE {
            self.sweep.all_blocks();
        } else {
            self.sweep.promising_blocks(self.edges);
        }
    }
}

/// The test that most positions fail, in f64 and never too strict.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    /// S / W.
    mean: f64,
    /// W.
    weight: f64,
    /// bound on the error of s − w · mean.
    slack: f64,
    /// 1 / W², rounded down.
    scale: f64,
    /// The contest's bar times that.
    bar: f64,
}

impl Screen {
    /// |s − w · S/W|, rounded up.
    #[inline(always)]
    fn deviation(&self, sums: Sums) -> f64 {
        (sums.value as f64 - sums.weight as f64 * self.mean).abs() + self.slack
    }

    /// w · (W − w).
    #[inline(always)]
    fn balance(&self, sums: Sums) -> f64 {
        let weight = sums.weight as f64;
        weight * (self.weight - weight)
    }

    #[inline(always)]
    fn passes(&self, sums: Sums) -> bool {
        let deviation = self.deviation(sums);
        deviation * deviation >= self.bar * self.balance(sums)
    }
}

impl<'a, T: Sample<f64>, F: Fn(usize, usize) -> bool> Sweep<'a, T, F> {
    fn new(node: &'a Node, items: &'a [T], cuts: &'a Cuts<F>, contest: &'a mut Contest<Cut>) -> Self {
        let scale = Scale { lowest: node.lowest, values: node.values, weights: node.weights };
        let min_weight = least_weight::<f64, T>(cuts.min_weight);
        let mut sweep = Self { node, scale, items, cuts, contest, min_weight, screen: node.screen };
        sweep.renew_bar();
        sweep
    }

    fn renew_bar(&mut self) {
        self.screen.bar = self.contest.bar() * self.screen.scale;
    }

    /// Every position in turn: what pays for a single block or less.
    #[inline(never)]
    fn one_by_one(&mut self) {
        let mut sums = Sums::default();
        for (i, &item) in self.items[..self.items.len() - 1].iter().enumerate() {
            sums = sums.plus(self.scale.put(item));
            if self.screen.passes(sums) {
                self.offer(i + 1, sums);
            }
        }
    }

    /// Offers a position that has passed the screen.
    #[inline(always)]
    fn offer(&mut self, n_left: usize, sums: Sums) {
        let gain = self.gain(n_left, sums);
        if gain >= self.contest.bar() && self.cuts.allow(n_left) && self.heavy_enough(sums) {
            self.contest.offer(gain, self.cuts.cut(n_left));
            self.renew_bar();
        }
    }

    /// The gain of a cut, exact but for three roundings, and the same if left and right change places.
    fn gain(&self, n_left: usize, sums: Sums) -> f64 {
        let total = self.node.total;
        let few_rows = n_left.min(self.items.len() - n_left);
        let d = if !T::WEIGHTED && self.items.len() <= FITS_64_BITS {
            let d = total.weight * sums.value - sums.weight * total.value;
            // Each row was rounded to a unit: means closer than that are equal.
            if d.unsigned_abs() <= total.weight as u64 * few_rows as u64 { 0.0 } else { d as f64 }
        } else {
            let (value, weight) = (i128::from(sums.value), i128::from(sums.weight));
            let d = i128::from(total.weight) * value - weight * i128::from(total.value);
            if d.unsigned_abs() <= total.weight as u128 * few_rows as u128 { 0.0 } else { d as f64 }
        };
        d * d / (sums.weight as f64 * (total.weight - sums.weight) as f64)
    }

    fn heavy_enough(&self, sums: Sums) -> bool {
        let left = sums.weight as f64 * self.node.weights.unit;
        let right = (self.node.total.weight - sums.weight) as f64 * self.node.weights.unit;
        left >= self.min_weight && right >= self.min_weight
    }

    #[inline(always)]
    fn all_blocks(&mut self) {
        let items = self.items;
        let mut before = Sums::default();
        for (block, chunk) in items.chunks(BLOCK).enumerate() {
            before = self.look_into(block * BLOCK, chunk, before);
        }
    }

    /// Offers the block's positions that pass the screen; returns the sums at its end.
    ///
    /// Three plain loops, so that the compiler can use vectors for the first and the last: put the rows on the grids, sum
    /// them up, screen the sums.
    #[inline(always)]
    fn look_into(&mut self, start: usize, chunk: &[T], before: Sums) -> Sums {
        let mut sums = Prefixes::default();
        for (i, &item) in chunk.iter().enumerate() {
            let put = self.scale.put(item);
            (sums.values[i], sums.weights[i]) = (put.value, put.weight);
        }
        let mut end = before;
        for i in 0..chunk.len() {
            end = end.plus(sums.at(i));
            (sums.values[i], sums.weights[i]) = (end.value, end.weight);
        }
        let screen = self.screen;
        if (0..chunk.len()).fold(false, |any, i| any | screen.passes(sums.at(i))) {
            self.offer_survivors(start, chunk.len(), &sums);
        }
        end
    }

    /// Offers what passes the screen, the most promising position first: it lifts the bar for the others.
    #[inline(never)]
    fn offer_survivors(&mut self, start: usize, len: usize, sums: &Prefixes) {
        let len = len.min(self.items.len() - 1 - start);
        let mut best = (None, self.screen.bar);
        for i in 0..len {
            let (deviation, balance) = (self.screen.deviation(sums.at(i)), self.screen.balance(sums.at(i)));
            if deviation * deviation > best.1 * balance {
                best = (Some(i), deviation * deviation / balance);
            }
        }
        if let Some(i) = best.0
            && self.cuts.allow(start + i + 1)
            && self.heavy_enough(sums.at(i))
        {
            self.contest.raise(self.gain(start + i + 1, sums.at(i)));
            self.renew_bar();
        }
        for i in 0..len {
            if self.screen.passes(sums.at(i)) {
                self.offer(start + i + 1, sums.at(i));
            }
        }
    }

    /// Sums the blocks, lets the best block edge set the bar, and looks into the blocks that could pass it.
    #[inline(always)]
    fn promising_blocks(&mut self, edges: &mut Vec<Sums>) {
        edges.clear();
        let mut end = Sums::default();
        for chunk in self.items.chunks(BLOCK) {
            end = end.plus(self.scale.sum(chunk));
            edges.push(end);
        }
        self.seed(edges);
        // A quarter of a block's range: prefix sums inside a block leave the line between its edges by no more.
        let reach = 0.25 * BLOCK as f64 * self.node.largest_step;
        let mut before = Sums::default();
        for (block, &after) in edges.iter().enumerate() {
            let start = block * BLOCK;
            let end = (start + BLOCK).min(self.items.len());
            if self.could_win(before, after, reach) && self.has_cut(start, end) {
                let items = self.items;
                self.look_into(start, &items[start..end], before);
            }
            before = after;
        }
    }

    /// Whether a position after `before` and up to `after` could pass the screen: `w · (W − w)` is concave, so it is
    /// least at an edge, and the prefix sum is bounded. The outermost blocks, where `w · (W − w)` is 0, always could.
    #[inline(always)]
    fn could_win(&self, before: Sums, after: Sums, reach: f64) -> bool {
        let deviation = self.screen.deviation(before).max(self.screen.deviation(after)) + reach;
        let balance = self.screen.balance(before).min(self.screen.balance(after));
        deviation * deviation >= self.screen.bar * balance
    }

    /// Whether any of the positions `start + 1 ..= end` is allowed.
    fn has_cut(&self, start: usize, end: usize) -> bool {
        let last = end.min(self.items.len() - 1);
        start < self.cuts.last && end >= self.cuts.first && !(self.cuts.same)(start, last)
    }

    /// Raises the bar to the gain at the best block edge or, if that would part equal values, next to it.
    #[inline(always)]
    fn seed(&mut self, edges: &[Sums]) {
        let (mut best, mut best_gain) = (None, self.screen.bar);
        for (block, &edge) in edges[..edges.len() - 1].iter().enumerate() {
            let deviation = self.screen.deviation(edge);
            if deviation * deviation > best_gain * self.screen.balance(edge) {
                best_gain = deviation * deviation / self.screen.balance(edge);
                best = Some((block + 1) * BLOCK);
            }
        }
        let Some(edge) = best else { return };
        let (start, end) = self.cuts.run_around(edge, self.items.len());
        // `start` is `edge` itself if the values before and after it differ.
        let near = if start == edge { [edge, edge] } else { [start, end] };
        for n_left in near {
            if n_left > 0 && n_left < self.items.len() && self.cuts.allow(n_left) {
                let full = n_left / BLOCK;
                let base = if full == 0 { Sums::default() } else { edges[full - 1] };
                let sums = base.plus(self.scale.sum(&self.items[full * BLOCK..n_left]));
                if self.heavy_enough(sums) {
                    self.contest.raise(self.gain(n_left, sums));
                }
            }
        }
        self.renew_bar();
    }
}
