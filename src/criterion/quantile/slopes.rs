//! HOT: how rows that come to the left become slopes of the loss, in the smallest numbers that hold them.

use std::ops::Range;

use super::screen::{BATCH, CLASSES, SIDE};
use crate::median::Level;
use crate::simd::{F32x16, F64x16, I16x16, I32x16, IntegerVector, MaskVector, Vector};

/// The low bits of a tag are the row's class, those above its weight.
pub(super) const CLASS_BITS: u32 = 5;
/// As many as such numbers can tell apart: no index of such a table needs a check.
pub(super) const CLASS_TABLE: usize = 1 << CLASS_BITS;

/// A row's class, from its tag.
#[inline(always)]
pub(super) fn class(tag: u32) -> usize {
    tag as usize % CLASS_TABLE
}

/// A table of something for each class of a row.
pub(super) fn by_class<T: Default>(of: impl Fn(usize) -> T) -> [T; CLASS_TABLE] {
    std::array::from_fn(|class| if class <= CLASSES { of(class) } else { T::default() })
}

/// And its weight, in the tags' unit.
#[inline(always)]
pub(super) fn weight(tag: u32) -> i32 {
    (tag >> CLASS_BITS) as i32
}

/// Slopes are upward above the quantile and downward below it.
pub(super) fn direction(class: usize) -> f64 {
    if class < SIDE { -1.0 } else { 1.0 }
}

/// How rows that come to the left become slopes. What is kept of them goes from hand to hand, so that it can stay in registers.
pub(super) trait Slopes<L> {
    /// What is kept of the rows.
    type Left: Copy;

    fn none(&self) -> Self::Left;

    /// The rows at these places come.
    fn add(&self, left: Self::Left, places: Range<usize>) -> Self::Left;

    fn slopes(&self, left: Self::Left) -> L;
}

/// [`Slopes::add`] as a function of its own.
#[inline(never)]
pub(super) fn add_apart<L, R: Slopes<L>>(rows: &R, left: R::Left, places: Range<usize>) -> R::Left {
    rows.add(left, places)
}

/// Each row adds its own slopes.
pub(super) struct Summed<F> {
    pub contribution: F,
}

impl<L: Vector, F: Fn(usize) -> L> Slopes<L> for Summed<F> {
    type Left = L;

    #[inline(always)]
    fn none(&self) -> L {
        L::default()
    }

    #[inline(always)]
    fn add(&self, mut left: L, places: Range<usize>) -> L {
        for place in places {
            left = left.plus((self.contribution)(place));
        }
        left
    }

    #[inline(always)]
    fn slopes(&self, left: L) -> L {
        left
    }
}

/// How weights become slopes: with P the weight on the left up to a class and W that of all there, the slope is p·W − q·P.
#[derive(Clone, Debug)]
pub(super) struct ClassTally {
    /// p and q, in units of the tags' weights.
    below: f64,
    whole: f64,
    /// By a row's class: what a row adds, and a mask of it.
    pub ones: [I16x16; CLASS_TABLE],
    pub masks: [I32x16; CLASS_TABLE],
}

impl Default for ClassTally {
    fn default() -> Self {
        let up_to = |row: usize| std::array::from_fn(|class| i32::from(row <= class));
        Self {
            below: 0.0,
            whole: 0.0,
            ones: by_class(|row| I16x16::new(up_to(row).map(f64::from))),
            masks: by_class(|row| I32x16::new(up_to(row).map(|is_up| -is_up))),
        }
    }
}

impl ClassTally {
    pub fn describe(&mut self, level: Level, unit: f64) {
        self.below = level.numerator() as f64 * unit;
        self.whole = level.denominator() as f64 * unit;
    }

    /// The slopes, where there is so much up to each class, and in all.
    #[inline(always)]
    fn slopes<L: Vector>(&self, up_to: L, all: i64) -> L {
        let whole = L::splat(self.whole).times(up_to);
        L::splat(self.below * all as f64).minus(whole).times(L::new(std::array::from_fn(direction)))
    }
}

/// Few rows: integers hold what there is on the left, up to each class and in all.
pub(super) struct FewCounted<'a, F> {
    pub tally: &'a ClassTally,
    /// What a row adds to these.
    pub contribution: F,
}

impl<V: IntegerVector, F: Fn(usize) -> (V, i64)> Slopes<F32x16> for FewCounted<'_, F> {
    type Left = (V, i64);

    #[inline(always)]
    fn none(&self) -> (V, i64) {
        (V::default(), 0)
    }

    #[inline(always)]
    fn add(&self, (mut up_to, mut all): (V, i64), places: Range<usize>) -> (V, i64) {
        for place in places {
            let (more, weight) = (self.contribution)(place);
            up_to = up_to.plus(more);
            all += weight;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): (V, i64)) -> F32x16 {
        self.tally.slopes(up_to.to_f32(), all)
    }
}

/// Any number of rows.
pub(super) struct ManyCounted<'a, F>(pub FewCounted<'a, F>);

impl<V: IntegerVector, F: Fn(usize) -> (V, i64)> Slopes<F64x16> for ManyCounted<'_, F> {
    type Left = ([f64; CLASSES], i64);

    #[inline(always)]
    fn none(&self) -> Self::Left {
        ([0.0; CLASSES], 0)
    }

    #[inline(always)]
    fn add(&self, (mut up_to, mut all): Self::Left, mut places: Range<usize>) -> Self::Left {
        while !places.is_empty() {
            let end = places.end.min(places.start + BATCH);
            let few = self.0.add(self.0.none(), places.start..end);
            up_to.iter_mut().zip(few.0.to_f64_array()).for_each(|(sum, more)| *sum += more);
            all += few.1;
            places.start = end;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): Self::Left) -> F64x16 {
        self.0.tally.slopes(F64x16::new(up_to), all)
    }
}
