//! HOT: what every cut gains in weighted absolute error or pinball loss: one pass, both quantiles.
//!
//! The formula is that of `quantile.rs` with weights: at the level p/q, with W and S the sums of w
//! and w·y over a side, H and B those over its rows below the pointer `m`,
//!
//! ```text
//! q · loss = p·S − q·B + m·e,    e = q·H − p·W        least where e ≤ 0 ≤ e + q·w(m)
//! ```
//!
//! One heavy row can send the pointer across any number of others, again and again. So (Σw, Σw·y)
//! is kept for every 64 ranks, for every 64 of those, and so on, and the pointer passes whole
//! groups: at most 64 steps a level on its way out and in, whatever the weights and the order.
//!
//! Weights and targets are integers on grids, their products are exact in 128 bits, and so the gain
//! depends on nothing but which rows are left.

use super::rank_bitmap::{LEFT, RIGHT, bits_above, bits_below, highest, lowest, of_side};
use super::screened_order::CutRange;
use crate::median::Level;

/// Σw and Σw·y over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    weight: i64,
    moment: i128,
}

impl Sums {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { weight: self.weight + other.weight, moment: self.moment + other.moment }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { weight: self.weight - other.weight, moment: self.moment - other.moment }
    }
}

/// Sums over every 64 ranks, every 64 of those, and so on, down to 64 sums or fewer. None at all
/// for up to 64 ranks.
type Pyramid = Vec<Vec<Sums>>;

/// Buffers of a sweep, reused from one to the next.
#[derive(Debug, Default)]
pub struct WeightedBitmap {
    /// One bit a rank: ones are left.
    words: Vec<u64>,
    /// Sums over the rows on the left.
    left: Pyramid,
}

impl WeightedBitmap {
    fn reset(&mut self, all: &Pyramid, n: usize) {
        self.words.clear();
        self.words.resize(n.div_ceil(64), 0);
        self.left.resize_with(all.len(), Vec::new);
        for (left, all) in self.left.iter_mut().zip(all) {
            left.clear();
            left.resize(all.len(), Sums::default());
        }
    }

    #[inline(always)]
    fn move_left(&mut self, rank: usize, row: Sums) {
        self.words[rank >> 6] |= 1 << (rank & 63);
        let mut index = rank;
        for level in &mut self.left {
            index >>= 6;
            level[index] = level[index].plus(row);
        }
    }
}

/// A node's rows by their targets, and what all its sweeps need to know of them. Its memory is
/// reused from node to node.
#[derive(Clone, Debug)]
pub struct WeightedTargets {
    level: Level,
    /// In ascending order of their targets.
    ranked: Vec<WeightedTarget>,
    node_sums: Pyramid,
    /// Where the node's own pointer is.
    start: Pointer,
    /// q · loss of the node, without p·S.
    node_loss: i128,
    /// Low bits of q · gain that are dropped so that it fits in 62.
    shift: u32,
}

/// A row: side by side, so that a sweep, which comes to them at random, waits once for both.
#[derive(Clone, Copy, Debug)]
struct WeightedTarget {
    target: i64,
    weight: i64,
}

impl WeightedTarget {
    #[inline(always)]
    fn sums(self) -> Sums {
        Sums { weight: self.weight, moment: i128::from(self.weight) * i128::from(self.target) }
    }
}

impl Default for WeightedTargets {
    fn default() -> Self {
        let start = Pointer { rank: 0, excess: 0, below: 0 };
        Self { level: Level::HALF, ranked: Vec::new(), node_sums: Pyramid::new(), start, node_loss: 0, shift: 0 }
    }
}

impl WeightedTargets {
    /// Describes a node with these targets, in ascending order, and their weights.
    ///
    /// Weights are not negative. On their grids, sum of weights · largest target · denominator of
    /// the level stays below 2^125 ([`weight_bits`]).
    pub fn describe(&mut self, level: Level, sorted: &[i64], weights: &[i64]) {
        self.level = level;
        self.ranked.clear();
        self.ranked.extend(sorted.iter().zip(weights).map(|(&target, &weight)| WeightedTarget { target, weight }));
        let total = self.ranked.iter().fold(Sums::default(), |sums, row| sums.plus(row.sums()));
        self.start = Pointer { rank: 0, excess: -(i128::from(level.numerator()) * i128::from(total.weight)), below: 0 };
        while self.start.must_pass(level, self.ranked[self.start.rank].sums()) {
            self.start.pass(level, self.ranked[self.start.rank].sums());
            self.start.rank += 1;
        }
        self.node_loss = self.start.pointer_term(&self.ranked) - i128::from(level.denominator()) * self.start.below;
        let loss = i128::from(level.numerator()) * total.moment + self.node_loss;
        self.shift = (128 - loss.leading_zeros()).saturating_sub(62);
        self.sum_groups();
    }

