//! A row's target, with or without a weight, and targets that are single numbers.

use crate::median::Level;

/// A row's target and weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weighted<Y> {
    pub y: Y,
    pub weight: f64,
}

/// A row's item in a column: a target, with a weight or with the weight one.
pub(crate) trait Sample<Y>: Copy + Default + Send + Sync {
    const WEIGHTED: bool;
    fn y(self) -> Y;
    fn weight(self) -> f64;
}

impl<Y: Copy + Default + Send + Sync> Sample<Y> for Y {
    const WEIGHTED: bool = false;
    #[inline]
    fn y(self) -> Y {
        self
    }
    #[inline]
    fn weight(self) -> f64 {
        1.0
    }
}

impl<Y: Copy + Default + Send + Sync> Sample<Y> for Weighted<Y> {
    const WEIGHTED: bool = true;
    #[inline]
    fn y(self) -> Y {
        self.y
    }
    #[inline]
    fn weight(self) -> f64 {
        self.weight
    }
}

/// Targets that are one number per row. Categories are ordered by their mean targets, and monotonic
/// constraints compare the predictions of leaves.
pub(crate) trait ScalarTargets<I>: Sync {
    /// The target as a number, and its weight. For two classes, the number is 1 for the second
    /// class.
    fn sample(&self, item: I) -> (f64, f64);

    /// What a leaf predicts.
    fn location(&self) -> Location;
}

/// The statistic of some numbers that a leaf predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Location {
    Mean,
    Quantile(Level),
}
