//! Half Poisson deviance, for counts and other targets that are not negative.
//!
//! With mean `m` and weight `W` of a node,
//!
//! ```text
//! loss = Σ w · y · ln(y / m)
//! gain = m · (w · h(e) + w' · h(e')),   h(x) = (1 + x) · ln(1 + x) − x
//! ```
//!
//! where `w`, `w'` are the weights of the children and `e`, `e'` the relative deviations of their
//! means from `m`. `h` is never negative and about x²/2 near 0. So nothing cancels, however close
//! the means are, and gains are good to a few roundings. As in `squared/`, sums are of w·(y −
//! lowest y), integers on the node's grid, so that `d = W·s − w·S` is exact, and `e = d / (w·Σwy)`.
//!
//! A leaf must not predict 0: its deviance would be infinite for every later target above 0. As in
//! scikit-learn, cuts with a child whose targets are all 0 are not allowed.
//!
//! Logarithms are slow. `h(x) <= x²` rules out most cuts by a multiplication and a comparison, and
//! a closer bound ([`h_bound`]) rules out most of the rest. Cost: O(rows) per feature, and one
//! logarithm per row for each node's impurity, or per different target where these are few.

mod groups;
mod running;
mod sweep;

use std::marker::PhantomData;

use self::groups::PoissonGroups;
use super::{ContributionsOf, Criterion, Cuts, Grid, LabelOrder, NoBounds, NoTinyKernel, OneCut, Sample, Unranked};
use crate::split::Contest;
use crate::wire::wire_struct;

/// Poisson deviance over targets with (`Weighted<f64>`) or without (`f64`) weights.
pub(crate) struct Poisson<T>(PhantomData<T>);

impl<T> Poisson<T> {
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Sums of w·(y − lowest) and of w over some rows, on the node's grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    value: i64,
    weight: i64,
}

wire_struct!(Sums { value, weight });

impl Sums {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, weight: self.weight + other.weight }
    }
}

/// The targets of a node and their sums on its grids.
pub(crate) struct PoissonNode {
    rows: usize,
    /// Rows whose target is not 0.
    positive: usize,
    lowest: f64,
    highest: f64,
    values: Grid,
    weights: Grid,
    total: Sums,
    /// Σ w·y in units of `values`.
    sum: f64,
    mean: f64,
    impurity: f64,
}

wire_struct!(PoissonNode { rows, positive, lowest, highest, values, weights, total, sum, mean, impurity });

