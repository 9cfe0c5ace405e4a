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
//! up to rounding and to cuts that would part equal values. With weights, `k` and `m` are weights,
//! and there are two running sums and a division per row. The only data dependency is the running
//! sum, and the sums of four features are computed side by side. If one cut of one feature gains
//! clearly more than all others, it is returned as the winner, and no feature is swept.
//!
//! Cost: O(rows) per feature. `check_bounds` of `criterion/tests.rs` compares bounds and gains.

use super::sweep::LARGE;
use super::{SquaredError, SquaredNode, SquaredScratch, ValueSample};
use crate::columns::local::{LOCAL_ROWS, LocalOrders, local_table};
use crate::criterion::{BoundVerdict, ContributionsOf, Cuts, GainBounds, SmallNode};

/// Features whose sums are computed side by side: enough to hide the latency of the additions.
const FEATURES_AT_ONCE: usize = 4;

/// What floats may do to a bound.
struct Tolerance {
    /// The share of a gain that the allowance for rounding may add. The smaller this share, the
    /// more an error of `t` is magnified.
    share: f64,
    /// A cut that gains more than all others by this share wins. It is far above the rounding of a
    /// gain whose `t` is not small beside its error.
    clear: f64,
}

/// Without weights, the number of rows on a side is exact.
const ROWS: Tolerance = Tolerance { share: 1e-12, clear: 1e-8 };

/// The weight of a side is off by up to 256 roundings of the node's weight, which is at most
/// `LARGE` · [`LARGEST_RATIO`] times as large: by less than 1e-9.
const WEIGHTS: Tolerance = Tolerance { share: 1e-8, clear: 1e-5 };

/// Nodes whose heaviest row has more than this many times the weight of the lightest one have no
/// bounds.
const LARGEST_RATIO: f64 = 64.0;

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

/// Bounds for nodes of a subtree.
pub(crate) struct SquaredBounds;

impl<T: ValueSample> GainBounds<SquaredError<T>> for SquaredBounds {
    type TagCell = ();

    fn class_tags((): &()) -> &[u32] {
        &[]
    }

    /// Large nodes are swept in blocks, most of which are skipped: a bound would cost as much.
    #[inline(always)]
    fn of_feature<P: ContributionsOf<SquaredError<T>>, F: Fn(usize, usize) -> bool>(
        _: &SquaredError<T>,
        (): &(),
        _: &P,
        _: &Cuts<F>,
    ) -> Option<f64> {
        None
    }

    fn of_small_node(
        _: &SquaredError<T>,
        node: &SquaredNode,
        (): &(),
        rows: &SmallNode<'_, SquaredError<T>>,
        scratch: &mut SquaredScratch,
        bounds: &mut Vec<f64>,
    ) -> BoundVerdict {
        if node.rows >= LARGE {
            return BoundVerdict::Unknown;
        }
        let buffers = &mut scratch.bounds;
        if !T::WEIGHTED {
            let (sums, error) = buffers.describe(node, rows);
            return bound(&sums, &error, rows.orders, rows.features, bounds);
        }
        match buffers.describe_weighted(node, rows) {
            Some((sums, error)) => bound(&sums, &error, rows.orders, rows.features, bounds),
            None => BoundVerdict::Unknown,
        }
    }
}

/// Writes a bound for each feature, and names the cut that gains clearly more than all others, if
/// there is one.
#[inline(always)]
fn bound(
    gains: &impl SmallGains,
    error: &BoundError,
    orders: LocalOrders<'_>,
    features: &[u32],
    bounds: &mut Vec<f64>,
) -> BoundVerdict {
    let order = |place: usize| orders.of(features[place] as usize);
    write_highest(features.len(), order, gains, bounds);
    let Tolerance { share, clear } = error.tolerance;
    // (t + e)² ≤ t² · (1 + share) + e² · (1 + 1/share).
    let room = error.largest_scale * error.of_sum * error.of_sum * (1.0 + 1.0 / share);
    let best = (1..bounds.len()).fold(0, |best, place| if bounds[place] > bounds[best] { place } else { best });
    let close = bounds[best] * (1.0 - clear);
    let n_rivals = bounds.iter().filter(|&&bound| bound >= close).count();
    for bound in bounds {
        *bound = (*bound * (1.0 + 2.0 * share) + room) * error.weight;
    }
    // `t` is at least the root of close / largest scale. Twice its error, as a share of that, must
    // be far below `clear`.
    if n_rivals > 1 || close < error.largest_scale * (20.0 / clear * error.of_sum).powi(2) {
        return BoundVerdict::Bounded;
    }
    match only_cut(order(best), gains, close) {
        Some(n_left) => BoundVerdict::Clear { place: best, n_left },
        None => BoundVerdict::Bounded,
    }
}

