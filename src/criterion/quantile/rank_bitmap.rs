//! HOT: which ranks are on the left, and the next or previous rank of either side.
//!
//! ```text
//! word      one bit per rank: 1 is left, 0 is right
//! summary   per side, one bit per word that has ranks of that side,
//!           one bit per 64 of those bits, and so on up to a single word
//! ```
//!
//! Moving a row to the left sets its bit. The neighbour of a rank on a side is found by a bit scan
//! of the same word; if that has none, through the summaries. So a look-up costs at most a few
//! scans, whatever the order of the rows: O(log n) with the base 64. Memory: one bit per rank, and
//! a thirty-second of that for the summaries. `rank_bitmap.rs::neighbours_are_the_nearest` compares
//! it with a search of all ranks.

use std::hint::select_unpredictable;
use std::num::NonZeroU64;

/// The sides of a cut as values of `const SIDE: bool`, for which kernels are compiled. They are
/// the values of `is_left` elsewhere, and of a rank's bit.
pub(super) const LEFT: bool = true;
pub(super) const RIGHT: bool = false;

/// This side's bits of a word. Bits behind the last rank count as right; no pointer moves there.
#[inline(always)]
pub(super) fn of_side<const SIDE: bool>(word: u64) -> u64 {
    if SIDE == LEFT { word } else { !word }
}

/// The bits of a word below that of a rank.
#[inline(always)]
pub(super) fn bits_below(rank: usize) -> u64 {
    (1 << (rank & 63)) - 1
}

/// The bits of a word above that of a rank.
#[inline(always)]
pub(super) fn bits_above(rank: usize) -> u64 {
    !(bits_below(rank) | 1 << (rank & 63))
}

/// Position of the highest bit; 0 for an empty word.
#[inline(always)]
pub(super) fn highest(word: u64) -> usize {
    // With at least one bit set, the scan needs no case for zero.
    (word | 1).ilog2() as usize
}

/// Position of the lowest bit; 63 for an empty word.
#[inline(always)]
pub(super) fn lowest(word: u64) -> usize {
    (word | 1 << 63).trailing_zeros() as usize
}

/// The ranks of a node, each on the left or on the right.
pub(super) trait Ranks {
    /// Moves a rank from the right to the left.
    fn move_left(&mut self, rank: usize);

    /// The next rank of this side if `up`, the previous one if `down`, which must exist; otherwise
    /// the rank itself.
    fn neighbour<const SIDE: bool>(&self, rank: usize, up: bool, down: bool) -> usize;
}

/// The bit of the neighbour within a word, or 0 if it has none there.
#[inline(always)]
fn neighbour_bit(word: u64, rank: usize, up: bool, down: bool) -> u64 {
    let (own, below) = (1 << (rank & 63), word & bits_below(rank));
    let above = word & bits_above(rank);
    // No branches: none of the three cases can be predicted. Only the lowest bit above is kept, so
    // the caller's scan for the highest bit finds it.
    let own_or_below = select_unpredictable(down, below, own);
    select_unpredictable(up, above & above.wrapping_neg(), own_or_below)
}

/// Up to 64 ranks, in a register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OneWord(u64);

impl Ranks for OneWord {
    #[inline(always)]
    fn move_left(&mut self, rank: usize) {
        self.0 |= 1 << (rank & 63);
    }

    #[inline(always)]
    fn neighbour<const SIDE: bool>(&self, rank: usize, up: bool, down: bool) -> usize {
        highest(neighbour_bit(of_side::<SIDE>(self.0), rank, up, down))
    }
}

/// Memory for any number of ranks, reused from sweep to sweep.
#[derive(Debug, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    /// By `usize::from(SIDE)`: the words with ranks of that side.
    summaries: [WordSummary; 2],
}

impl Bitmap {
    /// Puts all of `n` ranks on the right.
    pub(super) fn reset(&mut self, n: usize) -> Words<'_> {
        let n_words = n.div_ceil(64);
        self.words.clear();
        self.words.resize(n_words, 0);
        self.summaries[usize::from(LEFT)].reset(n_words, 0);
        self.summaries[usize::from(RIGHT)].reset(n_words, !0);
        Words { words: &mut self.words, summaries: &mut self.summaries }
    }
}

/// Any number of ranks.
pub(super) struct Words<'a> {
    words: &'a mut [u64],
    summaries: &'a mut [WordSummary; 2],
}

impl Words<'_> {
    #[inline(always)]
    fn word<const SIDE: bool>(&self, index: usize) -> u64 {
        of_side::<SIDE>(self.words[index])
    }
}

// The rare cases take the fields of a `Words`: passing its address to a function would keep it out
// of registers.

#[cold]
#[inline(never)]
fn summarise(summaries: &mut [WordSummary; 2], index: usize, before: u64, after: u64) {
    if before == 0 {
        summaries[usize::from(LEFT)].insert(index);
    }
    if after == !0 {
        summaries[usize::from(RIGHT)].remove(index);
    }
}

#[cold]
#[inline(never)]
fn far_neighbour<const SIDE: bool>(words: &[u64], summaries: &[WordSummary; 2], rank: usize, up: bool) -> usize {
    let summary = &summaries[usize::from(SIDE)];
    if up {
        let index = summary.next(rank >> 6);
        index << 6 | lowest(of_side::<SIDE>(words[index]))
    } else {
        let index = summary.previous(rank >> 6);
        index << 6 | highest(of_side::<SIDE>(words[index]))
    }
}

