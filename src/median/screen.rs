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

use super::lanes::{Doubles, LANES, Lanes, Singles};
use super::level::Level;

/// One for each of the numbers that are computed together.
const CLASSES: usize = LANES;
/// Classes on either side of the quantile.
const SIDE: usize = CLASSES / 2;
/// Where they begin and end, as shares of the ranks on that side: each is 1.6 times as wide as the one before.
const SHARES: [f64; SIDE + 1] = [0.0, 0.037, 0.06, 0.095, 0.153, 0.244, 0.39, 0.625, 1.0];
/// A look at a cut covers its neighbours up to this part of the rows on the smaller side.
const NEIGHBOURS: usize = 16;

/// Below this many rows, single precision does for sums that it rounds.
const FEW: usize = 4_096;

/// The screen of a node, in single precision where that does.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    single: Classes<Singles>,
    double: Classes<Doubles>,
    is_single: bool,
}

impl Screen {
    /// Describes a node with these targets, in ascending order; `weight(rank)`, a whole number, is that of a row.
    pub fn describe(&mut self, level: Level, sorted: &[i64], weight: impl Fn(usize) -> f64) {
        let total = (0..sorted.len()).map(&weight).sum();
        self.is_single = sorted.len() < FEW || level.whole() as f64 * total <= Singles::EXACT;
        if self.is_single {
            self.single.describe(level, sorted, weight, total);
        } else {
            self.double.describe(level, sorted, weight, total);
        }
    }

    /// The most that any of these cuts can gain, as pinball loss in units of the grids.
    ///
    /// `rank(place)` is where the row at this place of an order stands among the node's targets.
    #[inline(always)]
    pub fn most(&self, cuts: (usize, usize), rank: impl Fn(usize) -> usize, weight: impl Fn(usize) -> f64) -> f64 {
        let mut most = 0.0;
        self.look(cuts, rank, weight, |_, bound| most = if bound > most { bound } else { most });
        most
    }

    /// The last of these cuts that could gain so much, or one after it; `None` if there is none.
    #[inline(always)]
    pub fn last(
        &self,
        gain: f64,
        cuts: (usize, usize),
        rank: impl Fn(usize) -> usize,
        weight: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let mut found = None;
        self.look(cuts, rank, weight, |to, bound| found = if bound >= gain { Some(to) } else { found });
        found
    }

    #[inline(always)]
    fn look(
        &self,
        cuts: (usize, usize),
        rank: impl Fn(usize) -> usize,
        weight: impl Fn(usize) -> f64,
        visit: impl FnMut(usize, f64),
    ) {
        if self.is_single {
            self.single.look(cuts, rank, weight, visit);
        } else {
            self.double.look(cuts, rank, weight, visit);
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
    fn describe(&mut self, level: Level, sorted: &[i64], weight: impl Fn(usize) -> f64, total: f64) {
        let n_rows = sorted.len();
        let (below, whole) = (level.below() as f64, level.whole() as f64);
        let heaviest = (0..n_rows).map(&weight).fold(0.0, f64::max);
        let (mut quantile, mut passed) = (0, weight(0));
        while quantile + 1 < n_rows && whole * passed <= below * total {
            quantile += 1;
            passed += weight(quantile);
        }
        let mut widths = [0.0; CLASSES];
        self.of.clear();
        for (class, width) in widths.iter_mut().enumerate() {
            let (near, far) = ends(class, quantile, n_rows);
            *width = (sorted[far] - sorted[near]).abs() as f64;
            if class == SIDE {
                self.of.push(SIDE as u8);
            }
            let (end, own) = if class < SIDE { (near, class) } else { (far + 1, class + 1) };
            self.of.resize(end, own as u8);
        }
        let mut weights = [0.0; CLASSES + 1];
        (0..n_rows).for_each(|rank| weights[self.of[rank] as usize] += weight(rank));
        // Slopes are upward above the quantile and downward below it.
        let step = |row: usize, class: usize| {
            let upward = if row <= class { below - whole } else { below };
            if class < SIDE { -upward } else { upward }
        };
        self.steps = std::array::from_fn(|row| L::new(std::array::from_fn(|class| step(row, class))));
        let slope = |class: usize| (0..=CLASSES).map(|row| weights[row] * step(row, class)).sum();
        self.node = L::new(std::array::from_fn(slope));
        self.widths = L::new(widths);
        self.reach = heaviest * below.max(whole - below);
        self.unit = (1.0 + 64.0 / L::EXACT) / whole;
        let range = (sorted[n_rows - 1] - sorted[0]) as f64;
        let is_exact = whole * total <= L::EXACT;
        self.slack = if is_exact { 0.0 } else { 8.0 * total * range * n_rows as f64 / L::EXACT };
    }

    /// Calls `visit(last, bound)` for stretches that cover the cuts from `first` to `last`: where a stretch ends, and the most
    /// that one of its cuts can gain.
    #[inline(always)]
    fn look(
        &self,
        (first, last): (usize, usize),
        rank: impl Fn(usize) -> usize,
        weight: impl Fn(usize) -> f64,
        mut visit: impl FnMut(usize, f64),
    ) {
        let n_rows = self.of.len();
        let mut slopes = L::default();
        let (mut place, mut covered) = (0, first - 1);
        while covered < last {
            // The middle of a stretch that begins at the next cut.
            let start = covered + 1;
            let half = start.min((n_rows - start) * NEIGHBOURS / (NEIGHBOURS + 2)) / NEIGHBOURS;
            let middle = start + half;
            while place < middle {
                let rank = rank(place);
                let step = self.steps[self.of[rank] as usize];
                slopes = slopes.plus(L::splat(weight(rank)).times(step));
                place += 1;
            }
            covered = middle + half;
            visit(covered, self.gain(slopes, self.reach * half as f64) * self.unit + self.slack);
        }
    }

    /// What can be gained with these slopes on the left, all of them larger by `reach`.
    #[inline(always)]
    fn gain(&self, slopes: L, reach: f64) -> f64 {
        let reach = L::splat(reach);
        let (left, right) = (slopes.plus(reach).positive(), self.node.minus(slopes).plus(reach).positive());
        self.widths.times(left.plus(right)).sum()
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
