//! The median of every prefix of a sequence: O(n log n) for every order and all weights.
//!
//! Without weights two heaps are used: a new row moves at most one other row between them. With
//! weights one row could move all of the others, so the rows are ranked first, and a Fenwick tree
//! of sums over the ranks finds the rank at which the share is met.

use super::center::{Share, midpoint};
use super::level::Level;
use super::loss;
use super::sum::Sums;
use super::two_heaps::{Row, RunningMedian};
use crate::error::{Error, Result};

/// The medians of all prefixes of a sequence, and the losses around them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunningMedians {
    /// The median, or quantile, of the first value, the first two, the first three, and so on; NaN
    /// for prefixes without weight.
    pub medians: Vec<f64>,
    /// Sums of w·|y − median| over the same values; of pinball losses for levels other than one
    /// half.
    pub losses: Vec<f64>,
}

impl RunningMedians {
    fn push(&mut self, median: f64, loss: f64) {
        self.medians.push(median);
        self.losses.push(loss);
    }
}

/// The median (`quantile` = 0.5) or another quantile of every prefix of `y`, with the loss around
/// it.
///
/// A quantile is a value with at most its share of the weight strictly below and at most the rest
/// strictly above; the midpoint if there are several. Takes O(n log n) for every order and all
/// weights.
///
/// # Errors
///
/// If a value is not finite, if a weight is negative or not finite, if lengths differ, or if the
/// quantile is not strictly between 0 and 1.
///
/// ```
/// let running = splitwood::running_median(&[3.0, 1.0, 9.0, 6.0], None, 0.5)?;
/// assert_eq!(running.medians, [3.0, 2.0, 3.0, 4.5]);
/// assert_eq!(running.losses, [0.0, 2.0, 8.0, 11.0]);
/// # Ok::<(), splitwood::Error>(())
/// ```
pub fn running_median(y: &[f64], weights: Option<&[f64]>, quantile: f64) -> Result<RunningMedians> {
    let level = super::checked_level(quantile)?;
    check("y", y, f64::is_finite, "must be finite")?;
    let Some(weights) = weights else { return Ok(by_two_heaps(level, y)) };
    if weights.len() != y.len() {
        let problem = format!("must have one weight a value: {} for {}", weights.len(), y.len());
        return Err(Error::argument("sample_weight", problem));
    }
    check("sample_weight", weights, |w| w.is_finite() && w >= 0.0, "must be finite and not negative")?;
    if !weights.iter().sum::<f64>().is_finite() {
        return Err(Error::argument("sample_weight", "its sum is infinite; scale it down"));
    }
    Ok(by_ranks(level, y, weights))
}

fn check(name: &'static str, numbers: &[f64], is_sound: impl Fn(f64) -> bool, rule: &str) -> Result<()> {
    match numbers.iter().position(|&number| !is_sound(number)) {
        Some(place) => Err(Error::argument(name, format!("{rule}, got {} at index {place}", numbers[place]))),
        None => Ok(()),
    }
}

fn by_two_heaps(level: Level, y: &[f64]) -> RunningMedians {
    let mut heaps = RunningMedian::at(level);
    let mut running = RunningMedians::default();
    for &y in y {
        heaps.push_row(Row::new(y, 1.0));
        running.push(heaps.median().unwrap_or(f64::NAN), heaps.absolute_error());
    }
    running
}

fn by_ranks(level: Level, y: &[f64], weights: &[f64]) -> RunningMedians {
    let mut order: Vec<usize> = (0..y.len()).collect();
    order.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
    let mut ranks = vec![0; y.len()];
    order.iter().enumerate().for_each(|(rank, &row)| ranks[row] = rank);
    let value = |rank: usize| y[order[rank]];

    let (mut tree, mut total) = (FenwickTree::new(y.len()), Sums::default());
    let mut running = RunningMedians::default();
    for ((&y, &weight), &rank) in y.iter().zip(weights).zip(&ranks) {
        if weight > 0.0 {
            let row = Sums::of_row(y, weight);
            total = total.add(row);
            tree.add(rank, row);
        }
        if total.weight.value() == 0.0 {
            running.push(f64::NAN, 0.0);
            continue;
        }
        let share = Share::new(level, total.weight.value());
        let (small, _) = tree.first(|weight| share.is_met(weight));
        let (large, below) = tree.first(|weight| share.is_passed(weight));
        let median = midpoint(value(small), value(large));
        running.push(median, loss(level, median, below, total.sub(below)));
    }
    running
}

/// Sums over ranks: node i, from 1, holds the sums over the `i & −i` ranks up to rank i − 1.
///
/// ```text
/// rank    0   1   2   3   4   5   6   7
/// node    1   .   3   .   5   .   7   .
///         └─ 2 ┘  .   .   └─ 6 ┘  .   .
///         └───── 4 ────┘  .   .   .   .
///         └───────────── 8 ────────────┘
/// ```
struct FenwickTree {
    nodes: Vec<Sums>,
}

impl FenwickTree {
    fn new(n: usize) -> Self {
        Self { nodes: vec![Sums::default(); n + 1] }
    }

    fn add(&mut self, rank: usize, row: Sums) {
        let mut node = rank + 1;
        while node < self.nodes.len() {
            self.nodes[node] = self.nodes[node].add(row);
            node += node & node.wrapping_neg();
        }
    }

    /// The first rank such that `enough` holds for the weight up to it, and the sums over the ranks
    /// before it. `enough` must hold for the total weight.
    fn first(&self, enough: impl Fn(f64) -> bool) -> (usize, Sums) {
        let (mut before, mut sums) = (0, Sums::default());
        let mut width = self.nodes.len().next_power_of_two() / 2;
        while width > 0 {
            if let Some(&node) = self.nodes.get(before + width) {
                let upto = sums.add(node);
                if !enough(upto.weight.value()) {
                    (before, sums) = (before + width, upto);
                }
            }
            width /= 2;
        }
        (before.min(self.nodes.len() - 2), sums)
    }
}
