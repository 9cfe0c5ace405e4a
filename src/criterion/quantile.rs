//! Absolute error and quantiles: the loss of a node around its median, or around another quantile.
//!
//! A criterion of order: what counts of a row is its rank among the node's targets. So rows carry a ticket, their rank in the whole fit,
//! targets stand by ticket, and each node numbers its own rows anew from the fit's order of the targets, which is kept up
//! like one more column. The kernels of `median/` do the rest, in integers on the node's grid: gains don't depend on the order
//! of the rows, and an offset of the targets is gone before anything is summed up.
//!
//! Cost: O(rows) a feature without weights; a logarithm more in the worst case of weights and orders.

use std::marker::PhantomData;

use super::common_unit::{FineGrid, common_unit};
use super::fixed_point::Grid;
use super::{Criterion, Cuts, Location, Outlook, Sample, SmallNode, TinyLoss};
use crate::median::few::{FEW_ROWS, Few};
use crate::median::screen::{Order, Screen, Stretch, Weights};
use crate::median::{Bitmap, Center, Level, heap_sweep, quantile, sweep, weighted};
use crate::params::MedianMethod;
use crate::split::{Contest, near};
use crate::steps::Steps;

/// Nodes up to this size sweep all features before they offer any cut; larger ones look which of them could win.
const SMALL: usize = 64;
/// The same with weights, whose sweeps take longer: floats decide about nearly all of those.
const SMALL_WEIGHTED: usize = FEW_ROWS;

/// Where so many rows come on each cut, they are passed over from one cut to the next.
const FAR_APART: usize = 32;

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
    /// Where they are multiples of one unit.
    multiples: Option<Grid>,
}

impl<T: Sample<f64>> Quantile<T> {
    /// For targets in ascending order.
    pub fn new(level: Level, report: Report, method: MedianMethod, targets: Vec<T>) -> Self {
        debug_assert!(targets.is_sorted_by(|a, b| a.y() <= b.y()));
        let multiples = common_unit(&targets.iter().map(|target| target.y()));
        Self { level, report, method, targets, multiples }
    }

    fn targets<'a>(&'a self, tickets: &'a [u32]) -> impl Iterator<Item = T> + Clone + 'a {
        tickets.iter().map(|&ticket| self.targets[ticket as usize])
    }

    /// Calls `visit(n_left, gain)` for each cut of these stretches, which ascend, and for others as it comes; gains are in the table's units.
    #[inline(always)]
    fn each_gain(
        &self,
        table: &Table,
        rank: impl Fn(usize) -> usize,
        stretches: &[Stretch],
        memory: &mut Memory,
        mut visit: impl FnMut(usize, i64),
    ) {
        let Table { sorted, weights, rows, unit, .. } = table;
        let last = stretches.last().map_or(0, |stretch| stretch.last);
        match self.method {
            MedianMethod::TwoHeaps => {
                let weight = |rank: usize| Units::<T>::new(weights).units(rank);
                // Its gains are in units of 1 / denominator of the level; those of the others are a power of two of them.
                let shift = ((self.level.whole() as f64 * unit).round() as u128).ilog2();
                heap_sweep::sweep(self.level, sorted, weight, rank, |n_left, gain| {
                    if n_left <= last {
                        visit(n_left, (gain >> shift) as i64);
                    }
                });
            }
            MedianMethod::RankBitmap if T::WEIGHTED => rows.sweep(rank, stretches, &mut memory.weighted, visit),
            MedianMethod::RankBitmap if Stretch::cuts(stretches) * FAR_APART < last => {
                let bits = if self.level == Level::HALF { 0 } else { self.level.bits() };
                quantile::sweep_some(self.level, bits, sorted, rank, stretches, &mut memory.bitmap, visit);
            }
            MedianMethod::RankBitmap if self.level == Level::HALF => {
                sweep::sweep(sorted, rank, last, &mut memory.bitmap, visit);
            }
            MedianMethod::RankBitmap => quantile::sweep(self.level, sorted, rank, last, &mut memory.bitmap, visit),
        }
    }

