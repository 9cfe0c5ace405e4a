//! Large nodes, breadth-first: all nodes of a level together, with the features distributed over
//! threads.
//!
//! ```text
//! for each level
//!     retire the leaves
//!     for each feature, in parallel          a column is read and written once per level
//!         partition the parents' ranges      into a spare column, which then takes its place
//!         bound the gains of the open nodes  or sweep them, where the criterion has no bounds
//!     rank the bounded candidates            the largest share of its node's best bound first
//!     sweep the candidates that could win
//!     decide                                 ascending features, see `search.rs`
//!     describe the children                  and note the side of each row
//! ```
//!
//! Small nodes wait until there are enough of them to keep all threads busy with `subtree.rs`.
//! Until then, their ranges are copied from column to column.
//!
//! Cost per level: each column is read and written once, 12 bytes per cell for unweighted numbers,
//! and the swept ranges are read again. Memory: one spare column per thread, and a few bytes per
//! row.

use std::ops::Range;
use std::sync::atomic::AtomicU16;

use super::Fit;
use super::assemble::{NodeOutcome, TreeTop};
use super::histograms::Histograms;
use super::inherited::{Inherited, constrained_value};
use super::node_ranks::NodeRanks;
use super::random::FeatureDrawer;
use super::sides::Sides;
use super::subtree::{self, PendingSubtree, Workspace};
use crate::columns::{CodedColumn, CodedColumns, Columns, SortedColumn};
use crate::contribution::Carried;
use crate::criterion::{ContributionsOf, Criterion, TargetRanking};
use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::partition::partition;
use crate::scan::{Feature, gain_bound, scan, scan_groups};
use crate::search::{Incumbent, decide};
use crate::split::{Aim, Contest, Division, Found, Tournament};
use crate::tree::Tree;

/// Subtrees per thread that are grown together: enough that no thread is idle for long at the end.
const BATCH: usize = 16;

pub(super) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    columns: Columns<C::Item>,
    root: C::NodeStats,
) -> Result<Tree> {
    let mut top = Top::new(fit, columns, root);
    for depth in 0.. {
        top.retire_leaves(depth);
        if top.is_done() {
            break;
        }
        top.grow_level(depth);
    }
    top.finish()
}

/// A node whose features are still to be searched.
pub(crate) struct OpenNode<C: Criterion> {
    pub id: usize,
    pub start: usize,
    /// Whether it is a left child. [`Sides`] has the same value for all its rows.
    pub is_left: bool,
    pub node: C::NodeStats,
    pub table: C::Table,
    pub inherited: Inherited,
}

impl<C: Criterion> OpenNode<C> {
    pub fn range(&self, criterion: &C) -> Range<usize> {
        self.start..self.start + criterion.rows(&self.node)
    }
}

/// A node that has been split, but whose range has not been partitioned yet.
pub(crate) struct PendingPartition {
    pub id: usize,
    pub start: usize,
    /// Whether it is a left child itself. [`Sides`] has this value for all its rows until the sides
    /// of its children are noted.
    pub was_left: bool,
    pub division: Division,
    pub inherited: Inherited,
}

impl PendingPartition {
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.division.len
    }

    /// The ranges of both children.
    pub fn ranges(&self) -> [Range<usize>; 2] {
        let Range { start, end } = self.range();
        let middle = start + self.division.n_left();
        [start..middle, middle..end]
    }

    /// Notes the side of a child's rows. If it is the parent's own side, the rows have it already.
    fn note_side(&self, sides: &Sides, rows: [&[u32]; 2], is_left: bool) {
        if is_left != self.was_left {
            rows.into_iter().flatten().for_each(|&row| sides.set(row, is_left));
        }
    }

    /// Partitions the node's range of one column into the spare column.
    fn carry_out<T: Copy + Default>(
        &self,
        feature: usize,
        from: &SortedColumn<T>,
        to: &mut SortedColumn<T>,
        sides: &Sides,
    ) {
        let slice = from.slice(self.range());
        let (rows, items) = (&mut to.rows[self.range()], &mut to.items[self.range()]);
        if feature == self.division.feature && self.division.back == 0 {
            // The winner's own column is partitioned already.
            rows.copy_from_slice(slice.rows);
            items.copy_from_slice(slice.items);
        } else {
            partition(slice, |row| sides.is_left(row), self.division.n_left(), rows, items);
        }
    }
}

