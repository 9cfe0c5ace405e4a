//! HOT: a sparse column of a node, and the search for its best cut by running sums.
//!
//! Only the entries that are not 0 are stored, in the order of their values. The zeros are one
//! group, whose sums are the node's minus those of the entries, exact in integers. So a cut is
//! described by the entries on one side of it:
//!
//! ```text
//! entries        −2 −1 │       │ 3 5 ? ?          ? is NaN
//! rows           −2 −1 │ 0 0 0 │ 3 5 ? ?
//! ascending      ───► cuts up to the zeros, by the sums of the left side
//! descending             cuts from the zeros on, by the sums of the right side ◄───
//! ```
//!
//! The descending half runs first and raises the bar; its offers wait, because offers come in
//! ascending order. Gains are the same if left and right are exchanged. With missing values there
//! is a second search, in which they stand before the least value.
//!
//! Cost: O(entries of the node), whatever its rows. Test: `sparse_tests.rs`.

use super::random::RandomCut;
use super::sparse::{ColumnSearch, NodeColumn};
use crate::criterion::{OneCut, RunningSums};
use crate::data::{Cell, Entry};
use crate::split::{Contest, Cut, Tournament, partition_point};

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

/// A node's entries of one column, in ascending order of their values, NaN last.
#[derive(Clone, Copy)]
pub(crate) struct SparseColumn<'a, X> {
    pub(super) entries: &'a [Entry<X>],
    /// Rows of the node.
    pub(super) n_rows: usize,
    pub(super) n_negative: usize,
    /// Entries that are not missing.
    pub(super) n_values: usize,
}

impl<'a, X: Cell> SparseColumn<'a, X> {
    pub fn new(entries: &'a [Entry<X>], n_rows: usize) -> Self {
        let n_negative = if entries.first().is_some_and(|first| first.value.to_f64() < 0.0) {
            partition_point(0, entries.len(), |place| entries[place].value.to_f64() < 0.0)
        } else {
            0
        };
        let n_values = if entries.last().is_some_and(|last| last.value.is_missing()) {
            partition_point(0, entries.len(), |place| !entries[place].value.is_missing())
        } else {
            entries.len()
        };
        Self { entries, n_rows, n_negative, n_values }
    }

    pub(super) fn n_zeros(&self) -> usize {
        self.n_rows - self.entries.len()
    }

    pub(super) fn n_missing(&self) -> usize {
        self.entries.len() - self.n_values
    }

    /// The value at a place of the order of all rows.
    pub fn value(&self, place: usize) -> f64 {
        if place < self.n_negative {
            self.entries[place].value.to_f64()
        } else if place < self.n_negative + self.n_zeros() {
            0.0
        } else {
            self.entries[place - self.n_zeros()].value.to_f64()
        }
    }

    /// Whether all values are the same, missing ones included.
    pub fn is_constant(&self) -> bool {
        let (first, last) = (self.value(0), self.value(self.n_rows - 1));
        self.n_zeros() == 0 && (first == last || (first.is_nan() && last.is_nan())) || self.entries.is_empty()
    }

    /// Writes all rows of the node in the order of the column: the entries, and between negative
    /// and positive ones the rows without an entry, in the order of `rows`. `has_entry` is false
    /// for every row before and after.
    pub fn order_rows(&self, rows: &[u32], has_entry: &mut [bool], order: &mut Vec<u32>) {
        let (negative, rest) = self.entries.split_at(self.n_negative);
        self.entries.iter().for_each(|entry| has_entry[entry.row as usize] = true);
        order.clear();
        order.extend(negative.iter().map(|entry| entry.row));
        order.extend(rows.iter().filter(|&&row| !has_entry[row as usize]));
        order.extend(rest.iter().map(|entry| entry.row));
        self.entries.iter().for_each(|entry| has_entry[entry.row as usize] = false);
    }
}

/// The search by running sums.
pub(crate) struct BySums;

/// What each row of the node adds to its sums, by row of X; other rows have any number. And the
/// node's sums with no rows on the left.
pub(crate) struct NodeSums<C: RunningSums> {
    start: C::Running,
    contributions: Vec<C::Contribution>,
}

impl<C: RunningSums> Default for NodeSums<C> {
    fn default() -> Self {
        Self { start: C::Running::default(), contributions: Vec::new() }
    }
}

