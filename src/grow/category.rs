//! Categories in the order of their means.
//!
//! Of all ways to part the categories of a node in two, the best one is a cut of that order (Breiman, Friedman, Olshen and Stone 1984,
//! for losses that are concave in the mean): so a feature of categories is swept like any other, in an order that each
//! node makes anew. Where a cut of it is forbidden, by least rows or for counts that are all 0 on a side, the best of the others is taken.

/// Buffers of the order, reused.
#[derive(Default)]
pub(super) struct Categories {
    /// In the order of the codes.
    rows: Vec<u32>,
    means: Vec<f64>,
    /// Where the rows of each category begin and end, in the order of the codes.
    runs: Vec<(usize, usize)>,
}

impl Categories {
    /// Puts rows, which are in the order of their codes, into the order of the means of their categories, then of their codes;
    /// missing values stay last. `sample` is a row's target and weight.
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
