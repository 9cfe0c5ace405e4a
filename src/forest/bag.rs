//! Bags: how often each row is drawn for a tree.
//!
//! A bag follows from the seed of its tree, so it is not stored: [`draw_bag`] draws it again. Bags
//! are those that scikit-learn draws for a tree with this `random_state`: the generator is the
//! Mersenne Twister of numpy's `RandomState`, used as its `randint` and `choice` do. Cost per draw:
//! one to two random numbers and one random write; with probabilities also a binary search.

use crate::error::{Error, Result};

/// Which rows the trees of a forest see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bags<'a> {
    /// Every tree sees all rows. Weights are weights.
    #[default]
    Whole,
    /// Every tree draws this many rows with replacement. Weights are proportional to the
    /// probabilities; a tree sees only how often a row was drawn.
    Bootstrap(usize),
    /// How often each tree sees each row, tree after tree. Weights multiply these counts.
    Counts(&'a [u32]),
}

impl Bags<'_> {
    /// Checks the bags of a forest of this size.
    pub(super) fn check(&self, n_trees: usize, n_rows: usize) -> Result<()> {
        match *self {
            Self::Bootstrap(n_draws) if n_draws == 0 || u32::try_from(n_draws).is_err() => {
                Err(Error::argument("max_samples", format!("must draw 1 to {} rows, got {n_draws}", u32::MAX)))
            }
            Self::Whole | Self::Bootstrap(_) => Ok(()),
            Self::Counts(counts) if Some(counts.len()) != n_trees.checked_mul(n_rows) => {
                let problem = format!("has {} counts, but {n_trees} trees of {n_rows} rows need others", counts.len());
                Err(Error::argument("bags", problem))
            }
            Self::Counts(counts) => match counts.chunks_exact(n_rows).position(|bag| bag.iter().all(|&n| n == 0)) {
                Some(tree) => Err(Error::argument("bags", format!("the bag of tree {tree} is empty"))),
                None => Ok(()),
            },
        }
    }
}

/// The probabilities of the rows, as running sums of their weights.
pub(super) struct Probabilities(Vec<f64>);

impl Probabilities {
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let sums = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        });
        let mut sums: Vec<f64> = sums.collect();
        let last = sums[sums.len() - 1];
        for sum in &mut sums {
            *sum /= last;
        }
        Self(sums)
    }

    /// The row at this share of the total weight, which is below 1: the first whose sum is above
    /// it, which has a weight.
    fn row(&self, share: f64) -> usize {
        self.0.partition_point(|&sum| sum <= share)
    }
}

/// How often each row is drawn by the tree with this seed, if `n_draws` rows are drawn with
/// replacement. Without weights, all rows are equally probable.
///
/// ```
/// let counts = splitwood::draw_bag(7, 5, 100, Some(&[0.0, 1.0, 1.0, 1.0, 3.0]));
/// assert_eq!((counts[0], counts.iter().sum::<u32>()), (0, 100));
/// ```
///
/// # Panics
/// If there are no rows, or other than one weight per row.
#[must_use]
pub fn draw_bag(seed: u64, n_rows: usize, n_draws: usize, weights: Option<&[f64]>) -> Vec<u32> {
    assert!(n_rows > 0 && weights.is_none_or(|weights| weights.len() == n_rows));
    draw(seed, n_rows, n_draws, weights.map(Probabilities::new).as_ref())
}

pub(super) fn draw(seed: u64, n_rows: usize, n_draws: usize, probabilities: Option<&Probabilities>) -> Vec<u32> {
    let mut stream = MersenneTwister::new((seed ^ seed >> 32) as u32);
    let mut counts = vec![0; n_rows];
    for _ in 0..n_draws {
        let row = match probabilities {
            None => stream.below(n_rows as u32) as usize,
            Some(probabilities) => probabilities.row(stream.share()),
        };
        counts[row] += 1;
    }
    counts
}

