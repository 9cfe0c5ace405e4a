//! Entry points of a fit: check the arguments, choose the criterion, grow the tree, limit its
//! leaves.
//!
//! ```text
//! fit, fit_sparse, … → fit_any → fit_source     per cell type
//!     Params::check                             see `params/valid.rs`
//!     repeats::fit                              medians and whole weights: copies of rows
//!     FitTask::grow_objective                   per criterion: scale the targets, add weights
//!         grow::grow                            dense X, best split of numbers
//!         random_splits::grow                   dense X, random thresholds
//!         sparse::grow                          sparse X
//!         general::grow                         categories
//!     with_best_leaves, pruned                  if leaves are limited or have a cost
//! ```
//!
//! Targets are divided by a power of two, so that no square over- or underflows, and results are
//! multiplied by it: both are exact. Each combination of cell type and criterion is compiled once.

mod outputs;
mod repeats;
#[cfg(test)]
mod tests;

use crate::columns::{Columns, SortedColumn};
use crate::criterion::classes::Classes;
use crate::criterion::poisson::Poisson;
use crate::criterion::quantile::{Quantile, QuantileReport, RankedSample};
use crate::criterion::squared::{SquaredError, SquaredReport};
use crate::criterion::{Criterion, GroupOf, GroupSums, RunningSums, TargetRanking, Weighted};
use crate::data::{AnySource, Cell, Entry, Matrix, Rows, Source, SparseColumns, Target, power_of_two};
use crate::error::{Error, Result};
use crate::grow::general::{self, RowOrders};
use crate::grow::sparse::{self, ColumnSearch};
use crate::grow::sparse_column::BySums;
use crate::grow::sparse_sweep::BySweeps;
use crate::grow::subtree::max_rows;
use crate::grow::{Fit, Units, grow, random_splits};
use crate::median::Level;
use crate::memory::check_room;
use crate::params::{
    Choices, ColumnStorage, Impurity, Loss, MedianMethod, Objective, Params, Rules, ValidFit, ValueLoss,
};
use crate::presort::presort;
use crate::shared_order::TreeOrder;
use crate::threads::Team;
use crate::tree::Tree;
use crate::wire::Wire;

/// Fits a decision tree.
///
/// Rows with weight 0 are ignored. The tree is the same for every number of threads and memory
/// order of `x`.
///
/// # Errors
/// If lengths differ, `y` or weights are not finite, all weights are zero, the loss does not
/// support the target, a setting is invalid, or there is not enough memory.
pub fn fit<X: Cell>(
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_while(|_| true, x, target, weights, loss, params)
}

/// Fits a decision tree and calls `go_on` several times per second with the share of rows that have
/// reached their leaf. The fit stops when `go_on` returns false.
///
/// # Errors
/// As [`fit`], and [`Error::Interrupted`] if `go_on` returned false.
pub fn fit_while<X: Cell>(
    mut go_on: impl FnMut(f64) -> bool,
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_any(&mut go_on, X::any(Source::Dense(x)), target, weights, loss, params)
}

/// [`fit`] for sparse columns. The tree is the same as for a dense matrix of the same cells.
///
/// # Errors
/// As [`fit`].
pub fn fit_sparse<X: Cell>(
    x: &SparseColumns<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_sparse_while(|_| true, x, target, weights, loss, params)
}

/// [`fit_while`] for sparse columns.
///
/// # Errors
/// As [`fit_while`].
pub fn fit_sparse_while<X: Cell>(
    mut go_on: impl FnMut(f64) -> bool,
    x: &SparseColumns<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_any(&mut go_on, X::any(Source::Sparse(x)), target, weights, loss, params)
}

/// Has no type parameters, so that it is compiled in this crate and not in each crate that calls
/// it.
fn fit_any(
    go_on: &mut dyn FnMut(f64) -> bool,
    x: AnySource<'_>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    match x {
        AnySource::Single(x) => fit_source(go_on, x, target, weights, loss, params),
        AnySource::Double(x) => fit_source(go_on, x, target, weights, loss, params),
    }
}

