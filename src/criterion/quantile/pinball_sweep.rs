//! HOT: the gains of all cuts in pinball loss, without weights: one pass, both quantiles.
//!
//! At the level p/q, the loss of a set around `m` is `p · (y − m)` for each y above and `(q − p) ·
//! (m − y)` for each y below, in units of 1/q. With the number c and the sum S of all rows, and the
//! number h and the sum B of those below,
//!
//! ```text
//! q · loss = p·S − q·B + m·e,    e = q·h − p·c        least where e ≤ 0 ≤ e + q
//! ```
//!
//! so that each side keeps its pointer `m`, `e` (the excess) and B. A row that is added or removed
//! changes `e` by less than q, so the pointer moves at most to a neighbour. It may stay on a row
//! that has left its side, as long as the loss is least there. The sum p·S of both sides is that of
//! the node, so no gain needs it. All numbers are integers: the gain depends only on which rows are
//! on the left.
//!
//! Cost: as `median_sweep.rs`, with two products in 128 bits per row.

use std::hint::select_unpredictable;

use super::rank_bitmap::{Bitmap, LEFT, OneWord, RIGHT, Ranks};
use super::screened_order::CutRange;
use crate::median::Level;

/// Calls `visit(k, gain)` for k from 1 to `last`, below n: the gain with the first k rows on the
/// left, in units of [`unit`].
///
/// `sorted` and `rank` are as in [`median_sweep`](super::median_sweep::sweep); the sum of the
/// targets' absolute values stays below 2^62 as well.
#[inline(always)]
pub fn sweep(
    level: Level,
    sorted: &[i64],
    rank: impl Fn(usize) -> usize,
    last: usize,
    bitmap: &mut Bitmap,
    mut visit: impl FnMut(usize, i64),
) {
    let n = sorted.len();
    if n < 2 {
        return;
    }
    if n <= 64 {
        PinballSweep::new(OneWord::default(), level, sorted, rank(0)).run(rank, last, &mut visit);
    } else {
        PinballSweep::new(bitmap.reset(n), level, sorted, rank(0)).run(rank, last, &mut visit);
    }
}

/// Calls `visit(k, gain)` for each k of these ranges, which ascend from 1 to below n; gains are in
/// units of 2^`bits` / the level's denominator.
///
/// For cuts that are far apart: pointers settle at cuts only. Rows that were moved from below and
/// from above a pointer often balance each other, and the pointer stays where it is.
#[inline(always)]
pub fn sweep_ranges(
    level: Level,
    bits: u32,
    sorted: &[i64],
    rank: impl Fn(usize) -> usize,
    ranges: &[CutRange],
    bitmap: &mut Bitmap,
    mut visit: impl FnMut(usize, i64),
) {
    if sorted.len() < 2 {
        return;
    }
    let mut sweep = PinballSweep::new(bitmap.reset(sorted.len()), level, sorted, rank(0));
    let mut n_left = 0;
    for &CutRange { first, last, .. } in ranges {
        while n_left < last {
            // A branch: few rows are between the pointers.
            sweep.move_left(rank(n_left), |is_between, target| if is_between { target() } else { 0 });
            n_left += 1;
            if n_left >= first {
                while sweep.settle() {}
                visit(n_left, sweep.gain(bits));
            }
        }
    }
}

/// Unit of gains, in units of the targets' grid: from 1 to below 2, and exactly 1 for the median.
#[must_use]
pub fn unit(level: Level) -> f64 {
    (1u64 << level.denominator_bits()) as f64 / level.denominator() as f64
}

/// A rank at which the loss of a side is least, or a neighbour of it until it settles.
struct Pointer {
    rank: usize,
    target: i64,
    /// e of the module's formula.
    excess: i64,
}

impl Pointer {
    /// Adds (`sign` = 1) or removes (`sign` = −1) a row; returns whether it is below the pointer.
    #[inline(always)]
    fn change(&mut self, level: Level, rank: usize, sign: i64) -> bool {
        let is_below = rank < self.rank;
        self.excess += sign * (select_unpredictable(is_below, level.denominator(), 0) - level.numerator());
        is_below
    }

