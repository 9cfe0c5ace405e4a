//! HOT: the gains of all cuts in absolute error, without weights: one pass, both medians.
//!
//! ```text
//! rank      0 1 2 3 4 5 6 7 8        sorted[rank] is the target
//! side      r L r L L r r L r        one bit per rank
//!               ▲ r   ▲ l            each side's median is a rank
//! ```
//!
//! Moving a row with the target y from right to left changes the loss of each child by `|y − m|`,
//! where `m` is the child's median while it has an odd number of rows: before the move or after it.
//! So only medians of odd sets are needed. From one odd set to the next, two rows are added or
//! removed, and the median moves at most to a neighbour: up if both rows are above it, down if both
//! are below. The gain is the sum of these differences. They are integers, so it depends only on
//! which rows are on the left.
//!
//! Cost: a few bit operations and two look-ups of a median's target per row; about one bit of
//! memory per row. `tests.rs::gains_are_those_of_the_definition` compares the gains with the
//! definition.

use super::rank_bitmap::{Bitmap, LEFT, OneWord, RIGHT, Ranks};

/// Calls `visit(k, gain)` for k from 1 to `last`, and possibly for the next k, below n: the gain
/// with the first k rows on the left.
///
/// `sorted` are the node's n targets in ascending order, on an integer grid on which the sum of all
/// distances from any one of them stays below 2^62. `rank(place)` is the rank of the row at this
/// place of the feature's order: each of 0 to n − 1 once. The gain is the node's sum of absolute
/// deviations from its median minus those of its children.
#[inline(always)]
pub fn sweep(
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
        run(MedianSweep::new(OneWord::default(), sorted, rank), n, last, &mut visit);
    } else {
        run(MedianSweep::new(bitmap.reset(n), sorted, rank), n, last, &mut visit);
    }
}

/// The same for two orders of 2 to 64 rows together: the moves of one order depend on each other,
/// but not on those of the other, so the processor overlaps them.
#[inline(always)]
pub fn sweep_two(
    sorted: &[i64],
    ranks: [impl Fn(usize) -> usize; 2],
    last: usize,
    mut visit: impl FnMut(usize, [i64; 2]),
) {
    let [a, b] = ranks.map(|rank| MedianSweep::new(OneWord::default(), sorted, rank));
    run((a, b), sorted.len(), last, &mut |n_left, (a, b)| visit(n_left, [a, b]));
}

/// A sweep, or two of them together.
trait MovesRows {
    type Gain;

    /// Moves the row at this place to the left and returns the gain. A side whose number of rows
    /// becomes odd gets a new median.
    fn move_row<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> Self::Gain;
}

impl<A: MovesRows, B: MovesRows> MovesRows for (A, B) {
    type Gain = (A::Gain, B::Gain);

    #[inline(always)]
    fn move_row<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> Self::Gain {
        (self.0.move_row::<LEFT_IS_ODD, RIGHT_IS_ODD>(place), self.1.move_row::<LEFT_IS_ODD, RIGHT_IS_ODD>(place))
    }
}

#[inline(always)]
fn run<M: MovesRows>(mut moves: M, n: usize, last: usize, visit: &mut impl FnMut(usize, M::Gain)) {
    let last = last.min(n - 1);
    let mut place = 0;
    if n.is_multiple_of(2) {
        visit(1, moves.move_row::<true, true>(0));
        place = 1;
        while place < last {
            visit(place + 1, moves.move_row::<false, false>(place));
            visit(place + 2, moves.move_row::<true, true>(place + 1));
            place += 2;
        }
    } else {
        while place < last {
            visit(place + 1, moves.move_row::<true, false>(place));
            visit(place + 2, moves.move_row::<false, true>(place + 1));
            place += 2;
        }
    }
}

/// The median of a set with an odd number of rows.
struct Median {
    rank: usize,
    target: i64,
    /// Rank of the first row of the pair that is being added or removed; −1 for an imaginary row
    /// below all others.
    first_of_pair: isize,
}

impl Median {
    /// Adds or removes the second row of the pair: the median of the next odd set.
    #[inline(always)]
    fn update<const SIDE: bool>(&mut self, ranks: &impl Ranks, sorted: &[i64], second: usize) {
        let (here, second) = (self.rank as isize, second as isize);
        let (lower, upper) = (self.first_of_pair.min(second), self.first_of_pair.max(second));
        // Rows are added on the left. They are removed on the right, where one of them can be the
        // median itself.
        let (up, down) = if SIDE == RIGHT { (upper <= here, lower >= here) } else { (lower > here, upper < here) };
        self.rank = ranks.neighbour::<SIDE>(self.rank, up, down);
        self.target = sorted[self.rank];
    }
}

struct MedianSweep<'a, R, F> {
    ranks: R,
    sorted: &'a [i64],
    rank: F,
    left: Median,
    right: Median,
    /// Of the rows that were moved so far.
    gain: i64,
}

impl<'a, R: Ranks, F: Fn(usize) -> usize> MedianSweep<'a, R, F> {
    /// No row is on the left yet.
    #[inline(always)]
    fn new(ranks: R, sorted: &'a [i64], rank: F) -> Self {
        // For an even number of rows, the lower median is the median of the rows and an imaginary
        // one below them, which is removed first.
        let (first, middle) = (rank(0), (sorted.len() - 1) / 2);
        Self {
            ranks,
            sorted,
            rank,
            // The first row moved is its own median. It is the second row of a pair whose first is
            // imaginary.
            left: Median { rank: first, target: sorted[first], first_of_pair: -1 },
            right: Median { rank: middle, target: sorted[middle], first_of_pair: -1 },
            gain: 0,
        }
    }
}

impl<R: Ranks, F: Fn(usize) -> usize> MovesRows for MedianSweep<'_, R, F> {
    type Gain = i64;

    #[inline(always)]
    fn move_row<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> i64 {
        let rank = (self.rank)(place);
        let target = self.sorted[rank];
        self.ranks.move_left(rank);
        if LEFT_IS_ODD {
            self.left.update::<LEFT>(&self.ranks, self.sorted, rank);
        } else {
            self.left.first_of_pair = rank as isize;
        }
        if RIGHT_IS_ODD {
            self.right.update::<RIGHT>(&self.ranks, self.sorted, rank);
        } else {
            self.right.first_of_pair = rank as isize;
        }
        self.gain += (target - self.right.target).abs() - (target - self.left.target).abs();
        self.gain
    }
}
