//! The running median of a set that values are added to and removed from, by two heaps.
//!
//! ```text
//!        low: a max-heap          high: a min-heap
//!   … ≤ small median = its top │ its top ≤ …
//! ```
//!
//! `low` holds the fewest rows, from the least value on, whose weight reaches the level's share;
//! its top is the small median. If the share is met exactly, the large median is the top of `high`,
//! and the median is halfway between them. Each heap keeps its Σw and Σw·y in double-double
//! arithmetic, so the loss is a difference of sums.
//!
//! Removal is lazy: the sums change at once, and the row leaves its heap when it reaches the top,
//! or when the heap is rebuilt because most of its rows were removed.
//!
//! Cost: O(log n) per row that is added, removed or moved to the other heap. With equal weights, an
//! addition or a removal moves at most one row. With weights, one heavy row can move many;
//! [`running_median`](super::running_median) takes O(n log n) for all weights.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use super::center::{Share, midpoint};
use super::level::Level;
use super::loss;
use super::sum::Sums;
use crate::error::{Error, Result};

/// The median, or another quantile, of a set that values are added to and removed from, and the
/// loss around it.
///
/// Values may have weights. The median is a value with at most half of the weight strictly below
/// and at most half strictly above; the midpoint if there are several.
///
/// ```
/// use splitwood::RunningMedian;
///
/// let mut running = RunningMedian::new();
/// for value in [3.0, 1.0, 9.0] {
///     running.push(value, 1.0)?;
/// }
/// assert_eq!(running.median(), Some(3.0));
/// assert_eq!(running.absolute_error(), 8.0);
/// running.remove(9.0, 1.0)?;
/// assert_eq!((running.small_median(), running.large_median()), (Some(1.0), Some(3.0)));
/// assert_eq!(running.median(), Some(2.0));
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunningMedian {
    level: Level,
    low: Heap<Row>,
    high: Heap<Reverse<Row>>,
    /// Number of copies of each row. `None` until the first removal.
    counts: Option<HashMap<[u64; 2], usize>>,
}

impl Default for RunningMedian {
    fn default() -> Self {
        Self::new()
    }
}

