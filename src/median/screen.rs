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
//! Cost: some ten instructions a row, where the sweeps take several times that.

use super::center::upper_place;
use super::lanes::{Doubles, LANES, Lanes, Shorts, Singles};
use super::level::Level;
use crate::split::partition_point;

/// One for each of the numbers that are computed together.
const CLASSES: usize = LANES;
/// Classes on either side of the quantile.
const SIDE: usize = CLASSES / 2;
/// Where they begin and end, as shares of the ranks on that side: each is 1.6 times as wide as the one before.
const SHARES: [f64; SIDE + 1] = [0.0, 0.037, 0.06, 0.095, 0.153, 0.244, 0.39, 0.625, 1.0];
/// A look at a cut covers its neighbours up to this part of the rows on the smaller side, as a power of two. In large nodes, where looks
/// hardly count, it is the smaller one.
const NEIGHBOURS: (u32, u32) = (4, 6);
/// Rows of large nodes.
const MANY: usize = 2_048;
/// Pairs of neighbours that tell whether an order has long runs of the same value.
const PAIRS: usize = 8;

/// Up to this many rows, what each of them adds is kept.
const IN_CACHE: usize = 256;

/// Below this many rows, single precision does for sums that it rounds.
const SINGLE_ROWS: usize = 4_096;

/// Small integers hold all widths if their sum is this many units,
const SHORT_RANGE: f64 = 32_000.0;
/// and the least of them at least so many.
const LEAST_WIDTH: f64 = 16.0;

/// The screen of a node, in the smallest numbers that do.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    short: Classes<Shorts>,
    single: Classes<Singles>,
    double: Classes<Doubles>,
    numbers: Numbers,
}

#[derive(Clone, Copy, Debug, Default)]
enum Numbers {
    #[default]
    Short,
    Single,
    Double,
}

impl Screen {
    /// Describes a node with these targets, in ascending order, and their weights.
    pub fn describe<W: Weights>(&mut self, level: Level, sorted: &[i64], weights: W) {
        let outline = Outline::new(level, sorted, weights);
        self.numbers = outline.numbers::<W>();
        match self.numbers {
            Numbers::Short => self.short.describe(&outline, outline.range / SHORT_RANGE, weights),
            Numbers::Single => self.single.describe(&outline, 1.0, weights),
            Numbers::Double => self.double.describe(&outline, 1.0, weights),
        }
    }

    /// By rank: the class of each row.
    #[must_use]
    pub fn classes(&self) -> &[u8] {
        match self.numbers {
            Numbers::Short => &self.short.of,
            Numbers::Single => &self.single.of,
            Numbers::Double => &self.double.of,
        }
    }

    /// The most that any cut of this order can gain, as pinball loss in units of the grids.
    #[inline(always)]
    pub fn most(&self, order: &Order<impl Same, impl Rank, impl Class, impl Weights>) -> f64 {
        let mut most = 0.0;
        self.look(order, |stretch| most = if stretch.bound > most { stretch.bound } else { most });
        most
    }

    /// Appends the stretches of this order that have all the cuts that could gain so much.
    #[inline(always)]
    pub fn live(
        &self,
        gain: f64,
        order: &Order<impl Same, impl Rank, impl Class, impl Weights>,
        stretches: &mut Vec<Stretch>,
    ) {
        self.look(order, |stretch| {
            if stretch.bound >= gain {
                stretches.push(stretch);
            }
        });
    }

    #[inline(always)]
    fn look(&self, order: &Order<impl Same, impl Rank, impl Class, impl Weights>, visit: impl FnMut(Stretch)) {
        match self.numbers {
            Numbers::Short => self.short.look(order, visit),
            Numbers::Single => self.single.look(order, visit),
            Numbers::Double => self.double.look(order, visit),
        }
    }
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
pub struct Order<S, R, K, W> {
    /// Least and greatest number of rows on the left.
    pub cuts: (usize, usize),
    /// Whether the values at these two places are the same; no cut parts them then.
    pub same: S,
    /// Where the row at this place stands among the node's targets.
    pub rank: R,
    /// The class of that row.
    pub class: K,
    pub weights: W,
}

pub trait Same: Fn(usize, usize) -> bool {}
impl<F: Fn(usize, usize) -> bool> Same for F {}
pub trait Rank: Fn(usize) -> usize {}
impl<F: Fn(usize) -> usize> Rank for F {}
pub trait Class: Fn(usize) -> u8 {}
impl<F: Fn(usize) -> u8> Class for F {}

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

impl<S: Same, R: Rank, K: Class, W: Weights> Order<S, R, K, W> {
    /// Appends stretches that have all cuts: where there are long runs of the same value, each cut alone.
    pub fn all(&self, n_rows: usize, stretches: &mut Vec<Stretch>) {
        let (mut first, last) = self.cuts;
        if !self.is_tied(n_rows) {
            return stretches.push(Stretch::new(first, last));
        }
        let mut run = 0;
        loop {
            let cut = self.cut_from(first, n_rows, run);
            if cut > last {
                return;
            }
            stretches.push(Stretch::new(cut, cut));
            (first, run) = (cut + 1, cut - first);
        }
    }

