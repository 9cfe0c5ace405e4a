//! Random thresholds (`splitter="random"`, extra trees): no order of the rows is needed, so nothing
//! is presorted and no columns are carried along. X is copied row by row (`cell_rows.rs`).
//!
//! ```text
//! for each node
//!     for every few of the drawn features
//!         one pass: their least and greatest cells                 a feature may be constant
//!         draw a threshold between them, for each feature
//!         one pass: the sums of the rows on the left               the gains of these cuts
//!     decide         ascending features, see `search.rs`
//!     partition      the list of rows and their items, and the rows in the order of their targets
//! ```
//!
//! Criteria that can't sum up several cuts in one pass, and tables with missing values, take the
//! features one by one: they copy the cells of a feature, and then sum up the rows on the left.
//!
//! All threads share the features of a large node while there are few nodes. A node that is small
//! enough for the cache is grown whole by one thread, which first copies its part of X. Of two
//! rows, the first feature that separates them wins, without a look at the other features.
//!
//! Cost per node: two passes over its rows for every few drawn features. Memory: a copy of X, and
//! per thread the copy of one subtree's part of X. The trees are those of `general.rs`
//! (`fit/tests.rs::drawn_features_thresholds_and_constraints_by_both_engines`).

use super::Fit;
use super::by_node::{self, NodeEngine, OpenNode, SplitNode, children, grow_piece};
use super::cell_rows::{Adjacent, CellRows, FEW, Lanes, MANY, Picked};
use super::inherited::Inherited;
use super::random::{FeatureDrawer, RandomCut, threshold};
use super::tree_piece::TreePiece;
use crate::criterion::{Criterion, OneCut, TargetRanking};
use crate::data::{Cell, Matrix, Rows};
use crate::error::Result;
use crate::params::Choices;
use crate::partition::{partition_in_place, partition_with_items};
use crate::search::decide;
use crate::split::{Cut, Found, Split, missing_goes_left};
use crate::tree::{Test, Tree};

/// Largest subtree in cells: its copy of X stays in the second-level cache.
const MAX_CELLS: usize = 1 << 17;

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
    let cells = CellRows::new(fit.x, rows, fit.team);
    let mut numbers: Vec<u32> = (0..rows.len() as u32).collect();
    let mut moved: Vec<C::Item> = numbers.iter().map(|&row| items[rows.id(row as usize) as usize]).collect();
    let mut workers: Vec<Worker<X, C>> = (0..fit.team.threads()).map(|_| Worker::new(fit.x.n_columns())).collect();
    let by_row = if C::Ranking::RANKED { moved.clone() } else { Vec::new() };
    renumber(&rows.ids(), &mut targets, &mut workers[0].by_row);
    let whole = Table { fit, cells: &cells, items: &by_row };
    let node_rows = NodeRows { rows: &mut numbers, items: &mut moved, targets: &mut targets };
    let node = whole.describe(&node_rows, &mut workers[0].items);
    let root = OpenNode { rows: node_rows, node, depth: 0, inherited: Inherited::of_root(fit.choices) };

    by_node::grow(fit, &whole, root, &mut workers)
}

/// Replaces row numbers by their places in `rows`, which ascend.
fn renumber(rows: &[u32], numbers: &mut [u32], places: &mut Vec<u32>) {
    if let (false, Some(&last)) = (numbers.is_empty(), rows.last()) {
        places.resize(places.len().max(last as usize + 1), 0);
        (0..).zip(rows).for_each(|(place, &row)| places[row as usize] = place);
        for number in numbers {
            *number = places[*number as usize];
        }
    }
}

/// A node's rows: in ascending order of their numbers, with their items, and in the order of their
/// targets if the criterion ranks them.
struct NodeRows<'a, T> {
    rows: &'a mut [u32],
    items: &'a mut [T],
    targets: &'a mut [u32],
}