impl RunningMedian {
    /// An empty running median.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Level::HALF)
    }

    /// An empty running quantile of this level.
    ///
    /// # Errors
    ///
    /// If the level is not strictly between 0 and 1.
    pub fn with_quantile(quantile: f64) -> Result<Self> {
        super::checked_level(quantile).map(Self::at)
    }

    pub(super) fn at(level: Level) -> Self {
        Self { level, low: Heap::default(), high: Heap::default(), counts: None }
    }

    /// Adds a value. A weight of zero adds nothing.
    ///
    /// # Errors
    ///
    /// If the value is not finite, or if the weight is negative or not finite.
    pub fn push(&mut self, value: f64, weight: f64) -> Result<()> {
        let row = Row::checked(value, weight)?;
        if !(self.low.weight() + self.high.weight() + weight).is_finite() {
            return Err(Error::argument("weight", format!("{weight} makes the sum of weights infinite")));
        }
        if weight > 0.0 {
            if let Some(counts) = &mut self.counts {
                *counts.entry(row.key()).or_default() += 1;
            }
            self.push_row(row);
        }
        Ok(())
    }

    pub(super) fn push_row(&mut self, row: Row) {
        if self.low.top().is_some_and(|top| row > top) {
            self.high.push(row);
        } else {
            self.low.push(row);
        }
        self.balance();
    }

    /// Removes a value that was added with this weight. A weight of zero removes nothing.
    ///
    /// # Errors
    ///
    /// If there is no such value with this weight.
    pub fn remove(&mut self, value: f64, weight: f64) -> Result<()> {
        let row = Row::checked(value, weight)?;
        if weight == 0.0 {
            return Ok(());
        }
        let counts = self.counts.get_or_insert_with(|| {
            let mut counts = HashMap::new();
            for row in self.low.rows().chain(self.high.rows()) {
                *counts.entry(row.key()).or_default() += 1;
            }
            counts
        });
        let Some(count) = counts.get_mut(&row.key()) else {
            return Err(Error::argument("value", format!("{value} with weight {weight} is not there to be removed")));
        };
        *count -= 1;
        if *count == 0 {
            counts.remove(&row.key());
        }
        if self.low.top().is_some_and(|top| row > top) {
            self.high.remove(row);
        } else {
            self.low.remove(row);
        }
        self.balance();
        if self.has_lost_precision() {
            self.low.rebuild();
            self.high.rebuild();
            self.balance();
        }
        Ok(())
    }

    /// True if the rounding errors of the sums are no longer negligible: after the removal of a row
    /// that was 1e19 times as large as all others together, or after hundreds of thousands of
    /// changes if the loss is close to zero.
    fn has_lost_precision(&self) -> bool {
        let weight = self.low.weight() + self.high.weight();
        let [of_weight, of_moment] = [0, 1].map(|part| self.low.error_bounds[part] + self.high.error_bounds[part]);
        let m = self.median().map_or(0.0, f64::abs);
        let loss = self.absolute_error().max(m * weight * MIN_LOSS);
        // Negated, so that NaN counts as lost precision.
        !(of_weight <= MAX_WEIGHT_ERROR * weight && of_moment + m * of_weight <= MAX_LOSS_ERROR * loss)
    }

    /// Moves rows between the heaps until `low` has the fewest rows that reach the share.
    fn balance(&mut self) {
        let share = self.share();
        while let Some(top) = self.high.top().filter(|_| !share.is_met(self.low.weight())) {
            self.high.pop();
            self.low.push(top);
        }
        while let Some(top) = self.low.top().filter(|&top| share.is_met(self.low.without(top))) {
            self.low.pop();
            self.high.push(top);
        }
    }

    fn share(&self) -> Share {
        Share::new(self.level, self.low.sums.weight.add(self.high.sums.weight).value())
    }

    /// The least value that is a median; `None` if there are no values.
    #[must_use]
    pub fn small_median(&self) -> Option<f64> {
        self.low.top().map(|row| row.value)
    }

    /// The greatest value that is a median; `None` if there are no values.
    #[must_use]
    pub fn large_median(&self) -> Option<f64> {
        let met_exactly = !self.share().is_passed(self.low.weight());
        self.high.top().filter(|_| met_exactly).map_or_else(|| self.small_median(), |row| Some(row.value))
    }

    /// The median, halfway between the small and the large one; `None` if there are no values.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        Some(midpoint(self.small_median()?, self.large_median()?))
    }

    /// Sum of w·|value − median|; the sum of pinball losses around the quantile for levels other
    /// than one half. Zero if there are no values.
    #[must_use]
    pub fn absolute_error(&self) -> f64 {
        self.median().map_or(0.0, |median| loss(self.level, median, self.low.sums, self.high.sums))
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.low.len() + self.high.len()
    }

    /// True if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The level of the quantile, one half for the median.
    #[must_use]
    pub fn quantile(&self) -> f64 {
        self.level.cost_above()
    }
}

/// Relative rounding error of a double-double sum.
const SUM_ROUNDING: f64 = f64::EPSILON * f64::EPSILON;

/// Largest relative error that the sum of weights may have: far below the tolerance of a share.
const MAX_WEIGHT_ERROR: f64 = 1e-18;

/// Largest relative bound on the error of a loss. The error itself is far smaller.
const MAX_LOSS_ERROR: f64 = 1e-12;

/// Losses below this part of |median| · weight count as this much.
const MIN_LOSS: f64 = 1e-13;

/// A value and its weight, ordered by value, then by weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    value: f64,
    weight: f64,
}

impl Row {
    /// For values and weights that were checked before.
    pub fn new(value: f64, weight: f64) -> Self {
        // Turns −0.0 into 0.0: both have the same key.
        Self { value: value + 0.0, weight: weight + 0.0 }
    }

