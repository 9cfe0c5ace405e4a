//! Order statistics of a list of ranks.
//!
//! ```text
//! ranks      7 0 9 3 0 8 1          in any order
//! buckets    0 0 1 │ 3 │ │ 7 8 9    by their highest bits, counted and then filled
//! ends       3       4 4 7
//! ```
//!
//! The place of an order statistic tells its bucket, and only that bucket is searched. Ranks are
//! spread over buckets of equal width between the lowest and the highest one.
//!
//! Cost: three passes over the ranks, however many order statistics are asked for, and a selection
//! within the bucket of each. The worst case, all but one rank in one bucket, is that of a
//! selection from all ranks, for each order statistic.

/// Lists up to this length are sorted.
const FEW: usize = 16;
/// Most buckets; their counts stay in the first-level cache.
const MOST_BUCKETS: usize = 1 << 10;

/// Selects from one list after another, in memory of its own.
#[derive(Default)]
pub(super) struct Selection {
    /// The ranks, bucket after bucket.
    ranks: Vec<u32>,
    /// By bucket: where it ends.
    ends: Vec<u32>,
}

impl Selection {
    /// Takes a list, instead of the one before.
    pub fn take(&mut self, ranks: &[u32]) {
        self.ends.clear();
        self.ranks.clear();
        if ranks.len() <= FEW {
            self.ranks.extend_from_slice(ranks);
            self.ranks.sort_unstable();
            self.ends.extend(1..=ranks.len() as u32);
            return;
        }
        let (lowest, highest) = ranks.iter().fold((u32::MAX, 0), |(low, high), &rank| (low.min(rank), high.max(rank)));
        let n_buckets = ranks.len().next_power_of_two().min(MOST_BUCKETS);
        let width_bits = (u32::BITS - (highest - lowest).leading_zeros()).saturating_sub(n_buckets.ilog2());
        let bucket = |rank: u32| ((rank - lowest) >> width_bits) as usize;
        // A count is one place ahead of its bucket, so that sums of counts are starts.
        self.ends.resize(n_buckets + 1, 0);
        for &rank in ranks {
            self.ends[bucket(rank) + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.ends {
            sum += *start;
            *start = sum;
        }
        self.ranks.resize(ranks.len(), 0);
        for &rank in ranks {
            let next = &mut self.ends[bucket(rank)];
            self.ranks[*next as usize] = rank;
            *next += 1;
        }
    }

    /// How many ranks there are.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The rank at a place of the ascending order.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn at(&mut self, place: usize) -> u32 {
        let bucket = self.ends.partition_point(|&end| end as usize <= place);
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] as usize };
        let ranks = &mut self.ranks[start..self.ends[bucket] as usize];
        *ranks.select_nth_unstable(place - start).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lists whose ranks are few, many, close together or far apart.
    fn any_ranks() -> impl Strategy<Value = Vec<u32>> {
        let range = (any::<u32>(), 0..32u32).prop_map(|(low, bits)| (low, low.saturating_add(1 << bits)));
        let spread = (range, 0..3000usize).prop_flat_map(|((low, high), len)| prop::collection::vec(low..=high, len));
        (spread, prop::collection::vec(any::<u32>(), 0..3)).prop_map(|(mut ranks, outliers)| {
            ranks.extend(outliers);
            ranks
        })
    }

    proptest! {
        #[test]
        fn order_statistics_are_those_of_a_sorted_list(lists in prop::collection::vec(any_ranks(), 1..4)) {
            let mut selection = Selection::default();
            for ranks in lists {
                selection.take(&ranks);
                let mut sorted = ranks;
                sorted.sort_unstable();
                prop_assert_eq!(selection.len(), sorted.len());
                // From both ends towards the middle, so that one bucket is searched several times.
                for place in (0..sorted.len()).flat_map(|place| [place, sorted.len() - 1 - place]) {
                    prop_assert_eq!(selection.at(place), sorted[place]);
                }
            }
        }
    }
}
