//! HOT: the best cut of a sparse column by sweeps of its entries, for criteria without running
//! sums: quantiles, and several outputs.
//!
//! A sweep begins with all rows on one side and moves them over one by one, so its beginning costs
//! nothing for the rows that stay. Both ends of a column consist of entries; a cut is as good with
//! its sides exchanged. So each half of the cuts is swept from its own end, up to the zeros:
//!
//! ```text
//! rows           −2 −1 │ 0 0 0 │ 3 5 ? ?          ? is NaN
//! ascending      ─────►                           cuts up to the zeros
//! descending                   ◄────────          cuts from the zeros on; they are mirrored
//! ```
//!
//! The descending half runs first and raises the bar; its offers wait, because offers come in
//! ascending order. With missing values there is a second search, in which they stand before the
//! least value. Monotonic constraints need the values of both sides, so constrained columns are
//! swept whole.
//!
//! Cost: O(entries of the node), and what the criterion needs to begin a sweep: a bit per row for
//! quantiles, which also sum up the targets below a level other than one half. Test:
//! `swept_cuts_are_those_of_a_whole_sweep`.

use super::random::RandomCut;
use super::sparse::{ColumnSearch, NodeColumn};
use super::sparse_column::SparseColumn;
use crate::contribution::{Carried, TagCell};
use crate::criterion::{ContributionsOf, Criterion, Cuts, GainBounds, TagCellOf};
use crate::data::{Cell, Entry};
use crate::scan::{Feature, scan};
use crate::split::{Contest, Cut, Tournament};

/// The search by sweeps, for criteria that rank their targets.
pub(crate) struct BySweeps;

/// A node's table, and by row of X the rank of the row among the node's targets.
pub(crate) struct RankedRows<C: Criterion> {
    table: C::Table,
    ranks: Vec<u32>,
    /// The targets of the node, in ascending order.
    items: Vec<C::Item>,
}

impl<C: Criterion> Default for RankedRows<C> {
    fn default() -> Self {
        Self { table: C::Table::default(), ranks: Vec::new(), items: Vec::new() }
    }
}

/// Buffers of a search.
pub(crate) struct SweepScratch<C: Criterion> {
    sweep: C::Scratch,
    /// The rows on one side of the zeros, from the end of the column on.
    side: Vec<u32>,
    /// By row of X. All false between uses.
    has_entry: Vec<bool>,
    /// Mirrored cuts that are still to be offered.
    late: Vec<(f64, Cut)>,
}

impl<C: Criterion> Default for SweepScratch<C> {
    fn default() -> Self {
        Self { sweep: C::Scratch::default(), side: Vec::new(), has_entry: Vec::new(), late: Vec::new() }
    }
}

impl<C: Criterion> ColumnSearch<C> for BySweeps {
    type Shared = RankedRows<C>;
    type Scratch = SweepScratch<C>;

    fn share(
        (criterion, node): (&C, &C::NodeStats),
        [_, by_target]: [&[u32]; 2],
        items: &[C::Item],
        shared: &mut RankedRows<C>,
    ) {
        shared.ranks.resize(items.len(), 0);
        (0..).zip(by_target).for_each(|(rank, &row)| shared.ranks[row as usize] = rank);
        shared.items.clear();
        shared.items.extend(by_target.iter().map(|&row| items[row as usize]));
        criterion.tabulate(node, &shared.items, &mut shared.table);
    }

    fn offer_cuts<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        shared: &RankedRows<C>,
        contest: &mut Tournament,
        scratch: &mut SweepScratch<C>,
    ) {
        let search = SweepSearch { column, shared };
        if column.value_order.is_some() {
            return search.scan_all(contest, scratch);
        }
        let n_missing = column.column.n_missing();
        search.offer_halves(false, (1, column.column.n_rows - 1), contest, scratch);
        if n_missing > 0 {
            search.offer_halves(true, (n_missing + 1, column.column.n_rows - 1), contest, scratch);
        }
    }

    fn offer_drawn<X: Cell>(
        column: &NodeColumn<'_, X, C>,
        drawn: &RandomCut,
        shared: &RankedRows<C>,
        contest: &mut Tournament,
        scratch: &mut SweepScratch<C>,
    ) {
        let search = SweepSearch { column, shared };
        let n_left = drawn.n_left();
        if column.value_order.is_some() {
            return search.offer_one(Cut { n_left, missing_left: drawn.missing_left }, contest, scratch);
        }
        search.offer_halves(drawn.missing_left, (n_left, n_left), contest, scratch);
    }
}

