//! HOT: the smallest nodes, which are most of the nodes of a tree that is grown to the end.
//!
//! What a node costs beside its rows is what counts here, and most of that is branches that nobody can predict. So the rows of
//! a node of at most 16 rows are numbered anew, in a byte, its part of each column becomes 16 bytes, and every loop has
//! a fixed length: 4, 8 or 16, whichever holds the node. What lies beyond its rows counts for nothing, or is never read.
//!
//! Orders of the nodes below are partitioned from level to level: the left child's to the next level, the right child's in
//! place, where they wait until the left child's subtree is grown.
//!
//! ```text
//! level 0   [        node         ]    →    [ right ]  waits
//! level 1                                   [ left  ]  is next
//! ```
//!
//! For squared errors of unweighted numbers alone. With `t` the sum of the deviations of the first `k` of `m` rows from the node's
//! mean, the gain of a cut is `t² · m / (k · (m − k))`. Floats decide where a cut is clearly the best; the
//! few close calls are decided as in larger nodes, by sums that don't depend on their order.

use super::Fit;
use super::sprout::Sprout;
use crate::criterion::{Criterion, Grid};
use crate::data::{Cell, Matrix};
use crate::split::{near, threshold};
use crate::steps::{Orders, TABLE, table};
use crate::tree::Test;

/// Largest node that is grown here. The product of two sums of so many rows fits in 62 bits.
pub(super) const MAX_ROWS: usize = 16;

/// Features that are looked at side by side: enough to hide that each addition waits for the one before.
const LANES: usize = 4;

/// Gains closer than this share are a close call. Far above the rounding of `t`, as long as the gain is no less than the
/// second share of the node's loss.
const CLOSE: f64 = 1e-9;
const LEAST_SHARE: f64 = 1e-5;

/// Rows in some order. Only as many as the node has count; the others are any of the 16.
type Order = [u8; MAX_ROWS];

/// `1 / (k · (m − k))` by `m` and `k − 1`, and 0 where that is no cut.
type Scales = [[f64; MAX_ROWS]; MAX_ROWS + 1];

/// Buffers, reused from node to node.
pub(super) struct Tiny {
    scales: Box<Scales>,
    /// By level and feature.
    orders: Vec<Order>,
    /// Number of each row of the subtree among those of the tiny node.
    places: Box<[u8; TABLE]>,
    /// The subtree's row at each place, and its target.
    rows: [u16; MAX_ROWS],
    targets: [f64; MAX_ROWS],
    /// Of the current node's rows: target on the node's grid, and deviation from the node's mean.
    units: [i64; MAX_ROWS],
    deviations: [f64; MAX_ROWS],
    /// Highest `t² / (k · (m − k))` of each feature, up to rounding and to cuts that would part equal values.
    highest: Vec<f64>,
    open: Vec<Open>,
}

/// A node still to be grown.
#[derive(Clone, Copy)]
struct Open {
    rows: Order,
    len: u8,
    /// Where its orders stand, if it may be split.
    level: u8,
    depth: u32,
    /// The inner node that it is the right child of; a left child simply comes next.
    right_of: Option<u32>,
}

/// Over a node's rows: targets on its grid, 0 if they are all the same, and squared deviations from the mean.
struct Sums {
    units: i64,
    loss: f64,
}

/// X of a subtree, feature after feature.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a, X> {
    pub cells: &'a [X],
    pub n_rows: usize,
}

impl<X: Cell> Cells<'_, X> {
    #[inline(always)]
    fn get(&self, feature: usize, row: u16) -> X {
        self.cells[feature * self.n_rows + row as usize]
    }
}

/// The fit and the part of X that a tiny node is grown from.
pub(super) struct Plot<'a, X, C> {
    pub fit: &'a Fit<'a, Matrix<'a, X>, C>,
    pub cells: Cells<'a, X>,
    pub orders: Orders<'a>,
}

impl<X: Cell, C: Criterion> Plot<'_, X, C> {
    /// Whether this may be grown here.
    pub fn is_tiny(&self, has_missing: &[bool]) -> bool {
        C::IS_SQUARED_ERROR
            && (3..=MAX_ROWS).contains(&self.orders.len)
            && self.fit.rules.count_rows_alone()
            && !(0..has_missing.len()).any(|feature| has_missing[feature] && self.has_missing(feature))
    }

    fn has_missing(&self, feature: usize) -> bool {
        let last = self.orders.of(feature)[self.orders.len - 1];
        self.cells.get(feature, last).to_f64().is_nan()
    }

    fn may_split(&self, len: usize, depth: u32) -> bool {
        depth < self.fit.rules.max_depth && len >= self.fit.rules.min_rows_split
    }
}