fn fit_source<X: Cell>(
    go_on: &mut dyn FnMut(f64) -> bool,
    x: Source<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    let valid = params.check(x.values(), target, weights, loss)?;
    let grow = |x: Source<'_, X>, weights: Option<&[f64]>, valid: &ValidFit<'_>| {
        let team = Team::new(params.n_jobs, valid.rows.len(), x.values().n_rows() * x.values().n_columns())?;
        team.supervise(|| fit_valid(x, weights, valid, params.median_method, None, &team), go_on)
    };
    match valid.repeated(&valid.rows, weights) {
        None => grow(x, weights, &valid),
        Some(rows) => repeats::fit(x, &rows, params, &valid, |x, valid| grow(x, None, valid)),
    }
}

/// Fits a tree to data that passed all checks, with the threads of this team. `order` has the order
/// of the columns, if it is known.
pub(crate) fn fit_valid<X: Cell>(
    x: Source<'_, X>,
    weights: Option<&[f64]>,
    valid: &ValidFit<'_>,
    method: MedianMethod,
    order: Option<&TreeOrder<'_>>,
    team: &Team,
) -> Result<Tree> {
    let &ValidFit { ref rows, ref rules, ref choices, storage, max_leaves, ccp_alpha, objective, .. } = valid;
    // The heaps sweep whole columns, of which sparse X has only the entries.
    let method = if matches!(x, Source::Sparse(_)) { MedianMethod::RankBitmap } else { method };
    let task = FitTask { engine: LocalEngine { x, choices: choices.as_ref(), storage }, rows, rules, order, team };
    let tree = task.grow_any(objective, weights, method)?;
    limit_leaves(tree.with_outputs(objective.n_outputs())?, max_leaves, ccp_alpha)
}

/// Limits the leaves of a grown tree, and prunes it.
pub(crate) fn limit_leaves(tree: Tree, max_leaves: usize, ccp_alpha: f64) -> Result<Tree> {
    let tree = if max_leaves < tree.n_leaves() { tree.with_best_leaves(max_leaves)? } else { tree };
    if ccp_alpha == 0.0 { Ok(tree) } else { tree.pruned(ccp_alpha) }
}

/// Bytes of a node's groups, per feature: few enough for the first-level cache, and per row of the
/// smallest node that is searched by codes.
const MAX_GROUP_BYTES: usize = 32_768;
const GROUP_BYTES: usize = 4;

/// Memory of a fit beside its columns: bytes per row, bytes per row and worker, bytes per node.
const ROW_BYTES: usize = 32;
const WORKER_ROW_BYTES: usize = 24;
const NODE_BYTES: usize = 48;
/// Additional memory for criteria that rank their targets: bytes per row, without and with weights,
/// and bytes per row and worker.
const RANKED_ROW_BYTES: [usize; 2] = [52, 84];
const RANKED_WORKER_ROW_BYTES: usize = 12;
/// The same where features may be coded: lists of rows and their items. The codes and the groups of
/// a feature take less than a sorted column.
const CODED_ROW_BYTES: usize = 36;

/// A fit before its criterion is chosen.
pub(crate) struct FitTask<'a, E> {
    pub engine: E,
    pub rows: &'a Rows,
    pub rules: &'a Rules,
    /// `None`: the columns and the targets are still to be sorted.
    pub order: Option<&'a TreeOrder<'a>>,
    pub team: &'a Team,
}

/// What grows the tree, once the criterion is chosen.
pub(crate) trait Engine: Sized {
    type Grown;

