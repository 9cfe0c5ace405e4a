//! HOT: squared errors of tiny nodes, of at most 16 rows, with weights.
//!
//! With `t` the sum of the first rows' weights times their deviations from the node's mean, and `w`
//! and `W` the weight on the left and of the node, the gain of a cut is `t² · W / (w · (W − w))`.
//! Nodes are described, and close calls decided, by the code of larger nodes: so a tiny node
//! reports the same bits as any other. `tiny_search.rs` has the search.

use super::tiny_search::{LEAST_SHARE, TinyGains, TinySearch};
use super::{NodeGrids, SquaredError, SquaredNode, Sums};
use crate::columns::local::MAX_TINY_ROWS as MAX_ROWS;
use crate::criterion::{Criterion, TinyKernel, TinyNode, TinySummary, TinyTargets, Weighted};

/// Floats decide only in nodes whose heaviest row has at most this many times the weight of the
/// lightest one: `t` may be as small as the lightest row, and its error as large as the heaviest.
const LARGEST_RATIO: f64 = 64.0;

/// Weights that differ by less than this share, far above their rounding, are compared on grids.
const CLOSE_WEIGHTS: f64 = 1e-9;

/// The kernel, with the node that was described last.
pub(crate) struct TinyWeightedSquaredError {
    min_rows_leaf: usize,
    node: TinyWeightedNode,
    search: TinySearch,
}

struct TinyWeightedNode {
    stats: SquaredNode,
    /// By row: what it adds to sums, its weight, and its weight times its deviation from the mean.
    sums: [Sums; MAX_ROWS],
    weights: [f64; MAX_ROWS],
    deviations: [f64; MAX_ROWS],
    weight: f64,
    /// The sum of the weighted squared deviations; infinity if floats must not decide.
    loss: f64,
    /// The least and the greatest place behind which a cut may be.
    first: usize,
    last: usize,
}

/// A node's rows as larger nodes have them.
fn items(rows: &[u8], targets: &TinyTargets) -> ([Weighted<f64>; MAX_ROWS], usize) {
    let mut items = [Weighted::default(); MAX_ROWS];
    for (item, &row) in items.iter_mut().zip(rows) {
        *item = Weighted { y: targets.y[row as usize % MAX_ROWS], weight: targets.weights[row as usize % MAX_ROWS] };
    }
    (items, rows.len())
}

/// The same in `N` items, of which the last ones repeat the first target, with weight 0.
#[inline(always)]
fn padded<const N: usize>(rows: &[u8], targets: &TinyTargets) -> [Weighted<f64>; N] {
    let mut items = [Weighted { y: targets.y[rows[0] as usize % MAX_ROWS], weight: 0.0 }; N];
    for (item, &row) in items.iter_mut().zip(rows) {
        *item = Weighted { y: targets.y[row as usize % MAX_ROWS], weight: targets.weights[row as usize % MAX_ROWS] };
    }
    items
}

impl TinyWeightedSquaredError {
    fn summary(&self) -> TinySummary {
        let stats = &self.node.stats;
        TinySummary {
            value: stats.mean,
            loss: stats.impurity,
            is_pure: stats.lowest == stats.highest,
            weight: stats.weight(),
        }
    }
}

impl TinyKernel<SquaredError<Weighted<f64>>> for TinyWeightedSquaredError {
    fn new(_: &SquaredError<Weighted<f64>>, min_rows_leaf: usize) -> Option<Self> {
        let node = TinyWeightedNode {
            stats: SquaredNode::of_one(Weighted { y: 0.0, weight: 1.0 }),
            sums: [Sums::default(); MAX_ROWS],
            weights: [0.0; MAX_ROWS],
            deviations: [0.0; MAX_ROWS],
            weight: 0.0,
            loss: 0.0,
            first: 0,
            last: 0,
        };
        Some(Self { min_rows_leaf, node, search: TinySearch::default() })
    }

    #[inline(always)]
    fn sample(&self, _: &SquaredError<Weighted<f64>>, item: Weighted<f64>) -> (f64, f64) {
        (item.y, item.weight)
    }

    fn take_in(&mut self, _: &[f64]) {}

    fn value(rows: &[u8], targets: &TinyTargets) -> f64 {
        let (items, len) = items(rows, targets);
        SquaredNode::new(&items[..len]).mean
    }

    /// Sums of floats decide unless they are close; then the grids of larger nodes do.
    #[inline(always)]
    fn is_heavier(rows: [&[u8]; 2], targets: &TinyTargets) -> bool {
        let sum = |rows: &[u8]| rows.iter().fold(0.0, |sum, &row| sum + targets.weights[row as usize % MAX_ROWS]);
        let [left, right] = rows.map(sum);
        if (left - right).abs() > CLOSE_WEIGHTS * (left + right) {
            return left > right;
        }
        // Counts of a bootstrap are exact in both, and often equal.
        let is_count = |&row: &u8| {
            let weight = targets.weights[row as usize % MAX_ROWS];
            f64::from(weight as u16) == weight
        };
        if rows.into_iter().flatten().all(is_count) {
            return left > right;
        }
        let [left, right] = rows.map(|rows| {
            let (items, len) = items(rows, targets);
            SquaredNode::weight_of(&items[..len])
        });
        left > right
    }

    #[inline(always)]
    fn describe_one(&mut self, row: usize, targets: &TinyTargets) -> TinySummary {
        self.node.stats = SquaredNode::of_one(Weighted { y: targets.y[row], weight: targets.weights[row] });
        self.summary()
    }

