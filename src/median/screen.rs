//! HOT: how much the cuts of an order could gain at most, from a few thresholds. Most orders need no sweep then.
//!
//! The loss of a set around c is convex in c. So what the rows on the left gain when they leave the node's quantile m for a place of
//! their own is at most, interval by interval away from m, the slope where the interval begins times its width:
//!
//! ```text
//! targets    c₀ ───────── c₁ ─── m ─── c₃ ───────── c₄        the nearer to m, the denser
//! class            0         1      2        3
//! slope            ◄ c₁      ◄ m    m ►      c₃ ►             weight beyond minus weight on the way, if that is positive
//! ```
//!
//! and the same for those on the right. A row that comes to the left changes the slope of each class by an amount that its own class
//! tells. Slopes become gains now and then only: a row more or less changes a slope by its weight at most, which bounds
//! the cuts in between. Near the ends, where a few rows are all of a side, each cut is looked at.
//!
//! With weights, and in large nodes, rows only add to what there is up to each class, in integers, and a look makes slopes of those sums.
//!
//! Cost: some ten instructions a row, where the sweeps take several times that.

use std::ops::Range;

use super::center::upper_place;
use super::lanes::{Doubles, Integers, LANES, Lanes, Longs, Masks, Shorts, Singles};
use super::level::Level;
use crate::split::partition_point;

/// One for each of the numbers that are computed together.
const CLASSES: usize = LANES;
/// Classes on either side of the quantile.
const SIDE: usize = CLASSES / 2;
/// Where they begin and end, as shares of the ranks on that side: each is 1.6 times as wide as the one before.
const SHARES: [f64; SIDE + 1] = [0.0, 0.037, 0.06, 0.095, 0.153, 0.244, 0.39, 0.625, 1.0];
/// Rows that small integers can count.
const COUNTED: usize = i16::MAX as usize;
/// With weights, rows whose sums are kept in single precision.
const SINGLE_ROWS: usize = 2_048;
/// Pairs of neighbours that tell whether an order has long runs of the same value.
const PAIRS: usize = 8;
/// Cuts after which it is asked whether such runs are as long as they seemed.
const PATIENCE: usize = 32;

/// Small integers hold all widths if their sum is this many units,
const SHORT_RANGE: f64 = 32_000.0;
/// and the least of them at least so many.
const LEAST_WIDTH: f64 = 16.0;

/// The low bits of a mark are the row's class, those above its weight.
const CLASS_BITS: u32 = 5;
/// As many as such numbers can tell apart: no index of such a table needs a check.
const TABLE: usize = 1 << CLASS_BITS;
/// Most bits of that weight.
const WEIGHT_BITS: u32 = 22;
/// So many such weights have a sum of 31 bits.
const BATCH: usize = 1 << (31 - WEIGHT_BITS);

/// The screen of a node.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    marks: Vec<u32>,
    way: Way,
    short: Classes<Shorts>,
    single: Classes<Singles>,
    double: Classes<Doubles>,
    tally: Tally,
}

/// How slopes are kept, in the smallest numbers that do.
#[derive(Clone, Copy, Debug, Default)]
enum Way {
    /// Each row adds to them what its class adds,
    #[default]
    Short,
    /// or to what there is up to each class.
    Single,
    Double,
}

impl Screen {
    /// Describes a node with these targets, in ascending order, and their weights.
    pub fn describe<W: Weights>(&mut self, level: Level, sorted: &[i64], weights: W) {
        let outline = Outline::new(level, sorted, weights);
        self.way = outline.way::<W>();
        let unit = outline.weight_unit::<W>();
        let sums = outline.mark(weights, unit, &mut self.marks);
        self.tally.describe(level, unit);
        match self.way {
            Way::Short => self.short.describe::<W>(&outline, outline.range / SHORT_RANGE, &sums),
            Way::Single => self.single.describe::<W>(&outline, 1.0, &sums),
            Way::Double => self.double.describe::<W>(&outline, 1.0, &sums),
        }
    }

