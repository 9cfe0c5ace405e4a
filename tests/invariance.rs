//! What must not change the tree: threads, memory order, offsets and scales, the order of the rows,
//! and equivalent weights and columns.

use proptest::prelude::*;
use splitwood::{Loss, Matrix, Params, Size, Target, Tree};

use crate::common::draw::{Cells, Dice, Values, Weights};
use crate::common::structure;
use crate::common::table::{Aim, Recipe, Settings, Table};

/// The nodes of a tree, bit for bit, without its number of features.
fn nodes(tree: &Tree) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    let statistics = |id: usize| (tree.n_rows(id), tree.weight(id), tree.impurity(id), tree.value(id).to_vec());
    structure(tree).into_iter().enumerate().map(|(id, test)| (test, statistics(id))).collect()
}

/// Settings that don't depend on the number of rows, so that they suit tables of different lengths.
fn depths() -> impl Strategy<Value = Params> {
    prop::option::of(1..6i64).prop_map(|max_depth| Params { max_depth, ..Params::default() })
}

/// Tables large enough that several threads grow the upper nodes.
fn large_tables() -> impl Strategy<Value = Table> {
    prop_oneof![Recipe::wide(), Recipe::long()].prop_map(|recipe| recipe.table())
}

fn small_recipes() -> impl Strategy<Value = Recipe> {
    Recipe::any(1..200, 1..5)
}

/// Replaces targets whose gains could tie by chance, so that rounding decides nothing.
fn without_chance_ties(recipe: Recipe) -> Recipe {
    let aim = match recipe.aim {
        Aim::Values(_) => Aim::Values(Values::Reals),
        Aim::Ranks(_, loss) => Aim::Ranks(Values::Reals, loss),
        Aim::Counts(_) => Aim::Counts(Values::Reals),
        classes @ Aim::Classes { .. } => classes,
    };
    Recipe { aim, ..recipe }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn threads(table in large_tables(), settings in Settings::any()) {
        let params = settings.params(&table);
        let alone = table.fit(&Params { n_jobs: Some(1), ..params.clone() });
        for n_jobs in [None, Some(2), Some(-1)] {
            prop_assert_eq!(&alone, &table.fit(&Params { n_jobs, ..params.clone() }));
        }
    }

    #[test]
    fn duplicated_columns_of_large_tables(table in large_tables()) {
        let twice = Table { columns: [&table.columns[..], &table.columns].concat(), ..table.clone() };
        prop_assert_eq!(nodes(&table.fit(&Params::default())), nodes(&twice.fit(&Params::default())));
    }
}