/// The rows that nodes are made of.
struct Table<'a, X, C: Criterion> {
    fit: &'a Fit<'a, Matrix<'a, X>, C>,
    cells: &'a CellRows<X>,
    /// By row, if the criterion ranks its targets.
    items: &'a [C::Item],
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
    spare: (Vec<u32>, Vec<C::Item>),
    all_features: Vec<u32>,
    drawer: FeatureDrawer,
    contributions: Vec<C::Contribution>,
    /// By row: its rank among its node's targets, or its local number.
    by_row: Vec<u32>,
    local: LocalRows<X, C>,
}

/// The copy of a subtree.
struct LocalRows<X, C: Criterion> {
    cells: CellRows<X>,
    items: Vec<C::Item>,
}

impl<X: Cell, C: Criterion> Worker<X, C> {
    fn new(n_features: usize) -> Self {
        Self {
            values: Vec::new(),
            goes_left: Vec::new(),
            candidates: Vec::new(),
            scratch: C::Scratch::default(),
            items: Vec::new(),
            spare: (Vec::new(), Vec::new()),
            all_features: (0..n_features as u32).collect(),
            drawer: FeatureDrawer::default(),
            contributions: Vec::new(),
            by_row: Vec::new(),
            local: LocalRows { cells: CellRows::default(), items: Vec::new() },
        }
    }
}

impl<'a, X: Cell, C: Criterion> NodeEngine<C> for Table<'a, X, C> {
    type Rows = NodeRows<'a, C::Item>;
    type Worker = Worker<X, C>;

    fn is_large(&self, rows: &Self::Rows) -> bool {
        rows.rows.len() * self.fit.x.n_columns() > MAX_CELLS
    }

    fn split(
        &self,
        open: OpenNode<Self::Rows, C::NodeStats>,
        workers: &mut [Worker<X, C>],
    ) -> Option<SplitNode<Self::Rows, C::NodeStats>> {
        let (feature, cut) = self.separate_pair(&open, &mut workers[0]).or_else(|| self.search(&open, workers))?;
        let OpenNode { rows: NodeRows { rows, items, targets }, depth, inherited, .. } = open;
        let worker = &mut workers[0];
        let threshold = X::not_above(cut.threshold);
        // Without a branch on the cell, which would be mispredicted for up to half of the rows.
        let goes_left = |row| {
            let cell = self.cells.value(row, feature);
            (cell <= threshold) | (cut.missing_left & cell.is_missing())
        };
        let n_left = partition_with_items(rows, items, goes_left, &mut worker.spare);
        let n_left_targets =
            if C::Ranking::RANKED { partition_in_place(targets, goes_left, &mut worker.spare.0) } else { 0 };
        let (rows, targets) = (rows.split_at_mut(n_left), targets.split_at_mut(n_left_targets));
        let items = items.split_at_mut(n_left);
        let parts = [
            NodeRows { rows: rows.0, items: items.0, targets: targets.0 },
            NodeRows { rows: rows.1, items: items.1, targets: targets.1 },
        ];
        let nodes = parts.each_ref().map(|rows| self.describe(rows, &mut worker.items));
        let [left, right] = nodes.each_ref().map(|node| self.fit.criterion.weight(node));
        let learned = (cut.n_missing > 0).then_some(cut.missing_left);
        let test = Test {
            feature: feature as u32,
            threshold: cut.threshold,
            missing_left: missing_goes_left(learned, left, right),
            right: 0,
        };
        Some((test, children(self.fit, (depth, inherited), feature, parts, nodes)))
    }

    /// Works on a copy of the node's part of X.
    fn grow_small(&self, mut root: OpenNode<Self::Rows, C::NodeStats>, worker: &mut Worker<X, C>) -> TreePiece {
        let mut local =
            std::mem::replace(&mut worker.local, LocalRows { cells: CellRows::default(), items: Vec::new() });
        local.take_in(self, &mut root.rows, &mut worker.by_row);
        let table = Table { fit: self.fit, cells: &local.cells, items: &local.items };
        let piece = grow_piece(self.fit, &table, root, worker);
        worker.local = local;
        piece
    }
}

