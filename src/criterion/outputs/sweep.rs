//! HOT: sweeps over a node's rows in a feature's order that add up the gains of several outputs.
//!
//! Criteria with running sums are swept together: each row updates the sums of all outputs, and
//! the sum of their bounds rules out most cuts. A cut that passes gets the exact gain of each
//! output. Quantiles are swept one output after another, without a bar, because a cut that gains
//! little for one output may gain much for another.

use super::any::Same;
use super::{OutputTables, Outputs, OutputsNode};
use crate::contribution::Carried;
use crate::contribution::TagCell;
use crate::criterion::quantile::{Quantile, RankedSample};
use crate::criterion::{Criterion, Cuts, GainBounds, OneCut, RunningSums, TagCellOf};
use crate::split::{Contest, Cut, Tournament};

/// Buffers of a sweep.
pub(crate) struct OutputsScratch<C: OutputCriterion> {
    /// By open output.
    running: Vec<C::OutputSums>,
    /// By number of rows on the left: the sum of the gains, and how many outputs allow the cut.
    gains: Vec<(f64, usize)>,
    sweep: C::Scratch,
}

impl<C: OutputCriterion> Default for OutputsScratch<C> {
    fn default() -> Self {
        Self { running: Vec::new(), gains: Vec::new(), sweep: C::Scratch::default() }
    }
}

/// A criterion that several outputs can have.
pub(crate) trait OutputCriterion: Criterion {
    /// Running sums of one output; `()` for criteria without them.
    type OutputSums: Default + Clone + Send + Sync;

    /// The sums of an output with no rows on the left.
    fn start_output(&self, node: &Self::NodeStats, sums: &mut Self::OutputSums);

    /// Describes the rows of a table for the screen of its cuts, if the criterion has one.
    fn screen_outputs(_outputs: &Outputs<Self>, _n_rows: usize, _table: &mut OutputTables<Self>) {}

    /// Offers the cuts that could win. `ranks` has the rows in the order of the feature, by their
    /// rank in the node's table.
    fn sweep_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cuts: &Cuts<Same<'_>>,
        contest: &mut dyn Contest,
        scratch: &mut OutputsScratch<Self>,
    );

    /// The gain of one cut; `None` if a rule forbids it.
    fn gain_of_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut OutputsScratch<Self>,
    ) -> Option<f64>;
}

/// The screens compute in f64, with relative errors of a few 2^-53.
const SCREEN_SLACK: f64 = 1e-12;

impl<C: OutputCriterion> OutputTables<C> {
    /// What a row adds to the sums of the open outputs.
    #[inline(always)]
    fn row(&self, rank: u32) -> &[C::Contribution] {
        let n_open = self.open.len();
        &self.contributions[rank as usize * n_open..][..n_open]
    }
}

impl<C: RunningSums> Outputs<C> {
    /// The mean gain over the outputs; `None` if a rule forbids the cut.
    fn gain(
        &self,
        node: &OutputsNode<C::NodeStats>,
        table: &OutputTables<C>,
        running: &[C::Running],
        cut: &OneCut<'_>,
    ) -> Option<f64> {
        let mut sum = 0.0;
        for (running, &output) in running.iter().zip(&table.open) {
            let (criterion, node) = (&self.criteria[output], &node.outputs[output]);
            sum += criterion.loss_decrease(node, criterion.gain(node, running, cut)?);
        }
        Some(sum / self.criteria.len() as f64)
    }
}

impl<C: RunningSums> OutputCriterion for C {
    type OutputSums = C::Running;

    fn screen_outputs(outputs: &Outputs<Self>, n_rows: usize, table: &mut OutputTables<Self>) {
        let OutputTables { open, contributions, start, screen, .. } = table;
        let of_open = open.iter().map(|&output| &outputs.criteria[output]).zip(&*start);
        screen.describe(n_rows, of_open, open.len(), contributions);
    }

    fn start_output(&self, node: &C::NodeStats, sums: &mut C::Running) {
        self.start(node, sums);
    }

