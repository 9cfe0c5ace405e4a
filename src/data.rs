//! Views of X, targets and weights. Shapes and domains are proven here, once; the rest of the core relies on it.

use std::ops::{Add, Range};

use crate::error::{Error, Result};
use crate::sparse::SparseColumns;

/// Rows are numbered by `u32`, and sums over classes square their number within `u64`.
pub(crate) const MAX_ROWS: usize = (1 << 31) - 1;

/// Bytes that come from memory at a time.
const CACHE_LINE: usize = 64;

/// Every node counts every class.
const MAX_CLASSES: usize = 1 << 20;

/// A cell of X: `f32` or `f64`, each kept in its own precision.
pub trait Cell:
    Copy + PartialOrd + Default + Add<Output = Self> + Send + Sync + std::fmt::Debug + private::Sealed + 'static
{
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Whether the value is missing: NaN.
    #[inline]
    #[must_use]
    #[allow(clippy::eq_op)] // NaN alone is not itself.
    fn is_missing(self) -> bool {
        self != self
    }
    /// The key's high word: unsigned integers in the order of the values, −0.0 equal to 0.0, every NaN last.
    #[doc(hidden)]
    fn high_key(self) -> u32;
    /// What the high word leaves open, or `None` if it decides alone.
    #[doc(hidden)]
    fn low_key(self) -> Option<u32>;
    /// X, with the type of its cells told at run time.
    #[doc(hidden)]
    fn any(x: Source<'_, Self>) -> AnySource<'_>
    where
        Self: Sized;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Implements the order-preserving key. Floats order like integers once negative ones have all their bits
/// flipped and the others only their sign. Adding 0.0 turns −0.0 into 0.0.
macro_rules! order_key {
    ($value:expr, $float:ty, $bits:ty) => {{
        let bits = ($value + 0.0).to_bits();
        let sign = 1 << (<$bits>::BITS - 1);
        if $value.is_nan() {
            <$bits>::MAX
        } else if bits & sign != 0 {
            !bits
        } else {
            bits | sign
        }
    }};
}

impl Cell for f32 {
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn high_key(self) -> u32 {
        order_key!(self, f32, u32)
    }
    #[inline]
    fn low_key(self) -> Option<u32> {
        None
    }
    fn any(x: Source<'_, Self>) -> AnySource<'_> {
        AnySource::Single(x)
    }
}

impl Cell for f64 {
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn high_key(self) -> u32 {
        (order_key!(self, f64, u64) >> 32) as u32
    }
    #[inline]
    fn low_key(self) -> Option<u32> {
        Some(order_key!(self, f64, u64) as u32)
    }
    fn any(x: Source<'_, Self>) -> AnySource<'_> {
        AnySource::Double(x)
    }
}

/// A borrowed matrix of rows and columns with any strides, also negative ones.
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
    first: usize,
    row_stride: isize,
    column_stride: isize,
    n_rows: usize,
    n_columns: usize,
}

/// Cells, whatever they are stored as.
pub(crate) trait Values: Sync {
    fn n_rows(&self) -> usize;
    fn n_columns(&self) -> usize;
    fn value(&self, row: usize, column: usize) -> f64;
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

impl<'a, X: Cell> Matrix<'a, X> {
    /// A matrix stored row after row.
    ///
    /// # Errors
    /// If `cells` does not hold `n_rows * n_columns` cells, or there are no rows or columns.
    pub fn from_rows(cells: &'a [X], n_rows: usize, n_columns: usize) -> Result<Self> {
        if n_rows.checked_mul(n_columns) != Some(cells.len()) {
            return Err(Error::argument(
                "X",
                format!("{n_rows} rows of {n_columns} columns need as many cells, got {}", cells.len()),
            ));
        }
        Self::with_strides(cells, 0, n_rows, n_columns, n_columns as isize, 1)
    }

    /// A matrix whose cell (i, j) is `cells[first + i * row_stride + j * column_stride]`.
    ///
    /// # Errors
    /// If a cell lies outside `cells`, or there are no rows or columns, or more rows than fit in 31 bits.
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
            return Err(Error::argument("X", format!("more than {MAX_ROWS} rows or columns")));
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

    /// Whether the cells of a row are next to each other.
    pub(crate) fn has_adjacent_columns(&self) -> bool {
        self.column_stride == 1
    }

    /// An address in each cache line of these rows; none unless all their cells are next to each other.
    #[inline(always)]
    pub(crate) fn cache_lines(&self, rows: Range<usize>) -> impl Iterator<Item = *const X> {
        let together = self.column_stride == 1 && self.row_stride == self.n_columns as isize;
        let cells = if together { rows.start * self.n_columns..rows.end * self.n_columns } else { 0..0 };
        let first = self.cells.as_ptr().wrapping_add(self.first);
        cells.step_by(CACHE_LINE / size_of::<X>()).map(move |cell| first.wrapping_add(cell))
    }

    /// A row, for many cells of it.
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
    /// If the resulting place lies outside the cells.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> X {
        let offset = row as isize * self.row_stride + column as isize * self.column_stride;
        self.cells[self.first.wrapping_add_signed(offset)]
    }
}

/// A row of a matrix. Made by `Matrix::row` alone, so that `start` and all its cells are among `cells`.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a, X> {
    cells: &'a [X],
    start: usize,
    column_stride: isize,
    n_columns: usize,
}

impl<X: Cell> Row<'_, X> {
    /// The cell in this column, unchecked; `ADJACENT` if the matrix has adjacent columns.
    ///
    /// # Safety
    /// `column` must be below the number of columns, and `ADJACENT` must not be claimed wrongly.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked<const ADJACENT: bool>(&self, column: usize) -> X {
        debug_assert!(column < self.n_columns && (!ADJACENT || self.column_stride == 1));
        let across = if ADJACENT { column as isize } else { column as isize * self.column_stride };
        // SAFETY: `Matrix::with_strides` has proven that every cell of every row is among the cells.
        unsafe { *self.cells.get_unchecked(self.start.wrapping_add_signed(across)) }
    }
}

