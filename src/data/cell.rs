//! A cell of X, in its own precision, and the integer key that sorts it.

use std::ops::Add;

use super::{AnySource, Source};

/// A cell of X: `f32` or `f64`, each kept in its own precision.
pub trait Cell:
    Copy + PartialOrd + Default + Add<Output = Self> + Send + Sync + std::fmt::Debug + private::Sealed + 'static
{
    /// The greatest cell that is not above a number: both send every cell the same way.
    #[doc(hidden)]
    fn not_above(number: f64) -> Self;
    #[doc(hidden)]
    const INFINITY: Self;
    #[doc(hidden)]
    const NEG_INFINITY: Self;
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Whether the value is missing: NaN.
    #[inline]
    #[must_use]
    #[allow(clippy::eq_op)] // Only NaN differs from itself.
    fn is_missing(self) -> bool {
        self != self
    }
    /// The high word of the sort key: unsigned integers in the order of the values, with −0.0 equal
    /// to 0.0 and every NaN last.
    #[doc(hidden)]
    fn high_key(self) -> u32;
    /// The low word of the sort key; `None` if the high word is the whole key.
    #[doc(hidden)]
    fn low_key(self) -> Option<u32>;
    /// X, with the type of its cells as a run-time tag.
    #[doc(hidden)]
    fn any(x: Source<'_, Self>) -> AnySource<'_>
    where
        Self: Sized;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The order-preserving key. Floats order like unsigned integers once all bits of the negative ones
/// and the sign bit of the others are flipped. Adding 0.0 turns −0.0 into 0.0.
macro_rules! order_key {
    ($value:expr, $float:ty, $bits:ty) => {{
        let bits = ($value + 0.0).to_bits();
        let sign = 1 << (<$bits>::BITS - 1);
        if $value.is_nan() {
            <$bits>::MAX
        } else if bits & sign != 0 {
            !bits
        } else {
            bits | sign
        }
    }};
}

impl Cell for f32 {
    #[inline]
    fn not_above(number: f64) -> Self {
        let nearest = number as f32;
        if f64::from(nearest) > number { nearest.next_down() } else { nearest }
    }
    const INFINITY: Self = f32::INFINITY;
    const NEG_INFINITY: Self = f32::NEG_INFINITY;
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn high_key(self) -> u32 {
        order_key!(self, f32, u32)
    }
    #[inline]
    fn low_key(self) -> Option<u32> {
        None
    }
    fn any(x: Source<'_, Self>) -> AnySource<'_> {
        AnySource::Single(x)
    }
}

impl Cell for f64 {
    #[inline]
    fn not_above(number: f64) -> Self {
        number
    }
    const INFINITY: Self = f64::INFINITY;
    const NEG_INFINITY: Self = f64::NEG_INFINITY;
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn high_key(self) -> u32 {
        (order_key!(self, f64, u64) >> 32) as u32
    }
    #[inline]
    fn low_key(self) -> Option<u32> {
        Some(order_key!(self, f64, u64) as u32)
    }
    fn any(x: Source<'_, Self>) -> AnySource<'_> {
        AnySource::Double(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full_key<X: Cell>(x: X) -> (u32, Option<u32>) {
        (x.high_key(), x.low_key())
    }

    fn any_float() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            Just(0.0),
            Just(-0.0),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(5e-324),
            (-4..4).prop_map(f64::from),
        ]
    }

    proptest! {
        #[test]
        fn keys_order_like_values(a in any_float(), b in any_float()) {
            if a.is_nan() || b.is_nan() {
                prop_assert_eq!(full_key(a) == full_key(b), a.is_nan() && b.is_nan());
            } else {
                prop_assert_eq!(full_key(a).cmp(&full_key(b)), a.partial_cmp(&b).unwrap());
                let (a, b) = (a as f32, b as f32);
                prop_assert_eq!(full_key(a).cmp(&full_key(b)), a.partial_cmp(&b).unwrap());
            }
            prop_assert!(full_key(a) <= full_key(f64::NAN));
        }
    }
}
