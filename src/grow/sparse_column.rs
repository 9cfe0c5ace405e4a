//! HOT: a sparse column of a node, and the search for its best cut.
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
//! Cost: O(entries of the node), whatever its rows. Test: `sparse_cuts_are_those_of_a_sweep`.

use super::random::{RandomCut, Seed};
use crate::criterion::{OneCut, RunningSums, ValueOrder};
use crate::data::{Cell, Entry};
use crate::params::Rules;
use crate::split::{Contest, Cut, partition_point};

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

/// A node's entries of one column, in ascending order of their values, NaN last.
#[derive(Clone, Copy)]
pub(super) struct SparseColumn<'a, X> {
    entries: &'a [Entry<X>],
    /// Rows of the node.
    n_rows: usize,
    n_negative: usize,
    /// Entries that are not missing.
    n_values: usize,
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

    fn n_zeros(&self) -> usize {
        self.n_rows - self.entries.len()
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

/// Buffers of a search.
pub(super) struct SparseScratch<C: RunningSums> {
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
pub(super) struct SparseSearch<'a, X, C: RunningSums> {
    pub criterion: &'a C,
    pub node: &'a C::NodeStats,
    /// The node's sums with no rows on the left.
    pub start: &'a C::Running,
    pub column: SparseColumn<'a, X>,
    /// By row of X.
    pub contributions: &'a [C::Contribution],
    pub rules: &'a Rules,
    pub value_order: Option<ValueOrder>,
}

impl<X: Cell, C: RunningSums> SparseSearch<'_, X, C> {
    /// Offers every cut that could win, those with missing values on the right first.
    pub fn offer_cuts(&self, contest: &mut impl Contest, scratch: &mut SparseScratch<C>) {
        let (values, missing) = self.column.entries.split_at(self.column.n_values);
        let (negative, positive) = values.split_at(self.column.n_negative);
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
    pub fn offer_drawn(&self, seed: Seed, feature: usize, contest: &mut impl Contest, scratch: &mut SparseScratch<C>) {
        let SparseColumn { entries, n_rows, n_negative, n_values } = self.column;
        let Some(drawn) = RandomCut::draw_sorted(seed, feature, n_rows, |place| self.column.value(place)) else {
            return;
        };
        let cut = Cut { n_left: drawn.n_left(), missing_left: drawn.missing_left };
        let (values, missing) = entries.split_at(n_values);
        let n_up_to = cut.n_left - if cut.missing_left { missing.len() } else { 0 };
        let SparseScratch { side, left, .. } = scratch;
        side.clone_from(self.start);
        let gain = if n_up_to <= n_negative {
            self.add_all(side, &values[..n_up_to]);
            self.add_all(side, if cut.missing_left { missing } else { &[] });
            self.gain(side, cut.n_left, 0.0)
        } else {
            self.add_all(side, &values[n_up_to - self.column.n_zeros()..]);
            self.add_all(side, if cut.missing_left { &[] } else { missing });
            self.gain_of_right(side, left, cut.n_left, 0.0)
        };
        if let Some(gain) = gain {
            contest.offer(gain, cut);
        }
    }

    /// The contest's bar as a decrease of the loss, rounded down.
    fn bar(&self, contest: &impl Contest) -> f64 {
        self.criterion.loss_decrease(self.node, contest.bar()) * (1.0 - SCREEN_SLACK)
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
        side.clone_from(self.start);
        self.add_all(side, after);
        let mut n_left = self.column.n_rows - after.len();
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
        side.clone_from(self.start);
        self.add_all(side, before);
        for (place, entry) in negative.iter().enumerate() {
            self.add_all(side, std::slice::from_ref(entry));
            let n_left = before.len() + place + 1;
            // Without zeros, the boundary above the last negative value is the descending half's.
            let is_boundary =
                negative.get(place + 1).map_or(self.column.n_zeros() > 0, |next| next.value != entry.value);
            if is_boundary && let Some(gain) = self.gain(side, n_left, *bar) {
                contest.offer(gain, Cut { n_left, missing_left });
                *bar = self.bar(contest);
            }
        }
    }

    #[inline(always)]
    fn add_all(&self, side: &mut C::Running, entries: &[Entry<X>]) {
        for entry in entries {
            self.criterion.add(side, self.contributions[entry.row as usize]);
        }
    }

    /// Whether a cut with these sums on one side could reach the bar and leaves enough rows.
    #[inline(always)]
    fn passes(&self, side: &C::Running, n_left: usize, bar: f64) -> bool {
        let (criterion, min_rows) = (self.criterion, self.rules.min_rows_leaf);
        let weights = criterion.weights(side);
        criterion.scaled_bound(side, weights) >= bar * (weights[0] * weights[1])
            && n_left >= min_rows
            && self.column.n_rows - n_left >= min_rows
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
        self.criterion.mirror(right, left);
        self.exact_gain(left, n_left)
    }

    fn exact_gain(&self, left: &C::Running, n_left: usize) -> Option<f64> {
        let cut =
            OneCut { goes_left: &[], n_left, min_weight: self.rules.min_weight_leaf, value_order: self.value_order };
        self.criterion.gain(self.node, left, &cut)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    use super::*;
    use crate::contribution::{Carried, TagCell};
    use crate::criterion::classes::Classes;
    use crate::criterion::poisson::Poisson;
    use crate::criterion::squared::{SquaredError, SquaredReport};
    use crate::criterion::{TagCellOf, Weighted};
    use crate::data::{Matrix, Target};
    use crate::naive::draw::Dice;
    use crate::params::Loss;
    use crate::params::{Impurity, Params};
    use crate::scan::{Feature, scan};
    use crate::split::Tournament;

    #[derive(Clone, Debug)]
    struct Node {
        n_rows: usize,
        /// Shares of zeros, negative and missing values; the rest is positive.
        shares: [f64; 3],
        n_distinct: usize,
        min_rows: usize,
        sign: i8,
        seed: u64,
    }

    fn nodes() -> impl Strategy<Value = Node> {
        let n_rows = prop_oneof![3 => 2..20usize, 2 => 20..200usize, 1 => 200..600usize];
        let zeros = prop_oneof![Just(0.0), Just(0.5), Just(0.97)];
        let negative = prop_oneof![Just(0.0), Just(0.3), Just(1.0)];
        let missing = prop_oneof![3 => Just(0.0), 1 => Just(0.2), 1 => Just(0.9)];
        let n_distinct = prop_oneof![1..4usize, Just(1_000_000)];
        (n_rows, zeros, negative, missing, n_distinct, 1..4usize, -1..=1i8, any::<u64>()).prop_map(
            |(n_rows, zeros, negative, missing, n_distinct, min_rows, sign, seed)| {
                let shares = [zeros, negative, missing];
                Node { n_rows, shares, n_distinct, min_rows: min_rows.min(n_rows / 2), sign, seed }
            },
        )
    }

    impl Node {
        fn values(&self) -> Vec<f64> {
            let mut dice = Dice::new(self.seed);
            let [zeros, negative, missing] = self.shares;
            let value = |dice: &mut Dice| {
                let size = (1 + dice.below(self.n_distinct)) as f64;
                let value = if dice.chance(negative) { -size } else { size };
                if dice.chance(zeros) {
                    0.0
                } else if dice.chance(missing) {
                    f64::NAN
                } else {
                    value
                }
            };
            (0..self.n_rows).map(|_| value(&mut dice)).collect()
        }

        /// A target and a weight for each row. Targets depend on the values.
        fn samples(&self) -> Vec<(f64, f64)> {
            let mut dice = Dice::new(self.seed ^ 1);
            let sample = |value: &f64| {
                let signal = if value.is_nan() { 2.0 } else { value.signum() + 2.0 };
                (signal + dice.below(4) as f64, [1.0, 0.3, 2.5][dice.below(3)])
            };
            self.values().iter().map(sample).collect()
        }

        fn check<C: RunningSums>(&self, criterion: &C, items: &[C::Item]) -> TestCaseResult {
            let values = self.values();
            let node = criterion.describe(items);
            if criterion.is_pure(&node) {
                return Ok(());
            }
            let contributions: Vec<_> = items.iter().map(|&item| criterion.contribution(&node, item, || 0)).collect();
            let mut order: Vec<u32> = (0..self.n_rows as u32).collect();
            order.sort_by(|&a, &b| {
                let key = |row: u32| (values[row as usize].is_nan(), values[row as usize]);
                key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
            });
            let entries: Vec<Entry<f64>> = order
                .iter()
                .map(|&row| Entry { row, value: values[row as usize] })
                .filter(|entry| entry.value != 0.0)
                .collect();
            let column = SparseColumn::new(&entries, self.n_rows);
            let (mut written, mut flags) = (Vec::new(), vec![false; self.n_rows]);
            column.order_rows(&(0..self.n_rows as u32).collect::<Vec<_>>(), &mut flags, &mut written);
            prop_assert_eq!(&written, &order);
            prop_assert!(!flags.contains(&true));

            let params = Params { min_samples_leaf: crate::Size::Rows(self.min_rows as i64), ..Params::default() };
            let x = Matrix::from_rows(&values, self.n_rows, 1).unwrap();
            let y = vec![1.0; self.n_rows];
            let rules = params.check(&x, Target::Values(&y), None, Loss::SquaredError).unwrap().rules;
            let value_order = (self.sign != 0).then_some(ValueOrder {
                sign: f64::from(self.sign),
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
            });
            let feature = Feature {
                contributions: Carried {
                    items: &order,
                    contribution: |row: u32| contributions[row as usize],
                    tag: |_| TagCellOf::<C>::from_u32(|| 0),
                },
                value: |place: usize| values[order[place] as usize],
                has_missing: true,
                value_order,
            };
            prop_assert_eq!(column.is_constant(), feature.is_constant());
            let mut start = C::Running::default();
            criterion.start(&node, &mut start);
            let search = SparseSearch {
                criterion,
                node: &node,
                start: &start,
                column,
                contributions: &contributions,
                rules: &rules,
                value_order,
            };
            let (mut contest, mut scratch) = (Tournament::new(), SparseScratch::default());
            let (table, mut buffers) = (C::Table::default(), C::Scratch::default());
            let mut incumbent = 0.0;
            for _ in 0..2 {
                contest.restart(criterion.noise(&node), incumbent);
                scan(criterion, &node, &table, &feature, &rules, &mut contest, &mut buffers);
                let expected = contest.found();
                contest.restart(criterion.noise(&node), incumbent);
                search.offer_cuts(&mut contest, &mut scratch);
                prop_assert_eq!(format!("{:?}", contest.found()), format!("{expected:?}"));
                incumbent = expected.map_or(0.0, |found| found.top);
            }
            self.check_drawn(&search)
        }

        /// The drawn cut has the gain of that cut among all rows.
        fn check_drawn<C: RunningSums>(&self, search: &SparseSearch<'_, f64, C>) -> TestCaseResult {
            let (values, seed) = (self.values(), Seed::new(self.seed));
            let (mut contest, mut scratch) = (Tournament::new(), SparseScratch::default());
            contest.restart(0.0, 0.0);
            search.offer_drawn(seed, 0, &mut contest, &mut scratch);
            let drawn = RandomCut::draw_sorted(seed, 0, self.n_rows, |place| search.column.value(place));
            let expected = drawn.and_then(|drawn| {
                let goes_left: Vec<bool> = values
                    .iter()
                    .map(|&value| value <= drawn.threshold || (drawn.missing_left && value.is_nan()))
                    .collect();
                let n_left = drawn.n_left();
                let cut = OneCut { goes_left: &goes_left, n_left, min_weight: 0.0, value_order: search.value_order };
                if n_left < self.min_rows || self.n_rows - n_left < self.min_rows {
                    return None;
                }
                let (table, mut buffers) = (C::Table::default(), C::Scratch::default());
                search.criterion.gain_of_cut(search.node, &table, search.contributions, &cut, &mut buffers)
            });
            prop_assert_eq!(contest.found().map(|found| found.gain), expected);
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn sparse_cuts_are_those_of_a_sweep(node in nodes()) {
            let samples = node.samples();
            let values: Vec<f64> = samples.iter().map(|&(y, _)| y).collect();
            let weighted: Vec<Weighted<f64>> = samples.iter().map(|&(y, weight)| Weighted { y, weight }).collect();
            node.check(&SquaredError::<f64>::new(SquaredReport::Mean), &values)?;
            node.check(&SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), &weighted)?;
            node.check(&Poisson::<f64>::new(1.0), &values)?;
            node.check(&Poisson::<Weighted<f64>>::new(2.0), &weighted)?;
            let node = Node { sign: 0, ..node };
            let codes: Vec<u32> = values.iter().map(|&y| y as u32 % 3).collect();
            let weighted: Vec<Weighted<u32>> =
                codes.iter().zip(&samples).map(|(&y, &(_, weight))| Weighted { y, weight }).collect();
            for impurity in [Impurity::Gini, Impurity::Entropy] {
                node.check(&Classes::<u32>::new(impurity, 3, node.n_rows), &codes)?;
                node.check(&Classes::<Weighted<u32>>::new(impurity, 3, node.n_rows), &weighted)?;
            }
        }
    }
}