    /// By rank: what a look needs to know of each row. Without weights, it fits in a byte.
    #[must_use]
    pub fn marks(&self) -> &[u32] {
        &self.marks
    }

    /// The most that any cut of this order can gain, as pinball loss in units of the grids.
    #[inline(always)]
    pub fn most(&self, order: &Order<impl Same, impl Mark, impl Weights>) -> f64 {
        let mut most = 0.0;
        self.look(order, |stretch| most = if stretch.bound > most { stretch.bound } else { most });
        most
    }

    /// Appends the stretches of this order that have all the cuts that could gain so much.
    #[inline(always)]
    pub fn live(&self, gain: f64, order: &Order<impl Same, impl Mark, impl Weights>, stretches: &mut Vec<Stretch>) {
        self.look(order, |stretch| {
            if stretch.bound >= gain {
                stretches.push(stretch);
            }
        });
    }

    #[inline(always)]
    fn look<W: Weights>(&self, order: &Order<impl Same, impl Mark, W>, visit: impl FnMut(Stretch)) {
        let (n_rows, tally) = (self.marks.len(), &self.tally);
        let one = |place: usize| (tally.ones[class((order.mark)(place))], 1);
        let weighted = |place: usize| {
            let mark = (order.mark)(place);
            (tally.masks[class(mark)].and(weight(mark)), i64::from(weight(mark)))
        };
        match self.way {
            Way::Short => {
                let step = |place: usize| self.short.steps[class((order.mark)(place))];
                self.short.look(n_rows, order, &Sum { step }, visit);
            }
            Way::Single if W::DIFFER => self.single.look(n_rows, order, &Few { tally, step: weighted }, visit),
            Way::Single => self.single.look(n_rows, order, &Few { tally, step: one }, visit),
            Way::Double if W::DIFFER => self.double.look(n_rows, order, &Many(Few { tally, step: weighted }), visit),
            Way::Double => self.double.look(n_rows, order, &Many(Few { tally, step: one }), visit),
        }
    }
}

/// A row's class, from its mark.
#[inline(always)]
fn class(mark: u32) -> usize {
    mark as usize % TABLE
}

/// A table of something for each class of a row.
fn by_class<T: Default>(of: impl Fn(usize) -> T) -> [T; TABLE] {
    std::array::from_fn(|class| if class <= CLASSES { of(class) } else { T::default() })
}

/// And its weight, in the marks' unit.
#[inline(always)]
fn weight(mark: u32) -> i32 {
    (mark >> CLASS_BITS) as i32
}

/// Neighbouring cuts of an order.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Least and greatest number of rows on the left.
    pub first: usize,
    pub last: usize,
    /// The most that any of them can gain.
    pub bound: f64,
}

impl Stretch {
    /// These cuts, whatever they gain.
    #[must_use]
    pub fn new(first: usize, last: usize) -> Self {
        Self { first, last, bound: f64::INFINITY }
    }

    /// How many cuts there are in these.
    #[must_use]
    pub fn cuts(stretches: &[Self]) -> usize {
        stretches.iter().map(|stretch| stretch.last + 1 - stretch.first).sum()
    }
}

/// An order of a node's rows, and the cuts of it that count.
pub struct Order<S, M, W> {
    /// Least and greatest number of rows on the left.
    pub cuts: (usize, usize),
    /// Whether the values at these two places are the same; no cut parts them then.
    pub same: S,
    /// The mark of the row at this place.
    pub mark: M,
    /// For its type alone: whether weights differ.
    pub weights: W,
}

pub trait Same: Fn(usize, usize) -> bool {}
impl<F: Fn(usize, usize) -> bool> Same for F {}
pub trait Mark: Fn(usize) -> u32 {}
impl<F: Fn(usize) -> u32> Mark for F {}

/// Weights of a node's rows, by rank.
pub trait Weights: Copy {
    /// If not, all are one.
    const DIFFER: bool;

    /// A whole number.
    fn of(&self, rank: usize) -> f64;
}

impl Weights for () {
    const DIFFER: bool = false;

