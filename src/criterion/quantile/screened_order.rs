//! The order of a node's rows that a screen evaluates: ranges of neighbouring cuts, and runs of
//! equal values.
//!
//! ```text
//! n_left    1 2 3   …   start ──── middle ──── start + 2h   …   n − 1
//!                       └ one range: slopes are summed up to the middle, h cuts on either side ┘
//! ```
//!
//! h is a fraction of the smaller side's rows, so cuts near the ends, where few rows are all of a
//! side, are evaluated one by one. No cut may part equal values: ranges inside a run of them are
//! skipped, by an exponential search for the run's end.

use crate::split::partition_point;

/// Number of neighbouring pairs that are compared to guess whether an order has long runs.
const SAMPLED_PAIRS: usize = 8;
/// Number of cuts after which the average length of runs is checked.
const TRIAL_CUTS: usize = 32;

/// Neighbouring cuts of an order.
#[derive(Clone, Copy, Debug)]
pub struct CutRange {
    /// Least number of rows on the left.
    pub first: usize,
    /// Greatest number of rows on the left.
    pub last: usize,
    /// Upper bound on the gains of these cuts.
    pub bound: f64,
}

impl CutRange {
    /// These cuts, without a bound.
    #[must_use]
    pub fn new(first: usize, last: usize) -> Self {
        Self { first, last, bound: f64::INFINITY }
    }

    /// Number of cuts in these ranges.
    #[must_use]
    pub fn cuts(ranges: &[Self]) -> usize {
        ranges.iter().map(|range| range.last + 1 - range.first).sum()
    }
}

/// An order of a node's rows, and its cuts that are allowed.
pub struct ScreenedOrder<S, T, W> {
    /// Least and greatest number of rows on the left.
    pub cuts: (usize, usize),
    /// Whether the values at these two places are the same; then no cut may part them.
    pub same: S,
    /// The tag of the row at this place.
    pub tag: T,
    /// Only its type counts: whether weights differ.
    pub weights: W,
}

/// Whether the values at two places of an order are the same.
pub trait Same: Fn(usize, usize) -> bool {}
impl<F: Fn(usize, usize) -> bool> Same for F {}
/// The tag of the row at a place of an order.
pub trait TagAt: Fn(usize) -> u32 {}
impl<F: Fn(usize) -> u32> TagAt for F {}

/// Weights of a node's rows, by rank.
pub trait Weights: Copy {
    /// False if all weights are one.
    const DIFFER: bool;

    /// A whole number.
    fn of(&self, rank: usize) -> f64;
}

impl Weights for () {
    const DIFFER: bool = false;

    fn of(&self, _: usize) -> f64 {
        1.0
    }
}

impl Weights for &[i64] {
    const DIFFER: bool = true;

    #[inline(always)]
    fn of(&self, rank: usize) -> f64 {
        self[rank] as f64
    }
}

impl<S: Same, T: TagAt, W: Weights> ScreenedOrder<S, T, W> {
    /// Writes ranges that contain all cuts: a range per cut if runs of equal values have at least
    /// `min_run` rows on average, otherwise a single range.
    pub fn write_ranges(&self, n_rows: usize, min_run: usize, ranges: &mut Vec<CutRange>) {
        let (mut first, last) = self.cuts;
        ranges.clear();
        let (mut run, mut has_long_runs) = (0, self.has_long_runs(n_rows));
        while has_long_runs {
            let cut = self.next_cut(first, n_rows, run);
            if cut > last {
                return;
            }
            ranges.push(CutRange::new(cut, cut));
            (first, run) = (cut + 1, cut - first);
            // A search for the next cut does not pay where runs are short.
            has_long_runs = ranges.len() < TRIAL_CUTS || ranges.len() * min_run < cut;
        }
        ranges.clear();
        ranges.push(CutRange::new(self.cuts.0, last));
    }

    /// Whether at most one of the sampled pairs has different values.
    pub(super) fn has_long_runs(&self, n_rows: usize) -> bool {
        let differs = |&i: &usize| {
            let place = (n_rows - 1) * i / SAMPLED_PAIRS;
            !(self.same)(place, place + 1)
        };
        (0..SAMPLED_PAIRS).filter(differs).nth(1).is_none()
    }

    /// The start and the half length of the next range, given those that it has if no cuts are
    /// skipped.
    pub(super) fn next_range(&self, start: usize, half: usize, n_rows: usize, range_shift: u32) -> (usize, usize) {
        if !(self.same)(start - 1, start + 2 * half) {
            return (start, half);
        }
        // The range lies inside a run. The next one starts at the run's end. If the following run
        // is longer than the range, that cut is alone in it.
        let start = self.next_cut(start, n_rows, 2 * half);
        let half = half_length(start, n_rows, range_shift);
        let is_alone = half > 0 && (self.same)(start, start + 2 * half);
        (start, if is_alone { 0 } else { half })
    }

    /// The first cut from this one on that parts different values, or the number of all rows. The
    /// search is cheapest if that cut is about `far` away.
    fn next_cut(&self, n_left: usize, n_rows: usize, far: usize) -> usize {
        let is_same = |place: usize| (self.same)(n_left - 1, place);
        let (mut low, mut reach) = (n_left, far + 1);
        while low + reach < n_rows && is_same(low + reach) {
            low += reach;
            reach *= 2;
        }
        partition_point(low, n_rows.min(low + reach), is_same)
    }
}

/// Half the length of a range, as a power of two of the share of the smaller side's rows. Shorter
/// ranges give tighter bounds, which pay where sweeps are expensive.
#[inline(always)]
pub(super) fn range_shift<W: Weights>(n_rows: usize) -> u32 {
    let (few, more) = if W::DIFFER { (256, 512) } else { (2_048, 2_048) };
    match n_rows {
        _ if n_rows < few => 4,
        _ if n_rows < more => 5,
        _ => 6,
    }
}

/// Half the length of the range of cuts that starts here.
#[inline(always)]
pub(super) fn half_length(start: usize, n_rows: usize, range_shift: u32) -> usize {
    start.min(n_rows - start) >> range_shift
}