impl PoissonNode {
    fn new<T: Sample<f64>>(items: &[T]) -> Self {
        let (lowest, highest) = items
            .iter()
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), item| (least.min(item.y()), most.max(item.y())));
        let above = |item: &T| item.weight() * (item.y() - lowest);
        let mut node = Self {
            rows: items.len(),
            positive: items.iter().filter(|item| item.y() > 0.0).count(),
            lowest,
            highest,
            values: grid_of(items.iter().map(above)),
            weights: if T::WEIGHTED { grid_of(items.iter().map(|item| item.weight())) } else { Grid::ONE },
            total: Sums::default(),
            sum: 0.0,
            mean: lowest,
            impurity: 0.0,
        };
        node.total = items.iter().fold(Sums::default(), |sums, &item| sums.plus(node.put(item)));
        if node.lowest < node.highest {
            node.average(items);
        }
        node
    }

    /// Computes sum, mean and impurity of targets that are not all equal.
    fn average<T: Sample<f64>>(&mut self, items: &[T]) {
        let weight = self.weight();
        // Relative to the lowest value: there the mean keeps all its bits, however far from 0 it
        // is.
        let above = self.total.value as f64 * self.values.unit / weight;
        self.mean = self.lowest + above;
        self.sum = self.mean * (weight / self.values.unit);
        let mut excesses = RecentExcesses::default();
        let excess = |y: f64| h(((y - self.lowest) - above) / self.mean);
        let term = |item: &T| item.weight() * excesses.get(item.y(), excess);
        self.impurity = self.mean * items.iter().map(term).sum::<f64>() / weight;
    }

    /// The contribution of a row. What is not 0 becomes at least one unit: no sum of targets above
    /// 0 is 0, and no child is without weight.
    #[inline(always)]
    fn put<T: Sample<f64>>(&self, item: T) -> Sums {
        let above = item.y() - self.lowest;
        Sums {
            value: self.values.put(item.weight() * above).max(i64::from(above > 0.0)),
            weight: if T::WEIGHTED { self.weights.put(item.weight()).max(1) } else { 1 },
        }
    }

    fn weight(&self) -> f64 {
        self.total.weight as f64 * self.weights.unit
    }

    /// The means of both children.
    fn means(&self, left: Sums) -> [f64; 2] {
        let mean = |value: i64, weight: i64| {
            self.lowest + value as f64 * self.values.unit / (weight as f64 * self.weights.unit)
        };
        let Sums { value, weight } = self.total;
        [mean(left.value, left.weight), mean(value - left.value, weight - left.weight)]
    }

    /// Whether both children have targets above 0.
    fn is_positive(&self, left: Sums) -> bool {
        self.lowest > 0.0 || (left.value > 0 && left.value < self.total.value)
    }

    /// The gain of a cut in units of `values`; the same if left and right are exchanged.
    fn gain(&self, n_left: usize, left: Sums) -> f64 {
        let total = self.total;
        let (w, rest) = (left.weight, total.weight - left.weight);
        let d = i128::from(total.weight) * i128::from(left.value) - i128::from(w) * i128::from(total.value);
        // Each row was rounded to a unit: means that are closer than that count as equal.
        let few_rows = n_left.min(self.rows - n_left);
        if d.unsigned_abs() <= total.weight as u128 * few_rows as u128 {
            return 0.0;
        }
        let part = |d: f64, w: f64| w * h(d / (w * self.sum));
        let parts = part(d as f64, w as f64) + part(-(d as f64), rest as f64);
        parts * (self.sum / total.weight as f64)
    }

    /// The gain of a cut with these sums on the left; `None` if a rule forbids it.
    fn gain_of_sums(&self, left: Sums, cut: &OneCut<'_>) -> Option<f64> {
        let heavy_enough = |weight: i64| weight as f64 * self.weights.unit >= cut.min_weight;
        let is_allowed = self.is_positive(left)
            && heavy_enough(left.weight)
            && heavy_enough(self.total.weight - left.weight)
            && cut.cuts().allow_values(|| self.means(left));
        is_allowed.then(|| self.gain(cut.n_left, left))
    }
}

/// The excesses of the targets that were seen last: counts have few different values.
struct RecentExcesses([(f64, f64); 1 << RECENT_BITS]);

const RECENT_BITS: u32 = 5;

impl Default for RecentExcesses {
    fn default() -> Self {
        Self([(f64::NAN, 0.0); 1 << RECENT_BITS])
    }
}

impl RecentExcesses {
    #[inline(always)]
    fn get(&mut self, y: f64, excess: impl Fn(f64) -> f64) -> f64 {
        // The highest bits of the product depend on all bits of the target.
        let place = y.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT_BITS);
        let recent = &mut self.0[place as usize];
        if recent.0 != y {
            *recent = (y, excess(y));
        }
        recent.1
    }
}

/// The grid for sums of these numbers, none of them negative.
fn grid_of(numbers: impl Iterator<Item = f64>) -> Grid {
    let (largest, total) =
        numbers.fold((0.0, 0.0), |(largest, total): (f64, f64), number| (largest.max(number), total + number));
    Grid::new(largest, total)
}

/// (1 + x) · ln(1 + x) − x for x >= −1, without cancellation. It does not use `f64::ln_1p`, whose
/// last bit differs between platforms.
pub(super) fn h(x: f64) -> f64 {
    if x.abs() < 0.1 {
        // x² · Σ (−x)^k / ((k + 1)(k + 2)). The terms left out are below 2^-53 of the sum.
        let series = (0..15).rev().fold(0.0, |sum, k| f64::from((k + 1) * (k + 2)).recip() - x * sum);
        x * x * series
    } else if x <= -1.0 {
        1.0
    } else {
        (1.0 + x) * libm::log1p(x) - x
    }
}

