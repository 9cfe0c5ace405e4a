//! HOT: small nodes, depth-first: one thread grows a whole subtree within its cache.
//!
//! ```text
//! number the subtree's rows from 0, in 16 bits; copy their part of X and their targets
//! while a node is pending
//!     tiny node, leaf or pair?  grow it by `tiny.rs`, end it, or separate its two rows; next
//!     bound      the gains of all features together, or of each feature separately
//!     clear cut? if the bounds already determine the winner, nothing is swept
//!     sweep      the feature with the largest bound, then every feature that could still win
//!     decide     ascending features, see `search.rs`
//!     divide     describe the children, partition the columns as far as they are still needed
//! ```
//!
//! Columns are local row numbers, two bytes per cell; targets are looked up in a table that stays
//! in the cache. A node in one of two buffers is partitioned into the same range of the other
//! buffer, so the ranges of pending nodes don't change:
//!
//! ```text
//! buffer 0   [        node         ]        depth d
//! buffer 1   [  left  ][   right   ]        depth d + 1
//! buffer 0   [ll][ lr ]                     depth d + 2, while `right` still waits in buffer 1
//! ```
//!
//! Where few features are drawn per node, only the node's rows are carried along, in one column
//! after those of the features. A feature's order is made when it is drawn (`columns/ranks.rs`), at
//! the place where it would have been carried to.
//!
//! Memory per thread: 4 bytes per cell of the largest subtree, 8 if orders are made on demand, and
//! a copy of its part of X: at most 65,536 cells, or `MAX_RANKED_CELLS` on demand, unless 256 rows
//! have more; and tables with 65,536 entries.

use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use super::Fit;
use super::inherited::{Inherited, constrained_value};
use super::random::FeatureDrawer;
use super::tiny::{LocalCells, TinyGrower, TinyRoot};
use super::tree_piece::TreePiece;
use crate::columns::local::{LOCAL_ROWS, LocalOrders, local_table};
use crate::columns::ranks::LocalRanks;
use crate::columns::{Columns, OrderBuffer};
use crate::contribution::{Indexed, LookedUp, TagCell};
use crate::criterion::{BoundVerdict, ContributionsOf, Criterion, GainBounds, SmallNode, TagCellOf, TargetRanking};
use crate::data::{Cell, Matrix};
use crate::params::Rules;
use crate::partition::{keep_rows, partition_rows};
use crate::scan::{Feature, gain_bound, scan};
use crate::search::decide;
use crate::split::{Contest, Cut, Division, Found, Split, Tournament};

/// Largest subtree in cells: both buffers of its columns, 256 kB, fit in the second-level cache.
const MAX_CELLS: usize = 65_536;

/// The same where orders are made on demand. Few columns are in use at a time, and large nodes
/// partition all of them, so larger subtrees pay.
const MAX_RANKED_CELLS: usize = 1 << 20;

/// Largest node that is grown as a subtree. It depends on the shape of X and on the parameters
/// alone, not on the threads.
pub(crate) fn max_rows(n_features: usize, orders_on_demand: bool) -> usize {
    let max_cells = if orders_on_demand { MAX_RANKED_CELLS } else { MAX_CELLS };
    (max_cells / n_features).clamp(256, 16_384)
}

/// A small node that waits to be grown as a subtree.
pub(crate) struct PendingSubtree<N> {
    /// Its number in the top of the tree.
    pub id: usize,
    pub range: Range<usize>,
    pub node: N,
    pub depth: u32,
    pub inherited: Inherited,
}

/// Buffers of one thread, reused from subtree to subtree.
pub(crate) struct Workspace<X, C: Criterion> {
    subtree: Subtree<X, C>,
    tables: NodeTables<C>,
    /// By local row: whether it goes left in the node that is being divided.
    sides: Box<[bool; LOCAL_ROWS]>,
    scratch: C::Scratch,
    search: Search,
    /// `None` if the criterion has no kernel for tiny nodes.
    tiny: Option<TinyGrower<C>>,
    /// Targets of a child.
    child: Vec<C::Item>,
    /// Right part of a column that is being partitioned.
    right: Vec<u16>,
}

