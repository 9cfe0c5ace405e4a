//! Views of X, targets and weights. Shapes and domains are checked here, once per fit or
//! prediction; the rest of the core relies on it. Cost: one pass over targets and weights, and over
//! the indices of sparse X. The cells of X are not read.

mod cell;
mod matrix;
mod picked;
mod rows;
mod sparse;
mod target;

pub use self::cell::Cell;
pub use self::matrix::Matrix;
pub(crate) use self::matrix::Row;
pub(crate) use self::picked::{PickedCells, Places, are_all, has_copies, picked};
pub(crate) use self::rows::{RepeatedRows, Rows};
pub(crate) use self::sparse::Entry;
pub use self::sparse::SparseColumns;
pub use self::target::Target;
pub(crate) use self::target::check_counts;
use crate::error::{Error, Result};

/// Rows are numbered by `u32`, and the squares of their number must fit in `u64`.
pub(crate) const MAX_ROWS: usize = (1 << 31) - 1;

/// The cells of X as `f64`, for any storage. For code where a virtual call per cell does not
/// matter.
pub(crate) trait Values: Sync {
    fn n_rows(&self) -> usize;
    fn n_columns(&self) -> usize;
    fn value(&self, row: usize, column: usize) -> f64;
}

/// X of one fit or prediction, dense or sparse.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Source<'a, X> {
    Dense(&'a Matrix<'a, X>),
    Sparse(&'a SparseColumns<'a, X>),
}

/// X with cells of either type. Code behind this type is compiled once, with this crate, and not
/// again in each crate that calls a generic function.
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

/// A power of two near the largest of some numbers. Division by it is exact and brings the numbers
/// to ordinary size, far from where squares overflow or subnormal numbers lose bits.
pub(crate) fn power_of_two(numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    // The exponent alone. For subnormal numbers, the least exponent of normal ones.
    f64::from_bits((largest.to_bits() >> 52).max(1) << 52)
}

/// The greatest power of two that a number is a whole multiple of; 0 for 0 and subnormal numbers.
pub(crate) fn lowest_bit(number: f64) -> f64 {
    let bits = number.to_bits();
    let leading_bit = f64::from_bits(bits >> 52 << 52);
    let places_below = 52 - (bits | 1 << 52).trailing_zeros() as i32;
    leading_bit * 2f64.powi(-places_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_bits_divide_their_numbers() {
        for (number, bit) in [(1.0, 1.0), (6.0, 2.0), (0.75, 0.25), (0.0, 0.0), (5e-324, 0.0)] {
            assert_eq!(lowest_bit(number), bit, "{number}");
        }
    }

    #[test]
    fn powers_of_two_are_near() {
        let least = f64::MIN_POSITIVE;
        for (number, power) in [(1.0, 1.0), (-3.0, 2.0), (0.3, 0.25), (0.0, 1.0), (least, least), (5e-324, least)] {
            assert_eq!(power_of_two(&[number, 0.0]), power, "{number:e}");
        }
    }
}
