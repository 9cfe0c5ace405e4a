//! HOT: the search of a tiny node in squared error, with or without weights.
//!
//! ```text
//! highest ← by feature, the highest gain of its cuts in floats, equal values left aside
//! repeat
//!     near ← the cuts within `CLOSE` of the highest gain of all
//!     if a near cut is not allowed: leave out the cuts of its feature that are not; again
//! if the near cuts part the rows in the same way, the first of them wins
//! otherwise integers decide between them, as in larger nodes
//! ```
//!
//! Which cuts are allowed is a matter of values of X, read at random, and most features can't win:
//! so a feature's cuts are checked only when one of them is near the highest gain. Loops over
//! places have the fixed length `N` and no branches that are hard to predict.

use crate::columns::local::{MAX_TINY_ROWS as MAX_ROWS, TinyOrder};
use crate::criterion::TinyNode;
use crate::split::near;

/// Features that are evaluated side by side: enough to hide the latency of the additions.
const FEATURES_AT_ONCE: usize = 4;

/// Gains that differ by less than this share are a close call. It is far above the rounding of
/// floats, as long as the gain is at least `LEAST_SHARE` of the node's loss.
const CLOSE: f64 = 1e-9;
pub(super) const LEAST_SHARE: f64 = 1e-5;

/// The gains of a node that was described, in floats and exactly.
pub(super) trait TinyGains {
    /// Sums over the rows on the left.
    type Sums: Copy + Default;

    fn add(&self, sums: Self::Sums, row: u8) -> Self::Sums;

    /// The gain of the cut behind this place, up to a factor of the node and to rounding; 0 if it
    /// leaves too few rows on a side.
    fn gain(&self, sums: Self::Sums, place: usize) -> f64;

    /// Whether a cut with this many rows on the left leaves enough on both sides.
    fn leaves_enough(&self, n_left: usize) -> bool;

    /// Whether floats tell gains apart that are near this one.
    fn is_precise(&self, gain: f64) -> bool;

    /// The gain with these rows on the left, from integers.
    fn exact_gain(&self, left: &[u8]) -> f64;
}

/// Buffers, reused from node to node.
#[derive(Default)]
pub(super) struct TinySearch {
    /// By feature: the highest gain of the cuts below.
    highest: Vec<f64>,
    /// By feature: a bit per cut, the lowest for one row on the left; 0 if it is known not to be
    /// allowed.
    cuts: Vec<u32>,
    /// By feature: those whose gains are near the highest of all.
    near: Vec<u32>,
}

impl TinySearch {
    /// Feature and number of rows on the left of the first cut that ties with the best.
    #[inline(always)]
    pub fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
        gains: &impl TinyGains,
    ) -> Option<(usize, usize)> {
        self.write_highest::<N>(node.orders, gains);
        loop {
            let top = self.highest.iter().fold(0.0, |top: f64, &highest| if highest > top { highest } else { top });
            let close = top * (1.0 - CLOSE);
            if !gains.is_precise(close) {
                return search_exactly(node, gains, |_| u32::MAX);
            }
            match self.compare_near_cuts::<N, F>(node, gains, close) {
                NearCuts::SamePartition(feature, n_left) => return Some((feature, n_left)),
                NearCuts::Several => return search_exactly(node, gains, |feature| self.near[feature]),
                NearCuts::Forbidden => {}
            }
        }
    }

    /// Compares the cuts with at least the gain `close`. If one of them is forbidden, all forbidden
    /// cuts of its feature are left out from now on.
    #[inline(always)]
    fn compare_near_cuts<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
        gains: &impl TinyGains,
        close: f64,
    ) -> NearCuts {
        let all = rows_of(node.rows);
        let (mut winner, mut parted, mut several) = ((0, 0), None, false);
        for feature in 0..node.orders.len() {
            self.near[feature] = 0;
            if self.highest[feature] < close {
                continue;
            }
            let order = &node.orders[feature];
            let of_feature = gains_of::<N>(order, gains);
            let mut near = (0..N).fold(0u32, |cuts, place| cuts | u32::from(of_feature[place] >= close) << place)
                & self.cuts[feature];
            if allowed(node, feature, near) != near {
                self.leave_out_forbidden::<N, F>(feature, node, gains);
                return NearCuts::Forbidden;
            }
            self.near[feature] = near;
            while near != 0 {
                let n_left = near.trailing_zeros() as usize + 1;
                near &= near - 1;
                let left = rows_of(&order[..n_left % MAX_ROWS]);
                match parted {
                    None => (winner, parted) = ((feature, n_left), Some(left)),
                    Some(first) => several |= left != first && left != all ^ first,
                }
            }
        }
        if several { NearCuts::Several } else { NearCuts::SamePartition(winner.0, winner.1) }
    }

    #[inline(always)]
    fn write_highest<const N: usize>(&mut self, orders: &[TinyOrder], gains: &impl TinyGains) {
        self.highest.resize(orders.len(), 0.0);
        self.cuts.clear();
        self.cuts.resize(orders.len(), u32::MAX);
        self.near.resize(orders.len(), 0);
        let (fours, rest) = orders.as_chunks::<FEATURES_AT_ONCE>();
        let (highest_of_fours, highest_of_rest) = self.highest.as_chunks_mut::<FEATURES_AT_ONCE>();
        for (orders, highest) in fours.iter().zip(highest_of_fours) {
            *highest = highest_gains::<N, FEATURES_AT_ONCE>(orders, gains);
        }
        for (order, highest) in rest.iter().zip(highest_of_rest) {
            [*highest] = highest_gains::<N, 1>(&[*order], gains);
        }
    }

    #[inline(never)]
    fn leave_out_forbidden<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        feature: usize,
        node: &TinyNode<'_, F>,
        gains: &impl TinyGains,
    ) {
        let cuts = allowed(node, feature, (1 << (node.rows.len() - 1)) - 1);
        let gains = gains_of::<N>(&node.orders[feature], gains);
        let highest = |top: f64, place: usize| {
            if cuts >> place & 1 == 1 && gains[place] > top { gains[place] } else { top }
        };
        self.cuts[feature] = cuts;
        self.highest[feature] = (0..N).fold(0.0, highest);
    }
}

