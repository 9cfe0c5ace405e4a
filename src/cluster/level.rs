//! The level of the tree that a worker has reached, and its steps.
//!
//! All workers of a fit have the same open nodes, with the same ranges and statistics, because they
//! apply the same splits. Only their columns differ. The search of a level is that of
//! `grow/top.rs`; the incumbents are the worker's own, which changes the work and not the winner.

use std::collections::HashMap;

use super::column_worker::{ColumnWork, Shared};
use super::divide::Divider;
use super::handover::SmallNodes;
use super::messages::{Decision, Divisions, Findings, HandOver, NodeKind, NodeReport, SplitNode, Splits};
use super::side_bits::{Cursors, NO_NODE, SideBits};
use crate::columns::{Columns, SortedColumn};
use crate::criterion::{Criterion, TargetRanking};
use crate::data::{Cell, Rows};
use crate::error::Result;
use crate::grow::inherited::Inherited;
use crate::grow::node_ranks::NodeRanks;
use crate::grow::sides::Sides;
use crate::grow::subtree::PendingSubtree;
use crate::grow::top::{LevelSearch, OpenNode, PendingPartition, Worker, node_feature, search_again};
use crate::grow::tree_piece::TreePiece;
use crate::partition::partition;
use crate::search::Incumbent;
use crate::split::{Aim, Division, Found, near};
use crate::wire::{Wire, refuse};

/// A worker with the level that it has reached.
pub(super) struct LevelWorker<X, C: Criterion> {
    shared: Shared<X, C>,
    columns: Columns<C::Item>,
    root: NodeReport,
    depth: u32,
    /// In ascending order of their ranges.
    open: Vec<OpenNode<C>>,
    /// Splits of the last level, until the columns are partitioned.
    partitions: Vec<PendingPartition>,
    /// Divisions by features of this worker, with the index of their open node.
    divisions: Vec<(usize, Division)>,
    /// Small nodes whose ranges are final.
    waiting: Vec<PendingSubtree<C::NodeStats>>,
    /// Small nodes of the last splits, whose ranges are not partitioned yet.
    arriving: Vec<PendingSubtree<C::NodeStats>>,
    /// By row: the index of its open node, or `NO_NODE`.
    node_of_row: Vec<u32>,
    sides: Sides,
    /// By row: whether it is a copy of the row before it. Empty if no row can be one.
    copies: Vec<bool>,
    ranks: NodeRanks<C>,
    spare_targets: SortedColumn<C::Item>,
    workers: Vec<Worker<C>>,
    small_nodes: SmallNodes<X, C>,
}

impl<X: Cell + Wire, C: Criterion<NodeStats: Wire>> LevelWorker<X, C> {
    pub fn new(shared: Shared<X, C>, columns: Columns<C::Item>, rows: &Rows) -> Self {
        let (n_rows, n_ranked) = (shared.n_rows, columns.targets.rows.len());
        let ranks = NodeRanks::new(n_ranked);
        let node = if C::Ranking::RANKED {
            shared.criterion.describe(&columns.targets.items)
        } else {
            shared.criterion.describe(&rows.pick(shared.items.clone()))
        };
        let workers = (0..shared.team.threads()).map(|_| Worker::new()).collect();
        let small_nodes = SmallNodes::new(&shared);
        let mut worker = Self {
            root: shared.report(&node, 0),
            shared,
            columns,
            depth: 0,
            open: Vec::new(),
            partitions: Vec::new(),
            divisions: Vec::new(),
            waiting: Vec::new(),
            arriving: Vec::new(),
            node_of_row: vec![NO_NODE; n_rows],
            sides: Sides::new(n_rows),
            copies: rows.copies().unwrap_or(&[]).to_vec(),
            ranks,
            spare_targets: SortedColumn::with_len(n_ranked),
            workers,
            small_nodes,
        };
        let root = worker.open_node(0, 0, node);
        (0..rows.len()).for_each(|place| worker.node_of_row[rows.id(place) as usize] = root);
        worker
    }

    /// Adds a node of the current level to the open, the arriving or no nodes. Returns its index
    /// among the open nodes, or `NO_NODE`.
    fn open_node(&mut self, id: usize, start: usize, node: C::NodeStats) -> u32 {
        let (depth, inherited) = (self.depth, Inherited::of_root(None));
        let range = start..start + self.shared.criterion.rows(&node);
        match self.shared.kind(&node, depth) {
            NodeKind::Leaf => NO_NODE,
            NodeKind::Small => {
                self.arriving.push(PendingSubtree { id, range, node, depth, inherited });
                NO_NODE
            }
            NodeKind::Open => {
                let mut table = C::Table::default();
                if C::Ranking::RANKED {
                    let items = &self.columns.targets.items[range];
                    self.shared.criterion.tabulate(&node, items, &mut table);
                    self.ranks.rank_rows(&table, items);
                }
                self.open.push(OpenNode { id, start, is_left: false, node, table, inherited });
                self.open.len() as u32 - 1
            }
        }
    }

