//! Sums that are updated row by row, for several outputs and for sparse columns.

use super::{SquaredError, SquaredNode, SquaredReport, SumContribution, Sums, ValueSample};
use crate::criterion::{OneCut, RunningSums};

/// Sums over the rows on the left, and the node's numbers that bounds read.
#[derive(Clone, Copy, Default)]
pub(crate) struct SquaredRunning {
    left: Sums,
    total: Sums,
    /// S / W.
    mean: f64,
    /// Bound on the error of s − w · mean.
    slack: f64,
    /// Square root of the decrease of the loss for a deviation of one, times the weights of both
    /// sides; rounded up.
    scale: f64,
}

impl<T: ValueSample> RunningSums for SquaredError<T> {
    type Running = SquaredRunning;

    fn start(&self, node: &SquaredNode, running: &mut SquaredRunning) {
        let (sum, weight) = (node.total.value as f64, node.total.weight as f64);
        let factor = if self.report == SquaredReport::TwoClasses { 2.0 } else { 1.0 };
        *running = SquaredRunning {
            left: Sums::default(),
            total: node.total,
            mean: sum / weight,
            slack: sum * f64::EPSILON * 4.0,
            scale: node.values.unit * (factor * weight / node.weights.unit).sqrt() * (1.0 + 1e-12),
        };
    }

    #[inline(always)]
    fn add(&self, running: &mut SquaredRunning, contribution: T::Contribution) {
        running.left = running.left.plus(contribution.sums());
    }

    #[inline(always)]
    fn mirror(&self, running: &SquaredRunning, mirrored: &mut SquaredRunning) {
        *mirrored = SquaredRunning { left: running.total.minus(running.left), ..*running };
    }

    #[inline(always)]
    fn weights(&self, running: &SquaredRunning) -> [f64; 2] {
        [running.left.weight as f64, (running.total.weight - running.left.weight) as f64]
    }

    #[inline(always)]
    fn scaled_bound(&self, running: &SquaredRunning, [weight, _]: [f64; 2]) -> f64 {
        let deviation = (running.left.value as f64 - weight * running.mean).abs() + running.slack;
        let root = deviation * running.scale;
        root * root
    }

    #[inline(always)]
    fn deviation(&self, start: &SquaredRunning, contribution: T::Contribution) -> f64 {
        let Sums { value, weight } = contribution.sums();
        (value as f64 - weight as f64 * start.mean) * start.scale
    }

    fn deviation_error(&self, start: &SquaredRunning) -> Option<f64> {
        Some(start.slack * start.scale)
    }

    fn gain(&self, node: &SquaredNode, running: &SquaredRunning, cut: &OneCut<'_>) -> Option<f64> {
        Self::gain_of_sums(node, running.left, cut)
    }
}
