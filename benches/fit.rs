//! Whole fits on friedman1 data, by loss, depth, size and cell type. Throughput is in cells of X.
//!
//! `cargo bench --bench fit -- squared` runs the benchmarks whose name contains "squared". A depth
//! of 1 measures the presort and one search of the root.

mod friedman;

use divan::Bencher;
use divan::counter::ItemsCount;
use friedman::Friedman;
use splitwood::{Cell, Loss, Matrix, MedianMethod, Params, Target, fit};

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
