//! The arena's node: 16 bytes, what prediction needs and nothing else.
//!
//! ```text
//! byte   0               8          12         16
//!        │ threshold f64 │ feature  │ right    │
//!                          bit 31: missing values go left; all ones: a leaf
//! ```
//!
//! The left child is the next node of the arena, so only the right child is stored. Where a feature
//! has categories, the threshold is a quiet NaN whose low 32 bits say where the set of categories
//! starts (`categories.rs`): a split on numbers costs nothing extra, because every comparison with
//! NaN is false.

use super::categories::{self, Categories};
use crate::wire::wire_struct;

/// The `feature` of a leaf.
const LEAF: u32 = u32::MAX;
/// Flag in `feature`: missing values go left.
const MISSING_LEFT: u32 = 1 << 31;

/// A node of the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaNode {
    /// For a split on categories, a NaN that encodes the set of categories that go left.
    threshold: f64,
    /// `LEAF`, or the feature with the flag `MISSING_LEFT`.
    feature: u32,
    right: u32,
}

wire_struct!(ArenaNode { threshold, feature, right });

/// The fields of an inner node, decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    pub feature: u32,
    pub threshold: f64,
    pub missing_left: bool,
    pub right: u32,
}

/// NaN thresholds are equal if their bits are.
impl PartialEq for ArenaNode {
    fn eq(&self, other: &Self) -> bool {
        let same_threshold = self.threshold == other.threshold || self.threshold.to_bits() == other.threshold.to_bits();
        same_threshold && (self.feature, self.right) == (other.feature, other.right)
    }
}

impl Test {
    /// Index of the first word of the set of categories that go left; `None` for a split on
    /// numbers.
    #[inline]
    pub fn category_set(&self) -> Option<usize> {
        categories::set_start(self.threshold)
    }

    /// Whether a row with this value goes left.
    #[inline]
    pub fn goes_left(&self, value: f64, categories: Option<&Categories>) -> bool {
        if value <= self.threshold {
            return true;
        }
        match categories.filter(|_| self.threshold.is_nan()) {
            None => self.missing_left && value.is_nan(),
            Some(categories) => categories.goes_left(self, value).unwrap_or(self.missing_left),
        }
    }
}

impl ArenaNode {
    /// Every feature is below this number, which would read as a leaf together with `MISSING_LEFT`.
    #[cfg(feature = "python")]
    pub const FEATURE_LIMIT: u32 = MISSING_LEFT - 1;

    pub const fn leaf() -> Self {
        Self { threshold: 0.0, feature: LEAF, right: 0 }
    }

    pub fn inner(test: Test) -> Self {
        debug_assert!(test.feature < MISSING_LEFT - 1);
        let flag = if test.missing_left { MISSING_LEFT } else { 0 };
        Self { threshold: test.threshold, feature: test.feature | flag, right: test.right }
    }

    /// The fields of an inner node; `None` for a leaf.
    #[inline]
    pub fn test(&self) -> Option<Test> {
        (self.feature != LEAF).then_some(Test {
            feature: self.feature & !MISSING_LEFT,
            threshold: self.threshold,
            missing_left: self.feature & MISSING_LEFT != 0,
            right: self.right,
        })
    }

    /// This node where all node ids are higher by `shift`. It has no branch on leaves, which would
    /// be unpredictable.
    #[inline]
    pub fn shifted(&self, shift: u32) -> Self {
        Self { right: self.right + if self.feature == LEAF { 0 } else { shift }, ..*self }
    }

    /// This node where its set of categories, if it has one, starts `shift` words later.
    pub fn with_set_shifted(&self, shift: u32) -> Self {
        let threshold = if self.feature != LEAF && self.threshold.is_nan() {
            f64::from_bits(self.threshold.to_bits() + u64::from(shift))
        } else {
            self.threshold
        };
        Self { threshold, ..*self }
    }

    /// The node in model files, little-endian: threshold, feature with its flag, right child.
    pub fn to_bytes(self) -> [u8; 16] {
        let [threshold, links] = [self.threshold.to_bits(), u64::from(self.right) << 32 | u64::from(self.feature)];
        (u128::from(links) << 64 | u128::from(threshold)).to_le_bytes()
    }

    /// The node with these bytes. `None` for a leaf with other than its usual bytes, and for a NaN
    /// that encodes no set of categories: such nodes are never written.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let bits = u128::from_le_bytes(bytes);
        let threshold = f64::from_bits(bits as u64);
        let node = Self { threshold, feature: (bits >> 64) as u32, right: (bits >> 96) as u32 };
        let is_number_or_set = !threshold.is_nan() || categories::encodes_set(threshold);
        (is_number_or_set && (node.feature != LEAF || bytes == Self::leaf().to_bytes())).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_16_bytes_and_keeps_its_parts() {
        assert_eq!(size_of::<ArenaNode>(), 16);
        let test = Test { feature: 7, threshold: -1.5, missing_left: true, right: 9 };
        assert_eq!(ArenaNode::inner(test).test(), Some(test));
        assert_eq!(ArenaNode::leaf().test(), None);
    }
}
