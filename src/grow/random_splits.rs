//! Random thresholds (`splitter="random"`, extra trees): no order of the rows is needed, so nothing
//! is presorted and no columns are carried along.
//!
//! ```text
//! for each node
//!     for each drawn feature
//!         gather its values, with their least and greatest one      it may be constant
//!         draw a threshold between them, and a side for missing values
//!         sum up the contributions of the rows that go left         the gain of this one cut
//!     decide         ascending features, see `search.rs`
//!     partition      the list of rows, and of the rows in the order of their targets
//! ```
//!
//! All threads share the features of a large node. A node that is small enough for the cache is
//! grown whole by one thread, which first copies its part of X, feature by feature. Of two rows,
//! the first feature that separates them wins, without a look at the other features.
//!
//! Cost per node: two passes over the values of each drawn feature. Memory: 4 bytes per row, and
//! per thread the copy of one subtree's part of X. The trees are those of `general.rs`, byte for
//! byte (`fit/tests.rs::drawn_features_thresholds_and_constraints_by_both_engines`).

use super::Fit;
use super::by_node::{self, NodeEngine, OpenNode, SplitNode, children, grow_piece};
use super::inherited::Inherited;
use super::random::{FeatureDrawer, RandomCut};
use super::tree_piece::TreePiece;
use crate::criterion::{Criterion, OneCut, TargetRanking};
use crate::data::{Cell, Matrix, Rows};
use crate::error::Result;
use crate::partition::partition_in_place;
use crate::search::decide;
use crate::split::{Cut, Found, Split, missing_goes_left};
use crate::tree::{Test, Tree};

/// Largest subtree in cells: its copy of X stays in the second-level cache.
const MAX_CELLS: usize = 1 << 18;

/// Numbers side by side, so that the compiler can use vectors.
const LANES: usize = 8;

/// Grows a tree. `items` has the target of each row of `x`; `targets` has the rows in the order of
/// their targets, for criteria that rank them.
pub(crate) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    rows: &Rows,
    items: &[C::Item],
    mut targets: Vec<u32>,
) -> Result<Tree> {
    let mut all: Vec<u32> = (0..rows.len()).map(|place| rows.id(place)).collect();
    let threads = fit.team.threads();
    let mut workers: Vec<Worker<X, C>> = (0..threads).map(|_| Worker::new()).collect();
    let whole = Table { fit, cells: Cells::Whole(fit.x), items, n_rows: fit.x.n_rows() };
    let node_rows = NodeRows { rows: &mut all, targets: &mut targets };
    let node = whole.describe(&node_rows, &mut workers[0].items);
    let root = OpenNode { rows: node_rows, node, depth: 0, inherited: Inherited::of_root(fit.choices) };

    by_node::grow(fit, &whole, root, &mut workers)
}

/// A node's rows: in ascending order of their ids, and in the order of their targets if the
/// criterion ranks them.
struct NodeRows<'a> {
    rows: &'a mut [u32],
    targets: &'a mut [u32],
}

/// X as a node reads it.
#[derive(Clone, Copy)]
enum Cells<'a, X> {
    Whole(&'a Matrix<'a, X>),
    /// Feature by feature; rows are numbered from 0.
    Local(&'a [X]),
}

/// The rows that nodes are made of, and their targets.
struct Table<'a, X, C: Criterion> {
    fit: &'a Fit<'a, Matrix<'a, X>, C>,
    cells: Cells<'a, X>,
    /// By row.
    items: &'a [C::Item],
    n_rows: usize,
}

/// Buffers of one thread.
struct Worker<X, C: Criterion> {
    /// The values of a feature, by place in the node.
    values: Vec<X>,
    /// By place in the node: whether the row goes left.
    goes_left: Vec<bool>,
    candidates: Vec<Candidate>,
    scratch: C::Scratch,
    items: Vec<C::Item>,
    spare: Vec<u32>,
    drawer: FeatureDrawer,
    contributions: Vec<C::Contribution>,
    /// By row of X: its rank among its node's targets, or its local number.
    by_row: Vec<u32>,
    local: LocalRows<X, C>,
}

/// The copy of a subtree.
struct LocalRows<X, C: Criterion> {
    cells: Vec<X>,
    items: Vec<C::Item>,
}

impl<X: Cell, C: Criterion> Worker<X, C> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            goes_left: Vec::new(),
            candidates: Vec::new(),
            scratch: C::Scratch::default(),
            items: Vec::new(),
            spare: Vec::new(),
            drawer: FeatureDrawer::default(),
            contributions: Vec::new(),
            by_row: Vec::new(),
            local: LocalRows { cells: Vec::new(), items: Vec::new() },
        }
    }
}

