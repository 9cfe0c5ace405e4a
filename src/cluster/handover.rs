//! Small nodes, handed over whole: all workers send the cells and the orders of their features to
//! one of them, which grows the node by `grow/subtree.rs` as a local fit does.
//!
//! Rows of a small node are numbered from 0 in ascending order, on all workers. A parcel has, for
//! each node, the cells of each feature in this order and the rows in the order of the feature:
//!
//! ```text
//! parcel   node │ n │ feature │ cells │ order, 16 bits per row │ feature │ …
//! ```
//!
//! The receiver puts the nodes of a parcel one below the other. They are then a table of their own
//! with presorted columns, each node a range, and a subtree can't tell it from a level of `top.rs`.
//!
//! Cost: a cell is sent once in a fit, with 2 bytes for its order. Memory: the parcels of one
//! hand-over, twice.

use std::sync::atomic::{AtomicU16, Ordering};

use super::column_worker::Shared;
use crate::columns::{CodedColumns, Columns, SortedColumn};
use crate::criterion::{Criterion, TargetRanking};
use crate::data::{Cell, Matrix};
use crate::error::Result;
use crate::grow::subtree::{PendingSubtree, Workspace};
use crate::grow::tree_piece::TreePiece;
use crate::wire::{Wire, refuse};

/// The small nodes that this worker grows.
pub(super) struct SmallNodes<X, C: Criterion> {
    /// By feature of the whole table: whether any row has no value.
    pub has_missing: Vec<bool>,
    kept: Vec<KeptNode<C>>,
    /// By row: its number in its small node.
    local_ids: Vec<AtomicU16>,
    workspaces: Vec<Workspace<X, C>>,
}

/// A node that this worker grows, until all parcels are here.
struct KeptNode<C: Criterion> {
    subtree: PendingSubtree<C::NodeStats>,
    /// Ascending.
    rows: Vec<u32>,
    /// The node's rows in the order of their targets, by their number in the node, if the criterion
    /// ranks them.
    targets: Vec<u16>,
}

impl<X: Cell + Wire, C: Criterion> SmallNodes<X, C> {
    pub fn new(shared: &Shared<X, C>) -> Self {
        let workspace = |_| Workspace::new(&shared.criterion, &shared.rules);
        Self {
            has_missing: Vec::new(),
            kept: Vec::new(),
            local_ids: (0..shared.n_rows).map(|_| AtomicU16::new(0)).collect(),
            workspaces: (0..shared.team.threads()).map(workspace).collect(),
        }
    }

    /// Appends this worker's features of a node to a parcel. Returns the node's rows.
    pub fn pack(
        &self,
        shared: &Shared<X, C>,
        columns: &Columns<C::Item>,
        subtree: &PendingSubtree<C::NodeStats>,
        parcel: &mut Vec<u8>,
    ) -> Vec<u32> {
        let mut rows = columns.features[0].rows[subtree.range.clone()].to_vec();
        rows.sort_unstable();
        for (local, &row) in (0..).zip(&rows) {
            self.local_ids[row as usize].store(local, Ordering::Relaxed);
        }
        subtree.id.write(parcel);
        shared.own.features.len().write(parcel);
        for (own, feature) in shared.own.features.iter().enumerate() {
            let cells = &shared.own.cells[own * shared.n_rows..][..shared.n_rows];
            feature.write(parcel);
            rows.iter().map(|&row| cells[row as usize]).collect::<Vec<X>>().write(parcel);
            self.numbers_of(&columns.features[own].rows[subtree.range.clone()]).write(parcel);
        }
        rows
    }

    /// Keeps a node that this worker grows, after it was packed.
    pub fn keep(&mut self, columns: &Columns<C::Item>, subtree: PendingSubtree<C::NodeStats>, rows: Vec<u32>) {
        let targets =
            if C::Ranking::RANKED { self.numbers_of(&columns.targets.rows[subtree.range.clone()]) } else { Vec::new() };
        self.kept.push(KeptNode { subtree, rows, targets });
    }

    /// The numbers of rows in the node that was packed last.
    fn numbers_of(&self, rows: &[u32]) -> Vec<u16> {
        rows.iter().map(|&row| self.local_ids[row as usize].load(Ordering::Relaxed)).collect()
    }