/// The rows of a subtree.
struct Subtree<X, C: Criterion> {
    n_rows: usize,
    n_features: usize,
    /// X, feature by feature.
    cells: Vec<X>,
    /// Target of each row.
    items: Vec<C::Item>,
    /// The columns, feature by feature, each `n_rows` long. If the criterion ranks targets, or
    /// orders are made on demand, one more column has each node's rows, in the order of their
    /// targets or in any order.
    buffers: [Vec<u16>; 2],
    /// `None` if the orders of all features are carried along.
    ranks: Option<LocalRanks>,
    /// The range of a coded column.
    ordered: OrderBuffer<C::Item>,
}

/// Tables of the node that is being searched, by local row.
struct NodeTables<C: Criterion> {
    contributions: Box<[C::Contribution; LOCAL_ROWS]>,
    tags: Box<[TagCellOf<C>; LOCAL_ROWS]>,
    table: C::Table,
}

/// The state of a node's search.
struct Search {
    /// By feature: its gain bound.
    bounds: Vec<f64>,
    /// By feature: its best cut, if it was swept and could win.
    findings: Vec<Option<Found>>,
    contest: Tournament,
    /// The features that are evaluated, in ascending order. The vectors above are in this order.
    features: Vec<u32>,
    drawer: FeatureDrawer,
}

/// A node that is still to be grown.
struct PendingNode<N> {
    node: N,
    start: usize,
    depth: u32,
    /// Which buffer holds its range.
    buffer: usize,
    /// A column that holds its rows. For leaves and pairs, the other columns are not partitioned.
    column: usize,
    /// The inner node whose right child it is; `None` for a left child, which follows its parent.
    right_of: Option<usize>,
    inherited: Inherited,
}

impl<X: Cell, C: Criterion> Workspace<X, C> {
    pub fn new(criterion: &C, rules: &Rules) -> Self {
        Self {
            subtree: Subtree {
                n_rows: 0,
                n_features: 0,
                cells: Vec::new(),
                items: Vec::new(),
                buffers: [Vec::new(), Vec::new()],
                ranks: None,
                ordered: OrderBuffer::new(),
            },
            tables: NodeTables { contributions: local_table(), tags: local_table(), table: C::Table::default() },
            sides: local_table(),
            scratch: C::Scratch::default(),
            search: Search {
                bounds: Vec::new(),
                findings: Vec::new(),
                contest: Tournament::new(),
                features: Vec::new(),
                drawer: FeatureDrawer::default(),
            },
            tiny: TinyGrower::new(criterion, rules.min_rows_leaf),
            child: Vec::new(),
            right: Vec::new(),
        }
    }

    /// Grows a subtree. `local_ids` has an entry per row of X, for its number in the subtree.
    pub fn grow(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        root: PendingSubtree<C::NodeStats>,
        local_ids: &[AtomicU16],
    ) -> TreePiece {
        let PendingSubtree { range, node, depth, inherited, .. } = root;
        self.subtree.take_in(fit, columns, range, local_ids);
        self.right.resize(self.subtree.n_rows, 0);
        let mut piece = TreePiece::with_capacity(fit.max_nodes(&node, depth), fit.criterion.n_values());
        let column = self.subtree.key_column();
        let mut pending = vec![PendingNode { node, start: 0, depth, buffer: 0, column, right_of: None, inherited }];
        while let Some(task) = pending.pop() {
            if self.grow_tiny(fit, &columns.has_missing, &task, &mut piece) {
                continue;
            }
            let id = push_node(fit, &task, &mut piece);
            if fit.is_leaf(&task.node, task.depth) || fit.team.cancelled() {
                continue;
            }
            if is_pair(fit, &task.node) {
                self.grow_pair(fit, &task, id, &mut piece);
            } else if let Some(split) = self.search(fit, &columns.has_missing, &task) {
                pending.extend(self.carry_out(fit, &columns.has_missing, &task, &split, id, &mut piece));
            }
        }
        piece
    }

