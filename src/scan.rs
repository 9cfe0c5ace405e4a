//! HOT: offers the cuts of one feature of one node.
//!
//! Missing values stand last in a column. A sweep of the column as it is therefore puts them on the
//! right, and its last cut separates values from missing values. A second sweep, which starts with
//! the missing values, puts them on the left:
//!
//! ```text
//! column    a b c d ? ?       missing right:  a | b | c | d | ? ?
//! first     ? ? a b c d       missing left:   ? ? a | b | c | d
//! ```
//!
//! Cost: one sweep per feature and node, two if the node has missing values in the feature.

use crate::contribution::{Contributions, MissingFirst};
use crate::criterion::{ContributionsOf, Criterion, Cuts, GainBounds, GroupOf, GroupSums, ValueOrder};
use crate::data::Cell;
use crate::params::Rules;
use crate::split::{Contest, partition_point};

/// Nodes up to this size are not tested for constant features: a sweep costs as little as the test.
const TESTED_FOR_CONSTANT: usize = 32;

/// One feature of a node: contributions and values of the node's rows in the feature's order.
pub(crate) struct Feature<P, V> {
    pub contributions: P,
    /// The value at a place of that order.
    pub value: V,
    /// Whether the feature may have missing values. They stand last.
    pub has_missing: bool,
    /// The monotonic constraint of the feature, if it has one.
    pub value_order: Option<ValueOrder>,
}

/// Offers the feature's cuts, those with missing values on the right first.
#[inline]
pub(crate) fn scan<C: Criterion, P: ContributionsOf<C>, X: Cell>(
    criterion: &C,
    node: &C::NodeStats,
    table: &C::Table,
    feature: &Feature<P, impl Fn(usize) -> X>,
    rules: &Rules,
    contest: &mut impl Contest,
    scratch: &mut C::Scratch,
) {
    if feature.is_seen_constant() {
        return;
    }
    criterion.sweep(node, table, &feature.contributions, &feature.cuts(rules), contest, scratch);
    if feature.misses_some() {
        let contributions = feature.missing_first();
        let cuts = feature.missing_first_cuts(contributions.n_missing, rules);
        if cuts.first <= cuts.last {
            criterion.sweep(node, table, &contributions, &cuts, contest, scratch);
        }
    }
}

/// [`scan`] of a coded feature, by its groups in the order of their values, which may be empty. The
/// last one has the missing values if the feature has any.
pub(crate) fn scan_groups<C: Criterion>(
    criterion: &C,
    node: &C::NodeStats,
    groups: &[GroupOf<C>],
    has_missing: bool,
    value_order: Option<ValueOrder>,
    rules: &Rules,
    contest: &mut impl Contest,
) {
    let cuts = |first: usize, missing_left: bool| Cuts {
        same: |_, _| false,
        first,
        last: criterion.rows(node) - rules.min_rows_leaf,
        min_weight: rules.min_weight_leaf,
        missing_left,
        value_order,
    };
    let is_full = |group: &GroupOf<C>| group.rows > 0;
    C::Groups::sweep(
        criterion,
        node,
        groups.iter().copied().filter(is_full),
        &cuts(rules.min_rows_leaf, false),
        contest,
    );
    if has_missing
        && let Some((missing, values)) = groups.split_last()
        && missing.rows > 0
    {
        let cuts = cuts(rules.min_rows_leaf.max(missing.rows as usize + 1), true);
        if cuts.first <= cuts.last {
            let missing_first = std::iter::once(*missing).chain(values.iter().copied().filter(is_full));
            C::Groups::sweep(criterion, node, missing_first, &cuts, contest);
        }
    }
}

/// An upper bound on the gains of the feature's cuts; `None` if the criterion has none that is
/// cheaper than a scan.
#[inline]
pub(crate) fn gain_bound<C: Criterion, P: ContributionsOf<C>, X: Cell>(
    criterion: &C,
    table: &C::Table,
    feature: &Feature<P, impl Fn(usize) -> X>,
    rules: &Rules,
) -> Option<f64> {
    if feature.is_seen_constant() {
        return Some(f64::NEG_INFINITY);
    }
    let mut bound = C::Bounds::of_feature(criterion, table, &feature.contributions, &feature.cuts(rules))?;
    if feature.misses_some() {
        let contributions = feature.missing_first();
        let cuts = feature.missing_first_cuts(contributions.n_missing, rules);
        if cuts.first <= cuts.last {
            bound = bound.max(C::Bounds::of_feature(criterion, table, &contributions, &cuts)?);
        }
    }
    Some(bound)
}

impl<P: Contributions, X: Cell, V: Fn(usize) -> X> Feature<P, V> {
    /// Whether all values of the node are the same, missing ones included.
    #[inline]
    pub fn is_constant(&self) -> bool {
        same((self.value)(0), (self.value)(self.contributions.len() - 1))
    }

    /// Whether the node is large enough for the test, and the feature is constant.
    #[inline]
    fn is_seen_constant(&self) -> bool {
        self.contributions.len() > TESTED_FOR_CONSTANT && self.is_constant()
    }

    /// Whether this node has missing values in the feature.
    #[inline]
    fn misses_some(&self) -> bool {
        self.has_missing && is_nan((self.value)(self.contributions.len() - 1))
    }

    #[inline]
    fn cuts(&self, rules: &Rules) -> Cuts<impl Fn(usize, usize) -> bool> {
        Cuts {
            same: |a, b| same((self.value)(a), (self.value)(b)),
            first: rules.min_rows_leaf,
            last: self.contributions.len() - rules.min_rows_leaf,
            min_weight: rules.min_weight_leaf,
            missing_left: false,
            value_order: self.value_order,
        }
    }

    #[cold]
    fn missing_first(&self) -> MissingFirst<'_, P> {
        let len = self.contributions.len();
        let n_values = partition_point(0, len, |place| !is_nan((self.value)(place)));
        MissingFirst { contributions: &self.contributions, n_missing: len - n_values }
    }

    /// The cuts of the order with missing values first. `first > last` if there are none.
    fn missing_first_cuts(&self, n_missing: usize, rules: &Rules) -> Cuts<impl Fn(usize, usize) -> bool> {
        let len = self.contributions.len();
        let original = move |place: usize| (place + len - n_missing) % len;
        Cuts {
            same: move |a, b| same((self.value)(original(a)), (self.value)(original(b))),
            // Missing values alone on the left is the first sweep's last cut with the sides
            // exchanged.
            first: rules.min_rows_leaf.max(n_missing + 1),
            last: len - rules.min_rows_leaf,
            min_weight: rules.min_weight_leaf,
            missing_left: true,
            value_order: self.value_order,
        }
    }
}

#[inline]
fn same<X: Cell>(a: X, b: X) -> bool {
    a == b || (is_nan(a) && is_nan(b))
}

#[inline]
fn is_nan<X: Cell>(x: X) -> bool {
    x.to_f64().is_nan()
}
