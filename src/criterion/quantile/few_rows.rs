//! HOT: what every cut of a few weighted rows gains, in single precision: nearly always enough to tell which cut is the best.
//!
//! With every gap between neighbouring targets in a lane of its own, the bound of `screen.rs` is the gain itself: what the rows on the
//! left gain when they leave the node's quantile for their own is, gap by gap away from it, their slope there times the
//! gap's width, as long as that is positive, and the same for those on the right.
//!
//! Cost: some thirty instructions a cut, and no branches; the exact sweep takes several times that.

use crate::median::Level;
use crate::simd::{F32x16, LANES, Vector};

/// One gap a lane.
pub const FEW_ROWS: usize = LANES + 1;

/// Rounding of a gain, as a share of the largest that there could be: each slope is a sum of up to 17 numbers, the gain one of 16.
const ROUNDING: f64 = 256.0 / F32x16::EXACT;

/// A node of up to [`FEW_ROWS`] rows. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
pub struct FewRows {
    /// By rank: what the row adds to the slopes on the left.
    contributions: [F32x16; FEW_ROWS],
    /// The slopes of all rows together.
    node: F32x16,
    widths: F32x16,
    slack: f32,
    unit: f64,
    /// By rank: what a row of weight one adds to the upward slopes, at this level.
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
        // Slopes are upward above the quantile and downward below it.
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

    /// Appends what is gained if 1, 2, … up to `last` rows go left, in units of [`FewRows::unit`] and up to an error of [`FewRows::slack`].
    ///
    /// `rank(place)` is where the row at this place of an order stands among the node's targets.
    #[inline(always)]
    pub fn gains(&self, last: usize, rank: impl Fn(usize) -> usize, gains: &mut Vec<f32>) {
        let (node, widths) = (self.node, self.widths);
        let mut slopes = F32x16::default();
        gains.extend((0..last).map(|place| {
            slopes = slopes.plus(self.contributions[rank(place)]);
            widths.dot(slopes.max_zero().plus(node.minus(slopes).max_zero())) as f32
        }));
    }

    /// Pinball loss, in units of the grids, that a gain of one stands for.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.unit
    }

    #[must_use]
    pub fn slack(&self) -> f32 {
        self.slack
    }
}
