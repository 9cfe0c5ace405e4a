//! A prediction allocates its result and next to nothing else.

use splitwood::{Loss, Matrix, Params, Target, Tree, fit};

use crate::{alone, peak_of};

/// Room for small allocations, in bytes.
const ALLOWED: usize = 100_000;
const ROWS: usize = 300_000;
const COLUMNS: usize = 5;

fn number(i: usize) -> f64 {
    ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64
}

fn check(tree: &Tree, n_classes: usize) {
    let cells: Vec<f64> = (0..ROWS * COLUMNS).map(number).collect();
    let single: Vec<f32> = cells.iter().map(|&cell| cell as f32).collect();
    let wide = Matrix::from_rows(&cells, ROWS, COLUMNS).unwrap();
    let narrow = Matrix::from_rows(&single, ROWS, COLUMNS).unwrap();
    let by_columns = Matrix::with_strides(&single, 0, ROWS, COLUMNS, 1, ROWS as isize).unwrap();
    // The first call creates the thread pool and the tree's compact nodes.
    tree.apply(&wide, None).unwrap();
    let (_, first) = peak_of(|| tree.apply(&narrow, None));
    assert!(first <= ROWS * 8 + tree.node_count() * 8 + ALLOWED, "the first time: {first}");
    for n_jobs in [Some(1), None] {
        for x in [&narrow, &by_columns] {
            let (_, peak) = peak_of(|| tree.predict(x, n_jobs));
            assert!(peak <= ROWS * n_classes * 8 + ALLOWED, "predict: {peak}");
        }
        let (_, peak) = peak_of(|| tree.predict(&wide, n_jobs));
        assert!(peak <= ROWS * n_classes * 8 + ALLOWED, "predict: {peak}");
        let (_, peak) = peak_of(|| tree.apply(&wide, n_jobs));
        assert!(peak <= ROWS * 8 + ALLOWED, "apply: {peak}");
    }
}

#[test]
fn predictions_allocate_their_result_alone() {
    let _alone = alone();
    let cells: Vec<f64> = (7..7 + 20_000 * COLUMNS).map(number).collect();
    let x = Matrix::from_rows(&cells, 20_000, COLUMNS).unwrap();
    let y: Vec<f64> = (0..20_000).map(|i| number(3 * i)).collect();
    check(&fit(&x, Target::Values(&y), None, Loss::SquaredError, &Params::default()).unwrap(), 1);
    let codes: Vec<u32> = y.iter().map(|&y| y as u32 % 3).collect();
    let target = Target::Classes { codes: &codes, n_classes: 3 };
    let params = Params { max_depth: Some(6), ..Params::default() };
    check(&fit(&x, target, None, Loss::Gini, &params).unwrap(), 3);
}