/// An upper bound of `h(x)` for x >= −1, up to rounding: x²/2 · (1 − x/3 + …) as `h` itself near 0,
/// and 1 at −1. It follows from ln(1 + x) <= x · (6 + x) / (6 + 4x), because the derivative of the
/// difference, 4x³ / ((6 + 4x)² · (1 + x)), has the sign of x.
#[inline(always)]
pub(super) fn h_bound(x: f64) -> f64 {
    x * x * (3.0 + x) / (6.0 + 4.0 * x)
}

impl<T: Sample<f64>> Criterion for Poisson<T> {
    type Item = T;
    type Contribution = Sums;
    type NodeStats = PoissonNode;
    type Table = ();
    type Scratch = ();
    type Ranking = Unranked;
    type Bounds = NoBounds;
    type TinyKernel = NoTinyKernel;
    type Groups = PoissonGroups;
    const WEIGHTED: bool = T::WEIGHTED;
    const FORBIDS_SIDES: bool = true;

    fn describe(&self, items: &[T]) -> PoissonNode {
        PoissonNode::new(items)
    }

    fn tabulate(&self, _: &PoissonNode, _: &[T], (): &mut ()) {}

    /// A node with fewer than two targets above 0 counts as pure: each child would need one.
    fn is_pure(&self, node: &PoissonNode) -> bool {
        node.lowest == node.highest || node.positive < 2
    }

    fn forbids_every_cut(&self, node: &PoissonNode) -> bool {
        node.positive < 2
    }

    fn rows(&self, node: &PoissonNode) -> usize {
        node.rows
    }

    fn weight(&self, node: &PoissonNode) -> f64 {
        node.weight()
    }

    fn impurity(&self, node: &PoissonNode) -> f64 {
        node.impurity
    }

    fn n_values(&self) -> usize {
        1
    }

    fn write_value(&self, node: &PoissonNode, values: &mut Vec<f64>) {
        values.push(node.mean);
    }

    #[inline(always)]
    fn contribution(&self, node: &PoissonNode, item: T, _: impl FnOnce() -> usize) -> Sums {
        node.put(item)
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &PoissonNode,
        (): &(),
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        (): &mut (),
    ) {
        sweep::sweep(node, contributions, cuts, contest);
    }

    fn gain_of_cut(
        &self,
        node: &PoissonNode,
        (): &(),
        contributions: &[Sums],
        cut: &OneCut<'_>,
        (): &mut (),
    ) -> Option<f64> {
        let rows = contributions.iter().zip(cut.goes_left).filter(|&(_, &goes_left)| goes_left);
        let left = rows.fold(Sums::default(), |sums, (&row, _)| sums.plus(row));
        node.gain_of_sums(left, cut)
    }

    fn noise(&self, _: &PoissonNode) -> f64 {
        0.0
    }

    fn loss_decrease(&self, node: &PoissonNode, gain: f64) -> f64 {
        gain * node.values.unit
    }

    fn label_order(&self, _: &PoissonNode) -> LabelOrder {
        LabelOrder::Mean
    }

    fn label_numbers(&self, item: T, numbers: &mut Vec<f64>) -> f64 {
        numbers.push(item.y());
        item.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The series alone, with enough terms for |x| up to 1/2.
    fn series(x: f64) -> f64 {
        (0..60).rev().fold(0.0, |sum, k| f64::from((k + 1) * (k + 2)).recip() - x * sum) * x * x
    }

    proptest! {
        #[test]
        fn h_is_its_series(x in prop_oneof![-0.5..0.5f64, -0.11..0.11f64, -1e-6..1e-6f64]) {
            prop_assert!((h(x) - series(x)).abs() <= 1e-14 * series(x), "h({x}) = {}", h(x));
        }

        #[test]
        fn bounds_of_h(x in prop_oneof![-1.0..1.0f64, 0.0..1e6f64, -1e-6..1e-6f64]) {
            let slack = 1.0 + 1e-14;
            prop_assert!(h(x) <= x * x * slack);
            prop_assert!(h(x) <= h_bound(x) * slack);
        }
    }

    #[test]
    fn h_at_the_ends() {
        assert_eq!((h(-1.0), h(0.0), h(-1.0 - f64::EPSILON)), (1.0, 0.0, 1.0));
        assert_eq!((h_bound(-1.0), h_bound(0.0)), (1.0, 0.0));
    }
}
