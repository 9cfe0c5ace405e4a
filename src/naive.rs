//! Test only: the slow, obvious versions of the fast algorithms. Property tests compare the two.

// Shared with the integration tests.
#[path = "../tests/common/definition.rs"]
pub(crate) mod definition;
#[allow(dead_code, reason = "some of it is used by the integration tests only")]
#[path = "../tests/common/draw.rs"]
pub(crate) mod draw;

use std::cmp::Ordering;

use crate::data::{Cell, Matrix, Rows};
use crate::split::Cut;
use crate::tree::Tree;

/// Rows in the order of a feature: a stable comparison sort, NaN last.
pub(crate) fn sorted_rows<X: Cell>(x: &Matrix<'_, X>, rows: &Rows, feature: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..rows.len()).map(|place| rows.id(place)).collect();
    ids.sort_by(|&a, &b| {
        let (a, b) = (x.get(a as usize, feature).to_f64(), x.get(b as usize, feature).to_f64());
        match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(&b).expect("both are numbers"),
            (a, b) => a.cmp(&b),
        }
    });
    ids
}

/// The rows that go left, then the others.
pub(crate) fn partition(rows: &[u32], goes_left: impl Fn(u32) -> bool) -> Vec<u32> {
    let left = rows.iter().copied().filter(|&row| goes_left(row));
    let right = rows.iter().copied().filter(|&row| !goes_left(row));
    left.chain(right).collect()
}

/// Every cut that parts different values and leaves `min_rows` on both sides, in the order of the
/// tie rule: missing values on the right, then on the left, each from the lowest position up.
/// `values` are sorted, NaN last.
pub(crate) fn cuts(values: &[f64], min_rows: usize) -> Vec<Cut> {
    let n = values.len();
    let numbers = values.iter().filter(|value| !value.is_nan()).count();
    let parts = |place: usize| values[place - 1] != values[place] && !values[place - 1].is_nan();
    let right = (1..n).filter(|&place| parts(place)).map(|n_left| Cut { n_left, missing_left: false });
    let left = (1..numbers)
        .filter(|&place| numbers < n && parts(place))
        .map(|place| Cut { n_left: place + n - numbers, missing_left: true });
    right.chain(left).filter(|cut| cut.n_left >= min_rows && n - cut.n_left >= min_rows).collect()
}

/// The items on the left and on the right of a cut. The last `n_missing` items have missing values.
pub(crate) fn sides<T: Copy>(cut: Cut, n_missing: usize, items: &[T]) -> [Vec<T>; 2] {
    let back = if cut.missing_left { n_missing } else { 0 };
    let (front, end) = (cut.n_left - back, items.len() - back);
    [[&items[..front], &items[end..]].concat(), items[front..end].to_vec()]
}

/// A gain without rounding: a fraction of integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExactGain {
    above: i128,
    below: i128,
}

impl ExactGain {
    /// `W` times the decrease of the loss, for integer targets and weights. `parts` computes the
    /// sums whose squared deviations make up the loss: of w·y for the squared error, of each
    /// class's weight for Gini.
    pub fn new(left: &[(i128, i128)], right: &[(i128, i128)], parts: impl Fn(&[(i128, i128)]) -> Vec<i128>) -> Self {
        let weight = |rows: &[(i128, i128)]| rows.iter().map(|row| row.1).sum::<i128>();
        let (l, r) = (weight(left), weight(right));
        let deviation = |(a, b): (i128, i128)| (r * a - l * b).pow(2);
        Self { above: parts(left).into_iter().zip(parts(right)).map(deviation).sum(), below: l * r }
    }