/// What the tree is to predict, one entry a row.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Real values.
    Values(&'a [f64]),
    /// Class codes below `n_classes`.
    Classes {
        /// Code of each row.
        codes: &'a [u32],
        /// Number of classes, also of those that no row has.
        n_classes: usize,
    },
    /// Several real values a row.
    ManyValues {
        /// Those of the first row, then those of the second, and so on.
        values: &'a [f64],
        /// Number of values a row.
        n_outputs: usize,
    },
    /// Several class codes a row.
    ManyClasses {
        /// Those of the first row, then those of the second, and so on.
        codes: &'a [u32],
        /// Number of codes a row.
        n_outputs: usize,
        /// Number of classes, of the output that has most.
        n_classes: usize,
    },
}

impl Target<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Values(values) | Self::ManyValues { values, .. } => values.len(),
            Self::Classes { codes, .. } | Self::ManyClasses { codes, .. } => codes.len(),
        }
    }

    pub(crate) fn n_outputs(&self) -> usize {
        match *self {
            Self::Values(_) | Self::Classes { .. } => 1,
            Self::ManyValues { n_outputs, .. } | Self::ManyClasses { n_outputs, .. } => n_outputs,
        }
    }

    /// One target for each row of X, finite, and small enough to be squared and summed.
    pub(crate) fn check(&self, n_rows: usize) -> Result<()> {
        let n_outputs = self.n_outputs();
        if n_outputs == 0 {
            return Err(Error::argument("y", "has no outputs"));
        }
        if Some(self.len()) != n_rows.checked_mul(n_outputs) {
            let problem = format!("has {} entries, but X has {n_rows} rows of {n_outputs} output(s)", self.len());
            return Err(Error::argument("y", problem));
        }
        match *self {
            Self::Values(values) | Self::ManyValues { values, .. } => {
                check_finite("y", values)?;
                let limit = (f64::MAX / n_rows as f64).sqrt() / 4.0;
                match values.iter().position(|y| y.abs() > limit) {
                    Some(place) => Err(Error::argument(
                        "y",
                        format!(
                            "{:e} in row {} is too large: its square overflows; rescale y",
                            values[place],
                            place / n_outputs
                        ),
                    )),
                    None => Ok(()),
                }
            }
            Self::Classes { n_classes, .. } | Self::ManyClasses { n_classes, .. }
                if n_classes.saturating_mul(n_outputs) > MAX_CLASSES =>
            {
                Err(Error::argument("y", format!("n_classes = {n_classes} is more than {MAX_CLASSES}")))
            }
            Self::Classes { codes, n_classes } | Self::ManyClasses { codes, n_classes, .. } => {
                match codes.iter().position(|&code| code as usize >= n_classes) {
                    Some(place) => Err(Error::argument(
                        "y",
                        format!(
                            "class code {} in row {} is not below n_classes = {n_classes}",
                            codes[place],
                            place / n_outputs
                        ),
                    )),
                    None => Ok(()),
                }
            }
        }
    }
}

fn check_finite(name: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(row) => Err(Error::argument(name, format!("must be finite, got {} in row {row}", values[row]))),
        None => Ok(()),
    }
}

