//! Sets of categories: which categories of a feature go left at a node.
//!
//! A set is stored in whichever of two forms is smaller, in whole words:
//!
//! ```text
//! bitmap    ⌈categories / 64⌉ words: one bit per category of the feature, 1 for left
//! list      1 + ⌈listed / 2⌉ words: how many, then, ascending and two per word, the categories
//!           that go to the other side than missing values; all others go with these
//! ```
//!
//! A node deep in a tree has few categories, and those that it does not have go with missing
//! values, so lists keep the memory in proportion to the rows. The sets of a tree follow each other
//! in one vector, in the order of the nodes. A node refers to its set by the index of its first
//! word, encoded in a NaN that takes the threshold's place; the NaN also tells the form.

use super::node::{ArenaNode, Test};

/// A quiet NaN; its low 32 bits hold the index of a bitmap's first word.
const BITMAP_NAN: u64 = 0x7FF8_0000_0000_0000;
/// The same for a list.
const LIST_NAN: u64 = BITMAP_NAN | 1 << 32;

/// The threshold that encodes a bitmap which starts at this word.
#[cfg(test)]
pub(super) fn set_threshold(start: usize) -> f64 {
    f64::from_bits(BITMAP_NAN | start as u64)
}

/// The first word of the set that a threshold encodes; `None` for a number.
#[inline]
pub(super) fn set_start(threshold: f64) -> Option<usize> {
    threshold.is_nan().then_some(threshold.to_bits() as u32 as usize)
}

/// Whether the set that a NaN encodes is a list.
#[inline]
fn encodes_list(nan: f64) -> bool {
    nan.to_bits() >> 32 == LIST_NAN >> 32
}

/// Whether [`CategorySets`] could have made this NaN.
pub(super) fn encodes_set(nan: f64) -> bool {
    nan.to_bits() >> 32 == BITMAP_NAN >> 32 || encodes_list(nan)
}

/// Number of words of a bitmap.
fn n_words(n_categories: u32) -> usize {
    n_categories.div_ceil(64) as usize
}

/// Sets of categories, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CategorySets {
    pub words: Vec<u64>,
}

impl CategorySets {
    /// Adds the set of the categories in `left`. Categories that are neither in `left` nor in
    /// `right` go left if `others` is true, as missing values do. Returns the threshold that
    /// encodes the set.
    pub fn push(&mut self, n_categories: u32, [left, right]: [impl Iterator<Item = u32>; 2], others: bool) -> f64 {
        let mut listed: Vec<u32> = if others { right.collect() } else { left.collect() };
        listed.sort_unstable();
        listed.dedup();
        let start = self.words.len() as u64;
        if 1 + listed.len().div_ceil(2) < n_words(n_categories) {
            self.words.push(listed.len() as u64);
            let word = |pair: &[u32]| u64::from(pair[0]) | pair.get(1).map_or(0, |&code| u64::from(code) << 32);
            self.words.extend(listed.chunks(2).map(word));
            return f64::from_bits(LIST_NAN | start);
        }
        self.words.resize(self.words.len() + n_words(n_categories), if others { u64::MAX } else { 0 });
        let set = &mut self.words[start as usize..];
        for code in listed {
            set[code as usize / 64] ^= 1 << (code % 64);
        }
        // Bits beyond the last category are 0, so that equal sets are equal words.
        if !n_categories.is_multiple_of(64) {
            set[n_words(n_categories) - 1] &= (1 << (n_categories % 64)) - 1;
        }
        f64::from_bits(BITMAP_NAN | start)
    }