    fn sum_groups(&mut self) {
        let Self { ranked, node_sums: all, .. } = self;
        let (mut height, mut len) = (0, ranked.len());
        while len > 64 {
            if all.len() == height {
                all.push(Vec::new());
            }
            let (below, above) = all.split_at_mut(height);
            above[0].clear();
            if let Some(groups) = below.last() {
                let sum = |groups: &[Sums]| groups.iter().copied().fold(Sums::default(), Sums::plus);
                above[0].extend(groups.chunks(64).map(sum));
            } else {
                let sum = |rows: &[WeightedTarget]| rows.iter().map(|row| row.sums()).fold(Sums::default(), Sums::plus);
                above[0].extend(ranked.chunks(64).map(sum));
            }
            (height, len) = (height + 1, above[0].len());
        }
        all.truncate(height);
    }

    /// Size of a gain's unit, in units of the weights' grid times the targets' grid.
    #[must_use]
    pub fn unit(&self) -> f64 {
        (1u128 << self.shift) as f64 / self.level.denominator() as f64
    }

    /// Calls `visit(k, gain)` for each k of these ranges, which ascend from 1 to below n: what is
    /// gained if the first k rows go left, in units of [`WeightedTargets::unit`]. Rows in between
    /// cost little.
    ///
    /// `rank(place)` is where the row at this place of the feature's order stands among the node's
    /// targets: each of 0 to n − 1 once.
    #[inline(always)]
    pub fn sweep(
        &self,
        rank: impl Fn(usize) -> usize,
        ranges: &[CutRange],
        bitmap: &mut WeightedBitmap,
        mut visit: impl FnMut(usize, i64),
    ) {
        bitmap.reset(&self.node_sums, self.ranked.len());
        let mut sweep = WeightedSweep { rows: self, bitmap, left: self.start.of_no_rows(), right: self.start };
        let mut n_left = 0;
        for &CutRange { first, last, .. } in ranges {
            while n_left < last {
                sweep.move_left(rank(n_left));
                n_left += 1;
                if n_left >= first {
                    visit(n_left, sweep.gain());
                }
            }
        }
    }
}

/// Bits that the sum of weights may have at this level, for targets of up to 51 bits.
#[must_use]
pub fn weight_bits(level: Level) -> u32 {
    (125 - 51 - level.denominator_bits()).min(62)
}

/// A place among the ranks, on a row of its side or not.
#[derive(Clone, Copy, Debug)]
struct Pointer {
    rank: usize,
    /// e above.
    excess: i128,
    /// B above.
    below: i128,
}

impl Pointer {
    /// The same place with no rows around it.
    fn of_no_rows(self) -> Self {
        Self { rank: self.rank, excess: 0, below: 0 }
    }

    /// Goes up past these rows.
    #[inline(always)]
    fn pass(&mut self, level: Level, rows: Sums) {
        self.excess += i128::from(level.denominator()) * i128::from(rows.weight);
        self.below += rows.moment;
    }

    /// Goes down past these rows.
    #[inline(always)]
    fn pass_back(&mut self, level: Level, rows: Sums) {
        self.excess -= i128::from(level.denominator()) * i128::from(rows.weight);
        self.below -= rows.moment;
    }

    /// True if the place of least loss is above these rows.
    #[inline(always)]
    fn must_pass(&self, level: Level, rows: Sums) -> bool {
        self.excess + i128::from(level.denominator()) * i128::from(rows.weight) < 0
    }

    /// True if the place of least loss is below these rows.
    #[inline(always)]
    fn must_pass_back(&self, level: Level, rows: Sums) -> bool {
        self.excess > i128::from(level.denominator()) * i128::from(rows.weight)
    }

    /// The part of q · loss that is this side's own.
    #[inline(always)]
    fn pointer_term(&self, rows: &[WeightedTarget]) -> i128 {
        i128::from(rows[self.rank].target) * self.excess
    }
}

struct WeightedSweep<'a> {
    rows: &'a WeightedTargets,
    bitmap: &'a mut WeightedBitmap,
    left: Pointer,
    right: Pointer,
}