/// The search for the best cut of one column of one node.
struct SweepSearch<'a, X, C: Criterion> {
    column: &'a NodeColumn<'a, X, C>,
    shared: &'a RankedRows<C>,
}

impl<X: Cell, C: Criterion> SweepSearch<'_, X, C> {
    /// Offers the cuts with at least `first` and at most `last` rows on the left.
    fn offer_halves(
        &self,
        missing_left: bool,
        (first, last): (usize, usize),
        contest: &mut Tournament,
        scratch: &mut SweepScratch<C>,
    ) {
        let SparseColumn { entries, n_rows, n_negative, n_values } = self.column.column;
        let (values, missing) = entries.split_at(n_values);
        let (negative, positive) = values.split_at(n_negative);
        let (before, after) = if missing_left { (missing, &[][..]) } else { (&[][..], missing) };
        let (n_below, n_above) = (before.len() + negative.len(), after.len() + positive.len());
        let min_rows = self.column.rules.min_rows_leaf;
        let (first, last) = (first.max(min_rows), last.min(n_rows.saturating_sub(min_rows)));
        if first > last {
            return;
        }
        // Without zeros, both halves reach the same cut: it is the descending one's.
        let last_below = if n_below + n_above < n_rows { n_below } else { n_below - n_below.min(1) };
        scratch.late.clear();
        let mut late = std::mem::take(&mut scratch.late);
        let from_above = n_rows - last..=n_above.min(n_rows - first);
        if !from_above.is_empty() {
            self.write_side(after.iter().rev().chain(positive.iter().rev()), scratch);
            let value = |place: usize| self.value(missing_left, n_rows - 1 - place);
            let mut mirrored = Mirrored { contest, late: &mut late, n_rows, missing_left };
            self.sweep(*from_above.start(), *from_above.end(), value, &mut mirrored, scratch);
        }
        let from_below = first..=last.min(last_below);
        // Missing values alone on the left are the cut that has them alone on the right.
        if !negative.is_empty() && !from_below.is_empty() {
            self.write_side(before.iter().chain(negative), scratch);
            let value = |place: usize| self.value(missing_left, place);
            let mut own = Sided { contest, missing_left };
            self.sweep(*from_below.start(), *from_below.end(), value, &mut own, scratch);
        }
        late.drain(..).rev().for_each(|(gain, cut)| contest.offer(gain, cut));
        scratch.late = late;
    }

    /// The value at a place of the order of all rows, missing values first or last.
    fn value(&self, missing_first: bool, place: usize) -> f64 {
        let column = &self.column.column;
        let n_missing = if missing_first { column.n_missing() } else { 0 };
        column.value((place + column.n_rows - n_missing) % column.n_rows)
    }

    /// Writes the rows of these entries, and a row behind them if there is one: kernels may move it
    /// without a use for the gain.
    fn write_side<'e>(&self, entries: impl Iterator<Item = &'e Entry<X>> + Clone, scratch: &mut SweepScratch<C>)
    where
        X: 'e,
    {
        let SweepScratch { side, has_entry, .. } = scratch;
        side.clear();
        side.extend(entries.map(|entry| entry.row));
        has_entry.resize(self.shared.ranks.len(), false);
        for &row in &*side {
            has_entry[row as usize] = true;
        }
        let next = self.column.rows.iter().find(|&&row| !has_entry[row as usize]);
        for &row in &*side {
            has_entry[row as usize] = false;
        }
        side.extend(next);
    }

    /// Sweeps the cuts with `first` to `last` rows of this side.
    fn sweep(
        &self,
        first: usize,
        last: usize,
        value: impl Fn(usize) -> f64,
        contest: &mut dyn Contest,
        scratch: &mut SweepScratch<C>,
    ) {
        let same = |a: usize, b: usize| same(value(a), value(b));
        let cuts = Cuts {
            same: &same as &dyn Fn(usize, usize) -> bool,
            first,
            last,
            min_weight: self.column.rules.min_weight_leaf,
            missing_left: false,
            value_order: None,
        };
        let SweepScratch { side, sweep, .. } = scratch;
        let NodeColumn { criterion, node, .. } = *self.column;
        criterion.sweep(node, &self.shared.table, &self.ordered(side), &cuts, &mut { contest }, sweep);
    }

    /// What these rows add to the sums of a sweep.
    fn ordered<'s>(&'s self, rows: &'s [u32]) -> impl ContributionsOf<C> + 's {
        let NodeColumn { criterion, node, items, .. } = *self.column;
        let RankedRows { table, ranks, .. } = self.shared;
        let tags = C::Bounds::class_tags(table);
        Carried {
            items: rows,
            contribution: move |row: u32| {
                criterion.contribution(node, items[row as usize], || ranks[row as usize] as usize)
            },
            tag: move |place: usize| TagCellOf::<C>::from_u32(|| tags[ranks[rows[place] as usize] as usize]),
        }
    }

    /// Sweeps all rows.
    fn scan_all(&self, contest: &mut Tournament, scratch: &mut SweepScratch<C>) {
        let NodeColumn { criterion, node, column, rules, value_order, .. } = *self.column;
        let SweepScratch { side, has_entry, sweep, .. } = scratch;
        has_entry.resize(self.shared.ranks.len(), false);
        column.order_rows(self.column.rows, has_entry, side);
        let contributions = self.ordered(side);
        let feature = Feature { contributions, value: |place| column.value(place), has_missing: true, value_order };
        scan(criterion, node, &self.shared.table, &feature, rules, contest, sweep);
    }

    /// Offers a cut of a constrained column, if it is allowed.
    fn offer_one(&self, cut: Cut, contest: &mut Tournament, scratch: &mut SweepScratch<C>) {
        let NodeColumn { criterion, node, column, rules, value_order, .. } = *self.column;
        if cut.n_left.min(column.n_rows - cut.n_left) < rules.min_rows_leaf {
            return;
        }
        let SweepScratch { side, has_entry, sweep, .. } = scratch;
        has_entry.resize(self.shared.ranks.len(), false);
        column.order_rows(self.column.rows, has_entry, side);
        if cut.missing_left {
            side.rotate_right(column.n_missing());
        }
        let cuts = Cuts {
            same: |_, _| false,
            first: cut.n_left,
            last: cut.n_left,
            min_weight: rules.min_weight_leaf,
            missing_left: cut.missing_left,
            value_order,
        };
        criterion.sweep(node, &self.shared.table, &self.ordered(side), &cuts, contest, sweep);
    }
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Cuts of a sweep from the upper end, whose rows on the "left" are those on the right.
struct Mirrored<'a> {
    contest: &'a mut Tournament,
    late: &'a mut Vec<(f64, Cut)>,
    n_rows: usize,
    missing_left: bool,
}

impl Contest for Mirrored<'_> {
    fn bar(&self) -> f64 {
        self.contest.bar()
    }

    fn raise(&mut self, gain: f64) {
        self.contest.raise(gain);
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
        self.late.push((gain, Cut { n_left: self.n_rows - cut.n_left, missing_left: self.missing_left }));
        self.contest.raise(gain);
    }
}

/// Cuts of a sweep from the lower end.
struct Sided<'a> {
    contest: &'a mut Tournament,
    missing_left: bool,
}

impl Contest for Sided<'_> {
    fn bar(&self) -> f64 {
        self.contest.bar()
    }

    fn raise(&mut self, gain: f64) {
        self.contest.raise(gain);
    }

    fn offer(&mut self, gain: f64, cut: Cut) {
        self.contest.offer(gain, Cut { missing_left: self.missing_left, ..cut });
    }
}
