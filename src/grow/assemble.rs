//! Assembles the finished tree from its top and the pieces below it.
//!
//! Nodes of the top are numbered in the order in which they were found, which is breadth-first in
//! `top.rs`. The finished tree is numbered depth-first, so assembly walks the top depth-first and
//! gives each node and each piece its place. Cost: O(nodes of the top), and one copy of every node.

use super::tree_piece::{NodeSummary, PlacedNodes, TreePiece, join};
use super::{Fit, Units};
use crate::criterion::Criterion;
use crate::threads::Team;
use crate::tree::{Test, Tree};

/// What a node of the top turned out to be.
pub(crate) enum NodeOutcome {
    Leaf,
    /// The test, and the children by their numbers in the top.
    Inner(Test, [usize; 2]),
    /// The node was grown separately, as the root of this piece.
    Subtree(TreePiece),
}

/// The top of the tree, in the order in which its nodes were found.
#[derive(Default)]
pub(crate) struct TreeTop {
    nodes: TreePiece,
    /// By node.
    outcomes: Vec<NodeOutcome>,
}

impl TreeTop {
    /// Appends a leaf and returns its number.
    pub fn push<C: Criterion>(&mut self, criterion: &C, node: &C::NodeStats) -> usize {
        self.outcomes.push(NodeOutcome::Leaf);
        self.nodes.push(criterion, node)
    }

    /// Appends a leaf that was described elsewhere and returns its number.
    pub fn push_summary(&mut self, summary: NodeSummary) -> usize {
        self.outcomes.push(NodeOutcome::Leaf);
        self.nodes.push_summary(summary)
    }

    /// The values that a node predicts.
    pub fn value_mut(&mut self, id: usize, n_values: usize) -> &mut [f64] {
        self.nodes.value_mut(id, n_values)
    }

    /// Number of nodes of the top.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    pub fn set_outcome(&mut self, id: usize, outcome: NodeOutcome) {
        self.outcomes[id] = outcome;
    }

    /// Joins the top and the pieces in depth-first order. Pieces are in the user's units already.
    pub fn assemble<M: ?Sized, C: Criterion>(self, fit: &Fit<'_, M, C>, n_features: usize) -> Tree {
        self.assemble_in(fit.units, n_features, fit.criterion.n_values(), fit.team)
    }

    /// [`TreeTop::assemble`] with the units of the top.
    pub fn assemble_in(mut self, units: Units, n_features: usize, n_values: usize, team: &Team) -> Tree {
        let is_whole = |outcome: &mut NodeOutcome| matches!(outcome, NodeOutcome::Subtree(_)) && self.nodes.len() == 1;
        if let Some(NodeOutcome::Subtree(whole)) = self.outcomes.pop_if(is_whole) {
            return whole.into_tree(n_features, n_values);
        }
        self.nodes.finish(units);
        let placed = self.place_nodes();
        let placed: Vec<PlacedNodes<'_>> = placed.into_iter().map(|(id, place)| self.placed(id, place)).collect();
        join(&placed, n_features, n_values, team)
    }

    /// Writes the tests of the top's inner nodes, with the final numbers of their right children.
    /// Returns the top's nodes in depth-first order, each with its place in the tree.
    fn place_nodes(&mut self) -> Vec<(usize, usize)> {
        let mut order = Vec::with_capacity(self.outcomes.len());
        // Each with its depth and the inner node whose right child it is.
        let mut pending = vec![(0, 0, None)];
        let mut place = 0;
        while let Some((id, depth, parent)) = pending.pop() {
            if let Some(parent) = parent {
                self.nodes.set_right(parent, place);
            }
            order.push((id, place));
            place += match &self.outcomes[id] {
                NodeOutcome::Subtree(piece) => piece.len(),
                NodeOutcome::Leaf => 1,
                NodeOutcome::Inner(test, [left, right]) => {
                    self.nodes.split(id, depth, *test);
                    pending.push((*right, depth + 1, Some(id)));
                    pending.push((*left, depth + 1, None));
                    1
                }
            };
        }
        order
    }

    fn placed(&self, id: usize, place: usize) -> PlacedNodes<'_> {
        match &self.outcomes[id] {
            NodeOutcome::Subtree(piece) => PlacedNodes { piece, nodes: 0..piece.len(), shift: place },
            // The right child's number is final already.
            _ => PlacedNodes { piece: &self.nodes, nodes: id..id + 1, shift: 0 },
        }
    }
}