    /// Grows a tree for a criterion that needs only sums.
    fn grow_by_sums<C: RunningSums + Criterion<NodeStats: Wire> + Send + 'static>(
        task: FitTask<'_, Self>,
        criterion: C,
        items: Vec<C::Item>,
        units: Units,
        rules: Rules,
    ) -> Result<Self::Grown> {
        Self::grow(task, criterion, items, SortedColumn::with_len(0), units, rules)
    }

    /// Grows a tree with a column of targets, which is empty if the criterion doesn't rank them.
    fn grow<C: Criterion<NodeStats: Wire> + Send + 'static>(
        task: FitTask<'_, Self>,
        criterion: C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        units: Units,
        rules: Rules,
    ) -> Result<Self::Grown>;
}

/// The engine of fits within one process.
struct LocalEngine<'a, X> {
    x: Source<'a, X>,
    /// `None`: every split is the best of all splits, and all features are numeric.
    choices: Option<&'a Choices>,
    storage: ColumnStorage,
}

impl<E: Engine> FitTask<'_, E> {
    /// Picks the criterion of one output and grows the tree.
    pub fn grow_objective(
        self,
        objective: Objective<'_>,
        weights: Option<&[f64]>,
        method: MedianMethod,
    ) -> Result<E::Grown> {
        match objective {
            Objective::Values { y, loss, .. } => match loss {
                ValueLoss::SquaredError => self.squared(y.to_vec(), weights, SquaredReport::Mean),
                ValueLoss::AbsoluteError => {
                    self.quantile(y, weights, Level::HALF, QuantileReport::AbsoluteError, method)
                }
                ValueLoss::Quantile(level) => self.quantile(y, weights, level, QuantileReport::PinballLoss, method),
                ValueLoss::Poisson => self.poisson(y, weights),
            },
            Objective::Classes { codes, n_classes: 2, impurity: Impurity::Gini, .. } => {
                self.squared(codes.iter().map(|&code| f64::from(code)).collect(), weights, SquaredReport::TwoClasses)
            }
            Objective::Classes { codes, n_classes, impurity, .. } => self.classes(codes, n_classes, weights, impurity),
        }
    }

    fn squared(self, mut y: Vec<f64>, weights: Option<&[f64]>, report: SquaredReport) -> Result<E::Grown> {
        let unit = power_of_two(&y);
        for y in &mut y {
            *y /= unit;
        }
        // Two divisions: the square of the unit may over- or underflow.
        let rules = Rules { min_gain: self.rules.min_gain / unit / unit, ..*self.rules };
        match weights {
            None => self.grow(SquaredError::<f64>::new(report), y, [unit, unit * unit], rules),
            Some(weights) => {
                let items = self.with_weights(&y, weights);
                self.grow(SquaredError::<Weighted<f64>>::new(report), items, [unit, unit * unit], rules)
            }
        }
    }

    fn quantile(
        self,
        y: &[f64],
        weights: Option<&[f64]>,
        level: Level,
        report: QuantileReport,
        method: MedianMethod,
    ) -> Result<E::Grown> {
        let unit = power_of_two(y);
        let y: Vec<f64> = y.iter().map(|y| y / unit).collect();
        let rules = Rules { min_gain: self.rules.min_gain / unit, ..*self.rules };
        match weights {
            None => {
                let (targets, items, order) = self.rank(&y, &y)?;
                let copies = self.rows.copies_among(&order.rows);
                let criterion = Quantile::new(level, report, method, targets).with_copies(copies);
                self.grow_ranked(criterion, items, order, [unit; 2], rules)
            }
            Some(weights) => {
                let (targets, items, order) = self.rank(&y, &self.with_weights(&y, weights))?;
                self.grow_ranked(Quantile::new(level, report, method, targets), items, order, [unit; 2], rules)
            }
        }
    }

    /// Sorts the targets. Returns them in ascending order, the global rank of each row, and the
    /// column of targets.
    fn rank<T: RankedSample>(&self, y: &[f64], targets: &[T]) -> Result<(Vec<T>, Vec<u32>, SortedColumn<u32>)> {
        let sorted = self.order.and_then(|order| order.targets(targets));
        let sort = || -> Result<SortedColumn<T>> {
            let column = Matrix::from_rows(y, y.len(), 1)?;
            Ok(presort(&column, self.rows, targets, 0, self.team).features.swap_remove(0))
        };
        let SortedColumn { rows, items } = sorted.map_or_else(sort, Ok)?;
        if self.team.cancelled() {
            // The column may be unsorted: its numbers are keys, not rows.
            return Err(Error::Interrupted);
        }
        let mut global_ranks = vec![0; y.len()];
        for (global_rank, &row) in (0..).zip(&rows) {
            global_ranks[row as usize] = global_rank;
        }
        let order = SortedColumn { items: (0..rows.len() as u32).collect(), rows };
        Ok((items, global_ranks, order))
    }

    fn poisson(self, y: &[f64], weights: Option<&[f64]>) -> Result<E::Grown> {
        let unit = power_of_two(y);
        let y: Vec<f64> = y.iter().map(|y| y / unit).collect();
        let rules = Rules { min_gain: self.rules.min_gain / unit, ..*self.rules };
        match weights {
            None => self.grow(Poisson::<f64>::new(), y, [unit; 2], rules),
            Some(weights) => {
                let items = self.with_weights(&y, weights);
                self.grow(Poisson::<Weighted<f64>>::new(), items, [unit; 2], rules)
            }
        }
    }

    fn classes(self, codes: &[u32], n_classes: usize, weights: Option<&[f64]>, impurity: Impurity) -> Result<E::Grown> {
        let (n_rows, rules) = (codes.len(), *self.rules);
        match weights {
            None => self.grow(Classes::<u32>::new(impurity, n_classes, n_rows), codes.to_vec(), [1.0; 2], rules),
            Some(weights) => {
                let items = self.with_weights(codes, weights);
                self.grow(Classes::<Weighted<u32>>::new(impurity, n_classes, n_rows), items, [1.0; 2], rules)
            }
        }
    }

    /// Targets with their weights, in units of `weight_unit`.
    fn with_weights<Y: Copy>(&self, targets: &[Y], weights: &[f64]) -> Vec<Weighted<Y>> {
        let unit = self.rows.weight_unit;
        targets.iter().zip(weights).map(|(&y, &weight)| Weighted { y, weight: weight / unit }).collect()
    }

    /// Grows a tree for a criterion that needs only sums. The units are those of targets and
    /// impurities.
    fn grow<C: RunningSums + Criterion<NodeStats: Wire> + Send + 'static>(
        self,
        criterion: C,
        items: Vec<C::Item>,
        [target, impurity]: [f64; 2],
        rules: Rules,
    ) -> Result<E::Grown> {
        let units = Units { target, impurity, weight: self.rows.weight_unit };
        E::grow_by_sums(self, criterion, items, units, rules)
    }

    /// Grows a tree with a column of targets. The units are those of targets and impurities.
    fn grow_ranked<C: Criterion<NodeStats: Wire> + Send + 'static>(
        self,
        criterion: C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        [target, impurity]: [f64; 2],
        rules: Rules,
    ) -> Result<E::Grown> {
        let units = Units { target, impurity, weight: self.rows.weight_unit };
        E::grow(self, criterion, items, order, units, rules)
    }
}

