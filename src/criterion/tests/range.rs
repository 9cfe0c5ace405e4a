//! The rows of a node in one feature's order: drawn at random, scanned, and cut in every allowed
//! way.

use proptest::prelude::*;

use crate::columns::local::{LocalOrders, local_table};
use crate::contribution::{Carried, TagCell};
use crate::criterion::classes::Classes;
use crate::criterion::poisson::Poisson;
use crate::criterion::squared::SquaredError;
use crate::criterion::{Criterion, GainBounds, OneCut, SmallNode, ValueOrder, Weighted};
use crate::naive;
use crate::naive::definition::{Definition, Row, total_weight};
use crate::naive::draw::{Cells, Dice, Weights};
use crate::params::Rules;
use crate::scan::{Feature, scan};
use crate::split::{Contest, Cut, Found, Tournament};

/// A criterion with a definition: rows of the definition become its items.
pub trait Twin: Criterion {
    fn item(row: Row) -> Self::Item;
}

impl Twin for SquaredError<f64> {
    fn item((y, _): Row) -> f64 {
        y
    }
}

impl Twin for SquaredError<Weighted<f64>> {
    fn item((y, weight): Row) -> Weighted<f64> {
        Weighted { y, weight }
    }
}

impl Twin for Poisson<f64> {
    fn item((y, _): Row) -> f64 {
        y
    }
}

impl Twin for Poisson<Weighted<f64>> {
    fn item((y, weight): Row) -> Weighted<f64> {
        Weighted { y, weight }
    }
}

impl Twin for Classes<u32> {
    fn item((y, _): Row) -> u32 {
        y as u32
    }
}

impl Twin for Classes<Weighted<u32>> {
    fn item((y, weight): Row) -> Weighted<u32> {
        Weighted { y: y as u32, weight }
    }
}

/// The rows of a node in a column: sorted values, NaN last, each with its row.
#[derive(Clone, Debug)]
pub struct Range {
    pub values: Vec<f64>,
    pub rows: Vec<Row>,
    pub rules: Rules,
}

/// The settings of a random range.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub n: usize,
    pub cells: Cells,
    pub missing: f64,
    /// Shares of the largest possible `min_rows_leaf` and `min_weight_leaf`.
    pub least_rows: f64,
    pub least_weight: f64,
    pub weights: Weights,
    pub seed: u64,
}

pub fn recipes() -> impl Strategy<Value = Recipe> {
    // Sizes of up to one block, up to the size from which blocks are skipped, and beyond.
    let n = prop_oneof![3 => 2..40usize, 2 => 40..300usize, 2 => 250..1_500usize];
    let share = || prop_oneof![3 => Just(0.0), 1 => 0.0..0.2, 1 => 0.0..1.0];
    let missing = prop_oneof![2 => Just(0.0), 1 => Just(0.1), 1 => Just(0.6)];
    (n, Cells::any(), missing, share(), share(), Weights::any(), any::<u64>()).prop_map(
        |(n, cells, missing, least_rows, least_weight, weights, seed)| Recipe {
            n,
            cells,
            missing,
            least_rows,
            least_weight,
            weights,
            seed,
        },
    )
}

impl Recipe {
    /// The range with targets from `targets`, and with random weights or weights of one.
    pub fn range(&self, weighted: bool, targets: impl Fn(&mut Dice, &[f64]) -> Vec<f64>) -> Range {
        let mut dice = Dice::new(self.seed);
        let mut values = self.cells.draw(&mut dice, self.n, self.missing);
        values.sort_by(|a, b| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b)));
        let y = targets(&mut dice, &values);
        let weights = if weighted { self.weights.draw(&mut dice, self.n) } else { vec![1.0; self.n] };
        let rows: Vec<Row> = y.into_iter().zip(weights).collect();
        let rules = Rules {
            max_depth: u32::MAX,
            min_rows_split: 2,
            min_rows_leaf: 1 + (self.least_rows * (self.n / 2 - 1) as f64) as usize,
            min_weight_leaf: 0.5 * self.least_weight * total_weight(&rows),
            min_gain: 0.0,
        };
        Range { values, rows, rules }
    }
}

impl Range {
    fn items<C: Twin>(&self) -> Vec<C::Item> {
        self.rows.iter().map(|&row| C::item(row)).collect()
    }

    pub fn describe<C: Twin>(&self, criterion: &C) -> C::NodeStats {
        criterion.describe(&self.items::<C>())
    }

    /// The best cut of the feature if another feature has found a gain of `incumbent`, as in large
    /// nodes.
    pub fn find<C: Twin>(&self, criterion: &C, node: &C::NodeStats, incumbent: f64) -> Option<Found> {
        self.find_in_order(criterion, node, incumbent, None)
    }