    fn checked(value: f64, weight: f64) -> Result<Self> {
        if !value.is_finite() {
            return Err(Error::argument("value", format!("must be finite, got {value}")));
        }
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(Error::argument("weight", format!("must be finite and not negative, got {weight}")));
        }
        Ok(Self::new(value, weight))
    }

    fn key(self) -> [u64; 2] {
        [self.value.to_bits(), self.weight.to_bits()]
    }

    fn sums(self) -> Sums {
        Sums::of_row(self.value, self.weight)
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.total_cmp(&other.value).then(self.weight.total_cmp(&other.weight))
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Row {}

/// A row in the order of its heap.
trait HeapEntry: Ord + Copy {
    fn of(row: Row) -> Self;
    fn row(self) -> Row;
}

/// In `low`, the greatest row is on top.
impl HeapEntry for Row {
    fn of(row: Row) -> Self {
        row
    }
    fn row(self) -> Row {
        self
    }
}

/// In `high`, the least row is on top.
impl HeapEntry for Reverse<Row> {
    fn of(row: Row) -> Self {
        Self(row)
    }
    fn row(self) -> Row {
        self.0
    }
}

/// A heap with sums over its rows and with lazy removal. Invariant: the top is never a removed row.
#[derive(Clone, Debug)]
struct Heap<E> {
    entries: BinaryHeap<E>,
    /// Number of removed copies of each row that are still in `entries`.
    removed: HashMap<[u64; 2], usize>,
    n_removed: usize,
    sums: Sums,
    /// Bounds on the rounding errors of Σw and of Σw·y.
    error_bounds: [f64; 2],
}

impl<E: HeapEntry> Default for Heap<E> {
    fn default() -> Self {
        Self {
            entries: BinaryHeap::new(),
            removed: HashMap::new(),
            n_removed: 0,
            sums: Sums::default(),
            error_bounds: [0.0; 2],
        }
    }
}

impl<E: HeapEntry> Heap<E> {
    fn len(&self) -> usize {
        self.entries.len() - self.n_removed
    }

    fn top(&self) -> Option<Row> {
        self.entries.peek().map(|entry| entry.row())
    }

    /// Weight of the rows.
    fn weight(&self) -> f64 {
        self.sums.weight.value()
    }

    /// Weight of the rows without this one.
    fn without(&self, row: Row) -> f64 {
        self.sums.weight.plus(-row.weight).value()
    }

    fn push(&mut self, row: Row) {
        self.entries.push(E::of(row));
        self.change(self.sums.add(row.sums()));
    }

    /// Removes the top.
    fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.change(self.sums.sub(entry.row().sums()));
            self.clear_top();
        }
    }

    /// Removes a row that is in this heap.
    fn remove(&mut self, row: Row) {
        *self.removed.entry(row.key()).or_default() += 1;
        self.n_removed += 1;
        self.change(self.sums.sub(row.sums()));
        self.clear_top();
        if self.n_removed > self.entries.len() / 2 {
            self.rebuild();
        }
    }

    fn change(&mut self, sums: Sums) {
        let parts = |sums: Sums| [sums.weight.value(), sums.moment.value()];
        for ((error_bounds, before), after) in self.error_bounds.iter_mut().zip(parts(self.sums)).zip(parts(sums)) {
            *error_bounds += (before.abs() + after.abs()) * SUM_ROUNDING;
        }
        self.sums = sums;
    }

    fn clear_top(&mut self) {
        while let Some(&entry) = self.entries.peek().filter(|_| self.n_removed > 0)
            && self.take_removed(entry.row())
        {
            self.entries.pop();
        }
    }

    /// True if this row was removed before; it is then no longer counted as a removed one in
    /// `entries`.
    fn take_removed(&mut self, row: Row) -> bool {
        let Some(count) = self.removed.get_mut(&row.key()) else { return false };
        *count -= 1;
        self.n_removed -= 1;
        if *count == 0 {
            self.removed.remove(&row.key());
        }
        true
    }

    /// Drops the removed rows and sums up the others anew, which also discards rounding errors.
    fn rebuild(&mut self) {
        let mut entries = std::mem::take(&mut self.entries).into_vec();
        entries.retain(|entry| !self.take_removed(entry.row()));
        (self.sums, self.error_bounds) = (Sums::default(), [0.0; 2]);
        for entry in &entries {
            self.change(self.sums.add(entry.row().sums()));
        }
        self.entries = BinaryHeap::from(entries);
    }

    /// The rows in arbitrary order. None may have been removed yet.
    fn rows(&self) -> impl Iterator<Item = Row> {
        debug_assert_eq!(self.n_removed, 0);
        self.entries.iter().map(|entry| entry.row())
    }
}
