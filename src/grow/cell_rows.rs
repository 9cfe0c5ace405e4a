//! HOT: the cells of X row by row, and kernels that read several features of a row at once.
//!
//! Random thresholds need the least and the greatest cell of each drawn feature, and then the rows
//! on the left of each threshold. A node's rows are scattered, but the cells of a row are adjacent:
//! one pass over the rows answers for [`MANY`] features, with a vector for every few of them and
//! all results in registers. So a node of three rows costs little, too.
//!
//! ```text
//! row 7   │ 0.1  0.9  0.4  0.6 │ 0.2  …        least      min  min  min  min
//! row 2   │ 0.5  0.3  0.8  0.1 │ 0.7  …        greatest   max  max  max  max
//! row 9   │ 0.2  0.8  0.6  0.3 │ 0.9  …                   features 0 to 3
//! ```
//!
//! Cost: 1.0 ns per row for the ends of twelve features, 1.7 ns for the sums on the left of their
//! thresholds.

use crate::data::{Cell, Matrix, Rows};
use crate::threads::Team;

/// Adjacent features per pass.
pub(super) const MANY: usize = 12;
/// Drawn features per pass, and the rest of the adjacent ones.
pub(super) const FEW: usize = 4;

/// Rows per block of a copy: the block stays in the first-level cache.
const BLOCK: usize = 512;

/// Some rows of X, numbered from 0; −0.0 is stored as 0.0.
#[derive(Default)]
pub(super) struct CellRows<X> {
    /// Row by row, and `MANY` more, so that a pass may read beyond the features of the last row.
    cells: Vec<X>,
    n_columns: usize,
    pub has_missing: bool,
}

/// Which features of a row a pass reads.
pub(super) trait Lanes<const L: usize>: Copy {
    /// `row` begins with the cells of a row and is longer by at least `L`.
    fn read<X: Copy>(self, row: &[X]) -> [X; L];
}

/// `L` adjacent features from this one on; those beyond the last feature are of no use.
#[derive(Clone, Copy)]
pub(super) struct Adjacent(pub usize);

impl<const L: usize> Lanes<L> for Adjacent {
    #[inline(always)]
    fn read<X: Copy>(self, row: &[X]) -> [X; L] {
        *row[self.0..].first_chunk().expect("rows are followed by spare cells")
    }
}

/// Any features.
#[derive(Clone, Copy)]
pub(super) struct Picked(pub [usize; FEW]);

impl Lanes<FEW> for Picked {
    #[inline(always)]
    fn read<X: Copy>(self, row: &[X]) -> [X; FEW] {
        self.0.map(|feature| row[feature])
    }
}

impl<X: Cell> CellRows<X> {
    /// The rows of a fit.
    pub fn new(x: &Matrix<'_, X>, rows: &Rows, team: &Team) -> Self {
        let n_columns = x.n_columns();
        let mut cells = vec![X::default(); rows.len() * n_columns + MANY];
        let spare = rows.len() * n_columns;
        let blocks = cells[..spare].chunks_mut(BLOCK * n_columns).enumerate();
        let mut blocks: Vec<_> = blocks.map(|(block, cells)| (block * BLOCK, cells, false)).collect();
        team.each(&mut blocks, &mut vec![(); team.threads()], |(), (first, cells, has_missing)| {
            if !team.cancelled() {
                copy_block(x, rows, *first, cells);
                *has_missing = cells.iter().fold(false, |any, cell| any | cell.is_missing());
            }
        });
        let has_missing = blocks.into_iter().any(|(.., has_missing)| has_missing);
        Self { cells, n_columns, has_missing }
    }

    /// Replaces the rows by copies of other ones, which are then numbered from 0.
    pub fn copy_from(&mut self, whole: &Self, rows: &[u32]) {
        (self.n_columns, self.has_missing) = (whole.n_columns, whole.has_missing);
        self.cells.clear();
        self.cells.reserve(rows.len() * whole.n_columns + MANY);
        for &row in rows {
            self.cells.extend_from_slice(&whole.from(row)[..whole.n_columns]);
        }
        self.cells.resize(self.cells.len() + MANY, X::default());
    }

    /// The cells from this row on.
    #[inline(always)]
    fn from(&self, row: u32) -> &[X] {
        &self.cells[row as usize * self.n_columns..]
    }

    #[inline(always)]
    pub fn value(&self, row: u32, feature: usize) -> X {
        self.cells[row as usize * self.n_columns + feature]
    }

    /// The least and the greatest cell of these rows, for each feature. No cell is missing.
    pub fn extremes<const L: usize>(&self, rows: &[u32], lanes: impl Lanes<L>) -> [[X; L]; 2] {
        let (mut least, mut greatest) = ([X::INFINITY; L], [X::NEG_INFINITY; L]);
        for &row in rows {
            let cells = lanes.read(self.from(row));
            for (least, &cell) in least.iter_mut().zip(&cells) {
                *least = if cell < *least { cell } else { *least };
            }
            for (greatest, &cell) in greatest.iter_mut().zip(&cells) {
                *greatest = if cell > *greatest { cell } else { *greatest };
            }
        }
        [least, greatest]
    }