/// A feature of an open node.
pub(crate) struct Candidate {
    /// The index of the node among the open nodes.
    node: usize,
    feature: usize,
    /// Its gain bound; `None` if it was swept without one.
    bound: Option<f64>,
    /// Its best cut; `None` if it was not swept, or has no cut that could win.
    pub found: Option<Found>,
}

impl Candidate {
    /// Whether it may win: false if its feature was not drawn.
    fn is_evaluated(&self) -> bool {
        self.bound != Some(f64::NEG_INFINITY)
    }
}

/// Buffers of one thread.
pub(crate) struct Worker<C: Criterion> {
    spare: SortedColumn<C::Item>,
    contest: Tournament,
    scratch: C::Scratch,
}

impl<C: Criterion> Worker<C> {
    pub fn new() -> Self {
        Self { spare: SortedColumn::with_len(0), contest: Tournament::new(), scratch: C::Scratch::default() }
    }
}

/// The upper part of a tree while it grows.
struct Top<'a, X, C: Criterion> {
    fit: &'a Fit<'a, Matrix<'a, X>, C>,
    columns: Columns<C::Item>,
    tree: TreeTop,
    /// Nodes of the next level, in ascending order of their ranges. Those that are not small are
    /// searched, the rest wait.
    level: Vec<OpenNode<C>>,
    /// Splits of the last level, in ascending order of their ranges. Each column is partitioned
    /// when it is searched for the next level.
    partitions: Vec<PendingPartition>,
    waiting: Vec<PendingSubtree<C::NodeStats>>,
    sides: Sides,
    ranks: NodeRanks<C>,
    /// For the column of targets, or the rows of coded columns.
    spare: SortedColumn<C::Item>,
    /// By feature; empty if no feature is coded.
    histograms: Vec<Histograms<C>>,
    /// By row: its number in its subtree.
    local_ids: Vec<AtomicU16>,
    workers: Vec<Worker<C>>,
    workspaces: Vec<Workspace<X, C>>,
    /// Largest node that is grown as a subtree.
    small: usize,
}

impl<'a, X: Cell, C: Criterion> Top<'a, X, C> {
    fn new(fit: &'a Fit<'a, Matrix<'a, X>, C>, columns: Columns<C::Item>, root: C::NodeStats) -> Self {
        let (n_rows, threads) = (fit.x.n_rows(), fit.team.threads());
        let small = subtree::max_rows(fit.x.n_columns(), fit.orders_on_demand());
        let has_large_nodes = fit.criterion.rows(&root) > small;
        let n_ranked = columns.targets.rows.len();
        let n_coded = if columns.coded.is_empty() { 0 } else { columns.features.len() };
        let histograms = (0..n_coded).map(|_| Histograms::new()).collect();
        let spare = SortedColumn::with_len(n_ranked.max(columns.coded.rows.rows.len()));
        let (mut tree, ranks, mut table) = (TreeTop::default(), NodeRanks::new(n_ranked), C::Table::default());
        fit.criterion.tabulate(&root, &columns.targets.items, &mut table);
        ranks.rank_rows(&table, &columns.targets.items);
        let id = tree.push(fit.criterion, &root);
        Self {
            fit,
            columns,
            tree,
            level: vec![OpenNode {
                id,
                start: 0,
                is_left: false,
                node: root,
                table,
                inherited: Inherited::of_root(fit.choices),
            }],
            partitions: Vec::new(),
            waiting: Vec::new(),
            sides: Sides::new(if has_large_nodes { n_rows } else { 0 }),
            ranks,
            spare,
            histograms,
            local_ids: (0..n_rows).map(|_| AtomicU16::new(0)).collect(),
            workers: (0..threads).map(|_| Worker::new()).collect(),
            workspaces: (0..threads).map(|_| Workspace::new(fit.criterion, fit.rules)).collect(),
            small,
        }
    }

    fn retire_leaves(&mut self, depth: u32) {
        let fit = self.fit;
        self.level.retain(|open| {
            let is_leaf = fit.is_leaf(&open.node, depth);
            fit.team.add_finished(if is_leaf { fit.criterion.rows(&open.node) } else { 0 });
            !is_leaf
        });
    }