    /// Adds a set of another tree, which a threshold encodes there. Returns its threshold here.
    pub fn push_copy(&mut self, words: &[u64], threshold: f64) -> f64 {
        let start = self.words.len() as u64;
        self.words.extend_from_slice(words);
        f64::from_bits(threshold.to_bits() >> 32 << 32 | start)
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
    pub(super) fn words(&self, test: &Test) -> Option<&[u64]> {
        let start = test.category_set()?;
        let words = self.sets.words.get(start..)?;
        let count = *self.counts.get(test.feature as usize)?;
        let len = if encodes_list(test.threshold) {
            usize::try_from(*words.first()?).ok()?.div_ceil(2).checked_add(1)?
        } else {
            n_words(count)
        };
        words.get(..len)
    }

    /// Whether a split's set has only categories of its feature, each once; true for a split on
    /// numbers.
    pub(super) fn knows_all(&self, test: &Test) -> bool {
        let Some(words) = self.words(test) else { return true };
        let count = self.counts[test.feature as usize];
        if encodes_list(test.threshold) {
            let listed = List(words);
            let ascend = (1..listed.len()).all(|place| listed.at(place - 1) < listed.at(place));
            let ends = listed.len() == 0 || listed.at(listed.len() - 1) < count;
            let has_padding = listed.len() % 2 == 1;
            return count > 0 && ascend && ends && !(has_padding && words[words.len() - 1] >> 32 != 0);
        }
        words.last().is_none_or(|word| count.is_multiple_of(64) || word >> (count % 64) == 0)
    }

    /// Whether a category goes left; `None` if it is missing or is not one of the fit's categories.
    pub(super) fn goes_left(&self, test: &Test, code: f64) -> Option<bool> {
        let count = self.counts[test.feature as usize];
        // Also false for NaN.
        if !(code >= 0.0 && code < f64::from(count) && code.fract() == 0.0) {
            return None;
        }
        let (code, words) = (code as u32, self.words(test)?);
        if encodes_list(test.threshold) {
            return Some(List(words).contains(code) != test.missing_left);
        }
        Some(words[code as usize / 64] >> (code % 64) & 1 != 0)
    }

    /// Whether any node has its set as a list.
    pub fn has_lists(nodes: &[ArenaNode]) -> bool {
        nodes.iter().filter_map(ArenaNode::test).any(|test| test.threshold.is_nan() && encodes_list(test.threshold))
    }
}

/// The words of a list.
struct List<'a>(&'a [u64]);

impl List<'_> {
    fn len(&self) -> usize {
        self.0[0] as usize
    }

    fn at(&self, place: usize) -> u32 {
        (self.0[1 + place / 2] >> (place % 2 * 32)) as u32
    }

    fn contains(&self, code: u32) -> bool {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) = if self.at(middle) < code { (middle + 1, high) } else { (low, middle) };
        }
        low < self.len() && self.at(low) == code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_forms_say_what_was_pushed(n in 1..2_000u32, sides in prop::collection::vec((any::<u32>(), any::<bool>()), 0..60), others in any::<bool>()) {
            let mut by_code = std::collections::BTreeMap::new();
            for &(code, is_left) in &sides {
                by_code.insert(code % n, is_left);
            }
            let codes = |wanted: bool| by_code.iter().filter(move |&(_, &left)| left == wanted).map(|(&code, _)| code);
            let mut sets = CategorySets { words: vec![7] };
            let threshold = sets.push(n, [codes(true).collect::<Vec<_>>(), codes(false).collect()].map(Vec::into_iter), others);
            let test = Test { feature: 0, threshold, missing_left: others, right: 2 };
            prop_assert!(sets.words.len() <= 1 + n_words(n));
            let mut copied = CategorySets { words: vec![1, 2, 3] };
            let categories = Categories { counts: vec![n], sets };
            let moved = Test { threshold: copied.push_copy(categories.words(&test).unwrap(), threshold), ..test };
            let copied = Categories { counts: vec![n], sets: copied };
            prop_assert!(categories.knows_all(&test) && copied.knows_all(&moved));
            for code in 0..n {
                let expected = by_code.get(&code).copied().unwrap_or(others);
                prop_assert_eq!(categories.goes_left(&test, f64::from(code)), Some(expected));
                prop_assert_eq!(copied.goes_left(&moved, f64::from(code)), Some(expected));
            }
            prop_assert_eq!(categories.goes_left(&test, f64::from(n)), None);
            prop_assert_eq!(categories.goes_left(&test, f64::NAN), None);
        }
    }

    #[test]
    fn crafted_lists_are_refused() {
        let check = |words: &[u64]| {
            let categories = Categories { counts: vec![1_000], sets: CategorySets { words: words.to_vec() } };
            let test = Test { feature: 0, threshold: f64::from_bits(LIST_NAN), missing_left: true, right: 2 };
            categories.words(&test).is_some() && categories.knows_all(&test)
        };
        assert!(check(&[2, 3 | 999 << 32]) && check(&[1, 3]) && check(&[0]));
        assert!(!check(&[]), "no list");
        assert!(!check(&[3, 3 | 999 << 32]), "too short");
        assert!(!check(&[u64::MAX]), "longer than memory");
        assert!(!check(&[2, 3 | 1_000 << 32]), "an unknown category");
        assert!(!check(&[2, 3 | 3 << 32]) && !check(&[2, 3 | 2 << 32]), "not ascending");
        assert!(!check(&[1, 3 | 1 << 32]), "padding");
    }
}
