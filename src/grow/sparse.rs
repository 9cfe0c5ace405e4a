//! Sparse X: the cost of a node follows its entries that are not 0, never its rows × columns.
//!
//! ```text
//! node        rows        in ascending order
//!             columns     only those with an entry in the node: feature, and a slice of entries
//!
//!             targets     in the order of their targets, if the criterion ranks them
//!
//! search      each column by its entries; without entries it is constant
//! partition   the rows, and each column's slice in place; empty parts are dropped
//! ```
//!
//! Criteria with running sums take the zeros of a column in one step (`sparse_column.rs`).
//! Quantiles and several outputs sweep the entries from either end of the column
//! (`sparse_sweep.rs`).
//!
//! Cost per node: a few passes over its entries and its rows. Memory: an entry per cell that is not
//! 0, and per thread a few bytes per row. The splits are those of the same cells in a dense matrix.
//! Values and impurities are equal up to rounding, because tiny nodes of dense X sum up in another
//! order (`tests/outputs.rs::sparse_columns`).

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Fit;
use super::by_node::{self, NodeEngine, OpenNode, SplitNode, children, grow_piece};
use super::inherited::Inherited;
use super::random::{FeatureDrawer, RandomCut};
use super::sparse_column::SparseColumn;
use super::tree_piece::TreePiece;
use crate::criterion::{Criterion, TargetRanking, ValueOrder};
use crate::data::{Cell, Entry, Rows, SparseColumns};
use crate::error::Result;
use crate::params::{Choices, Rules};
use crate::partition::partition_in_place;
use crate::search::{Incumbent, decide};
use crate::split::{Division, Found, Split, Tournament};
use crate::tree::{Test, Tree};

/// All threads share the columns of a node with more entries.
const LARGE_ENTRIES: usize = 1 << 15;

/// Tasks per thread at a large node.
const TASKS: usize = 8;

/// How the best cut of a column is found.
pub(crate) trait ColumnSearch<C: Criterion>: Sync {
    /// What the searches of all columns of a node need. Those by row have an entry per row of X.
    type Shared: Default + Send + Sync;
    /// Buffers of a search.
    type Scratch: Default + Send;

    /// Makes what the columns of a node share. `by_target` has its rows in the order of their
    /// targets, if the criterion ranks them; `items` has the target of each row of X.
    fn share(node: (&C, &C::NodeStats), rows: [&[u32]; 2], items: &[C::Item], shared: &mut Self::Shared);

    /// Offers every cut that could win, those with missing values on the right first.
    fn offer_cuts<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        shared: &Self::Shared,
        contest: &mut Tournament,
        scratch: &mut Self::Scratch,
    );

    /// Offers the cut that is drawn, if it is allowed.
    fn offer_drawn<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        drawn: &RandomCut,
        shared: &Self::Shared,
        contest: &mut Tournament,
        scratch: &mut Self::Scratch,
    );
}

/// A column of a node whose best cut is searched for.
pub(crate) struct NodeColumn<'a, X, C: Criterion> {
    pub criterion: &'a C,
    pub node: &'a C::NodeStats,
    pub column: SparseColumn<'a, X>,
    /// The rows of the node, ascending.
    pub rows: &'a [u32],
    /// By row of X: its target.
    pub items: &'a [C::Item],
    pub rules: &'a Rules,
    pub value_order: Option<ValueOrder>,
}