    /// Finds the split of a node; `None` if none is allowed, or none gains enough.
    fn search(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
    ) -> Option<Split> {
        self.prepare_search(fit, task);
        if self.search.features.is_empty() {
            // All features are constant.
            return None;
        }
        let verdict = self.bound_together(fit, task);
        if let BoundVerdict::Clear { place, n_left } = verdict
            && let Some(split) = self.clear_split(fit, has_missing, task, place, n_left)
        {
            return Some(split);
        }
        let split = self.sweep_features(fit, has_missing, task, verdict)?;
        fit.is_worthwhile(&task.node, &split).then_some(split)
    }

    /// Fills the tables that bounds of criteria which rank targets read, and lists the features.
    #[inline]
    fn prepare_search(&mut self, fit: &Fit<'_, Matrix<'_, X>, C>, task: &PendingNode<C::NodeStats>) {
        let Self { subtree, tables, search, child, .. } = self;
        if C::Ranking::RANKED {
            let orders = subtree.orders_of(fit.criterion, task);
            tables.fill_contributions(fit.criterion, &task.node, subtree, orders);
            tables.tabulate(fit.criterion, &task.node, subtree, orders, child);
        }
        search.draw_features(fit, task.inherited, |feature| {
            subtree.order_on_demand(fit.criterion, task, feature);
            subtree.is_constant(subtree.orders_of(fit.criterion, task), feature)
        });
    }

    /// Bounds the gains of all features in one pass, if the criterion can.
    #[inline]
    fn bound_together(&mut self, fit: &Fit<'_, Matrix<'_, X>, C>, task: &PendingNode<C::NodeStats>) -> BoundVerdict {
        let Self { subtree, tables, scratch, search: Search { features, bounds, .. }, .. } = self;
        let rows = SmallNode {
            orders: subtree.orders_of(fit.criterion, task),
            features,
            items: &subtree.items,
            contributions: &tables.contributions,
            min_rows: fit.rules.min_rows_leaf,
        };
        C::Bounds::of_small_node(fit.criterion, &task.node, &tables.table, &rows, scratch, bounds)
    }

    /// The split that the bounds determined, if the feature has no monotonic constraint and the fit
    /// no missing values, only the number of rows limits cuts, and the values on both sides of the
    /// cut differ.
    fn clear_split(
        &self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
        place: usize,
        n_left: usize,
    ) -> Option<Split> {
        let (feature, gain) = (self.search.features[place] as usize, self.search.bounds[place]);
        let value = self.subtree.value(self.subtree.orders_of(fit.criterion, task), feature);
        let is_clear = task.inherited.value_order(fit.choices, feature).is_none()
            && !has_missing.contains(&true)
            && fit.rules.limit_rows_only()
            && value(n_left - 1) != value(n_left);
        is_clear.then_some(Split { feature, gain, cut: Cut { n_left, missing_left: false } })
    }

    /// Bounds each feature separately if they were not bounded together, sweeps those that could
    /// win, and decides.
    #[inline]
    fn sweep_features(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
        verdict: BoundVerdict,
    ) -> Option<Split> {
        let Self { subtree, tables, scratch, search, .. } = self;
        let orders = subtree.orders_of(fit.criterion, task);
        let is_unknown = verdict == BoundVerdict::Unknown;
        if is_unknown && !C::Ranking::RANKED {
            tables.fill_contributions(fit.criterion, &task.node, subtree, orders);
        }
        tables.fill_tags(subtree.key_order(orders));
        let view = NodeView { fit, node: &task.node, subtree, tables, orders, has_missing, inherited: task.inherited };
        if is_unknown {
            view.bound_features(&search.features, &mut search.bounds);
        } else {
            unbound_missing(&search.features, &mut search.bounds, has_missing);
        }
        // If bounds were computed from the items, few features are swept, and a table of
        // contributions would cost more than it saves.
        let looked_up = is_unknown || C::Ranking::RANKED;
        let noise = fit.criterion.noise(&task.node);
        search.run(noise, fit.criterion.nothing(&task.node), |feature, contest| {
            view.sweep(feature, looked_up, contest, scratch);
        })
    }

