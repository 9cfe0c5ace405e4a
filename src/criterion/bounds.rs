//! Gain bounds: upper bounds on what the cuts of a feature can gain, at less cost than a sweep.
//!
//! The engine sweeps the feature with the largest bound first. Features whose bound is below the
//! gain found so far are never swept. A bound has room for its own rounding, so it changes no tree.

use super::{Criterion, Cuts};
use crate::columns::local::{LOCAL_ROWS, LocalOrders};
use crate::contribution::{Contributions, TagCell};

/// How the tags that a criterion's gain bounds read are stored.
pub(crate) type TagCellOf<C> = <<C as Criterion>::Bounds as GainBounds<C>>::TagCell;

/// The tags that a criterion's gain bounds read.
pub(crate) type Tag<C> = <TagCellOf<C> as TagCell>::Tag;

/// Contributions and tags of this criterion.
pub(crate) trait ContributionsOf<C: Criterion>:
    Contributions<Contribution = C::Contribution, Tag = Tag<C>>
{
}

impl<C: Criterion, P: Contributions<Contribution = C::Contribution, Tag = Tag<C>>> ContributionsOf<C> for P {}

pub(crate) trait GainBounds<C: Criterion> {
    /// How the tag of a row is stored.
    type TagCell: TagCell;

    /// By rank: the class tags of a node's rows, which its feature bounds read.
    fn class_tags(table: &C::Table) -> &[u32];

    /// The most that any of these cuts can gain; `None` if a sweep is as cheap as a bound.
    fn of_feature<P: ContributionsOf<C>, F: Fn(usize, usize) -> bool>(
        criterion: &C,
        table: &C::Table,
        contributions: &P,
        cuts: &Cuts<F>,
    ) -> Option<f64>;

    /// Writes an upper bound on the gains of each feature of a small node, missing values left
    /// aside.
    fn of_small_node(
        criterion: &C,
        node: &C::NodeStats,
        table: &C::Table,
        rows: &SmallNode<'_, C>,
        scratch: &mut C::Scratch,
        bounds: &mut Vec<f64>,
    ) -> BoundVerdict;
}

/// The rows of a node of a subtree in the order of every feature, and what is known of each row by
/// its local number.
pub(crate) struct SmallNode<'a, C: Criterion> {
    pub orders: LocalOrders<'a>,
    /// The features that are evaluated, ascending, at least one. Bounds are in this order.
    pub features: &'a [u32],
    pub items: &'a [C::Item],
    /// Filled only for criteria that rank their targets.
    pub contributions: &'a [C::Contribution; LOCAL_ROWS],
    /// Least number of rows on either side of a cut.
    pub min_rows: usize,
}

impl<'a, C: Criterion> SmallNode<'a, C> {
    /// The node's rows in the order of some feature.
    pub fn any_order(&self) -> &'a [u16] {
        self.orders.of(self.features[0] as usize)
    }
}

/// What the bounds of a node's features say before any order is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundVerdict {
    /// No bounds were computed.
    Unknown,
    /// The gains of each feature are bounded.
    Bounded,
    /// The gains are bounded, and this cut is the winner if it parts different values.
    Clear {
        /// Index in [`SmallNode::features`].
        place: usize,
        n_left: usize,
    },
}

/// For criteria without bounds: every feature is swept.
pub(crate) struct NoBounds;

impl<C: Criterion> GainBounds<C> for NoBounds {
    type TagCell = ();

    fn class_tags(_: &C::Table) -> &[u32] {
        &[]
    }

    #[inline(always)]
    fn of_feature<P: ContributionsOf<C>, F: Fn(usize, usize) -> bool>(
        _: &C,
        _: &C::Table,
        _: &P,
        _: &Cuts<F>,
    ) -> Option<f64> {
        None
    }

    fn of_small_node(
        _: &C,
        _: &C::NodeStats,
        _: &C::Table,
        _: &SmallNode<'_, C>,
        _: &mut C::Scratch,
        _: &mut Vec<f64>,
    ) -> BoundVerdict {
        BoundVerdict::Unknown
    }
}