    /// Moves to the neighbour towards the least loss, if that is not here. `is_on_row` says whether
    /// the row under the pointer belongs to this side. Returns whether it does now, whether the
    /// pointer moved, and the increase of B.
    #[inline(always)]
    fn settle<const SIDE: bool>(
        &mut self,
        level: Level,
        is_on_row: bool,
        ranks: &impl Ranks,
        sorted: &[i64],
    ) -> (bool, bool, i64) {
        let (q, target) = select_unpredictable(is_on_row, (level.denominator(), self.target), (0, 0));
        let up = self.excess + q < 0;
        let down = self.excess > 0;
        self.rank = ranks.neighbour::<SIDE>(self.rank, up, down);
        let next = sorted[self.rank];
        // Upward it passes the row that it was on, downward the row that it moves to.
        let passed = (select_unpredictable(up, q, 0), select_unpredictable(up, target, 0));
        let passed = select_unpredictable(down, (-level.denominator(), -next), passed);
        self.excess += passed.0;
        self.target = next;
        (is_on_row || up || down, up || down, passed.1)
    }

    /// The term m·e of q · loss.
    #[inline(always)]
    fn pointer_term(&self) -> i128 {
        i128::from(self.target) * i128::from(self.excess)
    }
}

struct PinballSweep<'a, R> {
    ranks: R,
    level: Level,
    sorted: &'a [i64],
    left: Pointer,
    right: Pointer,
    /// B of both sides together: a row that is below both pointers, or below neither, does not
    /// change it.
    below: i64,
    /// Whether the row under the right pointer is still on the right. The row under the left
    /// pointer is always on the left.
    right_is_on_row: bool,
    /// q · loss of the node, without p·S.
    node: i128,
}

impl<'a, R: Ranks> PinballSweep<'a, R> {
    #[inline(always)]
    fn new(ranks: R, level: Level, sorted: &'a [i64], first: usize) -> Self {
        let (n, p, q) = (sorted.len() as i64, level.numerator(), level.denominator());
        let rank = p * n / q;
        let right = Pointer { rank: rank as usize, target: sorted[rank as usize], excess: q * rank - p * n };
        let sum_below = sorted[..rank as usize].iter().sum();
        Self {
            ranks,
            level,
            sorted,
            left: Pointer { rank: first, target: sorted[first], excess: 0 },
            right_is_on_row: true,
            node: right.pointer_term() - i128::from(q) * i128::from(sum_below),
            below: sum_below,
            right,
        }
    }

    #[inline(always)]
    fn run(mut self, rank: impl Fn(usize) -> usize, last: usize, visit: &mut impl FnMut(usize, i64)) {
        for place in 0..last.min(self.sorted.len() - 1) {
            visit(place + 1, self.gain_after(rank(place)));
        }
    }

    /// Moves a row to the left and returns the gain.
    #[inline(always)]
    fn gain_after(&mut self, rank: usize) -> i64 {
        self.move_left(rank, |is_between, target| select_unpredictable(is_between, target(), 0));
        self.settle();
        self.gain(self.level.denominator_bits())
    }

    /// Moves a row to the left; the pointers stay where they are. `if_between` returns the row's
    /// target if it is between them, otherwise zero.
    #[inline(always)]
    fn move_left(&mut self, rank: usize, if_between: impl Fn(bool, &dyn Fn() -> i64) -> i64) {
        self.ranks.move_left(rank);
        let to_left = self.left.change(self.level, rank, 1);
        let from_right = self.right.change(self.level, rank, -1);
        let target = if_between(to_left != from_right, &|| self.sorted[rank]);
        self.below += select_unpredictable(to_left, target, -target);
        self.right_is_on_row &= rank != self.right.rank;
    }

    /// Moves each pointer at most to a neighbour, towards the least loss; returns whether one
    /// moved.
    #[inline(always)]
    fn settle(&mut self) -> bool {
        let left = self.left.settle::<LEFT>(self.level, true, &self.ranks, self.sorted);
        let right = self.right.settle::<RIGHT>(self.level, self.right_is_on_row, &self.ranks, self.sorted);
        self.right_is_on_row = right.0;
        self.below += left.2 + right.2;
        left.1 || right.1
    }

    /// The gain, if both pointers are settled.
    #[inline(always)]
    fn gain(&self, bits: u32) -> i64 {
        let below = i128::from(self.level.denominator()) * i128::from(self.below);
        let gain = self.node + below - self.left.pointer_term() - self.right.pointer_term();
        (gain >> bits) as i64
    }
}