    /// Grows a tiny node with its descendants. Returns false if the node is not tiny.
    fn grow_tiny(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
        piece: &mut TreePiece,
    ) -> bool {
        let Some(tiny) = &mut self.tiny else { return false };
        let Subtree { n_rows, cells, items, ranks, .. } = &self.subtree;
        let orders = self.subtree.orders_of(fit.criterion, task);
        let cells = LocalCells { cells, n_rows: *n_rows };
        let root = TinyRoot { fit, node: &task.node, cells, orders, ranks: ranks.as_ref() };
        if fit.is_leaf(&task.node, task.depth) || !root.is_tiny(has_missing) {
            return false;
        }
        tiny.grow(&root, items, task.depth, task.inherited, task.right_of.map(|id| id as u32), piece);
        true
    }

    /// Grows a node of two rows: every feature that separates them has the same gain, so the first
    /// one that is allowed wins.
    fn grow_pair(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        task: &PendingNode<C::NodeStats>,
        id: usize,
        piece: &mut TreePiece,
    ) {
        let Self { subtree, search, .. } = self;
        let rows = subtree.pair(task);
        search.draw_features(fit, task.inherited, |feature| subtree.in_order(rows, feature).is_none());
        for feature in search.features.iter().map(|&feature| feature as usize) {
            let Some(pair) = subtree.in_order(rows, feature) else { continue };
            let children = pair.map(|(_, item)| fit.criterion.describe(&[item]));
            let values = || children.each_ref().map(|node| constrained_value(fit.criterion, node));
            let value_order = task.inherited.value_order(fit.choices, feature);
            if value_order.is_some_and(|order| !order.allows(values())) {
                continue;
            }
            let split = Split { feature, gain: 0.0, cut: Cut { n_left: 1, missing_left: false } };
            let division = Division::new(&split, 2, true, |place| pair[place].0);
            piece.split(id, task.depth, fit.test(&division, &children[0], &children[1]));
            let inherited = task.inherited.of_children(fit.choices, feature, values);
            let [_, right] = [0, 1].map(|side| {
                let child = piece.push(fit.criterion, &children[side]);
                fit.clamp(inherited[side], || piece.value_mut(child, fit.criterion.n_values()));
                child
            });
            piece.set_right(id, right);
            return;
        }
    }

    /// Carries out the split of a node, which is number `id` of the piece. Returns its children,
    /// the left one last, because it is grown next.
    #[inline]
    fn carry_out(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
        split: &Split,
        id: usize,
        piece: &mut TreePiece,
    ) -> [PendingNode<C::NodeStats>; 2] {
        let (division, [left, right]) = self.divide(fit, has_missing, task, split);
        piece.split(id, task.depth, fit.test(&division, &left, &right));
        let depth = task.depth + 1;
        let keep = [&left, &right].map(|child| Keep::of(fit, child, depth));
        self.partition(task, &division, keep);
        let values = || [&left, &right].map(|node| constrained_value(fit.criterion, node));
        let [of_left, of_right] = task.inherited.of_children(fit.choices, division.feature, values);
        let (start, middle) = (task.start, task.start + division.n_left());
        let column = if self.subtree.ranks.is_some() { self.subtree.key_column() } else { division.feature };
        let child = |node: C::NodeStats, start: usize, right_of: Option<usize>, inherited: Inherited| PendingNode {
            node,
            start,
            depth,
            buffer: 1 - task.buffer,
            column,
            right_of,
            inherited,
        };
        [child(right, middle, Some(id), of_right), child(left, start, None, of_left)]
    }

    /// Carries the split out in the winner's column and describes the children.
    fn divide(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        has_missing: &[bool],
        task: &PendingNode<C::NodeStats>,
        split: &Split,
    ) -> (Division, [C::NodeStats; 2]) {
        let len = fit.criterion.rows(&task.node);
        let subtree = &self.subtree;
        let rows = subtree.orders(task.buffer, task.start, len).of(split.feature);
        let cells = subtree.cells_of(split.feature);
        let value = |place: usize| cells[rows[place] as usize].to_f64();
        let division = Division::new(split, len, has_missing[split.feature], value);
        if C::Ranking::RANKED {
            self.note_sides(task, &division);
            let children = self.partition_targets(fit, task, &division);
            return (division, children);
        }
        let children = division.sides(rows).map(|parts| {
            self.child.clear();
            self.child.extend(parts.into_iter().flatten().map(|&row| subtree.items[row as usize]));
            fit.criterion.describe(&self.child)
        });
        (division, children)
    }

