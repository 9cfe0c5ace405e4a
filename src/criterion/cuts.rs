//! The allowed cuts of one feature's rows in a node.

use crate::split::{Cut, partition_point};

/// Values count as equal within this part of themselves: a few roundings.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// A cut sends the first `n_left` rows in the order of the feature to the left.
pub(crate) struct Cuts<F> {
    /// Whether the values at two places of the order are the same.
    pub same: F,
    /// Least and greatest number of rows on the left.
    pub first: usize,
    pub last: usize,
    /// Least weight on either side.
    pub min_weight: f64,
    pub missing_left: bool,
    /// The monotonic constraint of the feature, if it has one.
    pub value_order: Option<ValueOrder>,
}

/// One cut of a node's rows, in any order.
pub(crate) struct OneCut<'a> {
    /// By place: whether the row goes left.
    pub goes_left: &'a [bool],
    pub n_left: usize,
    /// Least weight on either side.
    pub min_weight: f64,
    pub value_order: Option<ValueOrder>,
}

impl OneCut<'_> {
    /// The cut of rows that are put in its order, those on the left first.
    pub fn cuts(&self) -> Cuts<impl Fn(usize, usize) -> bool> {
        Cuts {
            same: |_, _| false,
            first: self.n_left,
            last: self.n_left,
            min_weight: self.min_weight,
            missing_left: false,
            value_order: self.value_order,
        }
    }

    /// The rows' contributions, those on the left first.
    pub fn left_first<S: Copy>(&self, contributions: &[S]) -> Vec<S> {
        let side = |left: bool| {
            let rows = contributions.iter().zip(self.goes_left);
            rows.filter(move |&(_, &goes_left)| goes_left == left).map(|(&contribution, _)| contribution)
        };
        side(true).chain(side(false)).collect()
    }
}

/// What a monotonic constraint demands of the values that both sides would predict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValueOrder {
    /// 1: the right value must not be below the left one; −1: not above it.
    pub sign: f64,
    /// The range that the constraints of the ancestors leave.
    pub low: f64,
    pub high: f64,
}

impl ValueOrder {
    /// Values that are equal up to rounding are in order. They come from sums that start at
    /// different targets, so a value may differ from the end of the range that it lies on by a
    /// bit. Predictions are clamped to the range, so they stay in order all the same.
    pub fn allows(self, [left, right]: [f64; 2]) -> bool {
        let in_order = |a: f64, b: f64| a - b <= ROUNDING * a.abs().min(b.abs());
        let in_range = |value: f64| in_order(self.low, value) && in_order(value, self.high);
        in_order(self.sign * left, self.sign * right) && in_range(left) && in_range(right)
    }
}

impl<F: Fn(usize, usize) -> bool> Cuts<F> {
    /// True if a cut may send `n_left` rows left: it leaves enough rows on both sides and parts no
    /// equal values. The caller checks `min_weight` and `value_order`.
    #[inline]
    pub fn allow(&self, n_left: usize) -> bool {
        self.first <= n_left && n_left <= self.last && !(self.same)(n_left - 1, n_left)
    }

    /// True if the values of both sides keep the monotonic constraint, if there is one.
    #[inline]
    pub fn allow_values(&self, values: impl FnOnce() -> [f64; 2]) -> bool {
        self.value_order.is_none_or(|order| order.allows(values()))
    }

    /// The same cuts, for code that is compiled once for all features.
    pub fn erased(&self) -> Cuts<&dyn Fn(usize, usize) -> bool> {
        let &Self { ref same, first, last, min_weight, missing_left, value_order } = self;
        Cuts { same, first, last, min_weight, missing_left, value_order }
    }

    #[inline]
    pub fn cut(&self, n_left: usize) -> Cut {
        Cut { n_left, missing_left: self.missing_left }
    }

    /// The cut with its rules. `goes_left` is empty: the caller has the sums of the left side.
    #[inline]
    pub fn one(&self, n_left: usize) -> OneCut<'static> {
        OneCut { goes_left: &[], n_left, min_weight: self.min_weight, value_order: self.value_order }
    }

    /// Start and end of the run of equal values around `place`: a binary search, because the order
    /// is sorted.
    pub fn run_around(&self, place: usize, len: usize) -> (usize, usize) {
        let start = partition_point(0, place, |i| !(self.same)(i, place));
        let end = partition_point(place, len, |i| (self.same)(i, place));
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_in_order_up_to_rounding() {
        let order = |sign, low, high| ValueOrder { sign, low, high };
        let free = order(1.0, f64::NEG_INFINITY, f64::INFINITY);
        let third: f64 = 1.0 / 3.0;
        let above = f64::from_bits(third.to_bits() + 1);
        assert!(free.allows([third, above]) && free.allows([above, third]));
        assert!(free.allows([-third, third]) && !free.allows([third, -third]));
        assert!(free.allows([0.0, 5e-324]) && !free.allows([5e-324, 0.0]));
        let falling = order(-1.0, third, f64::INFINITY);
        assert!(falling.allows([1.0, above]) && falling.allows([1.0, third]));
        assert!(order(-1.0, above, f64::INFINITY).allows([1.0, third]));
        assert!(!order(-1.0, 0.34, f64::INFINITY).allows([1.0, third]));
        assert!(!free.allows([1.0, 1.0 - 1e-12]) && !free.allows([f64::NAN, 1.0]));
    }
}
