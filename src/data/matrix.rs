//! A dense view of X with any strides. It borrows the cells and copies nothing.

use std::ops::Range;

use super::{Cell, MAX_ROWS, Values};
use crate::error::{Error, Result};

/// Size of a cache line in bytes.
const CACHE_LINE: usize = 64;

/// A borrowed matrix with any strides, including negative ones.
///
/// ```
/// use splitwood::Matrix;
///
/// let by_rows = Matrix::from_rows(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?;
/// assert_eq!(by_rows.get(2, 1), 6.0);
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, X> {
    cells: &'a [X],
    /// Index of cell (0, 0).
    first: usize,
    row_stride: isize,
    column_stride: isize,
    n_rows: usize,
    n_columns: usize,
}

impl<'a, X: Cell> Matrix<'a, X> {
    /// A matrix stored row after row.
    ///
    /// # Errors
    /// If `cells` does not hold `n_rows * n_columns` cells, or there are no rows or columns.
    pub fn from_rows(cells: &'a [X], n_rows: usize, n_columns: usize) -> Result<Self> {
        if n_rows.checked_mul(n_columns) != Some(cells.len()) {
            let problem = format!("must have {n_rows} rows of {n_columns} cells, got {} cells", cells.len());
            return Err(Error::argument("X", problem));
        }
        Self::with_strides(cells, 0, n_rows, n_columns, n_columns as isize, 1)
    }

    /// A matrix whose cell (i, j) is `cells[first + i * row_stride + j * column_stride]`.
    ///
    /// # Errors
    /// If a cell lies outside `cells`, or there are no rows or columns, or more rows than fit in 31
    /// bits.
    pub fn with_strides(
        cells: &'a [X],
        first: usize,
        n_rows: usize,
        n_columns: usize,
        row_stride: isize,
        column_stride: isize,
    ) -> Result<Self> {
        if n_rows == 0 || n_columns == 0 {
            let problem = format!("needs at least one row and one column, got shape ({n_rows}, {n_columns})");
            return Err(Error::argument("X", problem));
        }
        if n_rows > MAX_ROWS || n_columns > MAX_ROWS {
            return Err(Error::argument("X", format!("has more than {MAX_ROWS} rows or columns")));
        }
        let reach = |count: usize, stride: isize| (count as i128 - 1) * stride as i128;
        let (down, across) = (reach(n_rows, row_stride), reach(n_columns, column_stride));
        let lowest = first as i128 + down.min(0) + across.min(0);
        let highest = first as i128 + down.max(0) + across.max(0);
        if lowest < 0 || highest >= cells.len() as i128 {
            return Err(Error::argument("X", "its strides reach outside its cells"));
        }
        Ok(Self { cells, first, row_stride, column_stride, n_rows, n_columns })
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    #[must_use]
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Whether the cells of each row are adjacent in memory.
    pub(crate) fn has_adjacent_columns(&self) -> bool {
        self.column_stride == 1
    }

    /// An address in each cache line of these rows; none unless all their cells are adjacent.
    #[inline(always)]
    pub(crate) fn cache_lines(&self, rows: Range<usize>) -> impl Iterator<Item = *const X> {
        let together = self.column_stride == 1 && self.row_stride == self.n_columns as isize;
        let cells = if together { rows.start * self.n_columns..rows.end * self.n_columns } else { 0..0 };
        let first = self.cells.as_ptr().wrapping_add(self.first);
        cells.step_by(CACHE_LINE / size_of::<X>()).map(move |cell| first.wrapping_add(cell))
    }

    /// A row, to read many of its cells.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> Row<'a, X> {
        assert!(row < self.n_rows);
        let start = self.first.wrapping_add_signed(row as isize * self.row_stride);
        Row { cells: self.cells, start, column_stride: self.column_stride, n_columns: self.n_columns }
    }

    /// The cell in this row and column.
    ///
    /// # Panics
    /// If the cell's index is not within the cells.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> X {
        let offset = row as isize * self.row_stride + column as isize * self.column_stride;
        self.cells[self.first.wrapping_add_signed(offset)]
    }
}

/// A row of a matrix. Only `Matrix::row` makes it. Invariant: the indices of all its cells are
/// within `cells`.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a, X> {
    cells: &'a [X],
    start: usize,
    column_stride: isize,
    n_columns: usize,
}

impl<X: Cell> Row<'_, X> {
    /// The cell in this column, unchecked. `ADJACENT`: the columns of the matrix are adjacent.
    ///
    /// # Safety
    /// `column` must be below the number of columns, and `ADJACENT` must be true only for adjacent
    /// columns.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked<const ADJACENT: bool>(&self, column: usize) -> X {
        debug_assert!(column < self.n_columns && (!ADJACENT || self.column_stride == 1));
        let across = if ADJACENT { column as isize } else { column as isize * self.column_stride };
        // SAFETY: `Matrix::with_strides` has checked that every cell of every row is within
        // `cells`.
        unsafe { *self.cells.get_unchecked(self.start.wrapping_add_signed(across)) }
    }
}

impl<X: Cell> Values for Matrix<'_, X> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        self.get(row, column).to_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_may_be_negative_but_stay_inside() {
        let cells = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let flipped = Matrix::with_strides(&cells, 5, 3, 2, -2, -1).unwrap();
        assert_eq!((flipped.get(0, 0), flipped.get(2, 1)), (6.0, 1.0));
        assert!(Matrix::with_strides(&cells, 4, 3, 2, -2, -1).is_err());
        assert!(Matrix::with_strides(&cells, 0, 4, 2, 2, 1).is_err());
    }
}
