//! HOT: tiny nodes, of 3 to 16 rows, with all their descendants. Most nodes of a fully grown tree
//! are tiny.
//!
//! In a tiny node, fixed costs outweigh the work per row, and most of them are mispredicted
//! branches. So rows are numbered from 0 in a byte, an order takes 16 bytes, and every loop has a
//! fixed length: 4, 8 or 16, the least that is at least the node's length. Entries beyond the
//! node's rows are arbitrary: the kernels ignore them.
//!
//! The orders of the children are written to two levels of a stack. The right child's stay where
//! the parent's were until the left child's descendants are grown:
//!
//! ```text
//! level 0   [        node         ]    →    [ right ]  waits
//! level 1                                   [ left  ]  is next
//! ```
//!
//! The criterion's [`TinyKernel`] evaluates cuts: `criterion/squared/tiny.rs`,
//! `criterion/squared/tiny_weighted.rs` and, for targets without weights,
//! `criterion/quantile/tiny.rs`. Its fast results are approximate and decide where one cut is
//! clearly the best. Close calls are decided by integers, as in larger nodes. Memory per thread:
//! 256 bytes per feature and a table of 64 kB.

use super::Fit;
use super::inherited::Inherited;
use super::random::FeatureDrawer;
use super::tree_piece::TreePiece;
use crate::columns::local::{LOCAL_ROWS, LocalOrders, MAX_TINY_ROWS as MAX_ROWS, TinyOrder, local_table};
use crate::columns::ranks::LocalRanks;
use crate::criterion::{Criterion, TargetRanking, TinyKernel, TinyNode, TinySummary, TinyTargets};
use crate::data::{Cell, Matrix};
use crate::partition::partition_tiny;
use crate::split::threshold;
use crate::tree::Test;

/// Buffers, reused from node to node.
pub(super) struct TinyGrower<C: Criterion> {
    kernel: C::TinyKernel,
    /// By level and feature. On demand: by feature, those that were drawn for the last node.
    orders: Vec<TinyOrder>,
    /// By row of the subtree: its number in the tiny node.
    places: Box<[u8; LOCAL_ROWS]>,
    /// By number in the tiny node: the row of the subtree, and its target.
    rows: [u16; MAX_ROWS],
    targets: TinyTargets,
    /// By number in the tiny node: a bit for each row that is a copy of another one.
    copies: u32,
    pending: Vec<PendingTiny>,
    drawer: FeatureDrawer,
    /// The orders of the features that were drawn.
    drawn: Vec<TinyOrder>,
}

/// A node that is still to be grown.
#[derive(Clone, Copy)]
struct PendingTiny {
    rows: TinyOrder,
    len: u8,
    /// The level of its orders. They are valid only if it may be split and has more than two rows.
    level: u8,
    depth: u32,
    /// The inner node whose right child it is; `None` for a left child, which follows its parent.
    right_of: Option<u32>,
    inherited: Inherited,
}

/// The part of X of a subtree, feature by feature.
#[derive(Clone, Copy)]
pub(super) struct LocalCells<'a, X> {
    pub cells: &'a [X],
    pub n_rows: usize,
}

impl<X: Cell> LocalCells<'_, X> {
    #[inline(always)]
    fn get(&self, feature: usize, row: u16) -> X {
        self.cells[feature * self.n_rows + row as usize]
    }
}

/// A node of a subtree, with the data to grow it as a tiny node.
pub(super) struct TinyRoot<'a, X, C: Criterion> {
    pub fit: &'a Fit<'a, Matrix<'a, X>, C>,
    pub node: &'a C::NodeStats,
    pub cells: LocalCells<'a, X>,
    /// Without ranks, of all features; with ranks, only the order of the node's rows.
    pub orders: LocalOrders<'a>,
    /// If given, orders are made on demand.
    pub ranks: Option<&'a LocalRanks>,
}