impl<X: Cell, C: Criterion> LocalRows<X, C> {
    /// Copies the cells and targets of these rows, and numbers the rows from 0.
    fn take_in(&mut self, whole: &Table<'_, X, C>, rows: &mut NodeRows<'_, C::Item>, places: &mut Vec<u32>) {
        self.cells.copy_from(whole.cells, rows.rows);
        if C::Ranking::RANKED {
            self.items.clear();
            self.items.extend_from_slice(rows.items);
        }
        renumber(rows.rows, rows.targets, places);
        (0..).zip(rows.rows.iter_mut()).for_each(|(local, row)| *row = local);
    }
}

/// A feature of a node that is not constant, with its drawn cut.
struct Candidate {
    feature: usize,
    cut: RandomCut,
    gain: Option<f64>,
}

impl<X: Cell, C: Criterion> Table<'_, X, C> {
    fn describe(&self, rows: &NodeRows<'_, C::Item>, items: &mut Vec<C::Item>) -> C::NodeStats {
        if C::Ranking::RANKED {
            self.gather(rows.targets, items);
            return self.fit.criterion.describe(items);
        }
        self.fit.criterion.describe(rows.items)
    }

    /// Copies the items of rows in the order of their targets.
    fn gather(&self, targets: &[u32], items: &mut Vec<C::Item>) {
        items.clear();
        items.extend(targets.iter().map(|&row| self.items[row as usize]));
    }

    /// The split of two rows, if only the number of rows limits cuts. Every cut that separates them
    /// gains the same, so the first feature with one wins.
    fn separate_pair(
        &self,
        open: &OpenNode<NodeRows<'_, C::Item>, C::NodeStats>,
        worker: &mut Worker<X, C>,
    ) -> Option<(usize, RandomCut)> {
        let fit = self.fit;
        let &[a, b] = &*open.rows.rows else { return None };
        let is_free = fit.rules.limit_rows_only() && !C::FORBIDS_SIDES && !self.cells.has_missing;
        if !is_free || !fit.choices.is_some_and(Choices::are_free_of_signs) {
            return None;
        }
        features(fit, open.inherited, &mut worker.drawer, &worker.all_features).iter().find_map(|&feature| {
            let feature = feature as usize;
            let [a, b] = [a, b].map(|row| self.cells.value(row, feature));
            let [least, greatest] = if a < b { [a, b] } else { [b, a] }.map(Cell::to_f64);
            let drawn = || threshold(open.inherited.seed, feature, [least, greatest]);
            (least < greatest).then(|| (feature, RandomCut::of_values(drawn(), 1)))
        })
    }

    /// Draws features and thresholds, and decides; `None` if no cut is allowed or gains enough.
    fn search(
        &self,
        open: &OpenNode<NodeRows<'_, C::Item>, C::NodeStats>,
        workers: &mut [Worker<X, C>],
    ) -> Option<(usize, RandomCut)> {
        let (fit, node) = (self.fit, &open.node);
        let mut table = C::Table::default();
        let contributions = self.contributions(open, &mut table, &mut workers[0]);
        let search = NodeSearch { rows: self, open, table: &table, contributions: &contributions };
        let candidates = search.candidates(workers);
        workers[0].contributions = contributions;
        let found = candidates.iter().filter_map(|candidate| {
            let cut = Cut { n_left: candidate.cut.n_left(), missing_left: candidate.cut.missing_left };
            let gain = candidate.gain?;
            Some((candidate.feature, Some(Found { top: gain, gain, cut })))
        });
        // A feature has one cut, so its first cut that ties with the highest gain is this one.
        let split =
            decide(found, fit.criterion.noise(node), None, |_, _| None).filter(|split| fit.is_worthwhile(node, split));
        let winner = split.and_then(|Split { feature, .. }| {
            candidates.iter().find(|candidate| candidate.feature == feature).map(|candidate| (feature, candidate.cut))
        });
        workers[0].candidates = candidates;
        winner
    }

    /// What each row of the node adds to its sums, in the order of its rows.
    fn contributions(
        &self,
        open: &OpenNode<NodeRows<'_, C::Item>, C::NodeStats>,
        table: &mut C::Table,
        worker: &mut Worker<X, C>,
    ) -> Vec<C::Contribution> {
        let criterion = self.fit.criterion;
        let NodeRows { rows, items, targets } = &open.rows;
        let mut contributions = std::mem::take(&mut worker.contributions);
        contributions.clear();
        if C::Ranking::RANKED {
            self.gather(targets, &mut worker.items);
            criterion.tabulate(&open.node, &worker.items, table);
            let ranks = &mut worker.by_row;
            ranks.resize(ranks.len().max(self.items.len()), 0);
            (0..).zip(targets.iter()).for_each(|(rank, &row)| ranks[row as usize] = rank);
            let rank = |row: u32| ranks[row as usize] as usize;
            let all = items.iter().zip(rows.iter());
            contributions.extend(all.map(|(&item, &row)| criterion.contribution(&open.node, item, || rank(row))));
        } else {
            contributions.extend(items.iter().map(|&item| criterion.contribution(&open.node, item, || 0)));
        }
        contributions
    }
}