/// MT19937, seeded as numpy's `RandomState` with an integer.
struct MersenneTwister {
    state: [u32; 624],
    next: usize,
}

impl MersenneTwister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 624];
        for i in 1..624 {
            let previous = state[i - 1];
            state[i] = (previous ^ previous >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { state, next: 624 }
    }

    fn refill(&mut self) {
        for i in 0..624 {
            let bits = self.state[i] & 1 << 31 | self.state[(i + 1) % 624] & !(1 << 31);
            let twist = if bits & 1 == 0 { 0 } else { 0x9908_B0DF };
            self.state[i] = self.state[(i + 397) % 624] ^ bits >> 1 ^ twist;
        }
        self.next = 0;
    }

    fn next(&mut self) -> u32 {
        if self.next == 624 {
            self.refill();
        }
        let mut bits = self.state[self.next];
        self.next += 1;
        bits ^= bits >> 11;
        bits ^= bits << 7 & 0x9D2C_5680;
        bits ^= bits << 15 & 0xEFC6_0000;
        bits ^ bits >> 18
    }

    /// A number below `n`, as `randint`: of the lowest bits that could be one, the first draw that
    /// is.
    fn below(&mut self, n: u32) -> u32 {
        let mask = u32::MAX.checked_shr((n - 1).leading_zeros()).unwrap_or(0);
        if mask == 0 {
            return 0;
        }
        loop {
            let number = self.next() & mask;
            if number < n {
                return number;
            }
        }
    }

    /// A number from 0 to below 1, as `random_sample`.
    fn share(&mut self) -> f64 {
        let (high, low) = (self.next() >> 5, self.next() >> 6);
        (f64::from(high) * f64::from(1 << 26) + f64::from(low)) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_drawn_as_often_as_their_weights_say() {
        let counts = draw_bag(1, 4, 40_000, Some(&[0.0, 1.0, 3.0, 0.0]));
        assert_eq!((counts[0], counts[3], counts.iter().sum::<u32>()), (0, 0, 40_000));
        assert!((9_600..10_400).contains(&counts[1]), "{counts:?}");
        let counts = draw_bag(1, 4, 40_000, None);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_last_row_with_weight_is_the_last_that_is_drawn() {
        let probabilities = Probabilities::new(&[0.0, 1.0, 0.1, 0.0]);
        for (share, row) in [(0.0, 1), (0.5, 1), (0.99, 2), (f64::from_bits(1.0_f64.to_bits() - 1), 2)] {
            assert_eq!(probabilities.row(share), row, "{share}");
        }
    }

    #[test]
    fn numbers_are_those_of_numpy() {
        let drawn = |seed: u32, n: u32, n_draws: usize| {
            let mut stream = MersenneTwister::new(seed);
            (0..n_draws).map(|_| stream.below(n)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7, 10, 8), [4, 9, 6, 3, 3, 7, 7, 9]);
        assert_eq!(drawn(123_456_789, 1000, 700)[695..], [999, 139, 254, 76, 563]);
        assert_eq!(drawn(5, 1, 2), [0, 0]);
        let mut stream = MersenneTwister::new(7);
        assert_eq!([stream.share(), stream.share()], [0.076_308_289_373_957_17, 0.779_918_792_240_114_6]);
        assert_eq!(draw_bag(5, 4, 20, Some(&[0.0, 1.0, 2.0, 3.0])), [0, 2, 9, 9]);
        assert_eq!(draw_bag(5, 4, 20, None), [6, 3, 5, 6]);
    }

    #[test]
    fn bad_bags_are_refused() {
        assert!(Bags::Bootstrap(0).check(1, 2).is_err());
        assert!(Bags::Counts(&[1, 0, 0]).check(2, 2).is_err());
        assert!(Bags::Counts(&[1, 0, 0, 0]).check(2, 2).is_err(), "the second bag is empty");
        assert!(Bags::Counts(&[1, 0, 0, 2]).check(2, 2).is_ok());
    }
}
