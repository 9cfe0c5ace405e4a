//! Splits, and the rule that chooses between them.
//!
//! Gains that are equal up to rounding are ties. Ties go to the lowest feature, then to missing
//! values on the right, then to the lowest threshold. "Within the tolerance" is not transitive, so
//! the rule has no chains: find the highest gain, then take the first offer within the tolerance of
//! it.
//!
//! ```text
//! offers in order   1.0    1.0 + 0.6e-11    1.0 + 1.2e-11        tolerance: 1e-11
//!                   │      │                └ highest gain
//!                   │      └ wins: the first within the tolerance of the highest gain
//!                   └ not within the tolerance, although it ties with the winner
//! ```
//!
//! The winner depends on the gains alone, not on the order of comparisons, so neither the number of
//! threads nor the skipping of hopeless cuts can change it. Tests: `near_gains_do_not_chain`,
//! `pruning_with_an_incumbent_changes_nothing`.
//!
//! Medians and quantiles often have nodes in which no cut gains anything. There the first cut would
//! split off a row or a few, and so would the first cuts below it: a chain as deep as there are
//! rows. So the feature with the most cuts wins instead, with the cut in the middle of them
//! ([`Aim::Middle`]). Cuts are counted, not rows, so that integer weights equal repeated rows.

use std::ops::Range;

/// Gains that differ by less than this share are ties. It is far above rounding (1e-15) and far
/// below any difference that data can support.
pub(crate) const TIE: f64 = 1e-11;

/// Where a node's range of a column is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of rows on the left.
    pub n_left: usize,
    /// Whether the missing values, which stand last in the column, go left.
    pub missing_left: bool,
}

/// The best cut of one feature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The feature's highest gain, in the criterion's own units for this node.
    pub top: f64,
    /// The first cut whose gain ties with it, and that gain.
    pub cut: Cut,
    pub gain: f64,
}

/// The split of a node: a feature and one of its cuts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub feature: usize,
    pub gain: f64,
    pub cut: Cut,
}

/// How a split divides the node's range of its own feature's column (the winner's column), and the
/// threshold that follows.
///
/// ```text
/// winner's column   a b c │ d e f │ ? ?
///                   front   right   back     left = front + back; back: missing values on the left
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Division {
    pub feature: usize,
    pub threshold: f64,
    /// Whether missing values went left; `None` if the node has none.
    pub missing_left: Option<bool>,
    /// Rows at the beginning of the range that go left, at least one.
    pub front: usize,
    /// Rows at the end of the range that go left.
    pub back: usize,
    /// Rows of the node; `front + back < len`.
    pub len: usize,
}

impl Division {
    /// `value` reads the winner's column, NaN last.
    pub fn new(split: &Split, len: usize, has_missing: bool, value: impl Fn(usize) -> f64) -> Self {
        let n_missing = if has_missing { len - partition_point(0, len, |place| !value(place).is_nan()) } else { 0 };
        // `front` is at least 1 even if another thread changed X during the fit: the threshold is
        // read from the places around it.
        let back = if split.cut.missing_left { n_missing.min(split.cut.n_left - 1) } else { 0 };
        let front = split.cut.n_left - back;
        Self {
            feature: split.feature,
            threshold: threshold(value(front - 1), value(front)),
            missing_left: (n_missing > 0).then_some(split.cut.missing_left),
            front,
            back,
            len,
        }
    }

    pub fn n_left(&self) -> usize {
        self.front + self.back
    }

    /// Places of the right child in the winner's range. All other places are the left child's.
    pub fn right(&self) -> Range<usize> {
        self.front..self.len - self.back
    }

    /// The left and the right child's part of the winner's range, each in up to two pieces.
    pub fn sides<'a, T>(&self, range: &'a [T]) -> [[&'a [T]; 2]; 2] {
        let right = self.right();
        [[&range[..right.start], &range[right.end..]], [&range[right], &[]]]
    }

    /// The left child's part of the winner's range, gathered in `buffer` if it is in two pieces.
    pub fn left_items<'a, T: Copy>(&self, items: &'a [T], buffer: &'a mut Vec<T>) -> &'a [T] {
        if self.back == 0 {
            return &items[..self.front];
        }
        buffer.clear();
        buffer.extend_from_slice(&items[..self.front]);
        buffer.extend_from_slice(&items[self.len - self.back..]);
        buffer
    }
}

/// Whether a test sends missing values left. A node with missing values sends them where the split
/// put them, a node without any to the heavier child.
pub(crate) fn missing_goes_left(learned: Option<bool>, left_weight: f64, right_weight: f64) -> bool {
    learned.unwrap_or(left_weight > right_weight)
}

