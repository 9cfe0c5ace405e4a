//! The unit that all targets are multiples of, such as minutes, cents or tenths.
//!
//! Sums of such targets tie by chance: 3 + 5 is 1 + 7. Scaled by 1e-12, or with an offset of 1e9,
//! each target is rounded by itself, and rounding decides these ties. 0.3 is no number of 53 bits,
//! but among 0.1, 0.2 and 0.7 it means three tenths. So where all targets are multiples of one
//! unit, up to the rounding of the largest target, the multiples replace the targets.
//!
//! The method is Euclid's algorithm with error bounds:
//!
//! ```text
//! unit = the smallest gap between two targets
//! repeat: if each distance to the lowest target is a multiple of the unit, up to rounding: done
//!         otherwise unit = gcd(unit, the remainder)
//! ```
//!
//! Cost: a few passes over the targets per fit.

use super::Grid;
use crate::median::two_sum;
use crate::wire::wire_struct;

/// Bound on the error of each target, as a share of the largest: a few roundings.
const ROUNDING: f64 = 1.0 / (1u64 << 51) as f64;
/// A unit is at least this many times as large as the error of a target.
const MIN_UNIT_IN_ROUNDINGS: f64 = 1_024.0;
/// Targets without a common unit seem to have one with a probability of 2 to minus this.
const EVIDENCE_BITS: f64 = 64.0;
/// The largest multiple: grids hold numbers of up to 51 bits.
const LARGEST_MULTIPLE: f64 = (1u64 << 50) as f64;

/// A grid on which each target, less the lowest, is a multiple of the unit. `None` if the targets
/// have no common unit that is much larger than their rounding.
///
/// The targets must ascend.
pub(crate) fn common_unit(targets: &(impl Iterator<Item = f64> + Clone)) -> Option<Grid> {
    let (lowest, highest) = (targets.clone().next()?, targets.clone().last()?);
    let rounding = ROUNDING * lowest.abs().max(highest.abs());
    let range = highest - lowest;
    let distances = || targets.clone().map(|target| target - lowest).filter(|&distance| distance > 0.0);
    // Most often the smallest gap between two targets is the unit.
    let gaps = targets.clone().zip(targets.clone().skip(1)).map(|(a, b)| b - a).filter(|&gap| gap > 0.0);
    let (mut unit, mut error) = (gaps.reduce(f64::min)?, 2.0 * rounding);
    loop {
        if unit < MIN_UNIT_IN_ROUNDINGS * rounding || range / unit > LARGEST_MULTIPLE || !range.is_finite() {
            return None;
        }
        match measure(distances(), rounding, unit, error)? {
            Measured::Multiples { unit, distinct } => {
                let bits = (distinct as f64 - 1.0) * (unit / (8.0 * rounding)).log2();
                return (bits >= EVIDENCE_BITS + 2.0 * (range / unit).log2()).then(|| Grid::of_multiples(unit));
            }
            Measured::SmallerUnit(smaller) => (unit, error) = smaller,
        }
    }
}

/// The grid of a node: fine enough for all differences that count, and exact for multiples of the
/// common unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FineGrid {
    /// Size of a grid step.
    pub unit: f64,
    grid: Grid,
    /// The number of bits by which steps are finer than those of `grid`.
    finer: u32,
    /// Whether all values are multiples of the unit of `grid`, so that none is rounded.
    pub is_exact: bool,
}

wire_struct!(FineGrid { unit, grid, finer, is_exact });

impl FineGrid {
    /// The grid for values from 0 to `largest` whose sum stays below `total`. They are multiples of
    /// the step of `multiples`, if it is given.
    pub fn new(multiples: Option<Grid>, largest: f64, total: f64) -> Self {
        let finest = Grid::new(largest, total);
        // Values that are all 0 have no unit.
        let multiples = multiples.filter(|_| largest > 0.0);
        let multiples = multiples.and_then(|grid| Some((grid, grid.bits_to(finest)?)));
        let (grid, finer) = multiples.unwrap_or((finest, 0));
        Self { unit: grid.unit / (1u64 << finer) as f64, grid, finer, is_exact: multiples.is_some() }
    }

    /// The difference of two values, in steps that are finer by this many bits. A multiple of the
    /// unit stays one. Differences that ascend stay in order.
    pub fn put_difference(self, a: f64, b: f64, bits: u32) -> i128 {
        let (difference, error) = two_sum(a, -b);
        if self.is_exact {
            return i128::from(self.put(difference)) << bits;
        }
        // Where the error counts, the difference is so large that it is a whole number of steps.
        [difference, error].map(|part| (self.grid.in_units(part) * (1u64 << bits) as f64) as i128).into_iter().sum()
    }

    /// The value in grid steps, rounded to the nearest. A multiple of the unit stays one.
    #[inline(always)]
    pub fn put(self, value: f64) -> i64 {
        self.grid.put(value) << self.finer
    }
}

