//! Outputs of any criterion as one type, so that the engines are compiled once for several outputs
//! and not once per criterion: that was almost half of the crate's code.
//!
//! Calls are dispatched at run time, once per node or per feature of a node. There is nothing to
//! dispatch per row: what a column carries is the number of the row, whatever the criterion.

use std::any::Any;

use super::sweep::OutputsScratch;
use super::{OutputCriterion, OutputTables, Outputs, OutputsNode};
use crate::criterion::{
    ContributionsOf, Criterion, Cuts, LabelOrder, NoBounds, NoGroups, NoTinyKernel, OneCut, Ranked,
};
use crate::split::Contest;

/// Whether the values at two places of a feature's order are the same.
pub(super) type Same<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Several outputs; `WEIGHTED` if rows have weights.
pub(crate) struct AnyOutputs<const WEIGHTED: bool>(Box<dyn ErasedOutputs>);

/// What sweeps and statistics need of a node.
pub(crate) struct AnyNode {
    rows: usize,
    weight: f64,
    /// `OutputsNode<C::NodeStats>`
    outputs: Box<dyn Any + Send + Sync>,
}

/// `OutputTables<C>`, once a node has been tabulated.
#[derive(Default)]
pub(crate) struct AnyTable(Option<Box<dyn Any + Send + Sync>>);

#[derive(Default)]
pub(crate) struct AnyScratch {
    /// The ranks of the rows that are swept, in the order of the feature.
    ranks: Vec<u32>,
    /// `OutputsScratch<C>`, after the first sweep.
    sweep: Option<Box<dyn Any + Send>>,
}

impl<const WEIGHTED: bool> AnyOutputs<WEIGHTED> {
    pub fn new<C: OutputCriterion + Send + 'static>(outputs: Outputs<C>) -> Self {
        assert_eq!(C::WEIGHTED, WEIGHTED, "weights");
        Self(Box::new(outputs))
    }
}

/// [`Outputs`] of some criterion, with nodes, tables and buffers of types that only it knows.
trait ErasedOutputs: Send + Sync {
    fn describe(&self, rows: &[u32]) -> AnyNode;
    fn tabulate(&self, node: &AnyNode, rows: &[u32], table: &mut AnyTable);
    fn is_pure(&self, node: &AnyNode) -> bool;
    fn forbids_every_cut(&self, node: &AnyNode) -> bool;
    fn nothing(&self, node: &AnyNode) -> Option<f64>;
    fn impurity(&self, node: &AnyNode) -> f64;
    fn n_values(&self) -> usize;
    fn write_value(&self, node: &AnyNode, values: &mut Vec<f64>);
    fn noise(&self, node: &AnyNode) -> f64;
    fn n_label_numbers(&self) -> usize;
    fn label_numbers(&self, row: u32, numbers: &mut Vec<f64>) -> f64;
    fn sweep(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        cuts: &Cuts<Same<'_>>,
        contest: &mut dyn Contest,
        scratch: &mut AnyScratch,
    );
    fn gain_of_cut(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut AnyScratch,
    ) -> Option<f64>;
}

const FOREIGN: &str = "nodes and tables are those of the same outputs";

fn stats<C: OutputCriterion<NodeStats: 'static>>(node: &AnyNode) -> &OutputsNode<C::NodeStats> {
    node.outputs.downcast_ref().expect(FOREIGN)
}

fn tables<C: OutputCriterion + 'static>(table: &AnyTable) -> &OutputTables<C> {
    table.0.as_ref().and_then(|table| table.downcast_ref()).expect(FOREIGN)
}

fn buffers<C: OutputCriterion + 'static>(sweep: &mut Option<Box<dyn Any + Send>>) -> &mut OutputsScratch<C> {
    let sweep = sweep.get_or_insert_with(|| Box::new(OutputsScratch::<C>::default()));
    sweep.downcast_mut().expect(FOREIGN)
}

