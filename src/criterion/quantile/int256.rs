//! HOT: integers for sums of weights times targets, of 128 or of 256 bits.
//!
//! The weighted sweep is written for both. 128 bits hold targets and weights of 51 bits each, which
//! is enough unless a few rows are many decades above all others. 256 bits hold 101 bits of each.
//! Their sums cost two additions instead of one, their products five multiplications.

use std::fmt::Debug;
use std::ops::{Add, Sub};

/// A sum of weights times targets.
pub trait Moment: Copy + Debug + Default + PartialEq + Add<Output = Self> + Sub<Output = Self> {
    /// A target, a weight, or a sum of weights.
    type Part: Copy + Debug + Default + PartialEq + Into<i128> + Add<Output = Self::Part> + Sub<Output = Self::Part>;

    fn product(factor: i128, part: Self::Part) -> Self;

    /// The product with a factor that is not negative.
    fn times(self, factor: i64) -> Self;

    /// Number of bits of a sum that is not negative.
    fn bits(self) -> u32;

    /// The sum without this many of its low bits, rounded down. The rest must fit.
    fn shifted(self, bits: u32) -> i64;
}

impl Moment for i128 {
    type Part = i64;

    #[inline(always)]
    fn product(factor: i128, part: i64) -> Self {
        factor * Self::from(part)
    }

    #[inline(always)]
    fn times(self, factor: i64) -> Self {
        self * Self::from(factor)
    }

    fn bits(self) -> u32 {
        Self::BITS - self.leading_zeros()
    }

    #[inline(always)]
    fn shifted(self, bits: u32) -> i64 {
        (self >> bits) as i64
    }
}

/// A signed integer of 256 bits in two's complement. Results that don't fit lose their high bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Int256 {
    high: i128,
    low: u128,
}

impl Add for Int256 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let (low, carries) = self.low.overflowing_add(other.low);
        Self { high: self.high.wrapping_add(other.high).wrapping_add(i128::from(carries)), low }
    }
}

impl Sub for Int256 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let (low, borrows) = self.low.overflowing_sub(other.low);
        Self { high: self.high.wrapping_sub(other.high).wrapping_sub(i128::from(borrows)), low }
    }
}

impl Moment for Int256 {
    type Part = i128;

    fn product(factor: i128, part: i128) -> Self {
        let Self { high, low } = product(factor as u128, part as u128);
        // As unsigned numbers, negative factors are 2^128 too large.
        let excess = |other: i128, is_negative: bool| if is_negative { other } else { 0 };
        let high = high.wrapping_sub(excess(part, factor < 0)).wrapping_sub(excess(factor, part < 0));
        Self { high, low }
    }

    fn times(self, factor: i64) -> Self {
        let Self { high, low } = product(self.low, factor as u128);
        Self { high: high.wrapping_add(self.high.wrapping_mul(i128::from(factor))), low }
    }

    fn bits(self) -> u32 {
        if self.high == 0 { u128::BITS - self.low.leading_zeros() } else { 2 * i128::BITS - self.high.leading_zeros() }
    }

    fn shifted(self, bits: u32) -> i64 {
        match bits {
            0 => self.low as i64,
            1..128 => (self.low >> bits) as i64 | (self.high << (128 - bits)) as i64,
            _ => (self.high >> (bits - 128)) as i64,
        }
    }
}

/// The product of unsigned numbers, digit by digit in base 2^64.
fn product(a: u128, b: u128) -> Int256 {
    let digits = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (digits(a), digits(b));
    let (low, middle) = (a0 * b0, a1 * b0);
    let (carried, middle_low) = digits(middle + (low >> 64));
    let middle = a0 * b1 + middle_low;
    Int256 { high: (a1 * b1 + carried + (middle >> 64)) as i128, low: middle << 64 | low & u128::from(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The remainder of the number divided by 2^61 − 1, which knows nothing of two's complement.
    fn remainder(x: Int256) -> i128 {
        const PRIME: i128 = (1 << 61) - 1;
        let digits =
            [x.high >> 64, x.high & i128::from(u64::MAX), (x.low >> 64) as i128, x.low as i128 & i128::from(u64::MAX)];
        digits.into_iter().fold(0, |sum, digit| ((sum << 64).rem_euclid(PRIME) + digit).rem_euclid(PRIME))
    }

    fn widened(x: i128) -> Int256 {
        Int256 { high: x >> 127, low: x as u128 }
    }

    proptest! {
        #[test]
        fn small_results_are_those_of_128_bits(a in any::<i64>(), b in any::<i64>(), c in 0..1i64 << 31, bits in 0..128u32) {
            let (x, y) = (i128::from(a), i128::from(b));
            prop_assert_eq!(widened(x) + widened(y), widened(x + y));
            prop_assert_eq!(widened(x) - widened(y), widened(x - y));
            prop_assert_eq!(Int256::product(x, y), widened(x * y));
            prop_assert_eq!(widened(x).times(c), widened(x * i128::from(c)));
            prop_assert_eq!(widened(x * y).shifted(bits), ((x * y) >> bits) as i64);
            prop_assert_eq!(widened(x.abs()).bits(), x.abs().bits());
        }

        #[test]
        fn large_results_have_the_right_remainders(a in any::<i128>(), b in any::<i128>(), c in any::<i128>(), d in 0..1i64 << 31) {
            let (a, b, c) = (a >> 2, b >> 2, c >> 40);
            let times = |x: i128, y: i128| remainder(widened(remainder(widened(x)) * remainder(widened(y))));
            let (ab, bc) = (Int256::product(a, b), Int256::product(b, c));
            prop_assert_eq!(remainder(ab), times(a, b));
            prop_assert_eq!(remainder(ab + bc), remainder(widened(times(a, b) + times(b, c))));
            prop_assert_eq!(remainder(ab - bc), remainder(widened(times(a, b) - times(b, c))));
            prop_assert_eq!(remainder(bc.times(d)), times(times(b, c), i128::from(d)));
        }

        #[test]
        fn bits_are_dropped(a in any::<i128>(), bits in 0..120u32) {
            let a = a >> 66;
            // a · 2^bits · 2^70, in two steps.
            let large = Int256::product(a << (bits / 2), 1 << (bits - bits / 2)) ;
            let larger = Int256::product(1 << 60, 1 << 10);
            prop_assert_eq!(large.shifted(bits), a as i64);
            prop_assert_eq!(Int256::product(a << 64, 1 << bits).shifted(64 + bits), a as i64);
            prop_assert_eq!(larger.bits(), 71);
            prop_assert_eq!(Int256::product(1 << 100, 1 << bits).bits(), 101 + bits);
        }
    }
}
