//! A piece of a tree while it grows, and how pieces become a tree.

use std::ops::Range;

use super::Units;
use crate::criterion::Criterion;
use crate::threads::Team;
use crate::tree::{Node, Statistics, Test, Tree};

/// Nodes in depth-first order with their statistics. Every node begins as a leaf.
#[derive(Default)]
pub(super) struct Sprout {
    nodes: Vec<Node>,
    statistics: Statistics,
    /// Depth, in the whole tree, of the deepest child of an inner node.
    depth: u32,
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
    pub fn push_summary<C: Criterion>(&mut self, criterion: &C, rows: usize, center: f64, loss: f64) -> usize {
        let impurity = criterion.write_summary(rows, center, loss, &mut self.statistics.values);
        self.statistics.impurity.push(impurity);
        self.statistics.rows.push(rows as u32);
        self.nodes.push(Node::leaf());
        self.nodes.len() - 1
    }

    /// Turns a leaf at this depth of the tree into an inner node.
    pub fn split(&mut self, id: usize, depth: u32, test: Test) {
        self.nodes[id] = Node::inner(test);
        self.depth = self.depth.max(depth + 1);
    }

    /// Names the right child of an inner node.
    pub fn set_right(&mut self, id: usize, right: usize) {
        let test = self.nodes[id].test().expect("only inner nodes have children");
        self.nodes[id] = Node::inner(Test { right: right as u32, ..test });
    }

    /// What a node predicts.
    pub fn value_mut(&mut self, id: usize, n_values: usize) -> &mut [f64] {
        &mut self.statistics.values[id * n_values..][..n_values]
    }

    /// Adds to the places of the sets of categories.
    pub fn shift_sets(&mut self, shift: u32) {
        if shift > 0 {
            self.nodes.iter_mut().for_each(|node| *node = node.with_set_shifted(shift));
        }
    }

    /// With room for this many nodes.
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

    /// Completes a piece: statistics in the user's units, no room to spare.
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

    /// The tree that this sprout is by itself.
    pub fn into_tree(self, n_features: usize, n_values: usize) -> Tree {
        Tree::grown(self.nodes, self.statistics, n_features, n_values, self.depth as usize)
    }
}

/// Some nodes of a sprout that stand side by side in the tree too.
pub(super) struct Piece<'a> {
    pub sprout: &'a Sprout,
    pub nodes: Range<usize>,
    /// What is to be added to the numbers of right children.
    pub shift: usize,
}

impl Piece<'_> {
    fn nodes(&self) -> impl Iterator<Item = Node> {
        self.sprout.nodes[self.nodes.clone()].iter().map(|node| node.shifted(self.shift as u32))
    }
}

/// Room for the statistics of a tree, or of a piece of it.
struct Plot<'a> {
    values: &'a mut [f64],
    impurity: &'a mut [f64],
    rows: &'a mut [u32],
    weight: Option<&'a mut [f64]>,
}

impl Plot<'_> {
    /// Takes the room for the first `n` nodes away from the rest.
    fn take(&mut self, n: usize, n_values: usize) -> Self {
        let too_small = "there is room for every piece";
        Plot {
            values: self.values.split_off_mut(..n * n_values).expect(too_small),
            impurity: self.impurity.split_off_mut(..n).expect(too_small),
            rows: self.rows.split_off_mut(..n).expect(too_small),
            weight: self.weight.as_mut().map(|weight| weight.split_off_mut(..n).expect(too_small)),
        }
    }

    fn fill(&mut self, Piece { sprout, nodes, .. }: &Piece<'_>) {
        let n_values = self.values.len() / self.rows.len();
        let Statistics { values, impurity, rows, weight } = &sprout.statistics;
        self.values.copy_from_slice(&values[nodes.start * n_values..nodes.end * n_values]);
        self.impurity.copy_from_slice(&impurity[nodes.clone()]);
        self.rows.copy_from_slice(&rows[nodes.clone()]);
        if let (Some(to), Some(from)) = (&mut self.weight, weight) {
            to.copy_from_slice(&from[nodes.clone()]);
        }
    }
}

/// A part of joining that a thread does by itself.
enum Job<'a> {
    /// All the nodes, less than half of the bytes. They are appended: memory that need not be zero is to be had in no other way.
    Nodes(&'a mut Vec<Node>),
    Statistics(&'a Piece<'a>, Plot<'a>),
}

/// Puts the pieces of a tree together, one after the other.
pub(super) fn join(pieces: &[Piece<'_>], n_features: usize, n_values: usize, team: &Team) -> Tree {
    let n = pieces.iter().map(|piece| piece.nodes.len()).sum();
    let is_weighted = pieces[0].sprout.statistics.weight.is_some();
    let mut nodes = Vec::with_capacity(n);
    let mut statistics = Statistics {
        values: vec![0.0; n * n_values],
        impurity: vec![0.0; n],
        rows: vec![0; n],
        weight: is_weighted.then(|| vec![0.0; n]),
    };
    let Statistics { values, impurity, rows, weight } = &mut statistics;
    let mut rest = Plot { values, impurity, rows, weight: weight.as_deref_mut() };
    let mut jobs = vec![Job::Nodes(&mut nodes)];
    jobs.extend(pieces.iter().map(|piece| Job::Statistics(piece, rest.take(piece.nodes.len(), n_values))));
    team.each(&mut jobs, &mut vec![(); team.threads()], |(), job| match job {
        Job::Nodes(nodes) => pieces.iter().for_each(|piece| nodes.extend(piece.nodes())),
        Job::Statistics(piece, plot) => plot.fill(piece),
    });
    drop(jobs);
    let depth = pieces.iter().map(|piece| piece.sprout.depth).max().unwrap_or(0);
    Tree::grown(nodes, statistics, n_features, n_values, depth as usize)
}
