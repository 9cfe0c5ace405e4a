//! Sums that are updated row by row, for several outputs and for sparse columns.

use super::{ClassContribution, ClassNode, ClassSample, Classes};
use crate::criterion::{Criterion, OneCut, RunningSums};
use crate::params::Impurity;

/// Weights of the classes on both sides, and running sums of their convex function.
#[derive(Default)]
pub(crate) struct ClassRunning {
    left: Vec<i64>,
    right: Vec<i64>,
    /// Weight of each side.
    weights: [i64; 2],
    /// Sum of the convex function over the classes of each side.
    sums: [f64; 2],
    /// Bound on the error of each sum.
    error: f64,
    /// The part of the whole node in the gain.
    whole: f64,
    /// Decrease of the loss for a gain of one.
    unit: f64,
    /// The share of the second class in the node.
    share: f64,
    /// Square root of the decrease of the loss for a deviation of one from that share, if there are
    /// two classes, times the weights of both sides; rounded up.
    scale: f64,
}

impl Clone for ClassRunning {
    fn clone(&self) -> Self {
        Self { left: self.left.clone(), right: self.right.clone(), ..*self }
    }

    /// Keeps the vectors' memory.
    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.left.clone_from(&other.left);
        self.right.clone_from(&other.right);
        (self.weights, self.sums) = (other.weights, other.sums);
        (self.error, self.whole, self.unit) = (other.error, other.whole, other.unit);
        (self.share, self.scale) = (other.share, other.scale);
    }
}

impl<T: ClassSample> RunningSums for Classes<T> {
    type Running = ClassRunning;

    fn start(&self, node: &ClassNode, running: &mut ClassRunning) {
        let ClassRunning { left, right, weights, sums, error, whole, unit, share, scale } = running;
        left.clear();
        left.resize(self.n_values, 0);
        right.clear();
        right.extend_from_slice(&node.counts);
        let all: f64 = node.counts.iter().map(|&count| self.convex(count)).sum();
        *weights = [0, node.total];
        *sums = [0.0, all];
        *error = (all + self.convex(node.total)) * self.rounding(node.rows);
        *whole = self.part(all, node.total);
        *unit = self.loss_decrease(node, 1.0);
        *share = node.counts.get(1).map_or(0.0, |&count| count as f64 / node.total as f64);
        *scale = (2.0 * node.total as f64 * *unit).sqrt() * (1.0 + 1e-12);
    }

    #[inline(always)]
    fn add(&self, running: &mut ClassRunning, contribution: T::Contribution) {
        let (class, units) = (contribution.class(), contribution.units());
        let (l, r) = (running.left[class], running.right[class]);
        running.sums[0] += self.convex(l + units) - self.convex(l);
        running.sums[1] += self.convex(r - units) - self.convex(r);
        running.left[class] = l + units;
        running.right[class] = r - units;
        running.weights = [running.weights[0] + units, running.weights[1] - units];
    }

    fn mirror(&self, running: &ClassRunning, mirrored: &mut ClassRunning) {
        mirrored.clone_from(running);
        std::mem::swap(&mut mirrored.left, &mut mirrored.right);
        mirrored.weights.reverse();
        mirrored.sums.reverse();
    }

    #[inline(always)]
    fn weights(&self, running: &ClassRunning) -> [f64; 2] {
        running.weights.map(|weight| weight as f64)
    }

    #[inline(always)]
    fn scaled_bound(&self, running: &ClassRunning, [left, right]: [f64; 2]) -> f64 {
        let &ClassRunning { weights, sums, error, whole, unit, .. } = running;
        let balance = left * right;
        let parts = match self.impurity {
            Impurity::Gini => (sums[0] + error) * right + (sums[1] + error) * left,
            Impurity::Entropy => {
                let parts = [0, 1].map(|side| self.part(sums[side] + error, weights[side]));
                (parts[0] + parts[1]) * balance
            }
        };
        // The second term covers the rounding of the parts.
        (parts + parts.abs() * 1e-14 - whole * balance) * unit
    }

    /// Of two classes: both deviate by as much from their shares of the left side's weight.
    #[inline(always)]
    fn deviation(&self, start: &ClassRunning, contribution: T::Contribution) -> f64 {
        let units = contribution.units() as f64;
        (f64::from(u8::from(contribution.class() == 1)) - start.share) * units * start.scale
    }

    fn deviation_error(&self, start: &ClassRunning) -> Option<f64> {
        let error = start.weights[1] as f64 * f64::EPSILON * start.scale;
        (self.impurity == Impurity::Gini && self.n_values == 2).then_some(error)
    }

    fn gain(&self, node: &ClassNode, running: &ClassRunning, cut: &OneCut<'_>) -> Option<f64> {
        self.gain_of_counts(node, &running.left, running.weights[0], cut)
    }
}
