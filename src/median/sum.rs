//! A sum with twice the precision of its terms.

/// An unevaluated sum of two floats, the second below half a unit of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Knuth's sum of two floats without error, then once more with the low part.
    #[inline(always)]
    pub fn plus(self, term: f64) -> Self {
        let (high, error) = two_sum(self.high, term);
        let (high, low) = two_sum(high, error + self.low);
        Self { high, low }
    }

    /// The nearest float.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.high
    }
}

/// The rounded sum and what rounding took off.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_add_up_in_any_order() {
        let sum = |terms: &[f64]| terms.iter().fold(Sum::default(), |sum, &term| sum.plus(term)).value();
        let mut tenths = vec![0.1; 1_000_000];
        tenths.extend([1e16, 3.0, -1e16]);
        let expected = 100_003.000_000_000_01; // A million times the float next to 0.1.
        assert!((sum(&tenths) - expected).abs() < 1e-10);
        tenths.reverse();
        assert!((sum(&tenths) - expected).abs() < 1e-10);
    }
}
