//! HOT: squared errors of tiny nodes, of at most 16 rows, without weights.
//!
//! With `t` the sum of the deviations of the first `k` of `m` rows from the node's mean, the gain
//! of a cut is `t² · m / (k · (m − k))`. `tiny_search.rs` has the search.

use super::tiny_search::{LEAST_SHARE, TinyGains, TinySearch};
use super::{SquaredError, SquaredReport};
use crate::columns::local::MAX_TINY_ROWS as MAX_ROWS;
use crate::criterion::{Grid, TinyKernel, TinyNode, TinySummary, TinyTargets};

/// `1 / (k · (m − k))` by `m` and `k − 1`; 0 where `k` rows on the left are not allowed.
type Scales = [[f64; MAX_ROWS]; MAX_ROWS + 1];

/// The kernel, with the sums of the node that was described last.
pub(crate) struct TinySquaredError {
    scales: Box<Scales>,
    sums: TinySums,
    search: TinySearch,
}

/// The sums of a node.
#[derive(Default)]
struct TinySums {
    len: usize,
    /// By row: the target on the node's grid, and its deviation from the node's mean.
    units: [i64; MAX_ROWS],
    deviations: [f64; MAX_ROWS],
    /// The sum of the targets on the grid, and of the squared deviations.
    total: i64,
    loss: f64,
}

impl TinyKernel<SquaredError<f64>> for TinySquaredError {
    fn new(_: &SquaredError<f64>, min_rows_leaf: usize) -> Option<Self> {
        let mut scales = Box::new([[0.0; MAX_ROWS]; MAX_ROWS + 1]);
        for len in 2 * min_rows_leaf..=MAX_ROWS {
            for n_left in min_rows_leaf..=len - min_rows_leaf {
                scales[len][n_left - 1] = 1.0 / (n_left * (len - n_left)) as f64;
            }
        }
        Some(Self { scales, sums: TinySums::default(), search: TinySearch::default() })
    }

    #[inline(always)]
    fn sample(&self, _: &SquaredError<f64>, item: f64) -> (f64, f64) {
        (item, 1.0)
    }

    fn take_in(&mut self, _: &[f64]) {}

    fn value(rows: &[u8], targets: &TinyTargets) -> f64 {
        let lowest = rows.iter().fold(f64::INFINITY, |lowest, &row| lowest.min(targets.y[row as usize]));
        let sum: f64 = rows.iter().map(|&row| targets.y[row as usize] - lowest).sum();
        lowest + sum / rows.len() as f64
    }

    #[inline(always)]
    fn is_heavier([left, right]: [&[u8]; 2], _: &TinyTargets) -> bool {
        left.len() > right.len()
    }

    #[inline(always)]
    fn describe_one(&mut self, row: usize, targets: &TinyTargets) -> TinySummary {
        TinySummary::of_one(targets.y[row])
    }

    #[inline(always)]
    fn describe_pair(&mut self, [a, b]: [usize; 2], targets: &TinyTargets) -> TinySummary {
        let [y, z] = [targets.y[a], targets.y[b]];
        // From the lower target up, so that their order can't matter.
        let half = (z - y).abs() / 2.0;
        TinySummary { value: y.min(z) + half, loss: half * half, is_pure: y == z, weight: 2.0 }
    }

    #[inline(always)]
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &TinyTargets) -> TinySummary {
        let sums = &mut self.sums;
        let len = rows.len();
        // Places beyond the last row repeat the first row.
        let rows: [usize; N] =
            std::array::from_fn(|place| rows[if place < len { place } else { 0 }] as usize % MAX_ROWS);
        let targets = rows.map(|row| targets.y[row]);
        let lowest = targets.into_iter().reduce(|a, b| if b < a { b } else { a }).unwrap_or(0.0);
        let highest = targets.into_iter().reduce(|a, b| if b > a { b } else { a }).unwrap_or(0.0);
        if lowest == highest {
            return TinySummary { weight: len as f64, ..TinySummary::of_one(lowest) };
        }
        let grid = Grid::new(highest - lowest, len as f64 * (highest - lowest));
        let units = targets.map(|target| grid.put(target - lowest));
        sums.len = len;
        sums.total = (0..N).fold(0, |sum, place| sum + if place < len { units[place] } else { 0 });
        let mean = sums.total as f64 * grid.unit / len as f64;
        sums.loss = 0.0;
        for place in 0..N {
            let deviation = (targets[place] - lowest) - mean;
            sums.units[rows[place]] = units[place];
            sums.deviations[rows[place]] = deviation;
            sums.loss += if place < len { deviation * deviation } else { 0.0 };
        }
        TinySummary { value: lowest + mean, loss: sums.loss / len as f64, is_pure: false, weight: len as f64 }
    }

    #[inline(always)]
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
    ) -> Option<(usize, usize)> {
        let scales = &self.scales[node.rows.len()];
        self.search.search::<N, F>(node, &ScaledSums { sums: &self.sums, scales })
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

/// The sums of a node with its scales.
struct ScaledSums<'a> {
    sums: &'a TinySums,
    scales: &'a [f64; MAX_ROWS],
}

impl TinyGains for ScaledSums<'_> {
    /// `t`.
    type Sums = f64;

    #[inline(always)]
    fn add(&self, sum: f64, row: u8) -> f64 {
        sum + self.sums.deviations[row as usize % MAX_ROWS]
    }

    /// `t² / (k · (m − k))`.
    #[inline(always)]
    fn gain(&self, sum: f64, place: usize) -> f64 {
        sum * sum * self.scales[place]
    }

    fn leaves_enough(&self, n_left: usize) -> bool {
        self.scales[n_left - 1] > 0.0
    }

    #[inline(always)]
    fn is_precise(&self, gain: f64) -> bool {
        gain * self.sums.len as f64 >= self.sums.loss * LEAST_SHARE
    }

    fn exact_gain(&self, left: &[u8]) -> f64 {
        let (len, n_left) = (self.sums.len, left.len());
        let sum: i64 = left.iter().map(|&row| self.sums.units[row as usize]).sum();
        let d = len as i64 * sum - n_left as i64 * self.sums.total;
        // Each row was rounded to a unit: means that are closer than that count as equal.
        let rounding = len * n_left.min(len - n_left);
        if d.unsigned_abs() <= rounding as u64 { 0.0 } else { d as f64 * d as f64 * self.scales[n_left - 1] }
    }
}