    fn describe_pair(&mut self, [a, b]: [usize; 2], targets: &TinyTargets) -> TinySummary {
        self.node.stats = SquaredNode::of_padded(&padded::<2>(&[a as u8, b as u8], targets), 2);
        self.summary()
    }

    #[inline(always)]
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &TinyTargets) -> TinySummary {
        let (items, len) = (padded::<N>(rows, targets), rows.len());
        let stats = SquaredNode::of_padded(&items, len);
        let node = &mut self.node;
        let grids = NodeGrids { lowest: stats.lowest, values: stats.values, weights: stats.weights };
        node.weight = stats.weight();
        let mean = stats.total.value as f64 * stats.values.unit / node.weight;
        let (mut lightest, mut heaviest) = (f64::INFINITY, 0.0);
        for (item, &row) in items.iter().zip(rows) {
            let row = row as usize % MAX_ROWS;
            node.sums[row] = grids.put(*item);
            node.weights[row] = item.weight;
            node.deviations[row] = item.weight * ((item.y - stats.lowest) - mean);
            lightest = if item.weight < lightest { item.weight } else { lightest };
            heaviest = if item.weight > heaviest { item.weight } else { heaviest };
        }
        node.loss = if heaviest <= LARGEST_RATIO * lightest { stats.impurity * node.weight } else { f64::INFINITY };
        (node.first, node.last) = (self.min_rows_leaf - 1, (len - 1).saturating_sub(self.min_rows_leaf));
        node.stats = stats;
        self.summary()
    }

    #[inline(always)]
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
    ) -> Option<(usize, usize)> {
        self.search.search::<N, F>(node, &self.node)
    }

    fn write_summary(
        &self,
        criterion: &SquaredError<Weighted<f64>>,
        _: usize,
        _: TinySummary,
        values: &mut Vec<f64>,
    ) -> f64 {
        criterion.write_value(&self.node.stats, values);
        criterion.impurity(&self.node.stats)
    }
}

impl TinyGains for TinyWeightedNode {
    /// `t` and `w`.
    type Sums = (f64, f64);

    #[inline(always)]
    fn add(&self, (sum, weight): (f64, f64), row: u8) -> (f64, f64) {
        let row = row as usize % MAX_ROWS;
        (sum + self.deviations[row], weight + self.weights[row])
    }

    /// `t² / (w · (W − w))`.
    #[inline(always)]
    fn gain(&self, (sum, weight): (f64, f64), place: usize) -> f64 {
        let gain = sum * sum / (weight * (self.weight - weight));
        if self.first <= place && place <= self.last { gain } else { 0.0 }
    }

    fn leaves_enough(&self, n_left: usize) -> bool {
        self.first < n_left && n_left <= self.last + 1
    }

    /// Where weights differ vastly, the weight of a side may round to 0 and its gain to infinity.
    #[inline(always)]
    fn is_precise(&self, gain: f64) -> bool {
        self.loss < f64::INFINITY && gain * self.weight >= self.loss * LEAST_SHARE
    }

    fn exact_gain(&self, left: &[u8]) -> f64 {
        let sums = left.iter().fold(Sums::default(), |sums, &row| sums.plus(self.sums[row as usize % MAX_ROWS]));
        self.stats.gain(left.len(), sums, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;
    use proptest::prelude::*;

    /// Targets and weights of up to `n` rows.
    fn drawn(n: usize) -> impl Strategy<Value = TinyTargets> {
        let y = prop_oneof![(-3..3).prop_map(f64::from), -1e3..1e3, Just(1e9)];
        let weight = prop_oneof![4 => (1..4).prop_map(f64::from), 1 => 1e-3..1e3, 1 => Just(1e100), 1 => Just(7e4)];
        prop::collection::vec((y, weight), n).prop_map(|rows| {
            let mut targets = TinyTargets::default();
            for (row, (y, weight)) in rows.into_iter().enumerate() {
                (targets.y[row], targets.weights[row]) = (y, weight);
            }
            targets
        })
    }

    fn check_padded<const N: usize>(rows: &[u8], targets: &TinyTargets) {
        let (items, len) = items(rows, targets);
        let found = SquaredNode::of_padded(&padded::<N>(rows, targets), len);
        assert_eq!(found.to_bytes(), SquaredNode::of_many(&items[..len]).to_bytes());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn tiny_nodes_are_described_as_any_other(
            targets in drawn(MAX_ROWS),
            rows in Just((0..MAX_ROWS as u8).collect::<Vec<u8>>()).prop_shuffle(),
        ) {
            check_padded::<2>(&rows[..2], &targets);
            check_padded::<4>(&rows[..3], &targets);
            check_padded::<4>(&rows[..4], &targets);
            for len in 5..=8 {
                check_padded::<8>(&rows[..len], &targets);
            }
            for len in 9..=MAX_ROWS {
                check_padded::<16>(&rows[..len], &targets);
            }
        }

        #[test]
        fn the_heavier_side_is_that_of_the_grids(targets in drawn(MAX_ROWS), n in 2..=MAX_ROWS, n_left in 1..MAX_ROWS) {
            let rows: Vec<u8> = (0..n as u8).collect();
            let (left, right) = rows.split_at(n_left.min(n - 1));
            let weight = |rows: &[u8]| {
                let (items, len) = items(rows, &targets);
                SquaredNode::weight_of(&items[..len])
            };
            let found = TinyWeightedSquaredError::is_heavier([left, right], &targets);
            prop_assert_eq!(found, weight(left) > weight(right));
        }
    }
}
