//! HOT: the gains of cuts in weighted absolute error or pinball loss: one pass, both quantiles.
//!
//! The formula is that of `pinball_sweep.rs` with weights: at the level p/q, with W and S the sums
//! of w and w·y over a side, H and B those over its rows below the pointer `m`,
//!
//! ```text
//! q · loss = p·S − q·B + m·e,    e = q·H − p·W        least where e ≤ 0 ≤ e + q·w(m)
//!
//! sweep(order, ranges):
//!     left ← no rows, right ← all rows; both pointers ← the node's quantile
//!     for each row, up to the last cut of the last range:
//!         set its bit; add (w, w·y) to the left side's groups; update e and B of both pointers
//!         if the cut behind it is in a range:
//!             settle both pointers
//!             visit(n_left, (node − left − right) >> shift)          each without its p·S
//! settle(pointer):
//!     if e > 0:           go down until e ≤ 0            row by row to the end of the word,
//!     if e + q·w(m) < 0:  go up until e + q·w(m) ≥ 0     then by the largest groups
//! ```
//!
//! One heavy row can move the pointer across any number of others, again and again. Groups bound
//! the cost: (Σw, Σw·y) is kept for every 64 ranks, for every 64 of those, and so on, so a pointer
//! takes at most 64 steps per level on its way up and as many on its way down the levels, whatever
//! the weights and the order. Memory: 32 bytes per 64 ranks and side.
//!
//! Weights and targets are integers on grids, and their products are exact in 128 bits, or in 256
//! bits of nodes that need finer grids (`int256.rs`). So the gain depends only on which rows are on
//! the left. `tests.rs::gains_are_those_of_the_definition`
//! compares the gains with the definition, `tests.rs::pointers_pass_three_levels_of_groups` in a
//! node with three levels. `README.md` has the rest.

use super::int256::Moment;
use super::rank_bitmap::{LEFT, RIGHT, bits_above, bits_below, highest, lowest, of_side};
use super::screened_order::CutRange;
use crate::median::Level;

/// Σw and Σw·y over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums<M: Moment> {
    weight: M::Part,
    moment: M,
}

impl<M: Moment> Sums<M> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { weight: self.weight + other.weight, moment: self.moment + other.moment }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { weight: self.weight - other.weight, moment: self.moment - other.moment }
    }
}

/// Sums over every 64 ranks, every 64 of those, and so on, up to a level of at most 64 sums. No
/// level for up to 64 ranks.
///
/// ```text
/// height 1   [ ranks 0 to 4095                    ][ ranks 4096 to …
/// height 0   [ ranks 0 to 63 ][ ranks 64 to 127 ] …
/// ```
type Pyramid<M> = Vec<Vec<Sums<M>>>;

/// Buffers of a sweep, reused from one to the next.
#[derive(Debug, Default)]
pub struct BitmapWithSums<M: Moment> {
    /// One bit per rank: 1 is left.
    words: Vec<u64>,
    /// Sums over the rows on the left.
    left: Pyramid<M>,
}

/// The buffers of [`WeightedTargets`].
pub type WeightedBitmap = BitmapWithSums<i128>;

impl<M: Moment> BitmapWithSums<M> {
    fn reset(&mut self, all: &Pyramid<M>, n: usize) {
        self.words.clear();
        self.words.resize(n.div_ceil(64), 0);
        self.left.resize_with(all.len(), Vec::new);
        for (left, all) in self.left.iter_mut().zip(all) {
            left.clear();
            left.resize(all.len(), Sums::default());
        }
    }

    #[inline(always)]
    fn move_left(&mut self, rank: usize, row: Sums<M>) {
        self.words[rank >> 6] |= 1 << (rank & 63);
        let mut index = rank;
        for level in &mut self.left {
            index >>= 6;
            level[index] = level[index].plus(row);
        }
    }
}

/// A node's rows in the order of their targets, and what all its sweeps share. Its memory is reused
/// from node to node.
#[derive(Clone, Debug)]
pub struct TargetsWithSums<M: Moment> {
    level: Level,
    /// In ascending order of their targets.
    ranked: Vec<WeightedRow<M>>,
    /// Sums over all rows. Those of the right side are these minus the left side's.
    node_sums: Pyramid<M>,
    /// The pointer of all rows, at the node's quantile.
    start: Pointer<M>,
    /// q · loss of the node, without p·S.
    node_loss: M,
    /// Number of low bits of q · gain that are dropped so that it fits in 62.
    shift: u32,
}

/// Targets and weights on grids of up to 51 bits.
pub type WeightedTargets = TargetsWithSums<i128>;

