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
pub(crate) struct Feature<P, V> {
    pub steps: P,
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
    feature: &Feature<P, impl Fn(usize) -> X>,
    rules: &Rules,
    contest: &mut impl Contest,
    scratch: &mut C::Scratch,
) {
    if feature.is_constant() {
        return;
    }
    criterion.sweep(node, table, &feature.steps, &feature.cuts(rules), contest, scratch);
    if feature.misses_some() {
        let steps = feature.turned();
        let cuts = feature.turned_cuts(steps.n_last, rules);
        if cuts.first <= cuts.last {
            criterion.sweep(node, table, &steps, &cuts, contest, scratch);
        }
    }
}

/// The most that any of the feature's cuts can gain, if the criterion can tell at less cost than by a scan.
#[inline]
pub(crate) fn promise<C: Criterion, P: Steps<Step = C::Step>, X: Cell>(
    criterion: &C,
    table: &C::Table,
    feature: &Feature<P, impl Fn(usize) -> X>,
    rules: &Rules,
) -> Option<f64> {
    if feature.is_constant() {
        return Some(f64::NEG_INFINITY);
    }
    let mut most = criterion.promise(table, &feature.steps, &feature.cuts(rules))?;
    if feature.misses_some() {
        let steps = feature.turned();
        let cuts = feature.turned_cuts(steps.n_last, rules);
        if cuts.first <= cuts.last {
            most = most.max(criterion.promise(table, &steps, &cuts)?);
        }
    }
    Some(most)
}

impl<P: Steps, X: Cell, V: Fn(usize) -> X> Feature<P, V> {
    #[inline]
    fn is_constant(&self) -> bool {
        let len = self.steps.len();
        len > WORTH_A_LOOK && same((self.value)(0), (self.value)(len - 1))
    }

    #[inline]
    fn misses_some(&self) -> bool {
        self.has_missing && is_nan((self.value)(self.steps.len() - 1))
    }

    #[inline]
    fn cuts(&self, rules: &Rules) -> Cuts<impl Fn(usize, usize) -> bool> {
        Cuts {
            same: |a, b| same((self.value)(a), (self.value)(b)),
            first: rules.min_rows_leaf,
            last: self.steps.len() - rules.min_rows_leaf,
            min_weight: rules.min_weight_leaf,
            missing_left: false,
        }
    }

    /// The steps with the missing ones first.
    #[cold]
    fn turned(&self) -> Turned<'_, P> {
        let len = self.steps.len();
        let n_values = partition_point(0, len, |place| !is_nan((self.value)(place)));
        Turned { steps: &self.steps, n_last: len - n_values }
    }

    /// Their cuts; there may be none.
    fn turned_cuts(&self, n_missing: usize, rules: &Rules) -> Cuts<impl Fn(usize, usize) -> bool> {
        let len = self.steps.len();
        let original = move |place: usize| (place + len - n_missing) % len;
        Cuts {
            same: move |a, b| same((self.value)(original(a)), (self.value)(original(b))),
            // Missing values alone on the left would be the first walk's last cut, mirrored.
            first: rules.min_rows_leaf.max(n_missing + 1),
            last: len - rules.min_rows_leaf,
            min_weight: rules.min_weight_leaf,
            missing_left: true,
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
