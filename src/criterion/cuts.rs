//! The allowed cuts of one feature's rows in a node.

use crate::split::{Cut, partition_point};

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
    pub fn allows(self, [left, right]: [f64; 2]) -> bool {
        let in_range = |value: f64| self.low <= value && value <= self.high;
        self.sign * (right - left) >= 0.0 && in_range(left) && in_range(right)
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