/// A row's target and weight. They are stored together: a sweep reads rows at random, and waits for
/// one cache line only.
#[derive(Clone, Copy, Debug)]
struct WeightedRow<M: Moment> {
    target: M::Part,
    weight: M::Part,
}

impl<M: Moment> WeightedRow<M> {
    #[inline(always)]
    fn sums(self) -> Sums<M> {
        Sums { weight: self.weight, moment: M::product(self.weight.into(), self.target) }
    }
}

impl<M: Moment> Default for TargetsWithSums<M> {
    fn default() -> Self {
        let (start, node_loss) = (Pointer { rank: 0, excess: 0, below: M::default() }, M::default());
        Self { level: Level::HALF, ranked: Vec::new(), node_sums: Vec::new(), start, node_loss, shift: 0 }
    }
}

impl<M: Moment> TargetsWithSums<M> {
    /// Describes a node with these targets, in ascending order, and their weights.
    ///
    /// Weights are not negative. On their grids, the sum of weights times the largest target times
    /// the level's denominator stays below 2^125 ([`weight_bits`]).
    pub fn describe(&mut self, level: Level, sorted: &[M::Part], weights: &[M::Part]) {
        self.describe_rows(level, sorted.iter().copied().zip(weights.iter().copied()));
    }

    /// The same, from pairs of a target and its weight.
    pub(super) fn describe_rows(&mut self, level: Level, rows: impl Iterator<Item = (M::Part, M::Part)>) {
        self.level = level;
        self.ranked.clear();
        self.ranked.extend(rows.map(|(target, weight)| WeightedRow { target, weight }));
        let total = self.ranked.iter().fold(Sums::default(), |sums, row| sums.plus(row.sums()));
        self.start =
            Pointer { rank: 0, excess: -level_share(level.numerator(), total.weight.into()), below: M::default() };
        while self.start.must_pass(level, self.ranked[self.start.rank].sums()) {
            self.start.pass(level, self.ranked[self.start.rank].sums());
            self.start.rank += 1;
        }
        self.node_loss = self.start.pointer_term(&self.ranked) - self.start.below.times(level.denominator());
        let loss = total.moment.times(level.numerator()) + self.node_loss;
        self.shift = loss.bits().saturating_sub(62);
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
                let sum = |groups: &[Sums<M>]| groups.iter().copied().fold(Sums::default(), Sums::plus);
                above[0].extend(groups.chunks(64).map(sum));
            } else {
                let sum = |rows: &[WeightedRow<M>]| rows.iter().map(|row| row.sums()).fold(Sums::default(), Sums::plus);
                above[0].extend(ranked.chunks(64).map(sum));
            }
            (height, len) = (height + 1, above[0].len());
        }
        all.truncate(height);
    }

    /// Unit of gains, in units of the weights' grid times the targets' grid.
    #[must_use]
    pub fn unit(&self) -> f64 {
        2f64.powi(self.shift as i32) / self.level.denominator() as f64
    }

    /// Calls `visit(k, gain)` for each k of these ranges, which ascend from 1 to below n: the gain
    /// with the first k rows on the left, in units of [`TargetsWithSums::unit`]. Rows between
    /// ranges cost little.
    ///
    /// `rank(place)` is the rank of the row at this place of the feature's order: each of 0 to n −
    /// 1 once.
    #[inline(always)]
    pub fn sweep(
        &self,
        rank: impl Fn(usize) -> usize,
        ranges: &[CutRange],
        bitmap: &mut BitmapWithSums<M>,
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

/// A rank at which the loss of a side is least, once it is settled. The row of that rank may be on
/// the other side.
#[derive(Clone, Copy, Debug)]
struct Pointer<M> {
    rank: usize,
    /// e of the module's formula.
    excess: i128,
    /// B of the module's formula.
    below: M,
}

/// The product of a sum of weights with the level's numerator or denominator.
#[inline(always)]
fn level_share(factor: i64, weight: i128) -> i128 {
    i128::from(factor) * weight
}

impl<M: Moment> Pointer<M> {
    /// The pointer of an empty side, at the same rank.
    fn of_no_rows(self) -> Self {
        Self { rank: self.rank, excess: 0, below: M::default() }
    }

    /// Moves up past these rows, or adds them below.
    #[inline(always)]
    fn pass(&mut self, level: Level, rows: Sums<M>) {
        self.excess += level_share(level.denominator(), rows.weight.into());
        self.below = self.below + rows.moment;
    }

    /// Moves down past these rows, or removes them from below.
    #[inline(always)]
    fn pass_back(&mut self, level: Level, rows: Sums<M>) {
        self.excess -= level_share(level.denominator(), rows.weight.into());
        self.below = self.below - rows.moment;
    }

    /// True if the loss is least above these rows, which are the next ones from the pointer on.
    #[inline(always)]
    fn must_pass(&self, level: Level, rows: Sums<M>) -> bool {
        self.excess + level_share(level.denominator(), rows.weight.into()) < 0
    }

    /// True if the loss is least below these rows, which are the next ones below the pointer.
    #[inline(always)]
    fn must_pass_back(&self, level: Level, rows: Sums<M>) -> bool {
        self.excess > level_share(level.denominator(), rows.weight.into())
    }

    /// The term m·e of q · loss.
    #[inline(always)]
    fn pointer_term(&self, rows: &[WeightedRow<M>]) -> M {
        M::product(self.excess, rows[self.rank].target)
    }
}

struct WeightedSweep<'a, M: Moment> {
    rows: &'a TargetsWithSums<M>,
    bitmap: &'a mut BitmapWithSums<M>,
    left: Pointer<M>,
    right: Pointer<M>,
}

