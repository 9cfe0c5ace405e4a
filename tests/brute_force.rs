//! Whole trees against brute force: each node is recomputed from its rows, each split is compared
//! with all possible splits.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use splitwood::{Matrix, Tree};

use crate::common::audit::audit;
use crate::common::table::{Recipe, Settings, Table};

/// Checks that each leaf counts the training rows that `apply` sends to it.
fn check_leaves(table: &Table, tree: &Tree) -> TestCaseResult {
    let cells = table.cells();
    let x = Matrix::from_rows(&cells, table.n_rows(), table.columns.len()).expect("a sound matrix");
    let leaves = tree.apply(&x, None).expect("as many columns");
    let mut counts = vec![0; tree.node_count()];
    table.taking_part().iter().for_each(|&row| counts[leaves[row] as usize] += 1);
    for (id, &count) in counts.iter().enumerate() {
        prop_assert_eq!(count, if tree.children(id).is_none() { tree.n_rows(id) } else { 0 }, "node {}", id);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn small_trees(recipe in Recipe::any(1..200, 1..5), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let tree = table.fit(&params);
        audit(&table, &params, &tree, |_| true)?;
        check_leaves(&table, &tree)?;
    }

    #[test]
    fn small_trees_of_single_precision(recipe in Recipe::any(1..200, 1..5), settings in Settings::any()) {
        let table = recipe.table().single();
        let params = settings.params(&table);
        let tree = table.fit_single(&params);
        audit(&table, &params, &tree, |_| true)?;
        check_leaves(&table, &tree)?;
        prop_assert_eq!(tree, table.fit(&params), "cells that fit in an f32 make the same tree as f64");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn wide_tables(recipe in Recipe::wide(), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let tree = table.fit(&params);
        audit(&table, &params, &tree, |node| node < 20 || node % 4 == 0)?;
        check_leaves(&table, &tree)?;
    }

    #[test]
    fn long_tables(recipe in Recipe::long(), settings in Settings::any()) {
        let table = recipe.table();
        let params = settings.params(&table);
        let tree = table.fit(&params);
        audit(&table, &params, &tree, |node| node < 20 || node % 50 == 0)?;
        check_leaves(&table, &tree)?;
    }
}