impl<X: Cell> Engine for LocalEngine<'_, X> {
    type Grown = Tree;

    fn grow_by_sums<C: RunningSums + Criterion<NodeStats: Wire> + Send + 'static>(
        task: FitTask<'_, Self>,
        criterion: C,
        items: Vec<C::Item>,
        units: Units,
        rules: Rules,
    ) -> Result<Tree> {
        match task.entries() {
            Some(x) => task.grow_sparse::<C, BySums>(x, &criterion, &items, Vec::new(), units, &rules),
            None => task.grow_locally(&criterion, items, SortedColumn::with_len(0), units, &rules),
        }
    }

    fn grow<C: Criterion<NodeStats: Wire> + Send + 'static>(
        task: FitTask<'_, Self>,
        criterion: C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        units: Units,
        rules: Rules,
    ) -> Result<Tree> {
        task.grow_ranked_locally(&criterion, items, order, units, &rules)
    }
}

impl<X: Cell> FitTask<'_, LocalEngine<'_, X>> {
    /// Picks the criterion of any number of outputs and grows the tree.
    fn grow_any(self, objective: Objective<'_>, weights: Option<&[f64]>, method: MedianMethod) -> Result<Tree> {
        match objective {
            Objective::Values { y, n_outputs, loss } if n_outputs > 1 => {
                self.many_values(y, n_outputs, weights, loss, method)
            }
            Objective::Classes { codes, n_outputs, n_classes, impurity } if n_outputs > 1 => {
                self.many_classes(codes, n_outputs, n_classes, weights, impurity)
            }
            _ => self.grow_objective(objective, weights, method),
        }
    }