impl Tiny {
    /// Buffers for fits with this least number of rows on either side of a split.
    pub fn new(min_rows_leaf: usize) -> Self {
        let mut scales = Box::new([[0.0; MAX_ROWS]; MAX_ROWS + 1]);
        for len in 2 * min_rows_leaf..=MAX_ROWS {
            for n_left in min_rows_leaf..=len - min_rows_leaf {
                scales[len][n_left - 1] = 1.0 / (n_left * (len - n_left)) as f64;
            }
        }
        Self {
            scales,
            orders: Vec::new(),
            places: table(),
            rows: [0; MAX_ROWS],
            targets: [0.0; MAX_ROWS],
            units: [0; MAX_ROWS],
            deviations: [0.0; MAX_ROWS],
            highest: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Appends the subtree of a node.
    pub fn grow<X: Cell, C: Criterion>(
        &mut self,
        plot: &Plot<'_, X, C>,
        items: &[C::Item],
        depth: u32,
        right_of: Option<u32>,
        sprout: &mut Sprout,
    ) {
        self.take_in(plot, items);
        let rows = std::array::from_fn(|row| row as u8);
        self.open.push(Open { rows, len: plot.orders.len as u8, level: 0, depth, right_of });
        while let Some(open) = self.open.pop() {
            if let Some(parent) = open.right_of {
                sprout.set_right(parent as usize, sprout.len());
            }
            match open.len {
                1 => {
                    sprout.push_summary(plot.fit.criterion, 1, self.targets[open.rows[0] as usize % MAX_ROWS], 0.0);
                }
                2 => self.grow_pair(plot, &open, sprout),
                3..=4 => self.grow_node::<4, X, C>(plot, &open, sprout),
                5..=8 => self.grow_node::<8, X, C>(plot, &open, sprout),
                _ => self.grow_node::<MAX_ROWS, X, C>(plot, &open, sprout),
            }
        }
    }

    /// Numbers the rows and translates the orders.
    fn take_in<X: Cell, C: Criterion>(&mut self, plot: &Plot<'_, X, C>, items: &[C::Item]) {
        let n_features = plot.orders.n_features();
        self.orders.resize(n_features * MAX_ROWS, [0; MAX_ROWS]);
        self.highest.resize(n_features, 0.0);
        for (place, &row) in plot.orders.of(0).iter().enumerate() {
            self.places[row as usize] = place as u8;
            self.rows[place] = row;
            self.targets[place] = plot.fit.criterion.sample(items[row as usize]).0;
        }
        for (feature, order) in self.orders[..n_features].iter_mut().enumerate() {
            for (place, &row) in order.iter_mut().zip(plot.orders.of(feature)) {
                *place = self.places[row as usize];
            }
        }
    }

    /// Two rows: every feature that parts them gains the same, so the first one wins.
    fn grow_pair<X: Cell, C: Criterion>(&mut self, plot: &Plot<'_, X, C>, open: &Open, sprout: &mut Sprout) {
        let criterion = plot.fit.criterion;
        let [a, b] = [open.rows[0], open.rows[1]].map(|row| row as usize % MAX_ROWS);
        let [y, z] = [self.targets[a], self.targets[b]];
        // From the lower one up, in whatever order they come.
        let half = (z - y).abs() / 2.0;
        let id = sprout.push_summary(criterion, 2, y.min(z) + half, half * half);
        if y == z || !plot.may_split(2, open.depth) {
            return;
        }
        for feature in 0..self.highest.len() {
            let [low, high] = [a, b].map(|row| plot.cells.get(feature, self.rows[row]).to_f64());
            if low != high {
                let (left, right, threshold) =
                    if low < high { (y, z, threshold(low, high)) } else { (z, y, threshold(high, low)) };
                let right_id = id as u32 + 2;
                let test = Test { feature: feature as u32, threshold, missing_left: false, right: right_id };
                sprout.split(id, open.depth, test);
                sprout.push_summary(criterion, 1, left, 0.0);
                sprout.push_summary(criterion, 1, right, 0.0);
                return;
            }
        }
    }

    /// A node of more than two and at most `N` rows.
    fn grow_node<const N: usize, X: Cell, C: Criterion>(
        &mut self,
        plot: &Plot<'_, X, C>,
        open: &Open,
        sprout: &mut Sprout,
    ) {
        let Sums { units, loss } = self.describe::<N>(open, plot.fit.criterion, sprout);
        if units == 0 || !plot.may_split(open.len as usize, open.depth) {
            return;
        }
        if let Some((feature, n_left)) = self.search::<N, X, C>(plot, open, loss, units) {
            self.divide::<N, X, C>(plot, open, feature, n_left, sprout);
        }
    }

    /// Appends the node, as a leaf, and notes what its search needs.
    #[inline(always)]
    fn describe<const N: usize>(&mut self, open: &Open, criterion: &impl Criterion, sprout: &mut Sprout) -> Sums {
        let len = open.len as usize;
        // The first row again and again where there are no more.
        let rows: [usize; N] =
            std::array::from_fn(|place| open.rows[if place < len { place } else { 0 }] as usize % MAX_ROWS);
        let targets = rows.map(|row| self.targets[row]);
        let lowest = targets.into_iter().reduce(|a, b| if b < a { b } else { a }).unwrap_or(0.0);
        let highest = targets.into_iter().reduce(|a, b| if b > a { b } else { a }).unwrap_or(0.0);
        if lowest == highest {
            sprout.push_summary(criterion, len, lowest, 0.0);
            return Sums { units: 0, loss: 0.0 };
        }
        let grid = Grid::new(highest - lowest, len as f64 * (highest - lowest));
        let units = targets.map(|target| grid.put(target - lowest));
        let sum = (0..N).fold(0, |sum, place| sum + if place < len { units[place] } else { 0 });
        let mean = sum as f64 * grid.unit / len as f64;
        let mut loss = 0.0;
        for place in 0..N {
            let deviation = (targets[place] - lowest) - mean;
            self.units[rows[place]] = units[place];
            self.deviations[rows[place]] = deviation;
            loss += if place < len { deviation * deviation } else { 0.0 };
        }
        sprout.push_summary(criterion, len, lowest + mean, loss / len as f64);
        Sums { units: sum, loss }
    }

    /// The feature and the number of rows on the left.
    #[inline(always)]
    fn search<const N: usize, X: Cell, C: Criterion>(
        &mut self,
        plot: &Plot<'_, X, C>,
        open: &Open,
        loss: f64,
        units: i64,
    ) -> Option<(usize, usize)> {
        let n_features = self.highest.len();
        let orders = &self.orders[open.level as usize * n_features..][..n_features];
        let scales = &self.scales[open.len as usize];
        let (fours, rest) = orders.as_chunks::<LANES>();
        let (highest_of_fours, highest_of_rest) = self.highest.as_chunks_mut::<LANES>();
        for (orders, highest) in fours.iter().zip(highest_of_fours) {
            *highest = highest_gains::<N, LANES>(orders, &self.deviations, scales);
        }
        for (order, highest) in rest.iter().zip(highest_of_rest) {
            [*highest] = highest_gains::<N, 1>(&[*order], &self.deviations, scales);
        }
        let top = self.highest.iter().fold(0.0, |top: f64, &highest| if highest > top { highest } else { top });
        let close = top * (1.0 - CLOSE);
        if close * f64::from(open.len) >= loss * LEAST_SHARE
            && let Some(winner) = self.first_of_twins::<N, X, C>(plot, open, close)
        {
            return Some(winner);
        }
        self.search_close_call(plot, open, units)
    }

    /// The first cut that gains at least `close`, if all of those part the node's rows alike: then their gains are equal.
    #[inline(always)]
    fn first_of_twins<const N: usize, X: Cell, C: Criterion>(
        &self,
        plot: &Plot<'_, X, C>,
        open: &Open,
        close: f64,
    ) -> Option<(usize, usize)> {
        let n_features = self.highest.len();
        let orders = &self.orders[open.level as usize * n_features..][..n_features];
        let scales = &self.scales[open.len as usize];
        let rows = |order: &[u8]| order.iter().fold(0u32, |rows, row| rows | 1 << (row % MAX_ROWS as u8));
        let all = rows(&open.rows[..open.len as usize]);
        let mut winner = None;
        let mut parted = None;
        for (feature, order) in orders.iter().enumerate().filter(|&(feature, _)| self.highest[feature] >= close) {
            let gains = gains::<N>(order, &self.deviations, scales);
            let mut cuts = (0..N).fold(0u32, |cuts, place| cuts | u32::from(gains[place] >= close) << place);
            while cuts != 0 {
                let n_left = cuts.trailing_zeros() as usize + 1;
                cuts &= cuts - 1;
                let left = rows(&order[..n_left % MAX_ROWS]);
                if *parted.get_or_insert(left) != left && parted != Some(all ^ left) {
                    return None;
                }
                if winner.is_none() && self.differ(plot, order, feature, n_left) {
                    winner = Some((feature, n_left));
                }
            }
        }
        winner
    }

    /// Whether a cut parts different values.
    #[inline(always)]
    fn differ<X: Cell, C: Criterion>(
        &self,
        plot: &Plot<'_, X, C>,
        order: &Order,
        feature: usize,
        n_left: usize,
    ) -> bool {
        let [a, b] = [n_left - 1, n_left].map(|place| self.rows[order[place % MAX_ROWS] as usize % MAX_ROWS]);
        plot.cells.get(feature, a) != plot.cells.get(feature, b)
    }

    /// All cuts, with sums that don't depend on their order; of those that tie with the best, the first one.
    #[cold]
    fn search_close_call<X: Cell, C: Criterion>(
        &mut self,
        plot: &Plot<'_, X, C>,
        open: &Open,
        total: i64,
    ) -> Option<(usize, usize)> {
        let len = open.len as usize;
        let n_features = self.highest.len();
        let orders = &self.orders[open.level as usize * n_features..][..n_features];
        let scales = &self.scales[len];
        let this = &*self;
        let cuts = || {
            orders.iter().enumerate().flat_map(|(feature, order)| {
                let mut sum = 0;
                (1..len).filter_map(move |n_left| {
                    sum += this.units[order[n_left - 1] as usize];
                    let scale = scales[n_left - 1];
                    let allowed = scale > 0.0 && this.differ(plot, order, feature, n_left);
                    allowed.then(|| {
                        let d = len as i64 * sum - n_left as i64 * total;
                        // Each row was rounded to a unit: means closer than that are equal.
                        let rounding = len * n_left.min(len - n_left);
                        let gain = if d.unsigned_abs() <= rounding as u64 { 0.0 } else { d as f64 * d as f64 * scale };
                        (gain, (feature, n_left))
                    })
                })
            })
        };
        let top = cuts().map(|cut| cut.0).reduce(f64::max)?;
        cuts().find(|cut| cut.0 >= near(top, 0.0)).map(|cut| cut.1)
    }

    /// Turns the node into an inner one and queues its children.
    #[inline(always)]
    fn divide<const N: usize, X: Cell, C: Criterion>(
        &mut self,
        plot: &Plot<'_, X, C>,
        open: &Open,
        feature: usize,
        n_left: usize,
        sprout: &mut Sprout,
    ) {
        let n_features = self.highest.len();
        let (len, level, depth) = (open.len as usize, open.level as usize, open.depth + 1);
        let n_right = len - n_left;
        let order = self.orders[level * n_features + feature];
        let value =
            |place: usize| plot.cells.get(feature, self.rows[order[place % MAX_ROWS] as usize % MAX_ROWS]).to_f64();
        let threshold = threshold(value(n_left - 1), value(n_left));
        let id = sprout.len() - 1;
        let test = Test { feature: feature as u32, threshold, missing_left: n_left > n_right, right: 0 };
        sprout.split(id, open.depth, test);

        let needs_orders = |len: usize| len > 2 && plot.may_split(len, depth);
        if needs_orders(n_left) || needs_orders(n_right) {
            let is_left = order[..n_left].iter().fold(0u32, |mask, row| mask | 1 << row);
            let (here, below) = self.orders[level * n_features..].split_at_mut(n_features);
            for (order, next) in here.iter_mut().zip(below) {
                let (mut to_left, mut to_right) = (0, 0);
                for place in 0..N {
                    let row = order[place];
                    next[to_left % MAX_ROWS] = row;
                    order[to_right % MAX_ROWS] = row;
                    let is_left = (is_left >> row & 1) as usize;
                    to_left += is_left;
                    to_right += 1 - is_left;
                }
            }
        }
        let right = std::array::from_fn(|place| order[(place + n_left) % MAX_ROWS]);
        self.open.push(Open { rows: right, len: n_right as u8, level: open.level, depth, right_of: Some(id as u32) });
        self.open.push(Open { rows: order, len: n_left as u8, level: open.level + 1, depth, right_of: None });
    }
}

/// `t² / (k · (m − k))` of each cut.
#[inline(always)]
fn gains<const N: usize>(order: &Order, deviations: &[f64; MAX_ROWS], scales: &[f64; MAX_ROWS]) -> [f64; N] {
    let mut sum = 0.0;
    std::array::from_fn(|place| {
        sum += deviations[order[place] as usize % MAX_ROWS];
        sum * sum * scales[place]
    })
}

/// The greatest of those of each order.
#[inline(always)]
fn highest_gains<const N: usize, const LANES: usize>(
    orders: &[Order; LANES],
    deviations: &[f64; MAX_ROWS],
    scales: &[f64; MAX_ROWS],
) -> [f64; LANES] {
    let (mut sums, mut highest) = ([0.0; LANES], [0.0; LANES]);
    for place in 0..N - 1 {
        for lane in 0..LANES {
            sums[lane] += deviations[orders[lane][place] as usize % MAX_ROWS];
            let gain = sums[lane] * sums[lane] * scales[place];
            highest[lane] = if gain > highest[lane] { gain } else { highest[lane] };
        }
    }
    highest
}
