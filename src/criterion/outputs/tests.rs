//! The joint sweep against its naive twin: one whole sweep per output without a bar, and the sums
//! of the gains; and the gain of a single cut against the sweep of that cut.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::sweep::{GainSums, OutputsScratch, offer_sums};
use super::{OutputCriterion, OutputTables, Outputs};
use crate::contribution::{Carried, TagCell};
use crate::criterion::classes::Classes;
use crate::criterion::poisson::Poisson;
use crate::criterion::squared::{SquaredError, SquaredReport};
use crate::criterion::{Cuts, OneCut, RunningSums, TagCellOf, Weighted};
use crate::naive::draw::Dice;
use crate::params::Impurity;
use crate::split::{Found, Tournament};

#[derive(Clone, Debug)]
struct Node {
    n_rows: usize,
    n_outputs: usize,
    /// Distinct targets.
    n_distinct: usize,
    /// Rows of equal values in the order of the feature.
    run: usize,
    min_rows: usize,
    /// Least weight of a side, as a share of the node's.
    min_share: f64,
    seed: u64,
}

fn nodes() -> impl Strategy<Value = Node> {
    let n_rows = prop_oneof![3 => 2..20usize, 2 => 20..200usize, 1 => 200..900usize];
    let n_distinct = prop_oneof![2..4usize, 4..30usize, Just(1_000_000)];
    let min_share = prop_oneof![Just(0.0), 0.0..0.6f64];
    (n_rows, 1..5usize, n_distinct, 1..5usize, 1..4usize, min_share, any::<u64>()).prop_map(
        |(n_rows, n_outputs, n_distinct, run, min_rows, min_share, seed)| {
            let min_rows = min_rows.min(n_rows / 2);
            Node { n_rows, n_outputs, n_distinct, run, min_rows, min_share, seed }
        },
    )
}

impl Node {
    fn cuts(&self, min_weight: f64) -> Cuts<impl Fn(usize, usize) -> bool> {
        Cuts {
            same: |a, b| a / self.run == b / self.run,
            first: self.min_rows,
            last: self.n_rows - self.min_rows,
            min_weight,
            missing_left: false,
            value_order: None,
        }
    }

    /// The targets of each output. They drift along the order, each output at another speed.
    fn targets<I>(&self, item: impl Fn(f64, f64) -> I) -> Vec<Vec<I>> {
        let mut dice = Dice::new(self.seed);
        let mut weights = Dice::new(self.seed ^ 1);
        let weights: Vec<f64> = (0..self.n_rows).map(|_| [1.0, 0.3, 2.5, 1e-9][weights.below(4)]).collect();
        let target = |output: usize, row: usize, dice: &mut Dice| {
            let drift = (output * row * self.n_distinct / self.n_rows / 3) as f64;
            drift + dice.below(self.n_distinct) as f64
        };
        let column = |output: usize, dice: &mut Dice| {
            (0..self.n_rows).map(|row| item(target(output, row, dice), weights[row])).collect()
        };
        (0..self.n_outputs).map(|output| column(output, &mut dice)).collect()
    }
}

fn contest(incumbent: f64, offer: impl FnOnce(&mut Tournament)) -> Option<Found> {
    let mut contest = Tournament::new();
    contest.restart(0.0, incumbent);
    offer(&mut contest);
    contest.found()
}

fn check<C: RunningSums>(node: &Node, criterion: impl Fn() -> C, targets: Vec<Vec<C::Item>>) -> TestCaseResult {
    let columns = targets.clone();
    let outputs = Outputs::new(targets.into_iter().map(|targets| (criterion(), targets)));
    let rows: Vec<u32> = (0..node.n_rows as u32).collect();
    let stats = outputs.describe(&rows);
    if outputs.is_pure(&stats) {
        return Ok(());
    }
    let mut table = OutputTables::default();
    outputs.tabulate(&stats, &rows, &mut table);
    let cuts = node.cuts(node.min_share * outputs.weight(&stats));

    let mut gains = vec![(0.0, 0); node.n_rows];
    let mut n_open = 0;
    for ((criterion, stats), items) in outputs.criteria.iter().zip(&stats.outputs).zip(&columns) {
        if !criterion.is_pure(stats) {
            n_open += 1;
            let contribution = |item| criterion.contribution(stats, item, || 0);
            let contributions = Carried { items, contribution, tag: |_| TagCellOf::<C>::from_u32(|| 0) };
            let mut sums = GainSums { gains: &mut gains, loss_decrease: |gain| criterion.loss_decrease(stats, gain) };
            let (of_output, mut scratch) = (C::Table::default(), C::Scratch::default());
            criterion.sweep(stats, &of_output, &contributions, &cuts, &mut sums, &mut scratch);
        }
    }
    let expected = contest(0.0, |contest| offer_sums(&gains, [n_open, node.n_outputs], &cuts, contest));

    let mut scratch = OutputsScratch::default();
    let mut sweep = |incumbent: f64| {
        contest(incumbent, |contest| {
            C::sweep_outputs(&outputs, &stats, &table, &rows, &cuts.erased(), contest, &mut scratch);
        })
    };
    let found = sweep(0.0);
    prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    let Some(best) = expected else { return Ok(()) };
    // An incumbent that is as good rules out nothing that could win.
    prop_assert_eq!(format!("{:?}", sweep(best.top)), format!("{expected:?}"));
    let goes_left: Vec<bool> = (0..node.n_rows).map(|place| place < best.cut.n_left).collect();
    let one = OneCut { goes_left: &goes_left, ..cuts.one(best.cut.n_left) };
    prop_assert_eq!(C::gain_of_outputs(&outputs, &stats, &table, &rows, &one, &mut scratch), Some(best.gain));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn joint_sweeps_agree_with_one_sweep_per_output(node in nodes()) {
        let weighted = |y: f64, weight: f64| Weighted { y, weight };
        let class = |y: f64| y as u32 % 4;
        check(&node, || SquaredError::<f64>::new(SquaredReport::Mean), node.targets(|y, _| y * 0.37))?;
        check(&node, || SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), node.targets(weighted))?;
        check(&node, Poisson::<f64>::new, node.targets(|y, _| y))?;
        check(&node, Poisson::<Weighted<f64>>::new, node.targets(weighted))?;
        for impurity in [Impurity::Gini, Impurity::Entropy] {
            check(&node, || Classes::<u32>::new(impurity, 4, node.n_rows), node.targets(|y, _| class(y)))?;
            let targets = node.targets(|y, weight| Weighted { y: class(y), weight });
            check(&node, || Classes::<Weighted<u32>>::new(impurity, 4, node.n_rows), targets)?;
        }
    }
}
