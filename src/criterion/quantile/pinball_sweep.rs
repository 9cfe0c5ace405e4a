//! HOT: what every cut gains in pinball loss, without weights: one pass, both quantiles.
//!
//! The loss of a set around `m`, at the level p/q, is `p · (y − m)` for each y above and `(q − p) · (m − y)` for each below, in units of
//! 1/q. With the number c and the sum S of all, and the number h and the sum B of those below,
//!
//! ```text
//! q · loss = p·S − q·B + m·e,    e = q·h − p·c        least where e ≤ 0 ≤ e + q
//! ```
//!
//! so that each side needs its pointer `m`, `e` and `B`: a row that comes or goes changes `e` by less than q, and the pointer moves to
//! a neighbour at most. It may stay on a row that has gone as long as that is a place of least loss. All of it in integers:
//! the gain depends on nothing but which rows are left.

use std::hint::select_unpredictable;

use super::rank_bitmap::{Bitmap, LEFT, OneWord, RIGHT, Ranks};
use super::screened_order::CutRange;
use crate::median::Level;

/// Calls `visit(k, gain)` for k from 1 to `last`, below n: what is gained if the first k rows go left, in units of [`unit`].
///
/// `sorted` and `rank` are as in [`sweep`](super::sweep::sweep); sums of all targets' sizes stay below 2^62 as well.
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
        Walk::new(OneWord::default(), level, sorted, rank(0)).run(rank, last, &mut visit);
    } else {
        Walk::new(bitmap.reset(n), level, sorted, rank(0)).run(rank, last, &mut visit);
    }
}

/// Calls `visit(k, gain)` for each k of these ranges, which ascend from 1 to below n; gains are in units of 2^`bits` / the level's
/// denominator. For cuts that are far apart: the pointers wait while rows in between are moved.
///
/// Rows on either side of a pointer often balance each other, and then it need not move at all.
#[inline(always)]
pub fn sweep_some(
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
    let mut walk = Walk::new(bitmap.reset(sorted.len()), level, sorted, rank(0));
    let mut n_left = 0;
    for &CutRange { first, last, .. } in ranges {
        while n_left < last {
            // Rarely between the pointers.
            walk.pass(rank(n_left), |is_between, target| if is_between { target() } else { 0 });
            n_left += 1;
            if n_left >= first {
                while walk.settle() {}
                visit(n_left, walk.gain(bits));
            }
        }
    }
}

/// Size of a gain's unit, in units of the targets' grid: from 1 to below 2, and exactly 1 for the median.
#[must_use]
pub fn unit(level: Level) -> f64 {
    (1u64 << level.denominator_bits()) as f64 / level.denominator() as f64
}

struct Pointer {
    rank: usize,
    target: i64,
    /// e above.
    excess: i64,
}

impl Pointer {
    /// Takes a row in (`sign` = 1) or out (`sign` = −1); returns whether it is below.
    #[inline(always)]
    fn change(&mut self, level: Level, rank: usize, sign: i64) -> bool {
        let is_below = rank < self.rank;
        self.excess += sign * (select_unpredictable(is_below, level.denominator(), 0) - level.numerator());
        is_below
    }

    /// Goes one step towards where the loss is least. `here`: the row that it stands on is of this side. Returns whether that is so now,
    /// whether it moved, and by how much B grew.
    #[inline(always)]
    fn settle<const SIDE: bool>(
        &mut self,
        level: Level,
        here: bool,
        ranks: &impl Ranks,
        sorted: &[i64],
    ) -> (bool, bool, i64) {
        let (whole, target) = select_unpredictable(here, (level.denominator(), self.target), (0, 0));
        let up = self.excess + whole < 0;
        let down = self.excess > 0;
        self.rank = ranks.neighbour::<SIDE>(self.rank, up, down);
        let next = sorted[self.rank];
        // Going up, it passes the row that it stood on; going down, the one that it comes to.
        let passed = (select_unpredictable(up, whole, 0), select_unpredictable(up, target, 0));
        let passed = select_unpredictable(down, (-level.denominator(), -next), passed);
        self.excess += passed.0;
        self.target = next;
        (here || up || down, up || down, passed.1)
    }

    /// The part of q · loss that is this side's own.
    #[inline(always)]
    fn own(&self) -> i128 {
        i128::from(self.target) * i128::from(self.excess)
    }
}

struct Walk<'a, R> {
    ranks: R,
    level: Level,
    sorted: &'a [i64],
    left: Pointer,
    right: Pointer,
    /// B above, of both sides together: a row that is below both pointers, or neither, does not change it.
    below: i64,
    /// The row under the right pointer is still there; that of the left one always is.
    right_stands: bool,
    /// q · loss of the node, without p·S.
    node: i128,
}

impl<'a, R: Ranks> Walk<'a, R> {
    #[inline(always)]
    fn new(ranks: R, level: Level, sorted: &'a [i64], first: usize) -> Self {
        let (n, below, whole) = (sorted.len() as i64, level.numerator(), level.denominator());
        let rank = below * n / whole;
        let right = Pointer { rank: rank as usize, target: sorted[rank as usize], excess: whole * rank - below * n };
        let sum_below = sorted[..rank as usize].iter().sum();
        Self {
            ranks,
            level,
            sorted,
            left: Pointer { rank: first, target: sorted[first], excess: 0 },
            right_stands: true,
            node: right.own() - i128::from(whole) * i128::from(sum_below),
            below: sum_below,
            right,
        }
    }

    #[inline(always)]
    fn run(mut self, rank: impl Fn(usize) -> usize, last: usize, visit: &mut impl FnMut(usize, i64)) {
        for place in 0..last.min(self.sorted.len() - 1) {
            visit(place + 1, self.step(rank(place)));
        }
    }

    #[inline(always)]
    fn step(&mut self, rank: usize) -> i64 {
        self.pass(rank, |is_between, target| select_unpredictable(is_between, target(), 0));
        self.settle();
        self.gain(self.level.denominator_bits())
    }

    /// Moves a row to the left; the pointers stay where they are. `if_between` gives its target if it is between them, or zero.
    #[inline(always)]
    fn pass(&mut self, rank: usize, if_between: impl Fn(bool, &dyn Fn() -> i64) -> i64) {
        self.ranks.move_left(rank);
        let to_left = self.left.change(self.level, rank, 1);
        let from_right = self.right.change(self.level, rank, -1);
        let target = if_between(to_left != from_right, &|| self.sorted[rank]);
        self.below += select_unpredictable(to_left, target, -target);
        self.right_stands &= rank != self.right.rank;
    }

    /// Takes the pointers one step towards where they belong; whether there was one to go.
    #[inline(always)]
    fn settle(&mut self) -> bool {
        let left = self.left.settle::<LEFT>(self.level, true, &self.ranks, self.sorted);
        let right = self.right.settle::<RIGHT>(self.level, self.right_stands, &self.ranks, self.sorted);
        self.right_stands = right.0;
        self.below += left.2 + right.2;
        left.1 || right.1
    }

    #[inline(always)]
    fn gain(&self, bits: u32) -> i64 {
        let below = i128::from(self.level.denominator()) * i128::from(self.below);
        let gain = self.node + below - self.left.own() - self.right.own();
        (gain >> bits) as i64
    }
}
