//! Whole fits on friedman1 data, by loss, depth, size and cell type; throughput is in cells of X.
//!
//! `cargo bench -- depth` runs those whose name contains "depth". A depth of 1 is the presort and one scan of the root.

use divan::Bencher;
use divan::counter::ItemsCount;
use splitwood::{Cell, Loss, Matrix, Params, Target, fit};

fn main() {
    divan::main();
}

/// Uniform features and Friedman's first function of the first five of them, with unit noise.
struct Friedman {
    x: Vec<f64>,
    y: Vec<f64>,
    n_rows: usize,
    n_columns: usize,
}

impl Friedman {
    fn new(n_rows: usize, n_columns: usize) -> Self {
        let mut state = 42u64;
        let mut uniform = || {
            // SplitMix64.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let x: Vec<f64> = (0..n_rows * n_columns).map(|_| uniform()).collect();
        let y = x
            .chunks(n_columns)
            .map(|r| {
                let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let wave = 10.0 * (std::f64::consts::PI * r[0] * r[1]).sin();
                wave + 20.0 * (r[2] - 0.5).powi(2) + 10.0 * r[3] + 5.0 * r[4] + noise
            })
            .collect();
        Self { x, y, n_rows, n_columns }
    }

    /// Class codes by the order of y, in equal shares.
    fn classes(&self, n_classes: usize) -> Vec<u32> {
        let mut sorted = self.y.clone();
        sorted.sort_by(f64::total_cmp);
        let share = |y: f64| sorted.partition_point(|&other| other < y) * n_classes / sorted.len();
        self.y.iter().map(|&y| share(y) as u32).collect()
    }
}

/// What is fitted, and how.
struct Case<'a> {
    target: Target<'a>,
    weights: Option<&'a [f64]>,
    loss: Loss,
    max_depth: i64,
    n_jobs: i64,
}

impl<'a> Case<'a> {
    fn squared(data: &'a Friedman, max_depth: i64, n_jobs: i64) -> Self {
        Self { target: Target::Values(&data.y), weights: None, loss: Loss::SquaredError, max_depth, n_jobs }
    }

    fn classes(codes: &'a [u32], n_classes: usize, loss: Loss, max_depth: i64) -> Self {
        Self { target: Target::Classes { codes, n_classes }, weights: None, loss, max_depth, n_jobs: 1 }
    }

    fn bench<X: Cell>(&self, bencher: Bencher<'_, '_>, x: &[X], data: &Friedman) {
        let x = Matrix::from_rows(x, data.n_rows, data.n_columns).unwrap();
        let params = Params { max_depth: Some(self.max_depth), n_jobs: Some(self.n_jobs), ..Params::default() };
        bencher
            .counter(ItemsCount::new(data.n_rows * data.n_columns))
            .bench(|| fit(&x, self.target, self.weights, self.loss, &params).unwrap());
    }
}

fn narrow(data: &Friedman) -> Vec<f32> {
    data.x.iter().map(|&v| v as f32).collect()
}

const DEPTHS: [i64; 3] = [1, 6, i64::MAX];

#[divan::bench(args = DEPTHS, consts = [1_000, 100_000], sample_count = 10)]
fn squared_f32_1_thread<const ROWS: usize>(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(ROWS, 10);
    Case::squared(&data, depth, 1).bench(bencher, &narrow(&data), &data);
}

#[divan::bench(args = DEPTHS, consts = [100_000, 1_000_000], sample_count = 5)]
fn squared_f32_all_threads<const ROWS: usize>(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(ROWS, 10);
    Case::squared(&data, depth, -1).bench(bencher, &narrow(&data), &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_f64_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    Case::squared(&data, depth, 1).bench(bencher, &data.x, &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn squared_weighted_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let weights: Vec<f64> = (0..data.n_rows).map(|row| 0.1 + (row % 7) as f64).collect();
    let case = Case { weights: Some(&weights), ..Case::squared(&data, depth, 1) };
    case.bench(bencher, &narrow(&data), &data);
}

#[divan::bench(args = DEPTHS, sample_count = 10)]
fn poisson_1_thread(bencher: Bencher<'_, '_>, depth: i64) {
    let data = Friedman::new(100_000, 10);
    let counts: Vec<f64> = data.y.iter().map(|y| y.max(0.0).floor()).collect();
    let case = Case { target: Target::Values(&counts), loss: Loss::Poisson, ..Case::squared(&data, depth, 1) };
    case.bench(bencher, &narrow(&data), &data);
}

#[divan::bench(args = [2, 3, 10], consts = [6, i64::MAX], sample_count = 10)]
fn gini_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, n_classes: usize) {
    let data = Friedman::new(100_000, 10);
    let codes = data.classes(n_classes);
    Case::classes(&codes, n_classes, Loss::Gini, DEPTH).bench(bencher, &narrow(&data), &data);
}

#[divan::bench(args = [2, 3, 10], consts = [6, i64::MAX], sample_count = 5)]
fn entropy_1_thread<const DEPTH: i64>(bencher: Bencher<'_, '_>, n_classes: usize) {
    let data = Friedman::new(100_000, 10);
    let codes = data.classes(n_classes);
    Case::classes(&codes, n_classes, Loss::Entropy, DEPTH).bench(bencher, &narrow(&data), &data);
}
