//! HOT: the kernel for tiny nodes, of at most 16 rows, in absolute error without weights.
//!
//! Rows are numbered in the order of their targets, so a node's rows in that order are its numbers
//! in ascending order, and the gaps between the root's targets serve every node below it
//! (`gaps.rs`). Rounded losses decide where one cut, or several that part the rows alike, is
//! clearly the best; `median_sweep.rs` decides the others exactly.
//!
//! Cost: about twenty instructions per cut. `tests/medians.rs::methods` compares the trees with
//! those of the heaps.

use super::gaps::Gaps;
use super::rank_bitmap::Bitmap;
use super::{Quantile, median_sweep};
use crate::columns::local::{MAX_TINY_ROWS as MAX_ROWS, TinyOrder};
use crate::criterion::{FineGrid, Grid, TinyKernel, TinyNode, TinySummary, TinyTargets};
use crate::median::{Center, Level};
use crate::params::MedianMethod;
use crate::split::near;

/// Larger than any loss, and small enough that a loss can be added to it.
const NO_CUT: i32 = i32::MAX / 2;

/// Pinball loss per unit of the kernel's gains. Ties are defined on pinball losses.
const UNIT: f64 = 0.5;

/// The kernel's buffers. Those of a node belong to the one that was described last.
pub(crate) struct TinyAbsoluteError {
    min_rows_leaf: usize,
    /// The unit that all targets of the fit are multiples of, if there is one.
    multiples: Option<Grid>,
    /// By the node's number of rows and `n_left − 1`: 0, or [`NO_CUT`] if that cut leaves too few
    /// rows on a side.
    forbidden: Box<[[i32; MAX_ROWS]; MAX_ROWS + 1]>,
    /// Of the tiny root.
    gaps: Gaps,
    /// The node's rows in ascending order, and their targets.
    rows: TinyOrder,
    sorted: [f64; MAX_ROWS],
    /// By feature: the children's losses by cut, and the least of them.
    losses: Vec<[i32; MAX_ROWS]>,
    least: Vec<i32>,
    bitmap: Bitmap,
}

impl TinyKernel<Quantile<f64>> for TinyAbsoluteError {
    /// Only for medians, and not for the heaps, which other kernels are compared with.
    fn new(criterion: &Quantile<f64>, min_rows_leaf: usize) -> Option<Self> {
        if criterion.level != Level::HALF || criterion.method == MedianMethod::TwoHeaps {
            return None;
        }
        let mut forbidden = Box::new([[NO_CUT; MAX_ROWS]; MAX_ROWS + 1]);
        for len in 2 * min_rows_leaf..=MAX_ROWS {
            forbidden[len][min_rows_leaf - 1..len - min_rows_leaf].fill(0);
        }
        Some(Self {
            min_rows_leaf,
            multiples: criterion.multiples,
            forbidden,
            gaps: Gaps::default(),
            rows: [0; MAX_ROWS],
            sorted: [0.0; MAX_ROWS],
            losses: Vec::new(),
            least: Vec::new(),
            bitmap: Bitmap::default(),
        })
    }

    #[inline(always)]
    fn sample(&self, criterion: &Quantile<f64>, global_rank: u32) -> (f64, f64) {
        (criterion.targets[global_rank as usize], 1.0)
    }

    fn is_copy(criterion: &Quantile<f64>, global_rank: u32) -> bool {
        criterion.is_copy(global_rank)
    }

    fn take_in(&mut self, targets: &[f64]) {
        self.gaps = Gaps::new(targets);
    }

    fn value(rows: &[u8], targets: &TinyTargets) -> f64 {
        let mut sorted = rows.iter().map(|&row| targets.y[row as usize]).collect::<Vec<_>>();
        sorted.sort_unstable_by(f64::total_cmp);
        Center::of_values(Level::HALF, &sorted).value
    }

    fn is_heavier([left, right]: [&[u8]; 2], _: &TinyTargets) -> bool {
        left.len() > right.len()
    }

    fn describe_one(&mut self, row: usize, targets: &TinyTargets) -> TinySummary {
        TinySummary::of_one(targets.y[row])
    }

    fn describe_pair(&mut self, [a, b]: [usize; 2], targets: &TinyTargets) -> TinySummary {
        let [y, z] = [targets.y[a], targets.y[b]];
        summary(&[y.min(z), y.max(z)])
    }

    #[inline(always)]
    fn describe<const N: usize>(&mut self, rows: &[u8], targets: &TinyTargets) -> TinySummary {
        let mut left = rows.iter().fold(0u32, |all, row| all | 1 << (row % MAX_ROWS as u8));
        for (row, target) in self.rows.iter_mut().zip(&mut self.sorted).take(rows.len()) {
            *row = left.trailing_zeros() as u8 % MAX_ROWS as u8;
            *target = targets.y[*row as usize];
            left &= left.wrapping_sub(1);
        }
        summary(&self.sorted[..rows.len()])
    }

