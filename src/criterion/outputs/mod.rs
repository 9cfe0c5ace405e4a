//! Several outputs at once: the loss is the mean of the losses of all outputs.
//!
//! Targets are too wide to be carried along in every column. A column carries the number of the
//! row among the rows of the fit, and a node's table has what each of its rows adds to the sums of
//! each output:
//!
//! ```text
//! targets         row 0: a0 b0 c0   row 1: a1 b1 c1   …      all rows of the fit, row after row
//! node's table    rank 0: A0 C0     rank 1: A1 C1     …      its rows, ascending, on its grids;
//!                                                            outputs that are pure are left out
//! ```
//!
//! The rank of a row in its node's table is looked up like that of criteria that rank targets.
//! `sweep.rs` adds up the gains; `screen.rs` rules out most cuts before. The engines see one type
//! for all criteria (`any.rs`). Cost: O(rows · outputs) per feature; quantiles have one whole sweep
//! per output, and a sort of each node's targets per output.

mod any;
mod screen;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use self::any::AnyOutputs;
use self::screen::Screen;
pub(crate) use self::sweep::OutputCriterion;
use super::{Criterion, TargetRanking};

/// All outputs, at least one, by the same criterion.
pub(crate) struct Outputs<C: Criterion> {
    /// By output. They differ only in what they know of all targets of their output.
    criteria: Vec<C>,
    /// The targets of each row of the fit, row after row.
    targets: Vec<C::Item>,
}

/// The statistics of each output of a node.
pub(crate) struct OutputsNode<N> {
    outputs: Vec<N>,
}

/// What the rows of a node add to the sums of its outputs.
pub(crate) struct OutputTables<C: OutputCriterion> {
    /// The outputs that are not pure: a pure one gains nothing from any cut and allows all of them.
    open: Vec<usize>,
    /// Row after row: the contributions to the open outputs.
    contributions: Vec<C::Contribution>,
    /// By open output, as are the tables: the running sums before the first row.
    start: Vec<C::OutputSums>,
    tables: Vec<C::Table>,
    screen: Screen,
    buffers: TableBuffers<C::Item>,
}

struct TableBuffers<I> {
    /// The targets of one output.
    items: Vec<I>,
    /// Global rank and place of each row, in ascending order.
    order: Vec<(usize, u32)>,
}

impl<C: OutputCriterion> Default for OutputTables<C> {
    fn default() -> Self {
        let buffers = TableBuffers { items: Vec::new(), order: Vec::new() };
        let (contributions, start, tables) = (Vec::new(), Vec::new(), Vec::new());
        Self { open: Vec::new(), contributions, start, tables, screen: Screen::default(), buffers }
    }
}

impl<C: OutputCriterion> Outputs<C> {
    /// `targets` has the targets of each output, of the same rows.
    pub fn new(outputs: impl IntoIterator<Item = (C, Vec<C::Item>)>) -> Self {
        let (criteria, columns): (Vec<C>, Vec<Vec<C::Item>>) = outputs.into_iter().unzip();
        let targets = (0..columns[0].len()).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Self { criteria, targets }
    }

    /// The targets of some rows for one output.
    fn items_of(&self, rows: &[u32], output: usize) -> impl Iterator<Item = C::Item> {
        let n_outputs = self.criteria.len();
        rows.iter().map(move |&row| self.targets[row as usize * n_outputs + output])
    }

    /// The mean of a quantity over the outputs.
    fn mean(&self, node: &OutputsNode<C::NodeStats>, of: impl Fn(&C, &C::NodeStats) -> f64) -> f64 {
        let sum: f64 = self.criteria.iter().zip(&node.outputs).map(|(criterion, node)| of(criterion, node)).sum();
        sum / self.criteria.len() as f64
    }