    /// The splits as partitions of this worker's columns. The column of a feature that has won is
    /// in order already; the features of other workers match no column.
    fn pending_partitions(&mut self, splits: &Splits) -> Vec<PendingPartition> {
        let mut own = std::mem::take(&mut self.divisions).into_iter().peekable();
        let nodes = self.open.iter().zip(splits).enumerate();
        let mut partitions = Vec::new();
        for (k, (open, split)) in nodes {
            let Some(split) = split else { continue };
            let (len, front) = (self.shared.criterion.rows(&open.node), split.n_left);
            let elsewhere =
                || Division { feature: usize::MAX, threshold: 0.0, missing_left: None, front, back: 0, len };
            let division = own.next_if(|(node, _)| *node == k).map_or_else(elsewhere, |(_, division)| division);
            let &OpenNode { id, start, inherited, .. } = open;
            partitions.push(PendingPartition { id, start, was_left: false, division, inherited });
        }
        partitions
    }

    /// Reads the sides of all rows of split nodes, and moves the rows to the children: `children`
    /// has the index of both children of each open node that was split, and `n_left` how many of
    /// its rows go left, without copies.
    fn move_rows(&mut self, splits: &Splits, children: &[[u32; 2]], n_left: &[usize], sides: &[&[u8]]) -> Result<()> {
        let (criterion, open) = (&self.shared.criterion, &self.open);
        let counts_of = |worker: usize| {
            let counts = |((open, split), n_left): ((&OpenNode<C>, &Option<SplitNode>), &usize)| {
                let is_own = split.as_ref().is_some_and(|split| split.worker == worker);
                is_own.then(|| (criterion.distinct_rows(&open.node), *n_left))
            };
            open.iter().zip(splits).zip(n_left).map(counts).collect::<Vec<_>>()
        };
        let bits = sides.iter().enumerate().map(|(worker, bytes)| SideBits::new(&counts_of(worker), bytes));
        let mut bits = bits.collect::<Result<Vec<_>>>()?;
        let mut of_last = None;
        for (row, node) in (0..).zip(&mut self.node_of_row) {
            let Some(split) = splits.get(*node as usize) else { continue };
            let is_copy = self.copies.get(row as usize).is_some_and(|&is_copy| is_copy);
            let mut next = || split.as_ref().and_then(|split| bits[split.worker].next(*node));
            let is_left = if is_copy { of_last } else { next() };
            of_last = is_left;
            *node = is_left.map_or(NO_NODE, |is_left| {
                self.sides.set(row, is_left);
                children[*node as usize][usize::from(!is_left)]
            });
        }
        Ok(())
    }

    /// Partitions the column of targets, from which the tables of the children are made.
    fn partition_targets(&mut self) {
        let Self { columns: Columns { targets, .. }, partitions, waiting, spare_targets: spare, sides, .. } = self;
        for subtree in waiting {
            spare.copy(subtree.range.clone(), targets);
        }
        for pending in partitions {
            let (range, n_left) = (pending.range(), pending.division.n_left());
            let (rows, items) = (&mut spare.rows[range.clone()], &mut spare.items[range.clone()]);
            partition(targets.slice(range), |row| sides.get(row), n_left, rows, items);
        }
        std::mem::swap(targets, spare);
    }
}

impl<X: Cell + Wire, C: Criterion<NodeStats: Wire> + Send> ColumnWork for LevelWorker<X, C> {
    fn has_missing(&self) -> Vec<bool> {
        self.columns.has_missing.clone()
    }

    fn root(&mut self, has_missing: &[bool]) -> Result<NodeReport> {
        if has_missing.len() != self.shared.own.n_features {
            return refuse(format!("has {} flags of missing values", has_missing.len()));
        }
        self.small_nodes.has_missing = has_missing.to_vec();
        Ok(self.root.clone())
    }

    fn search(&mut self) -> Findings {
        let Self { shared, columns: Columns { features, has_missing, coded, .. }, open, .. } = self;
        let x = shared.matrix();
        let waiting: Vec<_> = self.waiting.iter().map(|subtree| subtree.range.clone()).collect();
        let search = LevelSearch {
            fit: &shared.fit(&x),
            open,
            incumbents: open.iter().map(|_| Incumbent::default()).collect(),
            partitions: &self.partitions,
            waiting: &waiting,
            sides: &self.sides,
            ranks: &self.ranks,
            has_missing,
            coded,
            draws: false,
        };
        let candidates = search.run(features, &mut [], &mut self.workers);
        let (fit, worker) = (search.fit, &mut self.workers[0]);
        let mut findings = Vec::with_capacity(open.len());
        for (k, open) in open.iter().enumerate() {
            let noise = shared.criterion.noise(&open.node);
            let top = candidates.iter().filter_map(|of| of[k].found).map(|found| found.top).fold(0.0, f64::max);
            // The highest gain of all workers is no lower, so what does not tie with this one can't
            // win. If it is nothing, there may be no gain at any worker.
            let least = near(top, noise);
            let avoids_chain = shared.criterion.nothing(&open.node).is_some_and(|nothing| near(top, nothing) <= 0.0);
            let could_win = |found: Option<Found>| found.is_some_and(|found| found.top >= least);
            let mut of_node = Vec::new();
            for (own, of) in candidates.iter().enumerate() {
                let middle = avoids_chain.then(|| {
                    let part = node_feature(fit, open, own, &features[own], has_missing[own], &self.ranks);
                    search_again(fit, open, &part, Aim::Middle, worker)
                });
                if avoids_chain || could_win(of[k].found) {
                    of_node.push((shared.own.features[own], (of[k].found, middle.flatten())));
                }
            }
            findings.push(of_node);
        }
        self.partitions.clear();
        self.waiting.append(&mut self.arriving);
        findings
    }