impl<'a, X: Cell, C: Criterion> NodeEngine<C> for Table<'a, X, C> {
    type Rows = NodeRows<'a>;
    type Worker = Worker<X, C>;

    fn is_large(&self, rows: &NodeRows<'a>) -> bool {
        rows.rows.len() * self.fit.x.n_columns() > MAX_CELLS
    }

    fn split(
        &self,
        open: OpenNode<NodeRows<'a>, C::NodeStats>,
        workers: &mut [Worker<X, C>],
    ) -> Option<SplitNode<NodeRows<'a>, C::NodeStats>> {
        let (split, cut) = self.search(&open, workers)?;
        let OpenNode { rows: NodeRows { rows, targets }, depth, inherited, .. } = open;
        let worker = &mut workers[0];
        let [rows, targets] = [rows, targets].map(|rows| {
            let n_left =
                partition_in_place(rows, |row| cut.sends_left(self.value(row, split.feature)), &mut worker.spare);
            rows.split_at_mut(n_left)
        });
        let parts = [NodeRows { rows: rows.0, targets: targets.0 }, NodeRows { rows: rows.1, targets: targets.1 }];
        let nodes = parts.each_ref().map(|rows| self.describe(rows, &mut worker.items));
        let [left, right] = nodes.each_ref().map(|node| self.fit.criterion.weight(node));
        let learned = (cut.n_missing > 0).then_some(cut.missing_left);
        let test = Test {
            feature: split.feature as u32,
            threshold: cut.threshold,
            missing_left: missing_goes_left(learned, left, right),
            right: 0,
        };
        Some((test, children(self.fit, (depth, inherited), split.feature, parts, nodes)))
    }

    /// Works on a copy of the node's part of X.
    fn grow_small(&self, mut root: OpenNode<NodeRows<'a>, C::NodeStats>, worker: &mut Worker<X, C>) -> TreePiece {
        let mut local = std::mem::replace(&mut worker.local, LocalRows { cells: Vec::new(), items: Vec::new() });
        local.take_in(self, &mut root.rows, &mut worker.by_row);
        let n_rows = root.rows.rows.len();
        let table = Table { fit: self.fit, cells: Cells::Local(&local.cells), items: &local.items, n_rows };
        let piece = grow_piece(self.fit, &table, root, worker);
        worker.local = local;
        piece
    }
}

impl<X: Cell, C: Criterion> LocalRows<X, C> {
    /// Copies the cells and targets of these rows, and numbers the rows from 0.
    fn take_in(&mut self, whole: &Table<'_, X, C>, rows: &mut NodeRows<'_>, local_ids: &mut Vec<u32>) {
        let (n_rows, x) = (rows.rows.len(), whole.fit.x);
        let any = x.get(rows.rows[0] as usize, 0);
        self.cells.resize(n_rows * x.n_columns(), any);
        self.items.clear();
        self.items.extend(rows.rows.iter().map(|&row| whole.items[row as usize]));
        for (local, &row) in rows.rows.iter().enumerate() {
            for feature in 0..x.n_columns() {
                self.cells[feature * n_rows + local] = x.get(row as usize, feature);
            }
        }
        if C::Ranking::RANKED {
            local_ids.resize(x.n_rows(), 0);
            (0..).zip(rows.rows.iter()).for_each(|(local, &row)| local_ids[row as usize] = local);
            rows.targets.iter_mut().for_each(|row| *row = local_ids[*row as usize]);
        }
        (0..).zip(rows.rows.iter_mut()).for_each(|(local, row)| *row = local);
    }
}

/// A feature of a node, with its drawn cut.
struct Candidate {
    feature: usize,
    cut: RandomCut,
    gain: Option<f64>,
}

