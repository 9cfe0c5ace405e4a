//! Absolute error and quantiles: the loss of a node around its median, or around another quantile.
//!
//! A criterion of order: what counts of a row is its rank among the node's targets. So rows carry a ticket, their rank in the whole fit,
//! targets stand by ticket, and each node numbers its own rows anew from the fit's order of the targets, which is kept up
//! like one more column. The kernels of `median/` do the rest, in integers on the node's grid: gains don't depend on the order
//! of the rows, and an offset of the targets is gone before anything is summed up.
//!
//! Cost: O(rows) a feature without weights; a logarithm more in the worst case of weights and orders.

use super::fixed_point::Grid;
use super::{Criterion, Cuts, Location, Outlook, Sample, SmallNode};
use crate::median::screen::Screen;
use crate::median::{Bitmap, Center, Level, heap_sweep, quantile, sweep, weighted};
use crate::params::MedianMethod;
use crate::split::{Contest, near};
use crate::steps::Steps;

/// Nodes up to this size sweep all features before they offer any cut; larger ones look which of them could win.
const SMALL: usize = 64;
/// The same with weights, whose sweeps take longer.
const SMALL_WEIGHTED: usize = 16;

/// What a leaf reports as its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The absolute error: twice the pinball loss at the level one half.
    AbsoluteError,
    PinballLoss,
}

/// Quantiles of targets with (`Weighted<f64>`) or without (`f64`) weights.
pub(crate) struct Quantile<T> {
    level: Level,
    report: Report,
    method: MedianMethod,
    /// By ticket, in ascending order of y.
    targets: Vec<T>,
}

impl<T: Sample<f64>> Quantile<T> {
    /// For targets in ascending order.
    pub fn new(level: Level, report: Report, method: MedianMethod, targets: Vec<T>) -> Self {
        debug_assert!(targets.is_sorted_by(|a, b| a.y() <= b.y()));
        Self { level, report, method, targets }
    }

    fn targets<'a>(&'a self, tickets: &'a [u32]) -> impl Iterator<Item = T> + Clone + 'a {
        tickets.iter().map(|&ticket| self.targets[ticket as usize])
    }

    /// Calls `visit(n_left, gain)` for each cut up to `last`, or one more; gains are in the table's units.
    #[inline(always)]
    fn each_gain(
        &self,
        table: &Table,
        rank: impl Fn(usize) -> usize,
        last: usize,
        memory: &mut Memory,
        mut visit: impl FnMut(usize, i64),
    ) {
        let Table { sorted, weights, rows, unit, .. } = table;
        match (self.method, rows) {
            (MedianMethod::TwoHeaps, _) => {
                let weight = |rank: usize| if T::WEIGHTED { weights[rank] } else { 1 };
                // Its gains are in units of 1 / denominator of the level; those of the others are a power of two of them.
                let shift = ((self.level.whole() as f64 * unit) as u128).ilog2();
                heap_sweep::sweep(self.level, sorted, weight, rank, |n_left, gain| {
                    if n_left <= last {
                        visit(n_left, (gain >> shift) as i64);
                    }
                });
            }
            (_, Some(rows)) => rows.sweep(sorted, weights, rank, last, &mut memory.weighted, visit),
            _ if self.level == Level::HALF => sweep::sweep(sorted, rank, last, &mut memory.bitmap, visit),
            _ => quantile::sweep(self.level, sorted, rank, last, &mut memory.bitmap, visit),
        }
    }

    /// Writes the gain of each cut up to `last`, or one more, to the scratch and returns the highest.
    fn write_gains(&self, table: &Table, rank: impl Fn(usize) -> usize, last: usize, scratch: &mut Scratch) -> i64 {
        let Scratch { memory, gains, .. } = scratch;
        gains.clear();
        gains.resize((last + 1).min(table.sorted.len() - 1), 0);
        let mut highest = i64::MIN;
        self.each_gain(table, rank, last, memory, |n_left, gain| {
            gains[n_left - 1] = gain;
            highest = highest.max(gain);
        });
        highest
    }

    /// Weight of the row of this rank, on the node's grid.
    #[inline(always)]
    fn units(weights: &[i64], rank: usize) -> f64 {
        if T::WEIGHTED { weights[rank] as f64 } else { 1.0 }
    }

    /// How often the pinball loss is in the loss.
    fn factor(&self) -> f64 {
        match self.report {
            Report::AbsoluteError => 2.0,
            Report::PinballLoss => 1.0,
        }
    }
}

/// The quantile of a node, and the grids that its targets and weights are put on.
pub(crate) struct Node {
    rows: usize,
    lowest: f64,
    highest: f64,
    values: Grid,
    weights: Grid,
    /// Weight of all rows, on the grid.
    units: i64,
    quantile: f64,
    impurity: f64,
}

