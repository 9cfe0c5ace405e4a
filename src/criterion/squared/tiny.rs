//! HOT: squared errors of tiny nodes, of at most 16 rows.
//!
//! With `t` the sum of the deviations of the first `k` of `m` rows from the node's mean, the gain
//! of a cut is `t² · m / (k · (m − k))`. Floats find the cuts that come close to the best. If these
//! are one cut, or cuts with the same rows on their sides, the first of them wins. Otherwise
//! integers decide, as in larger nodes. Loops have the fixed length `N` and no branches that are
//! hard to predict.

use super::{SquaredError, SquaredReport};
use crate::columns::local::{MAX_TINY_ROWS as MAX_ROWS, TinyOrder};
use crate::criterion::{Grid, TinyKernel, TinyNode, TinySummary};
use crate::split::near;

/// Features that are evaluated side by side: enough to hide the latency of the additions.
const FEATURES_AT_ONCE: usize = 4;

/// Gains that differ by less than this share are a close call. It is far above the rounding of `t`,
/// as long as the gain is at least `LEAST_SHARE` of the node's loss.
const CLOSE: f64 = 1e-9;
const LEAST_SHARE: f64 = 1e-5;

/// `1 / (k · (m − k))` by `m` and `k − 1`; 0 where `k` rows on the left are not allowed.
type Scales = [[f64; MAX_ROWS]; MAX_ROWS + 1];

/// The kernel, with the sums of the node that was described last.
pub(crate) struct TinySquaredError {
    scales: Box<Scales>,
    /// By row: the target on the node's grid, and its deviation from the node's mean.
    units: [i64; MAX_ROWS],
    deviations: [f64; MAX_ROWS],
    /// The sum of the targets on the grid, and of the squared deviations.
    total: i64,
    loss: f64,
    /// By feature: the highest `t² / (k · (m − k))`, up to rounding and to cuts that would part
    /// equal values.
    highest: Vec<f64>,
}

impl TinyKernel<SquaredError<f64>> for TinySquaredError {
    fn new(_: &SquaredError<f64>, min_rows_leaf: usize) -> Option<Self> {
        let mut scales = Box::new([[0.0; MAX_ROWS]; MAX_ROWS + 1]);
        for len in 2 * min_rows_leaf..=MAX_ROWS {
            for n_left in min_rows_leaf..=len - min_rows_leaf {
                scales[len][n_left - 1] = 1.0 / (n_left * (len - n_left)) as f64;
            }
        }
        let (units, deviations) = ([0; MAX_ROWS], [0.0; MAX_ROWS]);
        Some(Self { scales, units, deviations, total: 0, loss: 0.0, highest: Vec::new() })
    }

    #[inline(always)]
    fn target(&self, _: &SquaredError<f64>, item: f64) -> f64 {
        item
    }

    fn take_in(&mut self, _: &[f64]) {}

    fn value(rows: &[u8], targets: &[f64; MAX_ROWS]) -> f64 {
        let lowest = rows.iter().fold(f64::INFINITY, |lowest, &row| lowest.min(targets[row as usize]));
        let sum: f64 = rows.iter().map(|&row| targets[row as usize] - lowest).sum();
        lowest + sum / rows.len() as f64
    }

    fn describe_pair(&self, y: f64, z: f64) -> TinySummary {
        // From the lower target up, so that their order can't matter.
        let half = (z - y).abs() / 2.0;
        TinySummary { value: y.min(z) + half, loss: half * half, is_pure: y == z }
    }

