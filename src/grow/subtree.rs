//! Small nodes, depth-first: a whole subtree by one thread, in cache.
//!
//! The subtree's rows are numbered anew from 0, in 16 bits, and its part of X and of the targets is copied once. Its columns are
//! these numbers alone, two bytes a cell: a row's target is found in a table that stays in the first-level cache. Columns live
//! in two buffers that take turns: a node in one of them is partitioned into the same range of the other, so the
//! ranges of nodes still to come stay as they are.
//!
//! ```text
//! buffer 0   [        node         ]        depth d
//! buffer 1   [  left  ][   right   ]        depth d + 1
//! buffer 0   [ll][ lr ]                     depth d + 2, while `right` still waits in buffer 1
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use super::Fit;
use super::sprout::Sprout;
use crate::columns::Columns;
use crate::criterion::Criterion;
use crate::data::{Cell, Matrix};
use crate::params::Rules;
use crate::partition::partition_rows;
use crate::scan::{Feature, scan};
use crate::split::{Cut, Division, Ladder, Split};
use crate::steps::{LookedUp, TABLE};

/// A subtree's columns, in both buffers, are to fit in the second-level cache.
const MAX_CELLS: usize = 65_536;

/// Largest node that is grown as a subtree.
pub(super) fn max_rows(n_features: usize) -> usize {
    (MAX_CELLS / n_features).clamp(256, 16_384)
}

/// Buffers of one worker, reused from subtree to subtree.
pub(super) struct Workspace<X, C: Criterion> {
    n_rows: usize,
    /// X, feature after feature.
    cells: Vec<X>,
    /// Target of each row.
    items: Vec<C::Item>,
    /// The columns, feature after feature, each `n_rows` long.
    buffers: [Vec<u16>; 2],
    /// Of the rows of the node that is being searched: what each adds to the node's sums.
    steps: Box<[C::Step; TABLE]>,
    /// Of the rows of the node that is being divided: whether each goes left.
    sides: Box<[bool; TABLE]>,
    sweep: C::Scratch,
    /// Targets of a child.
    child: Vec<C::Item>,
    /// Right part of a column that is being partitioned.
    right: Vec<u16>,
}

/// A node still to be grown.
struct Task<N> {
    node: N,
    start: usize,
    depth: u32,
    /// Which buffer holds its range.
    buffer: usize,
    /// The inner node that it is the right child of; a left child simply comes next.
    right_of: Option<usize>,
}

/// A table with an entry for every number of 16 bits, on the heap.
#[allow(clippy::unnecessary_box_returns)] // Half a megabyte.
fn table<T: Copy + Default>() -> Box<[T; TABLE]> {
    vec![T::default(); TABLE].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("the length is right"))
}

impl<X: Cell, C: Criterion> Workspace<X, C> {
    pub fn new() -> Self {
        Self {
            n_rows: 0,
            cells: Vec::new(),
            items: Vec::new(),
            buffers: [Vec::new(), Vec::new()],
            steps: table(),
            sides: table(),
            sweep: C::Scratch::default(),
            child: Vec::new(),
            right: Vec::new(),
        }
    }

    /// Grows the subtree of the node whose range begins at `start`.
    pub fn grow(
        &mut self,
        fit: &Fit<'_, X, C>,
        columns: &Columns<C::Item>,
        start: usize,
        root: C::Node,
        depth: u32,
        local_ids: &[AtomicU16],
    ) -> Sprout {
        self.take_in(fit, columns, start..start + fit.criterion.rows(&root), local_ids);
        let mut sprout = Sprout::default();
        let mut pending = vec![Task { node: root, start: 0, depth, buffer: 0, right_of: None }];
        while let Some(task) = pending.pop() {
            let id = sprout.push(fit.criterion, &task.node);
            if let Some(parent) = task.right_of {
                sprout.set_right(parent, id);
            }
            if fit.is_leaf(&task.node, task.depth) || fit.team.cancelled() {
                continue;
            }
            if is_pair(fit, &task.node) {
                self.grow_pair(fit, &task, id, &mut sprout);
                continue;
            }
            let Some(split) = self.search(fit, columns, &task) else { continue };
            let (division, [left, right]) = self.divide(fit, columns, &task, &split);
            sprout.split(id, fit.test(&division, &left, &right));
            let depth = task.depth + 1;
            let is_leaf = |child| fit.is_leaf(child, depth);
            let is_simple = |child| is_leaf(child) || is_pair(fit, child);
            if !(is_leaf(&left) && is_leaf(&right)) {
                // A pair looks at one column only.
                let n_columns = if is_simple(&left) && is_simple(&right) { 1 } else { fit.x.n_columns() };
                self.partition(n_columns, &task, &division);
            }
            let buffer = 1 - task.buffer;
            let middle = task.start + division.n_left();
            pending.push(Task { node: right, start: middle, depth, buffer, right_of: Some(id) });
            pending.push(Task { node: left, start: task.start, depth, buffer, right_of: None });
        }
        sprout
    }