    /// For each row, the sides of its cells.
    #[inline(always)]
    pub fn sides<'a, const L: usize, F: Lanes<L>>(
        &'a self,
        rows: &'a [u32],
        lanes: F,
        thresholds: [X; L],
    ) -> Sides<'a, X, F, L> {
        Sides { cells: self, rows: rows.iter(), lanes, thresholds }
    }
}

/// For each row, and each feature with its threshold: −1 if the row goes left, otherwise 0. A type
/// of its own, because closures in the innermost loop are not always inlined.
pub(super) struct Sides<'a, X, F, const L: usize> {
    cells: &'a CellRows<X>,
    rows: std::slice::Iter<'a, u32>,
    lanes: F,
    thresholds: [X; L],
}

impl<X: Cell, F: Lanes<L>, const L: usize> Iterator for Sides<'_, X, F, L> {
    type Item = [i32; L];

    #[inline(always)]
    fn next(&mut self) -> Option<[i32; L]> {
        let cells = self.lanes.read(self.cells.from(*self.rows.next()?));
        let mut sides = [0; L];
        for (side, (cell, threshold)) in sides.iter_mut().zip(cells.iter().zip(&self.thresholds)) {
            *side = -i32::from(cell <= threshold);
        }
        Some(sides)
    }
}

/// Copies rows of the fit, from the `first` on.
fn copy_block<X: Cell>(x: &Matrix<'_, X>, rows: &Rows, first: usize, to: &mut [X]) {
    // Turns −0.0 into 0.0.
    let cell = |row: u32, feature| x.get(row as usize, feature) + X::default();
    let n_columns = x.n_columns();
    if x.has_adjacent_columns() {
        for (place, cells) in to.chunks_exact_mut(n_columns).enumerate() {
            let row = rows.id(first + place);
            cells.iter_mut().enumerate().for_each(|(feature, to)| *to = cell(row, feature));
        }
    } else {
        for feature in 0..n_columns {
            let column = to[feature..].iter_mut().step_by(n_columns);
            column.enumerate().for_each(|(place, to)| *to = cell(rows.id(first + place), feature));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Passes over several features agree with one look at each cell.
        #[test]
        fn passes_agree_with_single_cells(
            cells in prop::collection::vec(prop_oneof![-5..5i32, -9_000..9_000i32], 1..300),
            n_columns in 1..30usize,
            skip in 1..4usize,
        ) {
            let n_rows = cells.len().div_ceil(n_columns);
            let cell = |row: usize, column: usize| cells[(row + column * n_rows) % cells.len()] as f32;
            let by_columns: Vec<f32> = (0..n_rows * n_columns).map(|at| cell(at % n_rows, at / n_rows)).collect();
            let by_rows: Vec<f32> = (0..n_rows * n_columns).map(|at| cell(at / n_columns, at % n_columns)).collect();
            let team = Team::new(Some(1), n_rows, usize::MAX).unwrap();
            let all = Rows::new(n_rows, None).unwrap();
            let views = [
                Matrix::from_rows(&by_rows, n_rows, n_columns).unwrap(),
                Matrix::with_strides(&by_columns, 0, n_rows, n_columns, 1, n_rows as isize).unwrap(),
            ];
            let some: Vec<u32> = (0..n_rows as u32).rev().step_by(skip).collect();
            for x in views {
                let whole = CellRows::new(&x, &all, &team);
                prop_assert!(!whole.has_missing);
                let mut local = CellRows::default();
                local.copy_from(&whole, &some);
                let numbers: Vec<u32> = (0..some.len() as u32).collect();
                for first in 0..n_columns {
                    let column: Vec<f32> = some.iter().map(|&row| cell(row as usize, first)).collect();
                    let least = column.iter().copied().fold(f32::INFINITY, f32::min);
                    let greatest = column.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let picked = Picked([n_columns - 1, first, 0, first]);
                    for (cells, rows) in [(&whole, &some), (&local, &numbers)] {
                        let [low, high] = cells.extremes::<MANY>(rows, Adjacent(first));
                        prop_assert_eq!([low[0], high[0]], [least, greatest]);
                        let [low, high] = cells.extremes::<FEW>(rows, picked);
                        prop_assert_eq!([low[1], high[3]], [least, greatest]);
                        let middle = least.midpoint(greatest);
                        let sides = cells.sides::<FEW, _>(rows, picked, [0.0, middle, 0.0, least]);
                        for (sides, (&row, &value)) in sides.zip(rows.iter().zip(&column)) {
                            let expected = [-i32::from(value <= middle), -i32::from(value <= least)];
                            prop_assert_eq!([sides[1], sides[3]], expected);
                            prop_assert_eq!(cells.value(row, first), value);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn missing_cells_and_negative_zeros() {
        let team = Team::new(Some(1), 2, usize::MAX).unwrap();
        let rows = Rows::new(2, None).unwrap();
        let of = |cells: &[f64; 4]| CellRows::new(&Matrix::from_rows(cells, 2, 2).unwrap(), &rows, &team);
        assert!(of(&[1.0, 2.0, f64::NAN, 3.0]).has_missing);
        let zeros = of(&[-0.0; 4]);
        assert!(!zeros.has_missing && zeros.value(1, 1).is_sign_positive());
    }
}
