//! Sparse X: the cost of a node follows its entries that are not 0, never its rows × columns.
//!
//! ```text
//! node        rows        in ascending order
//!             columns     only those with an entry in the node: feature, and a slice of entries
//!
//! search      each column by its entries (`sparse_column.rs`); without entries it is constant
//! partition   the rows, and each column's slice in place; empty parts are dropped
//! ```
//!
//! Cost per node: a few passes over its entries and its rows. Memory: an entry per cell that is not
//! 0, and per thread a few bytes per row. The splits are those of the same cells in a dense matrix.
//! Values and impurities are equal up to rounding, because tiny nodes of dense X sum up in another
//! order (`tests/outputs.rs::sparse_columns`).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Fit;
use super::by_node::{self, NodeEngine, OpenNode, SplitNode, children, grow_piece};
use super::inherited::Inherited;
use super::random::{FeatureDrawer, RandomCut};
use super::sparse_column::{SparseColumn, SparseScratch, SparseSearch};
use super::tree_piece::TreePiece;
use crate::criterion::RunningSums;
use crate::data::{Cell, Entry, Rows, SparseColumns};
use crate::error::Result;
use crate::params::Choices;
use crate::partition::partition_in_place;
use crate::search::{Incumbent, decide};
use crate::split::{Division, Found, Split, Tournament};
use crate::tree::{Test, Tree};

/// All threads share the columns of a node with more entries.
const LARGE_ENTRIES: usize = 1 << 15;

/// Tasks per thread at a large node.
const TASKS: usize = 8;

/// Grows a tree. `items` has the target of each row of X.
pub(crate) fn grow<X: Cell, C: RunningSums>(
    fit: &Fit<'_, SparseColumns<'_, X>, C>,
    rows: &Rows,
    items: &[C::Item],
) -> Result<Tree> {
    let mut entries = fit.x.presort(rows, fit.team);
    let mut all: Vec<u32> = (0..rows.len()).map(|place| rows.id(place)).collect();
    let mut workers: Vec<Worker<X, C>> = (0..fit.team.threads()).map(|_| Worker::new(items.len())).collect();
    let own = (0..).zip(&mut entries).filter(|(_, entries)| !entries.is_empty());
    let columns = own.map(|(feature, entries)| LiveColumn { feature, entries }).collect();
    let node = fit.criterion.describe(&rows.pick(items.to_vec()));
    let rows = NodeRows { rows: &mut all, columns };
    let root = OpenNode { rows, node, depth: 0, inherited: Inherited::of_root(fit.choices) };
    by_node::grow(fit, &SparseEngine { fit, items }, root, &mut workers)
}

/// A column with entries in the node.
struct LiveColumn<'a, X> {
    feature: u32,
    /// In ascending order of their values, NaN last, then of their rows.
    entries: &'a mut [Entry<X>],
}

/// The rows of a node.
struct NodeRows<'a, X> {
    /// Ascending.
    rows: &'a mut [u32],
    /// In ascending order of their features.
    columns: Vec<LiveColumn<'a, X>>,
}

impl<X: Cell> NodeRows<'_, X> {
    fn n_entries(&self) -> usize {
        self.columns.iter().map(|column| column.entries.len()).sum()
    }

    /// The place of a feature among the columns; `None` if it has no entries.
    fn find(&self, feature: usize) -> Option<usize> {
        self.columns.binary_search_by_key(&(feature as u32), |column| column.feature).ok()
    }

    fn column(&self, place: usize) -> SparseColumn<'_, X> {
        SparseColumn::new(self.columns[place].entries, self.rows.len())
    }
}

/// Buffers of one thread. Those by row have an entry per row of X.
struct Worker<X, C: RunningSums> {
    contest: Tournament,
    scratch: SparseScratch<C>,
    /// The best cuts of the columns that this thread has searched.
    findings: Vec<(usize, Found)>,
    /// What each row of the node adds to its sums, by row.
    contributions: Vec<C::Contribution>,
    /// Whether the row goes left, by row.
    goes_left: Vec<bool>,
    /// By row. All false between uses.
    has_entry: Vec<bool>,
    /// The node's rows in the order of the winner.
    order: Vec<u32>,
    items: Vec<C::Item>,
    spare: Vec<Entry<X>>,
    spare_rows: Vec<u32>,
    drawer: FeatureDrawer,
}

impl<X: Cell, C: RunningSums> Worker<X, C> {
    fn new(n_rows: usize) -> Self {
        Self {
            contest: Tournament::new(),
            scratch: SparseScratch::default(),
            findings: Vec::new(),
            contributions: vec![C::Contribution::default(); n_rows],
            goes_left: vec![false; n_rows],
            has_entry: vec![false; n_rows],
            order: Vec::new(),
            items: Vec::new(),
            spare: Vec::new(),
            spare_rows: Vec::new(),
            drawer: FeatureDrawer::default(),
        }
    }
}

struct SparseEngine<'a, X, C: RunningSums> {
    fit: &'a Fit<'a, SparseColumns<'a, X>, C>,
    /// By row of X.
    items: &'a [C::Item],
}