/// What the cuts near the highest gain are.
enum NearCuts {
    /// Some are forbidden.
    Forbidden,
    /// They part the rows in the same way; this is the first: its feature, and its number of rows
    /// on the left.
    SamePartition(usize, usize),
    Several,
}

/// Compares cuts by sums that don't depend on their order: `candidates` has a bit per cut of a
/// feature, and cuts without one can't win. Returns the first cut that ties with the best.
#[cold]
fn search_exactly<F: Fn(usize, usize) -> bool>(
    node: &TinyNode<'_, F>,
    gains: &impl TinyGains,
    candidates: impl Fn(usize) -> u32,
) -> Option<(usize, usize)> {
    let mut offers = Vec::new();
    for (feature, order) in node.orders.iter().enumerate() {
        let cuts = candidates(feature);
        for n_left in (1..node.rows.len()).filter(|n_left| cuts >> (n_left - 1) & 1 == 1) {
            if gains.leaves_enough(n_left) && (node.allow)(feature, n_left) {
                offers.push((gains.exact_gain(&order[..n_left]), (feature, n_left)));
            }
        }
    }
    let top = offers.iter().map(|offer| offer.0).reduce(f64::max)?;
    offers.iter().find(|offer| offer.0 >= near(top, 0.0)).map(|offer| offer.1)
}

/// A bit per row.
#[inline(always)]
fn rows_of(rows: &[u8]) -> u32 {
    rows.iter().fold(0, |bits, row| bits | 1 << (row % MAX_ROWS as u8))
}

/// Those of a feature's cuts that part different values and keep its monotonic constraint.
#[inline(always)]
fn allowed(node: &TinyNode<'_, impl Fn(usize, usize) -> bool>, feature: usize, mut cuts: u32) -> u32 {
    let mut allowed = 0;
    while cuts != 0 {
        let place = cuts.trailing_zeros();
        cuts &= cuts - 1;
        allowed |= u32::from((node.allow)(feature, place as usize + 1)) << place;
    }
    allowed
}

/// The gain of each cut.
#[inline(always)]
fn gains_of<const N: usize>(order: &TinyOrder, gains: &impl TinyGains) -> [f64; N] {
    // A plain loop: `array::from_fn` calls its closure once per place instead of inlining it.
    let (mut sums, mut of_cuts) = (Default::default(), [0.0; N]);
    for place in 0..N {
        sums = gains.add(sums, order[place]);
        of_cuts[place] = gains.gain(sums, place);
    }
    of_cuts
}

/// The greatest gain of each order.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // The outer index of `orders` is the feature.
fn highest_gains<const N: usize, const FEATURES: usize>(
    orders: &[TinyOrder; FEATURES],
    gains: &impl TinyGains,
) -> [f64; FEATURES] {
    let (mut sums, mut highest) = ([Default::default(); FEATURES], [0.0; FEATURES]);
    for place in 0..N - 1 {
        for feature in 0..FEATURES {
            sums[feature] = gains.add(sums[feature], orders[feature][place]);
            let gain = gains.gain(sums[feature], place);
            highest[feature] = if gain > highest[feature] { gain } else { highest[feature] };
        }
    }
    highest
}