impl<C: OutputCriterion + Send + 'static> ErasedOutputs for Outputs<C> {
    fn describe(&self, rows: &[u32]) -> AnyNode {
        let node = self.describe(rows);
        AnyNode { rows: self.rows(&node), weight: self.weight(&node), outputs: Box::new(node) }
    }

    fn tabulate(&self, node: &AnyNode, rows: &[u32], table: &mut AnyTable) {
        let table = table.0.get_or_insert_with(|| Box::new(OutputTables::<C>::default()));
        self.tabulate(stats::<C>(node), rows, table.downcast_mut().expect(FOREIGN));
    }

    fn is_pure(&self, node: &AnyNode) -> bool {
        self.is_pure(stats::<C>(node))
    }

    fn forbids_every_cut(&self, node: &AnyNode) -> bool {
        self.forbids_every_cut(stats::<C>(node))
    }

    fn nothing(&self, node: &AnyNode) -> Option<f64> {
        C::OFTEN_GAINS_NOTHING.then(|| self.noise(stats::<C>(node)))
    }

    fn impurity(&self, node: &AnyNode) -> f64 {
        self.mean(stats::<C>(node), C::impurity)
    }

    fn n_values(&self) -> usize {
        self.criteria.iter().map(C::n_values).sum()
    }

    fn write_value(&self, node: &AnyNode, values: &mut Vec<f64>) {
        for (criterion, node) in self.criteria.iter().zip(&stats::<C>(node).outputs) {
            criterion.write_value(node, values);
        }
    }

    fn noise(&self, node: &AnyNode) -> f64 {
        self.noise(stats::<C>(node))
    }

    fn n_label_numbers(&self) -> usize {
        self.criteria.iter().map(C::n_label_numbers).sum()
    }

    fn label_numbers(&self, row: u32, numbers: &mut Vec<f64>) -> f64 {
        self.label_numbers(row, numbers)
    }

    fn sweep(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        cuts: &Cuts<Same<'_>>,
        contest: &mut dyn Contest,
        scratch: &mut AnyScratch,
    ) {
        let AnyScratch { ranks, sweep } = scratch;
        C::sweep_outputs(self, stats::<C>(node), tables(table), ranks, cuts, contest, buffers::<C>(sweep));
    }

    fn gain_of_cut(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut AnyScratch,
    ) -> Option<f64> {
        C::gain_of_outputs(self, stats::<C>(node), tables(table), ranks, cut, buffers::<C>(&mut scratch.sweep))
    }
}

impl<const WEIGHTED: bool> Criterion for AnyOutputs<WEIGHTED> {
    /// The number of the row among the rows of the fit.
    type Item = u32;
    /// The rank of the row in the node's table.
    type Contribution = u32;
    type NodeStats = AnyNode;
    type Table = AnyTable;
    type Scratch = AnyScratch;
    type Ranking = Ranked;
    type Bounds = NoBounds;
    type TinyKernel = NoTinyKernel;
    type Groups = NoGroups;
    const WEIGHTED: bool = WEIGHTED;

    fn nothing(&self, node: &AnyNode) -> Option<f64> {
        self.0.nothing(node)
    }

    fn describe(&self, rows: &[u32]) -> AnyNode {
        self.0.describe(rows)
    }

    fn tabulate(&self, node: &AnyNode, rows: &[u32], table: &mut AnyTable) {
        self.0.tabulate(node, rows, table);
    }

    fn is_pure(&self, node: &AnyNode) -> bool {
        self.0.is_pure(node)
    }

    fn forbids_every_cut(&self, node: &AnyNode) -> bool {
        self.0.forbids_every_cut(node)
    }

    fn rows(&self, node: &AnyNode) -> usize {
        node.rows
    }

    fn weight(&self, node: &AnyNode) -> f64 {
        node.weight
    }

    fn impurity(&self, node: &AnyNode) -> f64 {
        self.0.impurity(node)
    }

    fn n_values(&self) -> usize {
        self.0.n_values()
    }

    fn write_value(&self, node: &AnyNode, values: &mut Vec<f64>) {
        self.0.write_value(node, values);
    }

    #[inline(always)]
    fn contribution(&self, _: &AnyNode, _: u32, rank: impl FnOnce() -> usize) -> u32 {
        rank() as u32
    }

    fn sweep<P: ContributionsOf<Self>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        ranks: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut AnyScratch,
    ) {
        scratch.ranks.resize(ranks.len(), 0);
        ranks.fill(0, &mut scratch.ranks);
        self.0.sweep(node, table, &cuts.erased(), contest, scratch);
    }

    fn gain_of_cut(
        &self,
        node: &AnyNode,
        table: &AnyTable,
        ranks: &[u32],
        cut: &OneCut<'_>,
        scratch: &mut AnyScratch,
    ) -> Option<f64> {
        self.0.gain_of_cut(node, table, ranks, cut, scratch)
    }

    fn noise(&self, node: &AnyNode) -> f64 {
        self.0.noise(node)
    }

    /// Gains are already in units of the loss.
    fn loss_decrease(&self, _: &AnyNode, gain: f64) -> f64 {
        gain
    }

    fn label_order(&self, _: &AnyNode) -> LabelOrder {
        LabelOrder::Component
    }

    fn n_label_numbers(&self) -> usize {
        self.0.n_label_numbers()
    }

    fn label_numbers(&self, row: u32, numbers: &mut Vec<f64>) -> f64 {
        self.0.label_numbers(row, numbers)
    }
}
