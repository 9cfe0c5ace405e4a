//! Predictions for each row by the trees that did not see it.
//!
//! A tree's left-out rows walk it as soon as it is grown. Sums are made in the order of the trees,
//! whatever thread is ready first, so that they don't depend on the number of threads; results of
//! later trees wait, at most one per thread. Cost: one walk per left-out row, and a lock per tree.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::data::{Cell, PickedCells, Source};
use crate::tree::Tree;

/// Sums of what trees predict for the rows that they did not see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutOfBag {
    /// The values of each row, summed over the trees that did not see it.
    pub sums: Vec<f64>,
    /// Number of these trees for each row.
    pub n_trees: Vec<u32>,
}

/// The rows that a tree did not see, and its values for them.
#[derive(Default)]
pub(super) struct LeftOut {
    rows: Vec<u32>,
    /// Row after row.
    values: Vec<f64>,
}

impl LeftOut {
    /// Predicts the rows of `x` whose count is 0.
    pub fn new<X: Cell>(tree: &Tree, x: Source<'_, X>, counts: &[u32]) -> Self {
        let rows: Vec<u32> = (0..).zip(counts).filter(|&(_, &count)| count == 0).map(|(row, _)| row).collect();
        let mut values = Vec::with_capacity(rows.len() * tree.n_values());
        if !rows.is_empty() {
            let features: Vec<u32> = (0..tree.n_features() as u32).collect();
            let cells = PickedCells::by_rows(x, &rows, &features);
            let leaves = cells.with(|x| Ok(tree.leaves(x))).unwrap_or_default();
            for leaf in leaves {
                values.extend_from_slice(tree.value(leaf as usize));
            }
        }
        Self { rows, values }
    }
}

/// The sums while trees are grown.
pub(super) struct OutOfBagSums(Mutex<State>);

struct State {
    total: OutOfBag,
    /// The tree whose values are to be added next.
    next: usize,
    /// By tree: values that wait for those of earlier trees.
    waiting: BTreeMap<usize, LeftOut>,
}

impl OutOfBagSums {
    pub fn new(n_rows: usize) -> Self {
        let total = OutOfBag { sums: Vec::new(), n_trees: vec![0; n_rows] };
        Self(Mutex::new(State { total, next: 0, waiting: BTreeMap::new() }))
    }

    /// Adds the values of one tree, which has this many per row.
    pub fn add(&self, tree: usize, left_out: LeftOut, n_values: usize) {
        let state = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.insert(tree, left_out);
        state.total.sums.resize(state.total.n_trees.len() * n_values, 0.0);
        while let Some(LeftOut { rows, values }) = state.waiting.remove(&state.next) {
            for (&row, values) in rows.iter().zip(values.chunks_exact(n_values)) {
                let row = row as usize;
                state.total.n_trees[row] += 1;
                for (sum, value) in state.total.sums[row * n_values..].iter_mut().zip(values) {
                    *sum += value;
                }
            }
            state.next += 1;
        }
    }

    /// A copy of the sums over the first trees.
    pub fn so_far(&self) -> OutOfBag {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total.clone()
    }

    pub fn finish(self) -> OutOfBag {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).total
    }
}
