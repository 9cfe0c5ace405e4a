//! The data of the benchmarks: Friedman's first function, as in scikit-learn's `make_friedman1`.

#![allow(dead_code, reason = "each benchmark uses only some of the methods")]

/// Uniform features and Friedman's first function of the first five of them, with noise of variance
/// 1.
pub struct Friedman {
    /// Row by row.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub n_rows: usize,
    pub n_columns: usize,
}

impl Friedman {
    pub fn new(n_rows: usize, n_columns: usize) -> Self {
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

    /// Class codes in the order of y, with equally many rows per class.
    pub fn classes(&self, n_classes: usize) -> Vec<u32> {
        let mut sorted = self.y.clone();
        sorted.sort_by(f64::total_cmp);
        let share = |y: f64| sorted.partition_point(|&other| other < y) * n_classes / sorted.len();
        self.y.iter().map(|&y| share(y) as u32).collect()
    }

    /// The features in single precision.
    pub fn narrow(&self) -> Vec<f32> {
        self.x.iter().map(|&v| v as f32).collect()
    }
}