    #[inline(always)]
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &[f64; MAX_ROWS]) -> TinySummary {
        let len = rows.len();
        // Places beyond the last row repeat the first row.
        let rows: [usize; N] =
            std::array::from_fn(|place| rows[if place < len { place } else { 0 }] as usize % MAX_ROWS);
        let targets = rows.map(|row| targets[row]);
        let lowest = targets.into_iter().reduce(|a, b| if b < a { b } else { a }).unwrap_or(0.0);
        let highest = targets.into_iter().reduce(|a, b| if b > a { b } else { a }).unwrap_or(0.0);
        if lowest == highest {
            return TinySummary { value: lowest, loss: 0.0, is_pure: true };
        }
        let grid = Grid::new(highest - lowest, len as f64 * (highest - lowest));
        let units = targets.map(|target| grid.put(target - lowest));
        self.total = (0..N).fold(0, |sum, place| sum + if place < len { units[place] } else { 0 });
        let mean = self.total as f64 * grid.unit / len as f64;
        self.loss = 0.0;
        for place in 0..N {
            let deviation = (targets[place] - lowest) - mean;
            self.units[rows[place]] = units[place];
            self.deviations[rows[place]] = deviation;
            self.loss += if place < len { deviation * deviation } else { 0.0 };
        }
        TinySummary { value: lowest + mean, loss: self.loss / len as f64, is_pure: false }
    }

    #[inline(always)]
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
    ) -> Option<(usize, usize)> {
        self.highest.resize(node.orders.len(), 0.0);
        let scales = &self.scales[node.rows.len()];
        let (fours, rest) = node.orders.as_chunks::<FEATURES_AT_ONCE>();
        let (highest_of_fours, highest_of_rest) = self.highest.as_chunks_mut::<FEATURES_AT_ONCE>();
        for (orders, highest) in fours.iter().zip(highest_of_fours) {
            *highest = highest_gains::<N, FEATURES_AT_ONCE>(orders, &self.deviations, scales);
        }
        for (order, highest) in rest.iter().zip(highest_of_rest) {
            [*highest] = highest_gains::<N, 1>(&[*order], &self.deviations, scales);
        }
        let top = self.highest.iter().fold(0.0, |top: f64, &highest| if highest > top { highest } else { top });
        let close = top * (1.0 - CLOSE);
        let near_cuts = |feature: usize, order: &TinyOrder| {
            if self.highest[feature] < close {
                return 0;
            }
            let gains = gains::<N>(order, &self.deviations, scales);
            (0..N).fold(0u32, |cuts, place| cuts | u32::from(gains[place] >= close) << place)
        };
        if close * node.rows.len() as f64 >= self.loss * LEAST_SHARE
            && let Some(winner) = node.first_of_same_partition(near_cuts)
        {
            return Some(winner);
        }
        self.search_close_call(node)
    }

    #[inline]
    fn write_summary(
        &self,
        criterion: &SquaredError<f64>,
        rows: usize,
        summary: TinySummary,
        values: &mut Vec<f64>,
    ) -> f64 {
        match criterion.report {
            SquaredReport::Mean => {
                values.push(summary.value);
                summary.loss
            }
            SquaredReport::TwoClasses => {
                let ones = (summary.value * rows as f64).round();
                let [zeros, ones] = [rows as f64 - ones, ones].map(|count| count / rows as f64);
                values.extend([zeros, ones]);
                2.0 * zeros * ones
            }
        }
    }
}

impl TinySquaredError {
    /// Compares all cuts by sums that don't depend on their order. Returns the first cut that ties
    /// with the best.
    #[cold]
    fn search_close_call<F: Fn(usize, usize) -> bool>(&self, node: &TinyNode<'_, F>) -> Option<(usize, usize)> {
        let len = node.rows.len();
        let scales = &self.scales[len];
        let cuts = || {
            node.orders.iter().enumerate().flat_map(|(feature, order)| {
                let mut sum = 0;
                (1..len).filter_map(move |n_left| {
                    sum += self.units[order[n_left - 1] as usize];
                    let scale = scales[n_left - 1];
                    let allowed = scale > 0.0 && (node.allow)(feature, n_left);
                    allowed.then(|| {
                        let d = len as i64 * sum - n_left as i64 * self.total;
                        // Each row was rounded to a unit: means that are closer than that count as
                        // equal.
                        let rounding = len * n_left.min(len - n_left);
                        let gain = if d.unsigned_abs() <= rounding as u64 { 0.0 } else { d as f64 * d as f64 * scale };
                        (gain, (feature, n_left))
                    })
                })
            })
        };
        let top = cuts().map(|cut| cut.0).reduce(f64::max)?;
        cuts().find(|cut| cut.0 >= near(top, 0.0)).map(|cut| cut.1)
    }
}

/// `t² / (k · (m − k))` of each cut.
#[inline(always)]
fn gains<const N: usize>(order: &TinyOrder, deviations: &[f64; MAX_ROWS], scales: &[f64; MAX_ROWS]) -> [f64; N] {
    let mut sum = 0.0;
    std::array::from_fn(|place| {
        sum += deviations[order[place] as usize % MAX_ROWS];
        sum * sum * scales[place]
    })
}

/// The greatest `t² / (k · (m − k))` of each order.
#[inline(always)]
fn highest_gains<const N: usize, const FEATURES: usize>(
    orders: &[TinyOrder; FEATURES],
    deviations: &[f64; MAX_ROWS],
    scales: &[f64; MAX_ROWS],
) -> [f64; FEATURES] {
    let (mut sums, mut highest) = ([0.0; FEATURES], [0.0; FEATURES]);
    for place in 0..N - 1 {
        for feature in 0..FEATURES {
            sums[feature] += deviations[orders[feature][place] as usize % MAX_ROWS];
            let gain = sums[feature] * sums[feature] * scales[place];
            highest[feature] = if gain > highest[feature] { gain } else { highest[feature] };
        }
    }
    highest
}