enum Measured {
    /// All distances are multiples of this unit; `distinct` of them are different.
    Multiples { unit: f64, distinct: usize },
    /// A distance leaves a remainder. This smaller unit divides both the old unit and the
    /// remainder; the second number bounds its error.
    SmallerUnit((f64, f64)),
}

/// Divides distances, which are positive and ascend, by a unit with an error of at most `error`.
/// Each distance that is a multiple refines the unit: the larger it is, the smaller the error.
/// `None` if rounding hides whether a distance is a multiple.
fn measure(distances: impl Iterator<Item = f64>, rounding: f64, mut unit: f64, mut error: f64) -> Option<Measured> {
    let (mut distinct, mut last, mut last_multiple) = (0, 0.0, 0.0);
    for distance in distances {
        if distance == last {
            continue;
        }
        let multiple = (distance / unit).round();
        let (remainder, tolerance) = ((distance - multiple * unit).abs(), 2.0 * (rounding + multiple * error));
        if tolerance > unit / 8.0 {
            return None;
        }
        if remainder > tolerance {
            return Some(Measured::SmallerUnit(approximate_gcd((unit, error), (remainder, tolerance))));
        }
        if multiple == last_multiple {
            return None;
        }
        (unit, error) = (distance / multiple, rounding / multiple);
        (distinct, last, last_multiple) = (distinct + 1, distance, multiple);
    }
    Some(Measured::Multiples { unit, distinct })
}

/// The greatest number that both are multiples of, up to their errors. Numbers come as pairs with a
/// bound on their error.
fn approximate_gcd(mut a: (f64, f64), mut b: (f64, f64)) -> (f64, f64) {
    while b.0 > b.1 {
        let times = (a.0 / b.0).round();
        (a, b) = (b, ((a.0 - times * b.0).abs(), a.1 + times * b.1));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::draw::Dice;
    use proptest::prelude::*;

    fn unit_of(mut targets: Vec<f64>) -> Option<f64> {
        targets.sort_by(f64::total_cmp);
        common_unit(&targets.into_iter()).map(|grid| grid.unit)
    }

    #[test]
    fn tenths_are_tenths() {
        let unit = unit_of(vec![0.3, 0.1, 0.2, 0.7, 1.6]).unwrap();
        assert!((unit - 0.1).abs() < 1e-15, "{unit}");
        assert_eq!(unit_of((0..50).map(|k| f64::from(k * k)).collect()), Some(1.0));
        assert_eq!(unit_of(vec![5.0; 9]), None);
        assert_eq!(unit_of(vec![]), None);
    }

    proptest! {
        #[test]
        fn multiples_are_found_again(
            multiples in prop::collection::btree_set(-1_000..1_000i64, 6..60),
            factor in 1..50i64,
            scale in prop_oneof![Just(1.0), Just(0.1), Just(1e-12), 1e-9..1e9],
            offset in prop_oneof![Just(0i64), -1_000_000..1_000_000i64],
        ) {
            let targets: Vec<f64> = multiples.iter().map(|k| (k * factor + offset) as f64 * scale).collect();
            let grid = common_unit(&targets.iter().copied()).unwrap();
            let first = multiples.first().unwrap();
            let numbers: Vec<i64> = targets.iter().map(|target| grid.put(target - targets[0])).collect();
            // The numbers found are the multiples divided by what all of them have in common.
            let common = multiples.iter().map(|k| k - first).fold(0, gcd);
            let expected: Vec<i64> = multiples.iter().map(|k| (k - first) / common).collect();
            prop_assert_eq!(numbers, expected);
        }

        /// The offset rounds each target by itself.
        #[test]
        fn offsets_leave_the_unit(multiples in prop::collection::btree_set(0..1_000i64, 9..60), seed in any::<u64>()) {
            let offset = Dice::new(seed).below(10_000_000) as f64;
            let targets: Vec<f64> = multiples.iter().map(|&k| k as f64 * 0.1 + offset).collect();
            let plain: Vec<f64> = multiples.iter().map(|&k| k as f64).collect();
            let numbers = |targets: &[f64]| {
                let grid = common_unit(&targets.iter().copied()).unwrap();
                targets.iter().map(|target| grid.put(target - targets[0])).collect::<Vec<_>>()
            };
            prop_assert_eq!(numbers(&targets), numbers(&plain));
        }

        #[test]
        fn reals_have_no_unit(mut targets in prop::collection::vec(-1.0..1.0f64, 2..100), offset in prop_oneof![Just(0.0), Just(1e9)]) {
            for target in &mut targets {
                *target += offset;
            }
            // With an offset, targets are multiples of its rounding step, which is too small to
            // count as a unit.
            prop_assert_eq!(unit_of(targets), None);
        }
    }

    fn gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
}
