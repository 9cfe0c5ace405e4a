//! Running medians and quantiles: [`RunningMedian`], of a set that values are added to and removed
//! from, and [`running_median`], of every prefix of a sequence.
//!
//! The quantile criterion shares two types with them: [`Level`], a quantile's level as a fraction,
//! and [`Center`], the quantile of a set and the loss around it.

mod center;
mod level;
mod running;
mod sum;
#[cfg(test)]
pub(crate) mod tests;
mod two_heaps;

pub use center::Center;
pub(crate) use center::upper_place;
pub use level::Level;
pub use running::{RunningMedians, running_median};
pub use two_heaps::RunningMedian;

use self::sum::Sums;
pub(crate) use self::sum::two_sum;
use crate::error::{Error, Result};

/// The level that a user gave, or an error that names the argument.
pub(crate) fn checked_level(quantile: f64) -> Result<Level> {
    Level::new(quantile)
        .ok_or_else(|| Error::argument("quantile", format!("must be strictly between 0 and 1, got {quantile}")))
}

/// The loss around `m`, from the sums over the rows below (or at) it and over the rows above (or
/// at) it: absolute error for the median, pinball loss for other levels. Infinite if the sums
/// overflow.
fn loss(level: Level, m: f64, below: Sums, above: Sums) -> f64 {
    let (below, above) = (-below.above(m), above.above(m));
    let loss = if level == Level::HALF {
        below.max(0.0) + above.max(0.0)
    } else {
        level.cost_below() * below.max(0.0) + level.cost_above() * above.max(0.0)
    };
    if below.is_nan() || above.is_nan() { f64::INFINITY } else { loss }
}