/// The features that are evaluated at a node, in ascending order; they may be constant.
fn features<'d, X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    inherited: Inherited,
    drawer: &'d mut FeatureDrawer,
    all: &'d [u32],
) -> &'d [u32] {
    if fit.draws() { fit.draw_features(inherited, drawer, |_| false) } else { all }
}

/// The search for the split of one node.
struct NodeSearch<'a, 'r, X, C: Criterion> {
    rows: &'a Table<'a, X, C>,
    open: &'a OpenNode<NodeRows<'r, C::Item>, C::NodeStats>,
    table: &'a C::Table,
    contributions: &'a [C::Contribution],
}

impl<X: Cell, C: Criterion> NodeSearch<'_, '_, X, C> {
    /// Evaluates the drawn features. If all of them are constant, more are drawn.
    fn candidates(&self, workers: &mut [Worker<X, C>]) -> Vec<Candidate> {
        let (fit, inherited) = (self.rows.fit, self.open.inherited);
        let mut drawer = std::mem::take(&mut workers[0].drawer);
        let mut candidates = std::mem::take(&mut workers[0].candidates);
        let all_features = std::mem::take(&mut workers[0].all_features);
        candidates.clear();
        let drawn = features(fit, inherited, &mut drawer, &all_features);
        let per_pass = if fit.draws() || workers.len() > 1 { FEW } else { MANY };
        if workers.len() == 1 {
            drawn.chunks(per_pass).for_each(|drawn| self.evaluate(drawn, &mut workers[0], &mut candidates));
        } else {
            let mut passes: Vec<_> = drawn.chunks(per_pass).map(|drawn| (drawn, Vec::new())).collect();
            fit.team.each(&mut passes, workers, |worker, (drawn, found)| self.evaluate(drawn, worker, found));
            candidates.extend(passes.into_iter().flat_map(|(_, found)| found));
        }
        if fit.draws() && candidates.is_empty() {
            let worker = &mut workers[0];
            fit.draw_features(inherited, &mut drawer, |feature| {
                self.evaluate_alone(feature, worker, &mut candidates);
                candidates.is_empty()
            });
        }
        workers[0].drawer = drawer;
        workers[0].all_features = all_features;
        candidates
    }

    /// Evaluates up to `MANY` adjacent features, or up to `FEW` features.
    fn evaluate(&self, features: &[u32], worker: &mut Worker<X, C>, candidates: &mut Vec<Candidate>) {
        if self.rows.cells.has_missing {
            for &feature in features {
                self.evaluate_alone(feature as usize, worker, candidates);
            }
        } else if self.rows.fit.draws() {
            let picked = std::array::from_fn(|lane| features[lane.min(features.len() - 1)] as usize);
            self.evaluate_together(features, Picked(picked), worker, candidates);
        } else if features.len() <= FEW {
            self.evaluate_together::<FEW>(features, Adjacent(features[0] as usize), worker, candidates);
        } else {
            self.evaluate_together::<MANY>(features, Adjacent(features[0] as usize), worker, candidates);
        }
    }

