//! HOT: upper bounds on the gains of a small node's features, several features at a time.
//!
//! Most features of a node can't win, and in a small node it is cheaper to see this for all cuts at
//! once than cut by cut. With `t` the sum of the deviations of the first `k` of `m` rows from the
//! node's mean,
//!
//! ```text
//! gain = t² · m² / (k · (m − k)) = t² · (1/k + 1/(m − k)) · m
//! ```
//!
//! so a running sum, two multiplications and a maximum per row give the highest gain of a feature,
//! up to rounding and to cuts that would part equal values. The only data dependency is the running
//! sum, and the sums of four features are computed side by side. If one cut of one feature gains
//! clearly more than all others, it is returned as the winner, and no feature is swept.
//!
//! Cost: O(rows) per feature. `check_bounds` of `criterion/tests.rs` compares bounds and gains.

use super::sweep::LARGE;
use super::{SquaredError, SquaredNode, SquaredScratch};
use crate::columns::local::{LOCAL_ROWS, LocalOrders, local_table};
use crate::criterion::{BoundVerdict, ContributionsOf, Cuts, GainBounds, SmallNode};

/// Features whose sums are computed side by side: enough to hide the latency of the additions.
const FEATURES_AT_ONCE: usize = 4;

/// The share of a gain that the allowance for rounding may add. The smaller this share, the more an
/// error of `t` is magnified.
const SHARE: f64 = 1e-12;

/// A cut that gains more than all others by this share wins. It is far above the rounding of a gain
/// whose `t` is not small beside its error.
const CLEAR: f64 = 1e-8;

/// 1 / k.
const RECIPROCALS: [f64; LARGE] = {
    let mut reciprocals = [0.0; LARGE];
    let mut k = 1;
    while k < LARGE {
        reciprocals[k] = 1.0 / k as f64;
        k += 1;
    }
    reciprocals
};

/// Bounds for unweighted targets. With weights, a sweep is as cheap as a bound.
pub(crate) struct SquaredBounds;

impl GainBounds<SquaredError<f64>> for SquaredBounds {
    type TagCell = ();

    fn class_tags((): &()) -> &[u32] {
        &[]
    }

    /// Large nodes are swept in blocks, most of which are skipped: a bound would cost as much.
    #[inline(always)]
    fn of_feature<P: ContributionsOf<SquaredError<f64>>, F: Fn(usize, usize) -> bool>(
        _: &SquaredError<f64>,
        (): &(),
        _: &P,
        _: &Cuts<F>,
    ) -> Option<f64> {
        None
    }

    fn of_small_node(
        _: &SquaredError<f64>,
        node: &SquaredNode,
        (): &(),
        rows: &SmallNode<'_, SquaredError<f64>>,
        scratch: &mut SquaredScratch,
        bounds: &mut Vec<f64>,
    ) -> BoundVerdict {
        if node.rows >= LARGE {
            return BoundVerdict::Unknown;
        }
        match scratch.bounds.bound(node, rows.items, rows.orders, rows.features, rows.min_rows, bounds) {
            Some((place, n_left)) => BoundVerdict::Clear { place, n_left },
            None => BoundVerdict::Bounded,
        }
    }
}

/// Buffers for the bounds of one node.
#[derive(Default)]
pub(super) struct BoundBuffers {
    /// By row of the node: the deviation from its mean, in units of its grid. The table takes half
    /// a megabyte, so it is allocated on demand.
    deviations: Option<Box<[f64; LOCAL_ROWS]>>,
    /// By number of rows on the left, `k`: `1/k + 1/(m − k)`, or 0 if `k` is too small.
    scales: Vec<f64>,
}

