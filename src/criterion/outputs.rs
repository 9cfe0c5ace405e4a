//! Several outputs at once: the loss is the mean of the losses of all.
//!
//! Each output has a criterion of its own, which tells the gains of all cuts; the sums of these decide. Nothing can be skipped, for
//! what one output thinks little of, another may want. Cost: a whole sweep for each output.

use super::{Criterion, Cuts};
use crate::split::{Contest, Cut};
use crate::steps::{Carried, Marked, Steps};

/// One output: its criterion, and the target of each row of X.
pub(crate) struct Output<C: Criterion> {
    pub criterion: C,
    pub items: Vec<C::Item>,
}

/// All outputs, at least one.
pub(crate) struct Outputs<C: Criterion>(pub Vec<Output<C>>);

/// What each output knows of a node.
pub(crate) struct Node<N> {
    outputs: Vec<N>,
}

/// Of each output: its table, and its targets' tickets in ascending order where order counts.
pub(crate) struct Table<T> {
    outputs: Vec<(T, Vec<usize>)>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { outputs: Vec::new() }
    }
}

/// Buffers of a sweep.
pub(crate) struct Scratch<S> {
    rows: Vec<u32>,
    /// By number of rows on the left: the gain, and how many outputs allow the cut.
    gains: Vec<(f64, usize)>,
    sweep: S,
}

impl<S: Default> Default for Scratch<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), gains: Vec::new(), sweep: S::default() }
    }
}

/// Adds up the gains of all cuts.
struct Ledger<'a, F> {
    gains: &'a mut [(f64, usize)],
    loss_decrease: F,
}

impl<F: Fn(f64) -> f64> Contest for Ledger<'_, F> {
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
    /// The targets of some rows, in ascending order where that counts.
    fn gather(&self, rows: &[u32]) -> Vec<C::Item> {
        let mut items: Vec<C::Item> = rows.iter().map(|&row| self.items[row as usize]).collect();
        if C::ORDERED {
            items.sort_unstable_by_key(|&item| C::ticket(item));
        }
        items
    }

    fn tabulate(&self, node: &C::Node, rows: &[u32]) -> (C::Table, Vec<usize>) {
        let items = self.gather(rows);
        let mut table = C::Table::default();
        self.criterion.tabulate(node, &items, &mut table);
        let tickets = if C::ORDERED { items.into_iter().map(C::ticket).collect() } else { Vec::new() };
        (table, tickets)
    }
}

impl<C: Criterion> Outputs<C> {
    /// A sum over the outputs, averaged.
    fn mean(&self, node: &Node<C::Node>, of: impl Fn(&C, &C::Node) -> f64) -> f64 {
        let sum: f64 = self.0.iter().zip(&node.outputs).map(|(output, node)| of(&output.criterion, node)).sum();
        sum / self.0.len() as f64
    }

    fn first<'a>(&'a self, node: &'a Node<C::Node>) -> (&'a C, &'a C::Node) {
        (&self.0[0].criterion, &node.outputs[0])
    }
}

impl<C: Criterion> Criterion for Outputs<C> {
    /// The row of X.
    type Item = u32;
    type Step = u32;
    type Node = Node<C::Node>;
    type Table = Table<C::Table>;
    type Scratch = Scratch<C::Scratch>;
    type Mark = C::Mark;
    const WEIGHTED: bool = C::WEIGHTED;

    fn describe(&self, rows: &[u32]) -> Self::Node {
        Node { outputs: self.0.iter().map(|output| output.criterion.describe(&output.gather(rows))).collect() }
    }

    fn is_pure(&self, node: &Self::Node) -> bool {
        let mut outputs = self.0.iter().zip(&node.outputs);
        outputs.clone().any(|(output, node)| output.criterion.is_hopeless(node))
            || outputs.all(|(output, node)| output.criterion.is_pure(node))
    }

    fn rows(&self, node: &Self::Node) -> usize {
        let (criterion, node) = self.first(node);
        criterion.rows(node)
    }

    fn weight(&self, node: &Self::Node) -> f64 {
        let (criterion, node) = self.first(node);
        criterion.weight(node)
    }

    fn impurity(&self, node: &Self::Node) -> f64 {
        self.mean(node, C::impurity)
    }

    fn n_values(&self) -> usize {
        self.0.iter().map(|output| output.criterion.n_values()).sum()
    }

    fn write_value(&self, node: &Self::Node, values: &mut Vec<f64>) {
        for (output, node) in self.0.iter().zip(&node.outputs) {
            output.criterion.write_value(node, values);
        }
    }

    fn tabulate(&self, node: &Self::Node, rows: &[u32], table: &mut Self::Table) {
        table.outputs = self.0.iter().zip(&node.outputs).map(|(output, node)| output.tabulate(node, rows)).collect();
    }

    fn step(&self, _: &Self::Node, row: u32, _: impl FnOnce() -> usize) -> u32 {
        row
    }

    fn sweep<P: Steps<Step = u32>, F: Fn(usize, usize) -> bool, O: Contest>(
        &self,
        node: &Self::Node,
        table: &Self::Table,
        steps: &P,
        cuts: &Cuts<F>,
        contest: &mut O,
        scratch: &mut Self::Scratch,
    ) {
        let Scratch { rows, gains, sweep } = scratch;
        rows.clear();
        rows.extend((0..steps.len()).map(|place| steps.at(place)));
        gains.clear();
        gains.resize(steps.len(), (0.0, 0));
        let mut n_asked = 0;
        for ((output, node), (table, tickets)) in self.0.iter().zip(&node.outputs).zip(&table.outputs) {
            let Output { criterion, items } = output;
            // Has nothing to gain, and nothing against any cut.
            if criterion.is_pure(node) {
                continue;
            }
            n_asked += 1;
            let rank = |row: u32| {
                let ticket = C::ticket(items[row as usize]);
                tickets.binary_search(&ticket).expect("every row of the node has its ticket")
            };
            let step = |row: u32| criterion.step(node, items[row as usize], || rank(row));
            let marks = C::marks(table);
            let steps = Marked { steps: Carried { items: rows, step }, mark: |place: usize| marks[rank(rows[place])] };
            let mut ledger = Ledger { gains, loss_decrease: |gain| criterion.loss_decrease(node, gain) };
            let ledger: &mut dyn Contest = &mut ledger;
            criterion.sweep(node, table, &steps, cuts, &mut { ledger }, sweep);
        }
        for (n_left, &(gain, n_allowed)) in gains.iter().enumerate() {
            if n_allowed == n_asked && n_allowed > 0 {
                contest.offer(gain / self.0.len() as f64, cuts.cut(n_left));
            }
        }
    }

    fn sample(&self, _: u32) -> (f64, f64) {
        unreachable!("several outputs are not one number")
    }

    fn noise(&self, node: &Self::Node) -> f64 {
        self.mean(node, |criterion, node| criterion.loss_decrease(node, criterion.noise(node)))
    }

    /// Gains are of the loss itself.
    fn loss_decrease(&self, _: &Self::Node, gain: f64) -> f64 {
        gain
    }
}
