//! Trees of medians and quantiles: both methods grow the same tree, and transformations that keep
//! the order of the losses keep the tree.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{Loss, MedianMethod, Params, Size, Tree};

use crate::common;
use crate::common::definition::Row;
use crate::common::draw::{Cells, Dice, Values, Weights};
use crate::common::structure;
use crate::common::table::{Aim, Recipe, Settings, Table};

/// Small tables for medians and quantiles, with targets of the given kinds.
fn recipes(values: impl Strategy<Value = Values>) -> impl Strategy<Value = Recipe> {
    (Recipe::any(1..200, 1..5), Aim::ranks(values)).prop_map(|(recipe, aim)| Recipe { aim, ..recipe })
}

/// Targets with ties and targets without, both without an offset.
fn plain_values() -> impl Strategy<Value = Values> {
    prop::sample::select(vec![Values::Integers, Values::Reals])
}

fn weigh(recipe: Recipe, kind: Weights) -> Table {
    Recipe { weights: Some((kind, 0.2)), ..recipe }.table()
}

/// The same table with other weights.
fn with_weights(table: &Table, weight: impl Fn(f64) -> f64) -> Table {
    let weights = table.weights.as_ref().map(|weights| weights.iter().map(|&w| weight(w)).collect());
    Table { weights, ..table.clone() }
}

fn with_targets(table: &Table, target: impl Fn(f64) -> f64) -> Table {
    Table { y: table.y.iter().map(|&y| target(y)).collect(), ..table.clone() }
}

fn by_two_heaps(params: &Params) -> Params {
    Params { median_method: MedianMethod::TwoHeaps, ..params.clone() }
}

/// Checks that both trees have the same splits, and that `value` maps the values of `tree` to those
/// of `other`.
fn check_same(tree: &Tree, other: &Tree, value: impl Fn(f64) -> f64) -> TestCaseResult {
    prop_assert_eq!(structure(tree), structure(other));
    for node in 0..tree.node_count() {
        prop_assert_eq!(value(tree.value(node)[0]), other.value(node)[0], "node {}", node);
    }
    Ok(())
}

