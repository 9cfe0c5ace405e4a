//! The vectors as plain arrays: the definition of every operation, and the implementation for
//! processors other than x86-64. The tests of `simd/mod.rs` compare `sse2.rs` with it.

use super::{CountVector, F32x16, IntegerVector, LANES, MaskVector, Vector};

/// Implements [`Vector`] lane by lane.
macro_rules! arrays {
    ($number:ty, $product:ty, $exact:expr, $rounding:expr) => {
        impl Vector for [$number; LANES] {
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

            fn max_zero(self) -> Self {
                self.map(|number| if number > Default::default() { number } else { Default::default() })
            }

            fn dot(self, other: Self) -> f64 {
                let mut sums: [$product; LANES] =
                    std::array::from_fn(|i| <$product>::from(self[i]) * <$product>::from(other[i]));
                // In the order of `sse2.rs`: lanes 8 to 15 are added to 0 to 7, then 4 to 7 to 0 to
                // 3, and so on.
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

impl IntegerVector for [i32; LANES] {
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }

    fn to_f32(self) -> F32x16 {
        F32x16::new(self.to_f64_array())
    }

    fn to_f64_array(self) -> [f64; LANES] {
        self.map(f64::from)
    }
}

impl MaskVector for [i32; LANES] {
    fn new(numbers: [i32; LANES]) -> Self {
        numbers
    }

    fn and(self, number: i32) -> Self {
        self.map(|mask| mask & number)
    }
}

impl IntegerVector for [i16; LANES] {
    fn plus(self, other: Self) -> Self {
        Vector::plus(self, other)
    }

    fn to_f32(self) -> F32x16 {
        F32x16::new(self.to_f64_array())
    }

    fn to_f64_array(self) -> [f64; LANES] {
        self.map(f64::from)
    }
}

impl CountVector for [u8; LANES] {
    type Factors = [i16; LANES];

    fn new(counts: &[u8; LANES]) -> Self {
        *counts
    }

    fn factors(factors: &[i16; LANES]) -> [i16; LANES] {
        *factors
    }

    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].wrapping_add(other[i]))
    }

    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].wrapping_sub(other[i]))
    }

    fn lane_min(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].min(other[i]))
    }

    fn dots(counts: [Self; 4], factors: [i16; LANES]) -> [i32; 4] {
        counts.map(|counts| counts.iter().zip(factors).map(|(&a, b)| i32::from(a) * i32::from(b)).sum())
    }
}
