//! Values of leaves other than the criterion's own: the mean, the median, or a function of the
//! leaf's rows.
//!
//! The splits stay as they are. Rows walk down the finished tree and are grouped by leaf. Cost: one
//! prediction and O(rows); a median sorts the rows of its leaf.

use crate::data::{Cell, Matrix, Rows, Target};
use crate::error::{Error, Result};
use crate::tree::Tree;

/// The statistic that a leaf predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafValue {
    /// The weighted mean.
    Mean,
    /// The weighted median: the weights strictly below and strictly above it are at most half of
    /// the total each. If all values of an interval are medians, its midpoint.
    Median,
}

impl LeafValue {
    /// The value of a leaf with these targets and weights, which must have the same length.
    ///
    /// ```
    /// use splitwood::LeafValue;
    ///
    /// assert_eq!(LeafValue::Median.of(&[5.0, 1.0, 2.0], &[1.0, 1.0, 1.0]), 2.0);
    /// assert_eq!(LeafValue::Median.of(&[5.0, 1.0, 2.0], &[0.3, 0.1, 0.2]), 3.5);
    /// ```
    #[must_use]
    pub fn of(self, y: &[f64], weights: &[f64]) -> f64 {
        match self {
            Self::Mean => mean(y, weights),
            Self::Median => median(y, weights),
        }
    }
}

/// The weighted mean. Sums are relative to the lowest target, so that an offset costs no digits.
fn mean(y: &[f64], weights: &[f64]) -> f64 {
    let lowest = y.iter().copied().fold(f64::INFINITY, f64::min);
    let above: f64 = y.iter().zip(weights).map(|(y, weight)| weight * (y - lowest)).sum();
    lowest + above / weights.iter().sum::<f64>()
}

fn median(y: &[f64], weights: &[f64]) -> f64 {
    let mut rows: Vec<(f64, f64)> = y.iter().copied().zip(weights.iter().copied()).collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = rows.iter().map(|row| row.1).sum();
    let first_beyond = |share: f64| {
        let mut up_to = 0.0;
        let beyond = rows.iter().find(|row| {
            up_to += row.1;
            up_to > share
        });
        beyond.map_or(f64::NAN, |row| row.0)
    };
    // Sums of weights such as 0.1, 0.2 and 0.3 are rounded: a sum that is half of the total up to
    // rounding counts as half.
    let rounding = rows.len() as f64 * f64::EPSILON;
    let (low, high) = (first_beyond(total * (0.5 - rounding)), first_beyond(total * (0.5 + rounding)));
    if low == high { low } else { 0.5 * low + 0.5 * high }
}

impl Tree {
    /// This tree with other values in its leaves. `value` is called with the targets and the
    /// weights of each leaf's rows, leaf after leaf. Inner nodes keep their values, and so do
    /// leaves that no row with a weight above 0 reaches. `n_jobs` as in [`Params`](crate::Params).
    ///
    /// # Errors
    /// The error of `value`, if it fails. Also if a value is not finite, if this is no regression
    /// tree with one output, or if lengths don't match.
    ///
    /// ```
    /// use splitwood::{Error, LeafValue, Loss, Matrix, Params, Target, fit};
    ///
    /// let x = Matrix::from_rows(&[0.0, 0.0, 0.0, 1.0], 4, 1)?;
    /// let y = [1.0, 2.0, 9.0, 40.0];
    /// let tree = fit(&x, Target::Values(&y), None, Loss::SquaredError, &Params::default())?;
    /// let median = |y: &[f64], w: &[f64]| Ok::<_, Error>(LeafValue::Median.of(y, w));
    /// let tree = tree.with_leaf_values(&x, &y, None, None, median)?;
    /// assert_eq!(tree.predict(&x, None)?, [2.0, 2.0, 2.0, 40.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_leaf_values<X: Cell, E: From<Error>>(
        self,
        x: &Matrix<'_, X>,
        y: &[f64],
        weights: Option<&[f64]>,
        n_jobs: Option<i64>,
        value: impl FnMut(&[f64], &[f64]) -> std::result::Result<f64, E>,
    ) -> std::result::Result<Self, E> {
        let leaves = self.apply(x, n_jobs)?;
        self.with_values_of_leaves(&leaves, y, weights, value)
    }

    /// The same for rows whose leaves are known.
    pub(crate) fn with_values_of_leaves<E: From<Error>>(
        mut self,
        leaves: &[i64],
        y: &[f64],
        weights: Option<&[f64]>,
        mut value: impl FnMut(&[f64], &[f64]) -> std::result::Result<f64, E>,
    ) -> std::result::Result<Self, E> {
        let groups = Groups::new(&self, leaves, y, weights)?;
        for node in 0..self.node_count() {
            let range = groups.starts[node]..groups.starts[node + 1];
            if range.is_empty() {
                continue;
            }
            let new = value(&groups.y[range.clone()], &groups.weights[range])?;
            if !new.is_finite() {
                let problem = format!("must be a finite number for every leaf, got {new} for node {node}");
                return Err(Error::argument("leaf_value", problem).into());
            }
            self.statistics.values[node] = new;
        }
        Ok(self)
    }
}

