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
use super::tiny::{Cells, Deviations, Plot, Squares, Tiny};
use crate::columns::Columns;
use crate::criterion::{Criterion, Outlook, SmallNode, TinyLoss};
use crate::data::{Cell, Matrix};
use crate::params::Rules;
use crate::partition::{keep_rows, partition_rows};
use crate::scan::{Feature, promise, scan};
use crate::search::decide;
use crate::split::{Contest, Cut, Division, Found, Split, Tournament};
use crate::steps::{Indexed, LookedUp, Mark, Marked, Orders, TABLE, table};

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
    /// And what a promise needs to know of them.
    marks: Box<[C::Mark; TABLE]>,
    /// Of the rows of the node that is being divided: whether each goes left.
    sides: Box<[bool; TABLE]>,
    sweep: C::Scratch,
    /// Of the node that is being searched.
    table: C::Table,
    search: Search,
    tiny_squares: Tiny<Squares>,
    tiny_deviations: Tiny<Deviations>,
    /// Targets of a child.
    child: Vec<C::Item>,
    /// Right part of a column that is being partitioned.
    right: Vec<u16>,
}

/// What a search has found so far.
struct Search {
    /// For each feature, the most that it can gain.
    bounds: Vec<f64>,
    findings: Vec<Option<Found>>,
    contest: Tournament,
}

/// A node still to be grown.
struct Task<N> {
    node: N,
    start: usize,
    depth: u32,
    /// Which buffer holds its range.
    buffer: usize,
    /// A column that is sure to have its rows: of leaves and pairs, no others need be kept up.
    column: usize,
    /// The inner node that it is the right child of; a left child simply comes next.
    right_of: Option<usize>,
}

impl<X: Cell, C: Criterion> Workspace<X, C> {
    pub fn new(rules: &Rules) -> Self {
        Self {
            n_rows: 0,
            cells: Vec::new(),
            items: Vec::new(),
            buffers: [Vec::new(), Vec::new()],
            steps: table(),
            marks: table(),
            sides: table(),
            sweep: C::Scratch::default(),
            table: C::Table::default(),
            search: Search { bounds: Vec::new(), findings: Vec::new(), contest: Tournament::new() },
            tiny_squares: Tiny::new(rules.min_rows_leaf),
            tiny_deviations: Tiny::new(rules.min_rows_leaf),
            child: Vec::new(),
            right: Vec::new(),
        }
    }

    /// Grows the subtree of the node whose range begins at `start`.
    pub fn grow(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        start: usize,
        root: C::Node,
        depth: u32,
        local_ids: &[AtomicU16],
    ) -> Sprout {
        self.take_in(fit, columns, start..start + fit.criterion.rows(&root), local_ids);
        let mut sprout = Sprout::with_capacity(fit.max_nodes(&root, depth), fit.criterion.n_values());
        let mut pending = vec![Task { node: root, start: 0, depth, buffer: 0, column: 0, right_of: None }];
        while let Some(task) = pending.pop() {
            if self.grow_tiny(fit, columns, &task, &mut sprout) {
                continue;
            }
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
            sprout.split(id, task.depth, fit.test(&division, &left, &right));
            let depth = task.depth + 1;
            let [keep_left, keep_right] = [&left, &right].map(|child| Keep::of(fit, child, depth));
            self.partition(&task, &division, [keep_left, keep_right]);
            let (buffer, column) = (1 - task.buffer, division.feature);
            let middle = task.start + division.n_left();
            pending.push(Task { node: right, start: middle, depth, buffer, column, right_of: Some(id) });
            pending.push(Task { node: left, start: task.start, depth, buffer, column, right_of: None });
        }
        sprout
    }