impl BoundBuffers {
    /// Writes a bound for each feature, with at least `min_rows` rows on either side of a cut.
    /// Returns the place of a feature and the number of rows on the left of its cut that gains
    /// clearly more than all others, if there is one.
    fn bound(
        &mut self,
        node: &SquaredNode,
        items: &[f64],
        orders: LocalOrders<'_>,
        features: &[u32],
        min_rows: usize,
        bounds: &mut Vec<f64>,
    ) -> Option<(usize, usize)> {
        let (deviations, scales) = self.describe(node, items, orders.of(0), min_rows);
        let order = |place: usize| orders.of(features[place] as usize);
        write_highest(features.len(), order, deviations, scales, bounds);

        let rows = node.rows as f64;
        // Each deviation is off by a few units in its last place, and so is the sum after each
        // addition.
        let error = f64::EPSILON * rows * (rows / 2.0 + 8.0) * node.largest_contribution;
        // (t + e)² ≤ t² · (1 + share) + e² · (1 + 1/share); no scale is above 2.
        let room = 2.0 * error * error * (1.0 + 1.0 / SHARE);
        let best = (1..bounds.len()).fold(0, |best, place| if bounds[place] > bounds[best] { place } else { best });
        let close = bounds[best] * (1.0 - CLEAR);
        let n_rivals = bounds.iter().filter(|&&bound| bound >= close).count();
        for bound in bounds {
            *bound = (*bound * (1.0 + 2.0 * SHARE) + room) * rows;
        }
        // `t` is at least the root of close / 2. Twice its error, as a share of that, must be far
        // below `CLEAR`.
        if n_rivals > 1 || close < 2.0 * (20.0 / CLEAR * error).powi(2) {
            return None;
        }
        Some((best, only_cut(order(best), deviations, scales, close)?))
    }

    /// Fills the buffers for a node with these rows, and returns deviations and scales.
    #[inline]
    fn describe(
        &mut self,
        node: &SquaredNode,
        items: &[f64],
        rows: &[u16],
        min_rows: usize,
    ) -> (&[f64; LOCAL_ROWS], &[f64]) {
        let len = node.rows;
        let mean = node.total.value as f64 / len as f64;
        let deviations = self.deviations.get_or_insert_with(local_table);
        for &row in rows {
            deviations[row as usize] = node.values.in_units(items[row as usize] - node.lowest) - mean;
        }
        self.scales.clear();
        let scale = |k: usize| if k < min_rows { 0.0 } else { RECIPROCALS[k] + RECIPROCALS[len - k] };
        self.scales.extend((1..=len - min_rows).map(scale));
        (deviations, &self.scales)
    }
}

/// Writes the greatest `t² · (1/k + 1/(m − k))` of each feature.
#[inline]
fn write_highest<'a>(
    n_features: usize,
    order: impl Fn(usize) -> &'a [u16],
    deviations: &[f64; LOCAL_ROWS],
    scales: &[f64],
    bounds: &mut Vec<f64>,
) {
    bounds.clear();
    let mut place = 0;
    while place + FEATURES_AT_ONCE <= n_features {
        bounds.extend(highest_gains([0, 1, 2, 3].map(|k| order(place + k)), deviations, scales));
        place += FEATURES_AT_ONCE;
    }
    for place in place..n_features {
        bounds.extend(highest_gains([order(place)], deviations, scales));
    }
}

/// The number of rows on the left of the cut whose `t² · (1/k + 1/(m − k))` is at least `close`;
/// `None` if several cuts reach it.
fn only_cut(order: &[u16], deviations: &[f64; LOCAL_ROWS], scales: &[f64], close: f64) -> Option<usize> {
    let (mut sum, mut found, mut n_found) = (0.0, 0, 0);
    for (place, (&row, &scale)) in order.iter().zip(scales).enumerate() {
        sum += deviations[row as usize];
        let is_close = sum * sum * scale >= close;
        found = if is_close { place + 1 } else { found };
        n_found += usize::from(is_close);
    }
    (n_found == 1).then_some(found)
}

/// The greatest `t² · (1/k + 1/(m − k))` of each order.
#[inline(always)]
fn highest_gains<const N: usize>(orders: [&[u16]; N], deviations: &[f64; LOCAL_ROWS], scales: &[f64]) -> [f64; N] {
    let (mut sums, mut highest) = ([0.0; N], [0.0; N]);
    let orders = orders.map(|order| &order[..scales.len()]);
    for (place, &scale) in scales.iter().enumerate() {
        for k in 0..N {
            sums[k] += deviations[orders[k][place] as usize];
            let gain = sums[k] * sums[k] * scale;
            highest[k] = if gain > highest[k] { gain } else { highest[k] };
        }
    }
    highest
}