    fn is_done(&self) -> bool {
        (self.level.is_empty() && self.waiting.is_empty()) || self.fit.team.cancelled()
    }

    fn grow_level(&mut self, depth: u32) {
        let (criterion, small) = (self.fit.criterion, self.small);
        let (open, subtrees): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.level).into_iter().partition(|open| criterion.rows(&open.node) > small);
        let candidates = self.search_level(&open);
        self.waiting.extend(subtrees.into_iter().map(|open| PendingSubtree {
            id: open.id,
            range: open.range(criterion),
            node: open.node,
            depth,
            inherited: open.inherited,
        }));
        let threads = self.fit.team.threads();
        let batch = if threads == 1 { 0 } else { BATCH * threads };
        if open.is_empty() || self.waiting.len() >= batch {
            self.grow_subtrees();
        }
        self.partitions = self.decide_level(&open, &candidates);
        if C::Ranking::RANKED || !self.columns.coded.is_empty() {
            self.partition_early();
        }
        let children = self.describe_children(depth + 1);
        self.open_children(children);
        self.sides.publish();
    }

    /// Partitions every column and searches the open nodes. Returns, by feature, a candidate for
    /// each of them.
    fn search_level(&mut self, open: &[OpenNode<C>]) -> Vec<Vec<Candidate>> {
        let waiting: Vec<Range<usize>> = self.waiting.iter().map(|subtree| subtree.range.clone()).collect();
        let Columns { features, has_missing, coded, .. } = &mut self.columns;
        let search = LevelSearch {
            fit: self.fit,
            open,
            incumbents: open.iter().map(|_| Incumbent::default()).collect(),
            partitions: &self.partitions,
            waiting: &waiting,
            sides: &self.sides,
            ranks: &self.ranks,
            has_missing,
            coded,
            draws: self.fit.draws(),
        };
        search.run(features, &mut self.histograms, &mut self.workers)
    }

    /// Decides the split of each open node.
    fn decide_level(&mut self, open: &[OpenNode<C>], candidates: &[Vec<Candidate>]) -> Vec<PendingPartition> {
        let Self { fit, columns, ranks, workers, .. } = self;
        let Columns { features, has_missing, coded, .. } = columns;
        let mut partitions = Vec::new();
        for (k, open) in open.iter().enumerate() {
            let evaluated = candidates.iter().filter_map(|of| of.get(k)).filter(|one| one.is_evaluated());
            let found = evaluated.map(|one| (one.feature, one.found));
            let noise = fit.criterion.noise(&open.node);
            let split = decide(found, noise, fit.criterion.nothing(&open.node), |feature, aim| {
                coded.put_in_order(feature, open.range(fit.criterion));
                let column = coded.column(feature, features);
                let part = node_feature(fit, open, feature, column, has_missing[feature], ranks);
                search_again(fit, open, &part, aim, &mut workers[0])
            });
            let &OpenNode { id, start, is_left: was_left, ref node, inherited, .. } = open;
            if let Some(split) = split
                && fit.is_worthwhile(node, &split)
            {
                let len = fit.criterion.rows(node);
                coded.put_in_order(split.feature, start..start + len);
                let rows = &coded.column(split.feature, features).rows[start..start + len];
                let value = |place: usize| fit.x.get(rows[place] as usize, split.feature).to_f64();
                let division = Division::new(&split, len, has_missing[split.feature], value);
                partitions.push(PendingPartition { id, start, was_left, division, inherited });
            } else {
                fit.team.add_finished(fit.criterion.rows(node));
            }
        }
        partitions
    }

    /// Partitions the column of targets immediately, because the children are described from it, or
    /// the rows of coded columns, which all of them read at the next level.
    fn partition_early(&mut self) {
        let Self { fit, columns: Columns { features, targets, coded, .. }, partitions, sides, .. } = self;
        if partitions.is_empty() {
            return;
        }
        let (spare, column) = (&mut self.spare, if C::Ranking::RANKED { &*targets } else { &coded.rows });
        for subtree in &self.waiting {
            spare.copy(subtree.range.clone(), column);
        }
        // The ranges ascend, so the spare column can be divided into one slice for each of them.
        let (mut rows, mut items, mut end) = (&mut spare.rows[..], &mut spare.items[..], 0);
        let mut work = Vec::with_capacity(partitions.len());
        for pending in &*partitions {
            let (skip, len) = (pending.start - end, pending.division.len);
            end = pending.start + len;
            let own = rows.split_at_mut(skip).1.split_at_mut(len);
            let own_items = items.split_at_mut(skip).1.split_at_mut(len);
            (rows, items) = (own.1, own_items.1);
            work.push((pending, own.0, own_items.0));
        }
        fit.team.each(&mut work, &mut vec![(); fit.team.threads()], |(), (pending, rows, items)| {
            let division = &pending.division;
            let winner = &coded.column(division.feature, features).rows[pending.range()];
            for (rows, is_left) in division.sides(winner).into_iter().zip([true, false]) {
                pending.note_side(sides, rows, is_left);
            }
            partition(column.slice(pending.range()), |row| sides.get(row), division.n_left(), rows, items);
        });
        std::mem::swap(if C::Ranking::RANKED { targets } else { &mut coded.rows }, spare);
    }

    /// Describes the children of each split, left and right in turn, and notes the side of each
    /// row. Children of criteria that rank targets get a table if they are not small.
    fn describe_children(&self, depth: u32) -> Vec<(C::NodeStats, C::Table)> {
        let partitions = &self.partitions;
        // Two tasks per split, the left child and the right one.
        let mut children: Vec<_> =
            (0..2 * partitions.len()).map(|k| (k / 2, k % 2 == 0, None, C::Table::default())).collect();
        let describer = ChildDescriber {
            fit: self.fit,
            columns: &self.columns,
            sides: &self.sides,
            ranks: &self.ranks,
            small: self.small,
            depth,
        };
        let mut buffers = vec![Vec::new(); self.fit.team.threads()];
        self.fit.team.each(&mut children, &mut buffers, |buffer, (parent, is_left, node, table)| {
            let parent = &partitions[*parent];
            *node = Some(if C::Ranking::RANKED {
                describer.describe_ranked(parent, *is_left, table)
            } else {
                describer.describe(parent, *is_left, buffer)
            });
        });
        children.into_iter().map(|(.., node, table)| (node.expect("each child has been described"), table)).collect()
    }

    /// Appends the children of each split to the tree and makes them the next level.
    fn open_children(&mut self, children: Vec<(C::NodeStats, C::Table)>) {
        let mut children = children.into_iter();
        for PendingPartition { id, start, division, inherited, .. } in &self.partitions {
            let (left, left_table) = children.next().expect("a left child");
            let (right, right_table) = children.next().expect("a right child");
            let test = self.fit.test(division, &left, &right);
            let values = || [&left, &right].map(|node| constrained_value(self.fit.criterion, node));
            let inherited = inherited.of_children(self.fit.choices, division.feature, values);
            let ids = [0, 1].map(|side| {
                let id = self.tree.push(self.fit.criterion, [&left, &right][side]);
                self.fit.clamp(inherited[side], || self.tree.value_mut(id, self.fit.criterion.n_values()));
                id
            });
            self.tree.set_outcome(*id, NodeOutcome::Inner(test, ids));
            let starts = [*start, start + division.n_left()];
            let children = [(left, left_table), (right, right_table)];
            for (side, (node, table)) in children.into_iter().enumerate() {
                let (id, start, inherited) = (ids[side], starts[side], inherited[side]);
                self.level.push(OpenNode { id, start, is_left: side == 0, node, table, inherited });
            }
        }
    }

    /// Grows all pending subtrees, one thread per subtree.
    fn grow_subtrees(&mut self) {
        let Self { fit, columns, local_ids, workspaces, tree, .. } = self;
        let mut subtrees = std::mem::take(&mut self.waiting);
        // Large subtrees first, so that no thread waits long for the last one.
        subtrees.sort_by_key(|subtree| std::cmp::Reverse(subtree.range.len()));
        let mut work: Vec<_> = subtrees.into_iter().map(|subtree| (subtree.id, Some(subtree), None)).collect();
        fit.team.each(&mut work, workspaces, |workspace, (_, subtree, piece)| {
            let subtree = subtree.take().expect("each subtree is grown once");
            let n_rows = subtree.range.len();
            let mut grown = workspace.grow(fit, columns, subtree, local_ids);
            grown.finish(fit.units);
            fit.team.add_finished(n_rows);
            *piece = Some(grown);
        });
        for (id, _, piece) in work {
            tree.set_outcome(id, NodeOutcome::Subtree(piece.expect("each subtree has been grown")));
        }
    }

    /// Assembles the tree, after all buffers are freed.
    fn finish(self) -> Result<Tree> {
        let Self { fit, tree, columns, sides, ranks, spare, histograms, local_ids, workers, workspaces, .. } = self;
        drop((columns, sides, ranks, spare, histograms, local_ids, workers, workspaces));
        if fit.team.cancelled() {
            return Err(Error::Interrupted);
        }
        Ok(tree.assemble(fit, fit.x.n_columns()))
    }
}