    fn sweep_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cuts: &Cuts<Same<'_>>,
        contest: &mut dyn Contest,
        scratch: &mut OutputsScratch<Self>,
    ) {
        let (criterion, running) = (&outputs.criteria[0], &mut scratch.running);
        running.clone_from(&table.start);
        // The bounds are summed up, gains are means.
        let scale = outputs.criteria.len() as f64 * (1.0 - SCREEN_SLACK);
        let (mut n_added, mut bar) = (0, contest.bar() * scale);
        // Offers the cut if it could win, and returns the bar.
        let mut consider = |n_left: usize, contest: &mut dyn Contest| {
            for &rank in &ranks[n_added..n_left] {
                for (running, &contribution) in running.iter_mut().zip(table.row(rank)) {
                    criterion.add(running, contribution);
                }
            }
            n_added = n_left;
            let weights = criterion.weights(&running[0]);
            let bound: f64 = running.iter().map(|running| criterion.scaled_bound(running, weights)).sum();
            if bound < bar * (weights[0] * weights[1]) || !cuts.allow(n_left) {
                return bar;
            }
            if let Some(gain) = outputs.gain(node, table, running, &cuts.one(n_left)) {
                contest.offer(gain, cuts.cut(n_left));
                bar = contest.bar() * scale;
            }
            bar
        };
        if !table.screen.sweep(ranks, cuts.last, contest.bar() * scale, |n_left| consider(n_left, contest)) {
            for n_left in 1..=cuts.last {
                consider(n_left, contest);
            }
        }
    }

    fn gain_of_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut OutputsScratch<Self>,
    ) -> Option<f64> {
        let (criterion, running) = (&outputs.criteria[0], &mut scratch.running);
        running.clone_from(&table.start);
        for (&rank, _) in ranks.iter().zip(cut.goes_left).filter(|&(_, &goes_left)| goes_left) {
            for (running, &contribution) in running.iter_mut().zip(table.row(rank)) {
                criterion.add(running, contribution);
            }
        }
        outputs.gain(node, table, running, cut)
    }
}

/// A contest without a bar, which adds up the gains of all outputs.
pub(super) struct GainSums<'a, F> {
    pub gains: &'a mut [(f64, usize)],
    pub loss_decrease: F,
}

impl<F: Fn(f64) -> f64> Contest for GainSums<'_, F> {
    fn bar(&self) -> f64 {
        0.0
    }

    fn raise(&mut self, _: f64) {}

    fn offer(&mut self, gain: f64, cut: Cut) {
        let (sum, n_outputs) = &mut self.gains[cut.n_left];
        *sum += (self.loss_decrease)(gain);
        *n_outputs += 1;
    }
}

/// Offers the cuts that all open outputs allow, with their mean gain over `n_outputs`.
pub(super) fn offer_sums<F: Fn(usize, usize) -> bool>(
    gains: &[(f64, usize)],
    [n_open, n_outputs]: [usize; 2],
    cuts: &Cuts<F>,
    contest: &mut dyn Contest,
) {
    for (n_left, &(gain, n_allowed)) in gains.iter().enumerate() {
        if n_allowed == n_open && n_allowed > 0 {
            contest.offer(gain / n_outputs as f64, cuts.cut(n_left));
        }
    }
}

impl<T: RankedSample> OutputCriterion for Quantile<T> {
    type OutputSums = ();

    fn start_output(&self, _: &Self::NodeStats, (): &mut ()) {}

    fn sweep_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cuts: &Cuts<Same<'_>>,
        contest: &mut dyn Contest,
        scratch: &mut OutputsScratch<Self>,
    ) {
        let OutputsScratch { gains, sweep, .. } = scratch;
        gains.clear();
        gains.resize(ranks.len(), (0.0, 0));
        for (place, (&output, of_output)) in table.open.iter().zip(&table.tables).enumerate() {
            let (criterion, node) = (&outputs.criteria[output], &node.outputs[output]);
            let tags = <Self::Bounds as GainBounds<Self>>::class_tags(of_output);
            let contributions = Carried {
                items: ranks,
                contribution: |rank: u32| table.row(rank)[place],
                tag: |at: usize| TagCellOf::<Self>::from_u32(|| tags[table.row(ranks[at])[place] as usize]),
            };
            let mut sums = GainSums { gains, loss_decrease: |gain| criterion.loss_decrease(node, gain) };
            let sums: &mut dyn Contest = &mut sums;
            criterion.sweep(node, of_output, &contributions, cuts, &mut { sums }, sweep);
        }
        offer_sums(gains, [table.open.len(), outputs.criteria.len()], cuts, contest);
    }

    fn gain_of_outputs(
        outputs: &Outputs<Self>,
        node: &OutputsNode<Self::NodeStats>,
        table: &OutputTables<Self>,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut OutputsScratch<Self>,
    ) -> Option<f64> {
        let ranks = cut.left_first(ranks);
        let mut contest = Tournament::new();
        contest.restart(outputs.noise(node), 0.0);
        Self::sweep_outputs(outputs, node, table, &ranks, &cut.cuts().erased(), &mut contest, scratch);
        contest.found().map(|found| found.top)
    }
}
