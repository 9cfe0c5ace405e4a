//! Sums that don't depend on their order.
//!
//! Each node puts its targets on a grid of its own. The grid is fine enough to keep 51 bits of the
//! largest value (fewer above 2,048 rows), and coarse enough for the sum of all rows to fit in 63
//! bits. Integer sums are exact: they are the same for every order, thread count and vector width,
//! and two features that cut the same rows get bit-equal gains. Because the grid belongs to the
//! node, an outlier coarsens only the nodes that contain it. Cost: one multiplication and one
//! addition per row.

use crate::wire::wire_struct;

/// 1.5 · 2^52. Adding it to a float of up to 2^51 rounds the float to an integer, which is then in
/// the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// A grid for values from `-largest` to `largest` whose sums of absolute values stay below `total`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Size of a unit: a power of two, so that scaling is exact, or the unit that all values are
    /// multiples of.
    pub unit: f64,
    per_unit: f64,
}

wire_struct!(Grid { unit, per_unit });

impl Grid {
    pub const ONE: Self = Self { unit: 1.0, per_unit: 1.0 };

    pub fn new(largest: f64, total: f64) -> Self {
        let finest = (largest * exp2(-51)).max(total * exp2(-62));
        // Clamped so that the unit and its reciprocal are normal numbers.
        let exponent = (exponent(finest) + 1).clamp(-1022, 1021);
        Self { unit: exp2(exponent), per_unit: exp2(-exponent) }
    }

    /// The grid for values that are multiples of this unit, up to rounding.
    pub fn of_multiples(unit: f64) -> Self {
        Self { unit, per_unit: 1.0 / unit }
    }

    /// By how many bits the other grid is finer than this one; `None` if it is coarser.
    pub fn bits_to(self, finer: Self) -> Option<u32> {
        u32::try_from(exponent(self.unit) - exponent(finer.unit)).ok()
    }

    #[inline(always)]
    pub fn in_units(self, value: f64) -> f64 {
        value * self.per_unit
    }

    /// The value in units, rounded to the nearest.
    #[inline(always)]
    pub fn put(self, value: f64) -> i64 {
        ((self.in_units(value) + ROUNDER).to_bits() as i64).wrapping_sub(ROUNDER.to_bits() as i64)
    }
}

/// The nearest float, like `as f64`, but with operations that plain x86-64 has vectors for: each
/// half of the integer becomes the low bits of a float with a known exponent, 2^52 for the low half
/// and 2^84 for the high one.
#[inline(always)]
pub(super) fn to_f64(x: i64) -> f64 {
    let low = f64::from_bits(x as u64 & 0xFFFF_FFFF | 0x4330_0000_0000_0000);
    let high = f64::from_bits(x as u64 >> 32 ^ 0x4530_0000_8000_0000);
    (high - f64::from_bits(0x4530_0000_8010_0000)) + low
}

/// 2 to this power, within the range of normal numbers.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Exponent of a positive normal number; less than all of these for 0 and subnormal numbers.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7FF) as i32 - 1023
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_keep_their_leading_bits(values in prop::collection::vec(-1.0..1.0f64, 1..500), scale in -280..280i32) {
            let scale = 2f64.powi(scale);
            let values: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let grid = Grid::new(scale, scale * values.len() as f64);
            for &value in &values {
                prop_assert!((grid.put(value) as f64 * grid.unit - value).abs() <= scale * exp2(-50));
            }
            let sum: i64 = values.iter().map(|&v| grid.put(v)).sum();
            let reversed: i64 = values.iter().rev().map(|&v| grid.put(v)).sum();
            prop_assert_eq!(sum, reversed);
        }

        #[test]
        fn integers_are_exact(values in prop::collection::vec(0..1_000_000i64, 1..100)) {
            let grid = Grid::new(1e6, 1e8);
            for &value in &values {
                prop_assert_eq!(grid.put(value as f64) as f64 * grid.unit, value as f64);
            }
        }
    }

    proptest! {
        #[test]
        fn conversion_rounds_once(x in any::<i64>(), shift in 0..64u32) {
            prop_assert_eq!(to_f64(x >> shift), (x >> shift) as f64);
        }
    }

    #[test]
    fn sums_of_two_billion_rows_fit() {
        let grid = Grid::new(1.0, 2f64.powi(31));
        assert!(grid.put(1.0) <= 1 << 31);
    }
}
