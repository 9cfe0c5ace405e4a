//! The quantile of a set and the loss around it, from its values in ascending order: what a leaf
//! predicts and reports.
//!
//! A quantile is a value with at most its share of the weight strictly below and at most the rest
//! strictly above. If the share is met exactly between two values, every number from one to the
//! other is a quantile, and the midpoint is taken; for an even number of values that is the usual
//! median. Weights such as 0.1, 0.2 and 0.3 meet a share only up to rounding, so a share counts as
//! met within 2^-50 of the total weight, which is summed in double-double arithmetic. The result is
//! then the same as for the weights 1, 2 and 3.
//!
//! Cost: O(n) time, no memory.

use std::ops::Range;

use super::level::Level;
use super::sum::DoubleDouble;

/// A share counts as met exactly within this part of the total weight.
const SHARE_TOLERANCE: f64 = 1.0 / (1u64 << 50) as f64;

/// A quantile and the deviations from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Center {
    /// The quantile: the midpoint of all points of least loss.
    pub value: f64,
    /// Σw·(y − value) over the rows above.
    pub above: f64,
    /// Σw·(value − y) over the rows below.
    pub below: f64,
}

impl Center {
    /// From values in ascending order, at least one.
    #[must_use]
    pub fn of_values(level: Level, sorted: &[f64]) -> Self {
        Self::of_places(level, sorted.len(), |place| sorted[place])
    }

    /// From `n` values, at least one; `at(place)` ascends.
    pub fn of_places(level: Level, n: usize, at: impl Fn(usize) -> f64) -> Self {
        let (upper, at_boundary) = upper_place(level, n);
        let value = midpoint(at(upper - usize::from(at_boundary)), at(upper));
        Self {
            value,
            above: sum_in_lanes(upper..n, |place| at(place) - value),
            below: sum_in_lanes(0..upper, |place| value - at(place)),
        }
    }

    /// From values in ascending order with their weights, at least one of them positive.
    pub fn of_weighted(level: Level, rows: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        Self::of_weights::<DoubleDouble>(level, rows)
    }

    /// The same for weights whose sums are exact in floats, such as counts.
    pub(crate) fn of_exact_weights(level: Level, rows: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        Self::of_weights::<f64>(level, rows)
    }

    fn of_weights<S: WeightSum>(level: Level, rows: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let total = rows.clone().fold(S::default(), |sum, (_, weight)| sum.plus(weight)).value();
        let share = Share::new(level, total);
        let (mut lower, mut upper, mut sum) = (None, f64::NAN, S::default());
        for (y, weight) in rows.clone() {
            sum = sum.plus(weight);
            if share.is_met(sum.value()) {
                lower = lower.or(Some(y));
                upper = y;
            }
            if share.is_passed(sum.value()) {
                break;
            }
        }
        let value = midpoint(lower.unwrap_or(f64::NAN), upper);
        let (mut above, mut below) = (0.0, 0.0);
        for (y, weight) in rows {
            above += weight * (y - value).max(0.0);
            below += weight * (value - y).max(0.0);
        }
        Self { value, above, below }
    }

    /// Σw·|y − value|.
    #[must_use]
    pub fn absolute_error(&self) -> f64 {
        self.above + self.below
    }

    /// The pinball loss; at the level one half, half the absolute error.
    #[must_use]
    pub fn pinball_loss(&self, level: Level) -> f64 {
        level.cost_above() * self.above + level.cost_below() * self.below
    }
}

/// A sum of weights.
trait WeightSum: Copy + Default {
    fn plus(self, weight: f64) -> Self;
    fn value(self) -> f64;
}

impl WeightSum for DoubleDouble {
    #[inline(always)]
    fn plus(self, weight: f64) -> Self {
        self.plus(weight)
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self.value()
    }
}

impl WeightSum for f64 {
    #[inline(always)]
    fn plus(self, weight: f64) -> Self {
        self + weight
    }

    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

/// For `n` values in ascending order: the place of the greatest value that is a quantile, and
/// whether the value before it is one, too.
pub(crate) fn upper_place(level: Level, n: usize) -> (usize, bool) {
    let share = level.numerator() as u64 * n as u64;
    let whole = level.denominator() as u64;
    ((share / whole) as usize, share.is_multiple_of(whole))
}

/// The midpoint. It does not overflow, and it is exact if both are equal.
pub(super) fn midpoint(lower: f64, upper: f64) -> f64 {
    if lower == upper { upper } else { lower.midpoint(upper) }
}

/// The level's share of a total weight, up to rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    least: f64,
    most: f64,
}

impl Share {
    pub fn new(level: Level, total: f64) -> Self {
        let (share, slack) = (total * level.cost_above(), total * SHARE_TOLERANCE);
        Self { least: share - slack, most: share + slack }
    }

    /// At least the share.
    pub fn is_met(self, weight: f64) -> bool {
        weight >= self.least
    }

    /// More than the share.
    pub fn is_passed(self, weight: f64) -> bool {
        weight > self.most
    }
}

/// Sums terms in eight partial sums, so that the compiler can use vectors. The result does not
/// depend on their width.
fn sum_in_lanes(places: Range<usize>, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    for (i, place) in places.enumerate() {
        lanes[i % 8] += term(place);
    }
    lanes.into_iter().sum()
}
