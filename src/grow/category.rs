//! Orders the categories of a node by their mean target.
//!
//! Of all partitions of a node's categories into two sets, the best one is a cut of that order
//! (Breiman, Friedman, Olshen and Stone 1984, for losses that are concave in the mean). So a
//! categorical feature is swept like a numeric one, in an order that is computed for each node. If
//! a rule forbids the best cut (too few rows, or a Poisson side whose counts are all 0), the best
//! allowed set may be no cut of this order: `category_sets.rs` finds it if the categories are few.
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
    /// The number of rows of each category, in the order of the means.
    sizes: Vec<usize>,
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
        let Self { rows, means, runs, sizes } = self;
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
        sizes.clear();
        for run in by_mean {
            let (start, end) = runs[run];
            order.extend_from_slice(&rows[start..end]);
            sizes.push(end - start);
        }
        order.extend_from_slice(&rows[start..]);
    }

    /// The number of rows of each category, in the order that was made last.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Moves the categories of a set, given by their places in the order that was made last, to the
    /// front of the order; both parts keep their order.
    pub fn put_first(&mut self, order: &mut Vec<u32>, set: u32) {
        let Self { rows, sizes, .. } = self;
        std::mem::swap(rows, order);
        order.clear();
        for wanted in [true, false] {
            let mut start = 0;
            for (place, &size) in sizes.iter().enumerate() {
                if (set >> place & 1 != 0) == wanted {
                    order.extend_from_slice(&rows[start..start + size]);
                }
                start += size;
            }
        }
        order.extend_from_slice(&rows[sizes.iter().sum()..]);
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