    /// Copies the range of every column, with its rows numbered from 0, their targets and their part of X.
    fn take_in(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        range: Range<usize>,
        local_ids: &[AtomicU16],
    ) {
        self.n_rows = range.len();
        // Where the order of targets counts, rows are numbered in that order.
        let first = if C::ORDERED { &columns.targets } else { &columns.columns[0] }.range(range.clone());
        for (local, &row) in first.rows.iter().enumerate() {
            local_ids[row as usize].store(local as u16, Ordering::Relaxed);
        }
        self.items.clear();
        self.items.extend_from_slice(first.items);
        self.right.resize(self.n_rows, 0);
        self.copy_cells(fit.x, first.rows);
        self.buffers[0].clear();
        for column in columns.columns.iter().chain(C::ORDERED.then_some(&columns.targets)) {
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

    fn search(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        task: &Task<C::Node>,
    ) -> Option<Split> {
        let node = &task.node;
        let Self { n_rows, cells, items, buffers, steps, marks, sweep, table, search, child, .. } = self;
        let len = fit.criterion.rows(node);
        let orders = Orders { columns: &buffers[task.buffer], n_rows: *n_rows, start: task.start, len };
        let n_features = fit.x.n_columns();
        let key = orders.of(if C::ORDERED { n_features } else { 0 });
        let fill_steps = |steps: &mut [C::Step; TABLE]| {
            for (rank, &row) in key.iter().enumerate() {
                steps[row as usize] = fit.criterion.step(node, items[row as usize], || rank);
            }
        };
        if C::ORDERED {
            fill_steps(steps);
            child.clear();
            child.extend(key.iter().map(|&row| items[row as usize]));
            fit.criterion.tabulate(node, child, table);
        }
        let rows = SmallNode { orders, n_features, items, steps, min_rows: fit.rules.min_rows_leaf };
        let outlook = fit.criterion.bound(node, table, &rows, sweep, &mut search.bounds);
        if let Outlook::Clear { feature, n_left } = outlook
            && !columns.has_missing.contains(&true)
            && fit.rules.count_rows_alone()
        {
            let value = |place: usize| cells[feature * *n_rows + orders.of(feature)[place] as usize];
            if value(n_left - 1) != value(n_left) {
                let cut = Cut { n_left, missing_left: false };
                return Some(Split { feature, gain: search.bounds[feature], cut });
            }
        }
        let looked_up = matches!(outlook, Outlook::Unknown) || C::ORDERED;
        if looked_up && !C::ORDERED {
            fill_steps(steps);
        }
        key.iter().zip(C::marks(table)).for_each(|(&row, &mark)| marks[row as usize].set(mark));
        let (steps, marks, table) = (&*steps, &*marks, &*table);
        let value = |feature: usize| {
            let (rows, cells) = (orders.of(feature), &cells[feature * *n_rows..]);
            move |place: usize| cells[rows[place] as usize]
        };
        let by_table = |feature: usize| {
            let rows = orders.of(feature);
            Feature {
                steps: Marked {
                    steps: LookedUp { rows, table: steps },
                    mark: move |place: usize| marks[rows[place] as usize].get(),
                },
                value: value(feature),
                has_missing: columns.has_missing[feature],
            }
        };
        if let Outlook::Unknown = outlook {
            let most = |feature| promise(fit.criterion, table, &by_table(feature), fit.rules);
            search.bounds.clear();
            search.bounds.extend((0..n_features).map(|feature| most(feature).unwrap_or(f64::INFINITY)));
        } else {
            for (bound, _) in search.bounds.iter_mut().zip(&columns.has_missing).filter(|(_, missing)| **missing) {
                // With missing values on the left it may gain more.
                *bound = f64::INFINITY;
            }
        }
        search
            .run(fit.criterion.noise(node), |feature, contest| {
                if looked_up {
                    scan(fit.criterion, node, table, &by_table(feature), fit.rules, contest, sweep);
                } else {
                    let feature = Feature {
                        steps: Indexed {
                            rows: orders.of(feature),
                            items,
                            step: |item| fit.criterion.step(node, item, || 0),
                        },
                        value: value(feature),
                        has_missing: columns.has_missing[feature],
                    };
                    scan(fit.criterion, node, table, &feature, fit.rules, contest, sweep);
                }
            })
            .filter(|split| fit.is_worthwhile(node, split))
    }

    /// Grows a node that is tiny with all that is below it; returns whether it is.
    fn grow_tiny(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        task: &Task<C::Node>,
        sprout: &mut Sprout,
    ) -> bool {
        let len = fit.criterion.rows(&task.node);
        let orders = Orders { columns: &self.buffers[task.buffer], n_rows: self.n_rows, start: task.start, len };
        let plot = Plot { fit, cells: Cells { cells: &self.cells, n_rows: self.n_rows }, orders };
        if fit.is_leaf(&task.node, task.depth) || !plot.is_tiny(&columns.has_missing) {
            return false;
        }
        let (items, right_of) = (&self.items, task.right_of.map(|id| id as u32));
        match C::TINY {
            Some(TinyLoss::SquaredError) => self.tiny_squares.grow(&plot, items, task.depth, right_of, sprout),
            Some(TinyLoss::AbsoluteError) => self.tiny_deviations.grow(&plot, items, task.depth, right_of, sprout),
            None => return false,
        }
        true
    }

    /// Grows a node of two rows: every feature that parts them gains the same, so the first one wins.
    fn grow_pair(&self, fit: &Fit<'_, Matrix<'_, X>, C>, task: &Task<C::Node>, id: usize, sprout: &mut Sprout) {
        let rows = &self.buffers[task.buffer][task.column * self.n_rows + task.start..][..2];
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
            sprout.split(id, task.depth, fit.test(&division, &left, &right));
            sprout.push(fit.criterion, &left);
            let right = sprout.push(fit.criterion, &right);
            sprout.set_right(id, right);
            return;
        }
    }

    /// Carries the split out in the winner's column and describes the children.
    fn divide(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        columns: &Columns<C::Item>,
        task: &Task<C::Node>,
        split: &Split,
    ) -> (Division, [C::Node; 2]) {
        let len = fit.criterion.rows(&task.node);
        let rows = &self.buffers[task.buffer][split.feature * self.n_rows + task.start..][..len];
        let cells = &self.cells[split.feature * self.n_rows..];
        let value = |place: usize| cells[rows[place] as usize].to_f64();
        let division = Division::new(split, len, columns.has_missing[split.feature], value);
        if C::ORDERED {
            self.mark_sides(task, &division);
            let children = self.part_targets(fit, task, &division);
            return (division, children);
        }
        let children = division.sides(rows).map(|parts| {
            self.child.clear();
            self.child.extend(parts.into_iter().flatten().map(|&row| self.items[row as usize]));
            fit.criterion.describe(&self.child)
        });
        (division, children)
    }

    /// Notes on which side each of the node's rows is.
    fn mark_sides(&mut self, task: &Task<C::Node>, division: &Division) {
        let rows = &self.buffers[task.buffer][division.feature * self.n_rows + task.start..][..division.len];
        for (parts, is_left) in division.sides(rows).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| self.sides[row as usize] = is_left);
        }
    }

    /// Partitions the column of targets and describes the children from it.
    fn part_targets(
        &mut self,
        fit: &Fit<'_, Matrix<'_, X>, C>,
        task: &Task<C::Node>,
        division: &Division,
    ) -> [C::Node; 2] {
        let start = fit.x.n_columns() * self.n_rows + task.start;
        let range = start..start + division.len;
        let [first, second] = &mut self.buffers;
        let (from, to) = if task.buffer == 0 { (&*first, second) } else { (&*second, first) };
        partition_rows(&from[range.clone()], &self.sides, &mut to[range.clone()], &mut self.right);
        let (left, right) = to[range].split_at(division.n_left());
        [left, right].map(|rows| {
            self.child.clear();
            self.child.extend(rows.iter().map(|&row| self.items[row as usize]));
            fit.criterion.describe(&self.child)
        })
    }

    /// Partitions the node's range into the other buffer, as far as the children need it.
    fn partition(&mut self, task: &Task<C::Node>, division: &Division, keep: [Keep; 2]) {
        let [left, right] = keep;
        if left == Keep::Nothing && right == Keep::Nothing {
            return;
        }
        let needs_sides = left == Keep::All || right == Keep::All;
        if needs_sides && !C::ORDERED {
            self.mark_sides(task, division);
        }
        let [first, second] = &mut self.buffers;
        let (from, to) = if task.buffer == 0 { (&*first, second) } else { (&*second, first) };
        let range = |column: usize| {
            let start = column * self.n_rows + task.start;
            start..start + division.len
        };
        let mut place = range(division.feature).start;
        for rows in division.sides(&from[range(division.feature)]).into_iter().flatten() {
            to[place..place + rows.len()].copy_from_slice(rows);
            place += rows.len();
        }
        if !needs_sides {
            return;
        }
        for column in
            (0..from.len() / self.n_rows - usize::from(C::ORDERED)).filter(|&column| column != division.feature)
        {
            let (from, to) = (&from[range(column)], &mut to[range(column)]);
            match keep {
                [Keep::All, Keep::All] => partition_rows(from, &self.sides, to, &mut self.right),
                [Keep::All, _] => keep_rows::<true>(from, &self.sides, &mut to[..division.n_left()]),
                _ => keep_rows::<false>(from, &self.sides, &mut to[division.n_left()..]),
            }
        }
    }
}

