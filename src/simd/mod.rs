//! Vectors of sixteen numbers: `U8x16`, `I16x16`, `I32x16`, `F32x16` and `F64x16`.
//!
//! The quantile criterion uses them (`criterion/quantile/README.md`): `I16x16`, `I32x16`, `F32x16`
//! and `F64x16` hold the slopes of its gain bounds and of nodes with few weighted rows, `U8x16` the
//! counts of its tiny nodes. Each kernel takes the narrowest numbers that hold its sums.
//!
//! `portable.rs` defines each operation on plain arrays. The compiler does not keep arrays in
//! vector registers across the iterations of a loop, so `sse2.rs` implements the same operations
//! with SSE2, which every x86-64 processor has: no run-time dispatch is needed. Other processors
//! use the arrays.
//!
//! Both implementations return the same bits for every operation, so the processor does not change
//! the model. The tests `vectors_are_arrays`, `vectors_of_integers_are_arrays` and
//! `vectors_of_counts_are_arrays` below compare them.

mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

/// Numbers per vector.
pub const LANES: usize = 16;

/// Numbers that are added, multiplied and compared lane by lane.
pub trait Vector: Copy + Default + Send + Sync {
    /// Integers of up to this size are represented exactly.
    const EXACT: f64;
    /// Bound on the relative rounding error of `dot` for terms that are not negative.
    const ROUNDING: f64;

    fn new(numbers: [f64; LANES]) -> Self;
    fn splat(number: f64) -> Self;
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[must_use]
    fn minus(self, other: Self) -> Self;
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// The larger of each number and zero.
    #[must_use]
    fn max_zero(self) -> Self;
    /// The sum of the products of both vectors' lanes. For integers it must be below 2^31.
    fn dot(self, other: Self) -> f64;
}

/// Integers that are summed exactly and then converted to floats.
pub trait IntegerVector: Copy + Default {
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The nearest float of each integer.
    fn to_f32(self) -> F32x16;
    fn to_f64_array(self) -> [f64; LANES];
}

/// Masks of 32 bits, which select the lanes that a number is added to.
pub trait MaskVector: IntegerVector {
    fn new(numbers: [i32; LANES]) -> Self;
    /// The bitwise and of each mask with this number.
    #[must_use]
    fn and(self, number: i32) -> Self;
}

/// Counts of up to 255.
pub trait CountVector: Copy {
    /// Integers that counts are multiplied by.
    type Factors: Copy;

    fn new(counts: &[u8; LANES]) -> Self;
    fn factors(factors: &[i16; LANES]) -> Self::Factors;
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// The smaller number of each lane. (`min` would be ambiguous: arrays implement `Ord`.)
    #[must_use]
    fn lane_min(self, other: Self) -> Self;
    /// For each of four vectors, the sum of its products with the factors.
    fn dots(counts: [Self; 4], factors: Self::Factors) -> [i32; 4];
}

#[cfg(target_arch = "x86_64")]
pub use self::sse2::{F32x16, F64x16, I16x16, I32x16, U8x16};

#[cfg(not(target_arch = "x86_64"))]
mod arrays {
    use super::LANES;

    pub type U8x16 = [u8; LANES];
    pub type I16x16 = [i16; LANES];
    pub type I32x16 = [i32; LANES];
    pub type F32x16 = [f32; LANES];
    pub type F64x16 = [f64; LANES];
}
#[cfg(not(target_arch = "x86_64"))]
pub use self::arrays::{F32x16, F64x16, I16x16, I32x16, U8x16};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares the results of vectors and arrays, to the last bit.
    fn check<V: Vector, A: Vector>(a: [f64; LANES], b: [f64; LANES]) -> Result<(), TestCaseError> {
        fn all<L: Vector>(a: [f64; LANES], b: [f64; LANES]) -> [u64; 7] {
            let [a, b] = [a, b].map(L::new);
            let lanes =
                [a, a.plus(b), a.minus(b), a.times(b), a.max_zero(), b.max_zero().times(a), L::splat(0.1).plus(b)];
            lanes.map(|lanes| lanes.dot(b).to_bits())
        }
        prop_assert_eq!(all::<V>(a, b), all::<A>(a, b));
        Ok(())
    }

    fn numbers() -> impl Strategy<Value = [f64; LANES]> {
        prop::array::uniform16(prop_oneof![-150.0..150.0, Just(0.0), (-100..100i32).prop_map(f64::from)])
    }

    proptest! {
        #[test]
        fn vectors_are_arrays(a in numbers(), b in numbers()) {
            check::<I16x16, [i16; LANES]>(a, b)?;
            check::<F32x16, [f32; LANES]>(a, b)?;
            check::<F64x16, [f64; LANES]>(a, b)?;
        }

        #[test]
        fn vectors_of_integers_are_arrays(rows in prop::collection::vec((any::<[bool; LANES]>(), 0..1 << 22), 1..100)) {
            let (mut vectors, mut arrays) = (I32x16::default(), <[i32; LANES]>::default());
            let (mut counts, mut count_arrays) = (I16x16::default(), <[i16; LANES]>::default());
            for (is_in, weight) in rows {
                let masks = is_in.map(|is_in| -i32::from(is_in));
                vectors = vectors.plus(I32x16::new(masks).and(weight));
                arrays = arrays.plus(masks.and(weight));
                let ones = is_in.map(f64::from);
                counts = IntegerVector::plus(counts, I16x16::new(ones));
                count_arrays = IntegerVector::plus(count_arrays, <[i16; LANES]>::new(ones));
            }
            let ones = F32x16::splat(1.0);
            prop_assert_eq!(vectors.to_f64_array(), arrays.to_f64_array());
            prop_assert_eq!(vectors.to_f32().dot(ones).to_bits(), arrays.to_f32().dot(ones).to_bits());
            prop_assert_eq!(counts.to_f64_array(), count_arrays.to_f64_array());
            prop_assert_eq!(counts.to_f32().dot(ones).to_bits(), count_arrays.to_f32().dot(ones).to_bits());
        }

        #[test]
        fn vectors_of_counts_are_arrays(a in any::<[u8; LANES]>(), b in any::<[u8; LANES]>(), factors in any::<[i16; LANES]>()) {
            fn all<C: CountVector>(a: &[u8; LANES], b: &[u8; LANES], factors: [i16; LANES]) -> [i32; 4] {
                let [a, b] = [a, b].map(C::new);
                C::dots([a, a.plus(b), a.minus(b), a.lane_min(b)], C::factors(&factors))
            }
            prop_assert_eq!(all::<U8x16>(&a, &b, factors), all::<[u8; LANES]>(&a, &b, factors));
        }
    }
}