    /// The same with a monotonic constraint.
    pub fn find_in_order<C: Twin>(
        &self,
        criterion: &C,
        node: &C::NodeStats,
        incumbent: f64,
        value_order: Option<ValueOrder>,
    ) -> Option<Found> {
        let items = self.items::<C>();
        let contributions = Carried {
            items: &items,
            contribution: |item| criterion.contribution(node, item, || unreachable!()),
            tag: |_| <C::Bounds as GainBounds<C>>::TagCell::from_u32(|| unreachable!()),
        };
        let feature =
            Feature { contributions, value: |place: usize| self.values[place], has_missing: true, value_order };
        let mut tournament = Tournament::new();
        tournament.restart(criterion.noise(node), incumbent);
        scan(criterion, node, &C::Table::default(), &feature, &self.rules, &mut tournament, &mut C::Scratch::default());
        tournament.found()
    }

    /// The same cut by cut, without a sweep.
    pub fn find_one_by_one<C: Twin>(
        &self,
        criterion: &C,
        node: &C::NodeStats,
        value_order: Option<ValueOrder>,
    ) -> Option<Found> {
        let (n_rows, n_missing) = (self.rows.len(), self.values.iter().filter(|value| value.is_nan()).count());
        let contributions: Vec<_> =
            self.items::<C>().into_iter().map(|item| criterion.contribution(node, item, || unreachable!())).collect();
        let mut tournament = Tournament::new();
        tournament.restart(criterion.noise(node), 0.0);
        for cut in naive::cuts(&self.values, self.rules.min_rows_leaf) {
            let (front, back) = if cut.missing_left { (cut.n_left - n_missing, n_missing) } else { (cut.n_left, 0) };
            let goes_left: Vec<bool> = (0..n_rows).map(|place| place < front || place >= n_rows - back).collect();
            let (n_left, min_weight) = (cut.n_left, self.rules.min_weight_leaf);
            let one = OneCut { goes_left: &goes_left, n_left, min_weight, value_order };
            let scratch = &mut C::Scratch::default();
            if let Some(gain) = criterion.gain_of_cut(node, &C::Table::default(), &contributions, &one, scratch) {
                tournament.offer(gain, cut);
            }
        }
        tournament.found()
    }

    /// Upper bounds on the gain of the feature at every place among 7 equal features; empty for
    /// criteria without bounds.
    pub fn bounds<C: Twin>(&self, criterion: &C, node: &C::NodeStats) -> Vec<f64> {
        let n_rows = self.rows.len();
        // Rows of a subtree are numbered in an order of their own.
        let rows: Vec<u16> = (0..n_rows as u16).rev().collect();
        let mut items = self.items::<C>();
        items.reverse();
        let columns = rows.repeat(7);
        let orders = LocalOrders { columns: &columns, n_rows, start: 0, len: n_rows };
        let mut bounds = Vec::new();
        let contributions = local_table();
        let min_rows = self.rules.min_rows_leaf;
        let rows = SmallNode {
            orders,
            features: &[0, 1, 2, 3, 4, 5, 6],
            items: &items,
            contributions: &contributions,
            min_rows,
        };
        C::Bounds::of_small_node(criterion, node, &C::Table::default(), &rows, &mut C::Scratch::default(), &mut bounds);
        bounds
    }

    pub fn has_missing(&self) -> bool {
        self.values.iter().any(|value| value.is_nan())
    }

    pub fn sides(&self, cut: Cut) -> [Vec<Row>; 2] {
        let n_missing = self.values.iter().filter(|value| value.is_nan()).count();
        naive::sides(cut, n_missing, &self.rows)
    }

    /// Every cut with its gain and the weight of its lighter side, in the order of the tie rule.
    pub fn offers(&self, definition: Definition) -> Vec<Offer> {
        let loss = definition.loss(&self.rows);
        let offer = |cut: Cut| {
            let [left, right] = self.sides(cut);
            Offer {
                cut,
                gain: loss - definition.loss(&left) - definition.loss(&right),
                lighter: total_weight(&left).min(total_weight(&right)),
            }
        };
        naive::cuts(&self.values, self.rules.min_rows_leaf).into_iter().map(offer).collect()
    }

    /// Whether a cut would be allowed if the least weight were larger by this share.
    pub fn allows(&self, offer: &Offer, slack: f64) -> bool {
        // The deviance of targets that are all 0 is infinite.
        offer.gain.is_finite() && offer.lighter >= self.rules.min_weight_leaf * (1.0 + slack)
    }
}

/// A cut, its gain, and the weight of its lighter side.
pub struct Offer {
    pub cut: Cut,
    pub gain: f64,
    pub lighter: f64,
}