/// Targets and weights of the rows, grouped by node. Only leaves have rows.
struct Groups {
    /// The rows of node `i` are at `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

impl Groups {
    /// Groups rows by a counting sort, which keeps their order within each leaf.
    fn new(tree: &Tree, leaves: &[i64], y: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        if tree.n_values() != 1 {
            let problem = "only the leaves of a regression tree with one output have one value";
            return Err(Error::argument("leaf_value", problem));
        }
        Target::Values(y).check(leaves.len())?;
        let rows = Rows::new(leaves.len(), weights)?;
        let leaf = |place: usize| leaves[rows.id(place) as usize] as usize;
        let mut starts = vec![0; tree.node_count() + 1];
        (0..rows.len()).for_each(|place| starts[leaf(place) + 1] += 1);
        for node in 0..tree.node_count() {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut groups = Self { starts, y: vec![0.0; rows.len()], weights: vec![1.0; rows.len()] };
        for place in 0..rows.len() {
            let (row, to) = (rows.id(place) as usize, &mut next[leaf(place)]);
            groups.y[*to] = y[row];
            if let Some(weights) = weights {
                groups.weights[*to] = weights[row];
            }
            *to += 1;
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The midpoint of the least and the greatest value with at most half of the weight on either
    /// side, computed in integers.
    fn naive_median(rows: &[(i32, u32)]) -> f64 {
        let total: u32 = rows.iter().map(|row| row.1).sum();
        let weight = |keep: &dyn Fn(i32) -> bool| rows.iter().filter(|row| keep(row.0)).map(|row| row.1).sum::<u32>();
        let is_median = |m: i32| 2 * weight(&|y| y < m) <= total && 2 * weight(&|y| y > m) <= total;
        let medians = || rows.iter().map(|row| row.0).filter(|&y| is_median(y));
        f64::from(medians().min().unwrap() + medians().max().unwrap()) / 2.0
    }

    proptest! {
        #[test]
        fn medians_by_definition(rows in prop::collection::vec((-5..5i32, 1..4u32), 1..20), scale in 0..4usize) {
            let scale = [1.0, 0.1, 1e-300, 3e200][scale];
            let (y, weights): (Vec<f64>, Vec<f64>) =
                rows.iter().map(|&(y, weight)| (f64::from(y), f64::from(weight) * scale)).unzip();
            prop_assert_eq!(LeafValue::Median.of(&y, &weights), naive_median(&rows));
        }

        #[test]
        fn means_keep_their_digits(rows in prop::collection::vec((-64..64i32, 1..4u32), 1..20)) {
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let means = [0.0, 1e9].map(|offset| {
                let y: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 64.0 + offset).collect();
                LeafValue::Mean.of(&y, &weights) - offset
            });
            prop_assert!((means[0] - means[1]).abs() <= 1e9 * f64::EPSILON);
        }
    }
}
