//! Sums that are updated row by row, for several outputs and for sparse columns.

use super::{Poisson, PoissonNode, Sums};
use crate::criterion::{OneCut, RunningSums, Sample};

/// Sums over the rows on the left, and the node's numbers that bounds read.
#[derive(Clone, Copy, Default)]
pub(crate) struct PoissonRunning {
    left: Sums,
    total: Sums,
    /// S / W, for the sums of w·(y − lowest).
    mean: f64,
    /// Bound on the error of s − w · S / W.
    slack: f64,
    /// The bound for a squared deviation of one; rounded up.
    scale: f64,
}

impl<T: Sample<f64>> RunningSums for Poisson<T> {
    type Running = PoissonRunning;

    fn start(&self, node: &PoissonNode, running: &mut PoissonRunning) {
        let (sum, weight) = (node.total.value as f64, node.total.weight as f64);
        *running = PoissonRunning {
            left: Sums::default(),
            total: node.total,
            mean: sum / weight,
            slack: sum * f64::EPSILON * 4.0,
            scale: weight * weight / node.sum * node.values.unit * (1.0 + 1e-12),
        };
    }

    #[inline(always)]
    fn add(&self, running: &mut PoissonRunning, contribution: Sums) {
        running.left = running.left.plus(contribution);
    }

    #[inline(always)]
    fn mirror(&self, running: &PoissonRunning, mirrored: &mut PoissonRunning) {
        let PoissonRunning { left, total, .. } = *running;
        let rest = Sums { value: total.value - left.value, weight: total.weight - left.weight };
        *mirrored = PoissonRunning { left: rest, ..*running };
    }

    #[inline(always)]
    fn weights(&self, running: &PoissonRunning) -> [f64; 2] {
        [running.left.weight as f64, (running.total.weight - running.left.weight) as f64]
    }

    /// From h(x) <= x².
    #[inline(always)]
    fn scaled_bound(&self, running: &PoissonRunning, [weight, _]: [f64; 2]) -> f64 {
        let deviation = (running.left.value as f64 - weight * running.mean).abs() + running.slack;
        deviation * deviation * running.scale
    }

    #[inline(always)]
    fn deviation(&self, start: &PoissonRunning, contribution: Sums) -> f64 {
        (contribution.value as f64 - contribution.weight as f64 * start.mean) * start.scale.sqrt()
    }

    fn deviation_error(&self, start: &PoissonRunning) -> Option<f64> {
        Some(start.slack * start.scale.sqrt())
    }

    fn gain(&self, node: &PoissonNode, running: &PoissonRunning, cut: &OneCut<'_>) -> Option<f64> {
        node.gain_of_sums(running.left, cut)
    }
}
