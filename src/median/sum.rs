//! Sums in double-double arithmetic: about 106 bits.
//!
//! A loss is the difference of two sums that both grow with an offset of the values. In plain
//! floats an offset of 1e9 would cost nine of its sixteen digits. Cost: about ten operations per
//! addition.

/// The sum of two floats; `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DoubleDouble {
    high: f64,
    low: f64,
}

impl DoubleDouble {
    /// a · b without error, up to overflow and underflow.
    #[inline(always)]
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    #[inline(always)]
    pub fn plus(self, term: f64) -> Self {
        let (high, error) = two_sum(self.high, term);
        Self::renormalised(high, error + self.low)
    }

    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        Self::renormalised(high, error + (self.low + other.low))
    }

    #[inline(always)]
    pub fn sub(self, other: Self) -> Self {
        self.add(Self { high: -other.high, low: -other.low })
    }

    #[inline(always)]
    pub fn times(self, factor: f64) -> Self {
        let product = Self::product(self.high, factor);
        Self::renormalised(product.high, product.low + self.low * factor)
    }

    /// The nearest float.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.high
    }

    #[inline(always)]
    fn renormalised(high: f64, low: f64) -> Self {
        let (high, low) = two_sum(high, low);
        Self { high, low }
    }
}

/// The rounded sum and its rounding error (Knuth's `TwoSum`).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// Σw and Σw·y over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub weight: DoubleDouble,
    pub moment: DoubleDouble,
}

impl Sums {
    #[inline(always)]
    pub fn of_row(value: f64, weight: f64) -> Self {
        Self { weight: DoubleDouble::default().plus(weight), moment: DoubleDouble::product(weight, value) }
    }

    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        Self { weight: self.weight.add(other.weight), moment: self.moment.add(other.moment) }
    }

    #[inline(always)]
    pub fn sub(self, other: Self) -> Self {
        Self { weight: self.weight.sub(other.weight), moment: self.moment.sub(other.moment) }
    }

    /// Σw·(y − m).
    #[inline(always)]
    pub fn above(self, m: f64) -> f64 {
        self.moment.sub(self.weight.times(m)).value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_add_up_in_any_order() {
        let sum = |terms: &[f64]| terms.iter().fold(DoubleDouble::default(), |sum, &term| sum.plus(term)).value();
        let mut tenths = vec![0.1; 1_000_000];
        tenths.extend([1e16, 3.0, -1e16]);
        let expected = 100_003.000_000_000_01; // A million times the float next to 0.1.
        assert!((sum(&tenths) - expected).abs() < 1e-10);
        tenths.reverse();
        assert!((sum(&tenths) - expected).abs() < 1e-10);
    }

    #[test]
    fn deviations_survive_an_offset() {
        let rows = [(1e12 + 0.125, 0.1), (1e12 + 0.25, 0.7), (1e12 + 0.5, 1.0 / 3.0)];
        let sums = rows.iter().fold(Sums::default(), |sums, &(y, w)| sums.add(Sums::of_row(y, w)));
        let expected: f64 = rows.iter().map(|&(y, w)| w * (y - 1e12)).sum();
        assert!((sums.above(1e12) - expected).abs() <= 1e-15);
        let less = sums.sub(Sums::of_row(rows[0].0, rows[0].1));
        assert!((less.above(1e12) - (expected - 0.0125)).abs() <= 1e-15);
    }
}