impl<X: Cell, C: Criterion> Table<'_, X, C> {
    fn describe(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) -> C::NodeStats {
        self.gather(rows, items);
        self.fit.criterion.describe(items)
    }

    /// Copies the targets of a node, in ascending order if the criterion ranks them.
    fn gather(&self, rows: &NodeRows<'_>, items: &mut Vec<C::Item>) {
        let rows: &[u32] = if C::Ranking::RANKED { rows.targets } else { rows.rows };
        items.clear();
        items.extend(rows.iter().map(|&row| self.items[row as usize]));
    }

    fn value(&self, row: u32, feature: usize) -> f64 {
        match self.cells {
            Cells::Whole(x) => x.get(row as usize, feature).to_f64(),
            Cells::Local(cells) => cells[feature * self.n_rows + row as usize].to_f64(),
        }
    }

    /// Draws features and thresholds, and decides; `None` if no cut is allowed or gains enough.
    fn search(
        &self,
        open: &OpenNode<NodeRows<'_>, C::NodeStats>,
        workers: &mut [Worker<X, C>],
    ) -> Option<(Split, RandomCut)> {
        let (fit, node) = (self.fit, &open.node);
        let mut table = C::Table::default();
        let contributions = self.contributions(open, &mut table, &mut workers[0]);
        let search = NodeSearch { rows: self, open, table: &table, contributions: &contributions };
        let candidates = if workers.len() == 1 { search.alone(&mut workers[0]) } else { search.together(workers) };
        workers[0].contributions = contributions;
        let found = candidates.iter().filter_map(|candidate| {
            let cut = Cut { n_left: candidate.cut.n_left(), missing_left: candidate.cut.missing_left };
            let gain = candidate.gain?;
            Some((candidate.feature, Some(Found { top: gain, gain, cut })))
        });
        // A feature has one cut, so its first cut that ties with the highest gain is this one.
        let split = decide(found, fit.criterion.noise(node), None, |_, _| None)?;
        let winner = candidates.iter().find(|candidate| candidate.feature == split.feature)?.cut;
        workers[0].candidates = candidates;
        fit.is_worthwhile(node, &split).then_some((split, winner))
    }

    /// What each row of the node adds to its sums, in the order of its rows.
    fn contributions(
        &self,
        open: &OpenNode<NodeRows<'_>, C::NodeStats>,
        table: &mut C::Table,
        worker: &mut Worker<X, C>,
    ) -> Vec<C::Contribution> {
        let criterion = self.fit.criterion;
        if C::Ranking::RANKED {
            self.gather(&open.rows, &mut worker.items);
            criterion.tabulate(&open.node, &worker.items, table);
            worker.by_row.resize(worker.by_row.len().max(self.n_rows), 0);
            (0..).zip(open.rows.targets.iter()).for_each(|(rank, &row)| worker.by_row[row as usize] = rank);
        }
        let ranks = &worker.by_row;
        let contribution =
            |&row: &u32| criterion.contribution(&open.node, self.items[row as usize], || ranks[row as usize] as usize);
        let mut contributions = std::mem::take(&mut worker.contributions);
        contributions.clear();
        contributions.extend(open.rows.rows.iter().map(contribution));
        contributions
    }

    /// Copies the values of a feature, in the order of the node's rows.
    fn gather_values(&self, rows: &[u32], feature: usize, values: &mut Vec<X>) -> Extremes<X> {
        values.clear();
        match self.cells {
            Cells::Whole(x) => values.extend(rows.iter().map(|&row| x.get(row as usize, feature))),
            Cells::Local(cells) => {
                let cells = &cells[feature * self.n_rows..][..self.n_rows];
                values.extend(rows.iter().map(|&row| cells[row as usize]));
            }
        }
        Extremes::new(values)
    }
}

/// The search for the split of one node.
struct NodeSearch<'a, 'r, X, C: Criterion> {
    rows: &'a Table<'a, X, C>,
    open: &'a OpenNode<NodeRows<'r>, C::NodeStats>,
    table: &'a C::Table,
    contributions: &'a [C::Contribution],
}

impl<X: Cell, C: Criterion> NodeSearch<'_, '_, X, C> {
    /// Evaluates the drawn features by one thread.
    fn alone(&self, worker: &mut Worker<X, C>) -> Vec<Candidate> {
        let (fit, inherited) = (self.rows.fit, self.open.inherited);
        let mut drawer = std::mem::take(&mut worker.drawer);
        let mut candidates = std::mem::take(&mut worker.candidates);
        candidates.clear();
        if fit.draws() {
            fit.draw_features(inherited, &mut drawer, |feature| {
                let (is_constant, candidate) = self.draw_cut(feature, worker);
                candidates.extend(candidate);
                is_constant
            });
            candidates.sort_unstable_by_key(|candidate| candidate.feature);
        } else {
            // Every cut that separates two rows gains the same: the first one that is allowed wins.
            let is_pair = self.open.rows.rows.len() == 2 && fit.rules.limit_rows_only();
            for feature in 0..fit.x.n_columns() {
                candidates.extend(self.draw_cut(feature, worker).1);
                if is_pair && candidates.last().is_some_and(|candidate| candidate.gain.is_some()) {
                    break;
                }
            }
        }
        worker.drawer = drawer;
        candidates
    }