    /// Returns an error if the memory of the fit can't be allocated. `item_bytes` is the size of an
    /// item that a column carries beside the row id, `more_row_bytes` what the engine needs per row
    /// beside the usual. The nodes' values for several classes or
    /// outputs are not included: the number of nodes is not known in advance.
    fn check_memory<C: Criterion>(&self, item_bytes: usize, more_row_bytes: usize) -> Result<()> {
        let (n_rows, threads) = (self.rows.len(), self.team.threads());
        let n_cells = match self.engine.x {
            Source::Dense(x) => n_rows.saturating_mul(x.n_columns()),
            Source::Sparse(x) => x.n_entries(),
        };
        let columns = n_cells.saturating_mul(size_of::<u32>() + item_bytes);
        // Sides, ranks and orders of all rows, and each worker's buffers for sorts and partitions.
        let mut row_bytes = ROW_BYTES + more_row_bytes + WORKER_ROW_BYTES.max(size_of::<u32>() + item_bytes) * threads;
        if C::Ranking::RANKED {
            row_bytes += RANKED_ROW_BYTES[usize::from(C::WEIGHTED)] + RANKED_WORKER_ROW_BYTES * threads;
        }
        let buffers = n_rows * row_bytes;
        let nodes = self.rules.max_nodes(n_rows, 0) * NODE_BYTES;
        check_room(columns.saturating_add(buffers).saturating_add(nodes))
    }

