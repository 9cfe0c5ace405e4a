//! Predictions that must not go down, or not up, with a feature.
//!
//! A node has bounds that its value, and all below it, must keep. A cut is allowed if both sides' values keep the bounds and are in the
//! order that the feature asks for; the children then keep to their side of the middle between the two values. So whatever is below
//! a split on the feature, the left branch stays below the right one, or above it.

use crate::criterion::Location;
use crate::median::{Level, RunningMedian};
use crate::split::{Contest, Cut, Tournament};

/// What the value of a node must be between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    low: f64,
    high: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }
}

impl Bounds {
    /// Those of the children of a split with these values, on a feature of this sign.
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

    /// Brings what a node predicts within the bounds: a number, or the shares of two classes, of which the second counts.
    pub fn keep(self, values: &mut [f64]) {
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
            _ => unreachable!("numbers and two classes alone are constrained"),
        }
    }

    fn hold(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Which cuts of a feature are allowed; buffers that are reused.
#[derive(Default)]
pub(super) struct Filter {
    /// By number of rows on the left: with missing values on the right, and on the left.
    allowed: [Vec<bool>; 2],
    lefts: Vec<f64>,
    rights: Vec<f64>,
}

impl Filter {
    /// For rows in a feature's order, the missing ones last; `sample` is the target and the weight at a place.
    pub fn prepare(
        &mut self,
        location: Location,
        bounds: Bounds,
        sign: i8,
        len: usize,
        n_missing: usize,
        sample: impl Fn(usize) -> (f64, f64),
    ) {
        let Self { allowed, lefts, rights } = self;
        // Without missing values, nothing is offered with them on the left.
        let n_ways = if n_missing > 0 { 2 } else { 1 };
        for (allowed, n_first) in allowed[..n_ways].iter_mut().zip([0, n_missing]) {
            allowed.clear();
            let turned = |place: usize| sample((place + len - n_first) % len);
            running_values(location, (0..len).map(turned), lefts);
            running_values(location, (0..len).rev().map(turned), rights);
            allowed.push(false);
            allowed.extend((1..len).map(|n_left| {
                let (left, right) = (lefts[n_left - 1], rights[len - n_left - 1]);
                let in_order = f64::from(sign) * (right - left) >= 0.0;
                in_order && bounds.hold(left) && bounds.hold(right)
            }));
        }
    }

    /// Offers that are allowed go on to this contest.
    pub fn contest<'a>(&'a self, contest: &'a mut Tournament) -> Filtered<'a> {
        Filtered { filter: self, contest }
    }
}

/// A contest that takes allowed cuts alone.
pub(super) struct Filtered<'a> {
    filter: &'a Filter,
    contest: &'a mut Tournament,
}

impl Contest for Filtered<'_> {
    fn bar(&self) -> f64 {
        self.contest.bar()
    }

    /// The cut that has this gain may not be allowed.
    fn raise(&mut self, _: f64) {}

    fn offer(&mut self, gain: f64, cut: Cut) {
        if self.filter.allowed[usize::from(cut.missing_left)][cut.n_left] {
            self.contest.offer(gain, cut);
        }
    }
}

/// Writes what a leaf with the first one, two, three … of these rows would predict.
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