impl<C: RunningSums> ColumnSearch<C> for BySums {
    type Shared = NodeSums<C>;
    type Scratch = SparseScratch<C>;

    fn share(
        (criterion, node): (&C, &C::NodeStats),
        [rows, _]: [&[u32]; 2],
        items: &[C::Item],
        shared: &mut NodeSums<C>,
    ) {
        criterion.start(node, &mut shared.start);
        shared.contributions.resize(items.len(), C::Contribution::default());
        for &row in rows {
            shared.contributions[row as usize] = criterion.contribution(node, items[row as usize], || 0);
        }
    }

    fn offer_cuts<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        shared: &NodeSums<C>,
        contest: &mut Tournament,
        scratch: &mut SparseScratch<C>,
    ) {
        SparseSearch { at: column, shared }.offer_cuts(contest, scratch);
    }

    fn offer_drawn<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        drawn: &RandomCut,
        shared: &NodeSums<C>,
        contest: &mut Tournament,
        scratch: &mut SparseScratch<C>,
    ) {
        SparseSearch { at: column, shared }.offer_drawn(drawn, contest, scratch);
    }
}

/// Buffers of a search.
pub(crate) struct SparseScratch<C: RunningSums> {
    /// Sums over the entries on one side of a cut.
    side: C::Running,
    /// Sums over the left side of a cut, if `side` is the right one.
    left: C::Running,
    /// Gains of the descending half that are still to be offered.
    late: Vec<(f64, Cut)>,
}

impl<C: RunningSums> Default for SparseScratch<C> {
    fn default() -> Self {
        Self { side: C::Running::default(), left: C::Running::default(), late: Vec::new() }
    }
}

/// The search for the best cut of one column of one node.
struct SparseSearch<'a, X, C: RunningSums> {
    at: &'a NodeColumn<'a, X, C>,
    shared: &'a NodeSums<C>,
}

