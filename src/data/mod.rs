//! Views of X, targets and weights. Shapes and domains are checked here, once; the rest of the core relies on
//! it.

mod cell;
mod matrix;
mod rows;
mod sparse;
mod target;

pub use self::cell::Cell;
pub use self::matrix::Matrix;
pub(crate) use self::matrix::Row;
pub(crate) use self::rows::Rows;
pub use self::sparse::SparseColumns;
pub use self::target::Target;
pub(crate) use self::target::check_counts;
use crate::error::{Error, Result};

/// Rows are numbered by `u32`, and sums over classes square their number within `u64`.
pub(crate) const MAX_ROWS: usize = (1 << 31) - 1;

/// Cells, whatever they are stored as.
pub(crate) trait Values: Sync {
    fn n_rows(&self) -> usize;
    fn n_columns(&self) -> usize;
    fn value(&self, row: usize, column: usize) -> f64;
}

/// X of one fit or prediction.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Source<'a, X> {
    Dense(&'a Matrix<'a, X>),
    Sparse(&'a SparseColumns<'a, X>),
}

/// X with cells of either type. Who goes on with it is compiled once, with this crate, and not again by each who calls it.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum AnySource<'a> {
    Single(Source<'a, f32>),
    Double(Source<'a, f64>),
}

impl<'a, X: Cell> Source<'a, X> {
    pub(crate) fn values(self) -> &'a dyn Values {
        match self {
            Self::Dense(x) => x,
            Self::Sparse(x) => x,
        }
    }
}

fn check_finite(name: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(row) => Err(Error::argument(name, format!("must be finite, got {} in row {row}", values[row]))),
        None => Ok(()),
    }
}

/// A power of two near the largest of some numbers. Dividing by it is exact, and brings them to ordinary size, far from
/// where squares overflow or subnormal numbers lose their bits.
pub(crate) fn power_of_two(numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    // The exponent alone; the least one of normal numbers for subnormal ones.
    f64::from_bits((largest.to_bits() >> 52).max(1) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_near() {
        let least = f64::MIN_POSITIVE;
        for (number, power) in [(1.0, 1.0), (-3.0, 2.0), (0.3, 0.25), (0.0, 1.0), (least, least), (5e-324, least)] {
            assert_eq!(power_of_two(&[number, 0.0]), power, "{number:e}");
        }
    }
}
