//! Sorts every feature of X once per fit, by radix sort.
//!
//! ```text
//! pair    │ bucket, 15 bits │ digit 1 │ digit 0 │ row, 32 bits │        key: the upper 32 bits
//!
//! pass 1  all pairs → buckets               scattered over memory, with prefetch
//! pass 2  each bucket by digit 0, then 1    within the cache
//! ```
//!
//! Keys are integers in the order of the values. A radix sort that starts with the lowest digit
//! scatters over the whole memory in every pass; this one does so once. Equal keys stay in row
//! order.
//!
//! f32 keys have 32 bits. f64 keys are sorted by their high word in the same way; runs with equal
//! high words (short in most data, longer for Unix time stamps) are then sorted by their low word.
//!
//! Cost: O(rows) per feature. Memory: 8 to 16 bytes per row and thread, freed at the end.

use crate::columns::{CodedColumn, CodedColumns, Columns, SortedColumn};
use crate::data::{Cell, Matrix, Rows};
use crate::memory::prefetch;
use crate::threads::Team;

/// Columns and buckets up to these lengths are sorted by comparison, which is faster there than
/// counting digits.
const SHORT_COLUMN: usize = 4096;
const SHORT_BUCKET: usize = 96;

/// Bits per digit. Two digits cover the key's bits below `BUCKET_SHIFT`; the bits above choose the
/// bucket.
const DIGIT_BITS: u32 = 9;
const DIGITS: usize = 1 << DIGIT_BITS;
const BUCKET_SHIFT: u32 = 17;
const BUCKETS: usize = 1 << (32 - BUCKET_SHIFT);

/// A bucket's memory is prefetched this many pairs (two cache lines) ahead of the writes. Writes to
/// 32,768 buckets in turn would otherwise wait for each new cache line. Depth 1 of
/// `squared_f32_all_threads` in `benches/fit.rs` measures it.
const AHEAD: usize = 16;

/// Rows per block of the transposition: X comes from memory once, and each feature reads the block
/// from the cache.
const TRANSPOSE_ROWS: usize = 512;

/// Buffers of one worker, allocated when first needed.
#[derive(Default)]
struct SortBuffers {
    /// Key and row, the key in the upper half.
    pairs: Vec<u64>,
    /// As long as the largest bucket.
    spare: Vec<u64>,
    /// By bucket: first its number of pairs, then the place of its next pair, finally its end.
    buckets: Vec<u32>,
}

/// Sorts every feature of `x` for the given rows; `items` has the target of every row of `x`.
/// Features with at most `max_codes` distinct values are coded instead, but none if it is 0.
pub(crate) fn presort<X: Cell, T: Copy + Default + Send + Sync>(
    x: &Matrix<'_, X>,
    rows: &Rows,
    items: &[T],
    max_codes: usize,
    team: &Team,
) -> Columns<T> {
    let mut features: Vec<SortedColumn<T>> =
        (0..x.n_columns()).map(|_| SortedColumn::with_capacity(rows.len())).collect();
    // All threads touch the memory, so that page faults are shared. This thread allocates it: its
    // allocator may still hold the memory of an earlier fit.
    team.each(&mut features, &mut vec![(); team.threads()], |(), column| column.rows.resize(rows.len(), 0));
    write_keys(x, rows, &mut features, team);

    let mut has_missing = vec![false; features.len()];
    let mut buffers: Vec<SortBuffers> = (0..team.threads()).map(|_| SortBuffers::default()).collect();
    let mut coded: Vec<Option<CodedColumn>> = features.iter().map(|_| None).collect();
    let mut work: Vec<_> = features.iter_mut().zip(&mut has_missing).zip(&mut coded).enumerate().collect();
    team.each(&mut work, &mut buffers, |buffers, (feature, ((column, missing), coded))| {
        if !team.cancelled() {
            let feature = *feature;
            if max_codes > 0 {
                **coded = code_column(x, rows, feature, &column.rows, max_codes);
            }
            if coded.is_some() {
                **missing = has_nan(&column.rows);
                **column = SortedColumn::with_len(0);
                return;
            }
            sort_column(column, rows, items, |row| x.get(row as usize, feature), buffers);
            let last = column.rows[column.rows.len() - 1];
            **missing = x.get(last as usize, feature).to_f64().is_nan();
        }
    });
    drop(work);
    let ascending = || {
        let (ids, items) = (rows.ids(), rows.pick(items.to_vec()));
        SortedColumn { rows: ids, items }
    };
    let coded = CodedColumns::new(coded, ascending);
    Columns { features, has_missing, targets: SortedColumn::with_len(0), coded }
}