/// Targets of a Poisson deviance: none negative, and not all zero where there is weight.
pub(crate) fn check_counts(y: &[f64], weights: Option<&[f64]>) -> Result<()> {
    if let Some(row) = y.iter().position(|&y| y < 0.0) {
        let problem = "Some value(s) of y are negative which is not allowed for Poisson regression";
        return Err(Error::argument("y", format!("{problem}: {} in row {row}", y[row])));
    }
    let counts = |row: usize| y[row] > 0.0 && weights.is_none_or(|weights| weights[row] > 0.0);
    if !(0..y.len()).any(counts) {
        return Err(Error::argument("y", "Sum of y is not positive which is necessary for Poisson regression"));
    }
    Ok(())
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

/// The rows that take part in a fit and their total weight. Rows of weight zero don't.
pub(crate) struct Rows {
    /// Ascending ids; `None` means all rows.
    kept: Option<Vec<u32>>,
    len: usize,
    /// In `weight_unit`s.
    pub total_weight: f64,
    /// A power of two near the heaviest weight: the fit sees weights of ordinary size, whatever the user's are.
    pub weight_unit: f64,
}

impl Rows {
    /// Checks the weights: as many as rows, finite, none negative, not all zero.
    pub fn new(n_rows: usize, weights: Option<&[f64]>) -> Result<Self> {
        let Some(weights) = weights else {
            return Ok(Self { kept: None, len: n_rows, total_weight: n_rows as f64, weight_unit: 1.0 });
        };
        if weights.len() != n_rows {
            let problem = format!("has {} entries, but X has {n_rows} rows", weights.len());
            return Err(Error::argument("sample_weight", problem));
        }
        check_finite("sample_weight", weights)?;
        if let Some(row) = weights.iter().position(|&w| w < 0.0) {
            let problem = format!("must not be negative, got {} in row {row}", weights[row]);
            return Err(Error::argument("sample_weight", problem));
        }
        let sum: f64 = weights.iter().sum();
        if sum == 0.0 {
            return Err(Error::argument("sample_weight", "all weights are zero; at least one must be positive"));
        }
        if !sum.is_finite() {
            return Err(Error::argument("sample_weight", "the sum overflows; rescale the weights"));
        }
        let weight_unit = power_of_two(weights);
        // Beside the heaviest row, one that is lighter than this is nothing: shares of it would be 0 of 0.
        let takes_part = |&row: &u32| weights[row as usize] / weight_unit >= f64::MIN_POSITIVE;
        let kept: Vec<u32> = (0..n_rows as u32).filter(takes_part).collect();
        let len = kept.len();
        let total_weight = weights.iter().map(|weight| weight / weight_unit).sum();
        Ok(Self { kept: (len < n_rows).then_some(kept), len, total_weight, weight_unit })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Of one item for each row of X, those of the rows that take part.
    pub fn pick<T: Copy>(&self, items: Vec<T>) -> Vec<T> {
        match &self.kept {
            Some(kept) => kept.iter().map(|&row| items[row as usize]).collect(),
            None => items,
        }
    }

    /// Of all rows of X, which take part.
    pub fn mask(&self, n_rows: usize) -> Vec<bool> {
        let mut mask = vec![self.kept.is_none(); n_rows];
        self.kept.iter().flatten().for_each(|&row| mask[row as usize] = true);
        mask
    }

    /// Id of the row at this place among those that take part.
    #[inline]
    pub fn id(&self, place: usize) -> u32 {
        match &self.kept {
            Some(kept) => kept[place],
            None => place as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full_key<X: Cell>(x: X) -> (u32, Option<u32>) {
        (x.high_key(), x.low_key())
    }

    fn any_float() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            Just(0.0),
            Just(-0.0),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(5e-324),
            (-4..4).prop_map(f64::from),
        ]
    }

    proptest! {
        #[test]
        fn keys_order_like_values(a in any_float(), b in any_float()) {
            if a.is_nan() || b.is_nan() {
                prop_assert_eq!(full_key(a) == full_key(b), a.is_nan() && b.is_nan());
            } else {
                prop_assert_eq!(full_key(a).cmp(&full_key(b)), a.partial_cmp(&b).unwrap());
                let (a, b) = (a as f32, b as f32);
                prop_assert_eq!(full_key(a).cmp(&full_key(b)), a.partial_cmp(&b).unwrap());
            }
            prop_assert!(full_key(a) <= full_key(f64::NAN));
        }
    }

    #[test]
    fn powers_of_two_are_near() {
        let least = f64::MIN_POSITIVE;
        for (number, power) in [(1.0, 1.0), (-3.0, 2.0), (0.3, 0.25), (0.0, 1.0), (least, least), (5e-324, least)] {
            assert_eq!(power_of_two(&[number, 0.0]), power, "{number:e}");
        }
    }

    #[test]
    fn strides_may_be_negative_but_stay_inside() {
        let cells = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let flipped = Matrix::with_strides(&cells, 5, 3, 2, -2, -1).unwrap();
        assert_eq!((flipped.get(0, 0), flipped.get(2, 1)), (6.0, 1.0));
        assert!(Matrix::with_strides(&cells, 4, 3, 2, -2, -1).is_err());
        assert!(Matrix::with_strides(&cells, 0, 4, 2, 2, 1).is_err());
    }

    #[test]
    fn rows_without_weight_are_left_out() {
        let rows = Rows::new(4, Some(&[0.0, 1.0, 0.0, 2.0])).unwrap();
        assert_eq!((rows.len(), rows.id(0), rows.id(1)), (2, 1, 3));
        assert_eq!(rows.pick(vec!['a', 'b', 'c', 'd']), ['b', 'd']);
        assert_eq!(rows.total_weight * rows.weight_unit, 3.0);
        for bad in [[0.0; 2], [-1.0, 1.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0], [1e308, 1.7e308]] {
            assert!(Rows::new(2, Some(&bad)).is_err(), "{bad:?}");
        }
    }
}
