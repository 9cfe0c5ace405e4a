//! HOT: the order of a node's rows by a feature, made when it is asked for.
//!
//! Where few features are drawn per node, columns that are carried along cost more than they save.
//! Instead, a subtree keeps its sorted columns as they are, with the rank of each row in them. The
//! ranks of a node's rows give its order by any feature: by counting the lower ranks in small
//! nodes, and with a bitmap of two levels over the ranks in larger ones. The order is the one that
//! a carried column would have, ties included. Memory: 4 bytes per cell of the subtree.

use super::local::{MAX_TINY_ROWS, TinyOrder};

/// Nodes with more rows are ordered by bitmap: O(rows of the node + rows of the subtree / 4096).
/// Counting takes O(rows²), eight ranks at a time.
const MAX_COUNTED_ROWS: usize = 32;

/// The sorted columns of a subtree and the ranks of its rows.
#[derive(Default)]
pub(crate) struct LocalRanks {
    n_rows: usize,
    /// Feature after feature: the rows in the feature's order.
    sorted: Vec<u16>,
    /// Feature after feature, by row: its place in the feature's order.
    ranks: Vec<u16>,
    /// By rank: whether the node has the row. All zero between calls.
    bitmap: Vec<u64>,
    /// By word of `bitmap`: whether it has a bit. All zero between calls.
    words: Vec<u64>,
}

impl LocalRanks {
    /// Starts the columns of another subtree.
    pub fn restart(&mut self, n_rows: usize, n_features: usize) {
        self.n_rows = n_rows;
        self.sorted.clear();
        self.sorted.reserve(n_rows * n_features);
        self.ranks.resize(n_rows * n_features, 0);
        self.bitmap.resize(n_rows.div_ceil(64), 0);
        self.words.resize(self.bitmap.len().div_ceil(64), 0);
    }

    /// Adds the column of the next feature: all rows of the subtree in its order.
    pub fn push(&mut self, rows: impl Iterator<Item = u16>) {
        let start = self.sorted.len();
        self.sorted.extend(rows);
        let ranks = &mut self.ranks[start..][..self.n_rows];
        for (rank, &row) in self.sorted[start..].iter().enumerate() {
            ranks[row as usize] = rank as u16;
        }
    }

    /// Writes these rows of the subtree, which are distinct, in the order of a feature.
    pub fn order(&mut self, feature: usize, rows: &[u16], ordered: &mut [u16]) {
        let column = feature * self.n_rows..(feature + 1) * self.n_rows;
        let (sorted, ranks) = (&self.sorted[column.clone()], &self.ranks[column]);
        if rows.len() == self.n_rows {
            ordered.copy_from_slice(sorted);
        } else if rows.len() <= MAX_COUNTED_ROWS {
            self.order_few(feature, rows, ordered);
        } else {
            for &row in rows {
                let rank = ranks[row as usize] as usize;
                self.bitmap[rank / 64] |= 1 << (rank % 64);
                self.words[rank / 4096] |= 1 << (rank / 64 % 64);
            }
            let mut places = ordered.iter_mut();
            for (words, from) in self.words.iter_mut().zip((0..).step_by(64)) {
                for word in ones(std::mem::take(words)).map(|bit| from + bit) {
                    for bit in ones(std::mem::take(&mut self.bitmap[word])) {
                        *places.next().expect("as many bits as rows") = sorted[64 * word + bit];
                    }
                }
            }
        }
    }

    /// The same for at most [`MAX_COUNTED_ROWS`] rows.
    pub fn order_few(&self, feature: usize, rows: &[u16], ordered: &mut [u16]) {
        let ranks = &self.ranks[feature * self.n_rows..][..self.n_rows];
        let mut own = [u16::MAX; MAX_COUNTED_ROWS];
        own.iter_mut().zip(rows).for_each(|(own, &row)| *own = ranks[row as usize]);
        for (&row, &rank) in rows.iter().zip(&own) {
            ordered[n_lower(&own, rank)] = row;
        }
    }

    /// The order of a tiny node of `len` rows by a feature. `tiny` has its rows by their number in
    /// a larger tiny node, whose rows of the subtree are `rows`. At most `N` rows are read.
    #[inline(always)]
    pub fn tiny_order<const N: usize>(
        &self,
        feature: usize,
        tiny: &TinyOrder,
        rows: &[u16; MAX_TINY_ROWS],
        len: usize,
    ) -> TinyOrder {
        let ranks = &self.ranks[feature * self.n_rows..][..self.n_rows];
        let mut own = [u16::MAX; N];
        for (own, &number) in own.iter_mut().zip(&tiny[..len]) {
            *own = ranks[rows[number as usize % MAX_TINY_ROWS] as usize];
        }
        let mut order = [0; MAX_TINY_ROWS];
        for (&number, &rank) in tiny[..len].iter().zip(&own) {
            order[n_lower(&own, rank) % MAX_TINY_ROWS] = number;
        }
        order
    }
}

/// The places of the ones in a word, in ascending order.
#[inline(always)]
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}

/// How many of the ranks are lower than this one.
#[inline(always)]
fn n_lower<const N: usize>(ranks: &[u16; N], rank: u16) -> usize {
    usize::from(ranks.iter().map(|&other| u16::from(other < rank)).sum::<u16>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shuffled(n: usize) -> impl Strategy<Value = Vec<u16>> {
        Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
    }

    proptest! {
        #[test]
        fn as_filtered_from_the_sorted_column(
            (columns, rows) in prop_oneof![4 => 1..400usize, 1 => 4_000..9_000usize].prop_flat_map(|n| {
                let rows = (shuffled(n), 1..=n).prop_map(|(rows, len)| rows[..len].to_vec());
                (prop::collection::vec(shuffled(n), 3), rows)
            }),
        ) {
            let n_rows = columns[0].len();
            let mut ranks = LocalRanks::default();
            // What an earlier subtree has left must not matter.
            ranks.restart(500, 2);
            ranks.push(0..500);
            ranks.restart(n_rows, columns.len());
            for column in &columns {
                ranks.push(column.iter().copied());
            }
            for (feature, column) in columns.iter().enumerate() {
                let expected: Vec<u16> = column.iter().copied().filter(|row| rows.contains(row)).collect();
                let mut ordered = vec![0; rows.len()];
                ranks.order(feature, &rows, &mut ordered);
                prop_assert_eq!(&ordered, &expected);
                if rows.len() <= MAX_TINY_ROWS {
                    let mut tiny_rows = [0; MAX_TINY_ROWS];
                    tiny_rows[..rows.len()].copy_from_slice(&rows);
                    let all = std::array::from_fn(|number| number as u8);
                    let order = ranks.tiny_order::<MAX_TINY_ROWS>(feature, &all, &tiny_rows, rows.len());
                    let ordered: Vec<u16> =
                        order[..rows.len()].iter().map(|&number| tiny_rows[number as usize]).collect();
                    prop_assert_eq!(&ordered, &expected);
                }
            }
        }
    }
}
