//! The walk down trees that are very deep, such as the chains that alternating targets make.
//!
//! A **run** is a path of nodes that test the same feature. A row leaves it at the first node that
//! sends it off the path:
//!
//! ```text
//! node          a          b          c          d
//! test        x <= 9     x <= 2     x <= 7     x <= 4
//! path         left       right      left       right    → e
//! leaves if   x > 9      x <= 2     x > 7      x <= 4
//! stays if    x <= 9     x > 2      x <= 7     x > 4
//! lowest       9          9          7          7        the lowest threshold that was passed left
//! highest     none        2          2          4        the highest that was passed right
//! ```
//!
//! So a row is still on the path behind a node if `highest < x <= lowest` there. The two only move
//! towards each other, so the place where a row leaves is found by a binary search. A chain of one
//! feature is one run: a sorted list, whatever the order of its thresholds.
//!
//! Each run goes on to the deeper child. Cost of a row: a binary search per run on its way; of the
//! table: two passes over the nodes, 4 bytes per node and 24 per node of a run.
//! `predict/tests.rs::runs_agree_with_the_arena` compares the leaves.

use crate::tree::Tree;

/// Trees of fewer levels are walked node by node.
const LEAST_DEPTH: usize = 256;
/// Shorter runs are walked node by node.
const LEAST_RUN: usize = 8;
/// The table is built once rows would have taken this many steps per node of the tree. Most rows
/// of a deep tree leave above its last level.
const STEPS_PER_NODE: usize = 16;
/// Of a node that begins no run.
const NONE: u32 = u32::MAX;

/// The long runs of a tree without categories.
pub(crate) struct Runs {
    /// By node: the run that begins there.
    run_at: Vec<u32>,
    all: Vec<Run>,
    /// Node after node, run after run.
    steps: Vec<Step>,
}

/// A run: its steps, and where rows go that stay on the path.
struct Run {
    feature: usize,
    steps: std::ops::Range<usize>,
    /// The first node after the run.
    end: u32,
    /// How many steps a missing cell stays on the path.
    missing: usize,
}

/// A node of a run.
struct Step {
    /// The highest threshold that was passed on the right so far, NaN if there is none.
    highest: f64,
    /// The lowest that was passed on the left, ∞ if there is none.
    lowest: f64,
    /// The child off the path.
    off: u32,
}

impl Runs {
    /// Whether a table is worth its cost for a tree after this many rows.
    pub fn pay(tree: &Tree, n_rows: usize) -> bool {
        tree.max_depth() >= LEAST_DEPTH
            && tree.categories.is_none()
            && n_rows.saturating_mul(tree.max_depth()) >= STEPS_PER_NODE * tree.node_count()
    }

    /// `None` if there is not enough memory.
    pub fn new(tree: &Tree) -> Option<Self> {
        let n_nodes = tree.node_count();
        let heights = heights(tree)?;
        let mut table = Self { run_at: reserved(n_nodes)?, all: Vec::new(), steps: reserved(n_nodes / 2)? };
        table.run_at.resize(n_nodes, NONE);
        // Parents come before their children: a node that is not on an earlier run begins one.
        let mut is_on_run: Vec<bool> = reserved(n_nodes)?;
        is_on_run.resize(n_nodes, false);
        for head in 0..n_nodes {
            if !is_on_run[head] {
                table.add_run(tree, &heights, head, |node| is_on_run[node] = true);
            }
        }
        Some(table)
    }

    /// Adds the run that begins here, if it is long enough.
    fn add_run(&mut self, tree: &Tree, heights: &[u32], head: usize, mut visit: impl FnMut(usize)) {
        let Some(feature) = tree.nodes[head].test().map(|test| test.feature) else { return };
        let first = self.steps.len();
        let (mut node, mut highest, mut lowest) = (head, f64::NAN, f64::INFINITY);
        let mut missing = None;
        while let Some(test) = tree.nodes[node].test().filter(|test| test.feature == feature) {
            visit(node);
            let (left, right) = (node + 1, test.right as usize);
            let is_left = heights[left] >= heights[right];
            if is_left {
                lowest = lowest.min(test.threshold);
            } else {
                highest = highest.max(test.threshold);
            }
            if test.missing_left != is_left && missing.is_none() {
                missing = Some(self.steps.len() - first);
            }
            let off = if is_left { right } else { left };
            self.steps.push(Step { highest, lowest, off: off as u32 });
            node = if is_left { left } else { right };
        }
        let len = self.steps.len() - first;
        if len < LEAST_RUN {
            self.steps.truncate(first);
            return;
        }
        self.run_at[head] = self.all.len() as u32;
        let missing = missing.unwrap_or(len);
        self.all.push(Run { feature: feature as usize, steps: first..first + len, end: node as u32, missing });
    }

    /// The leaf of a row.
    pub fn leaf(&self, tree: &Tree, value: impl Fn(usize) -> f64) -> usize {
        let mut node = 0;
        loop {
            if let Some(run) = self.all.get(self.run_at[node] as usize) {
                node = self.end_of(run, value(run.feature));
            } else if let Some(test) = tree.nodes[node].test() {
                let left = test.goes_left(value(test.feature as usize), None);
                node = if left { node + 1 } else { test.right as usize };
            } else {
                return node;
            }
        }
    }

    /// The first node that a cell reaches behind a run.
    fn end_of(&self, run: &Run, cell: f64) -> usize {
        let steps = &self.steps[run.steps.clone()];
        let stays = |step: &Step| {
            let is_below = cell <= step.highest;
            cell <= step.lowest && !is_below
        };
        let n_stays = if cell.is_nan() { run.missing } else { steps.partition_point(stays) };
        steps.get(n_stays).map_or(run.end, |step| step.off) as usize
    }
}

/// By node: the number of levels below it.
fn heights(tree: &Tree) -> Option<Vec<u32>> {
    let mut heights: Vec<u32> = reserved(tree.node_count())?;
    heights.resize(tree.node_count(), 0);
    // Children come after their parents.
    for node in (0..tree.node_count()).rev() {
        if let Some(test) = tree.nodes[node].test() {
            heights[node] = 1 + heights[node + 1].max(heights[test.right as usize]);
        }
    }
    Some(heights)
}

/// An empty vector with room for `len` entries; `None` if there is not enough memory.
fn reserved<T>(len: usize) -> Option<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).ok()?;
    Some(vec)
}
