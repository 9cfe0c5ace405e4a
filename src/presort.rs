//! X → columns: one radix sort a feature, once a fit.
//!
//! Least-significant-digit radix sort of (key, row) pairs packed in 64 bits, three digits of 11 bits, with all
//! histograms taken in one pass and digits that never change skipped. The last pass writes row ids and targets where
//! they belong. Stable, so equal values keep the order of their rows.
//!
//! f32 keys have 32 bits and fit. f64 keys are sorted by their high word in the same way; runs that tie there (short
//! ones in most data, all of it for Unix time stamps) are then sorted by their low word.
//!
//! Cost: 5 passes a feature, O(rows). Memory: 16 bytes a row and thread, given back at the end.

use crate::columns::{Column, Columns};
use crate::data::{Cell, Matrix, Rows};
use crate::threads::Team;

const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;
const DIGITS: usize = 3;

/// Rows transposed at a time: X is read once, a block of it from cache for each feature.
const TRANSPOSE_ROWS: usize = 4096;

/// Ties in the high word up to this length are sorted by comparison.
const SHORT_RUN: usize = 256;

type Histograms = [Box<[u32; BUCKETS]>; DIGITS];

/// Buffers of one worker, allocated when first needed.
struct Scratch {
    pairs: Vec<u64>,
    spare: Vec<u64>,
    histograms: Histograms,
}

impl Scratch {
    fn new() -> Self {
        Self { pairs: Vec::new(), spare: Vec::new(), histograms: std::array::from_fn(|_| Box::new([0; BUCKETS])) }
    }
}

/// Sorts every feature of `x` for the given rows; `items` are the targets of all rows of `x`.
pub(crate) fn presort<X: Cell, T: Copy + Default + Send + Sync>(
    x: &Matrix<'_, X>,
    rows: &Rows,
    items: &[T],
    team: &Team,
) -> Columns<T> {
    let mut columns: Vec<Column<T>> = (0..x.n_columns()).map(|_| Column::with_len(rows.len())).collect();
    write_keys(x, rows, &mut columns, team);

    let mut has_missing = vec![false; columns.len()];
    let mut scratches: Vec<Scratch> = (0..team.threads()).map(|_| Scratch::new()).collect();
    let mut work: Vec<_> = columns.iter_mut().zip(&mut has_missing).enumerate().collect();
    team.each(&mut work, &mut scratches, |scratch, (feature, (column, missing))| {
        if !team.cancelled() {
            let feature = *feature;
            sort_column(column, rows, items, |row| x.get(row as usize, feature), scratch);
            let last = column.rows[column.rows.len() - 1];
            **missing = x.get(last as usize, feature).to_f64().is_nan();
        }
    });
    drop(work);
    Columns { columns, has_missing }
}

/// Writes the high words of a feature's keys, in row order, where its row ids will be.
fn write_keys<X: Cell, T: Send>(x: &Matrix<'_, X>, rows: &Rows, columns: &mut [Column<T>], team: &Team) {
    let n_blocks = rows.len().div_ceil(TRANSPOSE_ROWS);
    let mut blocks: Vec<Vec<&mut [u32]>> = (0..n_blocks).map(|_| Vec::with_capacity(columns.len())).collect();
    for column in columns {
        for (block, keys) in blocks.iter_mut().zip(column.rows.chunks_mut(TRANSPOSE_ROWS)) {
            block.push(keys);
        }
    }
    let mut blocks: Vec<_> = blocks.into_iter().enumerate().collect();
    team.each(&mut blocks, &mut vec![(); team.threads()], |(), (block, keys)| {
        let start = *block * TRANSPOSE_ROWS;
        for (feature, keys) in keys.iter_mut().enumerate() {
            for (i, key) in keys.iter_mut().enumerate() {
                *key = x.get(rows.id(start + i) as usize, feature).high_key();
            }
        }
    });
}

/// Turns the keys in `column.rows` into sorted row ids, and gathers the targets.
///
/// ```text
/// keys ──digit 0──► pairs ──digit 1──► spare ──digit 2──► row ids and targets      (f32)
///                                            └──digit 2──► pairs ──ties──► row ids and targets      (f64)
/// ```
fn sort_column<X: Cell, T: Copy>(
    column: &mut Column<T>,
    rows: &Rows,
    items: &[T],
    value: impl Fn(u32) -> X,
    scratch: &mut Scratch,
) {
    let Scratch { pairs, spare, histograms } = scratch;
    pairs.resize(rows.len(), 0);
    spare.resize(rows.len(), 0);
    count(&column.rows, histograms);
    let keyed = column.rows.iter().enumerate().map(|(i, &key)| u64::from(key) << 32 | u64::from(rows.id(i)));
    scatter(keyed, 0, histograms, |place, pair| pairs[place] = pair);
    let (from, to) = middle_digit(pairs, spare, histograms);
    let Column { rows: sorted, items: carried } = column;
    let mut finish = |place: usize, pair: u64| {
        sorted[place] = pair as u32;
        carried[place] = items[pair as u32 as usize];
    };
    let from = from.iter().copied();
    // Ask any value which kind of key it has: f32's has no low word.
    if value(rows.id(0)).low_key().is_none() {
        scatter(from, 2, histograms, finish);
    } else {
        scatter(from, 2, histograms, |place, pair| to[place] = pair);
        sort_ties(to, &value);
        to.iter().enumerate().for_each(|(place, &pair)| finish(place, pair));
    }
}