    fn of(&self, _: usize) -> f64 {
        1.0
    }
}

impl Weights for &[i64] {
    const DIFFER: bool = true;

    #[inline(always)]
    fn of(&self, rank: usize) -> f64 {
        self[rank] as f64
    }
}

impl<S: Same, M: Mark, W: Weights> Order<S, M, W> {
    /// Writes stretches that have all cuts: where runs of the same value are longer than this on average, each cut alone.
    pub fn all(&self, n_rows: usize, long: usize, stretches: &mut Vec<Stretch>) {
        let (mut first, last) = self.cuts;
        stretches.clear();
        let (mut run, mut is_tied) = (0, self.is_tied(n_rows));
        while is_tied {
            let cut = self.cut_from(first, n_rows, run);
            if cut > last {
                return;
            }
            stretches.push(Stretch::new(cut, cut));
            (first, run) = (cut + 1, cut - first);
            // What it costs to find cuts that are close together is lost.
            is_tied = stretches.len() < PATIENCE || stretches.len() * long < cut;
        }
        stretches.clear();
        stretches.push(Stretch::new(self.cuts.0, last));
    }

    /// Whether there seem to be long runs of the same value.
    fn is_tied(&self, n_rows: usize) -> bool {
        let differs = |&i: &usize| {
            let place = (n_rows - 1) * i / PAIRS;
            !(self.same)(place, place + 1)
        };
        (0..PAIRS).filter(differs).nth(1).is_none()
    }

    /// Where the next stretch begins, and half its length, if this is the one that would come next.
    fn tied_stretch(&self, start: usize, length: usize, n_rows: usize, neighbours: u32) -> (usize, usize) {
        if !(self.same)(start - 1, start + 2 * length) {
            return (start, length);
        }
        // None of these parts different values: on to the next one that does, and if no other around it does, to it alone.
        let start = self.cut_from(start, n_rows, 2 * length);
        let length = half(start, n_rows, neighbours);
        let is_alone = length > 0 && (self.same)(start, start + 2 * length);
        (start, if is_alone { 0 } else { length })
    }

    /// The first cut from this one on that parts different values, or the number of all rows. It costs least if it is about `far` away.
    fn cut_from(&self, n_left: usize, n_rows: usize, far: usize) -> usize {
        let is_same = |place: usize| (self.same)(n_left - 1, place);
        let (mut low, mut step) = (n_left, far + 1);
        while low + step < n_rows && is_same(low + step) {
            low += step;
            step *= 2;
        }
        partition_point(low, n_rows.min(low + step), is_same)
    }
}

/// A look at a cut covers its neighbours up to this part of the rows on the smaller side, as a power of two: the smaller, the dearer are
/// sweeps beside looks.
#[inline(always)]
fn neighbours<W: Weights>(n_rows: usize) -> u32 {
    let (few, more) = if W::DIFFER { (256, 512) } else { (2_048, 2_048) };
    match n_rows {
        _ if n_rows < few => 4,
        _ if n_rows < more => 5,
        _ => 6,
    }
}

/// Half the length of the stretch of cuts that begins here.
#[inline(always)]
fn half(start: usize, n_rows: usize, neighbours: u32) -> usize {
    start.min(n_rows - start) >> neighbours
}

/// A node's targets, class by class.
struct Outline {
    level: Level,
    n_rows: usize,
    total: f64,
    heaviest: f64,
    /// The rank of the quantile.
    quantile: usize,
    /// From each class's near end to its far end.
    widths: [f64; CLASSES],
    /// From the lowest target to the highest: the sum of all widths.
    range: f64,
}

