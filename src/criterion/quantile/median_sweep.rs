//! HOT: what every cut gains in absolute error, without weights: one pass, both medians.
//!
//! ```text
//! rank      0 1 2 3 4 5 6 7 8        sorted[rank] is the target
//! side      r L r L L r r L r        one bit each
//!               ▲ r   ▲ l            the two medians stand on ranks
//! ```
//!
//! Moving a row of target y from right to left changes the loss of either child by `|y − m|`, where `m` is the child's median
//! while it has an odd number of rows: before the move or after it. So only medians of odd sets are needed. From one odd
//! set to the next, two rows came or went, and the median moves to a neighbour at most: up if both are above it, down if
//! both are below. The gain is the sum of these differences: integers on the node's grid, so it depends on nothing but
//! which rows are left, and an offset of the targets is nowhere.
//!
//! Cost: a few bit operations a row and two look-ups of a median's target; two words of memory for 64 rows.

use super::rank_bitmap::{Bitmap, LEFT, OneWord, RIGHT, Ranks};

/// Calls `visit(k, gain)` for k from 1 to `last`, or one more, below n: what is gained if the first k rows go left.
///
/// `sorted` are the node's n targets in ascending order, on an integer grid on which sums of all their distances from any of them
/// stay below 2^62. `rank(place)` is where the row at this place of the feature's order stands in `sorted`: each of 0 to n − 1 once.
/// The gain is the node's sum of absolute deviations from its median minus those of its children.
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
        run(Walk::new(OneWord::default(), sorted, rank), n, last, &mut visit);
    } else {
        run(Walk::new(bitmap.reset(n), sorted, rank), n, last, &mut visit);
    }
}

/// The same for two orders of 2 to 64 rows, side by side: a step waits for the one before it, but not for the other order's.
#[inline(always)]
pub fn sweep_two(
    sorted: &[i64],
    ranks: [impl Fn(usize) -> usize; 2],
    last: usize,
    mut visit: impl FnMut(usize, [i64; 2]),
) {
    let [a, b] = ranks.map(|rank| Walk::new(OneWord::default(), sorted, rank));
    run((a, b), sorted.len(), last, &mut |n_left, (a, b)| visit(n_left, [a, b]));
}

/// Rows move to the left one by one.
trait Moves {
    type Gain;

    /// Moves the row at this place. A side that becomes odd by it has a new median.
    fn step<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> Self::Gain;
}

impl<A: Moves, B: Moves> Moves for (A, B) {
    type Gain = (A::Gain, B::Gain);

    #[inline(always)]
    fn step<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> Self::Gain {
        (self.0.step::<LEFT_IS_ODD, RIGHT_IS_ODD>(place), self.1.step::<LEFT_IS_ODD, RIGHT_IS_ODD>(place))
    }
}

#[inline(always)]
fn run<M: Moves>(mut moves: M, n: usize, last: usize, visit: &mut impl FnMut(usize, M::Gain)) {
    let last = last.min(n - 1);
    let mut place = 0;
    if n.is_multiple_of(2) {
        visit(1, moves.step::<true, true>(0));
        place = 1;
        while place < last {
            visit(place + 1, moves.step::<false, false>(place));
            visit(place + 2, moves.step::<true, true>(place + 1));
            place += 2;
        }
    } else {
        while place < last {
            visit(place + 1, moves.step::<true, false>(place));
            visit(place + 2, moves.step::<false, true>(place + 1));
            place += 2;
        }
    }
}

/// The median of a set with an odd number of rows.
struct Median {
    rank: usize,
    target: i64,
    /// Rank of the first row of the pair that comes or goes next; −1 for one below all others.
    first: isize,
}

impl Median {
    /// The second row of the pair is here: from one odd set to the next.
    #[inline(always)]
    fn follow<const SIDE: bool>(&mut self, ranks: &impl Ranks, sorted: &[i64], second: usize) {
        let (here, second) = (self.rank as isize, second as isize);
        let (lower, upper) = (self.first.min(second), self.first.max(second));
        // Rows come on the left, and go on the right, where one of them can be the median itself.
        let (up, down) = if SIDE == RIGHT { (upper <= here, lower >= here) } else { (lower > here, upper < here) };
        self.rank = ranks.neighbour::<SIDE>(self.rank, up, down);
        self.target = sorted[self.rank];
    }
}

struct Walk<'a, R, F> {
    ranks: R,
    sorted: &'a [i64],
    rank: F,
    left: Median,
    right: Median,
    gain: i64,
}

impl<'a, R: Ranks, F: Fn(usize) -> usize> Walk<'a, R, F> {
    /// Nobody is left yet.
    #[inline(always)]
    fn new(ranks: R, sorted: &'a [i64], rank: F) -> Self {
        // For an even number of rows, the lower median is that of the rows and one more below them all, which goes first.
        let (first, middle) = (rank(0), (sorted.len() - 1) / 2);
        Self {
            ranks,
            sorted,
            rank,
            // The median of the first row and of a pair, one below it and one above, of which that below has come.
            left: Median { rank: first, target: sorted[first], first: -1 },
            right: Median { rank: middle, target: sorted[middle], first: -1 },
            gain: 0,
        }
    }
}

impl<R: Ranks, F: Fn(usize) -> usize> Moves for Walk<'_, R, F> {
    type Gain = i64;

    #[inline(always)]
    fn step<const LEFT_IS_ODD: bool, const RIGHT_IS_ODD: bool>(&mut self, place: usize) -> i64 {
        let rank = (self.rank)(place);
        let target = self.sorted[rank];
        self.ranks.move_left(rank);
        if LEFT_IS_ODD {
            self.left.follow::<LEFT>(&self.ranks, self.sorted, rank);
        } else {
            self.left.first = rank as isize;
        }
        if RIGHT_IS_ODD {
            self.right.follow::<RIGHT>(&self.ranks, self.sorted, rank);
        } else {
            self.right.first = rank as isize;
        }
        self.gain += (target - self.right.target).abs() - (target - self.left.target).abs();
        self.gain
    }
}