/// Describes the children of splits.
struct ChildDescriber<'a, X, C: Criterion> {
    fit: &'a Fit<'a, Matrix<'a, X>, C>,
    columns: &'a Columns<C::Item>,
    sides: &'a Sides,
    ranks: &'a NodeRanks<C>,
    small: usize,
    /// Depth of the children.
    depth: u32,
}

impl<X: Cell, C: Criterion> ChildDescriber<'_, X, C> {
    /// Describes a child from the winner's column, and notes the side of its rows.
    fn describe(&self, parent: &PendingPartition, is_left: bool, buffer: &mut Vec<C::Item>) -> C::NodeStats {
        let division = &parent.division;
        let Columns { features, coded, .. } = self.columns;
        let slice = coded.column(division.feature, features).slice(parent.range());
        let [left, right] = division.sides(slice.rows);
        let (items, rows) = if is_left {
            (division.left_items(slice.items, buffer), left)
        } else {
            (&slice.items[division.right()], right)
        };
        if coded.is_empty() {
            parent.note_side(self.sides, rows, is_left);
        }
        self.fit.criterion.describe(items)
    }

    /// Describes a child from the column of targets, which has been partitioned. The sides of its
    /// rows have been noted.
    fn describe_ranked(&self, parent: &PendingPartition, is_left: bool, table: &mut C::Table) -> C::NodeStats {
        let (n_left, len) = (parent.division.n_left(), parent.division.len);
        let (from, to) = if is_left { (0, n_left) } else { (n_left, len) };
        let items = &self.columns.targets.items[parent.start + from..parent.start + to];
        let criterion = self.fit.criterion;
        let node = criterion.describe(items);
        if criterion.rows(&node) > self.small && !self.fit.is_leaf(&node, self.depth) {
            criterion.tabulate(&node, items, table);
            self.ranks.rank_rows(table, items);
        }
        node
    }
}