impl<X: Cell, C: RunningSums> SparseSearch<'_, X, C> {
    /// Offers every cut that could win, those with missing values on the right first.
    fn offer_cuts(&self, contest: &mut impl Contest, scratch: &mut SparseScratch<C>) {
        let (values, missing) = self.at.column.entries.split_at(self.at.column.n_values);
        let (negative, positive) = values.split_at(self.at.column.n_negative);
        let mut offer = |before: &[Entry<X>], after: &[Entry<X>], missing_left: bool| {
            let mut bar = self.bar(contest);
            scratch.late.clear();
            if !positive.is_empty() || !after.is_empty() {
                self.descend(before.len(), positive, after, missing_left, contest, &mut bar, scratch);
            }
            if !negative.is_empty() {
                self.ascend(before, negative, missing_left, contest, &mut bar, scratch);
            }
            scratch.late.drain(..).rev().for_each(|(gain, cut)| contest.offer(gain, cut));
        };
        offer(&[], missing, false);
        if !missing.is_empty() {
            offer(missing, &[], true);
        }
    }

    /// Offers the cut that is drawn.
    fn offer_drawn(&self, drawn: &RandomCut, contest: &mut impl Contest, scratch: &mut SparseScratch<C>) {
        let SparseColumn { entries, n_negative, n_values, .. } = self.at.column;
        let cut = Cut { n_left: drawn.n_left(), missing_left: drawn.missing_left };
        let (values, missing) = entries.split_at(n_values);
        let n_up_to = cut.n_left - if cut.missing_left { missing.len() } else { 0 };
        let SparseScratch { side, left, .. } = scratch;
        side.clone_from(&self.shared.start);
        let gain = if n_up_to <= n_negative {
            self.add_all(side, &values[..n_up_to]);
            self.add_all(side, if cut.missing_left { missing } else { &[] });
            self.gain(side, cut.n_left, 0.0)
        } else {
            self.add_all(side, &values[n_up_to - self.at.column.n_zeros()..]);
            self.add_all(side, if cut.missing_left { &[] } else { missing });
            self.gain_of_right(side, left, cut.n_left, 0.0)
        };
        if let Some(gain) = gain {
            contest.offer(gain, cut);
        }
    }

    /// The contest's bar as a decrease of the loss, rounded down.
    fn bar(&self, contest: &impl Contest) -> f64 {
        self.at.criterion.loss_decrease(self.at.node, contest.bar()) * (1.0 - SCREEN_SLACK)
    }

    /// Cuts from the zeros on, by the sums of the right side. `n_before` missing values are on the
    /// left, and `after` has those on the right.
    #[allow(clippy::too_many_arguments, reason = "one half of a loop")]
    fn descend(
        &self,
        n_before: usize,
        positive: &[Entry<X>],
        after: &[Entry<X>],
        missing_left: bool,
        contest: &mut impl Contest,
        bar: &mut f64,
        scratch: &mut SparseScratch<C>,
    ) {
        let SparseScratch { side, left, late } = scratch;
        side.clone_from(&self.shared.start);
        self.add_all(side, after);
        let mut n_left = self.at.column.n_rows - after.len();
        let mut consider = |side: &C::Running, n_left: usize| {
            if let Some(gain) = self.gain_of_right(side, left, n_left, *bar) {
                late.push((gain, Cut { n_left, missing_left }));
                contest.raise(gain);
                *bar = self.bar(contest);
            }
        };
        for (place, entry) in positive.iter().enumerate().rev() {
            // The boundary above the entry, unless it is the last of all.
            if positive.get(place + 1).map_or(!after.is_empty(), |next| next.value != entry.value) {
                consider(side, n_left);
            }
            self.add_all(side, std::slice::from_ref(entry));
            n_left -= 1;
        }
        // The boundary above the zeros, or the negative values, if there are any.
        if n_left > n_before {
            consider(side, n_left);
        }
    }

    /// Cuts up to the zeros, by the sums of the left side, which begins with the missing values
    /// `before`.
    fn ascend(
        &self,
        before: &[Entry<X>],
        negative: &[Entry<X>],
        missing_left: bool,
        contest: &mut impl Contest,
        bar: &mut f64,
        scratch: &mut SparseScratch<C>,
    ) {
        let side = &mut scratch.side;
        side.clone_from(&self.shared.start);
        self.add_all(side, before);
        for (place, entry) in negative.iter().enumerate() {
            self.add_all(side, std::slice::from_ref(entry));
            let n_left = before.len() + place + 1;
            // Without zeros, the boundary above the last negative value is the descending half's.
            let is_boundary =
                negative.get(place + 1).map_or(self.at.column.n_zeros() > 0, |next| next.value != entry.value);
            if is_boundary && let Some(gain) = self.gain(side, n_left, *bar) {
                contest.offer(gain, Cut { n_left, missing_left });
                *bar = self.bar(contest);
            }
        }
    }

    #[inline(always)]
    fn add_all(&self, side: &mut C::Running, entries: &[Entry<X>]) {
        for entry in entries {
            self.at.criterion.add(side, self.shared.contributions[entry.row as usize]);
        }
    }

    /// Whether a cut with these sums on one side could reach the bar and leaves enough rows.
    #[inline(always)]
    fn passes(&self, side: &C::Running, n_left: usize, bar: f64) -> bool {
        let (criterion, min_rows) = (self.at.criterion, self.at.rules.min_rows_leaf);
        let weights = criterion.weights(side);
        criterion.scaled_bound(side, weights) >= bar * (weights[0] * weights[1])
            && n_left >= min_rows
            && self.at.column.n_rows - n_left >= min_rows
    }

    /// The gain of a cut with these sums on the left; `None` if it can't win or is not allowed.
    #[inline(always)]
    fn gain(&self, left: &C::Running, n_left: usize, bar: f64) -> Option<f64> {
        if self.passes(left, n_left, bar) { self.exact_gain(left, n_left) } else { None }
    }

    /// The same with the sums of the right side. `left` is a buffer.
    #[inline(always)]
    fn gain_of_right(&self, right: &C::Running, left: &mut C::Running, n_left: usize, bar: f64) -> Option<f64> {
        if !self.passes(right, n_left, bar) {
            return None;
        }
        self.at.criterion.mirror(right, left);
        self.exact_gain(left, n_left)
    }

    fn exact_gain(&self, left: &C::Running, n_left: usize) -> Option<f64> {
        let cut = OneCut {
            goes_left: &[],
            n_left,
            min_weight: self.at.rules.min_weight_leaf,
            value_order: self.at.value_order,
        };
        self.at.criterion.gain(self.at.node, left, &cut)
    }
}