/// How far the gains of a node may be off.
struct BoundError {
    tolerance: Tolerance,
    /// Error of `t`.
    of_sum: f64,
    /// The greatest `1/k + 1/(m − k)`.
    largest_scale: f64,
    /// `m`.
    weight: f64,
}

impl BoundError {
    fn new(node: &SquaredNode, tolerance: Tolerance, lightest: f64, weight: f64) -> Self {
        let rows = node.rows as f64;
        // Each deviation is off by a few units in its last place, and so is the sum after each
        // addition.
        let of_sum = f64::EPSILON * rows * (rows / 2.0 + 8.0) * node.largest_contribution;
        Self { tolerance, of_sum, largest_scale: 2.0 / lightest, weight }
    }
}

/// The gains of a node's cuts, up to the factor `m`.
trait SmallGains {
    /// Sums over the rows on the left.
    type Sums: Copy + Default;

    /// Places behind which a cut may be, from the first one on.
    fn len(&self) -> usize;

    fn add(&self, sums: Self::Sums, row: u16) -> Self::Sums;

    /// `t² · (1/k + 1/(m − k))` of the cut behind this place; 0 if there are too few rows before
    /// it.
    fn gain(&self, sums: Self::Sums, place: usize) -> f64;
}

struct UnweightedGains<'a> {
    deviations: &'a [f64; LOCAL_ROWS],
    scales: &'a [f64],
}

impl SmallGains for UnweightedGains<'_> {
    type Sums = f64;

    #[inline(always)]
    fn len(&self) -> usize {
        self.scales.len()
    }

    #[inline(always)]
    fn add(&self, sum: f64, row: u16) -> f64 {
        sum + self.deviations[row as usize]
    }

    #[inline(always)]
    fn gain(&self, sum: f64, place: usize) -> f64 {
        sum * sum * self.scales[place]
    }
}

struct WeightedGains<'a> {
    rows: &'a [WeightedDeviation; LOCAL_ROWS],
    weight: f64,
    first: usize,
    len: usize,
}

/// A row's weight, and its weight times its deviation from the node's mean.
#[derive(Clone, Copy, Default)]
struct WeightedDeviation {
    weight: f64,
    deviation: f64,
}

impl SmallGains for WeightedGains<'_> {
    type Sums = WeightedDeviation;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn add(&self, sums: WeightedDeviation, row: u16) -> WeightedDeviation {
        let row = self.rows[row as usize];
        WeightedDeviation { weight: sums.weight + row.weight, deviation: sums.deviation + row.deviation }
    }

    #[inline(always)]
    fn gain(&self, sums: WeightedDeviation, place: usize) -> f64 {
        let WeightedDeviation { weight, deviation } = sums;
        let gain = deviation * deviation * self.weight / (weight * (self.weight - weight));
        if place < self.first { 0.0 } else { gain }
    }
}

/// Buffers for the bounds of one node. The tables take up to a megabyte, so they are allocated on
/// demand.
#[derive(Default)]
pub(super) struct BoundBuffers {
    /// By row of the node: the deviation from its mean, in units of its grid.
    deviations: Option<Box<[f64; LOCAL_ROWS]>>,
    /// The same with weights.
    weighted: Option<Box<[WeightedDeviation; LOCAL_ROWS]>>,
    /// By number of rows on the left, `k`: `1/k + 1/(m − k)`, or 0 if `k` is too small.
    scales: Vec<f64>,
}