/// What all threads read during the search of a level.
pub(crate) struct LevelSearch<'a, X, C: Criterion> {
    pub fit: &'a Fit<'a, Matrix<'a, X>, C>,
    pub open: &'a [OpenNode<C>],
    /// By open node.
    pub incumbents: Vec<Incumbent>,
    pub partitions: &'a [PendingPartition],
    /// Ranges of pending subtrees, which are copied unchanged.
    pub waiting: &'a [Range<usize>],
    pub sides: &'a Sides,
    pub ranks: &'a NodeRanks<C>,
    pub has_missing: &'a [bool],
    pub coded: &'a CodedColumns<C::Item>,
    /// Whether the features of each node are drawn. They can be drawn only when all columns are
    /// partitioned, because constant features count: so nothing is bounded or swept before.
    pub draws: bool,
}

impl<X: Cell, C: Criterion> LevelSearch<'_, X, C> {
    /// Partitions every column and searches the open nodes. Returns, by feature, a candidate for
    /// each of them.
    /// `histograms` are those of the last level, by feature; none if no feature is coded.
    pub fn run(
        &self,
        features: &mut [SortedColumn<C::Item>],
        histograms: &mut [Histograms<C>],
        workers: &mut [Worker<C>],
    ) -> Vec<Vec<Candidate>> {
        let Self { fit, open, .. } = *self;
        let mut candidates: Vec<Vec<Candidate>> = features.iter().map(|_| Vec::with_capacity(open.len())).collect();
        let mut histograms = histograms.iter_mut();
        let columns = features.iter_mut().map(|column| (column, histograms.next()));
        let mut work: Vec<_> = columns.zip(&mut candidates).enumerate().collect();
        // Coded features first: they raise the bar for the sweeps of the others.
        work.sort_by_key(|&(feature, _)| self.coded.get(feature).is_none());
        fit.team.each(&mut work, workers, |worker, (feature, ((column, histograms), candidates))| {
            match (self.coded.get(*feature), histograms) {
                (Some(coded), Some(histograms)) => self.visit_codes(*feature, coded, histograms, candidates, worker),
                _ => self.visit_column(*feature, column, candidates, worker),
            }
        });
        drop(work);
        if self.draws {
            draw_candidates(fit, open, &mut candidates);
        }
        let mut bounded = rank_candidates(&mut candidates, open.len());
        fit.team.each(&mut bounded, workers, |worker, candidate| {
            self.sweep(&features[candidate.feature], candidate, worker);
        });
        candidates
    }

    /// Partitions one column and bounds the gains of its open nodes, or sweeps them if the
    /// criterion has no bounds. Each parent's range is followed by its children's, while they are
    /// still in the cache.
    fn visit_column(
        &self,
        feature: usize,
        column: &mut SortedColumn<C::Item>,
        candidates: &mut Vec<Candidate>,
        worker: &mut Worker<C>,
    ) {
        if self.partitions.is_empty() {
            self.bound_nodes(feature, column, column.rows.len(), candidates, worker);
            return;
        }
        let mut spare = std::mem::take(&mut worker.spare);
        spare.reserve(column.rows.len());
        for range in self.waiting {
            spare.copy(range.clone(), column);
        }
        for pending in self.partitions {
            pending.carry_out(feature, column, &mut spare, self.sides);
            self.bound_nodes(feature, &spare, pending.range().end, candidates, worker);
        }
        worker.spare = std::mem::replace(column, spare);
    }

    /// Sweeps the groups of a coded feature in all open nodes.
    fn visit_codes(
        &self,
        feature: usize,
        column: &CodedColumn,
        histograms: &mut Histograms<C>,
        candidates: &mut Vec<Candidate>,
        worker: &mut Worker<C>,
    ) {
        let Self { fit: &Fit { criterion, rules, choices, team, .. }, open, .. } = *self;
        if team.cancelled() {
            return;
        }
        histograms.next_level(criterion, column, &self.coded.rows, self.partitions, open);
        for (node, groups) in histograms.nodes().enumerate() {
            let (open, incumbent, contest) = (&open[node], &self.incumbents[node], &mut worker.contest);
            contest.restart(criterion.noise(&open.node), incumbent.gain());
            let value_order = open.inherited.value_order(choices, feature);
            scan_groups(criterion, &open.node, groups, self.has_missing[feature], value_order, rules, contest);
            let found = contest.found();
            incumbent.raise(found.map_or(0.0, |found| found.top));
            candidates.push(Candidate { node, feature, bound: None, found });
        }
    }

    /// Appends candidates for the open nodes that start before `end` and don't have one yet.
    fn bound_nodes(
        &self,
        feature: usize,
        column: &SortedColumn<C::Item>,
        end: usize,
        candidates: &mut Vec<Candidate>,
        worker: &mut Worker<C>,
    ) {
        while let Some(open) = self.open.get(candidates.len())
            && open.start < end
            && !self.fit.team.cancelled()
        {
            let part = node_feature(self.fit, open, feature, column, self.has_missing[feature], self.ranks);
            let bound = if self.draws {
                Some(if part.is_constant() { f64::NEG_INFINITY } else { f64::INFINITY })
            } else {
                gain_bound(self.fit.criterion, &open.table, &part, self.fit.rules)
            };
            let mut candidate = Candidate { node: candidates.len(), feature, bound, found: None };
            if bound.is_none() {
                self.sweep(column, &mut candidate, worker);
            }
            candidates.push(candidate);
        }
    }

    /// Sweeps a candidate, unless its bound shows that it can't win.
    fn sweep(&self, column: &SortedColumn<C::Item>, candidate: &mut Candidate, worker: &mut Worker<C>) {
        let &mut Candidate { node, feature, bound, .. } = candidate;
        let (fit, open, incumbent) = (self.fit, &self.open[node], &self.incumbents[node]);
        let Worker { contest, scratch, .. } = worker;
        contest.restart(fit.criterion.noise(&open.node), incumbent.gain());
        if !fit.team.cancelled() && bound.is_none_or(|bound| bound >= contest.bar()) {
            let part = node_feature(fit, open, feature, column, self.has_missing[feature], self.ranks);
            if self.draws
                && gain_bound(fit.criterion, &open.table, &part, fit.rules).is_some_and(|bound| bound < contest.bar())
            {
                return;
            }
            scan(fit.criterion, &open.node, &open.table, &part, fit.rules, contest, scratch);
            candidate.found = contest.found();
            incumbent.raise(candidate.found.map_or(0.0, |found| found.top));
        }
    }
}