impl<'a, X: Cell, C: RunningSums> NodeEngine<C> for SparseEngine<'a, X, C> {
    type Rows = NodeRows<'a, X>;
    type Worker = Worker<X, C>;

    fn is_large(&self, rows: &NodeRows<'a, X>) -> bool {
        rows.n_entries() > LARGE_ENTRIES
    }

    fn split(
        &self,
        open: OpenNode<NodeRows<'a, X>, C::NodeStats>,
        workers: &mut [Worker<X, C>],
    ) -> Option<SplitNode<NodeRows<'a, X>, C::NodeStats>> {
        let split = self.search(&open, workers)?;
        let (division, threshold) = self.divide(&open, &split, &mut workers[0]);
        let nodes = self.describe_children(&division, &open.rows, &mut workers[0]);
        let test = Test { threshold, ..self.fit.test(&division, &nodes[0], &nodes[1]) };
        let OpenNode { rows, depth, inherited, .. } = open;
        let parts = self.partition(rows, workers);
        Some((test, children(self.fit, (depth, inherited), split.feature, parts, nodes)))
    }

    fn grow_small(&self, root: OpenNode<NodeRows<'a, X>, C::NodeStats>, worker: &mut Worker<X, C>) -> TreePiece {
        grow_piece(self.fit, self, root, worker)
    }
}

impl<X: Cell, C: RunningSums> SparseEngine<'_, X, C> {
    fn is_random(&self) -> bool {
        self.fit.choices.is_some_and(Choices::are_random_splits)
    }

    /// Finds the split of a node; `None` if none is allowed, or none gains enough.
    fn search(&self, open: &OpenNode<NodeRows<'_, X>, C::NodeStats>, workers: &mut [Worker<X, C>]) -> Option<Split> {
        let (fit, node) = (self.fit, &open.node);
        let contributions = self.contributions(open, &mut workers[0]);
        let mut start = C::Running::default();
        fit.criterion.start(node, &mut start);
        let search = NodeSearch { engine: self, open, start, contributions: &contributions };
        let findings = search.find_cuts(&search.draw(&mut workers[0].drawer), workers);
        let Worker { contest, scratch, .. } = &mut workers[0];
        let (found, noise) =
            (findings.iter().map(|&(feature, found)| (feature, Some(found))), fit.criterion.noise(node));
        let split = decide(found, noise, fit.criterion.nothing(node), |feature, aim| {
            contest.restart_for(aim);
            search.offer(open.rows.find(feature)?, contest, scratch);
            contest.found()
        });
        workers[0].findings = findings;
        workers[0].contributions = contributions;
        split.filter(|split| fit.is_worthwhile(node, split))
    }

    /// What each row of the node adds to its sums, by row of X; other rows have any number.
    fn contributions(
        &self,
        open: &OpenNode<NodeRows<'_, X>, C::NodeStats>,
        worker: &mut Worker<X, C>,
    ) -> Vec<C::Contribution> {
        let mut contributions = std::mem::take(&mut worker.contributions);
        for &row in &*open.rows.rows {
            contributions[row as usize] = self.fit.criterion.contribution(&open.node, self.items[row as usize], || 0);
        }
        contributions
    }

    /// Writes the node's rows in the order of the winner, and the side of each row. Returns the
    /// division of that order, and the threshold.
    fn divide(
        &self,
        open: &OpenNode<NodeRows<'_, X>, C::NodeStats>,
        split: &Split,
        worker: &mut Worker<X, C>,
    ) -> (Division, f64) {
        let Worker { order, has_entry, goes_left, .. } = worker;
        let rows = &open.rows;
        let column = rows.column(rows.find(split.feature).expect("the winner has entries"));
        column.order_rows(rows.rows, has_entry, order);
        let division = Division::new(split, order.len(), true, |place| column.value(place));
        for (parts, is_left) in division.sides(order).into_iter().zip([true, false]) {
            parts.into_iter().flatten().for_each(|&row| goes_left[row as usize] = is_left);
        }
        let seed = open.inherited.seed;
        let draw = || RandomCut::draw_sorted(seed, split.feature, order.len(), |place| column.value(place));
        let drawn = if self.is_random() { draw() } else { None };
        let threshold = drawn.map_or(division.threshold, |drawn| drawn.threshold);
        (division, threshold)
    }

    /// Describes the children as dense X does: in the order of the winner, or of the rows if
    /// thresholds are random.
    fn describe_children(
        &self,
        division: &Division,
        rows: &NodeRows<'_, X>,
        worker: &mut Worker<X, C>,
    ) -> [C::NodeStats; 2] {
        let Worker { order, items, goes_left, .. } = worker;
        if self.is_random() {
            order.clone_from_slice(rows.rows);
            let n_left = partition_in_place(order, |row| goes_left[row as usize], &mut worker.spare_rows);
            let (left, right) = order.split_at(n_left);
            return [left, right].map(|rows| self.describe(rows.iter(), items));
        }
        division.sides(order).map(|parts| self.describe(parts.into_iter().flatten(), items))
    }

    fn describe<'r>(&self, rows: impl Iterator<Item = &'r u32>, items: &mut Vec<C::Item>) -> C::NodeStats {
        items.clear();
        items.extend(rows.map(|&row| self.items[row as usize]));
        self.fit.criterion.describe(items)
    }

    /// Partitions the rows of a node and its slices of the columns by the sides that were noted.
    fn partition<'n>(&self, rows: NodeRows<'n, X>, workers: &mut [Worker<X, C>]) -> [NodeRows<'n, X>; 2] {
        let NodeRows { rows, mut columns } = rows;
        let goes_left = std::mem::take(&mut workers[0].goes_left);
        let n_left = partition_in_place(rows, |row| goes_left[row as usize], &mut workers[0].spare_rows);
        let n_tasks = if workers.len() == 1 { 1 } else { TASKS * workers.len() };
        let len = columns.len().div_ceil(n_tasks).max(1);
        let mut places = vec![0; columns.len()];
        let mut tasks: Vec<_> = columns.chunks_mut(len).zip(places.chunks_mut(len)).collect();
        self.fit.team.each(&mut tasks, workers, |worker, (columns, places)| {
            for (column, place) in columns.iter_mut().zip(places.iter_mut()) {
                let is_left = |entry: Entry<X>| goes_left[entry.row as usize];
                *place = partition_in_place(column.entries, is_left, &mut worker.spare);
            }
        });
        drop(tasks);
        let mut parts = [Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len())];
        for (LiveColumn { feature, entries }, place) in columns.into_iter().zip(places) {
            let (left, right) = entries.split_at_mut(place);
            for (part, entries) in parts.iter_mut().zip([left, right]) {
                if !entries.is_empty() {
                    part.push(LiveColumn { feature, entries });
                }
            }
        }
        workers[0].goes_left = goes_left;
        let ((left, right), [left_columns, right_columns]) = (rows.split_at_mut(n_left), parts);
        [NodeRows { rows: left, columns: left_columns }, NodeRows { rows: right, columns: right_columns }]
    }
}