impl Ranks for Words<'_> {
    #[inline(always)]
    fn move_left(&mut self, rank: usize) {
        let word = &mut self.words[rank >> 6];
        let (before, after) = (*word, *word | 1 << (rank & 63));
        *word = after;
        if before == 0 || after == !0 {
            summarise(self.summaries, rank >> 6, before, after);
        }
    }

    #[inline(always)]
    fn neighbour<const SIDE: bool>(&self, rank: usize, up: bool, down: bool) -> usize {
        match NonZeroU64::new(neighbour_bit(self.word::<SIDE>(rank >> 6), rank, up, down)) {
            Some(bit) => (rank & !63) + bit.ilog2() as usize,
            None => far_neighbour::<SIDE>(self.words, self.summaries, rank, up),
        }
    }
}

/// A set of word numbers: a bit per number, a bit per word of those that is not empty, and so on up
/// to a single word.
#[derive(Debug, Default)]
struct WordSummary {
    levels: Vec<Vec<u64>>,
}

impl WordSummary {
    /// None (`fill` = 0) or all (`fill` = !0) of the numbers below `n`. Bits from `n` on are never
    /// read.
    fn reset(&mut self, n: usize, fill: u64) {
        let (mut len, mut level) = (n, 0);
        while level == 0 || len > 1 {
            len = len.div_ceil(64);
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].clear();
            self.levels[level].resize(len, fill);
            level += 1;
        }
    }

    fn insert(&mut self, mut index: usize) {
        for level in &mut self.levels {
            let word = &mut level[index >> 6];
            let was_empty = *word == 0;
            *word |= 1 << (index & 63);
            if !was_empty || level.len() == 1 {
                return;
            }
            index >>= 6;
        }
    }

    fn remove(&mut self, mut index: usize) {
        for level in &mut self.levels {
            let word = &mut level[index >> 6];
            *word &= !(1 << (index & 63));
            if *word != 0 || level.len() == 1 {
                return;
            }
            index >>= 6;
        }
    }

    /// The next number, which must exist.
    fn next(&self, index: usize) -> usize {
        self.find(index, |word, index| word & bits_above(index), lowest)
    }

    /// The previous number, which must exist.
    fn previous(&self, index: usize) -> usize {
        self.find(index, |word, index| word & bits_below(index), highest)
    }

    /// Climbs until a word has a bit in this direction, then takes the nearest bit of each level on
    /// the way down.
    #[inline(always)]
    fn find(&self, mut index: usize, ahead: impl Fn(u64, usize) -> u64, nearest: impl Fn(u64) -> usize) -> usize {
        let mut height = 0;
        loop {
            let bits = ahead(self.levels[height][index >> 6], index);
            index >>= 6;
            if bits != 0 {
                index = index << 6 | nearest(bits);
                break;
            }
            height += 1;
        }
        for level in self.levels[..height].iter().rev() {
            index = index << 6 | nearest(level[index]);
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::draw::Dice;
    use proptest::prelude::*;

    fn naive_neighbour(is_left: &[bool], side: bool, rank: usize, up: bool) -> Option<usize> {
        let on_side = |&other: &usize| is_left[other] == side;
        if up { (rank + 1..is_left.len()).find(on_side) } else { (0..rank).rev().find(on_side) }
    }

    fn check<R: Ranks, const SIDE: bool>(ranks: &R, is_left: &[bool], rank: usize) {
        assert_eq!(ranks.neighbour::<SIDE>(rank, false, false), rank);
        for up in [false, true] {
            if let Some(expected) = naive_neighbour(is_left, SIDE, rank, up) {
                assert_eq!(ranks.neighbour::<SIDE>(rank, up, !up), expected, "{rank} {up}");
            }
        }
    }

    fn check_all<R: Ranks>(mut ranks: R, n: usize, dice: &mut Dice, in_clusters: bool) {
        let mut order = dice.shuffle(n);
        if in_clusters {
            order.sort_by_key(|rank| rank / 5_000 % 2);
        }
        let mut is_left = vec![false; n];
        for rank in order {
            ranks.move_left(rank);
            is_left[rank] = true;
            for rank in [0, n - 1, rank, dice.below(n)] {
                check::<R, LEFT>(&ranks, &is_left, rank);
                check::<R, RIGHT>(&ranks, &is_left, rank);
            }
        }
    }

    proptest! {
        #[test]
        fn neighbours_are_the_nearest(n in prop_oneof![1..300usize, Just(64), Just(4096), 4000..9000usize],
                                      in_clusters in any::<bool>(), seed in any::<u64>()) {
            let mut bitmap = Bitmap::default();
            // The state of an earlier sweep must not matter.
            for rank in 0..100 {
                bitmap.reset(100).move_left(rank);
            }
            check_all(bitmap.reset(n), n, &mut Dice::new(seed), in_clusters);
        }

        #[test]
        fn one_word_does_with_up_to_64(n in 1..=64usize, seed in any::<u64>()) {
            check_all(OneWord::default(), n, &mut Dice::new(seed), false);
        }
    }

    #[test]
    fn neighbours_are_found_across_millions_of_ranks() {
        let n = 20_000_000;
        let mut bitmap = Bitmap::default();
        let mut ranks = bitmap.reset(n);
        ranks.move_left(0);
        ranks.move_left(n - 1);
        assert_eq!(ranks.neighbour::<LEFT>(0, true, false), n - 1);
        assert_eq!(ranks.neighbour::<LEFT>(n - 1, false, true), 0);
        (1..n - 2).for_each(|rank| ranks.move_left(rank));
        assert_eq!(ranks.neighbour::<RIGHT>(0, true, false), n - 2);
        assert_eq!(ranks.neighbour::<LEFT>(n - 1, false, true), n - 3);
    }
}