/// Grows a tree. `items` has the target of each row of X; `targets` has the rows in the order of
/// their targets, for criteria that rank them.
pub(crate) fn grow<X: Cell, C: Criterion, S: ColumnSearch<C>>(
    fit: &Fit<'_, SparseColumns<'_, X>, C>,
    rows: &Rows,
    items: &[C::Item],
    mut targets: Vec<u32>,
) -> Result<Tree> {
    let mut entries = fit.x.presort(rows, fit.team);
    let mut all = rows.ids();
    let mut workers: Vec<Worker<X, C, S>> = (0..fit.team.threads()).map(|_| Worker::new(items.len())).collect();
    let own = (0..).zip(&mut entries).filter(|(_, entries)| !entries.is_empty());
    let columns = own.map(|(feature, entries)| LiveColumn { feature, entries }).collect();
    let engine = SparseEngine { fit, items, search: PhantomData::<S> };
    let rows = NodeRows { rows: &mut all, targets: &mut targets, columns };
    let by_target = if C::Ranking::RANKED { &*rows.targets } else { &*rows.rows };
    let node = engine.describe(by_target.iter(), &mut workers[0].items);
    let root = OpenNode { rows, node, depth: 0, inherited: Inherited::of_root(fit.choices) };
    by_node::grow(fit, &engine, root, &mut workers)
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
    /// In ascending order of their targets, if the criterion ranks them.
    targets: &'a mut [u32],
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
struct Worker<X, C: Criterion, S: ColumnSearch<C>> {
    contest: Tournament,
    scratch: S::Scratch,
    /// The best cuts of the columns that this thread has searched, by feature.
    findings: Vec<(usize, Option<Found>)>,
    /// What the columns of a node share.
    shared: S::Shared,
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

impl<X: Cell, C: Criterion, S: ColumnSearch<C>> Worker<X, C, S> {
    fn new(n_rows: usize) -> Self {
        Self {
            contest: Tournament::new(),
            scratch: S::Scratch::default(),
            findings: Vec::new(),
            shared: S::Shared::default(),
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

struct SparseEngine<'a, X, C: Criterion, S> {
    fit: &'a Fit<'a, SparseColumns<'a, X>, C>,
    /// By row of X.
    items: &'a [C::Item],
    search: PhantomData<S>,
}

impl<'a, X: Cell, C: Criterion, S: ColumnSearch<C>> NodeEngine<C> for SparseEngine<'a, X, C, S> {
    type Rows = NodeRows<'a, X>;
    type Worker = Worker<X, C, S>;

    fn is_large(&self, rows: &NodeRows<'a, X>) -> bool {
        rows.n_entries() > LARGE_ENTRIES
    }

    fn split(
        &self,
        open: OpenNode<NodeRows<'a, X>, C::NodeStats>,
        workers: &mut [Worker<X, C, S>],
    ) -> Option<SplitNode<NodeRows<'a, X>, C::NodeStats>> {
        let split = self.search(&open, workers)?;
        let (division, threshold) = self.divide(&open, &split, &mut workers[0]);
        let OpenNode { rows, depth, inherited, .. } = open;
        let parts = self.partition(rows, workers);
        let nodes = self.describe_children(&division, &parts, &mut workers[0]);
        let test = Test { threshold, ..self.fit.test(&division, &nodes[0], &nodes[1]) };
        Some((test, children(self.fit, (depth, inherited), split.feature, parts, nodes)))
    }

    fn grow_small(&self, root: OpenNode<NodeRows<'a, X>, C::NodeStats>, worker: &mut Worker<X, C, S>) -> TreePiece {
        grow_piece(self.fit, self, root, worker)
    }
}

impl<X: Cell, C: Criterion, S: ColumnSearch<C>> SparseEngine<'_, X, C, S> {
    fn is_random(&self) -> bool {
        self.fit.choices.is_some_and(Choices::are_random_splits)
    }

    /// Finds the split of a node; `None` if none is allowed, or none gains enough.
    fn search(&self, open: &OpenNode<NodeRows<'_, X>, C::NodeStats>, workers: &mut [Worker<X, C, S>]) -> Option<Split> {
        let (fit, node) = (self.fit, &open.node);
        let mut shared = std::mem::take(&mut workers[0].shared);
        S::share((fit.criterion, node), [open.rows.rows, open.rows.targets], self.items, &mut shared);
        let search = NodeSearch { engine: self, open, shared: &shared };
        let findings = search.find_cuts(&search.draw(&mut workers[0].drawer), workers);
        let Worker { contest, scratch, .. } = &mut workers[0];
        // A drawn cut is the only one of its feature, whatever it gains.
        let nothing = if self.is_random() { None } else { fit.criterion.nothing(node) };
        let split = decide(findings.iter().copied(), fit.criterion.noise(node), nothing, |feature, aim| {
            contest.restart_for(aim);
            search.offer(open.rows.find(feature)?, contest, scratch);
            contest.found()
        });
        workers[0].findings = findings;
        workers[0].shared = shared;
        split.filter(|split| fit.is_worthwhile(node, split))
    }

    /// Writes the node's rows in the order of the winner, and the side of each row. Returns the
    /// division of that order, and the threshold.
    fn divide(
        &self,
        open: &OpenNode<NodeRows<'_, X>, C::NodeStats>,
        split: &Split,
        worker: &mut Worker<X, C, S>,
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

    /// Describes the children as dense X does: in the order of the targets if they are ranked, of
    /// the rows if thresholds are random, or of the winner.
    fn describe_children(
        &self,
        division: &Division,
        parts: &[NodeRows<'_, X>; 2],
        worker: &mut Worker<X, C, S>,
    ) -> [C::NodeStats; 2] {
        let Worker { order, items, .. } = worker;
        if C::Ranking::RANKED {
            return parts.each_ref().map(|part| self.describe(part.targets.iter(), items));
        }
        if self.is_random() {
            return parts.each_ref().map(|part| self.describe(part.rows.iter(), items));
        }
        division.sides(order).map(|rows| self.describe(rows.into_iter().flatten(), items))
    }

    fn describe<'r>(&self, rows: impl Iterator<Item = &'r u32>, items: &mut Vec<C::Item>) -> C::NodeStats {
        items.clear();
        items.extend(rows.map(|&row| self.items[row as usize]));
        self.fit.criterion.describe(items)
    }

    /// Partitions the rows of a node and its slices of the columns by the sides that were noted.
    fn partition<'n>(&self, rows: NodeRows<'n, X>, workers: &mut [Worker<X, C, S>]) -> [NodeRows<'n, X>; 2] {
        let NodeRows { rows, targets, mut columns } = rows;
        let goes_left = std::mem::take(&mut workers[0].goes_left);
        let [rows, targets] = [rows, targets].map(|rows| {
            let n_left = partition_in_place(rows, |row| goes_left[row as usize], &mut workers[0].spare_rows);
            rows.split_at_mut(n_left)
        });
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
        let [left, right] = parts;
        [
            NodeRows { rows: rows.0, targets: targets.0, columns: left },
            NodeRows { rows: rows.1, targets: targets.1, columns: right },
        ]
    }
}

/// The search for the split of one node.
struct NodeSearch<'a, 'r, X, C: Criterion, S: ColumnSearch<C>> {
    engine: &'a SparseEngine<'a, X, C, S>,
    open: &'a OpenNode<NodeRows<'r, X>, C::NodeStats>,
    shared: &'a S::Shared,
}

impl<X: Cell, C: Criterion, S: ColumnSearch<C>> NodeSearch<'_, '_, X, C, S> {
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

    /// Finds the best cut of each of these columns; `None` if it has none or can't win.
    fn find_cuts(&self, places: &[usize], workers: &mut [Worker<X, C, S>]) -> Vec<(usize, Option<Found>)> {
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
                let found = contest.found();
                incumbent.raise(found.map_or(0.0, |found| found.top));
                findings.push((self.open.rows.columns[place].feature as usize, found));
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
    fn offer(&self, place: usize, contest: &mut Tournament, scratch: &mut S::Scratch) {
        let (open, fit) = (self.open, self.engine.fit);
        let feature = open.rows.columns[place].feature as usize;
        let column = NodeColumn {
            criterion: fit.criterion,
            node: &open.node,
            column: open.rows.column(place),
            rows: open.rows.rows,
            items: self.engine.items,
            rules: fit.rules,
            value_order: open.inherited.value_order(fit.choices, feature),
        };
        if !self.engine.is_random() {
            return S::offer_cuts(&column, self.shared, contest, scratch);
        }
        let len = open.rows.rows.len();
        let drawn = RandomCut::draw_sorted(open.inherited.seed, feature, len, |place| column.column.value(place));
        if let Some(drawn) = drawn {
            S::offer_drawn(&column, &drawn, self.shared, contest, scratch);
        }
    }
}