    /// Writes the gains of these stretches' cuts to the scratch, where the ranks are, and returns the highest of them.
    fn write_gains(&self, table: &Table, stretches: &[Stretch], scratch: &mut Scratch) -> i64 {
        let Scratch { memory, ranks, gains, .. } = scratch;
        gains.resize(gains.len().max(table.sorted.len()), 0);
        let rank = |place: usize| ranks[place] as usize;
        self.each_gain(table, rank, stretches, memory, |n_left, gain| gains[n_left] = gain);
        let highest =
            |&Stretch { first, last, .. }: &Stretch| gains[first..=last].iter().fold(i64::MIN, |a, &b| a.max(b));
        stretches.iter().map(highest).fold(i64::MIN, i64::max)
    }

    /// Finds the stretches that could win: looks cost little beside gains. The most promising one tells how much there is to beat.
    fn screen<P: Steps<Step = u32>, F: Fn(usize, usize) -> bool>(
        &self,
        table: &Table,
        steps: &P,
        cuts: &Cuts<F>,
        contest: &mut impl Contest,
        scratch: &mut Scratch,
        stretches: &mut Vec<Stretch>,
    ) {
        let order = Self::order(table, steps, cuts);
        table.screen.live(contest.bar() - table.unit, &order, stretches);
        let Some(&favourite) = stretches.iter().max_by(|a, b| a.bound.total_cmp(&b.bound)) else { return };
        // To get there costs, too.
        if cuts.min_weight > 0.0 || 4 * Stretch::cuts(stretches) < favourite.last {
            return;
        }
        self.write_gains(table, &[favourite], scratch);
        let allowed = (favourite.first..=favourite.last).filter(|&n_left| cuts.allow(n_left));
        if let Some(gain) = allowed.map(|n_left| scratch.gains[n_left]).max() {
            contest.raise(gain.max(0) as f64 * table.unit);
            stretches.retain(|stretch| stretch.bound >= contest.bar() - table.unit);
        }
    }

    /// Of few rows with weights: the first of the cuts that gain most, if all of them part the rows in the same way. Then their gains are
    /// the same to the last bit, and no other's is near.
    fn decide_by_floats(
        table: &Table,
        rows: &SmallNode<'_, Self>,
        scratch: &mut Scratch,
        bounds: &mut Vec<f64>,
    ) -> Outlook {
        let n_rows = table.sorted.len();
        let rank = |feature: usize| Self::ranks(rows, feature);
        let (first, last) = (rows.min_rows, n_rows - rows.min_rows);
        let gains = &mut scratch.floats;
        gains.clear();
        bounds.clear();
        let mut top = 0.0;
        for feature in 0..rows.n_features {
            table.few.gains(last, rank(feature), gains);
            let of_feature = &gains[feature * last + first - 1..];
            let most = of_feature.iter().fold(0.0, |most, &gain| if gain > most { gain } else { most });
            top = if most > top { most } else { top };
            bounds.push(f64::from(most + table.few.slack()) * table.few.unit() + table.unit);
        }
        let bar = top - 2.0 * table.few.slack();
        let mut winner: Option<(usize, usize, u32)> = None;
        for (feature, gains) in gains.chunks_exact(last).enumerate() {
            for n_left in (first..=last).filter(|&n_left| gains[n_left - 1] >= bar) {
                let left = (0..n_left).fold(0u32, |left, place| left | 1 << rank(feature)(place));
                // Either side tells how the rows are parted.
                let parted = if left & 1 == 1 { left } else { left ^ ((1 << n_rows) - 1) };
                match winner {
                    Some((.., first)) if first != parted => return Outlook::Bounded,
                    Some(_) => {}
                    None => winner = Some((feature, n_left, parted)),
                }
            }
        }
        winner.map_or(Outlook::Bounded, |(feature, n_left, _)| Outlook::Clear { feature, n_left })
    }

    /// The ranks of a small node's rows in the order of a feature.
    #[inline(always)]
    fn ranks<'a>(rows: &'a SmallNode<'_, Self>, feature: usize) -> impl Fn(usize) -> usize + 'a {
        let order = rows.orders.of(feature);
        move |place| rows.steps[order[place] as usize] as usize
    }

    /// An order of the node's rows as its screen sees it.
    #[inline(always)]
    fn order<'a, F: Fn(usize, usize) -> bool, P: Steps<Step = u32>>(
        table: &'a Table,
        steps: &'a P,
        cuts: &'a Cuts<F>,
    ) -> Order<&'a F, impl Fn(usize) -> u32 + 'a, Units<'a, T>> {
        Order {
            cuts: (cuts.first, cuts.last),
            same: &cuts.same,
            mark: |place| steps.mark(place),
            weights: Units::new(&table.weights),
        }
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
    values: FineGrid,
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
    rows: weighted::Rows,
    /// Of nodes that are not small.
    screen: Screen,
    is_screened: bool,
    /// Of nodes of few rows with weights.
    few: Few,
    /// Pinball loss, in units of the grids, that a unit of the kernel's gain stands for.
    unit: f64,
}

