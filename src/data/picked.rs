//! Some rows of X and of what belongs to them, in ascending order, and numbered from 0. A row may
//! occur several times: equal ids are copies of one row.

use std::borrow::Cow;
use std::ops::Range;

use super::{Cell, Matrix, Source, SparseColumns, Values};
use crate::error::Result;

/// Rows per block of a copy: X is read in order of its rows, and a block stays in the cache.
const BLOCK: usize = 512;

/// Whether some of these ascending ids are equal.
pub(crate) fn has_copies(rows: &[u32]) -> bool {
    !rows.is_sorted_by(|a, b| a < b)
}

/// Whether these ascending ids are those of all rows of a table, without copies.
pub(crate) fn are_all(rows: &[u32], n_rows: usize) -> bool {
    rows.len() == n_rows && !has_copies(rows)
}

/// The new numbers of the rows of a table: none, one, or several of copies.
pub(crate) struct Places {
    /// By row of the table: its first number.
    first: Vec<u32>,
    /// By row of the table: how often it occurs.
    count: Vec<u32>,
}

impl Places {
    /// Of these ascending ids of rows, in a table of `n_rows` rows.
    pub fn new(n_rows: usize, rows: &[u32]) -> Self {
        let (mut first, mut count) = (vec![0; n_rows], vec![0; n_rows]);
        for (place, &row) in (0..).zip(rows) {
            if count[row as usize] == 0 {
                first[row as usize] = place;
            }
            count[row as usize] += 1;
        }
        Self { first, count }
    }

    #[inline]
    pub fn of(&self, row: usize) -> Range<u32> {
        self.first[row]..self.first[row] + self.count[row]
    }
}

/// The cells of some rows, with the columns in some order. Rows ascend, and equal ones are copies.
pub(crate) enum PickedCells<X> {
    /// With the distances between two rows and between two columns.
    Dense {
        cells: Vec<X>,
        shape: [usize; 2],
        strides: [isize; 2],
    },
    Sparse {
        starts: Vec<i64>,
        rows: Vec<i32>,
        cells: Vec<X>,
        n_rows: usize,
    },
}

impl<X: Cell> PickedCells<X> {
    pub fn new(x: Source<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        match x {
            Source::Dense(x) => Self::dense(x, rows, features),
            Source::Sparse(x) => Self::sparse(x, rows, features),
        }
    }

    /// The same cells; those of a row are adjacent.
    pub fn by_rows(x: Source<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        let x = match x {
            Source::Dense(x) => x,
            Source::Sparse(x) => return Self::sparse(x, rows, features),
        };
        let shape = [rows.len(), features.len()];
        let mut cells = vec![X::default(); shape[0] * shape[1]];
        for (cells, &row) in cells.chunks_exact_mut(shape[1]).zip(rows) {
            for (cell, &feature) in cells.iter_mut().zip(features) {
                *cell = x.get(row as usize, feature as usize);
            }
        }
        Self::Dense { cells, shape, strides: [shape[1] as isize, 1] }
    }

    fn dense(x: &Matrix<'_, X>, rows: &[u32], features: &[u32]) -> Self {
        let (n_rows, n_columns) = (rows.len(), features.len());
        let mut cells = vec![X::default(); n_rows * n_columns];
        for (block, rows) in rows.chunks(BLOCK).enumerate() {
            for (column, &feature) in cells.chunks_exact_mut(n_rows).zip(features) {
                for (cell, &row) in column[block * BLOCK..].iter_mut().zip(rows) {
                    *cell = x.get(row as usize, feature as usize);
                }
            }
        }
        Self::Dense { cells, shape: [n_rows, n_columns], strides: [1, n_rows as isize] }
    }

    fn sparse(x: &SparseColumns<'_, X>, of_tree: &[u32], features: &[u32]) -> Self {
        let places = Places::new(x.n_rows(), of_tree);
        let (mut starts, mut rows, mut cells) = (vec![0], Vec::new(), Vec::new());
        for &feature in features {
            let (of_column, column) = x.entries(feature as usize);
            for (&row, &cell) in of_column.iter().zip(column) {
                for place in places.of(row as usize) {
                    rows.push(place as i32);
                    cells.push(cell);
                }
            }
            starts.push(cells.len() as i64);
        }
        Self::Sparse { starts, rows, cells, n_rows: of_tree.len() }
    }

    /// Calls `work` with a view of the cells.
    pub fn with<R>(&self, work: impl FnOnce(Source<'_, X>) -> Result<R>) -> Result<R> {
        match self {
            &Self::Dense { ref cells, shape: [n_rows, n_columns], strides: [down, across] } => {
                work(Source::Dense(&Matrix::with_strides(cells, 0, n_rows, n_columns, down, across)?))
            }
            Self::Sparse { starts, rows, cells, n_rows } => {
                work(Source::Sparse(&SparseColumns::new(*n_rows, starts, rows, cells)?))
            }
        }
    }
}

/// The entries of some rows, which ascend; a row has `width` entries, and equal rows are copies.
pub(crate) fn picked<'a, T: Copy>(entries: &'a [T], width: usize, rows: &[u32]) -> Cow<'a, [T]> {
    if are_all(rows, entries.len() / width) {
        return Cow::Borrowed(entries);
    }
    rows.iter().flat_map(|&row| &entries[row as usize * width..][..width]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_cells_are_picked_alike() {
        let cells = [1.0, 0.0, 3.0, 4.0, 5.0, 0.0, 0.0, 8.0, 9.0];
        let x = Matrix::from_rows(&cells, 3, 3).unwrap();
        let sparse =
            SparseColumns::new(3, &[0, 2, 4, 6], &[0, 1, 1, 2, 0, 2], &[1.0, 4.0, 5.0, 8.0, 3.0, 9.0]).unwrap();
        let read = |x: Source<'_, f64>| {
            let x = x.values();
            Ok([0, 1, 2].map(|row| [0, 1, 2].map(|column| x.value(row, column))))
        };
        let expected = Ok([[0.0, 4.0, 5.0], [9.0, 0.0, 8.0], [9.0, 0.0, 8.0]]);
        assert_eq!(PickedCells::new(Source::Dense(&x), &[1, 2, 2], &[2, 0, 1]).with(read), expected);
        assert_eq!(PickedCells::by_rows(Source::Dense(&x), &[1, 2, 2], &[2, 0, 1]).with(read), expected);
        assert_eq!(PickedCells::new(Source::Sparse(&sparse), &[1, 2, 2], &[2, 0, 1]).with(read), expected);
    }

    #[test]
    fn entries_of_all_rows_are_not_copied() {
        assert!(matches!(picked(&[1.0, 2.0, 3.0, 4.0], 2, &[0, 1]), Cow::Borrowed(_)));
        assert_eq!(*picked(&[1.0, 2.0, 3.0, 4.0], 2, &[1, 1]), [3.0, 4.0, 3.0, 4.0]);
    }
}