    /// Draws cuts of several features without missing values, and finds their gains.
    fn evaluate_together<const L: usize>(
        &self,
        features: &[u32],
        lanes: impl Lanes<L>,
        worker: &mut Worker<X, C>,
        candidates: &mut Vec<Candidate>,
    ) {
        let (rows, cells, seed) = (&*self.open.rows.rows, self.rows.cells, self.open.inherited.seed);
        let [least, greatest] = cells.extremes(rows, lanes);
        let is_constant = |lane: usize| least[lane] == greatest[lane];
        // Numbers in arrays of their own: structs of them would be written field by field and read
        // whole, for which the processor has to wait.
        let (mut drawn, mut thresholds) = ([0.0; L], [X::NEG_INFINITY; L]);
        for (lane, &feature) in features.iter().enumerate().filter(|(lane, _)| !is_constant(*lane)) {
            drawn[lane] = threshold(seed, feature as usize, [least[lane], greatest[lane]].map(Cell::to_f64));
            thresholds[lane] = X::not_above(drawn[lane]);
        }
        let sides = cells.sides(rows, lanes, thresholds);
        let is_cut = |lane: usize| lane < features.len() && !is_constant(lane);
        let rules = |lane: usize, n_left| {
            if is_cut(lane) { self.rules(features[lane] as usize, n_left) } else { None }
        };
        let found = |lane: usize, n_left, gain| {
            if is_cut(lane) {
                let cut = RandomCut::of_values(drawn[lane], n_left);
                candidates.push(Candidate { feature: features[lane] as usize, cut, gain });
            }
        };
        let criterion = self.rows.fit.criterion;
        if !criterion.gains_of_cuts(&self.open.node, self.contributions, sides, rules, found) {
            for (lane, &feature) in features.iter().enumerate().filter(|(lane, _)| !is_constant(*lane)) {
                self.copy_values(feature as usize, &mut worker.values);
                let cut = RandomCut::of_values(drawn[lane], 0);
                candidates.push(self.evaluate_cut(feature as usize, cut, worker));
            }
        }
    }

    /// Draws a cut of a feature and finds its gain.
    fn evaluate_alone(&self, feature: usize, worker: &mut Worker<X, C>, candidates: &mut Vec<Candidate>) {
        self.copy_values(feature, &mut worker.values);
        let cut = RandomCut::draw(self.open.inherited.seed, feature, &Extremes::new(&worker.values));
        candidates.extend(cut.map(|cut| self.evaluate_cut(feature, cut, worker)));
    }

    /// Copies the values of a feature, in the order of the node's rows.
    fn copy_values(&self, feature: usize, values: &mut Vec<X>) {
        values.clear();
        values.extend(self.open.rows.rows.iter().map(|&row| self.rows.cells.value(row, feature)));
    }

    /// Finds the gain of a cut, if it is allowed. The worker has the values of its feature.
    fn evaluate_cut(&self, feature: usize, mut cut: RandomCut, worker: &mut Worker<X, C>) -> Candidate {
        let Worker { values, goes_left, scratch, .. } = worker;
        cut.send(values, goes_left);
        let gain = self.rules(feature, cut.n_left()).and_then(|rules| {
            let one = OneCut { goes_left, ..rules };
            self.rows.fit.criterion.gain_of_cut(&self.open.node, self.table, self.contributions, &one, scratch)
        });
        Candidate { feature, cut, gain }
    }

    /// The rules of a cut, except for the sides of the rows; `None` if a side has too few rows.
    fn rules(&self, feature: usize, n_left: usize) -> Option<OneCut<'static>> {
        let Fit { rules, choices, .. } = *self.rows.fit;
        let fewest = n_left.min(self.open.rows.rows.len() - n_left);
        (fewest >= rules.min_rows_leaf).then(|| OneCut {
            goes_left: &[],
            n_left,
            min_weight: rules.min_weight_leaf,
            value_order: self.open.inherited.value_order(choices, feature),
        })
    }
}

/// Least and greatest value of a feature in a node.
pub(crate) struct Extremes<X> {
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

    /// Least and greatest value; `None` if all are missing.
    pub fn range(&self) -> Option<[f64; 2]> {
        (self.n_missing < self.len).then(|| [self.least, self.greatest].map(Cell::to_f64))
    }
}