/// The first place of `low..high` where `holds` is false. It must be true before that place and
/// false from there on.
pub(crate) fn partition_point(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Receives the cuts of a sweep with their gains, which are not negative.
pub(crate) trait Contest {
    /// Cuts with gains below the bar can't win any more and need not be offered.
    fn bar(&self) -> f64;

    /// Announces that a cut with this gain will be offered later: cuts that can't tie with it may
    /// be skipped from now on.
    fn raise(&mut self, gain: f64);

    /// Offers a cut. Offers come in the order that decides ties.
    fn offer(&mut self, gain: f64, cut: Cut);
}

/// Lets code that is not hot be compiled once for all kinds of contests.
impl Contest for &mut dyn Contest {
    fn bar(&self) -> f64 {
        (**self).bar()
    }

    fn raise(&mut self, gain: f64) {
        (**self).raise(gain);
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
        (**self).offer(gain, cut);
    }
}

/// A contest in which the gains of one feature are multiplied by a factor of up to 1.
pub(crate) struct Discounted<'a> {
    pub contest: &'a mut dyn Contest,
    pub factor: f64,
}

impl Contest for Discounted<'_> {
    /// A little lower, so that no rounding excludes a gain that ties.
    fn bar(&self) -> f64 {
        let bar = self.contest.bar();
        if self.factor == 1.0 { bar } else { bar / self.factor * (1.0 - 4.0 * f64::EPSILON) }
    }

    fn raise(&mut self, gain: f64) {
        self.contest.raise(gain * self.factor);
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
        self.contest.offer(gain * self.factor, cut);
    }
}

/// The least gain that ties with this one.
pub(crate) fn near(gain: f64, noise: f64) -> f64 {
    gain - (gain * TIE).max(noise)
}

/// Which cut of a feature is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aim {
    /// The first with at least this gain. All cuts with at least this gain must tie with each
    /// other.
    FirstFrom(f64),
    /// The one in the middle of all cuts, whatever they gain.
    Middle,
}

/// The contest of one feature: finds the first cut whose gain ties with the highest one.
///
/// Cost: O(1) per offer. `records` holds only offers that tie with the highest gain so far.
pub(crate) struct Tournament {
    /// Absolute tolerance, for criteria whose gains have a larger error than `TIE` of themselves.
    noise: f64,
    /// Offers below this are ignored.
    floor: f64,
    /// Whether all offers are recorded, whatever they gain, to find the middle one.
    finds_middle: bool,
    /// Offers that exceeded all earlier ones, in ascending order of their gains. An offer that does
    /// not exceed an earlier one can't win: where it ties with the highest gain, the earlier one
    /// does too.
    records: Vec<(f64, Cut)>,
}

impl Tournament {
    pub fn new() -> Self {
        Self { noise: 0.0, floor: 0.0, finds_middle: false, records: Vec::new() }
    }

    /// Starts a new contest. Gains that can't tie with `incumbent`, a gain of another feature, are
    /// ignored.
    pub fn restart(&mut self, noise: f64, incumbent: f64) {
        self.noise = noise;
        self.finds_middle = false;
        // Twice: this contest's highest gain may be a tie's width below the incumbent, and its
        // winner another tie's width below that.
        self.floor = near(near(incumbent, noise), noise);
        self.records.clear();
    }

    /// Starts a new contest that finds one cut.
    pub fn restart_for(&mut self, aim: Aim) {
        (self.floor, self.finds_middle) = match aim {
            Aim::FirstFrom(least) => (least, false),
            Aim::Middle => (f64::NEG_INFINITY, true),
        };
        self.records.clear();
    }

    /// The cut in the middle of all that were offered, those with missing values on the right if
    /// there are any. Its gain is the number of these cuts.
    fn middle(&self) -> Option<Found> {
        let on_the_right = self.records.iter().filter(|(_, cut)| !cut.missing_left).count();
        let n_cuts = if on_the_right > 0 { on_the_right } else { self.records.len() };
        let &(_, cut) = self.records.get(n_cuts.checked_sub(1)? / 2)?;
        Some(Found { top: n_cuts as f64, cut, gain: n_cuts as f64 })
    }

    /// The winner; `None` if no offer reached the floor.
    pub fn found(&self) -> Option<Found> {
        if self.finds_middle {
            return self.middle();
        }
        let top = self.records.last()?.0;
        let least = near(top, self.noise);
        self.records.iter().find(|record| record.0 >= least).map(|&(gain, cut)| Found { top, cut, gain })
    }
}