    /// Grows the kept nodes from the parcels of all workers. Returns each with its number in the
    /// top of the tree.
    pub fn finish(&mut self, shared: &Shared<X, C>, parcels: &[&[u8]]) -> Result<Vec<(usize, TreePiece)>> {
        let kept = std::mem::take(&mut self.kept);
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        let (cells, columns) = self.unpack(shared, &kept, parcels)?;
        let n_rows: usize = kept.iter().map(|node| node.rows.len()).sum();
        let x = Matrix::with_strides(&cells, 0, n_rows, shared.own.n_features, 1, n_rows as isize)?;
        let (fit, local_ids) = (shared.fit(&x), &self.local_ids);
        let mut start = 0;
        let mut work: Vec<_> = kept
            .into_iter()
            .map(|KeptNode { subtree, rows, .. }| {
                let range = start..start + rows.len();
                start = range.end;
                (subtree.id, Some(PendingSubtree { range, ..subtree }), None)
            })
            .collect();
        shared.team.each(&mut work, &mut self.workspaces, |workspace, (_, subtree, piece)| {
            let subtree = subtree.take().expect("each subtree is grown once");
            let mut grown = workspace.grow(&fit, &columns, subtree, local_ids);
            grown.finish(fit.units);
            *piece = Some(grown);
        });
        Ok(work.into_iter().map(|(id, _, piece)| (id, piece.expect("each subtree has been grown"))).collect())
    }

    /// The table of all kept nodes, one below the other: its cells, feature by feature, and its
    /// columns. Only the column that numbers the rows of a subtree has items.
    fn unpack(
        &self,
        shared: &Shared<X, C>,
        kept: &[KeptNode<C>],
        parcels: &[&[u8]],
    ) -> Result<(Vec<X>, Columns<C::Item>)> {
        let n_rows: usize = kept.iter().map(|node| node.rows.len()).sum();
        let n_features = shared.own.n_features;
        let mut cells = vec![X::default(); n_rows * n_features];
        let mut orders = vec![vec![0; n_rows]; n_features];
        let mut parcels: Vec<_> = parcels.iter().map(|parcel| Incoming { bytes: parcel }).collect();
        let mut start = 0;
        for KeptNode { subtree, rows, .. } in kept {
            let mut n_received = 0;
            for parcel in &mut parcels {
                for _ in 0..parcel.start_node(subtree.id)? {
                    let (feature, own, order) = parcel.feature::<X>(n_features, rows.len())?;
                    cells[feature * n_rows + start..][..rows.len()].copy_from_slice(&own);
                    let order = order.into_iter().map(|local| start as u32 + u32::from(local));
                    orders[feature].splice(start..start + rows.len(), order);
                    n_received += 1;
                }
            }
            if n_received != n_features {
                return refuse(format!("has {n_received} features of a small node instead of {n_features}"));
            }
            start += rows.len();
        }
        let mut features: Vec<_> = orders.into_iter().map(|rows| SortedColumn { rows, items: Vec::new() }).collect();
        let mut targets = SortedColumn { rows: Vec::new(), items: Vec::new() };
        for node in kept {
            let start = targets.rows.len() as u32;
            targets.rows.extend(node.targets.iter().map(|&local| start + u32::from(local)));
        }
        let all: Vec<u32> = kept.iter().flat_map(|node| node.rows.iter().copied()).collect();
        let key = if C::Ranking::RANKED { &mut targets } else { &mut features[0] };
        key.items = key.rows.iter().map(|&row| shared.items[all[row as usize] as usize]).collect();
        Ok((cells, Columns { features, has_missing: self.has_missing.clone(), targets, coded: CodedColumns::none() }))
    }
}

/// A parcel that is being read.
struct Incoming<'a> {
    bytes: &'a [u8],
}

impl Incoming<'_> {
    /// Goes on to the next node, which must be this one. Returns its number of features.
    fn start_node(&mut self, id: usize) -> Result<usize> {
        match usize::read(&mut self.bytes)? {
            found if found == id => usize::read(&mut self.bytes),
            found => refuse(format!("has node {found} where node {id} is expected")),
        }
    }

    /// The number of a feature, its cells, and the rows in its order.
    fn feature<X: Wire>(&mut self, n_features: usize, n_rows: usize) -> Result<(usize, Vec<X>, Vec<u16>)> {
        let from = &mut self.bytes;
        let (feature, cells, order) = (usize::read(from)?, Vec::<X>::read(from)?, Vec::<u16>::read(from)?);
        let is_valid = feature < n_features
            && cells.len() == n_rows
            && order.len() == n_rows
            && order.iter().all(|&local| usize::from(local) < n_rows);
        if is_valid { Ok((feature, cells, order)) } else { refuse("has a feature of another shape") }
    }
}