impl<X: Cell, C: Criterion> TinyRoot<'_, X, C> {
    /// Whether the node can be grown as a tiny node: it has 3 to 16 rows and no missing values, and
    /// only the number of rows limits its cuts.
    pub fn is_tiny(&self, has_missing: &[bool]) -> bool {
        (3..=MAX_ROWS).contains(&self.orders.len)
            && self.fit.rules.limit_rows_only()
            && !(0..has_missing.len()).any(|feature| has_missing[feature] && self.has_missing(feature))
    }

    fn n_features(&self) -> usize {
        self.fit.x.n_columns()
    }

    fn has_missing(&self, feature: usize) -> bool {
        let is_missing = |&row: &u16| self.cells.get(feature, row).is_missing();
        match self.ranks {
            Some(_) => self.orders.of(self.n_features()).iter().any(is_missing),
            None => is_missing(&self.orders.of(feature)[self.orders.len - 1]),
        }
    }

    /// The order in which rows are numbered: that of the targets if the criterion ranks them, else
    /// that of the first feature. It must not depend on how orders are made, since it may decide
    /// about the last bit of a sum.
    fn key_order<'b>(&'b self, ordered: &'b mut [u16; MAX_ROWS]) -> &'b [u16] {
        match self.ranks {
            Some(ranks) if !C::Ranking::RANKED => {
                let rows = self.orders.of(self.n_features());
                let order = &mut ordered[..rows.len()];
                ranks.order_few(0, rows, order);
                order
            }
            _ => self.orders.of(if C::Ranking::RANKED { self.n_features() } else { 0 }),
        }
    }

    fn is_leaf(&self, len: usize, depth: u32) -> bool {
        self.fit.rules.is_leaf(len, len as f64, depth)
    }
}

impl<C: Criterion> TinyGrower<C> {
    /// `min_rows_leaf` is the least number of rows on either side of a split. `None` if the
    /// criterion has no kernel for tiny nodes.
    pub fn new(criterion: &C, min_rows_leaf: usize) -> Option<Self> {
        Some(Self {
            kernel: C::TinyKernel::new(criterion, min_rows_leaf)?,
            orders: Vec::new(),
            places: local_table(),
            rows: [0; MAX_ROWS],
            targets: TinyTargets::default(),
            copies: 0,
            pending: Vec::new(),
            drawer: FeatureDrawer::default(),
            drawn: Vec::new(),
        })
    }

    /// Appends the node and its descendants to the piece. `items` has the targets by row of the
    /// subtree.
    pub fn grow<X: Cell>(
        &mut self,
        root: &TinyRoot<'_, X, C>,
        items: &[C::Item],
        depth: u32,
        inherited: Inherited,
        right_of: Option<u32>,
        piece: &mut TreePiece,
    ) {
        self.take_in(root, items);
        let (rows, id) = (std::array::from_fn(|row| row as u8), piece.len());
        self.pending.push(PendingTiny { rows, len: root.orders.len as u8, level: 0, depth, right_of, inherited });
        while let Some(node) = self.pending.pop() {
            if let Some(parent) = node.right_of {
                piece.set_right(parent as usize, piece.len());
            }
            match node.len {
                1 => {
                    self.push_one(root, node.rows[0] as usize % MAX_ROWS, node.inherited, piece);
                }
                2 => self.grow_pair(root, &node, piece),
                3..=4 => self.grow_node::<4, X>(root, &node, piece),
                5..=8 => self.grow_node::<8, X>(root, &node, piece),
                _ => self.grow_node::<MAX_ROWS, X>(root, &node, piece),
            }
        }
        if C::WEIGHTED {
            // The kernel has summed up squares in another order.
            piece.set_impurity(id, root.fit.criterion.impurity(root.node));
        }
    }

    /// Numbers the rows, in the order of their targets if the criterion ranks them, and copies the
    /// orders.
    fn take_in<X: Cell>(&mut self, root: &TinyRoot<'_, X, C>, items: &[C::Item]) {
        let n_features = root.n_features();
        self.orders.resize(n_features * MAX_ROWS, [0; MAX_ROWS]);
        self.copies = 0;
        for (place, &row) in root.key_order(&mut [0; MAX_ROWS]).iter().enumerate() {
            self.places[row as usize] = place as u8;
            self.rows[place] = row;
            let (y, weight) = self.kernel.sample(root.fit.criterion, items[row as usize]);
            self.targets.y[place] = y;
            self.copies |= u32::from(C::TinyKernel::is_copy(root.fit.criterion, items[row as usize])) << place;
            if C::WEIGHTED {
                self.targets.weights[place] = weight;
            }
        }
        let n_carried = if root.ranks.is_some() { 0 } else { n_features };
        for (feature, order) in self.orders[..n_carried].iter_mut().enumerate() {
            for (place, &row) in order.iter_mut().zip(root.orders.of(feature)) {
                *place = self.places[row as usize];
            }
        }
        self.kernel.take_in(&self.targets.y[..root.orders.len]);
    }

