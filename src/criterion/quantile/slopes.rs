//! HOT: the slopes of the left side, from the class tags of its rows, in the narrowest numbers that
//! hold them.
//!
//! | sums | per row | used for |
//! |---|---|---|
//! | [`SummedSlopes`] | adds 16 slopes | no weights, slopes and widths that fit in 16 bits |
//! | [`ClassCounts`] | adds to 16 integer counts | few rows, with or without weights |
//! | [`BatchedCounts`] | the same, batch by batch | any number of rows |
//!
//! Counts are exact. Sums of floats would need so much room for rounding that bounds of
//! heavy-tailed targets would be useless.

use std::ops::Range;

use super::screen::{BATCH, CLASSES, CLASSES_PER_SIDE};
use crate::median::Level;
use crate::simd::{F32x16, F64x16, I16x16, I32x16, IntegerVector, MaskVector, Vector};

/// The low bits of a tag are the row's class, the bits above them its weight.
pub(super) const CLASS_BITS: u32 = 5;
/// Length of tables by class. Every class number is below it, so that no index is checked.
pub(super) const CLASS_TABLE: usize = 1 << CLASS_BITS;

/// A row's class, from its tag.
#[inline(always)]
pub(super) fn class(tag: u32) -> usize {
    tag as usize % CLASS_TABLE
}

/// A table by tagged class: the quantile itself is a class of its own.
pub(super) fn by_class<T: Default>(of: impl Fn(usize) -> T) -> [T; CLASS_TABLE] {
    std::array::from_fn(|class| if class <= CLASSES { of(class) } else { T::default() })
}

/// A row's weight, from its tag, in the tags' unit.
#[inline(always)]
pub(super) fn weight(tag: u32) -> i32 {
    (tag >> CLASS_BITS) as i32
}

/// Slopes are measured away from the quantile: upward above it and downward below it.
pub(super) fn direction(class: usize) -> f64 {
    if class < CLASSES_PER_SIDE { -1.0 } else { 1.0 }
}

/// Sums over the rows on the left, and their slopes. Sums are passed and returned by value, so that
/// they stay in registers.
pub(super) trait SlopeSums<V> {
    type Sums: Copy;

    fn empty(&self) -> Self::Sums;

    /// Adds the rows at these places.
    fn add(&self, left: Self::Sums, places: Range<usize>) -> Self::Sums;

    fn slopes(&self, left: Self::Sums) -> V;
}

/// [`SlopeSums::add`], not inlined.
#[inline(never)]
pub(super) fn add_outlined<V, R: SlopeSums<V>>(rows: &R, left: R::Sums, places: Range<usize>) -> R::Sums {
    rows.add(left, places)
}

/// Each row adds its class's slopes.
pub(super) struct SummedSlopes<F> {
    pub contribution: F,
}

impl<V: Vector, F: Fn(usize) -> V> SlopeSums<V> for SummedSlopes<F> {
    type Sums = V;

    #[inline(always)]
    fn empty(&self) -> V {
        V::default()
    }

    #[inline(always)]
    fn add(&self, mut left: V, places: Range<usize>) -> V {
        for place in places {
            left = left.plus((self.contribution)(place));
        }
        left
    }

    #[inline(always)]
    fn slopes(&self, left: V) -> V {
        left
    }
}

/// Converts counts to slopes: with P the left side's weight up to a class and W its total weight,
/// the upward slope is p·W − q·P at the level p/q.
#[derive(Clone, Debug)]
pub(super) struct ClassTally {
    /// p and q times the unit of the tags' weights.
    p: f64,
    q: f64,
    /// By tagged class: ones in the lanes that a row of this class counts in, and all bits set in
    /// them.
    pub ones: [I16x16; CLASS_TABLE],
    pub masks: [I32x16; CLASS_TABLE],
}

impl Default for ClassTally {
    fn default() -> Self {
        let up_to = |row: usize| std::array::from_fn(|class| i32::from(row <= class));
        Self {
            p: 0.0,
            q: 0.0,
            ones: by_class(|row| I16x16::new(up_to(row).map(f64::from))),
            masks: by_class(|row| I32x16::new(up_to(row).map(|is_up| -is_up))),
        }
    }
}

impl ClassTally {
    pub fn describe(&mut self, level: Level, unit: f64) {
        self.p = level.numerator() as f64 * unit;
        self.q = level.denominator() as f64 * unit;
    }

    /// The slopes for this weight up to each class, and in all.
    #[inline(always)]
    fn slopes<V: Vector>(&self, up_to: V, all: i64) -> V {
        let passed = V::splat(self.q).times(up_to);
        V::splat(self.p * all as f64).minus(passed).times(V::new(std::array::from_fn(direction)))
    }
}

/// For few rows: integers hold the left side's weight up to each class, and in all.
pub(super) struct ClassCounts<'a, F> {
    pub tally: &'a ClassTally,
    /// What the row at a place adds to both.
    pub contribution: F,
}

impl<I: IntegerVector, F: Fn(usize) -> (I, i64)> SlopeSums<F32x16> for ClassCounts<'_, F> {
    type Sums = (I, i64);

    #[inline(always)]
    fn empty(&self) -> (I, i64) {
        (I::default(), 0)
    }

    #[inline(always)]
    fn add(&self, (mut up_to, mut all): (I, i64), places: Range<usize>) -> (I, i64) {
        for place in places {
            let (more, weight) = (self.contribution)(place);
            up_to = up_to.plus(more);
            all += weight;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): (I, i64)) -> F32x16 {
        self.tally.slopes(up_to.to_f32(), all)
    }
}

/// For any number of rows: the integers of each batch are added to floats, which hold them exactly.
pub(super) struct BatchedCounts<'a, F>(pub ClassCounts<'a, F>);

impl<I: IntegerVector, F: Fn(usize) -> (I, i64)> SlopeSums<F64x16> for BatchedCounts<'_, F> {
    type Sums = ([f64; CLASSES], i64);

    #[inline(always)]
    fn empty(&self) -> Self::Sums {
        ([0.0; CLASSES], 0)
    }

    #[inline(always)]
    fn add(&self, (mut up_to, mut all): Self::Sums, mut places: Range<usize>) -> Self::Sums {
        while !places.is_empty() {
            let end = places.end.min(places.start + BATCH);
            let few = self.0.add(self.0.empty(), places.start..end);
            up_to.iter_mut().zip(few.0.to_f64_array()).for_each(|(sum, more)| *sum += more);
            all += few.1;
            places.start = end;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): Self::Sums) -> F64x16 {
        self.0.tally.slopes(F64x16::new(up_to), all)
    }
}