    /// Copies the range of every column, with its rows numbered from 0, their targets and their part of X.
    fn take_in(
        &mut self,
        fit: &Fit<'_, X, C>,
        columns: &Columns<C::Item>,
        range: Range<usize>,
        local_ids: &[AtomicU16],
    ) {
        self.n_rows = range.len();
        let first = columns.columns[0].range(range.clone());
        for (local, &row) in first.rows.iter().enumerate() {
            local_ids[row as usize].store(local as u16, Ordering::Relaxed);
        }
        self.items.clear();
        self.items.extend_from_slice(first.items);
        self.right.resize(self.n_rows, 0);
        self.copy_cells(fit.x, first.rows);
        self.buffers[0].clear();
        for column in &columns.columns {
            let local = |&row: &u32| local_ids[row as usize].load(Ordering::Relaxed);
            self.buffers[0].extend(column.rows[range.clone()].iter().map(local));
        }
        let len = self.buffers[0].len();
        self.buffers[1].resize(len, 0);
    }

    /// Copies these rows of X, feature after feature. X is read row by row: each is in one place, the copy's columns are a
    /// few open ends in cache.
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

    /// The node's rows in the order of a feature.
    fn rows(&self, task: &Task<C::Node>, len: usize, feature: usize) -> &[u16] {
        &self.buffers[task.buffer][feature * self.n_rows + task.start..][..len]
    }

    fn search(&mut self, fit: &Fit<'_, X, C>, columns: &Columns<C::Item>, task: &Task<C::Node>) -> Option<Split> {
        let len = fit.criterion.rows(&task.node);
        let buffer = &self.buffers[task.buffer];
        for &row in &buffer[task.start..][..len] {
            self.steps[row as usize] = fit.criterion.step(&task.node, self.items[row as usize]);
        }
        let mut ladder = Ladder::new(fit.criterion.noise(&task.node));
        let features = self.cells.chunks_exact(self.n_rows).zip(buffer.chunks_exact(self.n_rows));
        for (feature, (cells, column)) in features.enumerate() {
            let rows = &column[task.start..][..len];
            ladder.feature = feature;
            let feature = Feature {
                steps: &LookedUp { rows, table: &self.steps },
                value: |place: usize| cells[rows[place] as usize],
                has_missing: columns.has_missing[feature],
            };
            scan(fit.criterion, &task.node, &feature, fit.rules, &mut ladder, &mut self.sweep);
        }
        ladder.leader().filter(|split| fit.is_worthwhile(&task.node, split))
    }

    /// Grows a node of two rows: every feature that parts them gains the same, so the first one wins.
    fn grow_pair(&self, fit: &Fit<'_, X, C>, task: &Task<C::Node>, id: usize, sprout: &mut Sprout) {
        let rows = self.rows(task, 2, 0);
        for (feature, cells) in self.cells.chunks_exact(self.n_rows).enumerate() {
            let mut pair = [rows[0], rows[1]].map(|row| (cells[row as usize].to_f64(), self.items[row as usize]));
            let [(a, _), (b, _)] = pair;
            if a == b || (a.is_nan() && b.is_nan()) {
                continue;
            }
            // NaN, the largest, is on the right.
            if a > b || a.is_nan() {
                pair.swap(0, 1);
            }
            let split = Split { feature, gain: 0.0, cut: Cut { n_left: 1, missing_left: false } };
            let division = Division::new(&split, 2, true, |place| pair[place].0);
            let [left, right] = pair.map(|(_, item)| fit.criterion.describe(&[item]));
            sprout.split(id, fit.test(&division, &left, &right));
            sprout.push(fit.criterion, &left);
            let right = sprout.push(fit.criterion, &right);
            sprout.set_right(id, right);
            return;
        }
    }

    /// Carries the split out in the winner's column: notes who goes where, and describes the children.
    fn divide(
        &mut self,
        fit: &Fit<'_, X, C>,
        columns: &Columns<C::Item>,
        task: &Task<C::Node>,
        split: &Split,
    ) -> (Division, [C::Node; 2]) {
        let len = fit.criterion.rows(&task.node);
        let rows = &self.buffers[task.buffer][split.feature * self.n_rows + task.start..][..len];
        let cells = &self.cells[split.feature * self.n_rows..];
        let value = |place: usize| cells[rows[place] as usize].to_f64();
        let division = Division::new(split, len, columns.has_missing[split.feature], value);
        let right = division.right();
        let parts = [[&rows[..right.start], &rows[right.end..]], [&rows[right], &[]]];
        let [left, right] = [true, false].map(|is_left| {
            self.child.clear();
            for rows in parts[usize::from(!is_left)] {
                self.child.extend(rows.iter().map(|&row| self.items[row as usize]));
                for &row in rows {
                    self.sides[row as usize] = is_left;
                }
            }
            fit.criterion.describe(&self.child)
        });
        (division, [left, right])
    }

    /// Partitions the node's range of the first columns into the other buffer.
    fn partition(&mut self, n_columns: usize, task: &Task<C::Node>, division: &Division) {
        let [first, second] = &mut self.buffers;
        let (from, to) = if task.buffer == 0 { (&*first, second) } else { (&*second, first) };
        for column in 0..n_columns {
            let start = column * self.n_rows + task.start;
            let range = start..start + division.len;
            let n_left = partition_rows(&from[range.clone()], &self.sides, &mut to[range], &mut self.right);
            debug_assert_eq!(n_left, division.n_left());
        }
    }
}

/// Whether this node has two rows, and nothing but their values to decide about them.
fn is_pair<X: Cell, C: Criterion>(fit: &Fit<'_, X, C>, node: &C::Node) -> bool {
    let Rules { min_weight_leaf, min_gain, .. } = *fit.rules;
    fit.criterion.rows(node) == 2 && min_weight_leaf == 0.0 && min_gain == 0.0
}
