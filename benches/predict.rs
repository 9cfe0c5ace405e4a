//! Predictions of friedman1 rows, by tree size, cell type, memory order and threads. Throughput is
//! in rows.
//!
//! `cargo bench --bench predict -- depth` runs the benchmarks whose name contains "depth".

mod friedman;
#[path = "../tests/common/ways.rs"]
mod ways;

use divan::Bencher;
use divan::counter::ItemsCount;
use friedman::Friedman;
use splitwood::{
    Bags, Cell, Forest, ForestParams, Interpolation, LeafTargets, Loss, Matrix, Params, Target, Tree, draw_bag, fit,
    fit_forest,
};

fn main() {
    divan::main();
}

const ROWS: usize = 1_000_000;

/// A tree of this depth, fitted to this many single-precision rows.
fn tree(n_rows: usize, n_columns: usize, max_depth: Option<i64>) -> Tree {
    let data = Friedman::new(n_rows, n_columns);
    let x = data.narrow();
    let x = Matrix::from_rows(&x, n_rows, n_columns).unwrap();
    fit(&x, Target::Values(&data.y), None, Loss::SquaredError, &Params { max_depth, ..Params::default() }).unwrap()
}

fn bench<X: Cell>(bencher: Bencher<'_, '_>, tree: &Tree, x: &Matrix<'_, X>, n_jobs: i64) {
    // The first prediction builds the compact copy of the tree, which is not to be measured.
    tree.predict(x, Some(n_jobs)).unwrap();
    bencher.counter(ItemsCount::new(x.n_rows())).bench(|| tree.predict(x, Some(n_jobs)).unwrap());
}

fn bench_narrow(bencher: Bencher<'_, '_>, tree: &Tree, n_jobs: i64) {
    let x = Friedman::new(ROWS, tree.n_features()).narrow();
    bench(bencher, tree, &Matrix::from_rows(&x, ROWS, tree.n_features()).unwrap(), n_jobs);
}

const JOBS: [i64; 2] = [1, 2];

#[divan::bench(args = JOBS, sample_count = 20)]
fn depth_6(bencher: Bencher<'_, '_>, n_jobs: i64) {
    bench_narrow(bencher, &tree(100_000, 10, Some(6)), n_jobs);
}

#[divan::bench(args = JOBS, sample_count = 20)]
fn depth_12(bencher: Bencher<'_, '_>, n_jobs: i64) {
    bench_narrow(bencher, &tree(100_000, 10, Some(12)), n_jobs);
}

#[divan::bench(args = JOBS, sample_count = 10)]
fn leaves_100k(bencher: Bencher<'_, '_>, n_jobs: i64) {
    bench_narrow(bencher, &tree(100_000, 10, None), n_jobs);
}

#[divan::bench(args = JOBS, sample_count = 10)]
fn leaves_1m(bencher: Bencher<'_, '_>, n_jobs: i64) {
    bench_narrow(bencher, &tree(1_000_000, 10, None), n_jobs);
}

/// A million leaves; the compact nodes have 16 bytes each.
#[divan::bench(args = JOBS, sample_count = 10)]
fn leaves_1m_f64(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let x = Friedman::new(ROWS, 10).x;
    bench(bencher, &tree(1_000_000, 10, None), &Matrix::from_rows(&x, ROWS, 10).unwrap(), n_jobs);
}

/// Rows of 400 bytes.
#[divan::bench(args = JOBS, sample_count = 10)]
fn depth_12_f64_50_columns(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let x = Friedman::new(ROWS, 50).x;
    bench(bencher, &tree(100_000, 50, Some(12)), &Matrix::from_rows(&x, ROWS, 50).unwrap(), n_jobs);
}

/// X in column-major order.
#[divan::bench(args = JOBS, sample_count = 10)]
fn depth_12_by_columns(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let x = Friedman::new(ROWS, 10).narrow();
    bench(
        bencher,
        &tree(100_000, 10, Some(12)),
        &Matrix::with_strides(&x, 0, ROWS, 10, 1, ROWS as isize).unwrap(),
        n_jobs,
    );
}

