//! Bags: how often each row is drawn for a tree.
//!
//! A bag follows from the seed of its tree, so it is not stored: [`draw_bag`] draws it again. Cost
//! per draw: one random number and one random write; with probabilities also a binary search.

use crate::error::{Error, Result};
use crate::grow::random::Seed;

/// Changes a tree's seed for its bag, which must not resemble the other choices of the tree.
const BAG: u64 = 0x6261_6773_6261_6773;

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
            Self::Whole => Ok(()),
            Self::Bootstrap(n_draws) if n_draws == 0 || u32::try_from(n_draws).is_err() => {
                Err(Error::argument("max_samples", format!("must draw 1 to {} rows, got {n_draws}", u32::MAX)))
            }
            Self::Bootstrap(_) => Ok(()),
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
        let sums = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self(sums.collect())
    }

    /// The row at this share of the total weight, which is below 1.
    fn row(&self, share: f64) -> usize {
        let total = self.0[self.0.len() - 1];
        // The first sum above the drawn weight belongs to a row of positive weight.
        let row = self.0.partition_point(|&sum| sum <= share * total);
        row.min(self.0.partition_point(|&sum| sum < total))
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
    let mut stream = Seed::new(seed ^ BAG).stream();
    let mut counts = vec![0; n_rows];
    for _ in 0..n_draws {
        let row = match probabilities {
            None => stream.below(n_rows),
            Some(probabilities) => probabilities.row(stream.share()),
        };
        counts[row] += 1;
    }
    counts
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
        for (share, row) in [(0.0, 1), (0.5, 1), (0.99, 2), (1.0, 2), (f64::from_bits(1.0_f64.to_bits() - 1), 2)] {
            assert_eq!(probabilities.row(share), row, "{share}");
        }
    }

    #[test]
    fn bad_bags_are_refused() {
        assert!(Bags::Bootstrap(0).check(1, 2).is_err());
        assert!(Bags::Counts(&[1, 0, 0]).check(2, 2).is_err());
        assert!(Bags::Counts(&[1, 0, 0, 0]).check(2, 2).is_err(), "the second bag is empty");
        assert!(Bags::Counts(&[1, 0, 0, 2]).check(2, 2).is_ok());
    }
}