    /// Notes the side of each of the node's rows.
    fn note_sides(&mut self, task: &PendingNode<C::NodeStats>, division: &Division) {
        let rows = self.subtree.orders(task.buffer, task.start, division.len).of(division.feature);
        for (parts, is_left) in division.sides(rows).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| self.sides[row as usize] = is_left);
        }
    }

    /// Partitions the column of targets and describes the children from it.
    fn partition_targets(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        task: &PendingNode<C::NodeStats>,
        division: &Division,
    ) -> [C::NodeStats; 2] {
        let Self { subtree, sides, child, right, .. } = self;
        let range = subtree.range(subtree.n_features, task.start, division.len);
        let (from, to) = buffers(&mut subtree.buffers, task.buffer);
        partition_rows(&from[range.clone()], sides, &mut to[range.clone()], right);
        let (left, right) = to[range].split_at(division.n_left());
        [left, right].map(|rows| {
            child.clear();
            child.extend(rows.iter().map(|&row| subtree.items[row as usize]));
            fit.criterion.describe(child)
        })
    }

    /// Partitions the node's range into the other buffer, as far as the children need it. The
    /// winner's column is copied; the other columns need the sides of the rows.
    fn partition(&mut self, task: &PendingNode<C::NodeStats>, division: &Division, keep: [Keep; 2]) {
        if keep == [Keep::Nothing; 2] {
            return;
        }
        if self.subtree.ranks.is_some() {
            if !C::Ranking::RANKED {
                self.subtree.pass_rows_on(task, division);
            }
            return;
        }
        let needs_sides = keep.contains(&Keep::All);
        if needs_sides && !C::Ranking::RANKED {
            self.note_sides(task, division);
        }
        let Self { subtree, sides, right, .. } = self;
        let n_features = subtree.n_features;
        let winner = subtree.range(division.feature, task.start, division.len);
        let n_rows = subtree.n_rows;
        let (from, to) = buffers(&mut subtree.buffers, task.buffer);
        copy_sides(&from[winner.clone()], division, &mut to[winner]);
        if !needs_sides {
            return;
        }
        for column in (0..n_features).filter(|&column| column != division.feature) {
            let start = column * n_rows + task.start;
            let range = start..start + division.len;
            let (from, to) = (&from[range.clone()], &mut to[range]);
            match keep {
                [Keep::All, Keep::All] => partition_rows(from, sides, to, right),
                [Keep::All, _] => keep_rows::<true>(from, sides, &mut to[..division.n_left()]),
                _ => keep_rows::<false>(from, sides, &mut to[division.n_left()..]),
            }
        }
    }
}

/// Appends a node to the piece, as a leaf, and returns its number.
#[inline]
fn push_node<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    task: &PendingNode<C::NodeStats>,
    piece: &mut TreePiece,
) -> usize {
    let id = piece.push(fit.criterion, &task.node);
    fit.clamp(task.inherited, || piece.value_mut(id, fit.criterion.n_values()));
    if let Some(parent) = task.right_of {
        piece.set_right(parent, id);
    }
    id
}

/// The buffer of a node, and the buffer of its children.
fn buffers([first, second]: &mut [Vec<u16>; 2], buffer: usize) -> (&[u16], &mut [u16]) {
    if buffer == 0 { (first, second) } else { (second, first) }
}

/// Copies a node's rows in the order of its winner, the left side first.
fn copy_sides(winner: &[u16], division: &Division, to: &mut [u16]) {
    let mut place = 0;
    for rows in division.sides(winner).into_iter().flatten() {
        to[place..place + rows.len()].copy_from_slice(rows);
        place += rows.len();
    }
}

