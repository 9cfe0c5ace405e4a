//! The best cut of a sparse column against a sweep of all rows of the node, and the drawn cut
//! against the gain of that cut.

use std::cmp::Ordering;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::random::{RandomCut, Seed};
use super::sparse::{ColumnSearch, NodeColumn};
use super::sparse_column::{BySums, SparseColumn};
use super::sparse_sweep::BySweeps;
use crate::contribution::{Carried, TagCell};
use crate::criterion::classes::Classes;
use crate::criterion::outputs::{AnyOutputs, Outputs};
use crate::criterion::poisson::Poisson;
use crate::criterion::quantile::{Quantile, QuantileReport, RankedSample};
use crate::criterion::squared::{SquaredError, SquaredReport};
use crate::criterion::{Criterion, GainBounds, OneCut, TagCellOf, TargetRanking, ValueOrder, Weighted};
use crate::data::{Entry, Matrix, Target};
use crate::median::Level;
use crate::naive::draw::Dice;
use crate::params::{Impurity, Loss, MedianMethod, Params, Rules, Size};
use crate::scan::{Feature, scan};
use crate::split::{Aim, Tournament};

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

    fn entries(&self, values: &[f64]) -> (Vec<u32>, Vec<Entry<f64>>) {
        let mut order: Vec<u32> = (0..self.n_rows as u32).collect();
        order.sort_by(|&a, &b| {
            let key = |row: u32| (values[row as usize].is_nan(), values[row as usize]);
            key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal)
        });
        let entries = order.iter().map(|&row| Entry { row, value: values[row as usize] });
        let entries = entries.filter(|entry| entry.value != 0.0).collect();
        (order, entries)
    }

    fn rules(&self, values: &[f64]) -> Rules {
        let params = Params { min_samples_leaf: Size::Rows(self.min_rows as i64), ..Params::default() };
        let x = Matrix::from_rows(values, self.n_rows, 1).unwrap();
        let y = vec![1.0; self.n_rows];
        params.check(&x, Target::Values(&y), None, Loss::SquaredError).unwrap().rules
    }

    /// `items` has the target of each row. Ranked criteria compare them by `C::Ranking`.
    fn check<C: Criterion, S: ColumnSearch<C>>(&self, criterion: &C, items: &[C::Item]) -> TestCaseResult {
        let values = self.values();
        let rows: Vec<u32> = (0..self.n_rows as u32).collect();
        let mut by_target = rows.clone();
        if C::Ranking::RANKED {
            by_target.sort_by_key(|&row| C::Ranking::global_rank(items[row as usize]));
        }
        let mut ranks = vec![0; self.n_rows];
        (0..).zip(&by_target).for_each(|(rank, &row)| ranks[row as usize] = rank);
        let ascending: Vec<C::Item> = by_target.iter().map(|&row| items[row as usize]).collect();
        let node = criterion.describe(&ascending);
        if criterion.is_pure(&node) {
            return Ok(());
        }
        let (order, entries) = self.entries(&values);
        let column = SparseColumn::new(&entries, self.n_rows);
        let (mut written, mut flags) = (Vec::new(), vec![false; self.n_rows]);
        column.order_rows(&rows, &mut flags, &mut written);
        prop_assert_eq!(&written, &order);
        prop_assert!(!flags.contains(&true));

        let rules = self.rules(&values);
        let value_order = (self.sign != 0).then_some(ValueOrder {
            sign: f64::from(self.sign),
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        });
        let (mut table, mut buffers) = (C::Table::default(), C::Scratch::default());
        criterion.tabulate(&node, &ascending, &mut table);
        let tags = C::Bounds::class_tags(&table);
        let contribution = |row: u32| criterion.contribution(&node, items[row as usize], || ranks[row as usize]);
        let feature = Feature {
            contributions: Carried {
                items: &order,
                contribution,
                tag: |place: usize| TagCellOf::<C>::from_u32(|| tags[ranks[order[place] as usize]]),
            },
            value: |place: usize| values[order[place] as usize],
            has_missing: true,
            value_order,
        };
        prop_assert_eq!(column.is_constant(), feature.is_constant());
        let mut shared = S::Shared::default();
        S::share((criterion, &node), [&rows, &by_target], items, &mut shared);
        let at = NodeColumn { criterion, node: &node, column, rows: &rows, items, rules: &rules, value_order };
        let (mut contest, mut scratch) = (Tournament::new(), S::Scratch::default());
        // Without an incumbent, with one that the best cut ties with, and for the middle cut.
        let mut incumbent = Some(0.0);
        for _ in 0..3 {
            let restart = |contest: &mut Tournament| match incumbent {
                Some(incumbent) => contest.restart(criterion.noise(&node), incumbent),
                None => contest.restart_for(Aim::Middle),
            };
            restart(&mut contest);
            scan(criterion, &node, &table, &feature, &rules, &mut contest, &mut buffers);
            let expected = contest.found();
            restart(&mut contest);
            S::offer_cuts(&at, &shared, &mut contest, &mut scratch);
            prop_assert_eq!(format!("{:?}", contest.found()), format!("{expected:?}"), "{:?}", incumbent);
            // Criteria that look for the middle offer every allowed cut.
            let next = expected.map_or(0.0, |found| found.top);
            incumbent = if incumbent == Some(0.0) || !C::Ranking::RANKED { Some(next) } else { None };
        }
        let seed = Seed::new(self.seed);
        let drawn = RandomCut::draw_sorted(seed, 0, self.n_rows, |place| column.value(place));
        contest.restart(0.0, 0.0);
        if let Some(drawn) = &drawn {
            S::offer_drawn(&at, drawn, &shared, &mut contest, &mut scratch);
        }
        let contributions: Vec<_> = rows.iter().map(|&row| contribution(row)).collect();
        let expected = drawn.and_then(|drawn| {
            let goes_left: Vec<bool> = values
                .iter()
                .map(|&value| value <= drawn.threshold || (drawn.missing_left && value.is_nan()))
                .collect();
            let n_left = drawn.n_left();
            let cut = OneCut { goes_left: &goes_left, n_left, min_weight: 0.0, value_order };
            if n_left < self.min_rows || self.n_rows - n_left < self.min_rows {
                return None;
            }
            criterion.gain_of_cut(&node, &table, &contributions, &cut, &mut buffers)
        });
        prop_assert_eq!(contest.found().map(|found| found.gain), expected);
        Ok(())
    }

    /// Quantiles of these targets.
    fn check_quantile<T: RankedSample>(&self, level: Level, targets: &[T]) -> TestCaseResult {
        let mut by_target: Vec<usize> = (0..self.n_rows).collect();
        by_target.sort_by(|&a, &b| targets[a].y().total_cmp(&targets[b].y()));
        let mut items = vec![0; self.n_rows];
        (0..).zip(&by_target).for_each(|(rank, &row)| items[row] = rank);
        let sorted = by_target.iter().map(|&row| targets[row]).collect();
        let criterion = Quantile::<T>::new(level, QuantileReport::PinballLoss, MedianMethod::RankBitmap, sorted);
        self.check::<_, BySweeps>(&criterion, &items)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cuts_by_sums_are_those_of_a_whole_sweep(node in nodes()) {
        let samples = node.samples();
        let values: Vec<f64> = samples.iter().map(|&(y, _)| y).collect();
        let weighted: Vec<Weighted<f64>> = samples.iter().map(|&(y, weight)| Weighted { y, weight }).collect();
        node.check::<_, BySums>(&SquaredError::<f64>::new(SquaredReport::Mean), &values)?;
        node.check::<_, BySums>(&SquaredError::<Weighted<f64>>::new(SquaredReport::Mean), &weighted)?;
        node.check::<_, BySums>(&Poisson::<f64>::new(), &values)?;
        node.check::<_, BySums>(&Poisson::<Weighted<f64>>::new(), &weighted)?;
        let node = Node { sign: 0, ..node };
        let codes: Vec<u32> = values.iter().map(|&y| y as u32 % 3).collect();
        let weighted: Vec<Weighted<u32>> =
            codes.iter().zip(&samples).map(|(&y, &(_, weight))| Weighted { y, weight }).collect();
        for impurity in [Impurity::Gini, Impurity::Entropy] {
            node.check::<_, BySums>(&Classes::<u32>::new(impurity, 3, node.n_rows), &codes)?;
            node.check::<_, BySums>(&Classes::<Weighted<u32>>::new(impurity, 3, node.n_rows), &weighted)?;
        }
    }

    #[test]
    fn swept_cuts_are_those_of_a_whole_sweep(node in nodes()) {
        let samples = node.samples();
        let values: Vec<f64> = samples.iter().map(|&(y, _)| y).collect();
        let weighted: Vec<Weighted<f64>> = samples.iter().map(|&(y, weight)| Weighted { y, weight }).collect();
        let squares: Vec<f64> = values.iter().map(|y| y * y % 5.0).collect();
        for level in [Level::HALF, Level::new(0.3).unwrap()] {
            node.check_quantile(level, &values)?;
            node.check_quantile(level, &weighted)?;
        }
        let node = Node { sign: 0, ..node };
        let rows: Vec<u32> = (0..node.n_rows as u32).collect();
        let squared = [&values, &squares].map(|y| (SquaredError::<f64>::new(SquaredReport::Mean), y.clone()));
        node.check::<_, BySweeps>(&AnyOutputs::<false>::new(Outputs::new(squared)), &rows)?;
        let classes = [&values, &squares].map(|y| {
            (Classes::<u32>::new(Impurity::Entropy, 5, node.n_rows), y.iter().map(|&y| y as u32 % 5).collect())
        });
        node.check::<_, BySweeps>(&AnyOutputs::<false>::new(Outputs::new(classes)), &rows)?;
        let poisson = [0.5, 2.0].map(|factor| {
            let targets = weighted.iter().map(|row| Weighted { y: (row.y * factor).floor(), ..*row }).collect();
            (Poisson::<Weighted<f64>>::new(), targets)
        });
        node.check::<_, BySweeps>(&AnyOutputs::<true>::new(Outputs::new(poisson)), &rows)?;
        let medians = [&values, &squares].map(|y| {
            let mut by_target: Vec<usize> = (0..node.n_rows).collect();
            by_target.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
            let mut items = vec![0; node.n_rows];
            (0..).zip(&by_target).for_each(|(rank, &row)| items[row] = rank);
            let sorted = by_target.iter().map(|&row| y[row]).collect();
            let criterion =
                Quantile::<f64>::new(Level::HALF, QuantileReport::AbsoluteError, MedianMethod::RankBitmap, sorted);
            (criterion, items)
        });
        node.check::<_, BySweeps>(&AnyOutputs::<false>::new(Outputs::new(medians)), &rows)?;
    }
}