    /// Whether there seem to be long runs of the same value.
    fn is_tied(&self, n_rows: usize) -> bool {
        let differs = |&i: &usize| {
            let place = (n_rows - 1) * i / PAIRS;
            !(self.same)(place, place + 1)
        };
        (0..PAIRS).filter(differs).nth(1).is_none()
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

    /// The smallest numbers that will do.
    fn numbers<W: Weights>(&self) -> Numbers {
        let slope = self.level.whole() as f64 * self.total;
        let least_width = self.range / SHORT_RANGE * LEAST_WIDTH;
        // Twice, for the neighbours of a cut.
        if !W::DIFFER
            && 2.0 * slope <= Shorts::EXACT
            && !self.widths.iter().any(|&width| 0.0 < width && width < least_width)
        {
            Numbers::Short
        } else if self.n_rows < SINGLE_ROWS || slope <= Singles::EXACT {
            Numbers::Single
        } else {
            Numbers::Double
        }
    }
}

/// A node's classes, and what all its orders need to know of them. Slopes are in units of 1/q for the level p/q.
#[derive(Clone, Debug, Default)]
struct Classes<L> {
    /// By rank: its class, below the quantile; one more than it, above; between them, the quantile itself.
    of: Vec<u8>,
    /// What a row of weight one on the left adds to the slopes there, by the number above.
    steps: [L; CLASSES + 1],
    /// The level that they are for.
    level: Option<Level>,
    /// By rank: what a row adds, its weight included. Only where all of these stay in cache.
    weighted: Vec<L>,
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
    /// Widths become whole numbers of `width_unit` if the lanes hold no others, rounded up.
    fn describe<W: Weights>(&mut self, outline: &Outline, width_unit: f64, weights: W) {
        let &Outline { level, n_rows, total, heaviest, quantile, widths, range } = outline;
        let weight = |rank: usize| weights.of(rank);
        self.of.clear();
        let mut sums = [0.0; CLASSES + 1];
        for (own, sum) in sums.iter_mut().enumerate() {
            let end = match own {
                SIDE => quantile + 1,
                below if below < SIDE => ends(below, quantile, n_rows).0,
                above => ends(above - 1, quantile, n_rows).1 + 1,
            };
            let ranks = self.of.len()..end;
            *sum = if W::DIFFER { ranks.map(weight).sum() } else { ranks.len() as f64 };
            self.of.resize(end, own as u8);
        }
        if self.level.replace(level) != Some(level) {
            // Slopes are upward above the quantile and downward below it.
            let step = |row: usize, class: usize| {
                let upward = level.slope(row <= class);
                if class < SIDE { -upward } else { upward }
            };
            self.steps = std::array::from_fn(|row| L::new(std::array::from_fn(|class| step(row, class))));
        }
        self.node = L::default();
        for (weight, step) in sums.into_iter().zip(self.steps) {
            self.node = self.node.plus(L::splat(weight).times(step));
        }
        self.weighted.clear();
        if W::DIFFER && n_rows <= IN_CACHE {
            let step = |rank: usize| L::splat(weight(rank)).times(self.steps[self.of[rank] as usize]);
            self.weighted.extend((0..n_rows).map(step));
        }
        let (below, whole) = (level.below() as f64, level.whole() as f64);
        self.widths = L::new(widths.map(|width| (width / width_unit).ceil()));
        self.reach = heaviest * below.max(whole - below);
        self.unit = (1.0 + L::ROUNDING + 4.0 * f64::EPSILON) * width_unit / whole;
        let is_exact = whole * total <= L::EXACT;
        self.slack = if is_exact { 0.0 } else { 8.0 * total * range * n_rows as f64 / L::EXACT };
    }

    /// What the row at this place adds to the slopes on the left.
    #[inline(always)]
    fn step<W: Weights>(&self, order: &Order<impl Same, impl Rank, impl Class, W>, place: usize) -> L {
        let step = || self.steps[(order.class)(place) as usize];
        if !W::DIFFER {
            return step();
        }
        let rank = (order.rank)(place);
        self.weighted.get(rank).copied().unwrap_or_else(|| L::splat(order.weights.of(rank)).times(step()))
    }

    /// Calls `visit` for stretches that have all cuts.
    #[inline(always)]
    fn look(&self, order: &Order<impl Same, impl Rank, impl Class, impl Weights>, mut visit: impl FnMut(Stretch)) {
        let n_rows = self.of.len();
        let (first, last) = order.cuts;
        let neighbours = if n_rows < MANY { NEIGHBOURS.0 } else { NEIGHBOURS.1 };
        let is_tied = order.is_tied(n_rows);
        let mut slopes = L::default();
        let (mut place, mut start) = (0, first);
        let mut run = 0;
        loop {
            if is_tied {
                let cut = order.cut_from(start, n_rows, run);
                (start, run) = (cut, cut - start);
            }
            if start > last {
                return;
            }
            let mut half = start.min(n_rows - start) >> neighbours;
            if is_tied && half > 0 && (order.same)(start, start + 2 * half) {
                // The others part equal values.
                half = 0;
            }
            let middle = start + half;
            while place < middle {
                slopes = slopes.plus(self.step(order, place));
                place += 1;
            }
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
