//! Predictions: the mean over the trees, and the leaves of each tree.
//!
//! ```text
//! for each chunk of rows, in parallel       `predict/chunks.rs`
//!     for each tree                         its nodes stay in cache while the chunk walks it
//!         for each block of the chunk       `predict/walk.rs`
//!             add the values of the leaves
//!     divide by the number of trees
//! ```
//!
//! Each tree is read from memory once per chunk, and the chunk's rows once per tree. Rows are read
//! in order, ahead of their use, so that large chunks pay if the trees don't fit in the cache.
//!
//! The values of a row are summed in the order of the trees, so the result is the same for every
//! number of threads.

use std::mem::MaybeUninit;

use super::Forest;
use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::predict::{BLOCK, Chunks, filled, write_all};
use crate::threads::Team;

/// The cells of a chunk take about as many bytes as the nodes and values of a tree, within these
/// limits: they stay in a core's own cache beside small trees, and amortise the reading of large
/// trees.
const LEAST_CHUNK_BYTES: usize = 1 << 17;
const MOST_CHUNK_BYTES: usize = 1 << 22;
/// What is collected of a chunk takes at most this many bytes per thread, unless a row takes more.
const MOST_COLLECTED_BYTES: usize = 1 << 24;
/// Rows of a chunk, at most.
const MOST_CHUNK_ROWS: usize = 1 << 16;
/// Chunks per thread, at least: enough for all threads to end at about the same time.
const CHUNKS_PER_THREAD: usize = 4;
/// What a walk reads per node: the compact node and, for half of the nodes, a value.
const NODE_BYTES: usize = 16;

/// What a prediction makes of the leaves of its rows, one chunk of rows at a time.
pub(super) trait Collect<O>: Sync {
    /// What is known of the rows of a chunk.
    type Collected: Default + Send;

    /// Size of what is collected, per row.
    fn bytes_per_row(&self) -> usize;
    /// Begins a chunk of this many rows.
    fn begin(&self, collected: &mut Self::Collected, n_rows: usize);
    /// Takes the leaves that a block of rows has reached in a tree; `row` is the block's first row
    /// within the chunk. The trees come in their order, and the blocks of each in theirs.
    fn visit(&self, collected: &mut Self::Collected, tree: usize, row: usize, leaves: &[u32]);
    /// Writes the results of the chunk, whose first row is `first`, after all trees.
    fn write(&self, collected: &mut Self::Collected, first: usize, out: &mut [MaybeUninit<O>]);
}

/// Collects `width` numbers per row.
struct Numbers<T, V, W> {
    width: usize,
    /// What each number is at first.
    zero: T,
    /// Adds a tree and the leaves of some rows to these rows' numbers.
    visit: V,
    /// Writes the results of some rows, from their numbers.
    write: W,
}

impl<T, O, V, W> Collect<O> for Numbers<T, V, W>
where
    T: Copy + Send + Sync,
    V: Fn(usize, &mut [T], &[u32]) + Sync,
    W: Fn(&mut [MaybeUninit<O>], &[T]) + Sync,
{
    type Collected = Vec<T>;

    fn bytes_per_row(&self) -> usize {
        self.width * size_of::<T>()
    }

    fn begin(&self, numbers: &mut Vec<T>, n_rows: usize) {
        numbers.clear();
        numbers.resize(n_rows * self.width, self.zero);
    }

    fn visit(&self, numbers: &mut Vec<T>, tree: usize, row: usize, leaves: &[u32]) {
        (self.visit)(tree, &mut numbers[row * self.width..][..leaves.len() * self.width], leaves);
    }

    fn write(&self, numbers: &mut Vec<T>, _first: usize, out: &mut [MaybeUninit<O>]) {
        (self.write)(out, numbers);
    }
}

impl Forest {
    /// The mean of the trees' values for each row, row after row; `n_jobs` as in
    /// [`Params`](crate::Params).
    ///
    /// # Errors
    /// If `x` has another number of columns than the forest was fitted on.
    pub fn predict<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<f64>> {
        filled(x.n_rows() * self.n_values(), |out| self.predict_into(out, x, n_jobs, || true))
    }