impl<X: Cell, C: Criterion> Subtree<X, C> {
    /// Copies the range of every column, with rows numbered from 0, their targets, and their part
    /// of X. Rows are numbered in the order of their targets if the criterion ranks them.
    fn take_in(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        range: Range<usize>,
        local_ids: &[AtomicU16],
    ) {
        (self.n_rows, self.n_features) = (range.len(), fit.x.n_columns());
        let Columns { features, coded, targets, .. } = columns;
        let mut ordered = std::mem::replace(&mut self.ordered, OrderBuffer::new());
        let key = if C::Ranking::RANKED {
            targets.slice(range.clone())
        } else {
            ordered.slice(0, features, coded, range.clone())
        };
        for (local, &row) in key.rows.iter().enumerate() {
            local_ids[row as usize].store(local as u16, Ordering::Relaxed);
        }
        self.items.clear();
        self.items.extend_from_slice(key.items);
        self.copy_cells(fit.x, key.rows);
        let local = |&row: &u32| local_ids[row as usize].load(Ordering::Relaxed);
        if fit.orders_on_demand() {
            let ranks = self.ranks.get_or_insert_default();
            ranks.restart(self.n_rows, self.n_features);
            for feature in 0..self.n_features {
                ranks.push(ordered.rows(feature, features, coded, range.clone()).iter().map(local));
            }
            let rows = self.n_features * self.n_rows;
            self.buffers.iter_mut().for_each(|buffer| buffer.resize(rows + self.n_rows, 0));
            self.buffers[0][rows..].iter_mut().zip(0..).for_each(|(place, row)| *place = row);
        } else {
            self.buffers[0].clear();
            for feature in 0..self.n_features {
                let rows = ordered.rows(feature, features, coded, range.clone());
                self.buffers[0].extend(rows.iter().map(local));
            }
            if C::Ranking::RANKED {
                self.buffers[0].extend(targets.rows[range].iter().map(local));
            }
            let len = self.buffers[0].len();
            self.buffers[1].resize(len, 0);
        }
        self.ordered = ordered;
    }

    /// Copies these rows of X, feature by feature. X is read row by row, so that each row comes
    /// from memory once; the cache lines at the ends of the copy's columns stay in the cache.
    fn copy_cells(&mut self, x: &Matrix<'_, X>, rows: &[u32]) {
        let (n_rows, n_columns) = (rows.len(), x.n_columns());
        let any = x.get(rows[0] as usize, 0);
        self.cells.resize(n_rows * n_columns, any);
        for (local, &row) in rows.iter().enumerate() {
            for feature in 0..n_columns {
                self.cells[feature * n_rows + local] = x.get(row as usize, feature);
            }
        }
    }

    fn orders(&self, buffer: usize, start: usize, len: usize) -> LocalOrders<'_> {
        LocalOrders { columns: &self.buffers[buffer], n_rows: self.n_rows, start, len }
    }

    fn orders_of(&self, criterion: &C, task: &PendingNode<C::NodeStats>) -> LocalOrders<'_> {
        self.orders(task.buffer, task.start, criterion.rows(&task.node))
    }

    /// The range of a node's part of a column in its buffer.
    fn range(&self, column: usize, start: usize, len: usize) -> Range<usize> {
        let start = column * self.n_rows + start;
        start..start + len
    }

    fn cells_of(&self, feature: usize) -> &[X] {
        &self.cells[feature * self.n_rows..]
    }

    /// A node's rows in the order in which its tables are filled: the order of the targets if the
    /// criterion ranks them, otherwise any order.
    fn key_order<'a>(&self, orders: LocalOrders<'a>) -> &'a [u16] {
        orders.of(self.key_column())
    }

    /// The column of the key order.
    fn key_column(&self) -> usize {
        if C::Ranking::RANKED || self.ranks.is_some() { self.n_features } else { 0 }
    }

    /// Orders a node's rows by a feature, if orders are not carried along.
    fn order_on_demand(&mut self, criterion: &C, task: &PendingNode<C::NodeStats>, feature: usize) {
        if let Some(ranks) = &mut self.ranks {
            let len = criterion.rows(&task.node);
            let (columns, rows) = self.buffers[task.buffer].split_at_mut(self.n_features * self.n_rows);
            let ordered = &mut columns[feature * self.n_rows + task.start..][..len];
            ranks.order(feature, &rows[task.start..][..len], ordered);
        }
    }

    /// Writes the rows of a node's children to the other buffer's key column.
    fn pass_rows_on(&mut self, task: &PendingNode<C::NodeStats>, division: &Division) {
        let [winner, rows] =
            [division.feature, self.n_features].map(|column| self.range(column, task.start, division.len));
        let (from, to) = buffers(&mut self.buffers, task.buffer);
        copy_sides(&from[winner], division, &mut to[rows]);
    }

    /// Whether all values of a node are the same, missing ones included.
    fn is_constant(&self, orders: LocalOrders<'_>, feature: usize) -> bool {
        let value = self.value(orders, feature);
        let (first, last) = (value(0).to_f64(), value(orders.len - 1).to_f64());
        first == last || (first.is_nan() && last.is_nan())
    }

    /// The value at a place of a node's order.
    #[inline(always)]
    fn value<'a>(&'a self, orders: LocalOrders<'a>, feature: usize) -> impl Fn(usize) -> X + 'a {
        let (rows, cells) = (orders.of(feature), self.cells_of(feature));
        move |place| cells[rows[place] as usize]
    }

    /// The rows of a node that has two.
    fn pair(&self, task: &PendingNode<C::NodeStats>) -> [u16; 2] {
        let rows = &self.buffers[task.buffer][task.column * self.n_rows + task.start..];
        [rows[0], rows[1]]
    }

    /// Value and target of two rows in the order of a feature, NaN last; `None` if it doesn't
    /// separate them.
    fn in_order(&self, rows: [u16; 2], feature: usize) -> Option<[(f64, C::Item); 2]> {
        let cells = self.cells_of(feature);
        let [first, second] = rows.map(|row| (cells[row as usize].to_f64(), self.items[row as usize]));
        let (a, b) = (first.0, second.0);
        if a == b || (a.is_nan() && b.is_nan()) {
            return None;
        }
        Some(if a > b || a.is_nan() { [second, first] } else { [first, second] })
    }
}

