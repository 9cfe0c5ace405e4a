//! Sets of categories: which categories of a feature go left at a node.
//!
//! A set is a bitmap with one bit per category of the feature, in whole words. The sets of a tree
//! follow each other in one vector, in the order of the nodes. A node refers to its set by the
//! index of its first word, encoded in a NaN that takes the threshold's place. Memory: 8 bytes per
//! 64 categories and split.

use super::node::Test;

/// A quiet NaN; its low 32 bits hold the index of a set's first word.
const SET_NAN: u64 = 0x7FF8_0000_0000_0000;

/// The threshold that encodes a set which starts at this word.
pub(super) fn set_threshold(start: usize) -> f64 {
    f64::from_bits(SET_NAN | start as u64)
}

/// The first word of the set that a threshold encodes; `None` for a number.
#[inline]
pub(super) fn set_start(threshold: f64) -> Option<usize> {
    threshold.is_nan().then_some(threshold.to_bits() as u32 as usize)
}

/// Whether [`set_threshold`] could have made this NaN.
pub(super) fn encodes_set(nan: f64) -> bool {
    nan.to_bits() >> 32 == SET_NAN >> 32
}

/// Number of words of a set.
pub(super) fn n_words(n_categories: u32) -> usize {
    n_categories.div_ceil(64) as usize
}

/// Sets of categories, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CategorySets {
    pub words: Vec<u64>,
}

impl CategorySets {
    /// Adds the set of the categories in `left`. Categories that are neither in `left` nor in
    /// `right` go left if `others` is true. Returns the threshold that encodes the set.
    pub fn push(&mut self, n_categories: u32, [left, right]: [impl Iterator<Item = u32>; 2], others: bool) -> f64 {
        let start = self.words.len();
        self.words.resize(start + n_words(n_categories), if others { u64::MAX } else { 0 });
        let set = &mut self.words[start..];
        left.for_each(|code| set[code as usize / 64] |= 1 << (code % 64));
        right.for_each(|code| set[code as usize / 64] &= !(1 << (code % 64)));
        // Bits beyond the last category are 0, so that equal sets are equal words.
        if !n_categories.is_multiple_of(64) {
            set[n_words(n_categories) - 1] &= (1 << (n_categories % 64)) - 1;
        }
        set_threshold(start)
    }

    /// Appends the sets of another tree and returns by how many words they have moved.
    pub fn append(&mut self, mut others: Self) -> u32 {
        let shift = self.words.len() as u32;
        self.words.append(&mut others.words);
        shift
    }
}

/// The categories of a tree's features.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Categories {
    /// By feature: the number of its categories, 0 for a feature of numbers.
    pub counts: Vec<u32>,
    pub sets: CategorySets,
}

impl Categories {
    /// The words of a split's set; `None` for a split on numbers, or if the set is not within
    /// `sets`.
    pub(super) fn set(&self, test: &Test) -> Option<&[u64]> {
        let start = test.category_set()?;
        self.sets.words.get(start..start.checked_add(n_words(*self.counts.get(test.feature as usize)?))?)
    }

    /// Whether a split's set has only categories of its feature; true for a split on numbers.
    pub(super) fn knows_all(&self, test: &Test) -> bool {
        let in_last_word = self.counts.get(test.feature as usize).map_or(0, |count| count % 64);
        let last = self.set(test).and_then(<[u64]>::last);
        last.is_none_or(|word| in_last_word == 0 || word >> in_last_word == 0)
    }

    /// Whether a category goes left; `None` if it is missing or is not one of the fit's categories.
    pub(super) fn goes_left(&self, test: &Test, code: f64) -> Option<bool> {
        let count = self.counts[test.feature as usize];
        // Also false for NaN.
        if !(code >= 0.0 && code < f64::from(count) && code.fract() == 0.0) {
            return None;
        }
        let code = code as usize;
        self.set(test).map(|set| set[code / 64] >> (code % 64) & 1 != 0)
    }
}
