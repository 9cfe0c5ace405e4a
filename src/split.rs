//! What a split is, and which of two is the better one; plain data.
//!
//! Gains that are equal up to rounding are ties, and ties go to the lowest feature, then to missing values on the right,
//! then to the lowest threshold. "Near the best" is not transitive, so the rule is stated without chains: find the
//! highest gain, then take the first offer that comes within the tolerance of it. That depends on the gains alone, not
//! on who was compared with whom, so threads and pruning can't change it.

use std::ops::Range;

/// Gains that differ by less than this share are ties: far above rounding (1e-15), far below what data can mean.
const TIE: f64 = 1e-11;

/// Where a node's range of a column is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of rows on the left.
    pub n_left: usize,
    /// The missing values, though last in the column, go left.
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

/// The split of a node: its best feature's best cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub feature: usize,
    pub gain: f64,
    pub cut: Cut,
}

/// A split carried out: who goes where in the winner's own column, and by which test.
///
/// ```text
/// column of the winner   a b c │ d e f │ ? ?
///                        front           back       left = front + back (missing values, if they go left)
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Division {
    pub feature: usize,
    pub threshold: f64,
    /// Where missing values went, or `None` if there were none to learn from.
    pub missing_left: Option<bool>,
    pub front: usize,
    pub back: usize,
    pub len: usize,
}

impl Division {
    /// Reads the threshold off the values of the winner's range, NaN last.
    pub fn new(split: &Split, len: usize, has_missing: bool, value: impl Fn(usize) -> f64) -> Self {
        let n_missing = if has_missing { len - partition_point(0, len, |place| !value(place).is_nan()) } else { 0 };
        // One row at least is in front, even if X was changed while the fit was under way.
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

    /// Places of the right child in the winner's range; all others are the left child's.
    pub fn right(&self) -> Range<usize> {
        self.front..self.len - self.back
    }

    /// What goes left and what goes right of the winner's range, each in up to two pieces.
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

/// Whether a node sends missing values left: where its own missing values went, or, if it had none, to
/// the heavier child.
pub(crate) fn missing_goes_left(learned: Option<bool>, left_weight: f64, right_weight: f64) -> bool {
    learned.unwrap_or(left_weight > right_weight)
}

/// First place of `low..high` where `holds`, true up to some place, no longer does.
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

/// Where cuts are offered, with their gains. Gains are not negative.
pub(crate) trait Contest {
    /// Gains below this can't win any more.
    fn bar(&self) -> f64;

    /// This gain is to be had at a cut that is still to be offered: those that can't tie with it no longer matter.
    fn raise(&mut self, gain: f64);

    fn offer(&mut self, gain: f64, cut: Cut);
}

/// For code that need not be compiled once more for each contest.
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

/// The least gain that ties with this one.
pub(crate) fn near(gain: f64, noise: f64) -> f64 {
    gain - (gain * TIE).max(noise)
}

/// Finds the first cut whose gain ties with the highest one, whoever else has been seen.
pub(crate) struct Tournament {
    /// Absolute tolerance for criteria whose gains carry more rounding than a share of themselves.
    noise: f64,
    floor: f64,
    /// Offers that broke the record, gains strictly rising: an offer that does not exceed an earlier one is never
    /// needed, for whenever it ties with the best, the earlier one does too.
    records: Vec<(f64, Cut)>,
}

impl Tournament {
    pub fn new() -> Self {
        Self { noise: 0.0, floor: 0.0, records: Vec::new() }
    }

    /// Starts anew; only gains that could tie with `incumbent`, a gain seen elsewhere, will matter.
    pub fn restart(&mut self, noise: f64, incumbent: f64) {
        self.noise = noise;
        // Twice: once because this contest's best may itself be only a tie of the incumbent, once for its own ties.
        self.floor = near(near(incumbent, noise), noise);
        self.records.clear();
    }

    /// Starts anew, to find the first cut that gains at least this: all that do tie with each other.
    pub fn restart_from(&mut self, least: f64) {
        self.floor = least;
        self.records.clear();
    }

    pub fn found(&self) -> Option<Found> {
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
        self.floor = self.floor.max(near(gain, self.noise));
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
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

/// A threshold `t` with `a <= t < b`: the midpoint where that separates, else a value next to it that does.
pub(crate) fn threshold(a: f64, b: f64) -> f64 {
    debug_assert!(a < b || b.is_nan());
    if b.is_nan() {
        // Values on the left, missing ones on the right: whatever is not missing goes left, infinity too.
        return f64::INFINITY;
    }
    let middle = 0.5 * a + 0.5 * b;
    if a <= middle && middle < b && middle.is_finite() {
        middle + 0.0
    } else if middle.is_nan() {
        0.0 // between −∞ and ∞
    } else if a.is_finite() || b == f64::MIN {
        // The same number whether the zero on the left has a sign or not.
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
            // Where the feature can still win, it reports just what it would have reported alone.
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