/// A node's targets in ascending order, on its grids.
#[derive(Default)]
pub(crate) struct Table {
    sorted: Vec<i64>,
    /// With weights only.
    weights: Vec<i64>,
    rows: Option<weighted::Rows>,
    /// Of nodes that are not small.
    screen: Screen,
    is_screened: bool,
    /// Pinball loss, in units of the grids, that a unit of the kernel's gain stands for.
    unit: f64,
}

/// Buffers of a sweep, reused from feature to feature.
#[derive(Default)]
pub(crate) struct Scratch {
    memory: Memory,
    /// Of each cut.
    gains: Vec<i64>,
    /// Of each feature.
    highest: Vec<i64>,
    /// Features that can't win are kept out by their bounds, so that none need be looked at before it is swept.
    is_bounded: bool,
}

/// What the kernels work in.
#[derive(Default)]
struct Memory {
    bitmap: Bitmap,
    weighted: weighted::Scratch,
}

impl<T: Sample<f64>> Criterion for Quantile<T> {
    /// The ticket.
    type Item = u32;
    /// The rank within the node.
    type Step = u32;
    type Node = Node;
    type Table = Table;
    type Scratch = Scratch;
    const WEIGHTED: bool = T::WEIGHTED;
    const ORDERED: bool = true;

    fn describe(&self, tickets: &[u32]) -> Node {
        let y = |place: usize| self.targets[tickets[place] as usize].y();
        let (lowest, highest) = (y(0), y(tickets.len() - 1));
        let range = highest - lowest;
        let (center, weights, units) = if T::WEIGHTED {
            let rows = self.targets(tickets).map(|target| (target.y(), target.weight()));
            let (heaviest, weight) =
                rows.clone().fold((0.0, 0.0), |(most, sum): (f64, f64), (_, w)| (most.max(w), sum + w));
            // Coarser where the level's denominator needs the bits.
            let room = 2f64.powi(62 - weighted::weight_bits(self.level) as i32);
            let weights = Grid::new(heaviest, weight * room);
            let units = rows.clone().map(|(_, weight)| weights.put(weight)).sum();
            (Center::of_weighted(self.level, rows), weights, units)
        } else {
            (Center::of_places(self.level, tickets.len(), y), Grid::ONE, tickets.len() as i64)
        };
        let loss = match self.report {
            Report::AbsoluteError => center.absolute_error(),
            Report::PinballLoss => center.pinball_loss(self.level),
        };
        Node {
            rows: tickets.len(),
            lowest,
            highest,
            values: Grid::new(range, range * tickets.len() as f64),
            weights,
            units,
            quantile: center.value,
            impurity: loss / (units as f64 * weights.unit),
        }
    }

    fn tabulate(&self, node: &Node, tickets: &[u32], table: &mut Table) {
        let Table { sorted, weights, rows, screen, is_screened, unit } = table;
        sorted.clear();
        sorted.extend(self.targets(tickets).map(|target| node.values.put(target.y() - node.lowest)));
        if T::WEIGHTED {
            weights.clear();
            weights.extend(self.targets(tickets).map(|target| node.weights.put(target.weight())));
            let described = weighted::Rows::new(self.level, sorted, weights);
            *unit = described.unit();
            *rows = Some(described);
        } else if self.level == Level::HALF {
            // The kernel's gain is of the absolute error.
            *unit = 0.5;
        } else {
            *unit = quantile::unit(self.level);
        }
        // The heaps sweep everything: others are measured by them.
        let small = if T::WEIGHTED { SMALL_WEIGHTED } else { SMALL };
        *is_screened = node.rows > small && self.method != MedianMethod::TwoHeaps;
        if *is_screened {
            screen.describe(self.level, sorted, |rank| Self::units(weights, rank));
        }
    }

    fn is_pure(&self, node: &Node) -> bool {
        node.lowest == node.highest
    }

    fn rows(&self, node: &Node) -> usize {
        node.rows
    }

    fn weight(&self, node: &Node) -> f64 {
        node.units as f64 * node.weights.unit
    }

    fn impurity(&self, node: &Node) -> f64 {
        node.impurity
    }

    fn n_values(&self) -> usize {
        1
    }

    fn write_value(&self, node: &Node, values: &mut Vec<f64>) {
        values.push(node.quantile);
    }

    fn ticket(item: u32) -> usize {
        item as usize
    }

    #[inline(always)]
    fn step(&self, _: &Node, _: u32, rank: impl FnOnce() -> usize) -> u32 {
        rank() as u32
    }

