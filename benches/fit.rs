//! Whole fits on friedman1 data, by loss, depth, size and cell type. Throughput is in cells of X.
//!
//! `cargo bench --bench fit -- squared` runs the benchmarks whose name contains "squared". A depth
//! of 1 measures the presort and one search of the root.

mod friedman;

use divan::Bencher;
use divan::counter::ItemsCount;
use friedman::Friedman;
use splitwood::{
    Bags, Cell, ColumnOrders, ColumnStorage, ForestParams, Loss, Matrix, MaxFeatures, MedianMethod, Params, Size,
    Splitter, Target, fit, fit_forest,
};

fn main() {
    divan::main();
}

/// The arguments of one fit.
struct Case<'a> {
    target: Target<'a>,
    weights: Option<&'a [f64]>,
    loss: Loss,
    max_depth: i64,
    n_jobs: i64,
    median_method: MedianMethod,
}

impl<'a> Case<'a> {
    fn squared(data: &'a Friedman, max_depth: i64, n_jobs: i64) -> Self {
        let target = Target::Values(&data.y);
        Self {
            target,
            weights: None,
            loss: Loss::SquaredError,
            max_depth,
            n_jobs,
            median_method: MedianMethod::default(),
        }
    }

    fn quantile(data: &'a Friedman, loss: Loss, max_depth: i64, median_method: MedianMethod) -> Self {
        Self { loss, median_method, ..Self::squared(data, max_depth, 1) }
    }

    fn classes(codes: &'a [u32], n_classes: usize, loss: Loss, max_depth: i64) -> Self {
        let target = Target::Classes { codes, n_classes };
        Self { target, weights: None, loss, max_depth, n_jobs: 1, median_method: MedianMethod::default() }
    }

    fn bench<X: Cell>(&self, bencher: Bencher<'_, '_>, x: &[X], data: &Friedman) {
        let x = Matrix::from_rows(x, data.n_rows, data.n_columns).unwrap();
        let params = Params {
            max_depth: Some(self.max_depth),
            n_jobs: Some(self.n_jobs),
            median_method: self.median_method,
            ..Params::default()
        };
        bencher
            .counter(ItemsCount::new(data.n_rows * data.n_columns))
            .bench(|| fit(&x, self.target, self.weights, self.loss, &params).unwrap());
    }
}

const DEPTHS: [i64; 3] = [1, 6, i64::MAX];
const METHODS: [MedianMethod; 2] = [MedianMethod::RankBitmap, MedianMethod::TwoHeaps];

/// Weights that are independent of the features.
fn weights(data: &Friedman) -> Vec<f64> {
    (0..data.n_rows).map(|row| 0.1 + (row % 7) as f64).collect()
}

#[divan::bench(args = DEPTHS, consts = [1_000, 100_000], sample_count = 10)]
fn squared_f32_1_thread<const ROWS: usize>(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(ROWS, 10);
    Case::squared(&data, depth, 1).bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = DEPTHS, consts = [100_000, 1_000_000], sample_count = 5)]
fn squared_f32_all_threads<const ROWS: usize>(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(ROWS, 10);
    Case::squared(&data, depth, -1).bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_f64_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    Case::squared(&data, depth, 1).bench(bencher, &data.x, &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_weighted_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let weights = weights(&data);
    let case = Case { weights: Some(&weights), ..Case::squared(&data, depth, 1) };
    case.bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn poisson_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let counts: Vec<f64> = data.y.iter().map(|y| y.max(0.0).floor()).collect();
    let case = Case { target: Target::Values(&counts), loss: Loss::Poisson, ..Case::squared(&data, depth, 1) };
    case.bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = METHODS, consts = [6, i64::MAX], sample_count = 5)]
fn absolute_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, method: MedianMethod) {
    let data = Friedman::new(100_000, 10);
    Case::quantile(&data, Loss::AbsoluteError, DEPTH, method).bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = METHODS, consts = [6, i64::MAX], sample_count = 5)]
fn absolute_weighted_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, method: MedianMethod) {
    let data = Friedman::new(100_000, 10);
    let weights = weights(&data);
    let case = Case { weights: Some(&weights), ..Case::quantile(&data, Loss::AbsoluteError, DEPTH, method) };
    case.bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = METHODS, consts = [6, i64::MAX], sample_count = 5)]
fn quantile_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, method: MedianMethod) {
    let data = Friedman::new(100_000, 10);
    Case::quantile(&data, Loss::Quantile(0.9), DEPTH, method).bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = [2, 3, 10], consts = [6, i64::MAX], sample_count = 10)]
fn gini_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, n_classes: usize) {
    let data = Friedman::new(100_000, 10);
    let codes = data.classes(n_classes);
    Case::classes(&codes, n_classes, Loss::Gini, DEPTH).bench(bencher, &data.narrow(), &data);
}

#[divan::bench(args = [2, 3, 10], consts = [6, i64::MAX], sample_count = 5)]
fn entropy_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, n_classes: usize) {
    let data = Friedman::new(100_000, 10);
    let codes = data.classes(n_classes);
    Case::classes(&codes, n_classes, Loss::Entropy, DEPTH).bench(bencher, &data.narrow(), &data);
}

/// Number of columns, number of drawn features, and how orders are made. `COLUMNS_PER_DRAWN` in
/// `params/valid.rs` is set by these.
fn drawn() -> impl Iterator<Item = (usize, i64, ColumnOrders)> {
    [(10, 1), (10, 2), (10, 3), (10, 5), (20, 4), (30, 10), (50, 7), (50, 12), (50, 25), (200, 14)]
        .into_iter()
        .flat_map(|(columns, drawn)| {
            [ColumnOrders::Carried, ColumnOrders::OnDemand].map(|orders| (columns, drawn, orders))
        })
}