/// The codes of a feature, from the high words of its keys; `None` if it has more distinct values.
fn code_column<X: Cell>(
    x: &Matrix<'_, X>,
    rows: &Rows,
    feature: usize,
    high_keys: &[u32],
    max_codes: usize,
) -> Option<CodedColumn> {
    let keys = high_keys.iter().enumerate().map(|(place, &high)| {
        let row = rows.id(place);
        // Read only where a key has a low word.
        let low =
            if size_of::<X>() > size_of::<u32>() { x.get(row as usize, feature).low_key().unwrap_or(0) } else { 0 };
        (row, u64::from(high) << 32 | u64::from(low))
    });
    CodedColumn::new(x.n_rows(), keys, max_codes)
}

/// Whether any of these high words of keys is that of NaN.
fn has_nan(high_keys: &[u32]) -> bool {
    high_keys.contains(&u32::MAX)
}

/// Writes the high words of each feature's keys, in row order, into the memory of its row ids.
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

/// Replaces the keys in `column.rows` by the sorted row ids and gathers the targets.
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
        sort_by_buckets(&column.rows, keyed, buffers);
    }
    // Keys of f32 have no low word; any value shows whether there is one.
    if value(rows.id(0)).low_key().is_some() {
        sort_ties(&mut buffers.pairs, &value);
    }
    column.items.extend(column.rows.iter_mut().zip(&buffers.pairs).map(|(row, &pair)| {
        *row = pair as u32;
        items[*row as usize]
    }));
}

/// Fills `buffers.pairs` with the pairs in ascending order; `keys` are their upper halves.
fn sort_by_buckets(keys: &[u32], keyed: impl Iterator<Item = u64>, buffers: &mut SortBuffers) {
    let SortBuffers { pairs, spare, buckets } = buffers;
    pairs.resize(keys.len(), 0);
    buckets.clear();
    buckets.resize(BUCKETS, 0);
    for key in keys {
        buckets[(key >> BUCKET_SHIFT) as usize] += 1;
    }
    let first = buckets.iter().position(|&count| count > 0).unwrap_or(0);
    let last = buckets.iter().rposition(|&count| count > 0).unwrap_or(0);
    let largest = buckets[first..=last].iter().copied().max().unwrap_or(0) as usize;
    turn_counts_into_starts(&mut buckets[first..=last]);
    for pair in keyed {
        let next = &mut buckets[(pair >> (32 + BUCKET_SHIFT)) as usize];
        pairs[*next as usize] = pair;
        prefetch(pairs.as_ptr().wrapping_add(*next as usize + AHEAD));
        *next += 1;
    }
    spare.resize(spare.len().max(largest), 0);
    let mut start = 0;
    for &end in &buckets[first..=last] {
        let bucket = &mut pairs[start..end as usize];
        start = end as usize;
        if bucket.len() <= SHORT_BUCKET {
            bucket.sort_unstable();
        } else {
            let spare = &mut spare[..bucket.len()];
            sort_by_digit(bucket, spare, 0);
            sort_by_digit(spare, bucket, 1);
        }
    }
}

/// Copies the pairs in the order of one digit of their keys; pairs with equal digits keep their
/// order.
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
/// high  3 3 3 7 9 9      the pairs of a run become (low, row) and are sorted;
///       └─run─┘   └─┘    then they get their high word back
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
        let columns = presort(&x, &rows, &items, 0, &Team::new(None, 1, usize::MAX).unwrap());
        for feature in 0..n_columns {
            let expected = naive::sorted_rows(&x, &rows, feature);
            assert_eq!(columns.features[feature].rows, expected);
            let carried: Vec<f64> = expected.iter().map(|&row| items[row as usize]).collect();
            assert_eq!(columns.features[feature].items, carried);
            let any_nan = expected.iter().any(|&row| x.get(row as usize, feature).to_f64().is_nan());
            assert_eq!(columns.has_missing[feature], any_nan);
        }
        let mut columns = presort(&x, &rows, &items, 300, &Team::new(None, 1, usize::MAX).unwrap());
        for feature in 0..n_columns {
            let expected = naive::sorted_rows(&x, &rows, feature);
            columns.coded.put_in_order(feature, 0..rows.len());
            let column = columns.coded.column(feature, &columns.features);
            assert_eq!(column.rows, expected);
            let any_nan = expected.iter().any(|&row| x.get(row as usize, feature).to_f64().is_nan());
            assert_eq!(columns.has_missing[feature], any_nan);
            let key = |row: u32| {
                let value = x.get(row as usize, feature);
                (value.high_key(), value.low_key())
            };
            let n_distinct = 1 + expected.windows(2).filter(|pair| key(pair[0]) != key(pair[1])).count();
            let is_coded = columns.coded.get(feature).is_some();
            assert!(is_coded == (n_distinct <= 300) || n_distinct > 256, "{n_distinct} {is_coded}");
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
    fn long_columns_are_sorted_by_buckets() {
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