/// Checks that two numbers are equal up to rounding.
fn check_close(a: f64, b: f64) -> TestCaseResult {
    prop_assert!((a - b).abs() <= 1e-12 * a.abs().max(b.abs()), "{a} and {b}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn methods(recipe in recipes(Values::any()), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        prop_assert_eq!(table.fit(&params), table.fit(&by_two_heaps(&params)));
    }

    /// Levels such as 1/49, where 49 · (1/49) is not 1 in floating point.
    #[test]
    fn methods_at_odd_levels(recipe in recipes(plain_values()), below in 1..40u32, whole in 41..200u32) {
        let table = Table { loss: Loss::Quantile(f64::from(below) / f64::from(whole)), ..recipe.table() };
        prop_assert_eq!(table.fit(&Params::default()), table.fit(&by_two_heaps(&Params::default())));
    }

    /// All stopping rules together, so that most nodes stop.
    #[test]
    fn methods_under_strict_rules(
        recipe in recipes(Values::any()), leaf in 1..20i64, share in 0.0..0.2, decrease in 0.0..0.05,
    ) {
        let table = recipe.table();
        let rows: Vec<Row> = table.taking_part().iter().map(|&row| table.row(row)).collect();
        let impurity = table.definition().loss(&rows) / common::definition::total_weight(&rows);
        let params = Params {
            min_samples_leaf: Size::Rows(leaf),
            min_weight_fraction_leaf: share,
            min_impurity_decrease: decrease * impurity,
            ..Params::default()
        };
        prop_assert_eq!(table.fit(&params), table.fit(&by_two_heaps(&params)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn methods_and_threads_in_large_tables(
        recipe in prop_oneof![Recipe::wide(), Recipe::long()], aim in Aim::ranks(Values::any()), settings in Settings::any(),
    ) {
        let table = Recipe { aim, ..recipe }.table();
        let params = settings.params(&table);
        let alone = table.fit(&Params { n_jobs: Some(1), ..params.clone() });
        prop_assert_eq!(&alone, &table.fit(&Params { n_jobs: Some(3), ..params.clone() }));
        prop_assert_eq!(&alone, &table.fit(&by_two_heaps(&params)));
    }
}

proptest! {
    #[test]
    fn offset_of_y(
        recipe in recipes(prop::sample::select(vec![Values::Integers, Values::OnGrid])), settings in Settings::any(),
    ) {
        let table = recipe.table();
        let params = settings.params(&table);
        let (tree, moved) = (table.fit(&params), with_targets(&table, |y| y + 1e9).fit(&params));
        check_same(&tree, &moved, |value| value + 1e9)?;
        for node in 0..tree.node_count() {
            let off = (tree.impurity(node) - moved.impurity(node)).abs();
            prop_assert!(off <= 1e9 * f64::EPSILON, "node {node} is off by {off}");
        }
    }

    #[test]
    fn scale_of_y(recipe in recipes(Values::any()), settings in Settings::any(), power in -150..150) {
        let (table, scale) = (recipe.table(), 2f64.powi(power));
        let scaled = with_targets(&table, |y| y * scale);
        let (tree, other) = (table.fit(&settings.params(&table)), scaled.fit(&settings.params(&scaled)));
        check_same(&tree, &other, |value| value * scale)?;
        for node in 0..tree.node_count() {
            prop_assert_eq!(tree.impurity(node) * scale, other.impurity(node));
        }
    }

    /// Weights in tenths give the tree of integer weights, also where exactly half of the weight
    /// lies between two rows, which sums of floating-point tenths miss by rounding. The direction
    /// of missing values is left out where no row has one: that rounding decides between sides of
    /// equal weight.
    #[test]
    fn decimal_scale_of_weights(
        recipe in recipes(plain_values()), leaf in 1..10i64, scale in prop::sample::select(vec![0.1, 0.3, 1e-9, 7e11]),
    ) {
        let table = weigh(recipe, Weights::Integers);
        let params = Params { min_samples_leaf: Size::Rows(leaf), ..Params::default() };
        let (tree, other) = (table.fit(&params), with_weights(&table, |w| w * scale).fit(&params));
        prop_assert_eq!(tree.node_count(), other.node_count());
        for node in 0..tree.node_count() {
            let split = |tree: &Tree| (tree.feature(node), tree.threshold(node), tree.children(node));
            prop_assert_eq!(split(&tree), split(&other), "node {}", node);
            prop_assert_eq!(tree.value(node), other.value(node), "node {}", node);
        }
    }

    #[test]
    fn binary_scale_of_weights(recipe in recipes(Values::any()), kind in Weights::any(), power in -60..60) {
        let (table, params) = (weigh(recipe, kind), Params::default());
        check_same(&table.fit(&params), &with_weights(&table, |w| w * 2f64.powi(power)).fit(&params), |value| value)?;
    }

    #[test]
    fn integer_weights_are_repeated_rows(recipe in recipes(plain_values()), max_depth in prop::option::of(1..6i64)) {
        let (table, params) = (weigh(recipe, Weights::Integers), Params { max_depth, ..Params::default() });
        let times = |row: usize| std::iter::repeat_n(row, table.row(row).1 as usize);
        let rows: Vec<usize> = (0..table.n_rows()).flat_map(times).collect();
        let repeated = Table { weights: None, ..table.select(&rows) }.fit(&params);
        let weighted = table.fit(&params);
        check_same(&weighted, &repeated, |value| value)?;
        for node in 0..weighted.node_count() {
            prop_assert_eq!(weighted.weight(node), repeated.weight(node));
            check_close(weighted.impurity(node), repeated.impurity(node))?;
        }
    }

    #[test]
    fn the_quantile_of_level_one_half_is_the_median(recipe in recipes(Values::any()), settings in Settings::any()) {
        let table = Table { loss: Loss::AbsoluteError, ..recipe.table() };
        let halved = Table { loss: Loss::Quantile(0.5), ..table.clone() };
        let (tree, other) = (table.fit(&settings.params(&table)), halved.fit(&settings.params(&halved)));
        check_same(&tree, &other, |value| value)?;
        for node in 0..tree.node_count() {
            check_close(tree.impurity(node), 2.0 * other.impurity(node))?;
        }
    }

    /// The quantile of −y at a level is minus that of y at one minus the level. Ties
    /// between cuts go to the lowest threshold in both.
    #[test]
    fn a_quantile_of_mirrored_targets_is_the_other_quantile(recipe in recipes(plain_values()), below in 1..20u32) {
        let table = Table { loss: Loss::Quantile(f64::from(below) / 20.0), ..recipe.table() };
        let mirrored = with_targets(&table, |y| -y);
        let mirrored = Table { loss: Loss::Quantile(f64::from(20 - below) / 20.0), ..mirrored };
        let (tree, other) = (table.fit(&Params::default()), mirrored.fit(&Params::default()));
        check_same(&tree, &other, |value| -value)?;
    }
}

/// Orders of the targets along a column that move the median as far as possible.
fn hostile_orders(n: usize) -> Vec<Vec<f64>> {
    let ramp = || (0..n).map(|i| i as f64);
    vec![
        ramp().collect(),
        ramp().map(|i| -i).collect(),
        // Up, then down.
        ramp().map(|i| i.min(n as f64 - i)).collect(),
        // Alternately from both ends: the median stays, its neighbours change.
        (0..n).map(|i| if i % 2 == 0 { i as f64 } else { -(i as f64) }).collect(),
        // Two levels in turn, in blocks: the median crosses between them repeatedly.
        (0..n).map(|i| f64::from(i / 32 % 2 == 0) * 1e6 + i as f64).collect(),
        vec![1.0; n],
    ]
}

/// Weights that move the median from one end to the other.
fn hostile_weights(n: usize) -> Vec<Option<Vec<f64>>> {
    vec![
        None,
        // A heavy row at regular distances.
        Some((0..n).map(|i| if i % 40 == 0 { 1e6 } else { 1.0 }).collect()),
        // Each block outweighs all blocks before it.
        Some((0..n).map(|i| 2f64.powi((i / 30) as i32)).collect()),
        Some((0..n).map(|i| if i % 2 == 0 { 1.0 } else { 1e-9 }).collect()),
    ]
}

#[test]
fn hostile_orders_and_weights() {
    let n = 600;
    let mut dice = Dice::new(1);
    let columns = vec![(0..n).map(|i| i as f64).collect(), Cells::Distinct.draw(&mut dice, n, 0.1)];
    for y in hostile_orders(n) {
        for weights in hostile_weights(n) {
            for loss in [Loss::AbsoluteError, Loss::Quantile(0.05), Loss::Quantile(0.9)] {
                let table = Table { loss, ..Table::of_values(columns.clone(), y.clone(), weights.clone()) };
                let params = Params::default();
                let tree = table.fit(&params);
                assert_eq!(tree, table.fit(&by_two_heaps(&params)), "{loss:?}");
                common::audit::audit(&table, &params, &tree, |node| node < 8).expect("the best splits");
            }
        }
    }
}

/// Exactly half of the weight is at most 1: that 0.1 + 0.2 is 0.30000000000000004 must not matter.
#[test]
fn a_half_between_two_rows() {
    let table = |weights: [f64; 3]| Table {
        loss: Loss::AbsoluteError,
        ..Table::of_values(vec![vec![0.0; 3]], vec![0.0, 1.0, 5.0], Some(weights.to_vec()))
    };
    for weights in [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [0.7, 1.4, 2.1], [1e-9, 2e-9, 3e-9]] {
        let tree = table(weights).fit(&Params::default());
        assert_eq!(tree.value(0), [3.0], "{weights:?}");
    }
}