    fn divide(&mut self, decisions: &[Decision]) -> Result<(Divisions, Vec<u8>)> {
        if !decisions.is_sorted_by(|a, b| a.node < b.node) {
            return refuse("has decisions that are not in the order of the nodes");
        }
        let distinct_rows = |open: &OpenNode<C>| self.shared.criterion.distinct_rows(&open.node);
        let distinct_rows: Vec<usize> = self.open.iter().map(distinct_rows).collect();
        let Self { shared, columns, open, sides, ranks, workers, .. } = self;
        let divider = Divider { shared, columns, open, sides, ranks, depth: self.depth };
        let mut work: Vec<_> = decisions.iter().map(|decision| (decision, Ok(None))).collect();
        shared.team.each(&mut work, workers, |worker, (decision, divided)| {
            *divided = divider.divide(decision, worker);
        });
        self.divisions.clear();
        let (mut divisions, mut rows) = (Vec::new(), vec![None; self.open.len()]);
        for (decision, divided) in work {
            divisions.push(divided?.map(|(division, divided)| {
                rows[decision.node] = Some(distinct_rows[decision.node]);
                self.divisions.push((decision.node, division));
                divided
            }));
        }
        let is_copy = |row: usize| self.copies.get(row).is_some_and(|&is_copy| is_copy);
        let sides = Cursors::new(rows.into_iter()).pack(&self.node_of_row, is_copy, &self.sides);
        Ok((divisions, sides))
    }

    fn apply(&mut self, splits: Splits, sides: &[&[u8]]) -> Result<()> {
        let is_known = |split: &SplitNode| split.worker < sides.len();
        if splits.len() != self.open.len() || !splits.iter().flatten().all(is_known) {
            return refuse("has splits of other nodes or workers");
        }
        // The children's indices are needed to move the rows, but their tables need the moved rows:
        // so kinds come first.
        let (mut nodes, mut children, mut n_open) = (Vec::new(), vec![[NO_NODE; 2]; splits.len()], 0);
        let mut n_left = vec![0; splits.len()];
        for ((split, children), n_left) in splits.iter().zip(&mut children).zip(&mut n_left) {
            let Some(split) = split else { continue };
            for (side, (bytes, child)) in split.children.iter().zip(children).enumerate() {
                let node = C::NodeStats::from_bytes(bytes)?;
                if side == 0 {
                    // The bits are counted without copies, the columns have them.
                    if self.shared.criterion.rows(&node) != split.n_left {
                        return refuse("has another number of rows on the left than the left child");
                    }
                    *n_left = self.shared.criterion.distinct_rows(&node);
                }
                if self.shared.kind(&node, self.depth + 1) == NodeKind::Open {
                    *child = n_open;
                    n_open += 1;
                }
                nodes.push(node);
            }
        }
        self.move_rows(&splits, &children, &n_left, sides)?;
        self.partitions = self.pending_partitions(&splits);
        self.sides.publish();
        if C::Ranking::RANKED {
            self.partition_targets();
        }
        self.open.clear();
        self.depth += 1;
        let starts: Vec<_> = self.partitions.iter().map(|one| [one.start, one.start + one.division.n_left()]).collect();
        let ids = splits.iter().flatten().map(|split| split.ids);
        let places = ids.zip(starts).flat_map(|(ids, starts)| ids.into_iter().zip(starts));
        for ((id, start), node) in places.zip(nodes) {
            self.open_node(id, start, node);
        }
        Ok(())
    }

    fn extract(&mut self, plan: &HandOver, own: usize) -> Result<Vec<Vec<u8>>> {
        let Self { shared, columns, small_nodes, .. } = self;
        let worker_of: HashMap<usize, usize> = plan.nodes.iter().copied().collect();
        let (taken, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|subtree| worker_of.contains_key(&subtree.id));
        self.waiting = waiting;
        if taken.len() != plan.nodes.len() || worker_of.values().any(|&worker| worker >= plan.n_workers) {
            return refuse("hands over nodes that don't wait, or to unknown workers");
        }
        let mut parcels = vec![Vec::new(); plan.n_workers];
        for subtree in taken {
            let worker = worker_of[&subtree.id];
            let rows = small_nodes.pack(shared, columns, &subtree, &mut parcels[worker]);
            if worker == own {
                small_nodes.keep(columns, subtree, rows);
            }
        }
        Ok(parcels)
    }

    fn finish(&mut self, parcels: &[&[u8]]) -> Result<Vec<(usize, TreePiece)>> {
        self.small_nodes.finish(&self.shared, parcels)
    }
}
