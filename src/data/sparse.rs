//! Sparse X: the stored entries of each column, as in scipy's CSC format.

use super::{Cell, MAX_ROWS, Rows, Values};
use crate::error::{Error, Result};
use crate::threads::Team;

/// A cell that is not 0, and its row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry<X> {
    pub row: u32,
    pub value: X,
}

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

    /// By column: the entries that take part and are not 0, in ascending order of their values, NaN
    /// last, then of their rows.
    pub(crate) fn presort(&self, rows: &Rows, team: &Team) -> Vec<Vec<Entry<X>>> {
        let takes_part = rows.mask(self.n_rows);
        let mut columns: Vec<(usize, Vec<Entry<X>>)> = (0..self.n_columns()).map(|column| (column, vec![])).collect();
        team.each(&mut columns, &mut vec![Vec::new(); team.threads()], |keys, (column, sorted)| {
            if !team.cancelled() {
                let (rows, cells) = self.entries(*column);
                let is_kept = |place: usize| takes_part[rows[place] as usize] && cells[place].to_f64() != 0.0;
                sort_places(cells, is_kept, keys);
                let entry = |place: usize| Entry { row: rows[place] as u32, value: cells[place] };
                sorted.extend(keys.iter().map(|&key| entry(key as u32 as usize)));
            }
        });
        columns.into_iter().map(|(_, sorted)| sorted).collect()
    }
}

/// Writes keys in ascending order of the cells that are kept: the high word of the cell's sort key,
/// then its place.
fn sort_places<X: Cell>(cells: &[X], is_kept: impl Fn(usize) -> bool, keys: &mut Vec<u64>) {
    let key = |place: usize| u64::from(cells[place].high_key()) << 32 | place as u64;
    keys.clear();
    keys.extend((0..cells.len()).filter(|&place| is_kept(place)).map(key));
    keys.sort_unstable();
    // Keys of f32 have no low word; any value shows whether there is one.
    if keys.first().is_some_and(|&key| cells[key as u32 as usize].low_key().is_some()) {
        for run in keys.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
            run.sort_unstable_by_key(|&key| (cells[key as u32 as usize].low_key(), key));
        }
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