    fn sweep<P: Steps<Step = u32>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Node,
        table: &Table,
        steps: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut Scratch,
    ) {
        let rank = |place: usize| steps.at(place) as usize;
        let units = |bar: f64| (bar / table.unit).floor() as i64;
        let mut end = cuts.last;
        if table.is_screened && !scratch.is_bounded && contest.bar() > 0.0 {
            let gain = contest.bar() - table.unit;
            let could_win = table.screen.last(gain, (cuts.first, end), rank, |rank| Self::units(&table.weights, rank));
            let Some(cut) = could_win else { return };
            end = cut;
        }
        let highest = self.write_gains(table, rank, end, scratch);
        let mut least = units(contest.bar());
        if highest < least {
            return;
        }
        // The highest gain, if it is to be had, lifts the bar for all others.
        let counts_rows_alone = cuts.min_weight == 0.0;
        let best = scratch.gains.iter().position(|&gain| gain == highest);
        if let Some(place) = best.filter(|place| counts_rows_alone && cuts.allow(place + 1)) {
            contest.raise(scratch.gains[place].max(0) as f64 * table.unit);
            least = units(contest.bar());
        }
        let is_heavy = |units: i64| units as f64 * node.weights.unit >= cuts.min_weight;
        let mut left = 0;
        for (place, &gain) in scratch.gains.iter().enumerate() {
            if !counts_rows_alone {
                left += if T::WEIGHTED { table.weights[rank(place)] } else { 1 };
            }
            if gain >= least
                && cuts.allow(place + 1)
                && (counts_rows_alone || is_heavy(left) && is_heavy(node.units - left))
            {
                contest.offer(gain.max(0) as f64 * table.unit, cuts.cut(place + 1));
                least = units(contest.bar());
            }
        }
    }

    /// In small nodes the highest gains themselves: they decide nearly always, and a kernel for all features costs less than
    /// as many sweeps.
    fn bound(
        &self,
        node: &Node,
        table: &Table,
        rows: &SmallNode<'_, Self>,
        scratch: &mut Scratch,
        bounds: &mut Vec<f64>,
    ) -> Outlook {
        let rank = |feature: usize| {
            let order = rows.orders.of(feature);
            move |place: usize| rows.steps[order[place] as usize] as usize
        };
        if table.is_screened {
            let cuts = (rows.min_rows, node.rows - rows.min_rows);
            let most = |feature| table.screen.most(cuts, rank(feature), |rank| Self::units(&table.weights, rank));
            bounds.clear();
            bounds.extend((0..rows.n_features).map(|feature| most(feature) + table.unit));
            scratch.is_bounded = true;
            return Outlook::Bounded;
        }
        if T::WEIGHTED || node.rows > SMALL {
            return Outlook::Unknown;
        }
        let allowed = rows.min_rows..=node.rows - rows.min_rows;
        let Scratch { memory, highest, .. } = scratch;
        highest.clear();
        for feature in 0..rows.n_features {
            let mut most = i64::MIN;
            self.each_gain(table, rank(feature), *allowed.end(), memory, |n_left, gain| {
                most = if (gain > most) & allowed.contains(&n_left) { gain } else { most };
            });
            highest.push(most);
        }
        bounds.clear();
        bounds.extend(highest.iter().map(|&most| most.max(0) as f64 * table.unit));
        // The first cut that ties with the highest gain wins, if its own gain is that.
        let top = highest.iter().fold(i64::MIN, |top, &most| top.max(most));
        let least = near(top as f64 * table.unit, self.noise(node));
        let first = bounds.iter().position(|&bound| bound >= least);
        if let Some(feature) = first.filter(|&feature| highest[feature] == top) {
            self.write_gains(table, rank(feature), *allowed.end(), scratch);
            let ties = |&n_left: &usize| scratch.gains[n_left - 1] as f64 * table.unit >= least;
            let n_left = allowed.clone().find(ties);
            if let Some(n_left) = n_left.filter(|&n_left| scratch.gains[n_left - 1] == top) {
                return Outlook::Clear { feature, n_left };
            }
        }
        Outlook::Bounded
    }

    fn sample(&self, ticket: u32) -> (f64, f64) {
        let target = self.targets[ticket as usize];
        (target.y(), target.weight())
    }

    fn location(&self) -> Location {
        Location::Quantile(self.level)
    }

    /// Each target was rounded to a unit of its grid, and so was each weight. That each is a rounded number to begin with does not count:
    /// an offset, which rounds them more, must not change the tree.
    fn noise(&self, node: &Node) -> f64 {
        let a_row = if T::WEIGHTED { 2f64.powi(52) } else { 1.0 };
        node.rows as f64 * a_row
    }

    fn loss_decrease(&self, node: &Node, gain: f64) -> f64 {
        self.factor() * gain * node.values.unit * node.weights.unit
    }
}
