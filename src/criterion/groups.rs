//! Sums over groups of rows with equal values, which answer for a coded column without an order.
//!
//! A group's sum is kept on one grid for the whole fit. So a node's groups are those of its parent
//! minus those of its sibling, and nothing has to be read for the larger child. Each node still has
//! a grid of its own: a criterion implements this only for targets that all grids represent
//! exactly, because then the sums can be converted from grid to grid without rounding.
//!
//! Classes are counted. Numbers were divided by a power of two, so none is 2 or more. If all are
//! multiples of 2^-30, as counts and prices are, their differences have at most 32 bits and their
//! sums at most 58. The unit of a node's grid is never larger than that, so all targets, and the
//! node's lowest one, are whole numbers of units:
//!
//! ```text
//! sum on the node's grid = (sum − rows · lowest) · 2^-30 / unit     the quotient: a power of two
//! ```

use super::{Criterion, Cuts, Grid};
use crate::split::Contest;

/// The rows of a node with one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group<S> {
    pub rows: u32,
    pub sum: S,
}

/// A group of rows, summed up for this criterion.
pub(crate) type GroupOf<C> = Group<<<C as Criterion>::Groups as GroupSums<C>>::Sum>;

pub(crate) trait GroupSums<C: Criterion> {
    type Sum: Copy + Default + Send + Sync;

    /// Whether the sums of these targets of a fit are exact on every grid.
    fn are_exact(criterion: &C, items: &[C::Item]) -> bool;

    fn add(sum: &mut Self::Sum, item: C::Item);

    fn subtract(sum: &mut Self::Sum, other: Self::Sum);

    /// Offers the cuts between groups that could win, the same as a sweep over their rows. The
    /// groups are in the order of their values, and none is empty. `cuts.same` is not called.
    fn sweep<O: Contest>(
        criterion: &C,
        node: &C::NodeStats,
        groups: impl Iterator<Item = GroupOf<C>>,
        cuts: &Cuts<impl Fn(usize, usize) -> bool>,
        contest: &mut O,
    );
}

/// For criteria without sums of groups: their columns are sorted.
pub(crate) struct NoGroups;

impl<C: Criterion<Groups = Self>> GroupSums<C> for NoGroups {
    type Sum = ();

    fn are_exact(_: &C, _: &[C::Item]) -> bool {
        false
    }

    fn add((): &mut (), _: C::Item) {}

    fn subtract((): &mut (), (): ()) {}

    fn sweep<O: Contest>(
        _: &C,
        _: &C::NodeStats,
        _: impl Iterator<Item = GroupOf<C>>,
        _: &Cuts<impl Fn(usize, usize) -> bool>,
        _: &mut O,
    ) {
    }
}

/// The unit of sums of numbers.
const UNIT: f64 = 1.0 / (1 << 30) as f64;

/// Fits of more rows may have nodes whose unit is larger than [`UNIT`].
const MAX_ROWS: usize = 1 << 26;

/// A number in [`UNIT`]s.
#[inline(always)]
pub(super) fn whole(y: f64) -> i64 {
    Grid::of_multiples(UNIT).put(y)
}

/// Whether sums of these numbers are exact on the grid of every node.
pub(super) fn are_whole(mut numbers: impl ExactSizeIterator<Item = f64>) -> bool {
    numbers.len() <= MAX_ROWS && numbers.all(|y| y.abs() <= 2.0 && whole(y) as f64 * UNIT == y)
}

/// Converts sums of numbers to a node's grid.
pub(super) struct ToNode {
    lowest: i64,
    shift: u32,
}

impl ToNode {
    pub fn new(lowest: f64, grid: Grid) -> Self {
        let shift = Grid::of_multiples(UNIT).bits_to(grid).expect("a node's unit is not larger");
        Self { lowest: whole(lowest), shift }
    }

    /// The sum of the numbers above the lowest one.
    #[inline(always)]
    pub fn sum(&self, rows: i64, sum: i64) -> i64 {
        (sum - rows * self.lowest) << self.shift
    }
}
