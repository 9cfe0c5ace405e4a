//! Growth node by node, for engines whose nodes own their rows: random thresholds
//! (`random_splits.rs`) and sparse columns (`sparse.rs`).
//!
//! Large nodes are split level by level: all threads share the features of a node while there are
//! fewer nodes than threads, otherwise each thread takes whole nodes. Smaller nodes are distributed
//! over the threads and grown whole, depth-first, by one thread each. What happens at a node
//! depends on its rows and its seed alone, so the tree is the same for every number of threads.

use super::Fit;
use super::assemble::{NodeOutcome, TreeTop};
use super::inherited::{Inherited, constrained_value};
use super::tree_piece::TreePiece;
use crate::criterion::Criterion;
use crate::data::Values;
use crate::error::{Error, Result};
use crate::tree::{Test, Tree};

const ONCE: &str = "each node is grown once";

/// Rows that reach their leaf are reported in batches: threads would wait for the counter.
const REPORTED_ROWS: usize = 4_096;

/// A node that is still to be grown.
pub(super) struct OpenNode<R, N> {
    pub rows: R,
    pub node: N,
    pub depth: u32,
    pub inherited: Inherited,
}

/// A split that was carried out, and the children.
pub(super) type SplitNode<R, N> = (Test, [OpenNode<R, N>; 2]);

/// Finds and carries out the splits of nodes.
pub(super) trait NodeEngine<C: Criterion>: Sync {
    /// The rows of a node.
    type Rows: Send;
    /// Buffers of one thread.
    type Worker: Send;

    /// Whether all threads should share the node.
    fn is_large(&self, rows: &Self::Rows) -> bool;

    /// Finds the split of a node and carries it out; `None` if the node stays a leaf.
    fn split(
        &self,
        open: OpenNode<Self::Rows, C::NodeStats>,
        workers: &mut [Self::Worker],
    ) -> Option<SplitNode<Self::Rows, C::NodeStats>>;

    /// Grows a node and its descendants with one thread.
    fn grow_small(&self, root: OpenNode<Self::Rows, C::NodeStats>, worker: &mut Self::Worker) -> TreePiece;
}

/// Grows a tree.
pub(super) fn grow<M: Values + ?Sized, C: Criterion, E: NodeEngine<C>>(
    fit: &Fit<'_, M, C>,
    engine: &E,
    root: OpenNode<E::Rows, C::NodeStats>,
    workers: &mut [E::Worker],
) -> Result<Tree> {
    let mut top = TreeTop::default();
    let mut level = vec![(push_top(fit, &mut top, &root), root)];
    let mut small = Vec::new();
    while !level.is_empty() {
        let mut large = Vec::new();
        for (id, open) in level.drain(..).filter(|(_, open)| !finish_leaf(fit, open)) {
            if engine.is_large(&open.rows) {
                large.push((id, fit.criterion.rows(&open.node), Some(open), None));
            } else {
                small.push((id, Some(open), None));
            }
        }
        if large.len() < workers.len() {
            for (.., open, split) in &mut large {
                *split = engine.split(open.take().expect(ONCE), workers);
            }
        } else {
            fit.team.each(&mut large, workers, |worker, (.., open, split)| {
                *split = engine.split(open.take().expect(ONCE), std::slice::from_mut(worker));
            });
        }
        for (id, n_rows, _, split) in large {
            if let Some((test, children)) = split {
                let children = children.map(|child| (push_top(fit, &mut top, &child), child));
                top.set_outcome(id, NodeOutcome::Inner(test, [children[0].0, children[1].0]));
                level.extend(children);
            } else {
                fit.team.add_finished(n_rows);
            }
        }
    }
    // Large subtrees first, so that no thread waits long for the last one.
    let n_rows =
        |open: &Option<OpenNode<E::Rows, C::NodeStats>>| open.as_ref().map(|open| fit.criterion.rows(&open.node));
    small.sort_by_key(|(_, open, _)| std::cmp::Reverse(n_rows(open)));
    fit.team.each(&mut small, workers, |worker, (_, open, piece)| {
        let open = open.take().expect(ONCE);
        *piece = Some(engine.grow_small(open, worker));
    });
    if fit.team.cancelled() {
        return Err(Error::Interrupted);
    }
    for (id, _, piece) in small {
        let mut piece = piece.expect("each node has been grown");
        piece.finish(fit.units);
        top.set_outcome(id, NodeOutcome::Subtree(piece));
    }
    Ok(top.assemble(fit, fit.x.n_columns()))
}