impl BoundBuffers {
    /// Fills the buffers for a node of unweighted rows.
    #[inline]
    fn describe<T: ValueSample>(
        &mut self,
        node: &SquaredNode,
        rows: &SmallNode<'_, SquaredError<T>>,
    ) -> (UnweightedGains<'_>, BoundError) {
        let (len, min_rows) = (node.rows, rows.min_rows);
        let mean = node.total.value as f64 / len as f64;
        let deviations = self.deviations.get_or_insert_with(local_table);
        for &row in rows.any_order() {
            deviations[row as usize] = node.values.in_units(rows.items[row as usize].y() - node.lowest) - mean;
        }
        self.scales.clear();
        let scale = |k: usize| if k < min_rows { 0.0 } else { RECIPROCALS[k] + RECIPROCALS[len - k] };
        self.scales.extend((1..=len - min_rows).map(scale));
        (UnweightedGains { deviations, scales: &self.scales }, BoundError::new(node, ROWS, 1.0, len as f64))
    }

    /// Fills the buffers for a node of weighted rows. `None` if the weights differ too much for
    /// floats.
    #[inline]
    fn describe_weighted<T: ValueSample>(
        &mut self,
        node: &SquaredNode,
        rows: &SmallNode<'_, SquaredError<T>>,
    ) -> Option<(WeightedGains<'_>, BoundError)> {
        let weight = node.weight();
        let mean = node.total.value as f64 / weight;
        let table = self.weighted.get_or_insert_with(local_table);
        let (mut lightest, mut heaviest) = (f64::INFINITY, 0.0);
        for &row in rows.any_order() {
            let item = rows.items[row as usize];
            let weight = item.weight();
            let deviation = node.values.in_units(weight * (item.y() - node.lowest)) - weight * mean;
            table[row as usize] = WeightedDeviation { weight, deviation };
            lightest = if weight < lightest { weight } else { lightest };
            heaviest = if weight > heaviest { weight } else { heaviest };
        }
        let gains = WeightedGains { rows: table, weight, first: rows.min_rows - 1, len: node.rows - rows.min_rows };
        (heaviest <= LARGEST_RATIO * lightest).then(|| (gains, BoundError::new(node, WEIGHTS, lightest, weight)))
    }
}

/// Writes the greatest `t² · (1/k + 1/(m − k))` of each feature.
#[inline(always)]
fn write_highest<'a>(
    n_features: usize,
    order: impl Fn(usize) -> &'a [u16],
    gains: &impl SmallGains,
    bounds: &mut Vec<f64>,
) {
    bounds.clear();
    let mut place = 0;
    while place + FEATURES_AT_ONCE <= n_features {
        bounds.extend(highest_gains([0, 1, 2, 3].map(|k| order(place + k)), gains));
        place += FEATURES_AT_ONCE;
    }
    for place in place..n_features {
        bounds.extend(highest_gains([order(place)], gains));
    }
}

/// The number of rows on the left of the cut whose `t² · (1/k + 1/(m − k))` is at least `close`;
/// `None` if several cuts reach it.
fn only_cut(order: &[u16], gains: &impl SmallGains, close: f64) -> Option<usize> {
    let (mut sums, mut found, mut n_found) = (Default::default(), 0, 0);
    for (place, &row) in order[..gains.len()].iter().enumerate() {
        sums = gains.add(sums, row);
        let is_close = gains.gain(sums, place) >= close;
        found = if is_close { place + 1 } else { found };
        n_found += usize::from(is_close);
    }
    (n_found == 1).then_some(found)
}

/// The greatest `t² · (1/k + 1/(m − k))` of each order.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // The outer index of `orders` is the feature.
fn highest_gains<const N: usize>(orders: [&[u16]; N], gains: &impl SmallGains) -> [f64; N] {
    let (mut sums, mut highest) = ([Default::default(); N], [0.0; N]);
    let orders = orders.map(|order| &order[..gains.len()]);
    for place in 0..gains.len() {
        for k in 0..N {
            sums[k] = gains.add(sums[k], orders[k][place]);
            let gain = gains.gain(sums[k], place);
            highest[k] = if gain > highest[k] { gain } else { highest[k] };
        }
    }
    highest
}