fn bench_drawn(
    bencher: Bencher<'_, '_>,
    target: &dyn Fn(&Friedman) -> Vec<f64>,
    loss: Loss,
    case: (usize, i64, ColumnOrders),
) {
    let (n_columns, count, column_orders) = case;
    let data = Friedman::new(50_000, n_columns);
    let (x, y) = (data.narrow(), target(&data));
    let x = Matrix::from_rows(&x, data.n_rows, n_columns).unwrap();
    let codes: Vec<u32> = y.iter().map(|&y| y as u32).collect();
    let target = if loss == Loss::Gini { Target::Classes { codes: &codes, n_classes: 2 } } else { Target::Values(&y) };
    let params =
        Params { max_features: MaxFeatures::Count(count), column_orders, n_jobs: Some(1), ..Params::default() };
    bencher.counter(ItemsCount::new(data.n_rows * n_columns)).bench(|| fit(&x, target, None, loss, &params).unwrap());
}

#[divan::bench(args = drawn(), sample_count = 5)]
fn squared_drawn_1_thread(bencher: Bencher<'_, '_>, case: (usize, i64, ColumnOrders)) {
    bench_drawn(bencher, &|data| data.y.clone(), Loss::SquaredError, case);
}

#[divan::bench(args = drawn(), sample_count = 5)]
fn gini_drawn_1_thread(bencher: Bencher<'_, '_>, case: (usize, i64, ColumnOrders)) {
    bench_drawn(bencher, &|data| data.classes(2).into_iter().map(f64::from).collect(), Loss::Gini, case);
}

#[divan::bench(args = drawn(), sample_count = 5)]
fn absolute_drawn_1_thread(bencher: Bencher<'_, '_>, case: (usize, i64, ColumnOrders)) {
    bench_drawn(bencher, &|data| data.y.clone(), Loss::AbsoluteError, case);
}

/// Random thresholds of all features, and of the square root of their number for two classes, by
/// number of threads.
#[divan::bench(args = [1, 2], consts = [false, true], sample_count = 10)]
fn random_thresholds<const CLASSES: bool>(bencher: Bencher<'_, '_>, n_jobs: i64) {
    let data = Friedman::new(100_000, 10);
    let (cells, codes) = (data.narrow(), data.classes(2));
    let x = Matrix::from_rows(&cells, data.n_rows, data.n_columns).unwrap();
    let (target, loss, max_features) = if CLASSES {
        (Target::Classes { codes: &codes, n_classes: 2 }, Loss::Gini, MaxFeatures::Sqrt)
    } else {
        (Target::Values(&data.y), Loss::SquaredError, MaxFeatures::All)
    };
    let params = Params { splitter: Splitter::Random, max_features, n_jobs: Some(n_jobs), ..Params::default() };
    bencher
        .counter(ItemsCount::new(data.n_rows * data.n_columns))
        .bench(|| fit(&x, target, None, loss, &params).unwrap());
}

/// Ten trees of a random forest, without and with out-of-bag predictions. Gini draws the square
/// root of the number of features.
#[divan::bench(args = [false, true], consts = [false, true], sample_count = 5)]
fn forest_1_thread<const CLASSES: bool>(bencher: Bencher<'_, '_>, out_of_bag: bool) {
    let data = Friedman::new(100_000, 10);
    let (cells, codes) = (data.narrow(), data.classes(2));
    let x = Matrix::from_rows(&cells, data.n_rows, data.n_columns).unwrap();
    let (target, loss, max_features) = if CLASSES {
        (Target::Classes { codes: &codes, n_classes: 2 }, Loss::Gini, MaxFeatures::Sqrt)
    } else {
        (Target::Values(&data.y), Loss::SquaredError, MaxFeatures::All)
    };
    let tree = Params { max_features, n_jobs: Some(1), ..Params::default() };
    let params = ForestParams { tree, bags: Bags::Bootstrap(data.n_rows), out_of_bag, ..ForestParams::new(10, 1) };
    bencher.bench(|| fit_forest(&x, target, None, loss, &params).unwrap());
}

/// Ten distinct values per column.
#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_coarse_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let coarse: Vec<f32> = data.x.iter().map(|&value| (10.0 * value).floor() as f32).collect();
    Case::squared(&data, depth, 1).bench(bencher, &coarse, &data);
}

/// Columns of these numbers of distinct values and whole targets, sorted and coded, in leaves of at
/// least 20 rows.
#[divan::bench(args = [ColumnStorage::Sorted, ColumnStorage::Auto], consts = [10, 100, 1_000], sample_count = 10)]
fn squared_whole_1_thread<const DISTINCT: usize>(bencher: Bencher<'_, '_>, column_storage: ColumnStorage) {
    let data = Friedman::new(100_000, 10);
    let coarse: Vec<f32> = data.x.iter().map(|&value| (DISTINCT as f64 * value).floor() as f32).collect();
    let whole: Vec<f64> = data.y.iter().map(|y| (100.0 * y).floor()).collect();
    let x = Matrix::from_rows(&coarse, data.n_rows, data.n_columns).unwrap();
    let params = Params { column_storage, min_samples_leaf: Size::Rows(20), n_jobs: Some(1), ..Params::default() };
    bencher
        .counter(ItemsCount::new(data.n_rows * data.n_columns))
        .bench(|| fit(&x, Target::Values(&whole), None, Loss::SquaredError, &params).unwrap());
}

/// One cell in ten is missing.
#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_missing_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let mut x = data.narrow();
    x.iter_mut().enumerate().filter(|(cell, _)| cell * 7919 % 10_007 < 1_000).for_each(|(_, value)| *value = f32::NAN);
    Case::squared(&data, depth, 1).bench(bencher, &x, &data);
}