impl WeightedSweep<'_> {
    /// Moves one row to the left; the quantiles stay where they are.
    #[inline(always)]
    fn move_left(&mut self, rank: usize) {
        let level = self.rows.level;
        let row = self.rows.ranked[rank].sums();
        self.bitmap.move_left(rank, row);
        let share = i128::from(level.numerator()) * i128::from(row.weight);
        let added = |pointer: &Pointer| if rank < pointer.rank { row } else { Sums::default() };
        let (to_left, from_right) = (added(&self.left), added(&self.right));
        self.left.pass(level, to_left);
        self.left.excess -= share;
        self.right.pass_back(level, from_right);
        self.right.excess += share;
    }

    /// Takes the quantiles to where they belong; what is gained with them there.
    #[inline(always)]
    fn gain(&mut self) -> i64 {
        self.left = self.settled::<LEFT>(self.left);
        self.right = self.settled::<RIGHT>(self.right);
        let below = i128::from(self.rows.level.denominator()) * (self.left.below + self.right.below);
        let gain = self.rows.node_loss + below
            - self.left.pointer_term(&self.rows.ranked)
            - self.right.pointer_term(&self.rows.ranked);
        (gain >> self.rows.shift) as i64
    }

    /// Where the loss is least.
    #[inline(always)]
    fn settled<const SIDE: bool>(&self, pointer: Pointer) -> Pointer {
        let here = self.row_at::<SIDE>(pointer.rank);
        if pointer.excess > 0 {
            self.settle_down::<SIDE>(pointer)
        } else if pointer.must_pass(self.rows.level, here) {
            self.settle_up::<SIDE>(pointer, here)
        } else {
            pointer
        }
    }

    /// The row at this rank if it is of this side.
    #[inline(always)]
    fn row_at<const SIDE: bool>(&self, rank: usize) -> Sums {
        let is_here = self.word::<SIDE>(rank >> 6) >> (rank & 63) & 1 == 1;
        if is_here { self.rows.ranked[rank].sums() } else { Sums::default() }
    }

    #[inline(always)]
    fn word<const SIDE: bool>(&self, index: usize) -> u64 {
        of_side::<SIDE>(self.bitmap.words[index])
    }

    /// This side's sums over a group of ranks.
    #[inline(always)]
    fn group<const SIDE: bool>(&self, height: usize, index: usize) -> Sums {
        let left = self.bitmap.left[height][index];
        if SIDE == RIGHT { self.rows.node_sums[height][index].minus(left) } else { left }
    }

    /// Goes up to the row where the loss is least: row by row to the end of the word, then by
    /// groups. There is such a row, because above the last one `excess` would be (q − p) · W.
    fn settle_up<const SIDE: bool>(&self, mut pointer: Pointer, here: Sums) -> Pointer {
        let level = self.rows.level;
        pointer.pass(level, here);
        let mut index = pointer.rank >> 6;
        let mut bits = self.word::<SIDE>(index) & bits_above(pointer.rank);
        loop {
            while bits != 0 {
                let rank = index << 6 | lowest(bits);
                let row = self.rows.ranked[rank].sums();
                if !pointer.must_pass(level, row) {
                    return Pointer { rank, ..pointer };
                }
                pointer.pass(level, row);
                bits &= bits - 1;
            }
            index = self.pass_groups::<SIDE>(&mut pointer, index + 1);
            bits = self.word::<SIDE>(index);
        }
    }

    /// Passes whole words from this one on, by the largest groups possible, and returns the word
    /// where that ends.
    fn pass_groups<const SIDE: bool>(&self, pointer: &mut Pointer, mut index: usize) -> usize {
        let (mut height, top) = (0, self.rows.node_sums.len() - 1);
        loop {
            if index.is_multiple_of(64) && height < top && index >> 6 < self.rows.node_sums[height + 1].len() {
                (height, index) = (height + 1, index >> 6);
                continue;
            }
            // Down, until a word has to be looked into.
            loop {
                let group = self.group::<SIDE>(height, index);
                if pointer.must_pass(self.rows.level, group) {
                    pointer.pass(self.rows.level, group);
                    index += 1;
                    break;
                }
                if height == 0 {
                    return index;
                }
                (height, index) = (height - 1, index << 6);
            }
        }
    }

    /// Goes down to the row where the loss is least; there is one, because below the first one
    /// `excess` would be −p · W.
    fn settle_down<const SIDE: bool>(&self, mut pointer: Pointer) -> Pointer {
        let level = self.rows.level;
        let mut index = pointer.rank >> 6;
        let mut bits = self.word::<SIDE>(index) & bits_below(pointer.rank);
        loop {
            while bits != 0 {
                let rank = index << 6 | highest(bits);
                pointer.pass_back(level, self.rows.ranked[rank].sums());
                if pointer.excess <= 0 {
                    return Pointer { rank, ..pointer };
                }
                bits &= !(1 << (rank & 63));
            }
            index = self.pass_groups_back::<SIDE>(&mut pointer, index - 1);
            bits = self.word::<SIDE>(index);
        }
    }

    /// Passes whole words from this one down, by the largest groups possible, and returns the word
    /// where that ends.
    fn pass_groups_back<const SIDE: bool>(&self, pointer: &mut Pointer, mut index: usize) -> usize {
        let (mut height, top) = (0, self.rows.node_sums.len() - 1);
        loop {
            if index % 64 == 63 && height < top {
                (height, index) = (height + 1, index >> 6);
                continue;
            }
            loop {
                let group = self.group::<SIDE>(height, index);
                if pointer.must_pass_back(self.rows.level, group) {
                    pointer.pass_back(self.rows.level, group);
                    index -= 1;
                    break;
                }
                if height == 0 {
                    return index;
                }
                (height, index) = (height - 1, index << 6 | 63);
            }
        }
    }
}
