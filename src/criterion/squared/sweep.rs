//! HOT: the sweep over a node's rows in a feature's order, and the screens that most cuts and
//! blocks fail. `mod.rs` has the formulas.

use super::{SquaredNode, SumContribution, Sums};
use crate::contribution::Contributions;
use crate::criterion::fixed_point::to_f64;
use crate::criterion::{Cuts, ValueOrder};
use crate::split::Contest;

/// Rows whose prefix sums are screened together.
const BLOCK: usize = 32;

/// Blocks are skipped in nodes of at least this many rows.
pub(super) const LARGE: usize = 8 * BLOCK;

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

/// The contributions of a block's rows, and the prefix sums up to and including each row. One value
/// serves the whole sweep, so that it is not cleared for each block.
struct Block<S> {
    contributions: [S; BLOCK],
    values: [i64; BLOCK],
    /// Used only with weights.
    weights: [i64; BLOCK],
    /// Without weights: the number of rows before the block.
    start: i64,
}

impl<S: SumContribution> Block<S> {
    fn new() -> Self {
        Self { contributions: [S::default(); BLOCK], values: [0; BLOCK], weights: [0; BLOCK], start: 0 }
    }

    /// Computes the prefix sums of the first `len` rows, starting from `before`.
    #[inline(always)]
    fn sum_up(&mut self, len: usize, before: Sums) {
        self.start = before.weight;
        let mut end = before;
        for i in 0..len {
            end = end.plus(self.contributions[i].sums());
            self.values[i] = end.value;
            if S::WEIGHTED {
                self.weights[i] = end.weight;
            }
        }
    }

    /// Whether any of the first `len` prefix sums passes the screen.
    #[inline(always)]
    fn any_passes(&self, len: usize, screen: Screen) -> bool {
        (0..len).fold(false, |any, i| any | screen.passes(self.floats(i)))
    }

    #[inline(always)]
    fn at(&self, i: usize) -> Sums {
        let weight = if S::WEIGHTED { self.weights[i] } else { self.start + i as i64 + 1 };
        Sums { value: self.values[i], weight }
    }

    /// The same as floats, by operations that the compiler has vectors for.
    #[inline(always)]
    fn floats(&self, i: usize) -> FloatSums {
        let weight = if S::WEIGHTED { to_f64(self.weights[i]) } else { self.start as f64 + COUNTS[i] };
        FloatSums { value: to_f64(self.values[i]), weight }
    }
}

/// 1, 2, 3, …
const COUNTS: [f64; BLOCK] = {
    let mut counts = [0.0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        counts[i] = (i + 1) as f64;
        i += 1;
    }
    counts
};

/// The test that most cuts fail. It computes in f64 and is never too strict.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    /// S / W.
    mean: f64,
    /// W.
    weight: f64,
    /// Bound on the error of s − w · mean.
    slack: f64,
    /// 1 / W², rounded down.
    scale: f64,
    /// The contest's bar times `scale`.
    bar: f64,
    /// The sign of the monotonic constraint, 0 without one.
    sign: f64,
    /// Means that differ by less than this times w · (W − w), or by rounding, may be in order.
    reach: f64,
}

impl Screen {
    pub fn new(node: &SquaredNode, order: Option<ValueOrder>) -> Self {
        let (sum, weight) = (node.total.value as f64, node.total.weight as f64);
        // The left mean minus the right one is (s − w · mean) · W / (w · (W − w)) in units of the
        // means. Both are off by a few roundings of the largest target.
        let largest = node.lowest.abs().max(node.highest.abs());
        let means_unit = node.values.unit / node.weights.unit;
        Self {
            mean: sum / weight,
            weight,
            slack: sum * f64::EPSILON * 4.0,
            scale: (1.0 - SCREEN_SLACK) / (weight * weight),
            bar: 0.0,
            sign: order.map_or(0.0, |order| order.sign),
            reach: 64.0 * f64::EPSILON * largest / (weight * means_unit),
        }
    }

    /// False if the means of both sides break the monotonic constraint for certain. Where half of
    /// the cuts do, the exact test of each would take several times as long as the sweep.
    #[inline(always)]
    fn may_be_in_order(&self, sums: FloatSums) -> bool {
        let against = self.sign * (sums.value - sums.weight * self.mean);
        let is_broken = against > self.slack + self.reach * self.balance(sums);
        !is_broken
    }

    pub fn with_bar(self, bar: f64) -> Self {
        Self { bar: bar * self.scale, ..self }
    }

    /// |s − w · S/W|, rounded up.
    #[inline(always)]
    fn deviation(&self, sums: FloatSums) -> f64 {
        (sums.value - sums.weight * self.mean).abs() + self.slack
    }

    /// w · (W − w).
    #[inline(always)]
    fn balance(&self, sums: FloatSums) -> f64 {
        sums.weight * (self.weight - sums.weight)
    }

