//! Sixteen numbers that are added, multiplied and compared together.
//!
//! Plain arrays say what is meant. The compiler does not make vectors of them where they go around a loop in registers, so on x86-64 they
//! are spelled out; every such processor has them. Both give the same sums, operation by operation.

/// How many numbers.
pub(super) const LANES: usize = 16;

/// The numbers of one row, in a precision of its own.
pub trait Lanes: Copy + Default + Send + Sync {
    /// Integers up to this size are exact.
    const EXACT: f64;

    fn new(numbers: [f64; LANES]) -> Self;
    fn splat(number: f64) -> Self;
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[must_use]
    fn minus(self, other: Self) -> Self;
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// Zero where it is not.
    #[must_use]
    fn positive(self) -> Self;
    /// The sum of all.
    fn sum(self) -> f64;
}

/// The obvious way.
macro_rules! arrays {
    ($number:ty) => {
        impl Lanes for [$number; LANES] {
            const EXACT: f64 = 2.0 / <$number>::EPSILON as f64;

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
                self.map(|number| if number > 0.0 { number } else { 0.0 })
            }

            fn sum(self) -> f64 {
                // In the vectors' order: halves, quarters and so on.
                let mut sums = self;
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
arrays!(f32);
arrays!(f64);

#[cfg(not(target_arch = "x86_64"))]
pub use portable::{Doubles, Singles};
#[cfg(target_arch = "x86_64")]
pub use x86_64::{Doubles, Singles};

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::LANES;

    pub type Singles = [f32; LANES];
    pub type Doubles = [f64; LANES];
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128, __m128d, _mm_add_pd, _mm_add_ps, _mm_add_sd, _mm_add_ss, _mm_cvtsd_f64, _mm_cvtss_f32, _mm_max_pd,
        _mm_max_ps, _mm_movehl_ps, _mm_mul_pd, _mm_mul_ps, _mm_set_pd, _mm_set_ps, _mm_set1_pd, _mm_set1_ps,
        _mm_shuffle_ps, _mm_sub_pd, _mm_sub_ps, _mm_unpackhi_pd,
    };

    use super::{LANES, Lanes};

    macro_rules! vectors {
        ($name:ident, $number:ty, $vector:ty, $count:literal, $set:expr, $splat:ident, $add:ident, $sub:ident, $mul:ident,
         $max:ident, $sum:expr) => {
            #[derive(Clone, Copy, Debug)]
            pub struct $name([$vector; $count]);

            impl Default for $name {
                fn default() -> Self {
                    Self::splat(0.0)
                }
            }

            impl Lanes for $name {
                const EXACT: f64 = <[$number; LANES]>::EXACT;

                fn new(numbers: [f64; LANES]) -> Self {
                    let numbers = numbers.map(|number| number as $number);
                    // SAFETY: every x86-64 processor has these instructions, here and below.
                    Self(std::array::from_fn(|i| unsafe { $set(&numbers[i * LANES / $count..]) }))
                }

                #[inline(always)]
                fn splat(number: f64) -> Self {
                    // SAFETY: as above.
                    Self([unsafe { $splat(number as $number) }; $count])
                }

                #[inline(always)]
                fn plus(self, other: Self) -> Self {
                    // SAFETY: as above.
                    Self(std::array::from_fn(|i| unsafe { $add(self.0[i], other.0[i]) }))
                }

                #[inline(always)]
                fn minus(self, other: Self) -> Self {
                    // SAFETY: as above.
                    Self(std::array::from_fn(|i| unsafe { $sub(self.0[i], other.0[i]) }))
                }

                #[inline(always)]
                fn times(self, other: Self) -> Self {
                    // SAFETY: as above.
                    Self(std::array::from_fn(|i| unsafe { $mul(self.0[i], other.0[i]) }))
                }

                #[inline(always)]
                fn positive(self) -> Self {
                    // SAFETY: as above.
                    Self(self.0.map(|vector| unsafe { $max(vector, $splat(0.0)) }))
                }

                #[inline(always)]
                fn sum(self) -> f64 {
                    let mut vectors = self.0;
                    let mut half = $count / 2;
                    while half > 0 {
                        for i in 0..half {
                            // SAFETY: as above.
                            vectors[i] = unsafe { $add(vectors[i], vectors[i + half]) };
                        }
                        half /= 2;
                    }
                    // SAFETY: as above.
                    unsafe { $sum(vectors[0]) }
                }
            }
        };
    }

    vectors!(
        Singles,
        f32,
        __m128,
        4,
        |x: &[f32]| _mm_set_ps(x[3], x[2], x[1], x[0]),
        _mm_set1_ps,
        _mm_add_ps,
        _mm_sub_ps,
        _mm_mul_ps,
        _mm_max_ps,
        |x: __m128| {
            let pairs = _mm_add_ps(x, _mm_movehl_ps(x, x));
            f64::from(_mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs))))
        }
    );
    vectors!(
        Doubles,
        f64,
        __m128d,
        8,
        |x: &[f64]| _mm_set_pd(x[1], x[0]),
        _mm_set1_pd,
        _mm_add_pd,
        _mm_sub_pd,
        _mm_mul_pd,
        _mm_max_pd,
        |x: __m128d| _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)))
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether vectors do what arrays do, to the last bit.
    fn check<V: Lanes, A: Lanes>(a: [f64; LANES], b: [f64; LANES]) -> Result<(), TestCaseError> {
        fn all<L: Lanes>(a: [f64; LANES], b: [f64; LANES]) -> [u64; 7] {
            let [a, b] = [a, b].map(L::new);
            let lanes =
                [a, a.plus(b), a.minus(b), a.times(b), a.positive(), b.positive().times(a), L::splat(0.1).plus(b)];
            lanes.map(|lanes| lanes.sum().to_bits())
        }
        prop_assert_eq!(all::<V>(a, b), all::<A>(a, b));
        Ok(())
    }

    fn numbers() -> impl Strategy<Value = [f64; LANES]> {
        prop::array::uniform16(prop_oneof![-1e3..1e3, Just(0.0), (-100..100i32).prop_map(f64::from)])
    }

    proptest! {
        #[test]
        fn vectors_are_arrays(a in numbers(), b in numbers()) {
            check::<Singles, [f32; LANES]>(a, b)?;
            check::<Doubles, [f64; LANES]>(a, b)?;
        }
    }
}
