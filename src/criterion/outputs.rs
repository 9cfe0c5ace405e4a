//! Several outputs at once: the loss is the mean of the losses of all outputs.
//!
//! Each output has a criterion of its own, which computes the gain of every cut. The sums of these
//! gains decide. No cut can be skipped by a bound, because a cut that gains little for one output
//! may gain much for another. Cost: one whole sweep per output.

use super::{
    ContributionsOf, Criterion, Cuts, GainBounds, NoBounds, NoTinyKernel, OneCut, ScalarTargets, TagCellOf,
    TargetRanking, Unranked,
};
use crate::contribution::{Carried, TagCell};
use crate::split::{Contest, Cut, Tournament};

/// An output: its criterion, and the target of each row of X.
pub(crate) struct Output<C: Criterion> {
    pub criterion: C,
    pub items: Vec<C::Item>,
}

/// All outputs, at least one.
pub(crate) struct Outputs<C: Criterion>(pub Vec<Output<C>>);

/// The statistics of each output of a node.
pub(crate) struct OutputsNode<N> {
    outputs: Vec<N>,
}

/// By output: its table, and the global ranks of the node's targets in ascending order if the
/// criterion ranks them.
pub(crate) struct OutputTables<T> {
    outputs: Vec<(T, Vec<usize>)>,
}

impl<T> Default for OutputTables<T> {
    fn default() -> Self {
        Self { outputs: Vec::new() }
    }
}

/// Buffers of a sweep.
pub(crate) struct OutputsScratch<S> {
    rows: Vec<u32>,
    /// By number of rows on the left: the sum of the gains, and how many outputs allow the cut.
    gains: Vec<(f64, usize)>,
    sweep: S,
}

impl<S: Default> Default for OutputsScratch<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), gains: Vec::new(), sweep: S::default() }
    }
}

/// A contest without a bar, which adds up the gains of all outputs.
struct GainSums<'a, F> {
    gains: &'a mut [(f64, usize)],
    loss_decrease: F,
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

impl<C: Criterion> Output<C> {
    /// The targets of some rows, in ascending order if the criterion ranks them.
    fn gather(&self, rows: &[u32]) -> Vec<C::Item> {
        let mut items: Vec<C::Item> = rows.iter().map(|&row| self.items[row as usize]).collect();
        if C::Ranking::RANKED {
            items.sort_unstable_by_key(|&item| C::Ranking::global_rank(item));
        }
        items
    }

    fn tabulate(&self, node: &C::NodeStats, rows: &[u32]) -> (C::Table, Vec<usize>) {
        let items = self.gather(rows);
        let mut table = C::Table::default();
        self.criterion.tabulate(node, &items, &mut table);
        let is_ranked = C::Ranking::RANKED;
        let ranks = if is_ranked { items.into_iter().map(C::Ranking::global_rank).collect() } else { Vec::new() };
        (table, ranks)
    }

    /// Adds the gains of this output's cuts. `rows` are the node's rows in the feature's order.
    fn add_gains<F: Fn(usize, usize) -> bool>(
        &self,
        node: &C::NodeStats,
        (table, global_ranks): &(C::Table, Vec<usize>),
        rows: &[u32],
        cuts: &Cuts<F>,
        gains: &mut [(f64, usize)],
        scratch: &mut C::Scratch,
    ) {
        let Self { criterion, items } = self;
        let rank = |row: u32| {
            let global_rank = C::Ranking::global_rank(items[row as usize]);
            global_ranks.binary_search(&global_rank).expect("every row of the node is ranked")
        };
        let tags = C::Bounds::class_tags(table);
        let contributions = Carried {
            items: rows,
            contribution: |row: u32| criterion.contribution(node, items[row as usize], || rank(row)),
            tag: |place: usize| TagCellOf::<C>::from_u32(|| tags[rank(rows[place])]),
        };
        let mut sums = GainSums { gains, loss_decrease: |gain| criterion.loss_decrease(node, gain) };
        let sums: &mut dyn Contest = &mut sums;
        criterion.sweep(node, table, &contributions, cuts, &mut { sums }, scratch);
    }
}

impl<C: Criterion> Outputs<C> {
    /// The mean of a quantity over the outputs.
    fn mean(&self, node: &OutputsNode<C::NodeStats>, of: impl Fn(&C, &C::NodeStats) -> f64) -> f64 {
        let sum: f64 = self.0.iter().zip(&node.outputs).map(|(output, node)| of(&output.criterion, node)).sum();
        sum / self.0.len() as f64
    }

