//! Monotonic constraints: predictions that must not decrease, or not increase, with a feature.
//!
//! Each node has a range that its value and the values of all its descendants are clamped to. A cut
//! on a constrained feature is allowed if both sides' values are in the range and in the order of
//! the constraint; cuts on other features are free. A split on a constrained feature divides the
//! range at the midpoint of the children's values:
//!
//! ```text
//! node    [ low                                high ]
//! left    [ low          midpoint ]                        value never decreases with the feature
//! right                  [ midpoint            high ]
//! ```
//!
//! A cut that parts missing values from all others counts them as the highest, though no order is
//! broken if they are lower: the sweep with missing values on the left leaves it out.
//!
//! So every value in the left branch is at most every value in the right one, or at least, if
//! predictions must not increase. This is scikit-learn's rule. Criteria check the order of a cut
//! from its sums, when they are about to offer it.

use crate::criterion::ValueOrder;

/// The closed range that the values of a node and its descendants must be in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueRange {
    low: f64,
    high: f64,
}

impl Default for ValueRange {
    fn default() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY }
    }
}

impl ValueRange {
    /// The ranges of the children, which have these values, after a split on a feature of this
    /// sign.
    pub fn of_children(self, sign: i8, values: [f64; 2]) -> [Self; 2] {
        let [left, right] = values.map(|value| value.clamp(self.low, self.high));
        let middle = left.midpoint(right);
        let (below, above) = (Self { high: middle, ..self }, Self { low: middle, ..self });
        match sign {
            0 => [self; 2],
            1 => [below, above],
            _ => [above, below],
        }
    }

    /// Clamps a node's prediction to the range: a number, or the shares of two classes, of which
    /// the second is constrained.
    pub fn clamp(self, values: &mut [f64]) {
        if self == Self::default() {
            return;
        }
        match values {
            [value] => *value = value.clamp(self.low, self.high),
            [other, share] => {
                let kept = share.clamp(self.low, self.high);
                if kept != *share {
                    (*other, *share) = (1.0 - kept, kept);
                }
            }
            _ => unreachable!("only numbers and two classes can be constrained"),
        }
    }

    /// What cuts on a feature of this sign must keep; `None` if they are free.
    pub fn value_order(self, sign: i8) -> Option<ValueOrder> {
        (sign != 0).then(|| ValueOrder { sign: f64::from(sign), low: self.low, high: self.high })
    }
}
