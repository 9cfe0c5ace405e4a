//! X → columns: every feature is sorted once a fit.
//!
//! Keys are integers in the order of the values, packed with their rows in 64 bits. One pass puts the pairs into cells by the
//! upper 15 bits of their keys; a cell is then small enough to be sorted in cache, by the two digits that are left. A
//! radix sort that starts with the lowest digit scatters over all the memory in each of its passes. Ties keep the order of their rows.
//!
//! f32 keys have 32 bits and fit. f64 keys are sorted by their high word in the same way; runs that tie there (short
//! ones in most data, longer ones for Unix time stamps) are then sorted by their low word.
//!
//! Cost: O(rows) a feature. Memory: 8 to 16 bytes a row and thread, given back at the end.

use crate::columns::{Columns, SortedColumn};
use crate::data::{Cell, Matrix, Rows};
use crate::memory::prefetch;
use crate::threads::Team;

/// Columns up to this length, and cells up to the next, are sorted by comparison: counting digits would take longer.
const SHORT_COLUMN: usize = 4096;
const SHORT_CELL: usize = 96;

/// Bits of a digit within a cell. The upper bits choose the cell.
const DIGIT_BITS: u32 = 9;
const DIGITS: usize = 1 << DIGIT_BITS;
const CELL_SHIFT: u32 = 17;
const CELLS: usize = 1 << (32 - CELL_SHIFT);

/// Memory of a cell is asked for so many pairs before they are written, two cache lines: who writes to as many places as there are cells
/// waits for each new line otherwise. Depth 1 of `squared_f32_all_threads` in `benches/fit.rs` measures it.
const AHEAD: usize = 16;

/// Rows transposed at a time: X is read once, a block of it from cache for each feature.
const TRANSPOSE_ROWS: usize = 512;

/// Buffers of one worker, allocated when first needed.
#[derive(Default)]
struct SortBuffers {
    /// Key and row, the key in the upper half.
    pairs: Vec<u64>,
    spare: Vec<u64>,
    /// For each cell the number of its pairs, then where its next one goes, and last where it ends.
    cells: Vec<u32>,
}

/// Sorts every feature of `x` for the given rows; `items` are the targets of all rows of `x`.
pub(crate) fn presort<X: Cell, T: Copy + Default + Send + Sync>(
    x: &Matrix<'_, X>,
    rows: &Rows,
    items: &[T],
    team: &Team,
) -> Columns<T> {
    let mut features: Vec<SortedColumn<T>> =
        (0..x.n_columns()).map(|_| SortedColumn::with_capacity(rows.len())).collect();
    // Memory is touched by all threads. It comes from this one, where the allocator may still have that of an earlier fit.
    team.each(&mut features, &mut vec![(); team.threads()], |(), column| column.rows.resize(rows.len(), 0));
    write_keys(x, rows, &mut features, team);

    let mut has_missing = vec![false; features.len()];
    let mut buffers: Vec<SortBuffers> = (0..team.threads()).map(|_| SortBuffers::default()).collect();
    let mut work: Vec<_> = features.iter_mut().zip(&mut has_missing).enumerate().collect();
    team.each(&mut work, &mut buffers, |buffers, (feature, (column, missing))| {
        if !team.cancelled() {
            let feature = *feature;
            sort_column(column, rows, items, |row| x.get(row as usize, feature), buffers);
            let last = column.rows[column.rows.len() - 1];
            **missing = x.get(last as usize, feature).to_f64().is_nan();
        }
    });
    drop(work);
    Columns { features, has_missing, targets: SortedColumn::with_len(0) }
}