    /// Grows a node of two rows: every feature that separates them has the same gain, so the first
    /// one wins.
    fn grow_pair<X: Cell>(&mut self, root: &TinyRoot<'_, X, C>, node: &PendingTiny, piece: &mut TreePiece) {
        let [a, b] = [node.rows[0], node.rows[1]].map(|row| row as usize % MAX_ROWS);
        let summary = self.kernel.describe_pair([a, b], &self.targets);
        let id = self.push(root, &node.rows[..2], summary, node.inherited, piece);
        if summary.is_pure || root.is_leaf(2, node.depth) {
            return;
        }
        let values = |feature: usize| [a, b].map(|row| root.cells.get(feature, self.rows[row]).to_f64());
        let is_constant = |feature: usize| values(feature)[0] == values(feature)[1];
        let drawn: &[u32] =
            if root.fit.draws() { root.fit.draw_features(node.inherited, &mut self.drawer, is_constant) } else { &[] };
        let n_all = if root.fit.draws() { 0 } else { root.n_features() };
        for feature in (0..n_all).chain(drawn.iter().map(|&feature| feature as usize)) {
            let [low, high] = values(feature);
            if low != high {
                let (rows, threshold) =
                    if low < high { ([a, b], threshold(low, high)) } else { ([b, a], threshold(high, low)) };
                let [left, right] = rows.map(|row| self.targets.y[row]);
                let value_order = node.inherited.value_order(root.fit.choices, feature);
                if value_order.is_some_and(|order| !order.allows([left, right])) {
                    continue;
                }
                let right_id = id as u32 + 2;
                let missing_left = C::TinyKernel::is_heavier([&[rows[0] as u8], &[rows[1] as u8]], &self.targets);
                let test = Test { feature: feature as u32, threshold, missing_left, right: right_id };
                piece.split(id, node.depth, test);
                let inherited = node.inherited.of_children(root.fit.choices, feature, || [left, right]);
                for (row, inherited) in rows.into_iter().zip(inherited) {
                    self.push_one(root, row, inherited, piece);
                }
                return;
            }
        }
    }

    /// Grows a node of more than two and at most `N` rows.
    fn grow_node<const N: usize, X: Cell>(
        &mut self,
        root: &TinyRoot<'_, X, C>,
        node: &PendingTiny,
        piece: &mut TreePiece,
    ) {
        let (len, n_features) = (node.len as usize, root.n_features());
        let rows = &node.rows[..len];
        let summary = self.kernel.describe::<N>(rows, &self.targets);
        self.push(root, rows, summary, node.inherited, piece);
        if summary.is_pure || root.is_leaf(len, node.depth) {
            return;
        }
        let orders = &mut self.orders[node.level as usize * n_features..][..n_features];
        let value = |order: &TinyOrder, feature: usize, place: usize| {
            root.cells.get(feature, self.rows[order[place % MAX_ROWS] as usize % MAX_ROWS])
        };
        let is_constant = |feature: usize| {
            if let Some(ranks) = root.ranks {
                orders[feature] = ranks.tiny_order::<N>(feature, &node.rows, &self.rows, len);
            }
            value(&orders[feature], feature, 0) == value(&orders[feature], feature, len - 1)
        };
        let features: &[u32] =
            if root.fit.draws() { root.fit.draw_features(node.inherited, &mut self.drawer, is_constant) } else { &[] };
        let orders = &self.orders[node.level as usize * n_features..][..n_features];
        let allow = |feature: usize, n_left: usize| {
            value(&orders[feature], feature, n_left - 1) != value(&orders[feature], feature, n_left)
                && node.inherited.value_order(root.fit.choices, feature).is_none_or(|order| {
                    let sides = orders[feature][..len].split_at(n_left);
                    order.allows([sides.0, sides.1].map(|rows| C::TinyKernel::value(rows, &self.targets)))
                })
        };
        let winner = if root.fit.draws() {
            self.drawn.clear();
            self.drawn.extend(features.iter().map(|&feature| orders[feature as usize]));
            let allow = |place: usize, n_left: usize| allow(features[place] as usize, n_left);
            let winner = self.kernel.search::<N, _>(&TinyNode { rows, orders: &self.drawn, allow });
            winner.map(|(place, n_left)| (features[place] as usize, n_left))
        } else {
            self.kernel.search::<N, _>(&TinyNode { rows, orders, allow })
        };
        if let Some((feature, n_left)) = winner {
            self.divide::<N, X>(root, node, feature, n_left, piece);
        }
    }