    /// Sparse X without categories, whose trees are grown from its entries.
    fn entries(&self) -> Option<&SparseColumns<'_, X>> {
        match self.engine.x {
            Source::Sparse(x) if self.engine.choices.is_none_or(|choices| choices.categories.is_none()) => Some(x),
            _ => None,
        }
    }

    /// Grows a tree with a column of targets, for criteria that rank them.
    fn grow_ranked_locally<C: Criterion>(
        &self,
        criterion: &C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        units: Units,
        rules: &Rules,
    ) -> Result<Tree> {
        match self.entries() {
            Some(x) => self.grow_sparse::<C, BySweeps>(x, criterion, &items, order.rows, units, rules),
            None => self.grow_locally(criterion, items, order, units, rules),
        }
    }

    /// Grows a tree from the entries of sparse X. `targets` has the rows in the order of their
    /// targets, if the criterion ranks them.
    fn grow_sparse<C: Criterion, S: ColumnSearch<C>>(
        &self,
        x: &SparseColumns<'_, X>,
        criterion: &C,
        items: &[C::Item],
        targets: Vec<u32>,
        units: Units,
        rules: &Rules,
    ) -> Result<Tree> {
        let Self { engine: LocalEngine { choices, .. }, rows, team, .. } = *self;
        self.check_memory::<C>(size_of::<Entry<X>>(), 0)?;
        sparse::grow::<X, C, S>(&Fit { x, criterion, rules, choices, team, units }, rows, items, targets)
    }

    /// Grows a tree with a column of targets, which is empty if the criterion doesn't rank them.
    fn grow_locally<C: Criterion>(
        &self,
        criterion: &C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        units: Units,
        rules: &Rules,
    ) -> Result<Tree> {
        let Self { engine: LocalEngine { x, choices, .. }, rows, team, .. } = *self;
        match x {
            Source::Dense(x) if choices.is_some_and(Choices::are_random_splits) => {
                // X is copied.
                self.check_memory::<C>(size_of::<X>(), 0)?;
                random_splits::grow(&Fit { x, criterion, rules, choices, team, units }, rows, &items, order.rows)
            }
            Source::Dense(x) if choices.is_none_or(Choices::are_of_sorted_columns) => {
                let max_codes = self.max_codes(criterion, &items);
                self.check_memory::<C>(size_of::<C::Item>(), if max_codes > 0 { CODED_ROW_BYTES } else { 0 })?;
                let columns = Columns { targets: order, ..self.columns(x, &items, max_codes) };
                grow(&Fit { x, criterion, rules, choices, team, units }, rows, items, columns)
            }
            _ => self.grow_general(criterion, &items, order.rows, units, rules),
        }
    }

    /// Grows a tree with the general engine. `order` has the rows in the order of their targets if
    /// the criterion ranks them.
    fn grow_general<C: Criterion>(
        &self,
        criterion: &C,
        items: &[C::Item],
        order: Vec<u32>,
        units: Units,
        rules: &Rules,
    ) -> Result<Tree> {
        let Self { engine: LocalEngine { x, choices, .. }, team, .. } = *self;
        self.check_memory::<C>(0, 0)?;
        let fit = Fit { x: x.values(), criterion, rules, choices, team, units };
        let all = Params::default().all_choices(fit.x.n_columns());
        general::grow(&fit, choices.unwrap_or(&all), self.row_orders(order), items)
    }

    /// The largest number of distinct values of a feature that is coded. Features are coded if the
    /// sums of the targets are exact, and the tree searches all features of nodes that are much
    /// larger than the number of codes.
    fn max_codes<C: Criterion>(&self, criterion: &C, items: &[C::Item]) -> usize {
        let Self { engine: LocalEngine { x, choices, storage }, rows, order, .. } = *self;
        let n_features = x.values().n_columns();
        let draws = choices.is_some_and(|choices| choices.n_features < n_features);
        let small = max_rows(n_features, false);
        let max_codes = match storage {
            ColumnStorage::Auto if rows.len() > small => {
                MAX_GROUP_BYTES.min(small * GROUP_BYTES) / size_of::<GroupOf<C>>()
            }
            ColumnStorage::Auto | ColumnStorage::Sorted => 0,
            ColumnStorage::Coded => usize::from(u16::MAX),
        };
        // The order of a forest's trees is known already.
        let is_coded = max_codes > 0 && !draws && order.is_none() && C::Groups::are_exact(criterion, items);
        if is_coded { max_codes } else { 0 }
    }

    /// The sorted columns of dense X, with the targets of their rows.
    fn columns<T: Copy + Default + Send + Sync>(&self, x: &Matrix<'_, X>, items: &[T], max_codes: usize) -> Columns<T> {
        let known = self.order.and_then(|order| order.columns(x, items, self.team));
        known.unwrap_or_else(|| presort(x, self.rows, items, max_codes, self.team))
    }

    /// The rows of the fit in every order that the general engine needs.
    fn row_orders(&self, targets: Vec<u32>) -> RowOrders {
        let columns = match self.engine.x {
            Source::Dense(x) => {
                let columns = self.columns(x, &vec![(); x.n_rows()], 0).features;
                columns.into_iter().map(|column| column.rows).collect()
            }
            Source::Sparse(x) => {
                let columns = x.presort(self.rows, self.team);
                columns.into_iter().map(|column| column.into_iter().map(|entry| entry.row).collect()).collect()
            }
        };
        RowOrders { rows: (0..self.rows.len()).map(|place| self.rows.id(place)).collect(), columns, targets }
    }
}
