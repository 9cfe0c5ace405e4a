//! The best allowed set of categories, where a rule forbids the best set of all.
//!
//! The best set of all is a cut of the categories in the order of their means (`category.rs`). A
//! least number of rows or weight per leaf, or a Poisson side without events, may forbid that cut.
//! The best of the other sets need not be a cut of the order:
//!
//! ```text
//! label            a      b      c          at least 3 rows per leaf: a | b c and a b | c are
//! targets          0 0    4 4 4  9 9        forbidden, a c | b is allowed
//! ```
//!
//! So where the best cut is forbidden and the node has at most [`MAX_LABELS`] categories, all sets
//! are tried, and the best allowed one is moved to the front of the order. With more categories,
//! the best allowed cut of the order is taken, which is a heuristic.
//!
//! Cost: nothing where no cut of the order is forbidden; O(rows · categories) to see that the best
//! cut is allowed; O(rows · 2^categories) otherwise.

use crate::criterion::{Criterion, OneCut};
use crate::params::Rules;
use crate::split::near;

/// The largest number of categories in a node whose sets are all tried.
pub(super) const MAX_LABELS: usize = 10;

/// A node's rows in the order of the means of their categories, missing values last.
pub(super) struct SetSearch<'a, C: Criterion> {
    pub criterion: &'a C,
    pub node: &'a C::NodeStats,
    pub table: &'a C::Table,
    pub rules: &'a Rules,
    /// The number of rows of each category.
    pub sizes: &'a [usize],
    pub contributions: &'a [C::Contribution],
    pub scratch: &'a mut C::Scratch,
}

/// Whether a rule can forbid cuts of categories with these numbers of rows in this node.
pub(super) fn may_forbid<C: Criterion>(rules: &Rules, sizes: &[usize]) -> bool {
    let is_small = |size: Option<&usize>| size.is_some_and(|&size| size < rules.min_rows_leaf);
    let few_rows = is_small(sizes.first()) || is_small(sizes.last());
    (3..=MAX_LABELS).contains(&sizes.len()) && (few_rows || rules.min_weight_leaf > 0.0 || C::FORBIDS_SIDES)
}

impl<C: Criterion> SetSearch<'_, C> {
    /// The set of categories, as bits by their places in the order, that must come first for the
    /// best allowed split to be a cut; `None` if it is one already, or if no set is allowed.
    pub fn run(&mut self) -> Option<u32> {
        let cuts: Vec<Choice> = (1..=self.sizes.len()).flat_map(|n| self.choices((1 << n) - 1)).collect();
        let of_all = self.best(&cuts, 0.0, 1).map_or(0.0, |(gain, _)| gain);
        let allowed = |search: &mut Self, of: &[Choice]| {
            search.best(of, search.rules.min_weight_leaf, search.rules.min_rows_leaf)
        };
        // A side that the criterion itself forbids has no gain to compare with.
        let is_known = !C::FORBIDS_SIDES || cuts.iter().all(|&choice| self.gain(choice, 0.0, 1).is_some());
        let of_cuts = allowed(self, &cuts);
        if is_known && of_cuts.is_some_and(|(gain, _)| gain >= near(of_all, 0.0)) {
            return None;
        }
        // The first category is always on the left: exchanging the sides changes no gain.
        let sets: Vec<Choice> = (1..1u32 << self.sizes.len()).step_by(2).flat_map(|set| self.choices(set)).collect();
        let (gain, choice) = allowed(self, &sets)?;
        let is_better = of_cuts.is_none_or(|(of_cuts, _)| near(gain, self.criterion.noise(self.node)) > of_cuts);
        is_better.then_some(choice.set)
    }

    /// A set on the left, with the missing values on either side; not all rows.
    fn choices(&self, set: u32) -> impl Iterator<Item = Choice> + use<C> {
        let n_missing = self.contributions.len() - self.sizes.iter().sum::<usize>();
        let is_all = set + 1 == 1 << self.sizes.len();
        let sides: &[bool] = match (n_missing > 0, is_all) {
            (false, true) => &[],
            (false, false) | (true, true) => &[false],
            (true, false) => &[false, true],
        };
        sides.iter().map(move |&missing_left| Choice { set, missing_left })
    }

    /// The first choice that ties with the highest gain, and the highest gain.
    fn best(&mut self, choices: &[Choice], min_weight: f64, min_rows: usize) -> Option<(f64, Choice)> {
        let gains: Vec<Option<f64>> = choices.iter().map(|&choice| self.gain(choice, min_weight, min_rows)).collect();
        let highest = gains.iter().copied().flatten().reduce(f64::max)?;
        let least = near(highest, self.criterion.noise(self.node));
        let first = gains.iter().position(|gain| gain.is_some_and(|gain| gain >= least))?;
        Some((highest, choices[first]))
    }

    /// The gain of a choice; `None` if it is forbidden.
    fn gain(&mut self, choice: Choice, min_weight: f64, min_rows: usize) -> Option<f64> {
        let n_rows = self.contributions.len();
        let mut goes_left = Vec::with_capacity(n_rows);
        for (place, &size) in self.sizes.iter().enumerate() {
            goes_left.extend(std::iter::repeat_n(choice.set >> place & 1 != 0, size));
        }
        goes_left.resize(n_rows, choice.missing_left);
        let n_left = goes_left.iter().filter(|&&left| left).count();
        if n_left < min_rows || n_rows - n_left < min_rows {
            return None;
        }
        let cut = OneCut { goes_left: &goes_left, n_left, min_weight, value_order: None };
        self.criterion.gain_of_cut(self.node, self.table, self.contributions, &cut, self.scratch)
    }
}

/// Which categories go left, as bits by their places in the order, and the side of missing values.
#[derive(Clone, Copy, Debug)]
struct Choice {
    set: u32,
    missing_left: bool,
}
