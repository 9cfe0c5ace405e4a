//! What each row of a node adds to the sums of a sweep, in the order of a feature.
//!
//! A sweep reads contributions by their place in that order and does not depend on how the order is
//! stored: the top of the tree carries targets along in every column ([`Carried`]), a subtree keeps
//! row numbers and looks contributions up ([`LookedUp`], [`Indexed`]).

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::columns::local::LOCAL_ROWS;

/// The contributions of a node's rows in a feature's order.
pub(crate) trait Contributions {
    type Contribution;
    /// What a gain bound reads of a row instead of its contribution; `()` where nothing does.
    type Tag;

    fn len(&self) -> usize;

    /// The contribution at this place.
    fn at(&self, place: usize) -> Self::Contribution;

    /// Writes the contributions from `start` on.
    fn fill(&self, start: usize, contributions: &mut [Self::Contribution]);

    /// The tag at this place.
    fn tag(&self, place: usize) -> Self::Tag;
}

impl<P: Contributions> Contributions for &P {
    type Contribution = P::Contribution;
    type Tag = P::Tag;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn at(&self, place: usize) -> P::Contribution {
        (**self).at(place)
    }

    fn fill(&self, start: usize, contributions: &mut [P::Contribution]) {
        (**self).fill(start, contributions);
    }

    #[inline(always)]
    fn tag(&self, place: usize) -> P::Tag {
        (**self).tag(place)
    }
}

/// A row's tag as it is stored, no wider than it needs to be. Threads write the tags of different
/// rows side by side, so the cells are atomic; relaxed stores cost the same as plain ones.
pub(crate) trait TagCell: Default + Send + Sync {
    type Tag: Copy;

    fn set(&self, tag: u32);
    fn get(&self) -> Self::Tag;

    /// The tag that `read` returns, for sources that store no cells.
    fn from_u32(read: impl FnOnce() -> u32) -> Self::Tag;
}

/// For criteria without tags: nothing is stored or read.
impl TagCell for () {
    type Tag = ();

    fn set(&self, _: u32) {}

    fn get(&self) {}

    fn from_u32(_: impl FnOnce() -> u32) {}
}

/// Implements tags that are read as `u32` and stored in this type.
macro_rules! atomic_tag_cell {
    ($atomic:ty, $stored:ty) => {
        impl TagCell for $atomic {
            type Tag = u32;

            #[inline(always)]
            fn set(&self, tag: u32) {
                self.store(tag as $stored, Ordering::Relaxed);
            }

            #[inline(always)]
            fn get(&self) -> u32 {
                self.load(Ordering::Relaxed).into()
            }

            #[inline(always)]
            fn from_u32(read: impl FnOnce() -> u32) -> u32 {
                read()
            }
        }
    };
}
atomic_tag_cell!(AtomicU8, u8);
atomic_tag_cell!(AtomicU32, u32);

/// Targets that stand in the feature's order; each becomes a contribution when it is read.
pub(crate) struct Carried<'a, T, F, G> {
    pub items: &'a [T],
    pub contribution: F,
    /// The tag at a place.
    pub tag: G,
}

impl<T: Copy, S, U, F: Fn(T) -> S, G: Fn(usize) -> U> Contributions for Carried<'_, T, F, G> {
    type Contribution = S;
    type Tag = U;

    #[inline(always)]
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        (self.contribution)(self.items[place])
    }

    #[inline(always)]
    fn fill(&self, start: usize, contributions: &mut [S]) {
        for (contribution, &item) in contributions.iter_mut().zip(&self.items[start..]) {
            *contribution = (self.contribution)(item);
        }
    }

    #[inline(always)]
    fn tag(&self, place: usize) -> U {
        (self.tag)(place)
    }
}

/// Row numbers in the feature's order; each row's target becomes a contribution when it is read.
pub(crate) struct Indexed<'a, T, F, M> {
    pub rows: &'a [u16],
    pub items: &'a [T],
    pub contribution: F,
    /// By row.
    pub tags: &'a [M; LOCAL_ROWS],
}

impl<T: Copy, S, F: Fn(T) -> S, M: TagCell> Contributions for Indexed<'_, T, F, M> {
    type Contribution = S;
    type Tag = M::Tag;

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        (self.contribution)(self.items[self.rows[place] as usize])
    }

    #[inline(always)]
    fn fill(&self, start: usize, contributions: &mut [S]) {
        for (contribution, &row) in contributions.iter_mut().zip(&self.rows[start..]) {
            *contribution = (self.contribution)(self.items[row as usize]);
        }
    }

    #[inline(always)]
    fn tag(&self, place: usize) -> M::Tag {
        self.tags[self.rows[place] as usize].get()
    }
}

/// Row numbers in the feature's order, and the contribution of every row in a table.
pub(crate) struct LookedUp<'a, S, M> {
    pub rows: &'a [u16],
    /// By row, as are the tags.
    pub contributions: &'a [S; LOCAL_ROWS],
    pub tags: &'a [M; LOCAL_ROWS],
}

impl<S: Copy, M: TagCell> Contributions for LookedUp<'_, S, M> {
    type Contribution = S;
    type Tag = M::Tag;

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        self.contributions[self.rows[place] as usize]
    }

    #[inline(always)]
    fn fill(&self, start: usize, contributions: &mut [S]) {
        for (contribution, &row) in contributions.iter_mut().zip(&self.rows[start..]) {
            *contribution = self.contributions[row as usize];
        }
    }

    #[inline(always)]
    fn tag(&self, place: usize) -> M::Tag {
        self.tags[self.rows[place] as usize].get()
    }
}

/// The same contributions with the last `n_missing`, those of missing values, moved to the front.
///
/// ```text
/// column         a b c d ? ?
/// missing first  ? ? a b c d
/// ```
pub(crate) struct MissingFirst<'a, P> {
    pub contributions: &'a P,
    pub n_missing: usize,
}

impl<P: Contributions> MissingFirst<'_, P> {
    fn original(&self, place: usize) -> usize {
        let len = self.contributions.len();
        (place + len - self.n_missing) % len
    }
}

impl<P: Contributions> Contributions for MissingFirst<'_, P> {
    type Contribution = P::Contribution;
    type Tag = P::Tag;

    fn len(&self) -> usize {
        self.contributions.len()
    }

    fn at(&self, place: usize) -> P::Contribution {
        self.contributions.at(self.original(place))
    }

    fn fill(&self, start: usize, contributions: &mut [P::Contribution]) {
        for (i, contribution) in contributions.iter_mut().enumerate() {
            *contribution = self.at(start + i);
        }
    }

    fn tag(&self, place: usize) -> P::Tag {
        self.contributions.tag(self.original(place))
    }
}
