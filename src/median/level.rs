//! The level of a quantile, as the fraction that it stands for.
//!
//! 0.7 is no number of 53 bits, but nobody who writes it means 0.6999999999999999556. A level is therefore the simplest fraction
//! that rounds to the number given: 0.7 is 7/10, and ten rows have their boundary right after the seventh. With two
//! integers, whether a share of weight is below, at or above the level is a comparison of integers.

/// The largest denominator: products with sums of weights stay within 128 bits. Levels are told apart to 1e-9.
const FINEST: u64 = 1 << 30;

/// A level strictly between 0 and 1: `below / whole`. At the optimum, at most this share of the weight is below, and at most
/// the rest above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    below: u32,
    whole: u32,
}

impl Level {
    /// The median.
    pub const HALF: Self = Self { below: 1, whole: 2 };

    /// The level that this number stands for; `None` unless it is strictly between 0 and 1.
    ///
    /// Closer to 0 or 1 than 2^-30 counts as 2^-30 from it.
    #[must_use]
    pub fn new(level: f64) -> Option<Self> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let finest = 1.0 / FINEST as f64;
        let (below, whole) = simplest_fraction(level.clamp(finest, 1.0 - finest));
        Some(Self { below: below as u32, whole: whole as u32 })
    }

    /// Numerator: the cost of a unit of weight above, in units of `1 / whole`.
    #[inline(always)]
    #[must_use]
    pub fn below(self) -> i64 {
        i64::from(self.below)
    }

    /// Denominator.
    #[inline(always)]
    #[must_use]
    pub fn whole(self) -> i64 {
        i64::from(self.whole)
    }

    /// What a deviation above the quantile costs.
    #[must_use]
    pub fn cost_above(self) -> f64 {
        f64::from(self.below) / f64::from(self.whole)
    }

    /// What a deviation below the quantile costs.
    #[must_use]
    pub fn cost_below(self) -> f64 {
        f64::from(self.whole - self.below) / f64::from(self.whole)
    }

    /// What a row of weight one adds to the upward slope of the loss around a place, in units of `1 / whole`.
    pub(crate) fn slope(self, is_below: bool) -> f64 {
        (if is_below { self.below() - self.whole() } else { self.below() }) as f64
    }

    /// The first of the ranks whose weight, with that of all before, is more than the level's share of `total`; the last one if none is.
    pub(crate) fn rank(self, n_rows: usize, total: f64, weight: impl Fn(usize) -> f64) -> usize {
        let (below, whole) = (self.below() as f64, self.whole() as f64);
        let (mut rank, mut passed) = (0, weight(0));
        while rank + 1 < n_rows && whole * passed <= below * total {
            rank += 1;
            passed += weight(rank);
        }
        rank
    }

    /// Bits that a product with the denominator adds.
    #[must_use]
    pub fn bits(self) -> u32 {
        (self.whole - 1).ilog2() + 1
    }
}

/// The first convergent of the number's continued fraction that rounds to it, or the last with a denominator in range.
fn simplest_fraction(number: f64) -> (u64, u64) {
    // Exact: the number is at least 2^-30, so it is a multiple of 2^-83.
    let (mut above, mut below) = ((number * (1u128 << 83) as f64) as u128, 1u128 << 83);
    let (mut last, mut fraction) = ((0, 1), (1, 0));
    while below != 0 {
        let digit = above / below;
        (above, below) = (below, above % below);
        let longer = |last: u64, now: u64| digit.checked_mul(u128::from(now))?.checked_add(u128::from(last));
        let Some(next) = longer(last.0, fraction.0).zip(longer(last.1, fraction.1)) else { break };
        if next.1 > u128::from(FINEST) {
            break;
        }
        (last, fraction) = (fraction, (next.0 as u64, next.1 as u64));
        if fraction.0 as f64 / fraction.1 as f64 == number {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_decimals() {
        for (level, below, whole) in [(0.5, 1, 2), (0.7, 7, 10), (0.05, 1, 20), (0.95, 19, 20), (1.0 / 3.0, 1, 3)] {
            assert_eq!(Level::new(level), Some(Level { below, whole }), "{level}");
        }
        assert_eq!(Level::new(0.001).map(Level::bits), Some(10));
        assert_eq!(Level::HALF.bits(), 1);
    }

    #[test]
    fn levels_are_strictly_between_0_and_1() {
        for level in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(level), None, "{level}");
        }
        for level in [f64::MIN_POSITIVE, 1e-300, 1e-9, 1.0 - f64::EPSILON] {
            let Level { below, whole } = Level::new(level).unwrap();
            assert!(0 < below && below < whole, "{level} as {below}/{whole}");
        }
    }

    proptest! {
        #[test]
        fn fractions_come_back(whole in 2..5_000u32, below in 1..5_000u32) {
            prop_assume!(below < whole);
            let level = Level::new(f64::from(below) / f64::from(whole)).unwrap();
            prop_assert_eq!(u64::from(level.below) * u64::from(whole), u64::from(level.whole) * u64::from(below));
            prop_assert!(level.whole <= whole);
        }

        #[test]
        fn any_number_is_met_closely(number in 1e-6..1.0f64) {
            let level = Level::new(number).unwrap();
            prop_assert!((level.cost_above() - number).abs() <= 1e-9);
            prop_assert!((level.cost_above() + level.cost_below() - 1.0).abs() <= f64::EPSILON);
        }
    }
}
