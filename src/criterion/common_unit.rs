//! The unit that all targets are multiples of, such as minutes, cents or tenths.
//!
//! Medians of such targets tie by chance: 3 + 5 is 1 + 7. Times 1e-12, or with an offset of 1e9, each target is rounded by itself and
//! such ties fall apart, one way or the other. 0.3 is no number of 53 bits, but among 0.1, 0.2 and 0.7 it means three tenths; so where all
//! targets are multiples of one unit, up to the rounding of the largest, that is what counts of them.
//!
//! Euclid's algorithm, with the rounding of floats in mind. Cost: a few passes over the targets of a fit.

use super::Grid;

/// Each target may be off by so much of the largest: a few roundings.
const ROUNDING: f64 = 1.0 / (1u64 << 51) as f64;
/// A unit is this many times as large as what a target may be off by, at least.
const LEAST: f64 = 1_024.0;
/// Targets without any unit seem to have one with a chance of 2 to minus this.
const EVIDENCE: f64 = 64.0;
/// The largest multiple: grids put numbers of up to 51 bits.
const LARGEST: f64 = (1u64 << 50) as f64;

/// A grid on which each of these targets, less the lowest, is a multiple of the unit; `None` if there is none that is much larger than
/// what targets are rounded by.
///
/// Targets ascend.
pub(crate) fn common_unit(targets: &(impl Iterator<Item = f64> + Clone)) -> Option<Grid> {
    let (lowest, highest) = (targets.clone().next()?, targets.clone().last()?);
    let rounding = ROUNDING * lowest.abs().max(highest.abs());
    let range = highest - lowest;
    let distances = || targets.clone().map(|target| target - lowest).filter(|&distance| distance > 0.0);
    // Most often the smallest gap between two is the unit.
    let gaps = targets.clone().zip(targets.clone().skip(1)).map(|(a, b)| b - a).filter(|&gap| gap > 0.0);
    let (mut unit, mut error) = (gaps.reduce(f64::min)?, 2.0 * rounding);
    loop {
        if unit < LEAST * rounding || range / unit > LARGEST || !range.is_finite() {
            return None;
        }
        match measure(distances(), rounding, unit, error)? {
            Measured::Multiples { unit, distinct } => {
                let bits = (distinct as f64 - 1.0) * (unit / (8.0 * rounding)).log2();
                return (bits >= EVIDENCE + 2.0 * (range / unit).log2()).then(|| Grid::of_multiples(unit));
            }
            Measured::Part(part) => (unit, error) = part,
        }
    }
}

/// The grid of a node: fine enough for all differences that count, and exact for multiples of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FineGrid {
    /// Size of a unit.
    pub unit: f64,
    grid: Grid,
    /// Bits by which it is finer than that.
    finer: u32,
}

impl FineGrid {
    /// For values from 0 to `largest` whose sum stays below `total`, and which are multiples of a unit if one is given.
    pub fn new(multiples: Option<Grid>, largest: f64, total: f64) -> Self {
        let finest = Grid::new(largest, total);
        // Values that are all 0 are no multiples of anything.
        let multiples = multiples.filter(|_| largest > 0.0);
        let (grid, finer) = multiples.and_then(|grid| Some((grid, grid.bits_to(finest)?))).unwrap_or((finest, 0));
        Self { unit: grid.unit / (1u64 << finer) as f64, grid, finer }
    }

    /// The value in units, rounded to the nearest; a multiple stays one.
    #[inline(always)]
    pub fn put(self, value: f64) -> i64 {
        self.grid.put(value) << self.finer
    }
}

enum Measured {
    /// All are multiples of this; so many are different.
    Multiples { unit: f64, distinct: usize },
    /// One of them leaves a rest, and it is a part of the unit that both are multiples of: its size, and by how much that may be off.
    Part((f64, f64)),
}

/// Measures distances, which are positive and ascend, by a unit that may be off by `error`; the further they are, the better they tell the unit. `None` if
/// they can't be told apart.
fn measure(distances: impl Iterator<Item = f64>, rounding: f64, mut unit: f64, mut error: f64) -> Option<Measured> {
    let (mut distinct, mut last, mut last_multiple) = (0, 0.0, 0.0);
    for distance in distances {
        if distance == last {
            continue;
        }
        let multiple = (distance / unit).round();
        let (rest, off) = ((distance - multiple * unit).abs(), 2.0 * (rounding + multiple * error));
        if off > unit / 8.0 {
            return None;
        }
        if rest > off {
            return Some(Measured::Part(common_part((unit, error), (rest, off))));
        }
        if multiple == last_multiple {
            return None;
        }
        (unit, error) = (distance / multiple, rounding / multiple);
        (distinct, last, last_multiple) = (distinct + 1, distance, multiple);
    }
    Some(Measured::Multiples { unit, distinct })
}

/// What both are multiples of, and by how much it may be off. Each is given with that, too.
fn common_part(mut a: (f64, f64), mut b: (f64, f64)) -> (f64, f64) {
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
            // Multiples of one another: the same, but for what they all have in common.
            let common = multiples.iter().map(|k| k - first).fold(0, num_gcd);
            let expected: Vec<i64> = multiples.iter().map(|k| (k - first) / common).collect();
            prop_assert_eq!(numbers, expected);
        }

        /// An offset that rounds each of them by itself.
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
            // Those of an offset are multiples of what they are rounded to, and no others.
            prop_assert_eq!(unit_of(targets), None);
        }
    }

    fn num_gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { num_gcd(b, a % b) }
    }
}