impl Outline {
    fn new<W: Weights>(level: Level, sorted: &[i64], weights: W) -> Self {
        let n_rows = sorted.len();
        let weight = |rank: usize| weights.of(rank);
        let (total, heaviest) = if W::DIFFER {
            (0..n_rows).map(weight).fold((0.0, 0.0), |(sum, most), weight| (sum + weight, f64::max(most, weight)))
        } else {
            (n_rows as f64, 1.0)
        };
        let quantile = if W::DIFFER { level.rank(n_rows, total, weight) } else { upper_place(level, n_rows).0 };
        let width = |class: usize| {
            let (near, far) = ends(class, quantile, n_rows);
            (sorted[far] - sorted[near]).abs() as f64
        };
        let range = (sorted[n_rows - 1] - sorted[0]) as f64;
        Self { level, n_rows, total, heaviest, quantile, widths: std::array::from_fn(width), range }
    }

    fn way<W: Weights>(&self) -> Way {
        let slope = self.level.whole() as f64 * self.total;
        let least_width = self.range / SHORT_RANGE * LEAST_WIDTH;
        // Twice, for the neighbours of a cut.
        if !W::DIFFER
            && 2.0 * slope <= Shorts::EXACT
            && !self.widths.iter().any(|&width| 0.0 < width && width < least_width)
        {
            Way::Short
        } else if self.n_rows < if W::DIFFER { SINGLE_ROWS } else { COUNTED } {
            Way::Single
        } else {
            Way::Double
        }
    }

    /// Of the weights in marks.
    fn weight_unit<W: Weights>(&self) -> f64 {
        if W::DIFFER { self.heaviest / f64::from((1 << self.weight_bits()) - 1) } else { 1.0 }
    }

    /// So many that sums between two looks, or of all rows if there are few, fit in 31.
    fn weight_bits(&self) -> u32 {
        if self.n_rows < SINGLE_ROWS {
            WEIGHT_BITS.min(31 - (usize::BITS - self.n_rows.leading_zeros()))
        } else {
            WEIGHT_BITS
        }
    }

    /// Writes the mark of each rank, with its weight in these units, and returns the weight of each class.
    ///
    /// Ranks below the quantile have the number of their class, those above one more than it; between them is the quantile itself.
    fn mark<W: Weights>(&self, weights: W, unit: f64, marks: &mut Vec<u32>) -> [f64; CLASSES + 1] {
        let per_unit = 1.0 / unit;
        marks.clear();
        std::array::from_fn(|own| {
            let end = match own {
                SIDE => self.quantile + 1,
                below if below < SIDE => ends(below, self.quantile, self.n_rows).0,
                above => ends(above - 1, self.quantile, self.n_rows).1 + 1,
            };
            let ranks = marks.len()..end;
            if !W::DIFFER {
                marks.resize(end, 1 << CLASS_BITS | own as u32);
                return ranks.len() as f64;
            }
            let mut sum = 0.0;
            marks.extend(ranks.map(|rank| {
                let weight = weights.of(rank);
                sum += weight;
                ((weight * per_unit).round_ties_even() as u32) << CLASS_BITS | own as u32
            }));
            sum
        })
    }
}

/// A node's classes, and what all its orders need to know of them. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
struct Classes<L> {
    /// What a row of weight one on the left adds to the slopes there, by its class.
    steps: [L; TABLE],
    /// The level that they are for.
    level: Option<Level>,
    /// The slopes of all rows together.
    node: L,
    /// From each class's near end to its far end.
    widths: L,
    /// Most that a row can change a slope by.
    reach: f64,
    /// What a unit of slope times width is as pinball loss, and a little more.
    unit: f64,
    /// Room for the rounding of sums, as pinball loss.
    slack: f64,
}

