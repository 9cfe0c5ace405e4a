//! A piece of a tree while it grows.

use super::Units;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::tree::{Node, Statistics, Test, Tree};

/// Nodes in depth-first order with their statistics. Every node begins as a leaf.
#[derive(Default)]
pub(super) struct Sprout {
    nodes: Vec<Node>,
    statistics: Statistics,
}

impl Sprout {
    /// Appends a leaf and returns its number.
    pub fn push<C: Criterion>(&mut self, criterion: &C, node: &C::Node) -> usize {
        criterion.write_value(node, &mut self.statistics.values);
        self.statistics.impurity.push(criterion.impurity(node));
        self.statistics.rows.push(criterion.rows(node) as u32);
        if C::WEIGHTED {
            self.statistics.weight.get_or_insert_default().push(criterion.weight(node));
        }
        self.nodes.push(Node::leaf());
        self.nodes.len() - 1
    }

    /// Appends a leaf of unweighted rows and returns its number.
    pub fn push_summary<C: Criterion>(&mut self, criterion: &C, rows: usize, mean: f64, variance: f64) -> usize {
        let impurity = criterion.write_summary(rows, mean, variance, &mut self.statistics.values);
        self.statistics.impurity.push(impurity);
        self.statistics.rows.push(rows as u32);
        self.nodes.push(Node::leaf());
        self.nodes.len() - 1
    }

    /// Turns a leaf into an inner node.
    pub fn split(&mut self, id: usize, test: Test) {
        self.nodes[id] = Node::inner(test);
    }

    /// Names the right child of an inner node.
    pub fn set_right(&mut self, id: usize, right: usize) {
        let test = self.nodes[id].test().expect("only inner nodes have children");
        self.nodes[id] = Node::inner(Test { right: right as u32, ..test });
    }

    /// Appends a copy of one node of another sprout, without its children, and returns its number.
    pub fn push_from(&mut self, other: &Self, id: usize) -> usize {
        self.append_range(other, id..id + 1);
        self.nodes.len() - 1
    }

    /// Appends a whole sprout and returns the number of its root.
    pub fn append(&mut self, other: &Self) -> usize {
        let root = self.nodes.len();
        self.append_range(other, 0..other.nodes.len());
        for node in &mut self.nodes[root..] {
            if let Some(test) = node.test() {
                *node = Node::inner(Test { right: test.right + root as u32, ..test });
            }
        }
        root
    }

    fn append_range(&mut self, other: &Self, range: std::ops::Range<usize>) {
        let n_values = other.statistics.values.len() / other.nodes.len();
        self.nodes.extend_from_slice(&other.nodes[range.clone()]);
        let (to, from) = (&mut self.statistics, &other.statistics);
        to.values.extend_from_slice(&from.values[range.start * n_values..range.end * n_values]);
        to.impurity.extend_from_slice(&from.impurity[range.clone()]);
        to.rows.extend_from_slice(&from.rows[range.clone()]);
        if let Some(weight) = &from.weight {
            to.weight.get_or_insert_default().extend_from_slice(&weight[range]);
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn with_capacity(nodes: usize, n_values: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(nodes),
            statistics: Statistics {
                values: Vec::with_capacity(nodes * n_values),
                impurity: Vec::with_capacity(nodes),
                rows: Vec::with_capacity(nodes),
                weight: None,
            },
        }
    }

    /// The finished tree, in the user's units.
    pub fn into_tree(mut self, n_features: usize, n_values: usize, units: Units) -> Result<Tree> {
        if units.target != 1.0 {
            self.statistics.values.iter_mut().for_each(|value| *value *= units.target);
            self.statistics.impurity.iter_mut().for_each(|impurity| *impurity *= units.impurity);
        }
        self.statistics.weight.iter_mut().flatten().for_each(|weight| *weight *= units.weight);
        Tree::new(self.nodes, self.statistics, n_features, n_values)
    }
}