    fn first<'a>(&'a self, node: &'a OutputsNode<C::NodeStats>) -> (&'a C, &'a C::NodeStats) {
        (&self.0[0].criterion, &node.outputs[0])
    }
}

impl<C: Criterion> Criterion for Outputs<C> {
    /// The row of X.
    type Item = u32;
    type Contribution = u32;
    type NodeStats = OutputsNode<C::NodeStats>;
    type Table = OutputTables<C::Table>;
    type Scratch = OutputsScratch<C::Scratch>;
    type Ranking = Unranked;
    type Bounds = NoBounds;
    type TinyKernel = NoTinyKernel;
    const WEIGHTED: bool = C::WEIGHTED;
    const OFTEN_GAINS_NOTHING: bool = C::OFTEN_GAINS_NOTHING;

    fn describe(&self, rows: &[u32]) -> Self::NodeStats {
        OutputsNode { outputs: self.0.iter().map(|output| output.criterion.describe(&output.gather(rows))).collect() }
    }

    fn is_pure(&self, node: &Self::NodeStats) -> bool {
        self.forbids_every_cut(node)
            || self.0.iter().zip(&node.outputs).all(|(output, node)| output.criterion.is_pure(node))
    }

    fn forbids_every_cut(&self, node: &Self::NodeStats) -> bool {
        self.0.iter().zip(&node.outputs).any(|(output, node)| output.criterion.forbids_every_cut(node))
    }

    fn rows(&self, node: &Self::NodeStats) -> usize {
        let (criterion, node) = self.first(node);
        criterion.rows(node)
    }

    fn weight(&self, node: &Self::NodeStats) -> f64 {
        let (criterion, node) = self.first(node);
        criterion.weight(node)
    }

    fn impurity(&self, node: &Self::NodeStats) -> f64 {
        self.mean(node, C::impurity)
    }

    fn n_values(&self) -> usize {
        self.0.iter().map(|output| output.criterion.n_values()).sum()
    }

    fn write_value(&self, node: &Self::NodeStats, values: &mut Vec<f64>) {
        for (output, node) in self.0.iter().zip(&node.outputs) {
            output.criterion.write_value(node, values);
        }
    }

    fn tabulate(&self, node: &Self::NodeStats, rows: &[u32], table: &mut Self::Table) {
        table.outputs = self.0.iter().zip(&node.outputs).map(|(output, node)| output.tabulate(node, rows)).collect();
    }

    fn contribution(&self, _: &Self::NodeStats, row: u32, _: impl FnOnce() -> usize) -> u32 {
        row
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Self::NodeStats,
        table: &Self::Table,
        contributions: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut Self::Scratch,
    ) {
        let OutputsScratch { rows, gains, sweep } = scratch;
        rows.clear();
        rows.extend((0..contributions.len()).map(|place| contributions.at(place)));
        gains.clear();
        gains.resize(contributions.len(), (0.0, 0));
        let mut n_swept = 0;
        for ((output, node), table) in self.0.iter().zip(&node.outputs).zip(&table.outputs) {
            // A pure output gains nothing from any cut and allows all of them.
            if !output.criterion.is_pure(node) {
                n_swept += 1;
                output.add_gains(node, table, rows, cuts, gains, sweep);
            }
        }
        for (n_left, &(gain, n_allowed)) in gains.iter().enumerate() {
            if n_allowed == n_swept && n_allowed > 0 {
                contest.offer(gain / self.0.len() as f64, cuts.cut(n_left));
            }
        }
    }

    fn gain_of_cut(
        &self,
        node: &Self::NodeStats,
        table: &Self::Table,
        rows: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut Self::Scratch,
    ) -> Option<f64> {
        let rows = cut.left_first(rows);
        let ordered = Carried { items: &rows, contribution: |row| row, tag: |_| () };
        let mut contest = Tournament::new();
        contest.restart(self.noise(node), 0.0);
        self.sweep(node, table, &ordered, &cut.cuts(), &mut contest, scratch);
        contest.found().map(|found| found.top)
    }

    fn noise(&self, node: &Self::NodeStats) -> f64 {
        self.mean(node, |criterion, node| criterion.loss_decrease(node, criterion.noise(node)))
    }

    /// Gains are already in units of the loss.
    fn loss_decrease(&self, _: &Self::NodeStats, gain: f64) -> f64 {
        gain
    }

    fn scalar(&self) -> Option<&dyn ScalarTargets<u32>> {
        None
    }
}
