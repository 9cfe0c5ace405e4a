//! Prediction: each row walks from the root to its leaf.
//!
//! Rows walk in blocks down a compact copy of the tree (`layout.rs`, `walk.rs`), and the leaves of
//! a block go straight into the result. The copy is built once per tree or forest, after enough
//! rows were predicted to amortise it (`walks.rs`); it is neither compared nor stored with the
//! tree. Until then rows walk down the arena one by one. So do decision paths, sparse rows and all
//! rows of trees with categories. Threads take chunks of rows (`chunks.rs`), also those of forests.
//!
//! Cost: O(depth) per row. `README.md` of this folder says which walk runs when.

mod chunks;
mod layout;
mod runs;
#[cfg(test)]
mod tests;
mod walk;
mod walks;

use std::mem::MaybeUninit;

pub(crate) use self::chunks::Chunks;
pub(crate) use self::walk::BLOCK;
pub(crate) use self::walks::Layouts;
use crate::data::{Cell, Matrix, Source, Values};
use crate::error::{Error, Result};
use crate::memory::check_room;
use crate::threads::Team;
use crate::tree::Tree;

/// Least number of rows per piece of work.
const CHUNK_ROWS: usize = 16 * BLOCK;
/// Pieces of work per thread: enough for all threads to end at about the same time.
const CHUNKS_PER_THREAD: usize = 32;

impl Tree {
    /// The values of each row's leaf, row after row; `n_jobs` as in [`Params`](crate::Params).
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn predict<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<f64>> {
        filled(x.n_rows() * self.n_values(), |out| self.predict_into(out, x, n_jobs, || true))
    }

    /// Writes the values of each row's leaf: every place of `out`, unless it fails.
    pub(crate) fn predict_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<f64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        // The common case of one value has a copy loop of a known length.
        if self.n_values() == 1 {
            return self.write_leaves(out, x, n_jobs, go_on, |leaf| [self.statistics.values[leaf]]);
        }
        self.write_leaves(out, x, n_jobs, go_on, |leaf| self.value(leaf))
    }

    /// The index of the largest of each row's values, the first of equal ones: the code of the most
    /// probable class.
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
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
        self.write_leaves(out, x, n_jobs, go_on, |leaf| {
            let shares = self.value(leaf);
            [(1..shares.len()).fold(0, |best, code| if shares[code] > shares[best] { code } else { best }) as i64]
        })
    }

    /// The node id of each row's leaf.
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn apply<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<i64>> {
        self.apply_while(x, n_jobs, || true)
    }

    /// The same, interrupted once `go_on` returns false.
    pub(crate) fn apply_while<X: Cell>(
        &self,
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<Vec<i64>> {
        filled(x.n_rows(), |out| self.apply_into(out, x, n_jobs, go_on))
    }

    /// Writes the node id of each row's leaf: every place of `out`, unless it fails.
    pub(crate) fn apply_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<i64>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        self.write_leaves(out, x, n_jobs, go_on, |leaf| [leaf as i64])
    }

    /// The nodes on the path of each row, in ascending order: `nodes[starts[i]..starts[i + 1]]` for
    /// row `i`.
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn decision_path<X: Cell>(&self, x: &Matrix<'_, X>) -> Result<(Vec<i64>, Vec<i64>)> {
        self.decision_path_while(x, || true)
    }

    /// The same, interrupted once `go_on` returns false.
    pub(crate) fn decision_path_while<X: Cell>(
        &self,
        x: &Matrix<'_, X>,
        go_on: impl FnMut() -> bool,
    ) -> Result<(Vec<i64>, Vec<i64>)> {
        self.check_columns(x)?;
        let (mut starts, mut nodes) = (vec![0], Vec::<i64>::new());
        let mut check = InterruptCheck::new(go_on);
        for row in 0..x.n_rows() {
            let room = nodes.len().saturating_add(self.max_depth() + 1).saturating_mul(size_of::<i64>());
            nodes.try_reserve(self.max_depth() + 1).map_err(|_| Error::Memory { bytes: room })?;
            self.walk(|feature| x.get(row, feature).to_f64(), |node| nodes.push(node as i64));
            check.count(nodes.len() - starts[row] as usize)?;
            starts.push(nodes.len() as i64);
        }
        Ok((starts, nodes))
    }

    /// The leaf of each row of X, found by the calling thread alone. Compact nodes are dropped
    /// afterwards.
    pub(crate) fn leaves<X: Cell>(&self, x: Source<'_, X>) -> Vec<u32> {
        let x = match x {
            Source::Dense(x) => x,
            Source::Sparse(x) => {
                let leaf = |row: usize| self.walk(|feature| x.value(row, feature), |_| ()) as u32;
                return (0..x.n_rows()).map(leaf).collect();
            }
        };
        let (own, trees, team) = (Layouts::default(), [self], Team::of_caller());
        let walks = own.walks(&trees, x, &team);
        let mut leaves = Vec::with_capacity(x.n_rows());
        walks.of_tree(0).blocks(0..x.n_rows(), &team, |block| leaves.extend_from_slice(block));
        leaves
    }

    /// Writes the entries of each row's leaf, row after row: every place of `out`, unless it fails.
    fn write_leaves<X: Cell, T: Copy + Send, E: AsRef<[T]>>(
        &self,
        out: &mut [MaybeUninit<T>],
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
        entries: impl Fn(usize) -> E + Sync,
    ) -> Result<()> {
        self.check_columns(x)?;
        let n_rows = x.n_rows();
        let team = &Team::new(n_jobs, n_rows, n_rows * typical_depth(self))?;
        let width = out.len() / n_rows;
        let chunk_rows = (n_rows / (team.threads() * CHUNKS_PER_THREAD)).max(CHUNK_ROWS);
        let (chunks, trees) = (Chunks { team, n_rows, chunk_rows }, [self]);
        chunks.write(
            out,
            go_on,
            || self.layouts.walks(&trees, x, team),
            |walks, (): &mut (), first, out| {
                let mut places = out.chunks_exact_mut(width);
                walks.of_tree(0).blocks(first..first + places.len(), team, |leaves| {
                    for (&leaf, out) in leaves.iter().zip(&mut places) {
                        write_all(out, entries(leaf as usize).as_ref());
                    }
                });
            },
        )
    }

    /// The node id of each row's leaf, for any storage of X, interrupted once `go_on` returns
    /// false.
    #[cfg(feature = "python")]
    pub(crate) fn apply_values_while(&self, x: &dyn Values, go_on: impl FnMut() -> bool) -> Result<Vec<i64>> {
        let mut check = InterruptCheck::new(go_on);
        let leaf = |row: usize| {
            let mut n_steps = 0;
            let leaf = self.walk(|feature| x.value(row, feature), |_| n_steps += 1);
            check.count(n_steps)?;
            Ok(leaf as i64)
        };
        (0..x.n_rows()).map(leaf).collect()
    }

    /// The node id of the leaf of each sparse row. The entries of row `i` are at
    /// `starts[i]..starts[i + 1]` of `columns` and `cells`; all other cells are 0.
    ///
    /// # Errors
    /// If the arrays don't fit together, or a column index is not below the number of features.
    pub fn apply_sparse<X: Cell>(&self, starts: &[i64], columns: &[i32], cells: &[X]) -> Result<Vec<i64>> {
        self.apply_sparse_while(starts, columns, cells, || true)
    }

    /// The same, interrupted once `go_on` returns false.
    pub(crate) fn apply_sparse_while<X: Cell>(
        &self,
        starts: &[i64],
        columns: &[i32],
        cells: &[X],
        go_on: impl FnMut() -> bool,
    ) -> Result<Vec<i64>> {
        let refuse = |problem: &str| Err(Error::argument("X", problem));
        let fits = starts.is_sorted() && starts.first() == Some(&0) && starts.last() == Some(&(cells.len() as i64));
        if !fits || columns.len() != cells.len() {
            return refuse("indptr, indices and data of the sparse matrix don't fit together");
        }
        if columns.iter().any(|&column| column < 0 || column as usize >= self.n_features()) {
            return refuse("a column index of the sparse matrix is out of range");
        }
        let mut row = vec![0.0; self.n_features()];
        let mut check = InterruptCheck::new(go_on);
        let leaf = |ends: &[i64]| {
            let entries = ends[0] as usize..ends[1] as usize;
            for (&column, cell) in columns[entries.clone()].iter().zip(&cells[entries.clone()]) {
                row[column as usize] = cell.to_f64();
            }
            let mut n_steps = entries.len();
            let leaf = self.walk(|feature| row[feature], |_| n_steps += 1);
            for &column in &columns[entries] {
                row[column as usize] = 0.0;
            }
            check.count(n_steps)?;
            Ok(leaf as i64)
        };
        starts.windows(2).map(leaf).collect()
    }

    /// Takes a row with these values to its leaf, and calls `visit` for each node on the path.
    /// Returns the leaf.
    pub(crate) fn walk(&self, value: impl Fn(usize) -> f64, mut visit: impl FnMut(usize)) -> usize {
        let categories = self.categories.as_deref();
        let mut id = 0;
        loop {
            visit(id);
            let Some(test) = self.nodes[id].test() else { return id };
            let left = test.goes_left(value(test.feature as usize), categories);
            id = if left { id + 1 } else { test.right as usize };
        }
    }

    fn check_columns<X: Cell>(&self, x: &Matrix<'_, X>) -> Result<()> {
        if x.n_columns() == self.n_features() {
            return Ok(());
        }
        let problem = format!("has {} columns, but the tree was fitted on {}", x.n_columns(), self.n_features());
        Err(Error::argument("X", problem))
    }
}

