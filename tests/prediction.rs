//! Predictions of unseen rows against a walk through the tree's public properties.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{Cell, Error, Matrix, Params, Tree};

use crate::common::draw::{Cells, Dice};
use crate::common::table::{Recipe, Settings, Table};
use crate::common::ways::{Way, explicit_stack, recursive_partition, row_by_row};

/// The nodes on the path of a row.
fn walk(tree: &Tree, row: &[f64]) -> Vec<usize> {
    let mut path = vec![0];
    while let Some((left, right)) = tree.children(path[path.len() - 1]) {
        let node = path[path.len() - 1];
        let cell = row[tree.feature(node).expect("an inner node")];
        let goes_left =
            if cell.is_nan() { tree.missing_go_to_left(node) } else { Some(Some(cell) <= tree.threshold(node)) };
        path.push(if goes_left == Some(true) { left } else { right });
    }
    path
}

/// Draws cells of all kinds, the tree's thresholds, and their neighbouring floats.
fn draw_cells(dice: &mut Dice, tree: &Tree, n_rows: usize) -> Vec<f64> {
    let mut pool: Vec<f64> = (0..tree.node_count()).filter_map(|node| tree.threshold(node)).collect();
    pool.extend(pool.clone().into_iter().flat_map(|threshold| [threshold.next_up(), threshold.next_down()]));
    for kind in [Cells::Distinct, Cells::Extreme, Cells::Ties, Cells::Stamps] {
        pool.extend(kind.draw(dice, 20, 0.2));
    }
    (0..n_rows * tree.n_features()).map(|_| pool[dice.below(pool.len())]).collect()
}

fn check<X: Cell>(tree: &Tree, cells: &[X]) -> TestCaseResult {
    let n_rows = cells.len() / tree.n_features();
    let x = Matrix::from_rows(cells, n_rows, tree.n_features()).unwrap();
    let (predicted, leaves) = (tree.predict(&x, None).unwrap(), tree.apply(&x, None).unwrap());
    let (starts, nodes) = tree.decision_path(&x).unwrap();
    prop_assert_eq!((predicted.len(), leaves.len()), (n_rows * tree.n_values(), n_rows));
    prop_assert_eq!((starts.len(), starts[n_rows]), (n_rows + 1, nodes.len() as i64));
    for (i, cells) in cells.chunks(tree.n_features()).enumerate() {
        let row: Vec<f64> = cells.iter().map(|cell| cell.to_f64()).collect();
        let path: Vec<i64> = walk(tree, &row).into_iter().map(|node| node as i64).collect();
        prop_assert_eq!(&nodes[starts[i] as usize..starts[i + 1] as usize], &path[..]);
        prop_assert_eq!(leaves[i], path[path.len() - 1]);
        prop_assert_eq!(&predicted[i * tree.n_values()..][..tree.n_values()], tree.value(leaves[i] as usize));
    }
    prop_assert_eq!(&tree.apply(&x, Some(1)).unwrap(), &leaves);
    let ways: [Way<X>; 3] = [row_by_row, recursive_partition, explicit_stack];
    for way in ways {
        prop_assert_eq!(&way(tree, &x), &leaves);
    }
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_a_walk(
        recipe in Recipe::any(1..300, 1..5), settings in Settings::any(), n_rows in 1..200usize, seed in any::<u64>(),
    ) {
        let table = recipe.table();
        let tree = table.fit(&settings.params(&table));
        let cells = draw_cells(&mut Dice::new(seed), &tree, n_rows);
        check(&tree, &cells)?;
        let single: Vec<f32> = cells.iter().map(|&cell| cell as f32).collect();
        check(&tree, &single)?;
    }

    #[test]
    fn memory_order_does_not_matter(recipe in Recipe::any(1..100, 1..5), n_rows in 1..50usize, seed in any::<u64>()) {
        let tree = recipe.table().fit(&Params::default());
        let cells = draw_cells(&mut Dice::new(seed), &tree, n_rows);
        let k = tree.n_features();
        let by_columns: Vec<f64> = (0..k).flat_map(|j| cells.iter().skip(j).step_by(k).copied()).collect();
        let by_rows = Matrix::from_rows(&cells, n_rows, k).unwrap();
        let by_columns = Matrix::with_strides(&by_columns, 0, n_rows, k, 1, n_rows as isize).unwrap();
        prop_assert_eq!(tree.predict(&by_rows, None), tree.predict(&by_columns, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Enough rows for several chunks on several threads.
    #[test]
    fn many_rows(recipe in Recipe::any(100..2_000, 3..5), n_rows in 9_000..14_000usize, seed in any::<u64>()) {
        let tree = recipe.table().fit(&Params::default());
        check(&tree, &draw_cells(&mut Dice::new(seed), &tree, n_rows))?;
    }
}

/// Three rows on one side, one on the other, and none with a missing value.
fn lopsided(heavier_left: bool, weights: Option<Vec<f64>>) -> Tree {
    let y = if heavier_left { vec![1.0, 1.0, 1.0, 9.0] } else { vec![1.0, 9.0, 9.0, 9.0] };
    let columns = vec![vec![0.0, 1.0, 2.0, 3.0]];
    Table::of_values(columns, y, weights).fit(&Params::default())
}

fn predict_missing(tree: &Tree) -> f64 {
    let x = [f64::NAN];
    tree.predict(&Matrix::from_rows(&x, 1, 1).unwrap(), None).unwrap()[0]
}

#[test]
fn missing_values_that_were_never_seen_go_to_the_heavier_child() {
    assert_eq!(predict_missing(&lopsided(true, None)), 1.0);
    assert_eq!(predict_missing(&lopsided(false, None)), 9.0);
    // The heavier child, not the one with more rows; the right one if the weights are equal.
    assert_eq!(predict_missing(&lopsided(true, Some(vec![1.0, 1.0, 1.0, 5.0]))), 9.0);
    assert_eq!(predict_missing(&lopsided(true, Some(vec![1.0, 1.0, 1.0, 3.0]))), 9.0);
}

#[test]
fn infinities_are_values() {
    let columns = vec![vec![f64::NEG_INFINITY, -1.0, 1.0, f64::INFINITY]];
    let y = vec![1.0, 2.0, 3.0, 4.0];
    let table = Table::of_values(columns, y.clone(), None);
    let tree = table.fit(&Params::default());
    let cells = table.cells();
    assert_eq!(tree.predict(&Matrix::from_rows(&cells, 4, 1).unwrap(), None), Ok(y));
}

#[test]
fn another_number_of_columns_is_refused() {
    let tree = lopsided(true, None);
    let cells = [0.0; 4];
    let x = Matrix::from_rows(&cells, 2, 2).unwrap();
    let name = |error: Option<Error>| match error {
        Some(Error::Argument { name, problem }) => (name, problem.contains('2') && problem.contains('1')),
        _ => ("none", false),
    };
    assert_eq!(name(tree.predict(&x, None).err()), ("X", true));
    assert_eq!(name(tree.apply(&x, None).err()), ("X", true));
    assert_eq!(name(tree.decision_path(&x).err()), ("X", true));
}