    pub fn to_f64(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

impl PartialEq for ExactGain {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for ExactGain {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.above * other.below).partial_cmp(&(other.above * self.below))
    }
}

/// A tree on the pruning path.
pub(crate) struct PruningStep {
    pub alpha: f64,
    /// Sum of the losses of its leaves.
    pub impurity: f64,
    /// Its inner nodes, by their ids in the whole tree.
    pub inner: Vec<usize>,
}

/// Cuts the weakest link until only the root is left; of equal links the one with the lowest node.
pub(crate) fn pruning_path(tree: &Tree) -> Vec<PruningStep> {
    let mut inner: Vec<usize> = (0..tree.node_count()).filter(|&id| tree.children(id).is_some()).collect();
    let mut path = vec![PruningStep { alpha: 0.0, impurity: branch(tree, &inner, 0).0, inner: inner.clone() }];
    while !inner.is_empty() {
        let alpha = |&id: &usize| {
            let (loss, leaves, _) = branch(tree, &inner, id);
            (tree.loss(id) - loss) / (leaves - 1.0)
        };
        let alphas: Vec<f64> = inner.iter().map(alpha).collect();
        let least = alphas.iter().copied().fold(f64::INFINITY, f64::min);
        let weakest = inner[alphas.iter().position(|&alpha| alpha == least).expect("the least of them")];
        let cut = branch(tree, &inner, weakest).2;
        inner.retain(|id| !cut.contains(id));
        path.push(PruningStep { alpha: least, impurity: branch(tree, &inner, 0).0, inner: inner.clone() });
    }
    path
}

/// Loss and number of the leaves below a node, and all nodes of the branch.
fn branch(tree: &Tree, inner: &[usize], root: usize) -> (f64, f64, Vec<usize>) {
    let (mut loss, mut leaves, mut nodes) = (0.0, 0.0, vec![root]);
    let mut next = 0;
    while next < nodes.len() {
        let id = nodes[next];
        next += 1;
        if inner.contains(&id) {
            let (left, right) = tree.children(id).expect("an inner node");
            nodes.extend([left, right]);
        } else {
            loss += tree.loss(id);
            leaves += 1.0;
        }
    }
    (loss, leaves, nodes)
}

#[cfg(test)]
mod tests {
    use super::definition::{Definition, Row, lowest, total_weight};
    use super::draw::{Dice, Values, Weights};
    use crate::median::{Center, Level};
    use proptest::prelude::*;

    proptest! {
        /// The definitions of absolute error and quantiles: no other value has less loss, running
        /// losses are the losses of prefixes, and leaves predict the same value.
        #[test]
        fn quantiles_are_where_the_loss_is_least(
            n in 1..150usize, values in Values::any(), weights in Weights::any(), level in 1..20u32, seed in any::<u64>()
        ) {
            let mut dice = Dice::new(seed);
            let targets = values.draw(&mut dice, &vec![0.0; n]);
            let rows: Vec<Row> = targets.into_iter().zip(weights.draw(&mut dice, n)).collect();
            let mut sorted = rows.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let quantile = Definition::Quantile { below: level, whole: 20 };
            for definition in [Definition::AbsoluteError, quantile] {
                let level = Level::new(if definition == quantile { f64::from(level) / 20.0 } else { 0.5 }).unwrap();
                let center = Center::of_weighted(level, sorted.iter().copied());
                let (value, loss) = (definition.value(&rows, 0)[0], definition.loss(&rows));
                prop_assert_eq!(value, center.value);
                let pinball = |m: f64| -> f64 {
                    let cost = |y: f64| if y > m { level.cost_above() * (y - m) } else { level.cost_below() * (m - y) };
                    let factor = if definition == quantile { 1.0 } else { 2.0 };
                    rows.iter().map(|row| factor * row.1 * cost(row.0)).sum()
                };
                let slack = 1e-12 * loss + definition.rounding(&rows) * total_weight(&rows);
                prop_assert!((pinball(value) - loss).abs() <= slack);
                prop_assert!(rows.iter().all(|row| pinball(row.0) >= loss - slack));
                // The audit takes off the lowest target in the same way.
                let near: Vec<Row> = rows.iter().map(|row| (row.0 - lowest(&rows), row.1)).collect();
                let running = definition.running_losses(near.iter().copied());
                for k in [1, n.div_ceil(2), n] {
                    let expected = definition.loss(&near[..k]);
                    prop_assert!((running[k - 1] - expected).abs() <= 1e-9 * expected, "{} {}", running[k - 1], expected);
                }
            }
        }
    }
}