/// The search for the split of one node.
struct NodeSearch<'a, 'r, X, C: RunningSums> {
    engine: &'a SparseEngine<'a, X, C>,
    open: &'a OpenNode<NodeRows<'r, X>, C::NodeStats>,
    /// The node's sums with no rows on the left.
    start: C::Running,
    contributions: &'a [C::Contribution],
}

impl<X: Cell, C: RunningSums> NodeSearch<'_, '_, X, C> {
    /// The places of the columns that are evaluated, in ascending order of their features.
    fn draw(&self, drawer: &mut FeatureDrawer) -> Vec<usize> {
        let (fit, rows) = (self.engine.fit, &self.open.rows);
        if !fit.draws() {
            return (0..rows.columns.len()).collect();
        }
        let is_constant = |feature: usize| rows.find(feature).is_none_or(|place| rows.column(place).is_constant());
        let drawn = fit.draw_features(self.open.inherited, drawer, is_constant);
        drawn.iter().filter_map(|&feature| rows.find(feature as usize)).collect()
    }

    /// Finds the best cut of each of these columns, unless it can't win.
    fn find_cuts(&self, places: &[usize], workers: &mut [Worker<X, C>]) -> Vec<(usize, Found)> {
        let fit = self.engine.fit;
        let (noise, incumbent) = (fit.criterion.noise(&self.open.node), Incumbent::default());
        let n_tasks = if workers.len() == 1 { 1 } else { TASKS * workers.len() };
        let len = places.len().div_ceil(n_tasks).max(1);
        let next = AtomicUsize::new(0);
        for worker in workers.iter_mut() {
            worker.findings.clear();
        }
        let mut tasks = vec![(); places.len().div_ceil(len)];
        fit.team.each(&mut tasks, workers, |worker, ()| {
            let start = next.fetch_add(len, Ordering::Relaxed);
            for &place in &places[start..places.len().min(start + len)] {
                let Worker { contest, scratch, findings, .. } = worker;
                if fit.team.cancelled() {
                    return;
                }
                contest.restart(noise, incumbent.gain());
                self.offer(place, contest, scratch);
                if let Some(found) = contest.found() {
                    incumbent.raise(found.top);
                    findings.push((self.open.rows.columns[place].feature as usize, found));
                }
            }
        });
        let mut findings = std::mem::take(&mut workers[0].findings);
        for worker in &workers[1..] {
            findings.extend_from_slice(&worker.findings);
        }
        findings.sort_unstable_by_key(|&(feature, _)| feature);
        findings
    }

    /// Offers the cuts of a column, or the one that is drawn.
    fn offer(&self, place: usize, contest: &mut Tournament, scratch: &mut SparseScratch<C>) {
        let (open, fit) = (self.open, self.engine.fit);
        let feature = open.rows.columns[place].feature as usize;
        let search = SparseSearch {
            criterion: fit.criterion,
            node: &open.node,
            start: &self.start,
            column: open.rows.column(place),
            contributions: self.contributions,
            rules: fit.rules,
            value_order: open.inherited.value_order(fit.choices, feature),
        };
        if self.engine.is_random() {
            search.offer_drawn(open.inherited.seed, feature, contest, scratch);
        } else {
            search.offer_cuts(contest, scratch);
        }
    }
}
