//! HOT: the screen of cuts for several outputs without weights: a few vector instructions per row.
//!
//! The gain of a cut is at most a sum over the outputs of squares: the deviation of the left side
//! from the node's mean, scaled. A deviation is itself a sum over the rows on the left. So a row
//! is a few floats side by side, which are added up, squared and compared with the bar:
//!
//! ```text
//! row       a0 b0 c0 0        deviations of three outputs, and a zero to fill the vector
//! left      A  B  C  0        their sums over the rows on the left
//! bound     (A² + B² + C²) / (rows on the left · rows on the right)
//! ```
//!
//! Floats lose digits, so the bound has room for all of them (`Screen::room`), and a cut that
//! passes is examined again with sums of integers. Those are added up only then, from the last cut
//! that passed. Test: `tests.rs::joint_sweeps_agree_with_one_sweep_per_output`.

use crate::criterion::RunningSums;

/// Most outputs that are screened.
pub(super) const MAX_OUTPUTS: usize = 8;

/// The bound leaves room for errors in two ways: (s + e)² ≤ s² · (1 + δ) + e² · (1 + 1/δ).
const DELTA: f64 = 1.0 / (1u64 << 20) as f64;

/// The deviations of a node's rows.
#[derive(Default)]
pub(super) struct Screen {
    /// Row after row, `width` numbers each.
    deviations: Vec<f64>,
    /// The number of outputs, rounded up to a whole number of vectors; 0 if nothing is screened.
    width: usize,
    /// The room for errors in the squared length of a sum.
    room: f64,
}

impl Screen {
    /// Describes a node of these rows, by the open outputs: criterion and sums before the first
    /// row. `contributions` are row after row.
    pub fn describe<'c, C: RunningSums + 'c>(
        &mut self,
        n_rows: usize,
        outputs: impl Iterator<Item = (&'c C, &'c C::Running)>,
        n_outputs: usize,
        contributions: &[C::Contribution],
    ) {
        self.width = 0;
        if C::WEIGHTED || n_outputs > MAX_OUTPUTS {
            return;
        }
        let width = n_outputs.next_multiple_of(2);
        self.deviations.clear();
        self.deviations.resize(n_rows * width, 0.0);
        let mut squared_error = 0.0;
        for (place, (criterion, start)) in outputs.enumerate() {
            let Some(error) = criterion.deviation_error(start) else { return };
            let mut size = 0.0;
            let rows = self.deviations.chunks_exact_mut(width).zip(contributions.chunks_exact(n_outputs));
            for (row, contributions) in rows {
                row[place] = criterion.deviation(start, contributions[place]);
                size += row[place].abs();
            }
            // Each sum has at most `n_rows` roundings, and each deviation a few.
            squared_error += (error + size * f64::EPSILON * (n_rows + 8) as f64).powi(2);
        }
        self.room = squared_error * (1.0 + 1.0 / DELTA) * 1.01;
        if self.room.is_finite() {
            self.width = width;
        }
    }

    /// Calls `passes(n_left, bar)` for each cut with up to `last` rows on the left whose gain may
    /// reach the bar, which it returns anew. Gains are sums over the outputs. Returns false without
    /// a call if the node is not screened.
    pub fn sweep(&self, ranks: &[u32], last: usize, bar: f64, passes: impl FnMut(usize) -> f64) -> bool {
        match self.width {
            2 => self.sweep_width::<1>(ranks, last, bar, passes),
            4 => self.sweep_width::<2>(ranks, last, bar, passes),
            6 => self.sweep_width::<3>(ranks, last, bar, passes),
            8 => self.sweep_width::<4>(ranks, last, bar, passes),
            _ => return false,
        }
        true
    }

    #[inline(always)]
    fn sweep_width<const PAIRS: usize>(
        &self,
        ranks: &[u32],
        last: usize,
        mut bar: f64,
        mut passes: impl FnMut(usize) -> f64,
    ) {
        let (pairs, _) = self.deviations.as_chunks::<2>();
        let (rows, _) = pairs.as_chunks::<PAIRS>();
        let mut sums = [[0.0; 2]; PAIRS];
        let (mut left, mut right) = (0.0, rows.len() as f64);
        for (place, &rank) in ranks[..last].iter().enumerate() {
            let row = &rows[rank as usize];
            let mut squares = [0.0; 2];
            for (sum, deviation) in sums.iter_mut().zip(row) {
                for lane in 0..2 {
                    sum[lane] += deviation[lane];
                    squares[lane] += sum[lane] * sum[lane];
                }
            }
            (left, right) = (left + 1.0, right - 1.0);
            if (squares[0] + squares[1]) * (1.0 + 2.0 * DELTA) + self.room >= bar * (left * right) {
                bar = passes(place + 1);
            }
        }
    }
}
