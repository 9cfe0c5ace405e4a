//! Random choices of features and thresholds.
//!
//! A node's seed is computed from the seed of the fit and the path to the node, so the choices
//! don't depend on when a node is grown, nor by which thread. Cost: a few multiplications per draw.

use super::random_splits::Extremes;
use crate::data::Cell;
use crate::split::partition_point;

/// The seed of a node, or of one feature at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The seed of a child: side 0 is left, 1 is right.
    pub fn child(self, side: u64) -> Self {
        Self(mix(self.0 ^ (side + 1)))
    }

    /// The seed for what is drawn for one feature at this node.
    pub fn of_feature(self, feature: usize) -> Self {
        Self(mix(self.0 ^ (feature as u64 + 3)))
    }

    pub fn stream(self) -> RandomStream {
        RandomStream(self.0)
    }

    /// A number from 0 to below 1.
    fn share(self) -> f64 {
        (self.0 >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// A sequence of random numbers (`SplitMix64`).
pub(crate) struct RandomStream(u64);

impl RandomStream {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `n`. The probabilities of any two numbers differ by at most 2^−64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// A random threshold between the least and the greatest value of a feature in a node.
pub(super) fn threshold(seed: Seed, feature: usize, [least, greatest]: [f64; 2]) -> f64 {
    between(seed.of_feature(feature).share(), least, greatest)
}

/// The number at this share of the way from `least` to `greatest`, in `least..greatest`, where
/// `least < greatest`. Either may be infinite.
fn between(share: f64, least: f64, greatest: f64) -> f64 {
    let (low, high) = (least.max(f64::MIN), greatest.min(f64::MAX));
    let drawn = low * (1.0 - share) + high * share;
    if drawn < greatest { drawn.max(least) } else { least }
}

/// The output function of `SplitMix64`: a bijection in which every input bit affects every output
/// bit.
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Draws features without replacement; its buffers are reused.
#[derive(Default)]
pub(super) struct FeatureDrawer {
    /// All features. The order is ascending between draws.
    features: Vec<u32>,
    swaps: Vec<usize>,
    drawn: Vec<u32>,
}

impl FeatureDrawer {
    /// Draws `n` of `n_all` features and returns those that are not constant, in ascending order.
    /// Constant features count as drawn, but drawing goes on until one feature is not constant.
    ///
    /// Cost: O(drawn features), not O(all features).
    pub fn draw(&mut self, seed: Seed, n: usize, n_all: usize, is_constant: &mut dyn FnMut(usize) -> bool) -> &[u32] {
        let Self { features, swaps, drawn } = self;
        if features.len() != n_all {
            *features = (0..n_all as u32).collect();
        }
        drawn.clear();
        swaps.clear();
        let mut stream = seed.stream();
        while swaps.len() < n_all && (swaps.len() < n || drawn.is_empty()) {
            // The first features of the list are drawn, the rest are not.
            let place = swaps.len();
            let other = place + stream.below(n_all - place);
            features.swap(place, other);
            swaps.push(other);
            if !is_constant(features[place] as usize) {
                drawn.push(features[place]);
            }
        }
        for (place, &other) in swaps.iter().enumerate().rev() {
            features.swap(place, other);
        }
        drawn.sort_unstable();
        drawn
    }
}

/// A cut at a random threshold.
#[derive(Clone, Copy)]
pub(crate) struct RandomCut {
    pub threshold: f64,
    /// Rows with values up to the threshold.
    n_up_to: usize,
    pub n_missing: usize,
    pub missing_left: bool,
}

impl RandomCut {
    /// Draws a threshold between the least and the greatest value of a node, and a side for its
    /// missing values. `None` if no threshold separates two rows.
    pub fn draw<X: Cell>(seed: Seed, feature: usize, extremes: &Extremes<X>) -> Option<Self> {
        let ([least, greatest], n_missing) = (extremes.range()?, extremes.n_missing);
        if least == greatest {
            // The only cut separates values from missing values.
            let only = Self { threshold: f64::INFINITY, n_up_to: 0, n_missing, missing_left: false };
            return (n_missing > 0).then_some(only);
        }
        let threshold = threshold(seed, feature, [least, greatest]);
        let missing_left = n_missing > 0 && seed.of_feature(feature).stream().below(2) == 0;
        Some(Self { threshold, n_up_to: 0, n_missing, missing_left })
    }

    /// Writes and counts which rows go left.
    pub fn send<X: Cell>(&mut self, values: &[X], goes_left: &mut Vec<bool>) {
        // In the cells' own precision, where the loop needs no conversions.
        let threshold = X::not_above(self.threshold);
        goes_left.clear();
        goes_left.extend(values.iter().map(|&value| value <= threshold));
        // Sums of so few bools fit in a byte, and the compiler has vectors for bytes.
        let count = |sides: &[bool]| usize::from(sides.iter().map(|&left| u8::from(left)).sum::<u8>());
        self.n_up_to = goes_left.chunks(usize::from(u8::MAX)).map(count).sum();
        if self.missing_left {
            for (left, value) in goes_left.iter_mut().zip(values) {
                *left |= value.is_missing();
            }
        }
    }

    /// Draws a cut of values in ascending order, NaN last.
    pub fn draw_sorted(seed: Seed, feature: usize, len: usize, value: impl Fn(usize) -> f64) -> Option<Self> {
        let n_values = partition_point(0, len, |place| !value(place).is_nan());
        let mut cut = Self::draw(seed, feature, &Extremes::of_sorted(len, n_values, &value))?;
        cut.n_up_to = partition_point(0, n_values, |place| value(place) <= cut.threshold);
        Some(cut)
    }

    /// A cut at this threshold of values, none of them missing.
    pub fn of_values(threshold: f64, n_up_to: usize) -> Self {
        Self { threshold, n_up_to, n_missing: 0, missing_left: false }
    }

    pub fn n_left(&self) -> usize {
        self.n_up_to + if self.missing_left { self.n_missing } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn drawn_numbers_are_in_between(seed in any::<u64>(), a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a < b);
            let drawn = between(Seed::new(seed).share(), a, b);
            prop_assert!(a <= drawn && drawn < b, "{drawn}");
        }
    }

    #[test]
    fn features_are_drawn_without_replacement_and_equally_often() {
        let mut drawer = FeatureDrawer::default();
        let mut counts = [0; 7];
        for seed in 0..7_000 {
            let drawn = drawer.draw(Seed::new(seed), 3, 7, &mut |_| false).to_vec();
            assert!(drawn.len() == 3 && drawn.is_sorted_by(|a, b| a < b), "{drawn:?}");
            for feature in drawn {
                counts[feature as usize] += 1;
            }
            let other = drawer.draw(Seed::new(seed), 2, 7, &mut |feature| feature != 5);
            assert_eq!(other, [5], "drawing goes on until a feature is not constant");
            assert!(drawer.draw(Seed::new(seed), 2, 7, &mut |_| true).is_empty());
        }
        assert!(counts.iter().all(|count| (2_850..3_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn between_infinities() {
        for (a, b) in [(f64::NEG_INFINITY, f64::INFINITY), (0.0, f64::INFINITY), (f64::NEG_INFINITY, f64::MIN)] {
            let drawn = between(Seed::new(1).share(), a, b);
            assert!(a <= drawn && drawn < b, "{drawn}");
        }
    }

    #[test]
    fn each_number_is_as_likely() {
        let mut stream = Seed::new(7).stream();
        let mut counts = [0; 5];
        (0..50_000).for_each(|_| counts[stream.below(5)] += 1);
        assert!(counts.iter().all(|count| (9_700..10_300).contains(count)), "{counts:?}");
    }

    #[test]
    fn paths_and_features_have_seeds_of_their_own() {
        let root = Seed::new(0);
        let seeds =
            [root, root.child(0), root.child(1), root.child(0).child(1), root.child(1).child(0), root.of_feature(0)];
        for (i, a) in seeds.iter().enumerate() {
            assert!(seeds[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
