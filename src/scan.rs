//! HOT: one feature's range and a criterion → the feature's best cut.
//!
//! Missing values stand last in a column. Walking the range as it is therefore tries them on the right, and the
//! position in front of them parts values from missing ones. A second walk, over a copy that starts with them, tries
//! them on the left:
//!
//! ```text
//! column    a b c d ? ?       missing right:  a | b | c | d | ? ?
//! turned    ? ? a b c d       missing left:   ? ? a | b | c | d
//! ```

use crate::columns::Stretch;
use crate::criterion::{Criterion, Cuts};
use crate::data::Cell;
use crate::params::Rules;
use crate::split::{Contest, Cut, Found, partition_point};

/// The highest gain known of other features of the node.
#[derive(Clone, Copy)]
pub(crate) enum Rival {
    /// Of any features: ties must still be reported.
    Any(f64),
    /// Of all the features before this one: ties are lost.
    Earlier(Option<f64>),
}

/// Buffers of one worker's scans.
pub(crate) struct Scanner<C: Criterion> {
    contest: Contest<Cut>,
    sweep: C::Scratch,
    turned: Vec<C::Item>,
}

impl<C: Criterion> Scanner<C> {
    pub fn new() -> Self {
        Self { contest: Contest::new(), sweep: C::Scratch::default(), turned: Vec::new() }
    }

    /// The best cut of this range, unless it is out of reach of the `rival`.
    pub fn scan<X: Cell>(
        &mut self,
        criterion: &C,
        node: &C::Node,
        column: Stretch<'_, C::Item>,
        value: impl Fn(u32) -> X,
        has_missing: bool,
        rules: &Rules,
        rival: Rival,
    ) -> Option<Found> {
        let len = column.rows.len();
        let value = |place: usize| value(column.rows[place]);
        if same(value(0), value(len - 1)) {
            return None;
        }
        match rival {
            Rival::Any(gain) => self.contest.restart(criterion.noise(node), gain),
            Rival::Earlier(gain) => self.contest.restart_after(criterion.noise(node), gain),
        }
        let cuts = Cuts {
            same: |a, b| same(value(a), value(b)),
            first: rules.min_rows_leaf,
            last: len - rules.min_rows_leaf,
            min_weight: rules.min_weight_leaf,
            missing_left: false,
        };
        criterion.sweep(node, column.items, &cuts, &mut self.contest, &mut self.sweep);

        if has_missing && is_nan(value(len - 1)) {
            let n_missing = len - partition_point(0, len, |place| !is_nan(value(place)));
            self.turned.clear();
            self.turned.extend_from_slice(&column.items[len - n_missing..]);
            self.turned.extend_from_slice(&column.items[..len - n_missing]);
            let original = |place: usize| (place + len - n_missing) % len;
            let cuts = Cuts {
                same: |a, b| same(value(original(a)), value(original(b))),
                // Missing values alone on the left would be the first walk's last cut, mirrored.
                first: cuts.first.max(n_missing + 1),
                last: cuts.last,
                min_weight: cuts.min_weight,
                missing_left: true,
            };
            if cuts.first <= cuts.last {
                criterion.sweep(node, &self.turned, &cuts, &mut self.contest, &mut self.sweep);
            }
        }
        self.contest.winner().map(|(top, cut)| Found { top, cut })
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
