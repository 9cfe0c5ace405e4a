//! The vectors as plain arrays: what they mean, the twin of `sse2.rs`, and the vectors of other processors.

use super::{Counts, Integers, LANES, Lanes, Masks, Singles};

/// The obvious way.
macro_rules! arrays {
    ($number:ty, $product:ty, $exact:expr, $rounding:expr) => {
        impl Lanes for [$number; LANES] {
            const EXACT: f64 = $exact;
            const ROUNDING: f64 = $rounding;

            fn new(numbers: [f64; LANES]) -> Self {
                numbers.map(|number| number as $number)
            }

            fn splat(number: f64) -> Self {
                [number as $number; LANES]
            }

            fn plus(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] + other[i])
            }

            fn minus(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }

            fn times(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] * other[i])
            }

            fn positive(self) -> Self {
                self.map(|number| if number > Default::default() { number } else { Default::default() })
            }

            fn dot(self, other: Self) -> f64 {
                let mut sums: [$product; LANES] =
                    std::array::from_fn(|i| <$product>::from(self[i]) * <$product>::from(other[i]));
                // In the vectors' order: halves, quarters and so on.
                for half in [8, 4, 2, 1] {
                    for i in 0..half {
                        sums[i] += sums[i + half];
                    }
                }
                sums[0].into()
            }
        }
    };
}
arrays!(i16, i32, i16::MAX as f64, 0.0);
arrays!(f32, f32, 2.0 / f32::EPSILON as f64, 32.0 * f32::EPSILON as f64);
arrays!(f64, f64, 2.0 / f64::EPSILON, 32.0 * f64::EPSILON);

impl Integers for [i32; LANES] {
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }

    fn singles(self) -> Singles {
        Singles::new(self.numbers())
    }

    fn numbers(self) -> [f64; LANES] {
        self.map(f64::from)
    }
}

impl Masks for [i32; LANES] {
    fn new(numbers: [i32; LANES]) -> Self {
        numbers
    }

    fn and(self, number: i32) -> Self {
        self.map(|mask| mask & number)
    }
}

impl Integers for [i16; LANES] {
    fn plus(self, other: Self) -> Self {
        Lanes::plus(self, other)
    }

    fn singles(self) -> Singles {
        Singles::new(self.numbers())
    }

    fn numbers(self) -> [f64; LANES] {
        self.map(f64::from)
    }
}

impl Counts for [u8; LANES] {
    type Shorts = [i16; LANES];

    fn new(counts: &[u8; LANES]) -> Self {
        *counts
    }

    fn integers(integers: &[i16; LANES]) -> [i16; LANES] {
        *integers
    }

    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].wrapping_add(other[i]))
    }

    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].wrapping_sub(other[i]))
    }

    fn least(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].min(other[i]))
    }

    fn dots(counts: [Self; 4], integers: [i16; LANES]) -> [i32; 4] {
        counts.map(|counts| counts.iter().zip(integers).map(|(&a, b)| i32::from(a) * i32::from(b)).sum())
    }
}
