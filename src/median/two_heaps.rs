//! The running median of values that come and go: two heaps.
//!
//! ```text
//!        low: a max-heap          high: a min-heap
//!   … ≤ small median = its top │ its top ≤ …
//! ```
//!
//! `low` holds the least rows whose weight reaches the level's share of the whole; its top is the small median. If the share is met exactly,
//! the large median is the top of `high`, and the median is halfway between them. Both heaps know their Σw and Σw·y, so the
//! loss is a difference of sums, in twice the precision of the values.
//!
//! Removal is lazy: a removed row is counted off at once and taken out of its heap when it comes to the top, or when the heap is
//! rebuilt because most of it is such rows.
//!
//! Cost: O(log n) for each row that comes, goes or changes its heap. Of equal weights, at most one row changes its heap for each that comes
//! or goes. One heavy row can send many across; [`running_median`](super::running_median) costs O(n log n) for any weights.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use super::center::{Share, middle};
use super::level::Level;
use super::loss;
use super::sum::Sums;
use crate::error::{Error, Result};

/// The median, or another quantile, of values that come and go, and the loss around it.
///
/// Values may have weights. The median is a value with at most half of the weight strictly below and at most half strictly above;
/// if all values between two neighbours are, it is their midpoint.
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
    /// How many there are of each row; counted when the first one is removed.
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

    /// An empty running quantile of this level, strictly between 0 and 1.
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
    /// If the value is not finite, or the weight negative or not finite.
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

    /// Takes out a value that was added with this weight. A weight of zero takes out nothing.
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
        if self.in_fog() {
            self.low.rebuild();
            self.high.rebuild();
            self.balance();
        }
        Ok(())
    }

    /// True if the sums have lost what matters of the rows that are left: after the removal of a row that was 1e19 times all the
    /// others together, or after hundreds of thousands of changes if the loss is next to nothing.
    fn in_fog(&self) -> bool {
        let weight = self.low.weight() + self.high.weight();
        let [of_weight, of_moment] = [0, 1].map(|part| self.low.fog[part] + self.high.fog[part]);
        let m = self.median().map_or(0.0, f64::abs);
        let loss = self.absolute_error().max(m * weight * LEAST_LOSS);
        // Also true if something is not a number.
        !(of_weight <= CLEAR_WEIGHT * weight && of_moment + m * of_weight <= CLEAR_LOSS * loss)
    }

    /// Moves rows between the heaps until `low` has the least rows that reach the share.
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
        Some(middle(self.small_median()?, self.large_median()?))
    }

    /// Sum of w·|value − median|; for other levels than one half, the sum of pinball losses around the quantile. Zero
    /// if there are no values.
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

/// Relative error of a sum of twice the precision.
const ROUNDING: f64 = f64::EPSILON * f64::EPSILON;

/// Largest error that the sums of weights may have, relatively: well below what makes a share count as met.
const CLEAR_WEIGHT: f64 = 1e-18;

/// Largest error that a loss may have, relatively; what it does have is far below this bound.
const CLEAR_LOSS: f64 = 1e-12;

/// Losses below this part of what they are a difference of count as this much.
const LEAST_LOSS: f64 = 1e-13;

/// A value and its weight, ordered by the one, then by the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    value: f64,
    weight: f64,
}

impl Row {
    /// For values and weights that were found sound.
    pub fn new(value: f64, weight: f64) -> Self {
        // −0.0 is 0.0.
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

/// How a heap orders its rows.
trait Place: Ord + Copy {
    fn of(row: Row) -> Self;
    fn row(self) -> Row;
}

/// The greatest on top.
impl Place for Row {
    fn of(row: Row) -> Self {
        row
    }
    fn row(self) -> Row {
        self
    }
}

/// The least on top.
impl Place for Reverse<Row> {
    fn of(row: Row) -> Self {
        Self(row)
    }
    fn row(self) -> Row {
        self.0
    }
}

/// A heap with sums over its rows and with lazy removal. The top is never a removed row.
#[derive(Clone, Debug)]
struct Heap<P> {
    places: BinaryHeap<P>,
    /// Removed rows that are still in the heap.
    removed: HashMap<[u64; 2], usize>,
    n_removed: usize,
    sums: Sums,
    /// Bounds of the sums' rounding errors, of Σw and of Σw·y.
    fog: [f64; 2],
}

impl<P: Place> Default for Heap<P> {
    fn default() -> Self {
        Self { places: BinaryHeap::new(), removed: HashMap::new(), n_removed: 0, sums: Sums::default(), fog: [0.0; 2] }
    }
}

impl<P: Place> Heap<P> {
    fn len(&self) -> usize {
        self.places.len() - self.n_removed
    }

    fn top(&self) -> Option<Row> {
        self.places.peek().map(|place| place.row())
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
        self.places.push(P::of(row));
        self.change(self.sums.add(row.sums()));
    }

    /// Takes the top out.
    fn pop(&mut self) {
        if let Some(place) = self.places.pop() {
            self.change(self.sums.sub(place.row().sums()));
            self.clear_top();
        }
    }

    /// Takes out a row that is in this heap.
    fn remove(&mut self, row: Row) {
        *self.removed.entry(row.key()).or_default() += 1;
        self.n_removed += 1;
        self.change(self.sums.sub(row.sums()));
        self.clear_top();
        if self.n_removed > self.places.len() / 2 {
            self.rebuild();
        }
    }

    fn change(&mut self, sums: Sums) {
        let parts = |sums: Sums| [sums.weight.value(), sums.moment.value()];
        for ((fog, before), after) in self.fog.iter_mut().zip(parts(self.sums)).zip(parts(sums)) {
            *fog += (before.abs() + after.abs()) * ROUNDING;
        }
        self.sums = sums;
    }

    fn clear_top(&mut self) {
        while let Some(&place) = self.places.peek().filter(|_| self.n_removed > 0)
            && self.take_removed(place.row())
        {
            self.places.pop();
        }
    }

    /// True if this row was removed before; then it no longer counts as being in the heap.
    fn take_removed(&mut self, row: Row) -> bool {
        let Some(count) = self.removed.get_mut(&row.key()) else { return false };
        *count -= 1;
        self.n_removed -= 1;
        if *count == 0 {
            self.removed.remove(&row.key());
        }
        true
    }

    /// Takes the removed rows out, and sums up afresh.
    fn rebuild(&mut self) {
        let mut places = std::mem::take(&mut self.places).into_vec();
        places.retain(|place| !self.take_removed(place.row()));
        (self.sums, self.fog) = (Sums::default(), [0.0; 2]);
        for place in &places {
            self.change(self.sums.add(place.row().sums()));
        }
        self.places = BinaryHeap::from(places);
    }

    /// The rows, in any order; none may have been removed yet.
    fn rows(&self) -> impl Iterator<Item = Row> {
        debug_assert_eq!(self.n_removed, 0);
        self.places.iter().map(|place| place.row())
    }
}
