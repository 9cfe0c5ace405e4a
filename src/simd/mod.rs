//! Sixteen numbers that are added, multiplied and compared together: integers where they are small, or floats.
//!
//! `portable.rs` states what each operation means, on arrays. The compiler does not turn those arrays into
//! vectors where they go around a loop in registers, so `sse2.rs` spells the same operations out. Both
//! give the same bits, operation by operation.

mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

/// Numbers per vector.
pub const LANES: usize = 16;

/// The numbers of one row, in a precision of its own.
pub trait Lanes: Copy + Default + Send + Sync {
    /// Integers up to this size are exact.
    const EXACT: f64;
    /// Room for the rounding of a sum of products, as a part of it.
    const ROUNDING: f64;

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
    /// The sum of all products; of integers, below 2^31.
    fn dot(self, other: Self) -> f64;
}

/// Integers that are added up and then become other numbers.
pub trait Integers: Copy + Default {
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The nearest floats.
    fn singles(self) -> Singles;
    fn numbers(self) -> [f64; LANES];
}

/// Integers of 32 bits.
pub trait Masks: Integers {
    fn new(numbers: [i32; LANES]) -> Self;
    /// This number's bits that are in the masks.
    #[must_use]
    fn and(self, number: i32) -> Self;
}

/// Sixteen counts of up to 255.
pub trait Counts: Copy {
    /// Integers that go with them.
    type Shorts: Copy;

    fn new(counts: &[u8; LANES]) -> Self;
    fn integers(integers: &[i16; LANES]) -> Self::Shorts;
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// The smaller of each two.
    #[must_use]
    fn least(self, other: Self) -> Self;
    /// For each of the four, the sum of its products with the integers.
    fn dots(counts: [Self; 4], integers: Self::Shorts) -> [i32; 4];
}

#[cfg(target_arch = "x86_64")]
pub use self::sse2::{Bytes, Doubles, Longs, Shorts, Singles};

#[cfg(not(target_arch = "x86_64"))]
mod arrays {
    use super::LANES;

    pub type Bytes = [u8; LANES];
    pub type Shorts = [i16; LANES];
    pub type Longs = [i32; LANES];
    pub type Singles = [f32; LANES];
    pub type Doubles = [f64; LANES];
}
#[cfg(not(target_arch = "x86_64"))]
pub use self::arrays::{Bytes, Doubles, Longs, Shorts, Singles};

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
            check::<Shorts, [i16; LANES]>(a, b)?;
            check::<Singles, [f32; LANES]>(a, b)?;
            check::<Doubles, [f64; LANES]>(a, b)?;
        }

        #[test]
        fn vectors_of_integers_are_arrays(rows in prop::collection::vec((any::<[bool; LANES]>(), 0..1 << 22), 1..100)) {
            let (mut vectors, mut arrays) = (Longs::default(), <[i32; LANES]>::default());
            let (mut counts, mut count_arrays) = (Shorts::default(), <[i16; LANES]>::default());
            for (is_in, weight) in rows {
                let masks = is_in.map(|is_in| -i32::from(is_in));
                vectors = vectors.plus(Longs::new(masks).and(weight));
                arrays = arrays.plus(masks.and(weight));
                let ones = is_in.map(f64::from);
                counts = Integers::plus(counts, Shorts::new(ones));
                count_arrays = Integers::plus(count_arrays, <[i16; LANES]>::new(ones));
            }
            let ones = Singles::splat(1.0);
            prop_assert_eq!(vectors.numbers(), arrays.numbers());
            prop_assert_eq!(vectors.singles().dot(ones).to_bits(), arrays.singles().dot(ones).to_bits());
            prop_assert_eq!(counts.numbers(), count_arrays.numbers());
            prop_assert_eq!(counts.singles().dot(ones).to_bits(), count_arrays.singles().dot(ones).to_bits());
        }

        #[test]
        fn vectors_of_counts_are_arrays(a in any::<[u8; LANES]>(), b in any::<[u8; LANES]>(), integers in any::<[i16; LANES]>()) {
            fn all<C: Counts>(a: &[u8; LANES], b: &[u8; LANES], integers: [i16; LANES]) -> [i32; 4] {
                let [a, b] = [a, b].map(C::new);
                C::dots([a, a.plus(b), a.minus(b), a.least(b)], C::integers(&integers))
            }
            prop_assert_eq!(all::<Bytes>(&a, &b, integers), all::<[u8; LANES]>(&a, &b, integers));
        }
    }
}