    /// Appends a leaf of one row.
    #[inline(always)]
    fn push_one<X: Cell>(
        &mut self,
        root: &TinyRoot<'_, X, C>,
        row: usize,
        inherited: Inherited,
        piece: &mut TreePiece,
    ) {
        let summary = self.kernel.describe_one(row, &self.targets);
        self.push(root, &[row as u8], summary, inherited, piece);
    }

    /// Appends a leaf, with its value in the range that it has inherited.
    #[inline(always)]
    fn push<X: Cell>(
        &self,
        root: &TinyRoot<'_, X, C>,
        rows: &[u8],
        summary: TinySummary,
        inherited: Inherited,
        piece: &mut TreePiece,
    ) -> usize {
        let criterion = root.fit.criterion;
        let id = piece.push_tiny(criterion, &self.kernel, [rows.len(), self.distinct_rows(rows)], summary);
        root.fit.clamp(inherited, || piece.value_mut(id, criterion.n_values()));
        id
    }

    /// The number of these rows without copies.
    #[inline(always)]
    fn distinct_rows(&self, rows: &[u8]) -> usize {
        let n_copies = |mask: u32| (mask & self.copies).count_ones() as usize;
        let mask = |rows: &[u8]| rows.iter().fold(0u32, |mask, row| mask | 1 << (row % MAX_ROWS as u8));
        rows.len() - if self.copies == 0 { 0 } else { n_copies(mask(rows)) }
    }

    /// Turns the last node of the piece into an inner node and adds its children to the pending
    /// nodes.
    #[inline(always)]
    fn divide<const N: usize, X: Cell>(
        &mut self,
        root: &TinyRoot<'_, X, C>,
        node: &PendingTiny,
        feature: usize,
        n_left: usize,
        piece: &mut TreePiece,
    ) {
        let (len, n_right) = (node.len as usize, node.len as usize - n_left);
        let order = self.orders[node.level as usize * root.n_features() + feature];
        let value =
            |place: usize| root.cells.get(feature, self.rows[order[place % MAX_ROWS] as usize % MAX_ROWS]).to_f64();
        let threshold = threshold(value(n_left - 1), value(n_left));
        let id = piece.len() - 1;
        let missing_left = C::TinyKernel::is_heavier([&order[..n_left], &order[n_left..len]], &self.targets);
        let test = Test { feature: feature as u32, threshold, missing_left, right: 0 };
        piece.split(id, node.depth, test);

        let depth = node.depth + 1;
        let needs_orders = |len: usize| len > 2 && !root.is_leaf(len, depth);
        let carries = root.ranks.is_none();
        if carries && (needs_orders(n_left) || needs_orders(n_right)) {
            self.partition_orders::<N>(node.level as usize, root.n_features(), &order[..n_left]);
        }
        let values = || [&order[..n_left], &order[n_left..len]].map(|rows| C::TinyKernel::value(rows, &self.targets));
        let [of_left, of_right] = node.inherited.of_children(root.fit.choices, feature, values);
        let right = std::array::from_fn(|place| order[(place + n_left) % MAX_ROWS]);
        let child = |rows: TinyOrder, len: usize, level: u8, right_of: Option<u32>, inherited: Inherited| PendingTiny {
            rows,
            len: len as u8,
            level,
            depth,
            right_of,
            inherited,
        };
        self.pending.push(child(right, n_right, node.level, Some(id as u32), of_right));
        self.pending.push(child(order, n_left, node.level + u8::from(carries), None, of_left));
    }

    /// Partitions the orders of a level: the right side stays there, the left side is written to
    /// the next level.
    #[inline(always)]
    fn partition_orders<const N: usize>(&mut self, level: usize, n_features: usize, left: &[u8]) {
        let goes_left = left.iter().fold(0u32, |mask, row| mask | 1 << row);
        let (here, below) = self.orders[level * n_features..].split_at_mut(n_features);
        for (order, left) in here.iter_mut().zip(below) {
            partition_tiny::<N>(order, goes_left, left);
        }
    }
}