/// Grows a node and its descendants, depth-first, with one thread.
pub(super) fn grow_piece<M: ?Sized, C: Criterion, E: NodeEngine<C>>(
    fit: &Fit<'_, M, C>,
    engine: &E,
    root: OpenNode<E::Rows, C::NodeStats>,
    worker: &mut E::Worker,
) -> TreePiece {
    let n_values = fit.criterion.n_values();
    let mut piece = TreePiece::with_capacity(fit.max_nodes(&root.node, root.depth), n_values);
    // Each with the inner node whose right child it is; `None` for a left child, which follows its
    // parent.
    let mut pending = vec![(root, None)];
    let mut finished = 0;
    while let Some((open, right_of)) = pending.pop() {
        let id = piece.push(fit.criterion, &open.node);
        fit.clamp(open.inherited, || piece.value_mut(id, n_values));
        if let Some(parent) = right_of {
            piece.set_right(parent, id);
        }
        let (depth, n_rows) = (open.depth, fit.criterion.rows(&open.node));
        let is_leaf = fit.is_leaf(&open.node, depth) || fit.team.cancelled();
        let split = if is_leaf { None } else { engine.split(open, std::slice::from_mut(worker)) };
        if let Some((test, [left, right])) = split {
            piece.split(id, depth, test);
            pending.extend([(right, Some(id)), (left, None)]);
            continue;
        }
        finished += n_rows;
        if finished >= REPORTED_ROWS {
            fit.team.add_finished(std::mem::take(&mut finished));
        }
    }
    fit.team.add_finished(finished);
    piece
}

/// The children of a node that was split on this feature.
pub(super) fn children<M: ?Sized, C: Criterion, R>(
    fit: &Fit<'_, M, C>,
    parent: (u32, Inherited),
    feature: usize,
    rows: [R; 2],
    nodes: [C::NodeStats; 2],
) -> [OpenNode<R, C::NodeStats>; 2] {
    let (depth, inherited) = parent;
    let values = || nodes.each_ref().map(|node| constrained_value(fit.criterion, node));
    let [of_left, of_right] = inherited.of_children(fit.choices, feature, values);
    let ([left, right], [left_rows, right_rows]) = (nodes, rows);
    [
        OpenNode { rows: left_rows, node: left, depth: depth + 1, inherited: of_left },
        OpenNode { rows: right_rows, node: right, depth: depth + 1, inherited: of_right },
    ]
}

/// Appends a node to the top of the tree and returns its number.
fn push_top<M: ?Sized, C: Criterion, R>(
    fit: &Fit<'_, M, C>,
    top: &mut TreeTop,
    open: &OpenNode<R, C::NodeStats>,
) -> usize {
    let id = top.push(fit.criterion, &open.node);
    fit.clamp(open.inherited, || top.value_mut(id, fit.criterion.n_values()));
    id
}

/// Whether the rules make a node a leaf, or the fit was cancelled. Counts the rows of a leaf as
/// finished.
fn finish_leaf<M: ?Sized, C: Criterion, R>(fit: &Fit<'_, M, C>, open: &OpenNode<R, C::NodeStats>) -> bool {
    let is_leaf = fit.is_leaf(&open.node, open.depth) || fit.team.cancelled();
    if is_leaf {
        fit.team.add_finished(fit.criterion.rows(&open.node));
    }
    is_leaf
}
