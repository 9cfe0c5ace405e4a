//! The upper part of a tree, whose nodes come up in any order, and the subtrees below it: together, in depth-first order, the tree.

use super::Fit;
use super::tree_piece::{PlacedNodes, TreePiece, join};
use crate::criterion::Criterion;
use crate::tree::{Test, Tree};

/// What has become of a node of the top.
pub(super) enum NodeOutcome {
    Leaf,
    /// Test and children, by their numbers in the top.
    Inner(Test, [usize; 2]),
    /// Grown by itself; the root of the piece is this node.
    Subtree(TreePiece),
}

/// The upper part of the tree, in the order in which its nodes came up.
#[derive(Default)]
pub(super) struct TreeTop {
    nodes: TreePiece,
    outcomes: Vec<NodeOutcome>,
}

impl TreeTop {
    /// Appends a leaf and returns its number.
    pub fn push<C: Criterion>(&mut self, criterion: &C, node: &C::NodeStats) -> usize {
        self.outcomes.push(NodeOutcome::Leaf);
        self.nodes.push(criterion, node)
    }

    /// What a node predicts.
    pub fn value_mut(&mut self, id: usize, n_values: usize) -> &mut [f64] {
        self.nodes.value_mut(id, n_values)
    }

    /// Says what has become of a node.
    pub fn settle(&mut self, id: usize, outcome: NodeOutcome) {
        self.outcomes[id] = outcome;
    }

    /// Puts the pieces together in depth-first order; subtrees are in the user's units already.
    pub fn assemble<M: ?Sized, C: Criterion>(mut self, fit: &Fit<'_, M, C>, n_features: usize) -> Tree {
        let n_values = fit.criterion.n_values();
        let is_whole = |outcome: &mut NodeOutcome| matches!(outcome, NodeOutcome::Subtree(_)) && self.nodes.len() == 1;
        if let Some(NodeOutcome::Subtree(whole)) = self.outcomes.pop_if(is_whole) {
            return whole.into_tree(n_features, n_values);
        }
        self.nodes.finish(fit.units);
        // The order first, with the place of each piece. Nodes of the top still to be placed, each with its depth and the
        // parent that it is the right child of.
        let mut order = Vec::with_capacity(self.outcomes.len());
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
        let placed = |(id, place)| match &self.outcomes[id] {
            NodeOutcome::Subtree(piece) => PlacedNodes { piece, nodes: 0..piece.len(), shift: place },
            // Its right child has its final number.
            _ => PlacedNodes { piece: &self.nodes, nodes: id..id + 1, shift: 0 },
        };
        let placed: Vec<PlacedNodes<'_>> = order.into_iter().map(placed).collect();
        join(&placed, n_features, n_values, fit.team)
    }
}