impl Contest for Tournament {
    #[inline]
    fn bar(&self) -> f64 {
        self.records.last().map_or(self.floor, |record| record.0.max(self.floor))
    }

    fn raise(&mut self, gain: f64) {
        // The middle is that of all cuts.
        if !self.finds_middle {
            self.floor = self.floor.max(near(gain, self.noise));
        }
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
        if self.finds_middle {
            // Without a gain, the record leaves the bar at the bottom.
            return self.records.push((f64::NEG_INFINITY, cut));
        }
        if gain < self.floor {
            return;
        }
        match self.records.last() {
            Some(&(record, _)) if gain <= record => return,
            Some(&(record, _)) if record < near(gain, self.noise) => self.records.clear(),
            _ => {}
        }
        self.records.push((gain, cut));
    }
}

/// A threshold `t` with `a <= t < b`: the midpoint if it separates the two in floating point,
/// otherwise another value that does.
pub(crate) fn threshold(a: f64, b: f64) -> f64 {
    debug_assert!(a < b || b.is_nan());
    if b.is_nan() {
        // All values go left, infinity included; only missing values go right.
        return f64::INFINITY;
    }
    let middle = 0.5 * a + 0.5 * b;
    if a <= middle && middle < b && middle.is_finite() {
        middle + 0.0
    } else if middle.is_nan() {
        0.0 // between −∞ and ∞
    } else if a.is_finite() || b == f64::MIN {
        // Adding 0 turns −0.0 into 0.0.
        a + 0.0
    } else {
        f64::MIN // between −∞ and a finite value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn winner(gains: &[f64]) -> Option<usize> {
        let mut contest = Tournament::new();
        contest.restart(0.0, 0.0);
        for (n_left, &gain) in gains.iter().enumerate() {
            contest.offer(gain, Cut { n_left, missing_left: false });
        }
        contest.found().map(|found| found.cut.n_left)
    }

    #[test]
    fn ties_go_to_the_first_offer() {
        assert_eq!(winner(&[1.0, 2.0, 2.0 + 1e-12, 2.0 - 1e-12]), Some(1));
        assert_eq!(winner(&[0.0, 0.0]), Some(0));
        assert_eq!(winner(&[]), None);
    }

    #[test]
    fn near_gains_do_not_chain() {
        let step = 0.6 * TIE;
        assert_eq!(winner(&[1.0, 1.0 + step, 1.0 + 2.0 * step]), Some(1));
    }

    proptest! {
        #[test]
        fn pruning_with_an_incumbent_changes_nothing(
            steps in prop::collection::vec(0..60u8, 1..40), other in 0..60u8,
        ) {
            let gains: Vec<f64> = steps.iter().map(|&k| 1.0 + f64::from(k) * 0.1 * TIE).collect();
            let incumbent = 1.0 + f64::from(other) * 0.1 * TIE;
            let top = gains.iter().copied().fold(0.0, f64::max);
            let mut contest = Tournament::new();
            contest.restart(0.0, incumbent);
            for (n_left, &gain) in gains.iter().enumerate() {
                if gain >= contest.bar() { contest.offer(gain, Cut { n_left, missing_left: false }); }
            }
            // A feature that can still win reports the same cut as without the incumbent.
            if top >= incumbent - incumbent * TIE {
                prop_assert_eq!(contest.found().map(|found| found.cut.n_left), winner(&gains));
            }
        }

        #[test]
        fn thresholds_separate(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a < b);
            let t = threshold(a, b);
            prop_assert!(a <= t && t < b);
            prop_assert!(t.is_finite() || (a == f64::NEG_INFINITY && b == f64::MIN));
        }
    }

    #[test]
    fn thresholds_at_the_ends_of_the_order() {
        let inf = f64::INFINITY;
        let next = |x: f64| f64::from_bits(x.to_bits() + 1);
        assert_eq!(threshold(1.0, next(1.0)), 1.0);
        assert_eq!(threshold(next(1.0), next(next(1.0))), next(1.0));
        assert_eq!(threshold(-f64::MAX, f64::MAX), 0.0);
        assert_eq!(threshold(3.0, inf), 3.0);
        assert_eq!(threshold(-inf, 3.0), f64::MIN);
        assert_eq!(threshold(-inf, inf), 0.0);
        assert_eq!(threshold(-inf, f64::MIN), -inf);
        assert_eq!(threshold(2.0, f64::NAN), inf);
        assert_eq!(threshold(0.0, 5e-324), 0.0);
    }
}
