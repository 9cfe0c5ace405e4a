//! Sparse X: the stored entries of each column, as in scipy's CSC format.

use super::{Cell, MAX_ROWS, Rows, Values};
use crate::error::{Error, Result};
use crate::threads::Team;

/// A borrowed matrix in which only some entries of each column are stored; all other cells are 0.
///
/// ```
/// use splitwood::{Loss, Params, SparseColumns, Target, fit_sparse};
///
/// // Two columns of four rows: 5 in row 1; 7 in row 2 and 8 in row 3.
/// let x = SparseColumns::new(4, &[0, 1, 3], &[1, 2, 3], &[5.0, 7.0, 8.0])?;
/// let y = Target::Values(&[0.0, 0.0, 1.0, 1.0]);
/// let tree = fit_sparse(&x, y, None, Loss::SquaredError, &Params::default())?;
/// assert_eq!((tree.feature(0), tree.threshold(0)), (Some(1), Some(3.5)));
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SparseColumns<'a, X> {
    n_rows: usize,
    starts: &'a [i64],
    rows: &'a [i32],
    cells: &'a [X],
}

impl<'a, X: Cell> SparseColumns<'a, X> {
    /// Column `i` has the entries `starts[i]..starts[i + 1]` of `rows` and `cells`, in ascending
    /// order of rows.
    ///
    /// # Errors
    /// If there are no rows or columns, or the arrays don't fit together.
    pub fn new(n_rows: usize, starts: &'a [i64], rows: &'a [i32], cells: &'a [X]) -> Result<Self> {
        let refuse = |problem: &str| Err(Error::argument("X", problem));
        if n_rows == 0 || starts.len() < 2 {
            return refuse("has no rows or no columns");
        }
        if n_rows > MAX_ROWS {
            return refuse("has too many rows");
        }
        let is_ascending = starts.is_sorted() && starts[0] == 0 && starts[starts.len() - 1] as usize == cells.len();
        if !is_ascending || rows.len() != cells.len() {
            return refuse("indptr, indices and data of the sparse matrix don't fit together");
        }
        let x = Self { n_rows, starts, rows, cells };
        let is_sound = |column: usize| {
            let rows = x.entries(column).0;
            rows.is_sorted_by(|a, b| a < b)
                && rows.first().is_none_or(|&row| row >= 0)
                && rows.last().is_none_or(|&row| (row as usize) < n_rows)
        };
        if (0..x.n_columns()).all(is_sound) {
            return Ok(x);
        }
        refuse("the row indices of a sparse column must ascend and be below the number of rows")
    }

    /// Number of cells that are stored.
    pub(crate) fn n_entries(&self) -> usize {
        self.cells.len()
    }

    /// Rows and cells of a column.
    pub(crate) fn entries(&self, column: usize) -> (&'a [i32], &'a [X]) {
        let range = self.starts[column] as usize..self.starts[column + 1] as usize;
        (&self.rows[range.clone()], &self.cells[range])
    }

    /// By column: the rows that take part and whose cell is not 0, in ascending order of their
    /// cells, NaN last, then of their ids.
    pub(crate) fn presort(&self, rows: &Rows, team: &Team) -> Vec<Vec<u32>> {
        let takes_part = rows.mask(self.n_rows);
        let mut columns: Vec<(usize, Vec<u32>)> = (0..self.n_columns()).map(|column| (column, Vec::new())).collect();
        team.each(&mut columns, &mut vec![Vec::new(); team.threads()], |keyed, (column, sorted)| {
            let (rows, cells) = self.entries(*column);
            keyed.clear();
            let entries =
                rows.iter().zip(cells).filter(|&(&row, cell)| takes_part[row as usize] && cell.to_f64() != 0.0);
            keyed.extend(entries.map(|(&row, cell)| ((cell.high_key(), cell.low_key()), row as u32)));
            keyed.sort_unstable();
            sorted.extend(keyed.iter().map(|&(_, row)| row));
        });
        columns.into_iter().map(|(_, sorted)| sorted).collect()
    }
}

impl<X: Cell> Values for SparseColumns<'_, X> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        self.starts.len() - 1
    }

    /// A binary search among the column's entries.
    fn value(&self, row: usize, column: usize) -> f64 {
        let (rows, cells) = self.entries(column);
        rows.binary_search(&(row as i32)).map_or(0.0, |place| cells[place].to_f64())
    }
}
