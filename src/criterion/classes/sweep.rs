//! HOT: the sweep over a node's rows in a feature's order. Running sums screen the cuts; the few
//! that pass get their gain from the sums of the classes.
//!
//! The sums are the impurities of both sides. For the entropy of weighted rows these would take six
//! logarithms per row, so a bound without logarithms comes first. With `l` of the weight `n` of a
//! class on the left, `w` of the weight `W` of all classes, and h(x) <= x² (`poisson/mod.rs`),
//!
//! ```text
//! gain <= Σ (W·l − w·n)² / n / (w · (W − w)) = (A − w²/W) · W² / (w · (W − w)),   A = Σ l²/n
//! ```
//!
//! and `A` is a running sum. A closer bound per class decides most of the cuts that pass.

use super::{ClassContribution, ClassNode, ClassSample, ClassScratch, Classes, x_ln_x};
use crate::criterion::poisson::{h, h_bound};
use crate::criterion::{ContributionsOf, Cuts};
use crate::params::Impurity;
use crate::split::Contest;

impl<T: ClassSample> Classes<T> {
    /// Offers every cut that could win; `left` is a buffer for the weight of each class on the
    /// left.
    pub(super) fn walk<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &ClassNode,
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        left: &mut Vec<i64>,
    ) {
        left.clear();
        left.resize(self.n_values, 0);
        let heavy_enough = |weight: i64| weight as f64 * node.grid.unit >= cuts.min_weight;
        let all: f64 = node.counts.iter().map(|&count| self.convex(count)).sum();
        let whole = self.part(all, node.total);
        let error = (all + self.convex(node.total)) * self.rounding(node.rows);
        let (mut weight, mut left_sum, mut right_sum) = (0, 0.0, all);
        for place in 0..cuts.last {
            let row = contributions.at(place);
            let (class, units) = (row.class(), row.units());
            let (l, r) = (left[class], node.counts[class] - left[class]);
            left_sum += self.convex(l + units) - self.convex(l);
            right_sum += self.convex(r - units) - self.convex(r);
            left[class] = l + units;
            weight += units;
            let parts = self.part(left_sum + error, weight) + self.part(right_sum + error, node.total - weight);
            // The factor covers the rounding of the two parts.
            if parts * (1.0 + 1e-14) - whole >= contest.bar() && cuts.allow(place + 1) {
                let gain = self.gain(node, left, weight);
                let is_heavy = heavy_enough(weight) && heavy_enough(node.total - weight);
                if is_heavy && cuts.allow_values(|| node.second_shares(left, weight)) {
                    contest.offer(gain, cuts.cut(place + 1));
                }
            }
        }
    }

    /// The same for the entropy of weighted rows.
    pub(super) fn walk_weighted_entropy<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &ClassNode,
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        ClassScratch { left, reciprocals }: &mut ClassScratch,
    ) {
        left.clear();
        left.resize(self.n_values, 0);
        reciprocals.clear();
        reciprocals.extend(node.counts.iter().map(|&count| 1.0 / count.max(1) as f64));
        let heavy_enough = |weight: i64| weight as f64 * node.grid.unit >= cuts.min_weight;
        let total = node.total as f64;
        // Each row adds a few roundings to the running sum, which is at most the node's weight.
        let error = (node.rows + 16) as f64 * 4.0 * f64::EPSILON * total;
        let (mut weight, mut squares) = (0, 0.0);
        for place in 0..cuts.last {
            let row = contributions.at(place);
            let (class, units) = (row.class(), row.units());
            let l = left[class];
            // (l + units)² − l², divided by the class's weight.
            squares += units as f64 * (2.0 * l as f64 + units as f64) * reciprocals[class];
            left[class] = l + units;
            weight += units;
            let (w, rest) = (weight as f64, (node.total - weight) as f64);
            let bound = (squares - w * w / total + error) * (total * total);
            // The closer bound is NaN where a side has no weight on the grid.
            let is_below = || entropy_gain(node, left, weight, h_bound) * (1.0 + BOUND_SLACK) < contest.bar();
            if bound >= contest.bar() * (w * rest) && !is_below() && cuts.allow(place + 1) {
                let gain = self.gain(node, left, weight);
                let is_heavy = heavy_enough(weight) && heavy_enough(node.total - weight);
                if is_heavy && cuts.allow_values(|| node.second_shares(left, weight)) {
                    contest.offer(gain, cuts.cut(place + 1));
                }
            }
        }
    }

    /// The relative error of a running sum: each row adds a few roundings, unless the sums are
    /// whole numbers.
    pub(super) fn rounding(&self, n_rows: usize) -> f64 {
        let is_exact = self.impurity == Impurity::Gini && !T::WEIGHTED && n_rows < 1 << 26;
        if is_exact { 0.0 } else { (n_rows + 16) as f64 * f64::EPSILON }
    }

    /// A convex function of a class's weight. The gain grows with its sum over the classes of each
    /// child (for the entropy, less its value for the whole child).
    #[inline]
    pub(super) fn convex(&self, weight: i64) -> f64 {
        match self.impurity {
            Impurity::Gini => weight as f64 * weight as f64,
            Impurity::Entropy if T::WEIGHTED => x_ln_x(weight as f64),
            Impurity::Entropy => self.x_ln_x[weight as usize],
        }
    }

    /// The part of a child in the gain, from its weight and the sum of `convex` over its classes.
    #[inline]
    pub(super) fn part(&self, convex_sum: f64, weight: i64) -> f64 {
        match self.impurity {
            Impurity::Gini => convex_sum / weight as f64,
            Impurity::Entropy => convex_sum - self.convex(weight),
        }
    }

    /// The gain from the sums of the classes alone; the same if left and right are exchanged.
    pub(super) fn gain(&self, node: &ClassNode, left: &[i64], weight: i64) -> f64 {
        let rest = node.total - weight;
        if weight == 0 || rest == 0 {
            // A side without weight: its rows are too light for the grid.
            return 0.0;
        }
        let classes = || left.iter().zip(&*node.counts).filter(|&(_, &all)| all > 0);
        match self.impurity {
            Impurity::Gini => {
                let squares: f64 = classes()
                    .map(|(&l, &all)| {
                        let d = i128::from(node.total) * i128::from(l) - i128::from(weight) * i128::from(all);
                        d as f64 * d as f64
                    })
                    .sum();
                squares / (weight as f64 * rest as f64) / node.total as f64
            }
            Impurity::Entropy => entropy_gain(node, left, weight, h),
        }
    }
}

/// Room for the rounding of a gain bound.
const BOUND_SLACK: f64 = 1e-12;

/// With the share q of a class in the node and (1 + x)·q in a child of weight w, the gain is
/// Σ w·q·h(x). No term is negative, so no digit is lost in a node that is nearly pure, or whose
/// weights span many decades. An upper bound of `h` gives an upper bound of the gain.
#[inline(always)]
fn entropy_gain(node: &ClassNode, left: &[i64], weight: i64, h: impl Fn(f64) -> f64) -> f64 {
    let rest = node.total - weight;
    let excess = |d: f64, all: f64, w: f64| w * h(d / (all * w));
    let classes = left.iter().zip(&*node.counts).filter(|&(_, &all)| all > 0);
    classes
        .map(|(&l, &all)| {
            let d = i128::from(node.total) * i128::from(l) - i128::from(weight) * i128::from(all);
            let (d, all) = (d as f64, all as f64);
            all * (excess(d, all, weight as f64) + excess(-d, all, rest as f64)) / node.total as f64
        })
        .sum()
}
