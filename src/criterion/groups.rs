//! Sums over groups of rows with equal values, which answer for a coded column without an order.
//!
//! A group's sum is kept on one grid for the whole fit. So a node's groups are those of its parent
//! minus those of its sibling, and nothing has to be read for the larger child. Each node still has
//! a grid of its own: a criterion implements this only for targets that all grids represent
//! exactly, because then the sums can be converted from grid to grid without rounding.

use super::{Criterion, Cuts};
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
    fn are_exact(items: &[C::Item]) -> bool;

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

    fn are_exact(_: &[C::Item]) -> bool {
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