    #[inline(always)]
    fn search<const N: usize, F: Fn(usize, usize) -> bool>(
        &mut self,
        node: &TinyNode<'_, F>,
    ) -> Option<(usize, usize)> {
        let len = node.rows.len();
        let Some(counts) = self.gaps.node(&self.rows[..len], self.sorted[len - 1] - self.sorted[0]) else {
            return self.search_close_call(node);
        };
        let forbidden = &self.forbidden[len];
        self.losses.resize(node.orders.len(), [0; MAX_ROWS]);
        self.least.resize(node.orders.len(), 0);
        let mut top = NO_CUT;
        for ((order, to), least) in node.orders.iter().zip(&mut self.losses).zip(&mut self.least) {
            let losses = counts.losses::<N>(order);
            // Four partial minima, so that the compiler can use vectors.
            let mut lanes = [NO_CUT; 4];
            for place in 0..N {
                let (loss, lane) = (losses[place] + forbidden[place], &mut lanes[place % 4]);
                to[place] = loss;
                *lane = if loss < *lane { loss } else { *lane };
            }
            *least = lanes[0].min(lanes[1]).min(lanes[2].min(lanes[3]));
            top = top.min(*least);
        }
        let bar = top + counts.slack();
        let near_cuts = |feature: usize, _: &TinyOrder| {
            if self.least[feature] > bar {
                return 0;
            }
            let losses = &self.losses[feature];
            (0..N).fold(0u32, |cuts, place| cuts | u32::from(losses[place] <= bar) << place)
        };
        if top < NO_CUT
            && let Some(winner) = node.first_of_same_partition(near_cuts)
        {
            return Some(winner);
        }
        self.search_close_call(node)
    }

    fn write_summary(&self, criterion: &Quantile<f64>, _: usize, summary: TinySummary, values: &mut Vec<f64>) -> f64 {
        values.push(summary.value);
        summary.loss * criterion.factor() / 2.0
    }
}

impl TinyAbsoluteError {
    /// Computes all gains exactly, by the kernel for larger nodes, and returns the first cut that
    /// ties with the best.
    #[cold]
    fn search_close_call<F: Fn(usize, usize) -> bool>(&mut self, node: &TinyNode<'_, F>) -> Option<(usize, usize)> {
        let len = node.rows.len();
        let (lowest, range) = (self.sorted[0], self.sorted[len - 1] - self.sorted[0]);
        let grid = FineGrid::new(self.multiples, range, range * len as f64);
        let sorted = self.sorted.map(|target| grid.put(target - lowest));
        let mut ranks = [0; MAX_ROWS];
        (0..).zip(&self.rows[..len]).for_each(|(rank, &row)| ranks[row as usize] = rank);
        let allowed = self.min_rows_leaf..=len - self.min_rows_leaf;
        let mut cuts = Vec::new();
        for (feature, order) in node.orders.iter().enumerate() {
            let rank = |place: usize| ranks[order[place] as usize];
            median_sweep::sweep(&sorted[..len], rank, *allowed.end(), &mut self.bitmap, |n_left, gain| {
                if allowed.contains(&n_left) && (node.allow)(feature, n_left) {
                    cuts.push((gain as f64 * UNIT, (feature, n_left)));
                }
            });
        }
        let top = cuts.iter().map(|cut| cut.0).reduce(f64::max)?;
        // Each target was rounded to a unit of the grid.
        let bar = near(top, len as f64);
        if bar <= 0.0 {
            let all: Vec<_> = cuts.iter().map(|cut| cut.1).collect();
            return middle_of_most(&all);
        }
        cuts.iter().find(|cut| cut.0 >= bar).map(|cut| cut.1)
    }
}

/// The middle cut of the feature with the most cuts, as where no cut gains anything (`split.rs`).
fn middle_of_most(cuts: &[(usize, usize)]) -> Option<(usize, usize)> {
    let of_features = cuts.chunk_by(|a, b| a.0 == b.0);
    let most = of_features.reduce(|best, next| if next.len() > best.len() { next } else { best })?;
    Some(most[(most.len() - 1) / 2])
}

/// From targets in ascending order.
#[inline(always)]
fn summary(sorted: &[f64]) -> TinySummary {
    let center = Center::of_values(Level::HALF, sorted);
    let is_pure = sorted[0] == sorted[sorted.len() - 1];
    let weight = sorted.len() as f64;
    TinySummary { value: center.value, loss: center.absolute_error() / weight, is_pure, weight }
}