impl<C: Criterion> NodeTables<C> {
    fn fill_contributions<X: Cell>(
        &mut self,
        criterion: &C,
        node: &C::NodeStats,
        subtree: &Subtree<X, C>,
        orders: LocalOrders<'_>,
    ) {
        for (rank, &row) in subtree.key_order(orders).iter().enumerate() {
            let item = subtree.items[row as usize];
            self.contributions[row as usize] = criterion.contribution(node, item, || rank);
        }
    }

    fn tabulate<X: Cell>(
        &mut self,
        criterion: &C,
        node: &C::NodeStats,
        subtree: &Subtree<X, C>,
        orders: LocalOrders<'_>,
        items: &mut Vec<C::Item>,
    ) {
        items.clear();
        items.extend(subtree.key_order(orders).iter().map(|&row| subtree.items[row as usize]));
        criterion.tabulate(node, items, &mut self.table);
    }

    fn fill_tags(&self, key_order: &[u16]) {
        for (&row, &tag) in key_order.iter().zip(C::Bounds::class_tags(&self.table)) {
            self.tags[row as usize].set(tag);
        }
    }
}

/// The node that is being searched, with its tables filled.
struct NodeView<'a, X, C: Criterion> {
    fit: &'a Fit<'a, Matrix<'a, X>, C>,
    node: &'a C::NodeStats,
    subtree: &'a Subtree<X, C>,
    tables: &'a NodeTables<C>,
    orders: LocalOrders<'a>,
    has_missing: &'a [bool],
    inherited: Inherited,
}

impl<'a, X: Cell, C: Criterion> NodeView<'a, X, C> {
    /// A feature whose contributions are looked up in the table.
    #[inline(always)]
    fn looked_up(&self, feature: usize) -> Feature<impl ContributionsOf<C> + 'a, impl Fn(usize) -> X + 'a> {
        let NodeTables { contributions, tags, .. } = self.tables;
        Feature {
            contributions: LookedUp { rows: self.orders.of(feature), contributions, tags },
            value: self.subtree.value(self.orders, feature),
            has_missing: self.has_missing[feature],
            value_order: self.inherited.value_order(self.fit.choices, feature),
        }
    }

    /// A feature whose contributions are computed from the items as they are read.
    #[inline(always)]
    fn indexed(&self, feature: usize) -> Feature<impl ContributionsOf<C> + 'a, impl Fn(usize) -> X + 'a> {
        let (criterion, node) = (self.fit.criterion, self.node);
        Feature {
            contributions: Indexed {
                rows: self.orders.of(feature),
                items: &self.subtree.items,
                contribution: move |item| criterion.contribution(node, item, || 0),
                tags: &self.tables.tags,
            },
            value: self.subtree.value(self.orders, feature),
            has_missing: self.has_missing[feature],
            value_order: self.inherited.value_order(self.fit.choices, feature),
        }
    }

