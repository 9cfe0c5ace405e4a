//! A row's target, with or without a weight, and targets that are single numbers.

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

/// Targets that are one number per row. Categories are ordered by it.
pub(crate) trait ScalarTargets<I>: Sync {
    /// The number behind a target, and its weight; of two classes, whether it is the second.
    fn sample(&self, item: I) -> (f64, f64);
}
