//! HOT: the losses of all cuts of up to 16 unweighted rows, rounded: enough to tell which one is
//! the least.
//!
//! The gaps between neighbouring targets make up the absolute error of a set around its median:
//! each gap counts as often as the smaller of two numbers, the set's rows below it and the set's
//! rows above it.
//!
//! ```text
//! targets   a    b         c  d
//! below       1       2      3
//! above       3       2      1
//! error       1·ab + 2·bc + 1·cd
//! ```
//!
//! A byte per gap counts the rows, so moving a row to the left is one vector addition; widths are
//! 16-bit integers. The gaps are those of the tiny root's targets, so they serve every node below
//! it: a gap without rows of the node on one of its sides counts 0 times.
//!
//! Cost: about twenty instructions per cut, and no branches.

use crate::simd::{CountVector, I16x16, LANES, U8x16};

/// Most rows of a set. There is one gap less.
pub const MAX_ROWS: usize = LANES;

/// The range of a node's targets, in units of the gaps' widths.
const RANGE: f64 = 32_000.0;

/// 1.5 · 2^52: the low bits of its sum with a small float are the nearest integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// By rank, for each gap: 1 if the row is below it; 1 if the row is above it.
static SIDES: [[[u8; LANES]; 2]; MAX_ROWS] = {
    let mut sides = [[[0; LANES]; 2]; MAX_ROWS];
    let mut rank = 0;
    while rank < MAX_ROWS {
        let mut gap = 0;
        while gap < LANES {
            sides[rank][(gap < rank) as usize][gap] = 1;
            gap += 1;
        }
        rank += 1;
    }
    sides
};

/// By gap: the number of a set's rows below it, and above it.
#[derive(Clone, Copy)]
struct GapCounts {
    below: U8x16,
    above: U8x16,
}

impl GapCounts {
    fn empty() -> Self {
        let none = U8x16::new(&[0; LANES]);
        Self { below: none, above: none }
    }

    #[inline(always)]
    fn of_row(rank: u8) -> Self {
        let [below, above] = &SIDES[rank as usize % MAX_ROWS];
        Self { below: U8x16::new(below), above: U8x16::new(above) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { below: self.below.plus(other.below), above: self.above.plus(other.above) }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { below: self.below.minus(other.below), above: self.above.minus(other.above) }
    }
}

/// The widths of the gaps of a set; 0 for lanes without a gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps([f64; LANES]);

impl Gaps {
    /// From up to 16 targets in ascending order.
    #[must_use]
    pub fn new(sorted: &[f64]) -> Self {
        let mut widths = [0.0; LANES];
        widths.iter_mut().zip(sorted.windows(2)).for_each(|(width, pair)| *width = pair[1] - pair[0]);
        Self(widths)
    }

    /// A node with some of the set's rows, given by their ranks in the set in ascending order, and
    /// the range of their targets; `None` if its reciprocal overflows.
    #[must_use]
    pub fn node(&self, ranks: &[u8], range: f64) -> Option<GapNode> {
        let per_unit = RANGE / range;
        // The widths of gaps outside the node's range may overflow: they are multiplied by 0,
        // because one of their sides has no rows of the node.
        let width = |width: f64| (width * per_unit + ROUNDER).to_bits() as i16;
        per_unit.is_finite().then(|| GapNode {
            rows: ranks.iter().fold(GapCounts::empty(), |counts, &rank| counts.plus(GapCounts::of_row(rank))),
            widths: U8x16::factors(&self.0.map(width)),
            slack: (LANES / 2 * ranks.len()) as i32,
        })
    }
}

/// A node with some rows of a set.
#[derive(Clone, Copy)]
pub struct GapNode {
    rows: GapCounts,
    widths: I16x16,
    slack: i32,
}

impl GapNode {
    /// The children's absolute errors with 1, 2, … up to N rows of this order on the left. Only
    /// entries below the node's number of rows have a meaning.
    #[inline(always)]
    #[must_use]
    pub fn losses<const N: usize>(&self, order: &[u8; MAX_ROWS]) -> [i32; N] {
        let (mut left, mut right) = (GapCounts::empty(), self.rows);
        let mut losses = [0; N];
        for (losses, ranks) in losses.as_chunks_mut::<4>().0.iter_mut().zip(order.as_chunks::<4>().0) {
            let counts = ranks.map(|rank| {
                let row = GapCounts::of_row(rank);
                (left, right) = (left.plus(row), right.minus(row));
                left.below.lane_min(left.above).plus(right.below.lane_min(right.above))
            });
            *losses = U8x16::dots(counts, self.widths);
        }
        losses
    }

    /// Two exact losses are ordered as the rounded ones if these differ by more than this: each of
    /// 15 widths is rounded by at most half a unit and counts at most n / 2 times, in either loss.
    #[must_use]
    pub fn slack(&self) -> i32 {
        self.slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::{Center, Level};
    use crate::naive::draw::Dice;
    use proptest::prelude::*;

    /// The absolute error of the targets with these ranks.
    fn absolute_error(sorted: &[f64], ranks: impl Iterator<Item = u8>) -> f64 {
        let mut targets: Vec<f64> = ranks.map(|rank| sorted[rank as usize]).collect();
        targets.sort_by(f64::total_cmp);
        if targets.is_empty() { 0.0 } else { Center::of_values(Level::HALF, &targets).absolute_error() }
    }

    fn check<const N: usize>(sorted: &[f64], ranks: &[u8], dice: &mut Dice) -> Result<(), TestCaseError> {
        let range = sorted[ranks[ranks.len() - 1] as usize] - sorted[ranks[0] as usize];
        let Some(node) = Gaps::new(sorted).node(ranks, range) else {
            prop_assert!(range < 1e-300, "{range}");
            return Ok(());
        };
        // Arbitrary rows behind the node's own.
        let mut order = [0; MAX_ROWS].map(|_: u8| dice.below(MAX_ROWS) as u8);
        dice.shuffle(ranks.len()).into_iter().zip(&mut order).for_each(|(place, row)| *row = ranks[place]);
        let losses = node.losses::<N>(&order);
        for n_left in 1..ranks.len() {
            let (left, right) = order[..ranks.len()].split_at(n_left);
            let expected = absolute_error(sorted, left.iter().copied()) + absolute_error(sorted, right.iter().copied());
            let error = (f64::from(losses[n_left - 1]) - expected * (RANGE / range)).abs();
            prop_assert!(2.0 * error <= f64::from(node.slack()), "{n_left} of {ranks:?}: off by {error}");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn losses_are_off_by_less_than_the_slack(
            mut targets in prop::collection::vec(
                prop_oneof![-1e3..1e3, (-3..3i32).prop_map(f64::from), (0..9i32).prop_map(|k| 1e9 + f64::from(k)), Just(5e-324)],
                MAX_ROWS
            ),
            is_in in any::<u16>(),
            seed in any::<u64>(),
        ) {
            targets.sort_by(f64::total_cmp);
            let ranks: Vec<u8> = (0..MAX_ROWS as u8).filter(|rank| is_in >> rank & 1 == 1).collect();
            let mut dice = Dice::new(seed);
            for len in 2..=ranks.len() {
                let ranks = &ranks[..len];
                if len <= 4 {
                    check::<4>(&targets, ranks, &mut dice)?;
                }
                if len <= 8 {
                    check::<8>(&targets, ranks, &mut dice)?;
                }
                check::<MAX_ROWS>(&targets, ranks, &mut dice)?;
            }
        }
    }
}
