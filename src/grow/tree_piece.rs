//! A piece of a tree while it grows, and the join of pieces into a tree.
//!
//! Cost of the join: one copy of every node and its statistics; the arrays are filled in parallel.

use std::ops::Range;

use super::Units;
use crate::criterion::{Criterion, TinyKernel, TinySummary};
use crate::threads::Team;
use crate::tree::{ArenaNode, Statistics, Test, Tree};
use crate::wire::wire_struct;

/// Nodes in depth-first order with their statistics. Every node begins as a leaf.
#[derive(Default)]
pub(crate) struct TreePiece {
    nodes: Vec<ArenaNode>,
    statistics: Statistics,
    /// Depth, in the whole tree, of the deepest child of an inner node.
    depth: u32,
}

wire_struct!(TreePiece { nodes, statistics, depth });

/// What a tree stores of a node's training rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeSummary {
    pub values: Vec<f64>,
    pub impurity: f64,
    pub rows: u32,
    /// `None` if rows have no weights of their own.
    pub weight: Option<f64>,
}
wire_struct!(NodeSummary { values, impurity, rows, weight });

impl NodeSummary {
    /// Summarises a node, in the user's units.
    pub fn new<C: Criterion>(criterion: &C, node: &C::NodeStats, units: Units) -> Self {
        let mut values = Vec::with_capacity(criterion.n_values());
        criterion.write_value(node, &mut values);
        Self {
            values: values.into_iter().map(|value| value * units.target).collect(),
            impurity: criterion.impurity(node) * units.impurity,
            rows: criterion.distinct_rows(node) as u32,
            weight: criterion.stores_weights().then(|| criterion.weight(node) * units.weight),
        }
    }
}

impl TreePiece {
    /// Appends a leaf that was described elsewhere and returns its number.
    pub fn push_summary(&mut self, NodeSummary { values, impurity, rows, weight }: NodeSummary) -> usize {
        self.statistics.values.extend(values);
        self.statistics.impurity.push(impurity);
        self.statistics.rows.push(rows);
        if let Some(weight) = weight {
            self.statistics.weight.get_or_insert_default().push(weight);
        }
        self.nodes.push(ArenaNode::leaf());
        self.nodes.len() - 1
    }

    /// Appends a leaf and returns its number.
    pub fn push<C: Criterion>(&mut self, criterion: &C, node: &C::NodeStats) -> usize {
        criterion.write_value(node, &mut self.statistics.values);
        self.statistics.impurity.push(criterion.impurity(node));
        self.statistics.rows.push(criterion.distinct_rows(node) as u32);
        if criterion.stores_weights() {
            self.statistics.weight.get_or_insert_default().push(criterion.weight(node));
        }
        self.nodes.push(ArenaNode::leaf());
        self.nodes.len() - 1
    }

    /// Appends a tiny node of this many rows, without copies, as a leaf and returns its number.
    pub fn push_tiny<C: Criterion>(
        &mut self,
        criterion: &C,
        kernel: &C::TinyKernel,
        [rows, distinct_rows]: [usize; 2],
        summary: TinySummary,
    ) -> usize {
        let impurity = kernel.write_summary(criterion, rows, summary, &mut self.statistics.values);
        self.statistics.impurity.push(impurity);
        self.statistics.rows.push(distinct_rows as u32);
        if criterion.stores_weights() {
            self.statistics.weight.get_or_insert_default().push(summary.weight);
        }
        self.nodes.push(ArenaNode::leaf());
        self.nodes.len() - 1
    }

    /// Turns a leaf at this depth of the tree into an inner node.
    pub fn split(&mut self, id: usize, depth: u32, test: Test) {
        self.nodes[id] = ArenaNode::inner(test);
        self.depth = self.depth.max(depth + 1);
    }

    /// Sets the right child of an inner node.
    pub fn set_right(&mut self, id: usize, right: usize) {
        let test = self.nodes[id].test().expect("only inner nodes have children");
        self.nodes[id] = ArenaNode::inner(Test { right: right as u32, ..test });
    }

    pub fn set_impurity(&mut self, id: usize, impurity: f64) {
        self.statistics.impurity[id] = impurity;
    }

    /// The values that a node predicts.
    pub fn value_mut(&mut self, id: usize, n_values: usize) -> &mut [f64] {
        &mut self.statistics.values[id * n_values..][..n_values]
    }

