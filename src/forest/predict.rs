//! Predictions: the mean over the trees, and the leaves of each tree.
//!
//! ```text
//! for each chunk of rows, in parallel       its cells stay in the second-level cache
//!     for each tree                         its nodes stay in the cache while the chunk walks it
//!         for each block of the chunk       see `predict/walk.rs`
//!             add the values of the leaves
//!     divide by the number of trees
//! ```
//!
//! The values of a row are summed in the order of the trees, so the result is the same for every
//! number of threads.

use std::mem::MaybeUninit;

use super::Forest;
use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::predict::{BLOCK, Walk, filled, write_all};
use crate::threads::Team;
use crate::tree::Tree;

/// Cells of a chunk.
const CHUNK_CELLS: usize = 1 << 15;
/// Rows of a chunk, at most.
const CHUNK_ROWS: usize = 64 * BLOCK;

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
        self.write_rows(out, x, n_jobs, go_on, self.n_values(), add_values, |_, out, sums| {
            for (place, sum) in out.iter_mut().zip(sums) {
                place.write(sum / n_trees);
            }
        })
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
        self.write_rows(out, x, n_jobs, go_on, n_values, add_values, |_, out, sums| {
            for (place, sums) in out.iter_mut().zip(sums.chunks_exact(n_values)) {
                let largest = |best, code| if sums[code] > sums[best] { code } else { best };
                place.write((1..n_values).fold(0, largest) as i64);
            }
        })
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
        let keep = |(number, tree): (usize, &Tree), row: &mut [f64], leaf: usize| {
            for (values, &value) in row.chunks_exact_mut(n_trees).zip(tree.value(leaf)) {
                values[number] = value;
            }
        };
        self.write_rows(out, x, n_jobs, go_on, n_values * n_trees, keep, |_, out, rows| {
            let mut values = Vec::with_capacity(n_trees);
            for (place, of_trees) in out.iter_mut().zip(rows.chunks_exact(n_trees)) {
                values.clear();
                values.extend_from_slice(of_trees);
                place.write(median(&mut values));
            }
        })
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
        let write = |(number, _): (usize, &Tree), row: &mut [i64], leaf: usize| row[number] = leaf as i64;
        self.write_rows(out, x, n_jobs, go_on, self.n_trees(), write, |_, out, leaves| write_all(out, leaves))
    }

    /// Calls `visit` for each tree and row with the `width` numbers of the row, which are 0 at
    /// first, and the row's leaf; then `write` with the first of some rows, their places and their
    /// numbers.
    #[allow(clippy::too_many_arguments)] // All but the last three are the prediction's.
    pub(super) fn write_rows<X: Cell, T: Copy + Default + Send, O: Send>(
        &self,
        out: &mut [MaybeUninit<O>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        mut go_on: impl FnMut() -> bool,
        width: usize,
        visit: impl Fn((usize, &Tree), &mut [T], usize) + Sync,
        write: impl Fn(usize, &mut [MaybeUninit<O>], &[T]) + Sync,
    ) -> Result<()> {
        self.check_width(x.n_columns())?;
        let per_row = out.len() / x.n_rows();
        assert_eq!(out.len(), x.n_rows() * per_row);
        let team = Team::new(n_jobs, x.n_rows(), x.n_rows().saturating_mul(16 * self.n_trees()))?;
        let share = x.n_rows().div_ceil(team.threads()).next_multiple_of(BLOCK);
        let chunk_rows = (CHUNK_CELLS / (x.n_columns() + width)).next_multiple_of(BLOCK).min(CHUNK_ROWS).min(share);
        let mut chunks: Vec<_> = out.chunks_mut(chunk_rows * per_row).enumerate().collect();
        let mut buffers: Vec<Vec<T>> = vec![Vec::new(); team.threads()];
        let work = || {
            let walks = self.walks(x, &team);
            team.each(&mut chunks, &mut buffers, |numbers, (chunk, out)| {
                let first = *chunk * chunk_rows;
                numbers.clear();
                numbers.resize(out.len() / per_row * width, T::default());
                for (tree, walk) in self.trees.iter().map(|tree| &**tree).enumerate().zip(&walks) {
                    if team.cancelled() {
                        return;
                    }
                    for (block, rows) in numbers.chunks_mut(BLOCK * width).enumerate() {
                        let leaves = &mut [0; BLOCK][..rows.len() / width];
                        walk.leaves(first + block * BLOCK, leaves);
                        for (&leaf, row) in leaves.iter().zip(rows.chunks_exact_mut(width)) {
                            visit(tree, row, leaf as usize);
                        }
                    }
                }
                write(first, out, numbers);
            });
        };
        team.supervise(work, |_| go_on());
        if team.cancelled() { Err(Error::Interrupted) } else { Ok(()) }
    }

    pub(super) fn check_width(&self, n_columns: usize) -> Result<()> {
        if n_columns == self.n_features() {
            return Ok(());
        }
        let problem = format!("has {n_columns} columns, but the forest was fitted on {}", self.n_features());
        Err(Error::argument("X", problem))
    }

    /// By tree: the nodes that rows walk down. Compact copies are made in parallel.
    fn walks<'a, X: Cell>(&'a self, x: &'a Matrix<'a, X>, team: &Team) -> Vec<Walk<'a, X>> {
        let mut walks: Vec<_> = self.trees.iter().map(|tree| (tree, None)).collect();
        team.each(&mut walks, &mut vec![(); team.threads()], |(), (tree, walk)| *walk = Some(Walk::new(tree, x)));
        walks.into_iter().filter_map(|(_, walk)| walk).collect()
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

fn add_values((_, tree): (usize, &Tree), sums: &mut [f64], leaf: usize) {
    for (sum, value) in sums.iter_mut().zip(tree.value(leaf)) {
        *sum += value;
    }
}
