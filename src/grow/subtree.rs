//! Small nodes, depth-first: a whole subtree by one thread, in cache.
//!
//! The subtree's rows are numbered anew from 0, its part of X is copied once, and its columns live in two buffers that
//! take turns: a node in one of them is partitioned into the same range of the other, so the ranges of nodes still
//! to come stay as they are.
//!
//! ```text
//! buffer 0   [        node         ]        depth d
//! buffer 1   [  left  ][   right   ]        depth d + 1
//! buffer 0   [ll][ lr ]                     depth d + 2, while `right` still waits in buffer 1
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use super::Fit;
use super::sprout::Sprout;
use crate::columns::{Column, Columns, Stretch};
use crate::criterion::Criterion;
use crate::data::Cell;
use crate::params::Rules;
use crate::partition::partition;
use crate::scan::{Rival, Scanner};
use crate::split::{Cut, Division, Split};

/// A subtree's columns, in both buffers, are to fit in the second-level cache.
const MAX_CELLS: usize = 40_960;

/// Largest node that is grown as a subtree.
pub(super) fn max_rows(n_features: usize) -> usize {
    (MAX_CELLS / n_features).clamp(256, 8192)
}

/// Buffers of one worker, reused from subtree to subtree.
pub(super) struct Workspace<X, C: Criterion> {
    /// X of the subtree, feature after feature.
    cells: Vec<X>,
    /// The columns, feature after feature, each `n_rows` long.
    buffers: [Column<C::Item>; 2],
    sides: Vec<bool>,
    scanner: Scanner<C>,
    left_items: Vec<C::Item>,
    n_rows: usize,
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

impl<X: Cell, C: Criterion> Workspace<X, C> {
    pub fn new() -> Self {
        Self {
            cells: Vec::new(),
            buffers: [Column::with_len(0), Column::with_len(0)],
            sides: Vec::new(),
            scanner: Scanner::new(),
            left_items: Vec::new(),
            n_rows: 0,
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
        local_ids: &[AtomicU32],
    ) -> Sprout {
        self.n_rows = fit.criterion.summary(&root).rows;
        self.take_in(fit, columns, start, local_ids);
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
            if self.is_pair(fit, &task.node) {
                self.grow_pair(fit, &task, id, &mut sprout);
                continue;
            }
            let Some(split) = self.search(fit, columns, &task) else { continue };
            let (division, [left, right]) = self.divide(fit, columns, &task, &split);
            sprout.split(id, fit.test(&division, &left, &right));
            let depth = task.depth + 1;
            let is_leaf = |child| fit.is_leaf(child, depth);
            let is_simple = |child| is_leaf(child) || self.is_pair(fit, child);
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

    /// Copies the node's range of every column, with rows numbered from 0, and its part of X.
    #[inline(never)]
    fn take_in(
        &mut self,
        fit: &Fit<'_, X, C>,
        columns: &Columns<C::Item>,
        start: usize,
        local_ids: &[AtomicU32],
    ) {
        let n = self.n_rows;
        let range = start..start + n;
        let rows = &columns.columns[0].rows[range.clone()];
        for (local, &row) in rows.iter().enumerate() {
            local_ids[row as usize].store(local as u32, Ordering::Relaxed);
        }
        self.sides.resize(self.sides.len().max(n), false);
        self.buffers.iter_mut().for_each(|buffer| buffer.reserve(n * columns.columns.len()));
        self.cells.clear();
        for (feature, column) in columns.columns.iter().enumerate() {
            self.cells.extend(rows.iter().map(|&row| fit.x.get(row as usize, feature)));
            let stretch = column.range(range.clone());
            let place = feature * n..(feature + 1) * n;
            self.buffers[0].items[place.clone()].copy_from_slice(stretch.items);
            for (local, &row) in self.buffers[0].rows[place].iter_mut().zip(stretch.rows) {
                *local = local_ids[row as usize].load(Ordering::Relaxed);
            }
        }
    }

    fn stretch(&self, task: &Task<C::Node>, len: usize, feature: usize) -> Stretch<'_, C::Item> {
        let place = feature * self.n_rows + task.start;
        self.buffers[task.buffer].range(place..place + len)
    }

    #[inline(never)]
    fn search(&mut self, fit: &Fit<'_, X, C>, columns: &Columns<C::Item>, task: &Task<C::Node>) -> Option<Split> {
        let n = self.n_rows;
        let len = fit.criterion.summary(&task.node).rows;
        let mut best: Option<Split> = None;
        for (feature, cells) in self.cells.chunks_exact(n).enumerate() {
            let place = feature * n + task.start;
            let stretch = self.buffers[task.buffer].range(place..place + len);
            let value = |row: u32| cells[row as usize];
            let missing = columns.has_missing[feature];
            // A later feature that finds anything has beaten the earlier ones.
            let rival = Rival::Earlier(best.as_ref().map(|split| split.gain));
            if let Some(found) =
                self.scanner.scan(fit.criterion, &task.node, stretch, value, missing, fit.rules, rival)
            {
                best = Some(Split { feature, gain: found.top, cut: found.cut });
            }
        }
        best.filter(|split| fit.is_worthwhile(&task.node, split))
    }

    /// Whether this node has two rows, and nothing but their values to decide about them.
    fn is_pair(&self, fit: &Fit<'_, X, C>, node: &C::Node) -> bool {
        let Rules { min_weight_leaf, min_gain, .. } = *fit.rules;
        fit.criterion.summary(node).rows == 2 && min_weight_leaf == 0.0 && min_gain == 0.0
    }

    /// Grows a node of two rows: every feature that parts them gains the same, so the first one wins.
    fn grow_pair(&self, fit: &Fit<'_, X, C>, task: &Task<C::Node>, id: usize, sprout: &mut Sprout) {
        let Stretch { rows, items } = self.stretch(task, 2, 0);
        let [first, second] = [0, 1].map(|k| rows[k] as usize);
        for (feature, cells) in self.cells.chunks_exact(self.n_rows).enumerate() {
            let (a, b) = (cells[first].to_f64(), cells[second].to_f64());
            if a == b || (a.is_nan() && b.is_nan()) {
                continue;
            }
            // NaN, the largest, is on the right.
            let [low, high] = if a < b || b.is_nan() { [(a, items[0]), (b, items[1])] } else { [(b, items[1]), (a, items[0])] };
            let split = Split { feature, gain: 0.0, cut: Cut { n_left: 1, missing_left: false } };
            let division = Division::new(&split, 2, true, |place| [low.0, high.0][place]);
            let [left, right] = [low, high].map(|(_, item)| fit.criterion.describe(&[item]));
            sprout.split(id, fit.test(&division, &left, &right));
            sprout.push(fit.criterion, &left);
            let right = sprout.push(fit.criterion, &right);
            sprout.set_right(id, right);
            return;
        }
    }

    /// Carries the split out in the winner's column and describes the children.
    #[inline(never)]
    fn divide(
        &mut self,
        fit: &Fit<'_, X, C>,
        columns: &Columns<C::Item>,
        task: &Task<C::Node>,
        split: &Split,
    ) -> (Division, [C::Node; 2]) {
        let len = fit.criterion.summary(&task.node).rows;
        let mut left_items = std::mem::take(&mut self.left_items);
        let stretch = self.stretch(task, len, split.feature);
        let cells = &self.cells[split.feature * self.n_rows..];
        let value = |place: usize| cells[stretch.rows[place] as usize].to_f64();
        let division = Division::new(split, len, columns.has_missing[split.feature], value);
        let left = fit.criterion.describe(division.left_items(stretch.items, &mut left_items));
        let right = fit.criterion.describe(&stretch.items[division.right()]);
        self.left_items = left_items;
        (division, [left, right])
    }

    /// Partitions the node's range of the first columns into the other buffer.
    #[inline(never)]
    fn partition(&mut self, n_features: usize, task: &Task<C::Node>, division: &Division) {
        let n = self.n_rows;
        let [first, second] = &mut self.buffers;
        let (from, to) = if task.buffer == 0 { (&*first, second) } else { (&*second, first) };
        let range = |feature: usize| {
            let place = feature * n + task.start;
            place..place + division.len
        };
        let right = division.right();
        for (place, &row) in from.rows[range(division.feature)].iter().enumerate() {
            self.sides[row as usize] = !right.contains(&place);
        }
        let sides = &self.sides;
        for feature in 0..n_features {
            let range = range(feature);
            let stretch = from.range(range.clone());
            let (rows, items) = (&mut to.rows[range.clone()], &mut to.items[range]);
            partition(stretch, |row| sides[row as usize], division.n_left(), rows, items);
        }
    }
}