    /// Adds `shift` to the places of the nodes' category sets.
    pub fn shift_sets(&mut self, shift: u32) {
        if shift > 0 {
            self.nodes.iter_mut().for_each(|node| *node = node.with_set_shifted(shift));
        }
    }

    /// An empty piece with capacity for this many nodes.
    pub fn with_capacity(nodes: usize, n_values: usize) -> Self {
        let statistics = Statistics {
            values: Vec::with_capacity(nodes * n_values),
            impurity: Vec::with_capacity(nodes),
            rows: Vec::with_capacity(nodes),
            weight: None,
        };
        Self { nodes: Vec::with_capacity(nodes), statistics, depth: 0 }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Converts the statistics to the user's units and frees unused capacity.
    pub fn finish(&mut self, units: Units) {
        self.nodes.shrink_to_fit();
        let Statistics { values, impurity, rows, weight } = &mut self.statistics;
        values.shrink_to_fit();
        impurity.shrink_to_fit();
        rows.shrink_to_fit();
        for value in values {
            *value *= units.target;
        }
        for impurity in impurity {
            *impurity *= units.impurity;
        }
        for weight in weight.iter_mut().flatten() {
            *weight *= units.weight;
        }
    }

    /// The tree that consists of this piece alone.
    pub fn into_tree(self, n_features: usize, n_values: usize) -> Tree {
        Tree::grown(self.nodes, self.statistics, n_features, n_values, self.depth as usize)
    }
}

/// A range of a piece's nodes that is also a range of the tree's nodes.
pub(super) struct PlacedNodes<'a> {
    pub piece: &'a TreePiece,
    pub nodes: Range<usize>,
    /// What to add to the numbers of right children.
    pub shift: usize,
}

/// One of the arrays of a tree, empty at first. Each array is filled by one thread.
enum Array<'a> {
    Nodes(&'a mut Vec<ArenaNode>),
    Values(&'a mut Vec<f64>),
    Impurity(&'a mut Vec<f64>),
    Rows(&'a mut Vec<u32>),
    Weight(&'a mut Vec<f64>),
}

impl Array<'_> {
    fn extend(&mut self, PlacedNodes { piece, nodes, shift }: &PlacedNodes<'_>, n_values: usize) {
        let Statistics { values, impurity, rows, weight } = &piece.statistics;
        let range = nodes.clone();
        match self {
            Self::Nodes(all) => all.extend(piece.nodes[range].iter().map(|node| node.shifted(*shift as u32))),
            Self::Values(all) => all.extend_from_slice(&values[range.start * n_values..range.end * n_values]),
            Self::Impurity(all) => all.extend_from_slice(&impurity[range]),
            Self::Rows(all) => all.extend_from_slice(&rows[range]),
            Self::Weight(all) => all.extend_from_slice(weight.as_ref().map_or(&[], |weight| &weight[range])),
        }
    }
}

/// Joins the parts of a tree, which come in the order of their places.
pub(super) fn join(placed: &[PlacedNodes<'_>], n_features: usize, n_values: usize, team: &Team) -> Tree {
    let n = placed.iter().map(|part| part.nodes.len()).sum();
    let is_weighted = placed[0].piece.statistics.weight.is_some();
    let mut nodes = Vec::with_capacity(n);
    let mut statistics = Statistics {
        values: Vec::with_capacity(n * n_values),
        impurity: Vec::with_capacity(n),
        rows: Vec::with_capacity(n),
        weight: is_weighted.then(|| Vec::with_capacity(n)),
    };
    let Statistics { values, impurity, rows, weight } = &mut statistics;
    // Large arrays first, so that no thread waits long for the last one.
    let mut arrays = vec![Array::Nodes(&mut nodes), Array::Values(values), Array::Impurity(impurity)];
    arrays.extend(weight.as_mut().map(Array::Weight));
    arrays.push(Array::Rows(rows));
    team.each(&mut arrays, &mut vec![(); team.threads()], |(), array| {
        for part in placed {
            array.extend(part, n_values);
        }
    });
    drop(arrays);
    let depth = placed.iter().map(|part| part.piece.depth).max().unwrap_or(0);
    Tree::grown(nodes, statistics, n_features, n_values, depth as usize)
}