impl Search {
    /// Scans the features that could win, the most promising one first, and decides.
    fn run(&mut self, noise: f64, mut scan: impl FnMut(usize, &mut Tournament)) -> Option<Split> {
        let Self { bounds, findings, contest } = self;
        let mut favourite = 0;
        for feature in 1..bounds.len() {
            favourite = if bounds[feature] > bounds[favourite] { feature } else { favourite };
        }
        findings.clear();
        findings.resize(bounds.len(), None);
        let mut incumbent = 0.0;
        for feature in std::iter::once(favourite).chain((0..bounds.len()).filter(|&feature| feature != favourite)) {
            contest.restart(noise, incumbent);
            if bounds[feature] >= contest.bar() {
                scan(feature, contest);
                findings[feature] = contest.found();
                incumbent = contest.found().map_or(incumbent, |found| found.top.max(incumbent));
            }
        }
        let found = findings.iter().enumerate().filter_map(|(feature, found)| Some((feature, (*found)?)));
        decide(found, noise, |feature, least| {
            contest.restart_from(least);
            scan(feature, contest);
            contest.found().map(|found| found.cut)
        })
    }
}

/// How much of a child's columns is still needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Of a leaf.
    Nothing,
    /// Of a pair: whose rows are in any one column.
    One,
    All,
}

impl Keep {
    fn of<X: Cell, C: Criterion>(fit: &Fit<'_, Matrix<'_, X>, C>, child: &C::Node, depth: u32) -> Self {
        if fit.is_leaf(child, depth) {
            Self::Nothing
        } else if is_pair(fit, child) {
            Self::One
        } else {
            Self::All
        }
    }
}

/// Whether this node has two rows, and nothing but their values to decide about them.
fn is_pair<X: Cell, C: Criterion>(fit: &Fit<'_, Matrix<'_, X>, C>, node: &C::Node) -> bool {
    fit.criterion.rows(node) == 2 && fit.rules.count_rows_alone()
}