impl<L: Lanes> Classes<L> {
    /// Widths become whole numbers of `width_unit` if the lanes hold no others, rounded up. `sums` are the weights of the classes.
    fn describe<W: Weights>(&mut self, outline: &Outline, width_unit: f64, sums: &[f64; CLASSES + 1]) {
        let &Outline { level, n_rows, total, heaviest, widths, range, .. } = outline;
        if self.level.replace(level) != Some(level) {
            let step = |row: usize, class: usize| direction(class) * level.slope(row <= class);
            self.steps = by_class(|row| L::new(std::array::from_fn(|class| step(row, class))));
        }
        self.node = L::default();
        for (&weight, step) in sums.iter().zip(self.steps) {
            self.node = self.node.plus(L::splat(weight).times(step));
        }
        let (below, whole) = (level.below() as f64, level.whole() as f64);
        self.widths = L::new(widths.map(|width| (width / width_unit).ceil()));
        self.reach = heaviest * below.max(whole - below);
        self.unit = (1.0 + L::ROUNDING + 4.0 * f64::EPSILON) * width_unit / whole;
        let is_exact = !W::DIFFER && whole * total <= L::EXACT;
        // Of the slopes of the node and of a side, each made of few terms; and of the marks' weights, half a unit each, on both sides.
        let (rounding, marks) = (64.0 * total / L::EXACT, n_rows as f64 * outline.weight_unit::<W>());
        self.slack = if is_exact { 0.0 } else { (rounding + if W::DIFFER { marks } else { 0.0 }) * range };
    }

    /// Calls `visit` for stretches that have all cuts.
    #[inline(always)]
    fn look(
        &self,
        n_rows: usize,
        order: &Order<impl Same, impl Mark, impl Weights>,
        rows: &impl Slopes<L>,
        visit: impl FnMut(Stretch),
    ) {
        // Apart, because calls in a loop keep the compiler from keeping slopes in registers.
        if order.is_tied(n_rows) {
            self.look_for::<true, _, _>(n_rows, order, rows, visit);
        } else {
            self.look_for::<false, _, _>(n_rows, order, rows, visit);
        }
    }

    #[inline(always)]
    fn look_for<const TIED: bool, R: Slopes<L>, W: Weights>(
        &self,
        n_rows: usize,
        order: &Order<impl Same, impl Mark, W>,
        rows: &R,
        mut visit: impl FnMut(Stretch),
    ) {
        let (first, last) = order.cuts;
        let neighbours = neighbours::<W>(n_rows);
        let (mut left, mut place, mut start) = (rows.none(), 0, first);
        // Stretches since the last one without a cut. Where there are many, it is asked now and then only: values are far to fetch.
        let mut with_cuts = 0usize;
        while start <= last {
            let mut half = half(start, n_rows, neighbours);
            if TIED && (with_cuts < 4 || with_cuts.is_multiple_of(8)) {
                let next = order.tied_stretch(start, half, n_rows, neighbours);
                with_cuts = if next.0 == start { with_cuts } else { 0 };
                (start, half) = next;
                if start > last {
                    return;
                }
            }
            with_cuts += 1;
            let middle = start + half;
            left = if TIED { add_apart(rows, left, place..middle) } else { rows.add(left, place..middle) };
            place = middle;
            let slopes = rows.slopes(left);
            let gain = if half == 0 { self.gain(slopes) } else { self.gain_nearby(slopes, self.reach * half as f64) };
            let bound = gain * self.unit + self.slack;
            visit(Stretch { first: start, last: (middle + half).min(last), bound });
            start = middle + half + 1;
        }
    }

    /// What can be gained with these slopes on the left.
    #[inline(always)]
    fn gain(&self, slopes: L) -> f64 {
        self.widths.dot(slopes.positive().plus(self.node.minus(slopes).positive()))
    }

    /// The same with all slopes larger by `reach`.
    #[inline(always)]
    fn gain_nearby(&self, slopes: L, reach: f64) -> f64 {
        let reach = L::splat(reach);
        let (left, right) = (slopes.plus(reach).positive(), self.node.minus(slopes).plus(reach).positive());
        self.widths.dot(left.plus(right))
    }
}

/// Slopes are upward above the quantile and downward below it.
fn direction(class: usize) -> f64 {
    if class < SIDE { -1.0 } else { 1.0 }
}

/// How rows that come to the left become slopes. What is kept of them goes from hand to hand, so that it can stay in registers.
trait Slopes<L> {
    /// What is kept of the rows.
    type Left: Copy;

    fn none(&self) -> Self::Left;

    /// The rows at these places come.
    fn add(&self, left: Self::Left, places: Range<usize>) -> Self::Left;