/// The trees of a forest on 100,000 rows, and the targets in their leaves.
fn forest(n_trees: usize) -> (Forest, LeafTargets) {
    let n_rows = 100_000;
    let data = Friedman::new(n_rows, 10);
    let x = data.narrow();
    let x = Matrix::from_rows(&x, n_rows, 10).unwrap();
    let params = ForestParams { bags: Bags::Bootstrap(n_rows), ..ForestParams::new(n_trees, 1) };
    let forest = fit_forest(&x, Target::Values(&data.y), None, Loss::SquaredError, &params).unwrap().forest;
    let counts = |tree: usize| Some(draw_bag(params.seeds[tree], n_rows, n_rows, None));
    let targets = LeafTargets::new(&forest, &x, &data.y, counts, None).unwrap();
    (forest, targets)
}

/// A million rows by 20 full trees.
#[divan::bench(args = JOBS, sample_count = 3, sample_size = 1)]
fn forest_20_trees(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let (forest, x) = (forest(20).0, Friedman::new(ROWS, 10).narrow());
    let x = Matrix::from_rows(&x, ROWS, 10).unwrap();
    bencher.counter(ItemsCount::new(ROWS)).bench(|| forest.predict(&x, Some(n_jobs)).unwrap());
}

/// Three quantiles of 100,000 rows by 100 full trees.
#[divan::bench(args = JOBS, sample_count = 3, sample_size = 1)]
fn three_quantiles(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let n_rows = 100_000;
    let ((forest, targets), x) = (forest(100), Friedman::new(n_rows, 10).narrow());
    let x = Matrix::from_rows(&x, n_rows, 10).unwrap();
    let levels = [0.05, 0.5, 0.95];
    bencher
        .counter(ItemsCount::new(n_rows))
        .bench(|| targets.quantiles(&forest, &x, &levels, Interpolation::Linear, Some(n_jobs)).unwrap());
}

/// The overhead of a call.
#[divan::bench(sample_count = 1000)]
fn one_row_depth_6(bencher: Bencher<'_, '_>) {
    let x = Friedman::new(1, 10).narrow();
    bench(bencher, &tree(10_000, 10, Some(6)), &Matrix::from_rows(&x, 1, 10).unwrap(), 1);
}

/// The reference implementations of the tests and the library's own, each with one thread.
#[divan::bench_group(sample_count = 10)]
mod ways_of_100k_rows {
    use super::{Bencher, Friedman, ItemsCount, Matrix, tree, ways};

    fn bench_way(bencher: Bencher<'_, '_>, depth: i64, way: ways::Way<f32>) {
        let n_rows = 100_000;
        let (tree, x) = (tree(n_rows, 10, Some(depth)), Friedman::new(n_rows, 10).narrow());
        let x = Matrix::from_rows(&x, n_rows, 10).unwrap();
        bencher.counter(ItemsCount::new(n_rows)).bench(|| way(&tree, &x));
    }

    const DEPTHS: [i64; 3] = [6, 12, i64::MAX];

    #[divan::bench(args = DEPTHS)]
    fn row_by_row(bencher: Bencher<'_, '_>, depth: i64) {
        bench_way(bencher, depth, ways::row_by_row);
    }

    #[divan::bench(args = DEPTHS)]
    fn recursive_partition(bencher: Bencher<'_, '_>, depth: i64) {
        bench_way(bencher, depth, ways::recursive_partition);
    }

    #[divan::bench(args = DEPTHS)]
    fn explicit_stack(bencher: Bencher<'_, '_>, depth: i64) {
        bench_way(bencher, depth, ways::explicit_stack);
    }

    #[divan::bench(args = DEPTHS)]
    fn ours(bencher: Bencher<'_, '_>, depth: i64) {
        bench_way(bencher, depth, |tree, x| tree.apply(x, Some(1)).unwrap());
    }
}
