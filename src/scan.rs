//! HOT: one feature's range and a criterion → the feature's best cut.
//!
//! Missing values stand last in a column. Walking the range as it is therefore tries them on the right, and the
//! position in front of them parts values from missing ones. A second walk, which starts with them, tries them on
//! the left:
//!
//! ```text
//! column    a b c d ? ?       missing right:  a | b | c | d | ? ?
//! turned    ? ? a b c d       missing left:   ? ? a | b | c | d
//! ```

use crate::criterion::{Criterion, Cuts};
use crate::data::Cell;
use crate::params::Rules;
use crate::split::{Contest, partition_point};
use crate::steps::{Steps, Turned};

/// Nodes up to this size are not asked whether the feature is constant: their sweep is over as soon.
const WORTH_A_LOOK: usize = 32;

/// One feature of a node: steps and values of the node's rows in the feature's order.
pub(crate) struct Feature<'a, P, V> {
    pub steps: &'a P,
    /// The value at a place of that order.
    pub value: V,
    /// Whether there may be missing values, which are last.
    pub has_missing: bool,
}

/// Offers the feature's cuts.
#[inline]
pub(crate) fn scan<C: Criterion, P: Steps<Step = C::Step>, X: Cell>(
    criterion: &C,
    node: &C::Node,
    table: &C::Table,
    feature: &Feature<'_, P, impl Fn(usize) -> X>,
    rules: &Rules,
    contest: &mut impl Contest,
    scratch: &mut C::Scratch,
) {
    let Feature { steps, value, has_missing } = feature;
    let len = steps.len();
    if len > WORTH_A_LOOK && same(value(0), value(len - 1)) {
        return;
    }
    let cuts = Cuts {
        same: |a, b| same(value(a), value(b)),
        first: rules.min_rows_leaf,
        last: len - rules.min_rows_leaf,
        min_weight: rules.min_weight_leaf,
        missing_left: false,
    };
    criterion.sweep(node, table, *steps, &cuts, contest, scratch);
    if *has_missing && is_nan(value(len - 1)) {
        scan_missing_left(criterion, node, table, feature, rules, contest, scratch);
    }
}

#[cold]
fn scan_missing_left<C: Criterion, P: Steps<Step = C::Step>, X: Cell>(
    criterion: &C,
    node: &C::Node,
    table: &C::Table,
    feature: &Feature<'_, P, impl Fn(usize) -> X>,
    rules: &Rules,
    contest: &mut impl Contest,
    scratch: &mut C::Scratch,
) {
    let Feature { steps, value, .. } = feature;
    let len = steps.len();
    let n_missing = len - partition_point(0, len, |place| !is_nan(value(place)));
    let original = |place: usize| (place + len - n_missing) % len;
    let cuts = Cuts {
        same: |a, b| same(value(original(a)), value(original(b))),
        // Missing values alone on the left would be the first walk's last cut, mirrored.
        first: rules.min_rows_leaf.max(n_missing + 1),
        last: len - rules.min_rows_leaf,
        min_weight: rules.min_weight_leaf,
        missing_left: true,
    };
    if cuts.first <= cuts.last {
        criterion.sweep(node, table, &Turned { steps: *steps, n_last: n_missing }, &cuts, contest, scratch);
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