/// Weights of a node's rows, on its grid; one each if there are none.
struct Units<'a, T>(&'a [i64], PhantomData<T>);

impl<T> Clone for Units<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Units<'_, T> {}

impl<'a, T: Sample<f64>> Units<'a, T> {
    fn new(weights: &'a [i64]) -> Self {
        Self(weights, PhantomData)
    }

    #[inline(always)]
    fn units(self, rank: usize) -> i64 {
        if T::WEIGHTED { self.0[rank] } else { 1 }
    }
}

impl<T: Sample<f64>> Weights for Units<'_, T> {
    const DIFFER: bool = T::WEIGHTED;

    #[inline(always)]
    fn of(&self, rank: usize) -> f64 {
        self.units(rank) as f64
    }
}

/// Buffers of a sweep, reused from feature to feature.
#[derive(Default)]
pub(crate) struct Scratch {
    memory: Memory,
    /// In a feature's order.
    ranks: Vec<u32>,
    /// By number of rows on the left.
    gains: Vec<i64>,
    /// The same, feature after feature, of few rows.
    floats: Vec<f32>,
    /// Of each feature.
    highest: Vec<i64>,
    /// Of a feature: those of its cuts that are swept.
    stretches: Vec<Stretch>,
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
    type Mark = T::Mark;
    const WEIGHTED: bool = T::WEIGHTED;
    const ORDERED: bool = true;
    const TINY: Option<TinyLoss> = if T::WEIGHTED { None } else { Some(TinyLoss::AbsoluteError) };

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
            values: self.grid(tickets.len(), range),
            weights,
            units,
            quantile: center.value,
            impurity: loss / (units as f64 * weights.unit),
        }
    }

    fn tabulate(&self, node: &Node, tickets: &[u32], table: &mut Table) {
        let Table { sorted, weights, rows, screen, is_screened, few, unit } = table;
        sorted.clear();
        sorted.extend(self.targets(tickets).map(|target| node.values.put(target.y() - node.lowest)));
        if T::WEIGHTED {
            weights.clear();
            weights.extend(self.targets(tickets).map(|target| node.weights.put(target.weight())));
            rows.describe(self.level, sorted, weights);
            *unit = rows.unit();
        } else if self.level == Level::HALF {
            // The kernel's gain is of the absolute error.
            *unit = 0.5;
        } else {
            *unit = quantile::unit(self.level);
        }
        // The heaps sweep everything: others are measured by them.
        let small = if T::WEIGHTED { SMALL_WEIGHTED } else { SMALL };
        let is_fast = self.method != MedianMethod::TwoHeaps;
        *is_screened = is_fast && node.rows > small;
        if *is_screened {
            screen.describe(self.level, sorted, Units::<T>::new(weights));
        } else if is_fast && T::WEIGHTED {
            few.describe(self.level, sorted, weights);
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

    fn marks(table: &Table) -> &[u32] {
        if table.is_screened { table.screen.marks() } else { &[] }
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
        // All at once: in large nodes each is a cache miss, and many of them can be under way.
        scratch.ranks.resize(node.rows, 0);
        steps.fill(0, &mut scratch.ranks);
        let units = |bar: f64| (bar / table.unit).floor() as i64;
        let mut stretches = std::mem::take(&mut scratch.stretches);
        if T::WEIGHTED && table.is_screened {
            stretches.clear();
            self.screen(table, steps, cuts, contest, scratch, &mut stretches);
        } else {
            Self::order(table, steps, cuts).all(node.rows, FAR_APART, &mut stretches);
        }
        let highest = self.write_gains(table, &stretches, scratch);
        let mut least = units(contest.bar());
        if highest >= least {
            // The highest gain, if it is to be had, lifts the bar for all others.
            let counts_rows_alone = cuts.min_weight == 0.0;
            let n_lefts = stretches.iter().flat_map(|stretch| stretch.first..=stretch.last);
            let best = n_lefts.clone().find(|&n_left| scratch.gains[n_left] == highest);
            if best.is_some_and(|n_left| counts_rows_alone && cuts.allow(n_left)) {
                contest.raise(highest.max(0) as f64 * table.unit);
                least = units(contest.bar());
            }
            let is_heavy = |units: i64| units as f64 * node.weights.unit >= cuts.min_weight;
            let (mut left, mut seen) = (0, 0);
            for n_left in n_lefts {
                if !counts_rows_alone {
                    let ranks = scratch.ranks[seen..n_left].iter();
                    left += ranks.map(|&rank| Units::<T>::new(&table.weights).units(rank as usize)).sum::<i64>();
                    seen = n_left;
                }
                let gain = scratch.gains[n_left];
                if gain >= least
                    && cuts.allow(n_left)
                    && (counts_rows_alone || is_heavy(left) && is_heavy(node.units - left))
                {
                    contest.offer(gain.max(0) as f64 * table.unit, cuts.cut(n_left));
                    least = units(contest.bar());
                }
            }
        }
        scratch.stretches = stretches;
    }

    fn promise<P: Steps<Step = u32>, F: Fn(usize, usize) -> bool>(
        &self,
        table: &Table,
        steps: &P,
        cuts: &Cuts<F>,
    ) -> Option<f64> {
        table.is_screened.then(|| table.screen.most(&Self::order(table, steps, cuts)) + table.unit)
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
        let rank = |feature: usize| Self::ranks(rows, feature);
        if table.is_screened || self.method == MedianMethod::TwoHeaps {
            return Outlook::Unknown;
        }
        if T::WEIGHTED {
            return Self::decide_by_floats(table, rows, scratch, bounds);
        }
        let (first, last) = (rows.min_rows, node.rows - rows.min_rows);
        let (all, allowed) = ([Stretch::new(first, last)], first..=last);
        let Scratch { memory, highest, .. } = scratch;
        let higher = |most: i64, n_left: usize, gain: i64| {
            if (gain > most) & allowed.contains(&n_left) { gain } else { most }
        };
        highest.clear();
        if self.level == Level::HALF {
            // Two features at a time take little longer than one.
            for feature in (1..rows.n_features).step_by(2) {
                let mut most = [i64::MIN; 2];
                sweep::sweep_two(&table.sorted, [rank(feature - 1), rank(feature)], last, |n_left, [a, b]| {
                    most = [higher(most[0], n_left, a), higher(most[1], n_left, b)];
                });
                highest.extend(most);
            }
        }
        for feature in highest.len()..rows.n_features {
            let mut most = i64::MIN;
            self.each_gain(table, rank(feature), &all, memory, |n_left, gain| most = higher(most, n_left, gain));
            highest.push(most);
        }
        bounds.clear();
        bounds.extend(highest.iter().map(|&most| most.max(0) as f64 * table.unit));
        // The first cut that ties with the highest gain wins, if its own gain is that.
        let top = highest.iter().fold(i64::MIN, |top, &most| top.max(most));
        let bar = near(top as f64 * table.unit, self.noise(node));
        let winner = bounds.iter().position(|&bound| bound >= bar);
        if let Some(feature) = winner.filter(|&feature| highest[feature] == top) {
            scratch.ranks.clear();
            scratch.ranks.extend((0..node.rows).map(|place| rank(feature)(place) as u32));
            self.write_gains(table, &all, scratch);
            let ties = |&n_left: &usize| scratch.gains[n_left] as f64 * table.unit >= bar;
            let n_left = allowed.clone().find(ties);
            if let Some(n_left) = n_left.filter(|&n_left| scratch.gains[n_left] == top) {
                return Outlook::Clear { feature, n_left };
            }
        }
        Outlook::Bounded
    }

    fn sample(&self, ticket: u32) -> (f64, f64) {
        let target = self.targets[ticket as usize];
        (target.y(), target.weight())
    }

    fn grid(&self, rows: usize, range: f64) -> FineGrid {
        FineGrid::new(self.multiples, range, range * rows as f64)
    }

    fn is_tiny_loss(&self) -> bool {
        self.level == Level::HALF && self.method != MedianMethod::TwoHeaps
    }

    fn write_summary(&self, _: usize, median: f64, absolute_error: f64, values: &mut Vec<f64>) -> f64 {
        values.push(median);
        absolute_error * self.factor() / 2.0
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