/// Calls `go_on` every `STEPS` steps of a walk in one thread.
struct InterruptCheck<F> {
    go_on: F,
    left: usize,
}

impl<F: FnMut() -> bool> InterruptCheck<F> {
    /// These take some tens of milliseconds.
    const STEPS: usize = 1 << 22;

    fn new(go_on: F) -> Self {
        Self { go_on, left: Self::STEPS }
    }

    fn count(&mut self, steps: usize) -> Result<()> {
        if let Some(left) = self.left.checked_sub(steps) {
            self.left = left;
            return Ok(());
        }
        self.left = Self::STEPS;
        if (self.go_on)() { Ok(()) } else { Err(Error::Interrupted) }
    }
}

/// A vector that `write` fills. Its memory is not zeroed first: one thread would write what all
/// threads are about to write.
pub(crate) fn filled<T>(len: usize, write: impl FnOnce(&mut [MaybeUninit<T>]) -> Result<()>) -> Result<Vec<T>> {
    check_room(len.saturating_mul(size_of::<T>()))?;
    let mut out = Vec::with_capacity(len);
    write(&mut out.spare_capacity_mut()[..len])?;
    // SAFETY: `write` has written every place or failed, as documented at its callers.
    unsafe { out.set_len(len) };
    Ok(out)
}

pub(crate) fn write_all<T: Copy>(places: &mut [MaybeUninit<T>], entries: &[T]) {
    assert_eq!(places.len(), entries.len());
    for (place, &entry) in places.iter_mut().zip(entries) {
        place.write(entry);
    }
}

/// About how many cells a row visits: the depth of a balanced tree, more for very unbalanced trees.
fn typical_depth(tree: &Tree) -> usize {
    (tree.node_count().ilog2() as usize + 1).max(tree.max_depth() / 64)
}
