//! Monotonic constraints: predictions that must not decrease, or not increase, with a feature.
//!
//! Each node has a range that its value and the values of all its descendants must be in. A cut is
//! allowed if both sides' values are in the range and in the order of the constraint. A split on a
//! constrained feature then divides the range at the midpoint of the children's values:
//!
//! ```text
//! node    [ low                                high ]
//! left    [ low          midpoint ]                        value never decreases with the feature
//! right                  [ midpoint            high ]
//! ```
//!
//! So every value in the left branch is at most every value in the right one, or at least, if
//! predictions must not increase. Cost: O(rows) per feature and node for means, O(rows · log rows)
//! for quantiles.

use crate::criterion::Location;
use crate::median::{Level, RunningMedian};
use crate::split::{Contest, Cut, Tournament};

/// The closed range that the values of a node and its descendants must be in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueRange {
    low: f64,
    high: f64,
}

impl Default for ValueRange {
    fn default() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }
}

impl ValueRange {
    /// The ranges of the children, which have these values, after a split on a feature of this
    /// sign.
    pub fn of_children(self, sign: i8, values: [f64; 2]) -> [Self; 2] {
        let [left, right] = values.map(|value| value.clamp(self.low, self.high));
        let middle = left.midpoint(right);
        let (below, above) = (Self { high: middle, ..self }, Self { low: middle, ..self });
        match sign {
            0 => [self; 2],
            1 => [below, above],
            _ => [above, below],
        }
    }

    /// Clamps a node's prediction to the range: a number, or the shares of two classes, of which
    /// the second is constrained.
    pub fn clamp(self, values: &mut [f64]) {
        if self == Self::default() {
            return;
        }
        match values {
            [value] => *value = value.clamp(self.low, self.high),
            [other, share] => {
                let kept = share.clamp(self.low, self.high);
                if kept != *share {
                    (*other, *share) = (1.0 - kept, kept);
                }
            }
            _ => unreachable!("only numbers and two classes can be constrained"),
        }
    }

    fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Which cuts of a feature are allowed, with reused buffers.
#[derive(Default)]
pub(super) struct CutFilter {
    /// With missing values on the right, and on the left. By number of rows on the left.
    allowed: [Vec<bool>; 2],
    /// Value of the first 1, 2, … rows, and of the last 1, 2, … rows.
    left_values: Vec<f64>,
    right_values: Vec<f64>,
}

impl CutFilter {
    /// Computes the allowed cuts of rows in a feature's order, missing values last. `sample`
    /// returns the target and the weight at a place.
    pub fn prepare(
        &mut self,
        location: Location,
        range: ValueRange,
        sign: i8,
        len: usize,
        n_missing: usize,
        sample: impl Fn(usize) -> (f64, f64),
    ) {
        let Self { allowed, left_values, right_values } = self;
        // Without missing values, no cut has them on the left.
        let n_orders = if n_missing > 0 { 2 } else { 1 };
        for (allowed, n_first) in allowed[..n_orders].iter_mut().zip([0, n_missing]) {
            allowed.clear();
            // The last `n_first` rows come first.
            let rotated = |place: usize| sample((place + len - n_first) % len);
            running_values(location, (0..len).map(rotated), left_values);
            running_values(location, (0..len).rev().map(rotated), right_values);
            allowed.push(false);
            allowed.extend((1..len).map(|n_left| {
                let (left, right) = (left_values[n_left - 1], right_values[len - n_left - 1]);
                let in_order = f64::from(sign) * (right - left) >= 0.0;
                in_order && range.contains(left) && range.contains(right)
            }));
        }
    }

    /// A contest that passes allowed cuts on to `contest`.
    pub fn contest<'a>(&'a self, contest: &'a mut Tournament) -> FilteredContest<'a> {
        FilteredContest { filter: self, contest }
    }
}

/// A contest that accepts only allowed cuts.
pub(super) struct FilteredContest<'a> {
    filter: &'a CutFilter,
    contest: &'a mut Tournament,
}

impl Contest for FilteredContest<'_> {
    fn bar(&self) -> f64 {
        self.contest.bar()
    }

    /// Does nothing: the cut with this gain may turn out to be forbidden.
    fn raise(&mut self, _: f64) {}

    fn offer(&mut self, gain: f64, cut: Cut) {
        if self.filter.allowed[usize::from(cut.missing_left)][cut.n_left] {
            self.contest.offer(gain, cut);
        }
    }
}

/// Writes the values of leaves with the first 1, 2, 3, … of these rows.
fn running_values(location: Location, rows: impl Iterator<Item = (f64, f64)>, values: &mut Vec<f64>) {
    values.clear();
    match location {
        Location::Mean => {
            let (mut mean, mut total) = (0.0, 0.0);
            values.extend(rows.map(|(y, weight)| {
                total += weight;
                mean += (y - mean) * (weight / total);
                mean
            }));
        }
        Location::Quantile(level) => {
            let mut running = running_quantile(level);
            values.extend(rows.map(|(y, weight)| {
                running.push(y, weight).expect("targets and weights have been checked");
                running.median().expect("there is a row")
            }));
        }
    }
}

fn running_quantile(level: Level) -> RunningMedian {
    RunningMedian::with_quantile(level.cost_above()).expect("levels have been checked")
}