    #[inline(always)]
    pub fn passes(&self, sums: FloatSums) -> bool {
        let deviation = self.deviation(sums);
        deviation * deviation >= self.bar * self.balance(sums)
    }
}

/// Sums as the screen reads them.
#[derive(Clone, Copy)]
pub(super) struct FloatSums {
    value: f64,
    weight: f64,
}

impl From<Sums> for FloatSums {
    #[inline(always)]
    fn from(sums: Sums) -> Self {
        Self { value: sums.value as f64, weight: sums.weight as f64 }
    }
}

/// One sweep over the rows in a feature's order.
pub(super) struct Sweep<'a, P, F, O> {
    pub node: &'a SquaredNode,
    pub contributions: &'a P,
    pub cuts: &'a Cuts<F>,
    pub contest: &'a mut O,
    pub fits_64_bits: bool,
    pub screen: Screen,
}

impl<S: SumContribution, P: Contributions<Contribution = S>, F: Fn(usize, usize) -> bool, O: Contest>
    Sweep<'_, P, F, O>
{
    /// Offers every cut that could win; `edges` is a buffer.
    pub fn walk(mut self, edges: &mut Vec<Sums>) {
        self.renew_bar();
        if self.contributions.len() < LARGE {
            self.search_one_by_one();
        } else {
            self.search_blocks(edges);
        }
    }

    #[inline(always)]
    fn renew_bar(&mut self) {
        self.screen.bar = self.contest.bar() * self.screen.scale;
    }

    /// Screens every cut in turn.
    fn search_one_by_one(&mut self) {
        let mut sums = Sums::default();
        for n_left in 1..self.contributions.len() {
            sums = sums.plus(self.contributions.at(n_left - 1).sums());
            if self.screen.passes(sums.into()) {
                self.offer(n_left, sums);
            }
        }
    }

    /// Offers a cut that has passed the screen.
    #[inline(always)]
    fn offer(&mut self, n_left: usize, sums: Sums) {
        if !self.screen.may_be_in_order(sums.into()) {
            return;
        }
        let gain = self.gain(n_left, sums);
        if gain >= self.contest.bar() && self.allow(n_left, sums) {
            self.contest.offer(gain, self.cuts.cut(n_left));
            self.renew_bar();
        }
    }

    fn gain(&self, n_left: usize, sums: Sums) -> f64 {
        self.node.gain(n_left, sums, self.fits_64_bits)
    }

    /// True if every rule allows this cut.
    fn allow(&self, n_left: usize, sums: Sums) -> bool {
        let right = self.node.total.minus(sums);
        let heavy_enough = |side: Sums| side.weight as f64 * self.node.weights.unit >= self.cuts.min_weight;
        self.cuts.allow(n_left)
            && heavy_enough(sums)
            && heavy_enough(right)
            && self.cuts.allow_values(|| [sums, right].map(|side| self.node.mean_of(side)))
    }

    /// Offers the block's cuts that pass the screen.
    ///
    /// Three plain loops: fetch the contributions, add them up, screen the sums. The compiler uses
    /// vectors for the first and the last. Nearly all blocks are whole, so these have loops of a
    /// length that the compiler knows.
    #[inline(always)]
    fn search_block(&mut self, start: usize, before: Sums, block: &mut Block<S>) {
        let len = BLOCK.min(self.contributions.len() - start);
        let any_passes = if len == BLOCK {
            self.contributions.fill(start, &mut block.contributions);
            block.sum_up(BLOCK, before);
            block.any_passes(BLOCK, self.screen)
        } else {
            self.contributions.fill(start, &mut block.contributions[..len]);
            block.sum_up(len, before);
            block.any_passes(len, self.screen)
        };
        if any_passes {
            self.offer_survivors(start, len, block);
        }
    }

    /// Offers the cuts that pass the screen. The gain of the best one is used first, to raise the
    /// bar for the others.
    #[inline(never)]
    fn offer_survivors(&mut self, start: usize, len: usize, sums: &Block<S>) {
        let len = len.min(self.contributions.len() - 1 - start);
        self.raise_bar_in_block(start, len, sums);
        for i in 0..len {
            if self.screen.passes(sums.floats(i)) {
                self.offer(start + i + 1, sums.at(i));
            }
        }
    }

    /// Raises the bar to the gain of the best of the block's first cuts.
    fn raise_bar_in_block(&mut self, start: usize, len: usize, sums: &Block<S>) {
        let mut best = (None, self.screen.bar);
        for i in 0..len {
            let sums = sums.floats(i);
            let (deviation, balance) = (self.screen.deviation(sums), self.screen.balance(sums));
            if deviation * deviation > best.1 * balance && self.screen.may_be_in_order(sums) {
                best = (Some(i), deviation * deviation / balance);
            }
        }
        if let Some(i) = best.0
            && self.allow(start + i + 1, sums.at(i))
        {
            self.contest.raise(self.gain(start + i + 1, sums.at(i)));
            self.renew_bar();
        }
    }

    /// Raises the bar to the gain of the best cut of the last block, which is `len` rows long.
    #[inline(never)]
    fn raise_bar_at_end(&mut self, len: usize, before: Sums, block: &mut Block<S>) {
        let start = self.contributions.len() - len;
        self.contributions.fill(start, &mut block.contributions[..len]);
        block.sum_up(len, before);
        self.raise_bar_in_block(start, len - 1, block);
    }

    /// The sum of the contributions of at most one block of rows.
    #[inline(always)]
    fn sum(&self, start: usize, len: usize, block: &mut Block<S>) -> Sums {
        let contributions = &mut block.contributions[..len];
        self.contributions.fill(start, contributions);
        let sum = contributions.iter().fold(Sums::default(), |sum, row| sum.plus(row.sums()));
        Sums { weight: if S::WEIGHTED { sum.weight } else { len as i64 }, ..sum }
    }

    /// Adds up the blocks, raises the bar to the gain at the best block edge, and searches the
    /// blocks that could pass it.
    fn search_blocks(&mut self, edges: &mut Vec<Sums>) {
        let len = self.contributions.len();
        let mut block = Block::new();
        edges.clear();
        let mut end = Sums::default();
        for start in (0..len).step_by(BLOCK) {
            let sum = if len - start >= BLOCK {
                self.sum(start, BLOCK, &mut block)
            } else {
                self.sum(start, len - start, &mut block)
            };
            end = end.plus(sum);
            edges.push(end);
        }
        self.raise_bar_at_edges(edges, &mut block);
        if self.screen.sign != 0.0 {
            // A constraint may leave only cuts near the end of a chain that gain something.
            let (full, last) = ((len - 1) / BLOCK, (len - 1) % BLOCK + 1);
            self.raise_bar_at_end(last, edges[full - 1], &mut block);
        }
        // A quarter of a block's range: prefix sums inside a block differ from the line between its
        // edges by no more.
        let reach = 0.25 * BLOCK as f64 * self.node.largest_contribution;
        let mut before = Sums::default();
        for (i, &after) in edges.iter().enumerate() {
            if self.could_win(before, after, reach) && self.has_cut(i * BLOCK) {
                self.search_block(i * BLOCK, before, &mut block);
            }
            before = after;
        }
    }

    /// Whether a cut after `before` and up to `after` could pass the screen: `w · (W − w)` is
    /// concave, so it is least at an edge, and the prefix sum is bounded. The outermost blocks,
    /// where `w · (W − w)` is 0, always pass.
    #[inline(always)]
    fn could_win(&self, before: Sums, after: Sums, reach: f64) -> bool {
        let (before, after) = (before.into(), after.into());
        let deviation = self.screen.deviation(before).max(self.screen.deviation(after)) + reach;
        let balance = self.screen.balance(before).min(self.screen.balance(after));
        deviation * deviation >= self.screen.bar * balance
    }

    /// Whether a cut in the block that starts here could be allowed.
    fn has_cut(&self, start: usize) -> bool {
        let end = start + BLOCK;
        let last = end.min(self.contributions.len() - 1);
        start < self.cuts.last && end >= self.cuts.first && !(self.cuts.same)(start, last)
    }

    /// Raises the bar to the gain at the best block edge. If that would part equal values, it uses
    /// the cuts at both ends of their run.
    fn raise_bar_at_edges(&mut self, edges: &[Sums], block: &mut Block<S>) {
        let len = self.contributions.len();
        let (mut best, mut best_gain) = (None, self.screen.bar);
        for (i, &edge) in edges[..edges.len() - 1].iter().enumerate() {
            let (deviation, balance) = (self.screen.deviation(edge.into()), self.screen.balance(edge.into()));
            if deviation * deviation > best_gain * balance && self.screen.may_be_in_order(edge.into()) {
                best_gain = deviation * deviation / balance;
                best = Some((i + 1) * BLOCK);
            }
        }
        let Some(edge) = best else { return };
        let (start, end) = self.cuts.run_around(edge, len);
        // `start` is `edge` itself if the values before and after it differ.
        let near = if start == edge { [edge, edge] } else { [start, end] };
        for n_left in near {
            if n_left > 0 && n_left < len {
                let full = n_left / BLOCK;
                let base = if full == 0 { Sums::default() } else { edges[full - 1] };
                let sums = base.plus(self.sum(full * BLOCK, n_left % BLOCK, block));
                if self.allow(n_left, sums) {
                    self.contest.raise(self.gain(n_left, sums));
                }
            }
        }
        self.renew_bar();
    }
}
