//! The level of a quantile, as the fraction that it stands for.
//!
//! No float equals 0.7: the nearest one is 0.6999999999999999556. A level is therefore the simplest
//! fraction that rounds to the given float: 0.7 is 7/10, and the quantile of ten rows lies exactly
//! between the seventh and the eighth. Numerator and denominator make it a comparison of integers
//! whether a share of weight is below, at or above the level.

/// The largest denominator: products with sums of weights fit in 128 bits. Levels that differ by
/// more than 1e-9 stay different.
const MAX_DENOMINATOR: u64 = 1 << 30;

/// A level strictly between 0 and 1. At the quantile, at most this share of the weight is strictly
/// below, and at most the rest strictly above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    numerator: u32,
    denominator: u32,
}

impl Level {
    /// The median.
    pub const HALF: Self = Self { numerator: 1, denominator: 2 };

    /// The level that this number stands for; `None` unless it is strictly between 0 and 1.
    ///
    /// Numbers closer to 0 or 1 than 2^-30 are moved to that distance.
    #[must_use]
    pub fn new(level: f64) -> Option<Self> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let finest = 1.0 / MAX_DENOMINATOR as f64;
        let (numerator, denominator) = simplest_fraction(level.clamp(finest, 1.0 - finest));
        Some(Self { numerator: numerator as u32, denominator: denominator as u32 })
    }

    /// Numerator: the cost per unit of weight and deviation above the quantile, in units of
    /// 1/denominator.
    #[inline(always)]
    #[must_use]
    pub fn numerator(self) -> i64 {
        i64::from(self.numerator)
    }

    /// The unit of costs and slopes is 1/denominator.
    #[inline(always)]
    #[must_use]
    pub fn denominator(self) -> i64 {
        i64::from(self.denominator)
    }

    /// Pinball loss per unit of deviation above the quantile.
    #[must_use]
    pub fn cost_above(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Pinball loss per unit of deviation below the quantile.
    #[must_use]
    pub fn cost_below(self) -> f64 {
        f64::from(self.denominator - self.numerator) / f64::from(self.denominator)
    }

    /// By how much the loss of a row of weight one falls as the point that it is measured from
    /// moves up, per unit of distance, in units of 1/denominator: (p − q) for rows below the
    /// point, p for rows above it.
    pub(crate) fn slope(self, is_below: bool) -> f64 {
        (if is_below { self.numerator() - self.denominator() } else { self.numerator() }) as f64
    }

    /// The first rank up to which the weight exceeds the level's share of `total`; the last rank if
    /// there is none.
    pub(crate) fn rank(self, n_rows: usize, total: f64, weight: impl Fn(usize) -> f64) -> usize {
        let (numerator, denominator) = (self.numerator() as f64, self.denominator() as f64);
        let (mut rank, mut passed) = (0, weight(0));
        while rank + 1 < n_rows && denominator * passed <= numerator * total {
            rank += 1;
            passed += weight(rank);
        }
        rank
    }

    /// Number of bits that multiplication by the denominator adds at most.
    #[must_use]
    pub fn denominator_bits(self) -> u32 {
        (self.denominator - 1).ilog2() + 1
    }
}

/// The first convergent of the number's continued fraction that rounds to it, or the last one with
/// a denominator in range.
fn simplest_fraction(number: f64) -> (u64, u64) {
    // This is exact: the number is at least 2^-30, so it is a multiple of 2^-83.
    let (mut above, mut below) = ((number * (1u128 << 83) as f64) as u128, 1u128 << 83);
    let (mut last, mut fraction) = ((0, 1), (1, 0));
    while below != 0 {
        let digit = above / below;
        (above, below) = (below, above % below);
        let longer = |last: u64, now: u64| digit.checked_mul(u128::from(now))?.checked_add(u128::from(last));
        let Some(next) = longer(last.0, fraction.0).zip(longer(last.1, fraction.1)) else { break };
        if next.1 > u128::from(MAX_DENOMINATOR) {
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
        for (level, numerator, denominator) in
            [(0.5, 1, 2), (0.7, 7, 10), (0.05, 1, 20), (0.95, 19, 20), (1.0 / 3.0, 1, 3)]
        {
            assert_eq!(Level::new(level), Some(Level { numerator, denominator }), "{level}");
        }
        assert_eq!(Level::new(0.001).map(Level::denominator_bits), Some(10));
        assert_eq!(Level::HALF.denominator_bits(), 1);
    }

    #[test]
    fn levels_are_strictly_between_0_and_1() {
        for level in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(level), None, "{level}");
        }
        for level in [f64::MIN_POSITIVE, 1e-300, 1e-9, 1.0 - f64::EPSILON] {
            let Level { numerator, denominator } = Level::new(level).unwrap();
            assert!(0 < numerator && numerator < denominator, "{level} as {numerator}/{denominator}");
        }
    }

    proptest! {
        #[test]
        fn fractions_come_back(q in 2..5_000u32, p in 1..5_000u32) {
            prop_assume!(p < q);
            let level = Level::new(f64::from(p) / f64::from(q)).unwrap();
            prop_assert_eq!(u64::from(level.numerator) * u64::from(q), u64::from(level.denominator) * u64::from(p));
            prop_assert!(level.denominator <= q);
        }

        #[test]
        fn any_number_is_met_closely(number in 1e-6..1.0f64) {
            let level = Level::new(number).unwrap();
            prop_assert!((level.cost_above() - number).abs() <= 1e-9);
            prop_assert!((level.cost_above() + level.cost_below() - 1.0).abs() <= f64::EPSILON);
        }
    }
}
