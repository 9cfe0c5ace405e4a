//! HOT: the gains of all cuts of a few weighted rows, in single precision. This nearly always
//! decides which cut is the best.
//!
//! The bound of `screen.rs` is exact if every gap between neighbouring targets has a lane of its
//! own: the left side's gain from moving from the node's quantile to its own is, gap by gap away
//! from it, its slope there times the gap's width, as long as the slope is positive. The same holds
//! for the right side.
//!
//! Cost: about thirty instructions per cut, and no branches; the exact sweep takes several times
//! that. `tests.rs::gains_of_few_rows` compares the gains with the definition.

use crate::median::Level;
use crate::simd::{F32x16, LANES, Vector};

/// Each gap between neighbouring targets has a lane.
pub const FEW_ROWS: usize = LANES + 1;

/// Bound on the rounding error of a gain, relative to the largest possible one: each slope is a sum
/// of up to 17 numbers, and a gain a sum of 16 products.
const ROUNDING: f64 = 256.0 / F32x16::EXACT;

/// A node of up to [`FEW_ROWS`] rows. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
pub struct FewRows {
    /// By rank: what the row adds to the slopes on the left.
    contributions: [F32x16; FEW_ROWS],
    /// The slopes of all rows.
    node: F32x16,
    /// By gap; 0 for lanes without a gap.
    widths: F32x16,
    slack: f32,
    unit: f64,
    /// By rank: what a row of weight one adds to the upward slopes at `level`.
    upward: [F32x16; FEW_ROWS],
    level: Option<Level>,
}

impl FewRows {
    /// Describes a node with these targets, in ascending order, and their weights.
    pub fn describe(&mut self, level: Level, sorted: &[i64], weights: &[i64]) {
        if self.level.replace(level) != Some(level) {
            let slope = |rank: usize, gap: usize| level.slope(rank <= gap);
            self.upward = std::array::from_fn(|rank| F32x16::new(std::array::from_fn(|gap| slope(rank, gap))));
        }
        let total = weights.iter().map(|&weight| weight as f64).sum::<f64>();
        let quantile = level.rank(sorted.len(), total, |rank| weights[rank] as f64);
        let mut widths = [0.0; LANES];
        for (width, pair) in widths.iter_mut().zip(sorted.windows(2)) {
            *width = (pair[1] - pair[0]) as f64;
        }
        self.widths = F32x16::new(widths);
        // Slopes are measured away from the quantile: upward above it and downward below it.
        let signs = F32x16::new(std::array::from_fn(|gap| if gap < quantile { -1.0 } else { 1.0 }));
        self.node = F32x16::default();
        for (rank, &weight) in weights.iter().enumerate() {
            self.contributions[rank] = F32x16::splat(weight as f64).times(self.upward[rank]).times(signs);
            self.node = self.node.plus(self.contributions[rank]);
        }
        let (range, whole) = ((sorted[sorted.len() - 1] - sorted[0]) as f64, level.denominator() as f64);
        self.slack = (ROUNDING * whole * total * range) as f32;
        self.unit = 1.0 / whole;
    }

    /// Appends the gains of 1, 2, … up to `last` rows on the left, in units of [`FewRows::unit`],
    /// with errors of at most [`FewRows::slack`].
    ///
    /// `rank(place)` is the rank of the row at this place of the order.
    #[inline(always)]
    pub fn gains(&self, last: usize, rank: impl Fn(usize) -> usize, gains: &mut Vec<f32>) {
        let (node, widths) = (self.node, self.widths);
        let mut slopes = F32x16::default();
        gains.extend((0..last).map(|place| {
            slopes = slopes.plus(self.contributions[rank(place)]);
            widths.dot(slopes.max_zero().plus(node.minus(slopes).max_zero())) as f32
        }));
    }

    /// Pinball loss per unit of gain, in units of the grids.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Bound on the rounding error of each gain.
    #[must_use]
    pub fn slack(&self) -> f32 {
        self.slack
    }
}
