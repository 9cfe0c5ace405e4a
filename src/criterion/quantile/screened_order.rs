//! An order of a node's rows as the screen sees it: ranges of neighbouring cuts, and runs of equal values.

use crate::split::partition_point;

/// Pairs of neighbours that tell whether an order has long runs of the same value.
const PAIRS: usize = 8;
/// Cuts after which it is asked whether such runs are as long as they seemed.
const PATIENCE: usize = 32;

/// Neighbouring cuts of an order.
#[derive(Clone, Copy, Debug)]
pub struct CutRange {
    /// Least number of rows on the left.
    pub first: usize,
    /// Greatest number of rows on the left.
    pub last: usize,
    /// The most that any of them can gain.
    pub bound: f64,
}

impl CutRange {
    /// These cuts, whatever they gain.
    #[must_use]
    pub fn new(first: usize, last: usize) -> Self {
        Self { first, last, bound: f64::INFINITY }
    }

    /// How many cuts there are in these.
    #[must_use]
    pub fn cuts(ranges: &[Self]) -> usize {
        ranges.iter().map(|range| range.last + 1 - range.first).sum()
    }
}

/// An order of a node's rows, and the cuts of it that count.
pub struct ScreenedOrder<S, M, W> {
    /// Least and greatest number of rows on the left.
    pub cuts: (usize, usize),
    /// Whether the values at these two places are the same; no cut parts them then.
    pub same: S,
    /// The tag of the row at this place.
    pub tag: M,
    /// For its type alone: whether weights differ.
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
    /// If not, all are one.
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

impl<S: Same, M: TagAt, W: Weights> ScreenedOrder<S, M, W> {
    /// Writes ranges that have all cuts: where runs of the same value are longer than this on average, each cut alone.
    pub fn all(&self, n_rows: usize, long: usize, ranges: &mut Vec<CutRange>) {
        let (mut first, last) = self.cuts;
        ranges.clear();
        let (mut run, mut is_tied) = (0, self.is_tied(n_rows));
        while is_tied {
            let cut = self.cut_from(first, n_rows, run);
            if cut > last {
                return;
            }
            ranges.push(CutRange::new(cut, cut));
            (first, run) = (cut + 1, cut - first);
            // What it costs to find cuts that are close together is lost.
            is_tied = ranges.len() < PATIENCE || ranges.len() * long < cut;
        }
        ranges.clear();
        ranges.push(CutRange::new(self.cuts.0, last));
    }

    /// Whether there seem to be long runs of the same value.
    pub(super) fn is_tied(&self, n_rows: usize) -> bool {
        let differs = |&i: &usize| {
            let place = (n_rows - 1) * i / PAIRS;
            !(self.same)(place, place + 1)
        };
        (0..PAIRS).filter(differs).nth(1).is_none()
    }

    /// Where the next range begins, and half its length, if this is the one that would come next.
    pub(super) fn tied_range(&self, start: usize, length: usize, n_rows: usize, neighbours: u32) -> (usize, usize) {
        if !(self.same)(start - 1, start + 2 * length) {
            return (start, length);
        }
        // None of these parts different values: on to the next one that does, and if no other around it does, to it alone.
        let start = self.cut_from(start, n_rows, 2 * length);
        let length = half(start, n_rows, neighbours);
        let is_alone = length > 0 && (self.same)(start, start + 2 * length);
        (start, if is_alone { 0 } else { length })
    }

    /// The first cut from this one on that parts different values, or the number of all rows. It costs least if it is about `far` away.
    fn cut_from(&self, n_left: usize, n_rows: usize, far: usize) -> usize {
        let is_same = |place: usize| (self.same)(n_left - 1, place);
        let (mut low, mut reach) = (n_left, far + 1);
        while low + reach < n_rows && is_same(low + reach) {
            low += reach;
            reach *= 2;
        }
        partition_point(low, n_rows.min(low + reach), is_same)
    }
}

/// A look at a cut covers its neighbours up to this part of the rows on the smaller side, as a power of two: the smaller, the dearer are
/// sweeps beside looks.
#[inline(always)]
pub(super) fn neighbours<W: Weights>(n_rows: usize) -> u32 {
    let (few, more) = if W::DIFFER { (256, 512) } else { (2_048, 2_048) };
    match n_rows {
        _ if n_rows < few => 4,
        _ if n_rows < more => 5,
        _ => 6,
    }
}

/// Half the length of the range of cuts that begins here.
#[inline(always)]
pub(super) fn half(start: usize, n_rows: usize, neighbours: u32) -> usize {
    start.min(n_rows - start) >> neighbours
}