    /// Writes the gain bound of each feature, infinity if the criterion has none.
    fn bound_features(&self, features: &[u32], bounds: &mut Vec<f64>) {
        let bound = |&feature: &u32| {
            let feature = self.looked_up(feature as usize);
            gain_bound(self.fit.criterion, &self.tables.table, &feature, self.fit.rules).unwrap_or(f64::INFINITY)
        };
        bounds.clear();
        bounds.extend(features.iter().map(bound));
    }

    fn sweep(&self, feature: usize, looked_up: bool, contest: &mut Tournament, scratch: &mut C::Scratch) {
        let Fit { criterion, rules, .. } = *self.fit;
        let table = &self.tables.table;
        if looked_up {
            scan(criterion, self.node, table, &self.looked_up(feature), rules, contest, scratch);
        } else {
            scan(criterion, self.node, table, &self.indexed(feature), rules, contest, scratch);
        }
    }
}

/// Removes the bounds of features with missing values: bounds of small nodes don't cover the cuts
/// with missing values on the left.
fn unbound_missing(features: &[u32], bounds: &mut [f64], has_missing: &[bool]) {
    for (bound, &feature) in bounds.iter_mut().zip(features) {
        if has_missing[feature as usize] {
            *bound = f64::INFINITY;
        }
    }
}

impl Search {
    /// Lists the features that are evaluated at a node: those that are drawn, or all.
    fn draw_features<X: Cell, C: Criterion>(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        inherited: Inherited,
        is_constant: impl FnMut(usize) -> bool,
    ) {
        if fit.draws() {
            self.features.clear();
            self.features.extend_from_slice(fit.draw_features(inherited, &mut self.drawer, is_constant));
        } else if self.features.is_empty() {
            self.features.extend(0..fit.x.n_columns() as u32);
        }
    }

    /// Sweeps the feature with the largest bound, then every feature that could still win, and
    /// decides.
    fn run(
        &mut self,
        noise: f64,
        nothing: Option<f64>,
        mut sweep: impl FnMut(usize, &mut Tournament),
    ) -> Option<Split> {
        let Self { bounds, findings, contest, features, .. } = self;
        let mut favourite = 0;
        for place in 1..bounds.len() {
            favourite = if bounds[place] > bounds[favourite] { place } else { favourite };
        }
        findings.clear();
        findings.resize(bounds.len(), None);
        let mut incumbent = 0.0;
        let others = (0..bounds.len()).filter(|&place| place != favourite);
        for place in std::iter::once(favourite).take(bounds.len()).chain(others) {
            contest.restart(noise, incumbent);
            if bounds[place] >= contest.bar() {
                sweep(features[place] as usize, contest);
                findings[place] = contest.found();
                incumbent = contest.found().map_or(incumbent, |found| found.top.max(incumbent));
            }
        }
        let found = features.iter().zip(findings.iter()).map(|(&feature, &found)| (feature as usize, found));
        decide(found, noise, nothing, |feature, aim| {
            contest.restart_for(aim);
            sweep(feature, contest);
            contest.found()
        })
    }
}

/// Which of a child's columns are still needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// The child is a leaf.
    Nothing,
    /// The child is a pair: one column is enough to know its rows.
    One,
    All,
}

impl Keep {
    fn of<X: Cell, C: Criterion>(fit: &Fit<'_, Matrix<'_, X>, C>, child: &C::NodeStats, depth: u32) -> Self {
        if fit.is_leaf(child, depth) {
            Self::Nothing
        } else if is_pair(fit, child) {
            Self::One
        } else {
            Self::All
        }
    }
}

/// Whether a node has two rows that any feature with different values may separate.
fn is_pair<X: Cell, C: Criterion>(fit: &Fit<'_, Matrix<'_, X>, C>, node: &C::NodeStats) -> bool {
    fit.criterion.rows(node) == 2 && fit.rules.limit_rows_only()
}