    /// Evaluates the drawn features by all threads. If all of them are constant, more are drawn, by
    /// one thread.
    fn together(&self, workers: &mut [Worker<X, C>]) -> Vec<Candidate> {
        let fit = self.rows.fit;
        let mut work: Vec<(usize, bool, Option<Candidate>)> = if fit.draws() {
            let drawn = fit.draw_features(self.open.inherited, &mut workers[0].drawer, |_| false);
            drawn.iter().map(|&feature| (feature as usize, true, None)).collect()
        } else {
            (0..fit.x.n_columns()).map(|feature| (feature, true, None)).collect()
        };
        fit.team.each(&mut work, workers, |worker, (feature, is_constant, candidate)| {
            if !fit.team.cancelled() {
                (*is_constant, *candidate) = self.draw_cut(*feature, worker);
            }
        });
        if fit.draws() && work.iter().all(|&(_, is_constant, _)| is_constant) {
            return self.alone(&mut workers[0]);
        }
        work.into_iter().filter_map(|(.., candidate)| candidate).collect()
    }

    /// Draws a cut of a feature and finds its gain. Returns whether the feature is constant, and
    /// the cut if there is one.
    fn draw_cut(&self, feature: usize, worker: &mut Worker<X, C>) -> (bool, Option<Candidate>) {
        let extremes = self.rows.gather_values(self.open.rows.rows, feature, &mut worker.values);
        let cut = RandomCut::draw(self.open.inherited.seed, feature, &extremes);
        let candidate = cut.map(|cut| {
            let mut candidate = Candidate { feature, cut, gain: None };
            self.evaluate(&mut candidate, worker);
            candidate
        });
        (extremes.is_constant(), candidate)
    }

    /// Finds the gain of a candidate's cut, if it is allowed. The worker has the values of its
    /// feature.
    fn evaluate(&self, candidate: &mut Candidate, worker: &mut Worker<X, C>) {
        let Fit { criterion, rules, choices, .. } = *self.rows.fit;
        let Worker { values, goes_left, scratch, .. } = worker;
        let Candidate { feature, cut, gain } = candidate;
        cut.send(values, goes_left);
        let (n_left, len) = (cut.n_left(), values.len());
        if n_left < rules.min_rows_leaf || len - n_left < rules.min_rows_leaf {
            return;
        }
        let one = OneCut {
            goes_left,
            n_left,
            min_weight: rules.min_weight_leaf,
            value_order: self.open.inherited.value_order(choices, *feature),
        };
        *gain = criterion.gain_of_cut(&self.open.node, self.table, self.contributions, &one, scratch);
    }
}

/// Least and greatest value of a feature in a node.
pub(super) struct Extremes<X> {
    least: X,
    greatest: X,
    pub n_missing: usize,
    len: usize,
}

impl<X: Cell> Extremes<X> {
    fn new(values: &[X]) -> Self {
        let lesser = |a: X, b: X| if b < a { b } else { a };
        let greater = |a: X, b: X| if b > a { b } else { a };
        let (mut least, mut greatest, mut n_missing) = (X::INFINITY, X::NEG_INFINITY, 0);
        let (chunks, rest) = values.as_chunks::<LANES>();
        if !chunks.is_empty() {
            let (mut low, mut high, mut missing) = ([least; LANES], [greatest; LANES], [0u32; LANES]);
            for chunk in chunks {
                for lane in 0..LANES {
                    low[lane] = lesser(low[lane], chunk[lane]);
                    high[lane] = greater(high[lane], chunk[lane]);
                    missing[lane] += u32::from(chunk[lane].is_missing());
                }
            }
            (least, greatest) = (low.into_iter().fold(least, lesser), high.into_iter().fold(greatest, greater));
            n_missing = missing.into_iter().sum();
        }
        for &value in rest {
            (least, greatest) = (lesser(least, value), greater(greatest, value));
            n_missing += u32::from(value.is_missing());
        }
        Self { least, greatest, n_missing: n_missing as usize, len: values.len() }
    }

    /// Of values in ascending order, of which the first `n_values` are not missing.
    pub fn of_sorted(len: usize, n_values: usize, value: impl Fn(usize) -> X) -> Self {
        let (least, greatest) =
            if n_values == 0 { (X::INFINITY, X::NEG_INFINITY) } else { (value(0), value(n_values - 1)) };
        Self { least, greatest, n_missing: len - n_values, len }
    }

    /// Whether all values are the same, missing ones included.
    fn is_constant(&self) -> bool {
        self.n_missing == self.len || (self.n_missing == 0 && self.least == self.greatest)
    }

    /// Least and greatest value; `None` if all are missing.
    pub fn range(&self) -> Option<[f64; 2]> {
        (self.n_missing < self.len).then(|| [self.least, self.greatest].map(Cell::to_f64))
    }
}