    /// Writes the mean of the trees' values for each row: every place of `out`, unless it fails.
    pub(crate) fn predict_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<f64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        let n_trees = self.n_trees() as f64;
        let write = |out: &mut [MaybeUninit<f64>], sums: &[f64]| {
            for (place, sum) in out.iter_mut().zip(sums) {
                place.write(sum / n_trees);
            }
        };
        self.write_rows(out, x, n_jobs, go_on, &self.sums(write))
    }

    /// The index of the largest mean value of each row, the first of equal ones: the code of the
    /// most probable class.
    ///
    /// # Errors
    /// If `x` has another number of columns than the forest was fitted on.
    pub fn predict_class<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<i64>> {
        filled(x.n_rows(), |out| self.predict_class_into(out, x, n_jobs, || true))
    }

    /// Writes the code of each row's most probable class: every place of `out`, unless it fails.
    pub(crate) fn predict_class_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<i64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        let n_values = self.n_values();
        let write = |out: &mut [MaybeUninit<i64>], sums: &[f64]| {
            for (place, sums) in out.iter_mut().zip(sums.chunks_exact(n_values)) {
                let largest = |best, code| if sums[code] > sums[best] { code } else { best };
                place.write((1..n_values).fold(0, largest) as i64);
            }
        };
        self.write_rows(out, x, n_jobs, go_on, &self.sums(write))
    }

    /// The median of the trees' values for each row, row after row. With an even number of trees,
    /// it is the mean of the middle two.
    ///
    /// # Errors
    /// If `x` has another number of columns than the forest was fitted on.
    pub fn predict_median<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<f64>> {
        filled(x.n_rows() * self.n_values(), |out| self.predict_median_into(out, x, n_jobs, || true))
    }

    /// Writes the median of the trees' values for each row: every place of `out`, unless it fails.
    pub(crate) fn predict_median_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<f64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        let (n_values, n_trees) = (self.n_values(), self.n_trees());
        let visit = |tree: usize, rows: &mut [f64], leaves: &[u32]| {
            for (row, &leaf) in rows.chunks_exact_mut(n_values * n_trees).zip(leaves) {
                for (values, &value) in row.chunks_exact_mut(n_trees).zip(self.trees[tree].value(leaf as usize)) {
                    values[tree] = value;
                }
            }
        };
        let write = |out: &mut [MaybeUninit<f64>], rows: &[f64]| {
            let mut values = Vec::with_capacity(n_trees);
            for (place, of_trees) in out.iter_mut().zip(rows.chunks_exact(n_trees)) {
                values.clear();
                values.extend_from_slice(of_trees);
                place.write(median(&mut values));
            }
        };
        self.write_rows(out, x, n_jobs, go_on, &Numbers { width: n_values * n_trees, zero: 0.0, visit, write })
    }

    /// The node id of each row's leaf in each tree, row after row.
    ///
    /// # Errors
    /// If `x` has another number of columns than the forest was fitted on.
    pub fn apply<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<i64>> {
        filled(x.n_rows() * self.n_trees(), |out| self.apply_into(out, x, n_jobs, || true))
    }

    /// Writes the node ids of each row's leaves: every place of `out`, unless it fails.
    pub(crate) fn apply_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<i64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        let width = self.n_trees();
        let visit = |tree: usize, rows: &mut [i64], leaves: &[u32]| {
            for (row, &leaf) in rows.chunks_exact_mut(width).zip(leaves) {
                row[tree] = leaf.into();
            }
        };
        self.write_rows(out, x, n_jobs, go_on, &Numbers { width, zero: 0, visit, write: write_all })
    }

    /// Collects the sum of the trees' values for each row.
    fn sums<O, W: Fn(&mut [MaybeUninit<O>], &[f64]) + Sync>(&self, write: W) -> impl Collect<O> {
        let width = self.n_values();
        let visit = move |tree: usize, rows: &mut [f64], leaves: &[u32]| {
            let tree = &self.trees[tree];
            if width == 1 {
                // The common case, without slices of length 1.
                let values = &tree.statistics.values;
                rows.iter_mut().zip(leaves).for_each(|(sum, &leaf)| *sum += values[leaf as usize]);
                return;
            }
            for (sums, &leaf) in rows.chunks_exact_mut(width).zip(leaves) {
                sums.iter_mut().zip(tree.value(leaf as usize)).for_each(|(sum, value)| *sum += value);
            }
        };
        Numbers { width, zero: 0.0, visit, write }
    }

    /// Sends all rows down all trees and writes what `collect` makes of their leaves: every place
    /// of `out`, unless it fails.
    pub(super) fn write_rows<X: Cell, O: Send, C: Collect<O>>(
        &self,
        out: &mut [MaybeUninit<O>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
        collect: &C,
    ) -> Result<()> {
        self.check_width(x.n_columns())?;
        let n_rows = x.n_rows();
        let team = &Team::new(n_jobs, n_rows, n_rows.saturating_mul(16 * self.n_trees()))?;
        let share = n_rows.div_ceil(team.threads() * CHUNKS_PER_THREAD);
        let chunk_rows = if share <= BLOCK {
            BLOCK
        } else {
            let most = self.chunk_rows(x.n_columns() * size_of::<X>(), collect.bytes_per_row());
            share.next_multiple_of(BLOCK).min(most)
        };
        let width = out.len() / n_rows;
        let chunks = Chunks { team, n_rows, chunk_rows };
        let trees: &Vec<_> = &self.trees.iter().map(|tree| &**tree).collect();
        chunks.write(
            out,
            go_on,
            || self.layouts.walks(trees, x, team),
            |walks, collected: &mut C::Collected, first, out| {
                let n_rows = out.len() / width;
                collect.begin(collected, n_rows);
                for tree in 0..self.n_trees() {
                    let mut row = 0;
                    walks.of_tree(tree).blocks(first..first + n_rows, team, |leaves| {
                        collect.visit(collected, tree, row, leaves);
                        row += leaves.len();
                    });
                }
                if !team.cancelled() {
                    collect.write(collected, first, out);
                }
            },
        )
    }

    /// How many rows may visit a tree before they visit the next one, if this many bytes of cells
    /// are read and this many bytes collected per row.
    fn chunk_rows(&self, cell_bytes: usize, collected_bytes: usize) -> usize {
        let n_nodes: usize = self.trees.iter().map(|tree| tree.node_count()).sum();
        let bytes = (n_nodes / self.n_trees() * NODE_BYTES).clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
        let rows = (bytes / cell_bytes).min(MOST_COLLECTED_BYTES / collected_bytes);
        rows.clamp(1, MOST_CHUNK_ROWS).next_multiple_of(BLOCK)
    }

    pub(super) fn check_width(&self, n_columns: usize) -> Result<()> {
        if n_columns == self.n_features() {
            return Ok(());
        }
        let problem = format!("has {n_columns} columns, but the forest was fitted on {}", self.n_features());
        Err(Error::argument("X", problem))
    }
}

/// The median of some numbers, whose order changes.
fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    let (below, &mut high, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return high;
    }
    let low = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * low + 0.5 * high
}
