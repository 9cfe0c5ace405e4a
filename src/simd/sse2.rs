//! HOT: the vectors in SSE2, which every x86-64 processor has.
//!
//! A vector of sixteen numbers is one to eight registers of 16 bytes. `portable.rs` defines what
//! each operation returns.

use std::arch::x86_64::{
    __m128, __m128d, __m128i, _mm_add_epi8, _mm_add_epi16, _mm_add_epi32, _mm_add_pd, _mm_add_ps, _mm_add_sd,
    _mm_add_ss, _mm_and_si128, _mm_cvtepi32_ps, _mm_cvtsd_f64, _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_loadu_si128,
    _mm_madd_epi16, _mm_max_epi16, _mm_max_pd, _mm_max_ps, _mm_min_epu8, _mm_movehl_ps, _mm_mul_pd, _mm_mul_ps,
    _mm_mullo_epi16, _mm_set_epi16, _mm_set_pd, _mm_set_ps, _mm_set1_epi16, _mm_set1_epi32, _mm_set1_pd, _mm_set1_ps,
    _mm_setzero_si128, _mm_shuffle_epi32, _mm_shuffle_ps, _mm_srai_epi32, _mm_storeu_si128, _mm_sub_epi8,
    _mm_sub_epi16, _mm_sub_pd, _mm_sub_ps, _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpackhi_pd, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
};

use super::{CountVector, IntegerVector, LANES, MaskVector, Vector};

#[derive(Clone, Copy, Debug)]
pub struct U8x16(__m128i);

impl CountVector for U8x16 {
    type Factors = I16x16;

    #[inline(always)]
    fn new(counts: &[u8; LANES]) -> Self {
        // SAFETY: every x86-64 processor has SSE2, here and below; the 16 bytes that are read
        // exist.
        Self(unsafe { _mm_loadu_si128(counts.as_ptr().cast()) })
    }

    #[inline(always)]
    fn factors(factors: &[i16; LANES]) -> I16x16 {
        let (halves, _) = factors.as_chunks::<8>();
        // SAFETY: as above; each half has 16 bytes.
        I16x16([0, 1].map(|i| unsafe { _mm_loadu_si128(halves[i].as_ptr().cast()) }))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm_add_epi8(self.0, other.0) })
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm_sub_epi8(self.0, other.0) })
    }

    #[inline(always)]
    fn lane_min(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm_min_epu8(self.0, other.0) })
    }

    #[inline(always)]
    fn dots(counts: [Self; 4], I16x16([low, high]): I16x16) -> [i32; 4] {
        let mut dots = [0; 4];
        // SAFETY: as above; the 16 bytes that are written exist.
        unsafe {
            let zero = _mm_setzero_si128();
            let [a, b, c, d] = counts.map(|counts| {
                let lower = _mm_madd_epi16(_mm_unpacklo_epi8(counts.0, zero), low);
                let upper = _mm_madd_epi16(_mm_unpackhi_epi8(counts.0, zero), high);
                _mm_add_epi32(lower, upper)
            });
            // Each of a to d has four partial sums. Interleaving them, as for the transpose of a
            // matrix, adds up all four vectors together.
            //
            //     ab   a0+a2  b0+b2  a1+a3  b1+b3
            //     cd   c0+c2  d0+d2  c1+c3  d1+d3
            //     sums     a      b      c      d
            let halves = |a, b| _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let (ab, cd) = (halves(a, b), halves(c, d));
            let sums = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
            _mm_storeu_si128(dots.as_mut_ptr().cast(), sums);
        }
        dots
    }
}

#[derive(Clone, Copy, Debug)]
pub struct I32x16([__m128i; 4]);

impl Default for I32x16 {
    #[inline(always)]
    fn default() -> Self {
        // SAFETY: as above.
        Self([unsafe { _mm_setzero_si128() }; 4])
    }
}

impl IntegerVector for I32x16 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(std::array::from_fn(|i| unsafe { _mm_add_epi32(self.0[i], other.0[i]) }))
    }

    #[inline(always)]
    fn to_f32(self) -> F32x16 {
        // SAFETY: as above.
        F32x16(self.0.map(|vector| unsafe { _mm_cvtepi32_ps(vector) }))
    }

    #[inline(always)]
    fn to_f64_array(self) -> [f64; LANES] {
        let mut numbers = [0; LANES];
        for (four, vector) in numbers.as_chunks_mut::<4>().0.iter_mut().zip(self.0) {
            // SAFETY: as above; the 16 bytes that are written exist.
            unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), vector) };
        }
        numbers.map(f64::from)
    }
}

