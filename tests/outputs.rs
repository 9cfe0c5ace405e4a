//! Several outputs, sparse columns, categories.

use proptest::prelude::*;
use splitwood::{Cell, Error, Loss, Matrix, Params, SparseColumns, Splitter, Target, Tree, fit, fit_sparse};

use crate::common;
use crate::common::definition::{Definition, Row};
use crate::common::draw::{Cells, Dice, Values, Weights};
use crate::common::table::{Aim, Recipe, Settings, Table};

/// The cells as sparse columns: starts, rows and non-zero cells.
fn compress(table: &Table) -> (Vec<i64>, Vec<i32>, Vec<f64>) {
    let (mut starts, mut rows, mut cells) = (vec![0], Vec::new(), Vec::new());
    for column in &table.columns {
        let entries = (0..).zip(column).filter(|(_, cell)| **cell != 0.0);
        entries.for_each(|(row, &cell)| {
            rows.push(row);
            cells.push(cell);
        });
        starts.push(cells.len() as i64);
    }
    (starts, rows, cells)
}

fn fit_compressed<X: Cell>(table: &Table, params: &Params, cell: impl Fn(f64) -> X) -> Tree {
    let (starts, rows, cells) = compress(table);
    let cells: Vec<X> = cells.into_iter().map(cell).collect();
    let x = SparseColumns::new(table.n_rows(), &starts, &rows, &cells).expect("sound columns");
    let codes: Vec<u32> = table.y.iter().map(|&y| y as u32).collect();
    let target = match table.n_classes {
        0 => Target::Values(&table.y),
        n_classes => Target::Classes { codes: &codes, n_classes },
    };
    fit_sparse(&x, target, table.weights.as_deref(), table.loss, params).expect("a sound fit")
}

/// Sets most cells to 0.
fn thin_out(mut table: Table, seed: u64) -> Table {
    let mut dice = Dice::new(seed);
    table.columns.iter_mut().flatten().for_each(|cell| *cell = if dice.chance(0.7) { 0.0 } else { *cell });
    table
}

fn fit_outputs(table: &Table, outputs: &[Vec<f64>], params: &Params) -> Tree {
    let cells = table.cells();
    let x = Matrix::from_rows(&cells, table.n_rows(), table.columns.len()).expect("a sound matrix");
    let values: Vec<f64> = (0..table.n_rows()).flat_map(|row| outputs.iter().map(move |y| y[row])).collect();
    let codes: Vec<u32> = values.iter().map(|&y| y as u32).collect();
    let n_outputs = outputs.len();
    let target = match table.n_classes {
        0 => Target::ManyValues { values: &values, n_outputs },
        n_classes => Target::ManyClasses { codes: &codes, n_outputs, n_classes },
    };
    fit(&x, target, table.weights.as_deref(), table.loss, params).expect("a sound fit")
}

