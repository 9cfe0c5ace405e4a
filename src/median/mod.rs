//! Medians and quantiles of sets that grow and shrink.
//!
//! For trees: what every cut of a node gains, from the rows' ranks among the node's targets. [`sweep`](sweep::sweep) without weights,
//! [`quantile`] for other levels than the median, [`weighted`] for both with weights; [`heap_sweep`] does the same with two
//! heaps, as their oracle; [`screen`] tells which cuts could win at all, [`few`] what those of a few rows gain nearly; [`Center`] is what a leaf
//! predicts.
//!
//! For everybody: [`RunningMedian`], where values come and go, and [`running_median`] of every prefix of a sequence.

mod center;
pub mod few;
pub mod gaps;
pub mod heap_sweep;
mod lanes;
mod level;
pub mod quantile;
mod ranks;
mod running;
pub mod screen;
mod sum;
pub mod sweep;
#[cfg(test)]
mod tests;
mod two_heaps;
pub mod weighted;

pub use center::Center;
pub use level::Level;
pub use ranks::Bitmap;
pub use running::{RunningMedians, running_median};
pub use two_heaps::RunningMedian;

use self::sum::Sums;
use crate::error::{Error, Result};

/// The level of a quantile, as a user gave it.
pub(crate) fn checked_level(quantile: f64) -> Result<Level> {
    Level::new(quantile)
        .ok_or_else(|| Error::argument("quantile", format!("must be strictly between 0 and 1, got {quantile}")))
}

/// The loss around `m` of rows below (or at) it and rows above (or at) it: absolute error for the median, else pinball loss. Infinite
/// where the sums are beyond the range of floats.
fn loss(level: Level, m: f64, below: Sums, above: Sums) -> f64 {
    let (below, above) = (-below.above(m), above.above(m));
    let loss = if level == Level::HALF {
        below.max(0.0) + above.max(0.0)
    } else {
        level.cost_below() * below.max(0.0) + level.cost_above() * above.max(0.0)
    };
    if below.is_nan() || above.is_nan() { f64::INFINITY } else { loss }
}