/// Draws the features of each node, and takes away the bounds of the others.
fn draw_candidates<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    open: &[OpenNode<C>],
    candidates: &mut [Vec<Candidate>],
) {
    let mut drawer = FeatureDrawer::default();
    let mut is_drawn = vec![false; candidates.len()];
    for (node, open) in open.iter().enumerate() {
        // A fit that was cancelled has no candidates for its last nodes.
        let is_constant =
            |feature: usize| candidates[feature].get(node).is_none_or(|one| one.bound != Some(f64::INFINITY));
        let drawn = fit.draw_features(open.inherited, &mut drawer, is_constant);
        for &feature in drawn {
            is_drawn[feature as usize] = true;
        }
        for (of_feature, is_drawn) in candidates.iter_mut().zip(&mut is_drawn) {
            if let Some(candidate) = of_feature.get_mut(node).filter(|_| !*is_drawn) {
                candidate.bound = Some(f64::NEG_INFINITY);
            }
            *is_drawn = false;
        }
    }
}

/// The candidates that have a bound and were not swept, in descending order of their share of their
/// node's largest bound: the first ones are likely to raise the bar above the bounds of the rest.
fn rank_candidates(candidates: &mut [Vec<Candidate>], n_nodes: usize) -> Vec<&mut Candidate> {
    let bound = |candidate: &Candidate| candidate.bound.unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let mut bounded: Vec<&mut Candidate> =
        candidates.iter_mut().flatten().filter(|candidate| candidate.bound.is_some()).collect();
    let mut best = vec![f64::MIN_POSITIVE; n_nodes];
    for candidate in &bounded {
        best[candidate.node] = best[candidate.node].max(bound(candidate));
    }
    let share = |candidate: &Candidate| bound(candidate) / best[candidate.node];
    bounded.sort_by(|a, b| share(b).total_cmp(&share(a)));
    bounded
}

