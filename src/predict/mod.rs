//! Prediction: each row walks from the root to its leaf.

use crate::data::{Cell, Matrix};
use crate::error::{Error, Result};
use crate::threads::Team;
use crate::tree::{Node, Tree};

/// Rows that a thread takes at a time.
const CHUNK_ROWS: usize = 4096;

impl Tree {
    /// The values of each row's leaf, row after row; `n_jobs` as in [`Params`](crate::Params).
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn predict<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<f64>> {
        let mut values = vec![0.0; x.n_rows() * self.n_values()];
        self.predict_into(x, n_jobs, &mut values, || true)?;
        Ok(values)
    }

    /// Writes the values of each row's leaf.
    pub(crate) fn predict_into<X: Cell>(
        &self,
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        values: &mut [f64],
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        self.for_each_leaf(x, n_jobs, values, self.n_values(), go_on, |leaf, out| {
            out.copy_from_slice(self.value(leaf));
        })
    }

    /// The number of each row's leaf.
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn apply<X: Cell>(&self, x: &Matrix<'_, X>, n_jobs: Option<i64>) -> Result<Vec<i64>> {
        let mut leaves = vec![0; x.n_rows()];
        self.apply_into(x, n_jobs, &mut leaves, || true)?;
        Ok(leaves)
    }

    /// Writes the number of each row's leaf.
    pub(crate) fn apply_into<X: Cell>(
        &self,
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        leaves: &mut [i64],
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        self.for_each_leaf(x, n_jobs, leaves, 1, go_on, |leaf, out| out[0] = leaf as i64)
    }

    /// The nodes that each row passes, in ascending order: `nodes[starts[i]..starts[i + 1]]` are those of row `i`.
    ///
    /// # Errors
    /// If `x` has another number of columns than the tree was fitted on.
    pub fn decision_path<X: Cell>(&self, x: &Matrix<'_, X>) -> Result<(Vec<i64>, Vec<i64>)> {
        self.check_columns(x)?;
        let (mut starts, mut nodes) = (vec![0], Vec::new());
        for row in 0..x.n_rows() {
            walk(&self.nodes, x, row, |node| nodes.push(node as i64));
            starts.push(nodes.len() as i64);
        }
        Ok((starts, nodes))
    }

    fn for_each_leaf<X: Cell, T: Send>(
        &self,
        x: &Matrix<'_, X>,
        n_jobs: Option<i64>,
        out: &mut [T],
        width: usize,
        go_on: impl FnMut() -> bool,
        write: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        self.check_columns(x)?;
        let team = Team::new(n_jobs, x.n_rows() * x.n_columns())?;
        let mut chunks: Vec<_> = out.chunks_mut(CHUNK_ROWS * width).enumerate().collect();
        let work = || {
            team.each(&mut chunks, &mut vec![(); team.threads()], |(), (chunk, out)| {
                let first = *chunk * CHUNK_ROWS;
                if !team.cancelled() {
                    for (i, out) in out.chunks_mut(width).enumerate() {
                        write(walk(&self.nodes, x, first + i, |_| ()), out);
                    }
                }
            });
        };
        team.supervise(work, go_on);
        if team.cancelled() { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn check_columns<X: Cell>(&self, x: &Matrix<'_, X>) -> Result<()> {
        if x.n_columns() == self.n_features() {
            return Ok(());
        }
        let problem = format!("has {} columns, but the tree was fitted on {}", x.n_columns(), self.n_features());
        Err(Error::argument("X", problem))
    }
}

/// Walks a row to its leaf, calling `visit` for each node on the way, and returns the leaf.
fn walk<X: Cell>(nodes: &[Node], x: &Matrix<'_, X>, row: usize, mut visit: impl FnMut(usize)) -> usize {
    let mut id = 0;
    loop {
        visit(id);
        let Some(test) = nodes[id].test() else { return id };
        let value = x.get(row, test.feature as usize).to_f64();
        let left = value <= test.threshold || (test.missing_left && value.is_nan());
        id = if left { id + 1 } else { test.right as usize };
    }
}