impl MaskVector for I32x16 {
    #[inline(always)]
    fn new(numbers: [i32; LANES]) -> Self {
        let (fours, _) = numbers.as_chunks::<4>();
        // SAFETY: as above; each part has 16 bytes.
        Self(std::array::from_fn(|i| unsafe { _mm_loadu_si128(fours[i].as_ptr().cast()) }))
    }

    #[inline(always)]
    fn and(self, number: i32) -> Self {
        // SAFETY: as above.
        Self(self.0.map(|vector| unsafe { _mm_and_si128(vector, _mm_set1_epi32(number)) }))
    }
}

impl IntegerVector for I16x16 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Vector::plus(self, other)
    }

    #[inline(always)]
    fn to_f32(self) -> F32x16 {
        let [low, high] = self.0;
        // SAFETY: as above. Each number goes to the upper half of 32 bits; the arithmetic shift
        // below moves it down and extends its sign.
        let wide = unsafe {
            let zero = _mm_setzero_si128();
            [
                _mm_unpacklo_epi16(zero, low),
                _mm_unpackhi_epi16(zero, low),
                _mm_unpacklo_epi16(zero, high),
                _mm_unpackhi_epi16(zero, high),
            ]
        };
        // SAFETY: as above.
        I32x16(wide.map(|vector| unsafe { _mm_srai_epi32::<16>(vector) })).to_f32()
    }

    #[inline(always)]
    fn to_f64_array(self) -> [f64; LANES] {
        let mut numbers = [0i16; LANES];
        for (eight, vector) in numbers.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            // SAFETY: as above; the 16 bytes that are written exist.
            unsafe { _mm_storeu_si128(eight.as_mut_ptr().cast(), vector) };
        }
        numbers.map(f64::from)
    }
}

/// Implements [`Vector`] for `$count` registers of the type `$vector`.
macro_rules! vectors {
    ($name:ident, $number:ty, $vector:ty, $count:literal, $set:expr, $splat:ident, $add:ident, $sub:ident, $mul:ident,
     $max:ident, $product:ident, $add_products:ident, $sum:expr) => {
        #[derive(Clone, Copy, Debug)]
        pub struct $name([$vector; $count]);

        impl Default for $name {
            fn default() -> Self {
                Self::splat(0.0)
            }
        }

        impl Vector for $name {
            const EXACT: f64 = <[$number; LANES]>::EXACT;
            const ROUNDING: f64 = <[$number; LANES]>::ROUNDING;

            fn new(numbers: [f64; LANES]) -> Self {
                let numbers = numbers.map(|number| number as $number);
                // SAFETY: every x86-64 processor has SSE2, here and below.
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
            fn max_zero(self) -> Self {
                // SAFETY: as above.
                Self(self.0.map(|vector| unsafe { $max(vector, $splat(0 as $number)) }))
            }

            #[inline(always)]
            fn dot(self, other: Self) -> f64 {
                // SAFETY: as above.
                let mut vectors: [_; $count] = std::array::from_fn(|i| unsafe { $product(self.0[i], other.0[i]) });
                let mut half = $count / 2;
                while half > 0 {
                    for i in 0..half {
                        // SAFETY: as above.
                        vectors[i] = unsafe { $add_products(vectors[i], vectors[i + half]) };
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
    I16x16,
    i16,
    __m128i,
    2,
    |x: &[i16]| _mm_set_epi16(x[7], x[6], x[5], x[4], x[3], x[2], x[1], x[0]),
    _mm_set1_epi16,
    _mm_add_epi16,
    _mm_sub_epi16,
    _mm_mullo_epi16,
    _mm_max_epi16,
    _mm_madd_epi16,
    _mm_add_epi32,
    |x: __m128i| {
        let pairs = _mm_add_epi32(x, _mm_shuffle_epi32::<0b01_00_11_10>(x));
        f64::from(_mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32::<1>(pairs))))
    }
);
vectors!(
    F32x16,
    f32,
    __m128,
    4,
    |x: &[f32]| _mm_set_ps(x[3], x[2], x[1], x[0]),
    _mm_set1_ps,
    _mm_add_ps,
    _mm_sub_ps,
    _mm_mul_ps,
    _mm_max_ps,
    _mm_mul_ps,
    _mm_add_ps,
    |x: __m128| {
        let pairs = _mm_add_ps(x, _mm_movehl_ps(x, x));
        f64::from(_mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs))))
    }
);
vectors!(
    F64x16,
    f64,
    __m128d,
    8,
    |x: &[f64]| _mm_set_pd(x[1], x[0]),
    _mm_set1_pd,
    _mm_add_pd,
    _mm_sub_pd,
    _mm_mul_pd,
    _mm_max_pd,
    _mm_mul_pd,
    _mm_add_pd,
    |x: __m128d| _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)))
);
