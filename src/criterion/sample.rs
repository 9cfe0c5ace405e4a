//! A row's target, with or without a weight, and how targets put labels in order.

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

/// How the labels of a categorical feature are put in order, so that sets of them are cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LabelOrder {
    /// By the mean of one number: the best of all sets is a cut of this order (Breiman, Friedman,
    /// Olshen and Stone 1984, for losses that are concave in the mean).
    Mean,
    /// By the first principal component of the means of several numbers (Coppersmith, Hong and
    /// Hosking 1999, for classes). A heuristic.
    Component,
    /// By the quantile of the targets at this level; the node's own one is `of_node`. A heuristic.
    Quantile { level: Level, of_node: f64 },
}