    fn slopes(&self, left: Self::Left) -> L;
}

/// [`Slopes::add`] as a function of its own.
#[inline(never)]
fn add_apart<L, R: Slopes<L>>(rows: &R, left: R::Left, places: Range<usize>) -> R::Left {
    rows.add(left, places)
}

/// Each row adds its own slopes.
struct Sum<F> {
    step: F,
}

impl<L: Lanes, F: Fn(usize) -> L> Slopes<L> for Sum<F> {
    type Left = L;

    #[inline(always)]
    fn none(&self) -> L {
        L::default()
    }

    #[inline(always)]
    fn add(&self, mut left: L, places: Range<usize>) -> L {
        for place in places {
            left = left.plus((self.step)(place));
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
struct Tally {
    /// p and q, in units of the marks' weights.
    below: f64,
    whole: f64,
    /// By a row's class: what a row adds, and a mask of it.
    ones: [Shorts; TABLE],
    masks: [Longs; TABLE],
}

impl Default for Tally {
    fn default() -> Self {
        let up_to = |row: usize| std::array::from_fn(|class| i32::from(row <= class));
        Self {
            below: 0.0,
            whole: 0.0,
            ones: by_class(|row| Shorts::new(up_to(row).map(f64::from))),
            masks: by_class(|row| Longs::new(up_to(row).map(|is_up| -is_up))),
        }
    }
}

impl Tally {
    fn describe(&mut self, level: Level, unit: f64) {
        self.below = level.below() as f64 * unit;
        self.whole = level.whole() as f64 * unit;
    }
}

impl Tally {
    /// The slopes, where there is so much up to each class, and in all.
    #[inline(always)]
    fn slopes<L: Lanes>(&self, up_to: L, all: i64) -> L {
        let whole = L::splat(self.whole).times(up_to);
        L::splat(self.below * all as f64).minus(whole).times(L::new(std::array::from_fn(direction)))
    }
}

/// Few rows: integers hold what there is on the left, up to each class and in all.
struct Few<'a, F> {
    tally: &'a Tally,
    /// What a row adds to these.
    step: F,
}

impl<V: Integers, F: Fn(usize) -> (V, i64)> Slopes<Singles> for Few<'_, F> {
    type Left = (V, i64);

    #[inline(always)]
    fn none(&self) -> (V, i64) {
        (V::default(), 0)
    }

    #[inline(always)]
    fn add(&self, (mut up_to, mut all): (V, i64), places: Range<usize>) -> (V, i64) {
        for place in places {
            let (more, weight) = (self.step)(place);
            up_to = up_to.plus(more);
            all += weight;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): (V, i64)) -> Singles {
        self.tally.slopes(up_to.singles(), all)
    }
}

/// Any number of rows.
struct Many<'a, F>(Few<'a, F>);

impl<V: Integers, F: Fn(usize) -> (V, i64)> Slopes<Doubles> for Many<'_, F> {
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
            up_to.iter_mut().zip(few.0.numbers()).for_each(|(sum, more)| *sum += more);
            all += few.1;
            places.start = end;
        }
        (up_to, all)
    }

    #[inline(always)]
    fn slopes(&self, (up_to, all): Self::Left) -> Doubles {
        self.0.tally.slopes(Doubles::new(up_to), all)
    }
}

/// The ranks of a class's ends, the one near the quantile first. Ranks of the class are those from end to end without the near one.
fn ends(class: usize, quantile: usize, n_rows: usize) -> (usize, usize) {
    // One rank at least, so that those of few rows have classes of their own.
    let distance = |rows: usize, i: usize| ((rows as f64 * SHARES[i]).ceil() as usize).max(i).min(rows);
    if class < SIDE {
        let i = SIDE - 1 - class;
        (quantile - distance(quantile, i), quantile - distance(quantile, i + 1))
    } else {
        let (i, ranks_above) = (class - SIDE, n_rows - 1 - quantile);
        (quantile + distance(ranks_above, i), quantile + distance(ranks_above, i + 1))
    }
}
