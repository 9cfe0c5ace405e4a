//! A node's rows in a feature's order, each as the step that it adds to the sums of a sweep.
//!
//! A sweep asks for steps by their place in that order and does not care where the order comes from: the top of the tree carries
//! targets along in every column, a subtree keeps row numbers and looks steps up in a table.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Steps in a feature's order.
pub(crate) trait Steps {
    type Step;

    fn len(&self) -> usize;

    /// The step at this place.
    fn at(&self, place: usize) -> Self::Step;

    /// Writes the steps from `start` on.
    fn fill(&self, start: usize, steps: &mut [Self::Step]);

    /// What is noted of the row at this place, for those who need to know no more of it.
    fn mark(&self, _place: usize) -> u32 {
        unreachable!("only marked steps have marks")
    }
}

impl<P: Steps> Steps for &P {
    type Step = P::Step;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn at(&self, place: usize) -> P::Step {
        (**self).at(place)
    }

    fn fill(&self, start: usize, steps: &mut [P::Step]) {
        (**self).fill(start, steps);
    }

    #[inline(always)]
    fn mark(&self, place: usize) -> u32 {
        (**self).mark(place)
    }
}

/// Steps, and the mark at each place.
pub(crate) struct Marked<P, M> {
    pub steps: P,
    pub mark: M,
}

impl<P: Steps, M: Fn(usize) -> u32> Steps for Marked<P, M> {
    type Step = P::Step;

    #[inline(always)]
    fn len(&self) -> usize {
        self.steps.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> P::Step {
        self.steps.at(place)
    }

    #[inline(always)]
    fn fill(&self, start: usize, steps: &mut [P::Step]) {
        self.steps.fill(start, steps);
    }

    #[inline(always)]
    fn mark(&self, place: usize) -> u32 {
        (self.mark)(place)
    }
}

/// A mark as it is stored by row: no wider than it needs to be. Threads write those of different rows side by side; relaxed stores cost
/// what plain ones do.
pub(crate) trait Mark: Default + Send + Sync {
    fn set(&self, mark: u32);
    fn get(&self) -> u32;
}

impl Mark for AtomicU8 {
    #[inline(always)]
    fn set(&self, mark: u32) {
        self.store(mark as u8, Ordering::Relaxed);
    }

    #[inline(always)]
    fn get(&self) -> u32 {
        self.load(Ordering::Relaxed).into()
    }
}

impl Mark for AtomicU32 {
    #[inline(always)]
    fn set(&self, mark: u32) {
        self.store(mark, Ordering::Relaxed);
    }

    #[inline(always)]
    fn get(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }
}

/// Targets that stand in the feature's order; each becomes a step when it is asked for.
pub(crate) struct Carried<'a, T, F> {
    pub items: &'a [T],
    pub step: F,
}

impl<T: Copy, S, F: Fn(T) -> S> Steps for Carried<'_, T, F> {
    type Step = S;

    #[inline(always)]
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        (self.step)(self.items[place])
    }

    #[inline(always)]
    fn fill(&self, start: usize, steps: &mut [S]) {
        for (step, &item) in steps.iter_mut().zip(&self.items[start..]) {
            *step = (self.step)(item);
        }
    }
}

/// Number of rows that a `u16` can tell apart. A table of this length needs no check of its index.
pub(crate) const TABLE: usize = 1 << 16;

/// A table with an entry for every number of 16 bits, on the heap.
#[allow(clippy::unnecessary_box_returns)] // Half a megabyte.
pub(crate) fn table<T: Default>() -> Box<[T; TABLE]> {
    (0..TABLE)
        .map(|_| T::default())
        .collect::<Box<[T]>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!("the length is right"))
}

/// The rows of a small node in the order of every feature.
#[derive(Clone, Copy)]
pub(crate) struct Orders<'a> {
    /// The orders of all the rows of the subtree, feature after feature.
    pub columns: &'a [u16],
    pub n_rows: usize,
    /// The node's range in each of them.
    pub start: usize,
    pub len: usize,
}

impl<'a> Orders<'a> {
    #[inline(always)]
    pub fn of(self, feature: usize) -> &'a [u16] {
        &self.columns[feature * self.n_rows + self.start..][..self.len]
    }

    pub fn n_features(self) -> usize {
        self.columns.len() / self.n_rows
    }
}

/// Row numbers in the feature's order; each row's target becomes a step when it is asked for.
pub(crate) struct Indexed<'a, T, F> {
    pub rows: &'a [u16],
    pub items: &'a [T],
    pub step: F,
}

impl<T: Copy, S, F: Fn(T) -> S> Steps for Indexed<'_, T, F> {
    type Step = S;

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        (self.step)(self.items[self.rows[place] as usize])
    }

    #[inline(always)]
    fn fill(&self, start: usize, steps: &mut [S]) {
        for (step, &row) in steps.iter_mut().zip(&self.rows[start..]) {
            *step = (self.step)(self.items[row as usize]);
        }
    }
}

/// Row numbers in the feature's order, and every row's step.
pub(crate) struct LookedUp<'a, S> {
    pub rows: &'a [u16],
    pub table: &'a [S; TABLE],
}

impl<S: Copy> Steps for LookedUp<'_, S> {
    type Step = S;

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    fn at(&self, place: usize) -> S {
        self.table[self.rows[place] as usize]
    }

    #[inline(always)]
    fn fill(&self, start: usize, steps: &mut [S]) {
        for (step, &row) in steps.iter_mut().zip(&self.rows[start..]) {
            *step = self.table[row as usize];
        }
    }
}

/// The same steps, the last `n_last` of them first.
pub(crate) struct Turned<'a, P> {
    pub steps: &'a P,
    pub n_last: usize,
}

impl<P: Steps> Turned<'_, P> {
    fn original(&self, place: usize) -> usize {
        let len = self.steps.len();
        (place + len - self.n_last) % len
    }
}

impl<P: Steps> Steps for Turned<'_, P> {
    type Step = P::Step;

    fn len(&self) -> usize {
        self.steps.len()
    }

    fn at(&self, place: usize) -> P::Step {
        self.steps.at(self.original(place))
    }

    fn mark(&self, place: usize) -> u32 {
        self.steps.mark(self.original(place))
    }

    fn fill(&self, start: usize, steps: &mut [P::Step]) {
        for (i, step) in steps.iter_mut().enumerate() {
            *step = self.at(start + i);
        }
    }
}