    fn first<'a>(&'a self, node: &'a OutputsNode<C::NodeStats>) -> (&'a C, &'a C::NodeStats) {
        (&self.criteria[0], &node.outputs[0])
    }

    /// Writes the contributions of the rows to one output, and makes its table.
    fn tabulate_output(
        &self,
        node: &OutputsNode<C::NodeStats>,
        rows: &[u32],
        place: usize,
        table: &mut OutputTables<C>,
    ) {
        let OutputTables { open, contributions, start, tables, buffers: TableBuffers { items, order }, .. } = table;
        let (criterion, node) = (&self.criteria[open[place]], &node.outputs[open[place]]);
        criterion.start_output(node, &mut start[place]);
        items.clear();
        items.extend(self.items_of(rows, open[place]));
        let slots = contributions.iter_mut().skip(place).step_by(open.len());
        if !C::Ranking::RANKED {
            for (slot, &item) in slots.zip(&*items) {
                *slot = criterion.contribution(node, item, || 0);
            }
            return;
        }
        order.clear();
        order.extend(items.iter().zip(0..).map(|(&item, place)| (C::Ranking::global_rank(item), place)));
        order.sort_unstable();
        for (rank, &(_, row)) in order.iter().enumerate() {
            contributions[row as usize * open.len() + place] =
                criterion.contribution(node, items[row as usize], || rank);
        }
        items.sort_unstable_by_key(|&item| C::Ranking::global_rank(item));
        criterion.tabulate(node, items, &mut tables[place]);
    }
}

impl<C: OutputCriterion> Outputs<C> {
    fn describe(&self, rows: &[u32]) -> OutputsNode<C::NodeStats> {
        let mut items = Vec::with_capacity(rows.len());
        let mut describe = |output: usize| {
            items.clear();
            items.extend(self.items_of(rows, output));
            if C::Ranking::RANKED {
                items.sort_unstable_by_key(|&item| C::Ranking::global_rank(item));
            }
            self.criteria[output].describe(&items)
        };
        OutputsNode { outputs: (0..self.criteria.len()).map(&mut describe).collect() }
    }

    fn is_pure(&self, node: &OutputsNode<C::NodeStats>) -> bool {
        self.forbids_every_cut(node)
            || self.criteria.iter().zip(&node.outputs).all(|(criterion, node)| criterion.is_pure(node))
    }

    fn forbids_every_cut(&self, node: &OutputsNode<C::NodeStats>) -> bool {
        self.criteria.iter().zip(&node.outputs).any(|(criterion, node)| criterion.forbids_every_cut(node))
    }

    fn rows(&self, node: &OutputsNode<C::NodeStats>) -> usize {
        let (criterion, node) = self.first(node);
        criterion.rows(node)
    }

    fn weight(&self, node: &OutputsNode<C::NodeStats>) -> f64 {
        let (criterion, node) = self.first(node);
        criterion.weight(node)
    }

    fn tabulate(&self, node: &OutputsNode<C::NodeStats>, rows: &[u32], table: &mut OutputTables<C>) {
        let is_open = |&output: &usize| !self.criteria[output].is_pure(&node.outputs[output]);
        table.open.clear();
        table.open.extend((0..self.criteria.len()).filter(is_open));
        table.contributions.resize(rows.len() * table.open.len(), C::Contribution::default());
        table.start.resize_with(table.open.len(), C::OutputSums::default);
        table.tables.resize_with(table.open.len(), C::Table::default);
        for place in 0..table.open.len() {
            self.tabulate_output(node, rows, place, table);
        }
        C::screen_outputs(self, rows.len(), table);
    }

    /// Absolute error of the gains, in units of the loss.
    fn noise(&self, node: &OutputsNode<C::NodeStats>) -> f64 {
        self.mean(node, |criterion, node| criterion.loss_decrease(node, criterion.noise(node)))
    }

    /// Appends the numbers of all outputs behind the targets of a row, and returns its weight.
    fn label_numbers(&self, row: u32, numbers: &mut Vec<f64>) -> f64 {
        let items = &self.targets[row as usize * self.criteria.len()..];
        let mut weight = 0.0;
        for (criterion, &item) in self.criteria.iter().zip(items) {
            weight = criterion.label_numbers(item, numbers);
        }
        weight
    }
}