/// Counts how often each digit has each value, all digits in one pass.
fn count(keys: &[u32], histograms: &mut Histograms) {
    for histogram in histograms.iter_mut() {
        histogram.fill(0);
    }
    let [low, middle, high] = histograms;
    for &key in keys {
        low[bucket(key, 0)] += 1;
        middle[bucket(key, 1)] += 1;
        high[bucket(key, 2)] += 1;
    }
}

#[inline]
fn bucket(key: u32, digit: usize) -> usize {
    (key >> (DIGIT_BITS * digit as u32)) as usize % BUCKETS
}

/// Hands each pair to `write` with its place in the order of this digit. Uses the digit's histogram up.
#[inline]
fn scatter(
    pairs: impl Iterator<Item = u64>,
    digit: usize,
    histograms: &mut Histograms,
    mut write: impl FnMut(usize, u64),
) {
    let places = &mut histograms[digit];
    let mut start = 0;
    for place in places.iter_mut() {
        start += std::mem::replace(place, start);
    }
    for pair in pairs {
        let place = &mut places[bucket((pair >> 32) as u32, digit)];
        write(*place as usize, pair);
        *place += 1;
    }
}

/// Sorts by the middle digit unless it never changes; returns the buffer with the result and the other one.
fn middle_digit<'a>(
    pairs: &'a mut [u64],
    spare: &'a mut [u64],
    histograms: &mut Histograms,
) -> (&'a mut [u64], &'a mut [u64]) {
    if histograms[1][bucket((pairs[0] >> 32) as u32, 1)] as usize == pairs.len() {
        return (pairs, spare);
    }
    scatter(pairs.iter().copied(), 1, histograms, |place, pair| spare[place] = pair);
    (spare, pairs)
}

/// Sorts each run of equal high words by the low word.
///
/// ```text
/// high  3 3 3 7 9 9        pairs of a run become (low, row), are sorted, and get their high word back
///       └─run─┘   └─┘
/// ```
fn sort_ties<X: Cell>(pairs: &mut [u64], value: &impl Fn(u32) -> X) {
    let mut scratch: Option<Scratch> = None;
    for run in pairs.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
        let high = run[0] >> 32;
        for pair in run.iter_mut() {
            let row = *pair as u32;
            *pair = u64::from(value(row).low_key().unwrap_or(0)) << 32 | u64::from(row);
        }
        if run.len() <= SHORT_RUN {
            run.sort_unstable();
        } else {
            sort_long_run(run, scratch.get_or_insert_with(Scratch::new));
        }
        for pair in run {
            *pair = high << 32 | *pair & 0xFFFF_FFFF;
        }
    }
}

/// Sorts pairs by their upper 32 bits, keeping the order of equal ones.
fn sort_long_run(run: &mut [u64], scratch: &mut Scratch) {
    let Scratch { pairs, spare, histograms } = scratch;
    let keys: Vec<u32> = run.iter().map(|pair| (pair >> 32) as u32).collect();
    count(&keys, histograms);
    pairs.resize(run.len(), 0);
    spare.resize(run.len(), 0);
    scatter(run.iter().copied(), 0, histograms, |place, pair| pairs[place] = pair);
    let (from, _) = middle_digit(pairs, spare, histograms);
    scatter(from.iter().copied(), 2, histograms, |place, pair| run[place] = pair);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use proptest::prelude::*;

    fn check<X: Cell>(cells: &[X], n_columns: usize, weights: Option<&[f64]>) {
        let x = Matrix::from_rows(cells, cells.len() / n_columns, n_columns).unwrap();
        let rows = Rows::new(x.n_rows(), weights).unwrap();
        let items: Vec<f64> = (0..x.n_rows()).map(|row| row as f64 * 3.0).collect();
        let columns = presort(&x, &rows, &items, &Team::new(None, usize::MAX).unwrap());
        for feature in 0..n_columns {
            let expected = naive::sorted_rows(&x, &rows, feature);
            assert_eq!(columns.columns[feature].rows, expected);
            let carried: Vec<f64> = expected.iter().map(|&row| items[row as usize]).collect();
            assert_eq!(columns.columns[feature].items, carried);
            let any_nan = expected.iter().any(|&row| x.get(row as usize, feature).to_f64().is_nan());
            assert_eq!(columns.has_missing[feature], any_nan);
        }
    }

    fn cell() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (-3..3).prop_map(f64::from),
            2 => any::<f64>(),
            1 => (0..5u64).prop_map(|k| f64::from_bits(1e9_f64.to_bits() + k)),
            1 => Just(-0.0),
            1 => Just(f64::NAN),
            1 => Just(-f64::NAN),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_comparison_sort(
            (cells, weights) in (1..400usize).prop_flat_map(|n| (
                prop::collection::vec(cell(), 2 * n),
                prop::option::of(prop::collection::vec(prop_oneof![Just(0.0), Just(1.5)], n)),
            ))
        ) {
            let weights = weights.map(|mut w| { w[0] = 1.0; w });
            check(&cells, 2, weights.as_deref());
            let narrow: Vec<f32> = cells.iter().map(|&v| v as f32).collect();
            check(&narrow, 2, weights.as_deref());
        }
    }

    #[test]
    fn long_runs_of_equal_high_words_are_sorted() {
        let stamps: Vec<f64> = (0..20_000u64).map(|i| 1.7e9 + ((i * 7919) % 20_000) as f64 * 1e-3).collect();
        check(&stamps, 1, None);
    }
}