impl<M: Moment> WeightedSweep<'_, M> {
    /// Moves a row to the left; the pointers stay where they are.
    #[inline(always)]
    fn move_left(&mut self, rank: usize) {
        let level = self.rows.level;
        let row = self.rows.ranked[rank].sums();
        self.bitmap.move_left(rank, row);
        let share = level_share(level.numerator(), row.weight.into());
        let added = |pointer: &Pointer<M>| if rank < pointer.rank { row } else { Sums::default() };
        let (to_left, from_right) = (added(&self.left), added(&self.right));
        self.left.pass(level, to_left);
        self.left.excess -= share;
        self.right.pass_back(level, from_right);
        self.right.excess += share;
    }

    /// Settles both pointers and returns the gain.
    #[inline(always)]
    fn gain(&mut self) -> i64 {
        self.left = self.settled::<LEFT>(self.left);
        self.right = self.settled::<RIGHT>(self.right);
        let below = (self.left.below + self.right.below).times(self.rows.level.denominator());
        let gain = self.rows.node_loss + below
            - self.left.pointer_term(&self.rows.ranked)
            - self.right.pointer_term(&self.rows.ranked);
        gain.shifted(self.rows.shift)
    }

    /// The pointer at the rank where the loss is least.
    #[inline(always)]
    fn settled<const SIDE: bool>(&self, pointer: Pointer<M>) -> Pointer<M> {
        let here = self.row_at::<SIDE>(pointer.rank);
        if pointer.excess > 0 {
            self.settle_down::<SIDE>(pointer)
        } else if pointer.must_pass(self.rows.level, here) {
            self.settle_up::<SIDE>(pointer, here)
        } else {
            pointer
        }
    }

    /// The sums of the row at this rank, or zero if it is on the other side.
    #[inline(always)]
    fn row_at<const SIDE: bool>(&self, rank: usize) -> Sums<M> {
        let is_here = self.word::<SIDE>(rank >> 6) >> (rank & 63) & 1 == 1;
        if is_here { self.rows.ranked[rank].sums() } else { Sums::default() }
    }

    #[inline(always)]
    fn word<const SIDE: bool>(&self, index: usize) -> u64 {
        of_side::<SIDE>(self.bitmap.words[index])
    }

    /// This side's sums over a group of ranks.
    #[inline(always)]
    fn group<const SIDE: bool>(&self, height: usize, index: usize) -> Sums<M> {
        let left = self.bitmap.left[height][index];
        if SIDE == RIGHT { self.rows.node_sums[height][index].minus(left) } else { left }
    }

    /// Moves up to the row where the loss is least: row by row to the end of the word, then by
    /// groups. There is one, because above the last row the excess would be (q − p) · W ≥ 0.
    fn settle_up<const SIDE: bool>(&self, mut pointer: Pointer<M>, here: Sums<M>) -> Pointer<M> {
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

    /// Passes whole words from this one on, by the largest groups that end before the least loss,
    /// and returns the word that has it.
    fn pass_groups<const SIDE: bool>(&self, pointer: &mut Pointer<M>, mut index: usize) -> usize {
        let (mut height, top) = (0, self.rows.node_sums.len() - 1);
        loop {
            if index.is_multiple_of(64) && height < top && index >> 6 < self.rows.node_sums[height + 1].len() {
                (height, index) = (height + 1, index >> 6);
                continue;
            }
            // To smaller groups, until one is passed or the word is found.
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

    /// Moves down to the row where the loss is least. There is one, because below the first row the
    /// excess would be −p · W ≤ 0.
    fn settle_down<const SIDE: bool>(&self, mut pointer: Pointer<M>) -> Pointer<M> {
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

    /// Passes whole words from this one down, by the largest groups that end before the least loss,
    /// and returns the word that has it.
    fn pass_groups_back<const SIDE: bool>(&self, pointer: &mut Pointer<M>, mut index: usize) -> usize {
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
