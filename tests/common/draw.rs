//! Random columns, targets and weights of the kinds that break trees.
//!
//! A property test draws kinds, sizes and a seed, and the numbers follow from those. So a failure
//! shrinks to the smallest size, its report is short, and thousands of rows cost nothing to shrink.

use proptest::prelude::*;

/// A small random generator (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator whose numbers follow from the seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// An integer below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// The numbers below `n` in random order.
    pub fn shuffle(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// Kinds of columns.
#[derive(Clone, Copy, Debug)]
pub enum Cells {
    /// Almost all values differ.
    Distinct,
    /// About ten rows per value.
    Ties,
    /// Three values.
    Few,
    /// One value.
    Constant,
    /// Infinities, both zeros, the smallest and the largest numbers, neighbours of 1.
    Extreme,
    /// Seconds since 1970, microseconds apart: all equal as `f32`, and equal in the high word of a
    /// sort key.
    Stamps,
}

impl Cells {
    /// One of the kinds.
    pub fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            4 => Just(Self::Distinct),
            3 => Just(Self::Ties),
            2 => Just(Self::Few),
            1 => Just(Self::Constant),
            2 => Just(Self::Extreme),
            1 => Just(Self::Stamps),
        ]
    }

    /// `n` cells, each missing with this probability.
    pub fn draw(self, dice: &mut Dice, n: usize, missing: f64) -> Vec<f64> {
        let cell = |dice: &mut Dice| match self {
            Self::Distinct => dice.unit() * 20.0 - 10.0,
            Self::Ties => dice.below(n / 10 + 2) as f64 * 0.1,
            Self::Few => dice.below(3) as f64,
            Self::Constant => 7.0,
            Self::Extreme => EXTREMES[dice.below(EXTREMES.len())],
            Self::Stamps => 1.7e9 + dice.below(n) as f64 * 1e-6,
        };
        let mut one = || if dice.chance(missing) { f64::NAN } else { cell(dice) };
        (0..n).map(|_| one()).collect()
    }
}

const EXTREMES: [f64; 12] = [
    f64::NEG_INFINITY,
    -f32::MAX as f64,
    -1.0,
    -1e-45,
    -0.0,
    0.0,
    1e-45,
    1.0,
    1.0 + f32::EPSILON as f64,
    1.0 + 2.0 * f32::EPSILON as f64,
    f32::MAX as f64,
    f64::INFINITY,
];

/// Kinds of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers from −3 to 3.
    Integers,
    /// Reals.
    Reals,
    /// Reals that depend on the guide column.
    Guided,
    /// Multiples of 2^-20, which stay exact with 10^9 added.
    OnGrid,
    /// Multiples of 2^-20 with 10^9 added.
    Offset,
    /// Reals of the order of 1e-12.
    Tiny,
    /// Reals, and one outlier of 1e15.
    Outlier,
}

impl Values {
    /// One of the kinds.
    pub fn any() -> impl Strategy<Value = Self> {
        use Values::{Guided, Integers, Offset, OnGrid, Outlier, Reals, Tiny};
        prop::sample::select(vec![Integers, Reals, Guided, OnGrid, Offset, Tiny, Outlier])
    }

    /// Draws a target per cell of the guide column.
    pub fn draw(self, dice: &mut Dice, guide: &[f64]) -> Vec<f64> {
        let real = |dice: &mut Dice| dice.unit() * 8.0 - 4.0;
        let on_grid = |dice: &mut Dice| (real(dice) * 2f64.powi(20)).round() * 2f64.powi(-20);
        let value = |dice: &mut Dice, x: f64| match self {
            Self::Integers => dice.below(7) as f64 - 3.0,
            Self::Reals | Self::Outlier => real(dice),
            Self::Guided => real(dice) + if x > 0.5 { 7.0 } else { 0.0 },
            Self::OnGrid => on_grid(dice),
            Self::Offset => on_grid(dice) + 1e9,
            Self::Tiny => real(dice) * 1e-12,
        };
        let mut values: Vec<f64> = guide.iter().map(|&x| value(dice, x)).collect();
        if self == Self::Outlier {
            let place = dice.below(values.len());
            values[place] = 1e15;
        }
        values
    }
}

/// Draws targets that are not negative, at least one of them above 0: one per cell of the guide
/// column.
pub fn draw_counts(kind: Values, dice: &mut Dice, guide: &[f64]) -> Vec<f64> {
    let zeros = [0.0, 0.3, 0.9][dice.below(3)];
    let count = |y: f64, dice: &mut Dice| if dice.chance(zeros) { 0.0 } else { y.abs() };
    let mut counts: Vec<f64> = kind.draw(dice, guide).into_iter().map(|y| count(y, dice)).collect();
    if counts.iter().all(|&y| y == 0.0) {
        counts[0] = 1.0;
    }
    counts
}

/// Draws a class code per cell of the guide column; high cells favour the last class.
pub fn draw_classes(dice: &mut Dice, guide: &[f64], n_classes: usize) -> Vec<f64> {
    let code =
        |dice: &mut Dice, x: f64| if x > 1.0 && dice.chance(0.7) { n_classes - 1 } else { dice.below(n_classes) };
    guide.iter().map(|&x| code(dice, x) as f64).collect()
}

/// Kinds of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Reals of the same order of magnitude.
    Reals,
    /// Integers from 1 to 5.
    Integers,
    /// Integers from 1 to 3, mostly 1, as in a bootstrap.
    Counts,
    /// Multiples of 0.1.
    Tenths,
    /// From 1e-9 to 1e9.
    Vast,
}

impl Weights {
    /// One of the kinds.
    pub fn any() -> impl Strategy<Value = Self> {
        prop::sample::select(vec![Self::Reals, Self::Integers, Self::Counts, Self::Tenths, Self::Vast])
    }

    /// `n` weights.
    pub fn draw(self, dice: &mut Dice, n: usize) -> Vec<f64> {
        let weight = |dice: &mut Dice| match self {
            Self::Reals => 0.1 + dice.unit(),
            Self::Integers => 1.0 + dice.below(5) as f64,
            Self::Counts => 1.0 + dice.below(6).saturating_sub(3) as f64,
            Self::Tenths => (1.0 + dice.below(30) as f64) * 0.1,
            Self::Vast => 10f64.powf(dice.unit() * 18.0 - 9.0),
        };
        (0..n).map(|_| weight(dice)).collect()
    }
}
