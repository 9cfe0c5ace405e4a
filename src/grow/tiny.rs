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
//! What a split gains is told by a kernel: `squares.rs` for squared errors, `deviations.rs` for absolute ones, both of unweighted
//! numbers. Their fast answers are approximate. They decide where a cut is clearly the best; the few close
//! calls are decided as in larger nodes, by integers that don't depend on any order.

mod deviations;
mod squares;

pub(super) use self::deviations::Deviations;
pub(super) use self::squares::Squares;
use super::Fit;
use super::sprout::Sprout;
use crate::criterion::{Criterion, FineGrid};
use crate::data::{Cell, Matrix};
use crate::split::threshold;
use crate::steps::{Orders, TABLE, table};
use crate::tree::Test;

/// Largest node that is grown here.
const MAX_ROWS: usize = 16;

/// Rows in some order. Only as many as the node has count; the others are any of the 16.
type Order = [u8; MAX_ROWS];

/// What decides about the splits of the smallest nodes.
pub(super) trait Kernel {
    /// For fits with this least number of rows on either side of a split.
    fn new(min_rows_leaf: usize) -> Self;

    /// Takes in the targets of the largest node, by row; they ascend where the criterion is one of order.
    fn take_in(&mut self, _targets: &[f64]) {}

    /// Summary of a node with two targets.
    fn of_pair(y: f64, z: f64) -> Summary;

    /// Summary of a node of at most `N` rows, which is searched next.
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &[f64; MAX_ROWS]) -> Summary;

    /// The feature and the number of rows on the left of the best cut of the node that was described last.
    ///
    /// `grid` is that of so many numbers of this range ([`Criterion::grid`]).
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &Node<'_, F>,
        grid: impl Fn(usize, f64) -> FineGrid,
    ) -> Option<(usize, usize)>;
}

/// What a node reports.
pub(super) struct Summary {
    /// What it predicts.
    value: f64,
    /// The loss around that, averaged over the rows.
    loss: f64,
    /// Whether all targets are the same.
    is_pure: bool,
}

/// A node that is searched.
pub(super) struct Node<'a, F> {
    rows: &'a [u8],
    /// By feature.
    orders: &'a [Order],
    /// Whether a feature's cut with so many rows on the left parts different values.
    differ: F,
}

impl<F: Fn(usize, usize) -> bool> Node<'_, F> {
    /// The first of some cuts that parts different values, if all of them part the node's rows alike: then their gains are equal.
    ///
    /// Of each feature, `cuts` has a bit for each cut, the lowest one for a single row on the left.
    #[inline(always)]
    fn first_of_twins(&self, cuts: impl Fn(usize, &Order) -> u32) -> Option<(usize, usize)> {
        let rows = |order: &[u8]| order.iter().fold(0u32, |rows, row| rows | 1 << (row % MAX_ROWS as u8));
        let all = rows(self.rows);
        let mut winner = None;
        let mut parted = None;
        for (feature, order) in self.orders.iter().enumerate() {
            let mut cuts = cuts(feature, order);
            while cuts != 0 {
                let n_left = cuts.trailing_zeros() as usize + 1;
                cuts &= cuts - 1;
                let left = rows(&order[..n_left % MAX_ROWS]);
                if *parted.get_or_insert(left) != left && parted != Some(all ^ left) {
                    return None;
                }
                if winner.is_none() && (self.differ)(feature, n_left) {
                    winner = Some((feature, n_left));
                }
            }
        }
        winner
    }
}

/// Buffers, reused from node to node.
pub(super) struct Tiny<K> {
    kernel: K,
    /// By level and feature.
    orders: Vec<Order>,
    /// Number of each row of the subtree among those of the tiny node.
    places: Box<[u8; TABLE]>,
    /// The subtree's row at each place, and its target.
    rows: [u16; MAX_ROWS],
    targets: [f64; MAX_ROWS],
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
        C::TINY.is_some()
            && self.fit.criterion.is_tiny_loss()
            && (3..=MAX_ROWS).contains(&self.orders.len)
            && self.fit.rules.count_rows_alone()
            && !(0..has_missing.len()).any(|feature| has_missing[feature] && self.has_missing(feature))
    }

    fn n_features(&self) -> usize {
        self.fit.x.n_columns()
    }

    fn has_missing(&self, feature: usize) -> bool {
        let last = self.orders.of(feature)[self.orders.len - 1];
        self.cells.get(feature, last).to_f64().is_nan()
    }

    fn may_split(&self, len: usize, depth: u32) -> bool {
        depth < self.fit.rules.max_depth && len >= self.fit.rules.min_rows_split
    }
}

impl<K: Kernel> Tiny<K> {
    /// Buffers for fits with this least number of rows on either side of a split.
    pub fn new(min_rows_leaf: usize) -> Self {
        Self {
            kernel: K::new(min_rows_leaf),
            orders: Vec::new(),
            places: table(),
            rows: [0; MAX_ROWS],
            targets: [0.0; MAX_ROWS],
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

    /// Numbers the rows, in the order of their targets where that counts, and translates the orders.
    fn take_in<X: Cell, C: Criterion>(&mut self, plot: &Plot<'_, X, C>, items: &[C::Item]) {
        let n_features = plot.n_features();
        self.orders.resize(n_features * MAX_ROWS, [0; MAX_ROWS]);
        for (place, &row) in plot.orders.of(if C::ORDERED { n_features } else { 0 }).iter().enumerate() {
            self.places[row as usize] = place as u8;
            self.rows[place] = row;
            self.targets[place] = plot.fit.criterion.sample(items[row as usize]).0;
        }
        for (feature, order) in self.orders[..n_features].iter_mut().enumerate() {
            for (place, &row) in order.iter_mut().zip(plot.orders.of(feature)) {
                *place = self.places[row as usize];
            }
        }
        self.kernel.take_in(&self.targets[..plot.orders.len]);
    }

    /// Two rows: every feature that parts them gains the same, so the first one wins.
    fn grow_pair<X: Cell, C: Criterion>(&mut self, plot: &Plot<'_, X, C>, open: &Open, sprout: &mut Sprout) {
        let criterion = plot.fit.criterion;
        let [a, b] = [open.rows[0], open.rows[1]].map(|row| row as usize % MAX_ROWS);
        let [y, z] = [self.targets[a], self.targets[b]];
        let Summary { value, loss, is_pure } = K::of_pair(y, z);
        let id = sprout.push_summary(criterion, 2, value, loss);
        if is_pure || !plot.may_split(2, open.depth) {
            return;
        }
        for feature in 0..plot.n_features() {
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
        let (len, n_features) = (open.len as usize, plot.n_features());
        let rows = &open.rows[..len];
        let Summary { value, loss, is_pure } = self.kernel.describe::<N>(rows, &self.targets);
        sprout.push_summary(plot.fit.criterion, len, value, loss);
        if is_pure || !plot.may_split(len, open.depth) {
            return;
        }
        let orders = &self.orders[open.level as usize * n_features..][..n_features];
        let value = |feature: usize, place: usize| {
            plot.cells.get(feature, self.rows[orders[feature][place % MAX_ROWS] as usize % MAX_ROWS])
        };
        let differ = |feature: usize, n_left: usize| value(feature, n_left - 1) != value(feature, n_left);
        let grid = |rows: usize, range: f64| plot.fit.criterion.grid(rows, range);
        if let Some((feature, n_left)) = self.kernel.search::<N, _>(&Node { rows, orders, differ }, grid) {
            self.divide::<N, X, C>(plot, open, feature, n_left, sprout);
        }
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
        let n_features = plot.n_features();
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