fn without_weights_of_vast_range(recipe: Recipe) -> Recipe {
    Recipe { weights: None, ..recipe }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sparse_columns(recipe in Recipe::any(1..200, 1..6), settings in Settings::any()) {
        let table = thin_out(recipe.table().single(), recipe.seed);
        let params = settings.params(&table);
        let dense = table.fit(&params);
        let sparse = fit_compressed(&table, &params, |cell| cell);
        prop_assert_eq!(common::structure(&sparse), common::structure(&dense));
        // Without kernels for tiny nodes, every number is the same.
        if matches!(table.loss, Loss::Poisson | Loss::Entropy) || table.n_classes > 2 {
            prop_assert_eq!(&sparse, &dense);
        }
        prop_assert_eq!(sparse, fit_compressed(&table, &params, |cell| cell as f32));
        let drawn = Params { splitter: Splitter::Random, seed: recipe.seed, ..params };
        prop_assert_eq!(table.fit(&drawn), fit_compressed(&table, &drawn, |cell| cell));
    }

    /// Copies of one output give the tree of that output.
    #[test]
    fn one_output_several_times(recipe in Recipe::any(1..150, 1..5), settings in Settings::any(), times in 1..4usize) {
        let mut table = recipe.table();
        // A single output of two classes has a criterion of its own.
        table.n_classes = if table.n_classes == 0 { 0 } else { table.n_classes.max(3) };
        let params = settings.params(&table);
        let one = table.fit(&params);
        let many = fit_outputs(&table, &vec![table.y.clone(); times], &params);
        prop_assert_eq!(common::structure(&many), common::structure(&one));
        for id in 0..one.node_count() {
            let slack = |of: f64| 1e-9 * (of.abs() + 1e-300);
            prop_assert!((many.impurity(id) - one.impurity(id)).abs() <= slack(one.impurity(id)) + 1e-12 * one.impurity(0));
            let values: Vec<f64> = one.value(id).repeat(times);
            for (a, b) in many.value(id).iter().zip(&values) {
                prop_assert!((a - b).abs() <= slack(*b), "node {}: {} for {}", id, a, b);
            }
        }
    }

    /// The root's split has the lowest mean loss of all splits.
    #[test]
    fn two_outputs(recipe in Recipe::any(2..60, 1..4), other in any::<u64>()) {
        let recipe = without_weights_of_vast_range(recipe);
        let table = recipe.table();
        let aim = match recipe.aim {
            Aim::Values(_) => Aim::Values(Values::Reals),
            aim => aim,
        };
        let second = Recipe { seed: other, aim, ..recipe.clone() }.table().y;
        let outputs = [table.y.clone(), second];
        let tree = fit_outputs(&table, &outputs, &Params { max_depth: Some(1), ..Params::default() });
        let definition = table.definition();
        let loss = |rows: &[usize]| {
            let loss = |y: &Vec<f64>| definition.loss(&rows.iter().map(|&row| (y[row], 1.0)).collect::<Vec<Row>>());
            outputs.iter().map(loss).sum::<f64>() / 2.0
        };
        let all: Vec<usize> = (0..table.n_rows()).collect();
        let whole = loss(&all);
        prop_assert!((tree.impurity(0) * all.len() as f64 - whole).abs() <= 1e-9 * whole, "{} for {whole}", tree.impurity(0));
        let mut least = f64::INFINITY;
        for column in &table.columns {
            for &edge in column {
                for missing_left in [false, true] {
                    let goes_left = |row: &&usize| column[**row] <= edge || missing_left && column[**row].is_nan();
                    let (left, right): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| goes_left(row));
                    if !left.is_empty() && !right.is_empty() {
                        least = least.min(loss(&left) + loss(&right));
                    }
                }
            }
        }
        let made = match tree.children(0) {
            None => whole,
            Some((left, right)) => [left, right].iter().map(|&id| tree.impurity(id) * tree.weight(id)).sum(),
        };
        prop_assert!(made <= least.max(0.0) + 1e-9 * whole || !least.is_finite(), "{made}, could be {least}");
    }

    /// No other set of categories has a lower loss, and each row is on the side of its category.
    #[test]
    fn categories(n_rows in 2..80usize, n_categories in 2..9u32, missing in prop_oneof![Just(0.0), Just(0.2)], kind in 0..4usize, weighted in any::<bool>(), seed in any::<u64>()) {
        let mut dice = Dice::new(seed);
        let mut code = || if dice.chance(missing) { f64::NAN } else { dice.below(n_categories as usize) as f64 };
        let codes: Vec<f64> = (0..n_rows).map(|_| code()).collect();
        let (loss, definition, n_classes) = [
            (Loss::SquaredError, Definition::SquaredError, 0),
            (Loss::Poisson, Definition::Poisson, 0),
            (Loss::Gini, Definition::Gini, 2),
            (Loss::Entropy, Definition::Entropy, 2),
        ][kind];
        let y: Vec<f64> = codes.iter().map(|code| {
            let mean = if code.is_nan() { 2.0 } else { (code * 7.0) % 5.0 };
            if n_classes == 2 {
                f64::from(u8::from(dice.chance(0.1 + mean / 7.0)))
            } else {
                // A side whose Poisson counts are all 0 is refused; the best remaining set may then
                // be no cut of the ordered categories.
                let least = if loss == Loss::Poisson { 1.0 } else { 0.0 };
                least + mean + (dice.unit() * 4.0).floor()
            }
        }).collect();
        prop_assume!(y.iter().any(|&y| y > 0.0));
        let weights = weighted.then(|| (0..n_rows).map(|_| 0.5 + dice.unit()).collect());
        let table = Table { columns: vec![codes.clone()], y, n_classes, weights, loss };
        let params = Params { categories: Some(vec![n_categories]), category_smoothing: 0.0, ..Params::default() };
        prop_assert_eq!(fit_compressed(&table, &params, |cell| cell), table.fit(&params));
        let tree = table.fit(&Params { max_depth: Some(1), ..params });
        let part_loss = |rows: &mut dyn Iterator<Item = usize>| definition.loss(&rows.map(|row| table.row(row)).collect::<Vec<Row>>());
        let mut least = f64::INFINITY;
        for set in 0..1u32 << (n_categories + 1) {
            // The last bit stands for missing values.
            let goes_left = |row: &usize| set >> if codes[*row].is_nan() { n_categories } else { codes[*row] as u32 } & 1 != 0;
            let n_left = (0..n_rows).filter(goes_left).count();
            if n_left > 0 && n_left < n_rows {
                let losses = [part_loss(&mut (0..n_rows).filter(goes_left)), part_loss(&mut (0..n_rows).filter(|row| !goes_left(row)))];
                least = least.min(losses[0] + losses[1]);
            }
        }
        let whole = part_loss(&mut (0..n_rows));
        let Some((left, right)) = tree.children(0) else {
            prop_assert!(whole == 0.0 || !least.is_finite(), "a leaf, although {least} is less than {whole}");
            return Ok(());
        };
        let made: f64 = [left, right].iter().map(|&id| tree.impurity(id) * tree.weight(id)).sum();
        prop_assert!(made <= least + 1e-9 * whole, "{made}, could be {least}");
        let x = Matrix::from_rows(&codes, n_rows, 1).expect("a sound matrix");
        let leaves = tree.apply(&x, None).expect("as many columns");
        prop_assert_eq!(leaves.iter().filter(|&&leaf| leaf as usize == left).count(), tree.n_rows(left));
        // Unseen categories go where missing values go.
        let missing_goes = if tree.missing_go_to_left(0) == Some(true) { left } else { right };
        let strange = [f64::from(n_categories), -1.0, 0.5, f64::INFINITY, f64::NAN];
        let leaves = tree.apply(&Matrix::from_rows(&strange, 5, 1).expect("a sound matrix"), None).expect("as many columns");
        prop_assert!(leaves.iter().all(|&leaf| leaf as usize == missing_goes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn threads(recipe in Recipe::long()) {
        let table = thin_out(recipe.table(), recipe.seed);
        let alone = Params { n_jobs: Some(1), max_depth: Some(8), ..Params::default() };
        let together = Params { n_jobs: None, ..alone.clone() };
        prop_assert_eq!(fit_compressed(&table, &alone, |cell| cell), fit_compressed(&table, &together, |cell| cell));
        let outputs = [table.y.clone(), table.y.iter().rev().copied().collect()];
        prop_assert_eq!(fit_outputs(&table, &outputs, &alone), fit_outputs(&table, &outputs, &together));
    }

    #[test]
    fn threads_with_categories(seed in any::<u64>()) {
        let mut dice = Dice::new(seed);
        let columns: Vec<Vec<f64>> = (0..8).map(|_| (0..10_000).map(|_| dice.below(300) as f64).collect()).collect();
        let y = (0..10_000).map(|row| (columns[0][row] * 7.0) % 11.0 + dice.unit()).collect();
        let table = Table::of_values(columns, y, None);
        let params = Params { categories: Some(vec![300, 300, 0, 300, 0, 0, 0, 300]), max_depth: Some(12), ..Params::default() };
        let alone = table.fit(&Params { n_jobs: Some(1), ..params.clone() });
        prop_assert_eq!(&alone, &table.fit(&params));
        prop_assert_eq!(alone.pruned(1e-3), table.fit(&Params { ccp_alpha: 1e-3, ..params }).pruned(1e-3));
    }
}

fn refusal(result: splitwood::Result<Tree>) -> (String, String) {
    match result {
        Err(Error::Argument { name, problem }) => (name.to_string(), problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_categories_cannot_do() {
    let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 1.0], 4, 1).expect("a sound matrix");
    let y = [1.0, 2.0, 3.0, 4.0];
    let with = |categories: u32| Params { categories: Some(vec![categories]), ..Params::default() };
    let ask = |loss, params: &Params| refusal(fit(&x, Target::Values(&y), None, loss, params));
    let (name, problem) = ask(Loss::SquaredError, &with(2));
    assert!(name == "categorical_features" && problem.contains("has 2 in row 2"), "{problem}");
    let random = Params { splitter: Splitter::Random, ..with(3) };
    assert_eq!(ask(Loss::SquaredError, &random).0, "categorical_features");
    let monotonic = Params { monotonic_cst: Some(vec![1]), ..with(3) };
    assert_eq!(ask(Loss::SquaredError, &monotonic).0, "categorical_features");
    for category_smoothing in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ask(Loss::SquaredError, &Params { category_smoothing, ..with(3) }).0, "categorical_smoothing");
    }
}

#[test]
fn columns_that_are_no_columns() {
    let refused = |starts: &[i64], rows: &[i32], cells: &[f64]| SparseColumns::new(3, starts, rows, cells).is_err();
    assert!(!refused(&[0, 1, 2], &[0, 2], &[1.0, 2.0]));
    assert!(refused(&[0, 1, 2], &[0, 3], &[1.0, 2.0]), "a row too many");
    assert!(refused(&[0, 1, 2], &[-1, 0], &[1.0, 2.0]), "a negative row");
    assert!(refused(&[0, 2], &[1, 1], &[1.0, 2.0]), "a row twice");
    assert!(refused(&[0, 2], &[2, 1], &[1.0, 2.0]), "rows out of order");
    assert!(refused(&[0, 3], &[0, 1], &[1.0, 2.0]), "more entries than there are");
    assert!(refused(&[0, 2, 1, 2], &[0, 1], &[1.0, 2.0]), "starts that go back");
    assert!(refused(&[0], &[], &[]), "no columns");
    assert!(SparseColumns::new(0, &[0, 0], &[], &[] as &[f64]).is_err(), "no rows");
}

/// Between equal values of a dense column, an outlier can be parted from the other rows. Such a
/// gain is no cut's, and must not hide that the gains of the cuts are in doubt.
#[test]
fn gains_that_are_no_cuts_hide_no_doubt() {
    let recipe = Recipe {
        n_rows: 94,
        columns: vec![(Cells::Extreme, 0.5); 2],
        aim: Aim::Ranks(Values::Outlier, Loss::Quantile(0.9)),
        weights: Some((Weights::Tenths, 0.3)),
        seed: 9_752_820_006_318_675_077,
    };
    let table = thin_out(recipe.table().single(), recipe.seed);
    let params = Params::default();
    let sparse = fit_compressed(&table, &params, |cell| cell);
    assert_eq!(common::structure(&sparse), common::structure(&table.fit(&params)));
}