/// Writes the high words of a feature's keys, in row order, where its row ids will be.
fn write_keys<X: Cell, T: Send>(x: &Matrix<'_, X>, rows: &Rows, columns: &mut [SortedColumn<T>], team: &Team) {
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
fn sort_column<X: Cell, T: Copy>(
    column: &mut SortedColumn<T>,
    rows: &Rows,
    items: &[T],
    value: impl Fn(u32) -> X,
    buffers: &mut SortBuffers,
) {
    let keyed = column.rows.iter().enumerate().map(|(i, &key)| u64::from(key) << 32 | u64::from(rows.id(i)));
    if rows.len() <= SHORT_COLUMN {
        buffers.pairs.clear();
        buffers.pairs.extend(keyed);
        buffers.pairs.sort_unstable();
    } else {
        sort_by_cells(&column.rows, keyed, buffers);
    }
    // Ask any value which kind of key it has: f32's has no low word.
    if value(rows.id(0)).low_key().is_some() {
        sort_ties(&mut buffers.pairs, &value);
    }
    column.items.extend(column.rows.iter_mut().zip(&buffers.pairs).map(|(row, &pair)| {
        *row = pair as u32;
        items[*row as usize]
    }));
}

/// Fills `buffers.pairs` with the pairs in ascending order; `keys` are their upper halves.
fn sort_by_cells(keys: &[u32], keyed: impl Iterator<Item = u64>, buffers: &mut SortBuffers) {
    let SortBuffers { pairs, spare, cells } = buffers;
    pairs.resize(keys.len(), 0);
    cells.clear();
    cells.resize(CELLS, 0);
    for key in keys {
        cells[(key >> CELL_SHIFT) as usize] += 1;
    }
    let first = cells.iter().position(|&count| count > 0).unwrap_or(0);
    let last = cells.iter().rposition(|&count| count > 0).unwrap_or(0);
    let largest = cells[first..=last].iter().copied().max().unwrap_or(0) as usize;
    turn_counts_into_starts(&mut cells[first..=last]);
    for pair in keyed {
        let next = &mut cells[(pair >> (32 + CELL_SHIFT)) as usize];
        pairs[*next as usize] = pair;
        prefetch(pairs.as_ptr().wrapping_add(*next as usize + AHEAD));
        *next += 1;
    }
    spare.resize(spare.len().max(largest), 0);
    let mut start = 0;
    for &end in &cells[first..=last] {
        let cell = &mut pairs[start..end as usize];
        start = end as usize;
        if cell.len() <= SHORT_CELL {
            cell.sort_unstable();
        } else {
            let spare = &mut spare[..cell.len()];
            sort_by_digit(cell, spare, 0);
            sort_by_digit(spare, cell, 1);
        }
    }
}

/// Copies the pairs in the order of one digit of their keys, those with equal digits in their old order.
fn sort_by_digit(from: &[u64], to: &mut [u64], digit: u32) {
    let digit = |pair: u64| (pair >> (32 + DIGIT_BITS * digit)) as usize % DIGITS;
    let mut places = [0; DIGITS];
    for &pair in from {
        places[digit(pair)] += 1;
    }
    turn_counts_into_starts(&mut places);
    for &pair in from {
        let place = &mut places[digit(pair)];
        to[*place as usize] = pair;
        *place += 1;
    }
}

fn turn_counts_into_starts(counts: &mut [u32]) {
    let mut start = 0;
    for count in counts {
        start += std::mem::replace(count, start);
    }
}

/// Sorts each run of equal high words by the low word.
///
/// ```text
/// high  3 3 3 7 9 9        pairs of a run become (low, row), are sorted, and get their high word back
///       └─run─┘   └─┘
/// ```
fn sort_ties<X: Cell>(pairs: &mut [u64], value: &impl Fn(u32) -> X) {
    for run in pairs.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
        let high = run[0] >> 32;
        for pair in run.iter_mut() {
            let row = *pair as u32;
            *pair = u64::from(value(row).low_key().unwrap_or(0)) << 32 | u64::from(row);
        }
        run.sort_unstable();
        for pair in run {
            *pair = high << 32 | *pair & 0xFFFF_FFFF;
        }
    }
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
        let columns = presort(&x, &rows, &items, &Team::new(None, 1, usize::MAX).unwrap());
        for feature in 0..n_columns {
            let expected = naive::sorted_rows(&x, &rows, feature);
            assert_eq!(columns.features[feature].rows, expected);
            let carried: Vec<f64> = expected.iter().map(|&row| items[row as usize]).collect();
            assert_eq!(columns.features[feature].items, carried);
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
    fn long_columns_are_sorted_by_cells() {
        let mut state = 1u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let uniform: Vec<f32> = (0..30_000).map(|_| (random() >> 40) as f32 / 16_777_216.0 - 0.3).collect();
        check(&uniform, 1, None);
        let any_bits: Vec<f32> = (0..30_000).map(|_| f32::from_bits(random() as u32)).collect();
        check(&any_bits, 3, None);
        let few: Vec<f64> = (0..30_000).map(|_| (random() % 7) as f64).collect();
        check(&few, 2, None);
        let wide: Vec<f64> = (0..30_000).map(|_| f64::from_bits(random())).collect();
        check(&wide, 1, None);
    }

    #[test]
    fn long_runs_of_equal_high_words_are_sorted() {
        let stamps: Vec<f64> = (0..20_000u64).map(|i| 1.7e9 + ((i * 7919) % 20_000) as f64 * 1e-3).collect();
        check(&stamps, 1, None);
    }
}