/// The cut of a feature that is aimed at.
pub(crate) fn search_again<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    open: &OpenNode<C>,
    part: &Feature<impl ContributionsOf<C>, impl Fn(usize) -> X>,
    aim: Aim,
    worker: &mut Worker<C>,
) -> Option<Found> {
    let Worker { contest, scratch, .. } = worker;
    contest.restart_for(aim);
    scan(fit.criterion, &open.node, &open.table, part, fit.rules, contest, scratch);
    contest.found()
}

/// A node's range of a column, as a scan reads it.
pub(crate) fn node_feature<'a, X: Cell, C: Criterion>(
    fit: &'a Fit<'_, Matrix<'_, X>, C>,
    open: &'a OpenNode<C>,
    feature: usize,
    column: &'a SortedColumn<C::Item>,
    has_missing: bool,
    ranks: &'a NodeRanks<C>,
) -> Feature<impl ContributionsOf<C> + 'a, impl Fn(usize) -> X + 'a> {
    let slice = column.slice(open.range(fit.criterion));
    Feature {
        contributions: Carried {
            items: slice.items,
            contribution: |item| fit.criterion.contribution(&open.node, item, || ranks.rank(item)),
            tag: move |place: usize| ranks.tag(slice.items[place]),
        },
        value: move |place| fit.x.get(slice.rows[place] as usize, feature),
        has_missing,
        value_order: open.inherited.value_order(fit.choices, feature),
    }
}
