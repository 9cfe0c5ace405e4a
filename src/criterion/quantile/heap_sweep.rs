//! The gains of all cuts by two heaps, as textbooks do it: the kernel that the others are compared
//! with, in tests and benchmarks (`MedianMethod::TwoHeaps`).
//!
//! One pass in the feature's order computes the losses of the left sides, one in the reverse order
//! those of the right sides. `low` holds the ranks up to the quantile, `high` the ranks above it.
//!
//! Cost: O(n log n) without weights. With weights one heavy row can move all others to the other
//! heap, so O(n² log n) in the worst case.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::median::Level;

/// Calls `visit(k, gain)` for k from 1 to n − 1: the gain with the first k rows on the left, as
/// pinball loss times the level's denominator. For the median that is the absolute error.
///
/// Targets, weights and ranks are as in [`weighted_sweep`](super::weighted_sweep); `weight` takes a
/// rank.
pub fn sweep(
    level: Level,
    sorted: &[i64],
    weight: impl Fn(usize) -> i64,
    rank: impl Fn(usize) -> usize,
    mut visit: impl FnMut(usize, i128),
) {
    let n = sorted.len();
    let mut from_left = vec![0; n];
    let mut heaps = Heaps::new(level, sorted, &weight);
    for (place, loss) in from_left.iter_mut().enumerate() {
        *loss = heaps.push(rank(place));
    }
    let mut from_right = vec![0; n];
    let mut heaps = Heaps::new(level, sorted, &weight);
    for (place, loss) in from_right.iter_mut().enumerate().rev() {
        *loss = heaps.push(rank(place));
    }
    for k in 1..n {
        visit(k, from_left[n - 1] - from_left[k - 1] - from_right[k]);
    }
}

struct Heaps<'a, W> {
    level: Level,
    sorted: &'a [i64],
    weight: &'a W,
    /// Ranks up to the quantile; the quantile is on top.
    low: BinaryHeap<u32>,
    high: BinaryHeap<Reverse<u32>>,
    /// Σw and Σw·y over `low`, and over both.
    low_sums: (i128, i128),
    sums: (i128, i128),
}

impl<'a, W: Fn(usize) -> i64> Heaps<'a, W> {
    fn new(level: Level, sorted: &'a [i64], weight: &'a W) -> Self {
        let (low, high) = (BinaryHeap::new(), BinaryHeap::new());
        Self { level, sorted, weight, low, high, low_sums: (0, 0), sums: (0, 0) }
    }

    /// Adds a row and returns the loss.
    fn push(&mut self, rank: usize) -> i128 {
        let (weight, moment) = self.row(rank);
        self.sums = (self.sums.0 + weight, self.sums.1 + moment);
        if self.low.peek().is_some_and(|&top| rank as u32 > top) {
            self.high.push(Reverse(rank as u32));
        } else {
            self.push_low(rank as u32);
        }
        let (below, whole) = (i128::from(self.level.numerator()), i128::from(self.level.denominator()));
        while whole * self.low_sums.0 < below * self.sums.0
            && let Some(Reverse(top)) = self.high.pop()
        {
            self.push_low(top);
        }
        while let Some(&top) = self.low.peek()
            && let (weight, moment) = self.row(top as usize)
            && whole * (self.low_sums.0 - weight) > below * self.sums.0
        {
            self.low.pop();
            self.low_sums = (self.low_sums.0 - weight, self.low_sums.1 - moment);
            self.high.push(Reverse(top));
        }
        let quantile = self.low.peek().map_or(0, |&top| self.sorted[top as usize]);
        let excess = whole * self.low_sums.0 - below * self.sums.0;
        below * self.sums.1 - whole * self.low_sums.1 + i128::from(quantile) * excess
    }

    fn push_low(&mut self, rank: u32) {
        let (weight, moment) = self.row(rank as usize);
        self.low_sums = (self.low_sums.0 + weight, self.low_sums.1 + moment);
        self.low.push(rank);
    }

    fn row(&self, rank: usize) -> (i128, i128) {
        let weight = i128::from((self.weight)(rank));
        (weight, weight * i128::from(self.sorted[rank]))
    }
}