proptest! {
    #[test]
    fn memory_order(recipe in small_recipes(), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let tree = table.fit(&params);
        let (n, k) = (table.n_rows(), table.columns.len());
        let by_columns = table.columns.concat();
        let backwards: Vec<f64> = table.cells().into_iter().rev().collect();
        let gappy: Vec<f64> = table.cells().into_iter().flat_map(|cell| [cell, f64::NAN, -1.0]).collect();
        let (rows, columns) = (n as isize, k as isize);
        for x in [
            Matrix::with_strides(&by_columns, 0, n, k, 1, rows),
            Matrix::with_strides(&backwards, n * k - 1, n, k, -columns, -1),
            Matrix::with_strides(&gappy, 0, n, k, 3 * columns, 3),
        ] {
            prop_assert_eq!(&table.fit_to(&x.unwrap(), &params).unwrap(), &tree);
        }
    }

    #[test]
    fn offset_of_y(recipe in small_recipes(), settings in Settings::any()) {
        let table = Recipe { aim: Aim::Values(Values::OnGrid), ..recipe }.table();
        let offset = Table { y: table.y.iter().map(|y| y + 1e9).collect(), ..table.clone() };
        let params = settings.params(&table);
        let (tree, moved) = (table.fit(&params), offset.fit(&params));
        prop_assert_eq!(structure(&tree), structure(&moved));
        for node in 0..tree.node_count() {
            prop_assert!((moved.value(node)[0] - 1e9 - tree.value(node)[0]).abs() <= 1e9 * f64::EPSILON);
        }
    }

    #[test]
    fn scale_of_y(recipe in small_recipes(), settings in Settings::any(), kind in Values::any(), power in -150..150) {
        let scale = 2f64.powi(power);
        let table = Recipe { aim: Aim::Values(kind), ..recipe }.table();
        let scaled = Table { y: table.y.iter().map(|y| y * scale).collect(), ..table.clone() };
        let (tree, other) = (table.fit(&settings.params(&table)), scaled.fit(&settings.params(&scaled)));
        prop_assert_eq!(structure(&tree), structure(&other));
        for node in 0..tree.node_count() {
            prop_assert_eq!(tree.value(node)[0] * scale, other.value(node)[0]);
            prop_assert_eq!(tree.impurity(node) * scale * scale, other.impurity(node));
        }
    }

    /// Gains of integer medians tie by chance. They must still tie after a scale, which rounds each
    /// target separately.
    #[test]
    fn offset_and_scale_of_multiples(
        recipe in Recipe::any(20..200, 1..5),
        params in depths(),
        level in prop_oneof![Just(None), Just(Some(0.3)), Just(Some(0.9))],
        weights in prop::option::of(Just((Weights::Integers, 0.2))),
        offset in prop_oneof![Just(0.0), Just(1e6), Just(-123_456.0)],
        scale in prop_oneof![Just(1e-12), Just(0.1), Just(1.0 / 3.0), 1e-9..1e9],
    ) {
        let loss = level.map_or(Loss::AbsoluteError, Loss::Quantile);
        let mut table = Recipe { aim: Aim::Ranks(Values::Reals, loss), weights, ..recipe }.table();
        table.y.iter_mut().for_each(|y| *y = (*y * 5.0).round());
        let different: std::collections::BTreeSet<i64> = table.y.iter().map(|&y| y as i64).collect();
        prop_assume!(different.len() >= 8);
        let moved = Table { y: table.y.iter().map(|y| (y + offset) * scale).collect(), ..table.clone() };
        prop_assert_eq!(structure(&table.fit(&params)), structure(&moved.fit(&params)));
    }

    #[test]
    fn scale_of_x(recipe in small_recipes(), settings in Settings::any(), power in -200..200) {
        let columns = recipe.columns.iter().map(|&(_, missing)| (Cells::Distinct, missing)).collect();
        let table = Recipe { columns, ..recipe }.table();
        let scale = 2f64.powi(power);
        let mut scaled = table.clone();
        scaled.columns.iter_mut().flatten().for_each(|cell| *cell *= scale);
        let params = settings.params(&table);
        let (tree, other) = (table.fit(&params), scaled.fit(&params));
        prop_assert_eq!(tree.node_count(), other.node_count());
        for node in 0..tree.node_count() {
            prop_assert_eq!(tree.feature(node), other.feature(node));
            prop_assert_eq!(tree.threshold(node).map(|threshold| threshold * scale), other.threshold(node));
        }
    }

    #[test]
    fn scale_of_weights(recipe in small_recipes(), params in depths(), kind in Weights::any(), power in -60..60) {
        let table = Recipe { weights: Some((kind, 0.2)), ..recipe }.table();
        let scale = |by: f64| {
            let weights = table.weights.as_ref().map(|weights| weights.iter().map(|weight| weight * by).collect());
            Table { weights, ..table.clone() }
        };
        prop_assert_eq!(structure(&table.fit(&params)), structure(&scale(2f64.powi(power)).fit(&params)));
    }

    /// A constant that is not a power of two rounds the weights, so only gains that don't tie by
    /// chance keep their order.
    #[test]
    fn any_scale_of_weights(recipe in small_recipes(), params in depths()) {
        let recipe = Recipe { weights: Some((Weights::Reals, 0.2)), ..without_chance_ties(recipe) };
        let table = recipe.table();
        let weights = table.weights.as_ref().map(|weights| weights.iter().map(|weight| weight * 0.37).collect());
        let scaled = Table { weights, ..table.clone() };
        prop_assert_eq!(structure(&table.fit(&params)), structure(&scaled.fit(&params)));
    }

    #[test]
    fn integer_weights_are_repeated_rows(recipe in small_recipes(), params in depths(), integers in any::<bool>()) {
        let recipe = Recipe { weights: Some((Weights::Integers, 0.2)), ..without_chance_ties(recipe) };
        let values = if integers { Values::Integers } else { Values::Reals };
        let aim = if matches!(recipe.aim, Aim::Values(_)) { Aim::Values(values) } else { recipe.aim };
        let table = Recipe { aim, ..recipe }.table();
        let times = |row: usize| std::iter::repeat_n(row, table.row(row).1 as usize);
        let rows: Vec<usize> = (0..table.n_rows()).flat_map(times).collect();
        let repeated = Table { weights: None, ..table.select(&rows) };
        let (weighted, repeated) = (table.fit(&params), repeated.fit(&params));
        prop_assert_eq!(structure(&weighted), structure(&repeated));
        for node in 0..weighted.node_count() {
            prop_assert_eq!(weighted.weight(node), repeated.weight(node));
        }
    }

    #[test]
    fn rows_without_weight_are_dropped_rows(recipe in small_recipes(), params in depths(), kind in Weights::any()) {
        let table = Recipe { weights: Some((kind, 0.4)), ..recipe }.table();
        let kept = table.select(&table.taking_part());
        prop_assert_eq!(table.fit(&params), kept.fit(&params));
    }

    #[test]
    fn weights_of_one_are_no_weights(recipe in small_recipes(), settings in Settings::any()) {
        let table = Recipe { weights: None, ..recipe }.table();
        let params = settings.params(&table);
        let ones = Table { weights: Some(vec![1.0; table.n_rows()]), ..table.clone() };
        prop_assert_eq!(structure(&table.fit(&params)), structure(&ones.fit(&params)));
    }

    /// Sums don't depend on the order of the rows, so only the last bits of reported impurities
    /// may.
    #[test]
    fn order_of_rows(recipe in small_recipes(), params in depths(), leaf in 1..10i64, seed in any::<u64>()) {
        let table = recipe.table();
        let params = Params { min_samples_leaf: Size::Rows(leaf), ..params };
        let shuffled = table.select(&Dice::new(seed).shuffle(table.n_rows()));
        let (tree, other) = (table.fit(&params), shuffled.fit(&params));
        prop_assert_eq!(structure(&tree), structure(&other));
        for node in 0..tree.node_count() {
            prop_assert_eq!(tree.value(node), other.value(node));
        }
    }

    #[test]
    fn duplicated_columns(recipe in small_recipes(), settings in Settings::any()) {
        let table = recipe.table();
        let twice = Table { columns: [&table.columns[..], &table.columns].concat(), ..table.clone() };
        let params = settings.params(&table);
        prop_assert_eq!(nodes(&table.fit(&params)), nodes(&twice.fit(&params)));
    }
}

/// The last bits of a mean must not depend on the order of two rows.
#[test]
fn order_of_two_rows_that_no_feature_parts() {
    for k in 1..200 {
        let (a, b) = (0.1 * f64::from(k), 1.0 / f64::from(k));
        let fit = |y: [f64; 3]| {
            let x = Matrix::from_rows(&[0.0, 1.0, 1.0], 3, 1).unwrap();
            splitwood::fit(&x, Target::Values(&y), None, Loss::SquaredError, &Params::default()).unwrap()
        };
        let (tree, other) = (fit([50.0, a, b]), fit([50.0, b, a]));
        for node in 0..tree.node_count() {
            assert_eq!(tree.value(node), other.value(node), "{a} and {b}");
        }
    }
}
