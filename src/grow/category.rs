//! Orders the categories of a node by their mean target.
//!
//! Of all partitions of a node's categories into two sets, the best one is a cut of that order
//! (Breiman, Friedman, Olshen and Stone 1984, for losses that are concave in the mean). So a
//! categorical feature is swept like a numeric one, in an order that is computed for each node. If
//! a rule forbids the best cut (too few rows, or a Poisson side whose counts are all 0), the best
//! allowed cut of the order is taken.
//!
//! Cost: O(rows + categories · log categories) per node and categorical feature.

/// Buffers, reused from node to node.
#[derive(Default)]
pub(super) struct CategoryOrder {
    /// In the order of the codes.
    rows: Vec<u32>,
    /// By category, in the order of the codes: its mean target, and the start and end of its rows.
    means: Vec<f64>,
    runs: Vec<(usize, usize)>,
}

impl CategoryOrder {
    /// Sorts rows, which come in the order of their codes, by the mean of their category, then by
    /// code. Missing values stay last. `sample` returns a row's target and weight.
    ///
    /// ```text
    /// codes   0 0 1 1 1 2 ?      means: 5, 1, 3
    /// after   1 1 1 2 0 0 ?
    /// ```
    pub fn order_by_mean(
        &mut self,
        order: &mut Vec<u32>,
        code: impl Fn(u32) -> f64,
        sample: impl Fn(u32) -> (f64, f64),
    ) {
        let Self { rows, means, runs } = self;
        std::mem::swap(rows, order);
        order.clear();
        means.clear();
        runs.clear();
        let mut start = 0;
        for run in rows.chunk_by(|&a, &b| code(a) == code(b)) {
            if code(run[0]).is_nan() {
                break;
            }
            means.push(mean(run.iter().map(|&row| sample(row))));
            runs.push((start, start + run.len()));
            start += run.len();
        }
        let mut by_mean: Vec<usize> = (0..runs.len()).collect();
        by_mean.sort_by(|&a, &b| means[a].total_cmp(&means[b]));
        for run in by_mean {
            order.extend_from_slice(&rows[runs[run].0..runs[run].1]);
        }
        order.extend_from_slice(&rows[start..]);
    }
}

fn mean(rows: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut mean, mut total) = (0.0, 0.0);
    for (y, weight) in rows {
        total += weight;
        mean += (y - mean) * (weight / total);
    }
    mean
}
