//! The way in: checks the data, picks the criterion, and grows the tree.

mod outputs;
#[cfg(test)]
mod tests;

use crate::columns::Column;
use crate::criterion::classes::{Classes, Impurity};
use crate::criterion::poisson::Poisson;
use crate::criterion::quantile::{self, Quantile};
use crate::criterion::squared::{Report, SquaredError};
use crate::criterion::{Criterion, Sample, Weighted};
use crate::data::{AnySource, Cell, Matrix, Rows, Source, Target, check_counts, power_of_two};
use crate::error::{Error, Result};
use crate::grow::general::{self, Orders};
use crate::grow::{Fit, Units, grow};
use crate::median::checked_level;
use crate::memory::check_room;
use crate::params::{Choices, Loss, MedianMethod, Params, Rules};
use crate::presort::presort;
use crate::sparse::SparseColumns;
use crate::threads::Team;
use crate::tree::Tree;

/// Fits a decision tree.
///
/// Rows of weight zero are left out. The tree is the same for every number of threads and memory order of `x`.
///
/// # Errors
/// If lengths differ, `y` or weights are not finite, all weights are zero, the loss does not go with the target, a
/// setting is out of its domain, or there is not enough memory.
pub fn fit<X: Cell>(
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_while(|_| true, x, target, weights, loss, params)
}

/// Fits a decision tree for as long as `go_on`, which is asked several times a second, says so. It is told the share of the rows that
/// have come to their leaf.
///
/// # Errors
/// As [`fit`], and [`Error::Interrupted`] if `go_on` has said no.
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

/// [`fit`] for sparse columns: the same tree as for a dense matrix of the same cells.
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

/// No type parameters: whoever calls this finds it compiled.
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

impl<X: Cell> Source<'_, X> {
    /// The rows that take part in the order of every feature.
    fn orders(self, rows: &Rows, targets: Vec<u32>, team: &Team) -> Orders {
        let columns = match self {
            Self::Dense(x) => {
                let columns = presort(x, rows, &vec![(); x.n_rows()], team).columns;
                columns.into_iter().map(|column| column.rows).collect()
            }
            Self::Sparse(x) => x.presort(rows, team),
        };
        Orders { rows: (0..rows.len()).map(|place| rows.id(place)).collect(), columns, targets }
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
    let (n_rows, n_columns) = (x.values().n_rows(), x.values().n_columns());
    target.check(n_rows)?;
    let rows = Rows::new(n_rows, weights)?;
    let rules = params.rules(n_rows, rows.total_weight, weights.is_some())?;
    let choices = params.choices(n_columns)?;
    let max_leaves = params.max_leaves()?;
    let team = Team::new(params.n_jobs, rows.len(), n_rows * n_columns)?;
    let task = Task { x, rows: &rows, rules: &rules, choices: choices.as_ref(), team: &team };
    task.check_loss(loss, target)?;
    let work = || match (loss, target) {
        (Loss::SquaredError, Target::Values(y)) => task.squared(y.to_vec(), weights, Report::Mean),
        (Loss::AbsoluteError, Target::Values(y)) => {
            task.quantile(y, weights, 0.5, quantile::Report::AbsoluteError, params.median_method)
        }
        (Loss::Quantile(level), Target::Values(y)) => {
            task.quantile(y, weights, level, quantile::Report::PinballLoss, params.median_method)
        }
        (Loss::Poisson, Target::Values(y)) => task.poisson(y, weights),
        (Loss::Gini, Target::Classes { codes, n_classes: 2 }) => {
            task.squared(codes.iter().map(|&code| f64::from(code)).collect(), weights, Report::TwoClasses)
        }
        (Loss::Gini, Target::Classes { codes, n_classes }) => task.classes(codes, n_classes, weights, Impurity::Gini),
        (Loss::Entropy, Target::Classes { codes, n_classes }) => {
            task.classes(codes, n_classes, weights, Impurity::Entropy)
        }
        (loss, Target::ManyValues { values, n_outputs }) => {
            task.many_values(values, n_outputs, weights, loss, params.median_method)
        }
        (Loss::Gini, Target::ManyClasses { codes, n_outputs, n_classes }) => {
            task.many_classes(codes, n_outputs, n_classes, weights, Impurity::Gini)
        }
        (Loss::Entropy, Target::ManyClasses { codes, n_outputs, n_classes }) => {
            task.many_classes(codes, n_outputs, n_classes, weights, Impurity::Entropy)
        }
        (_, Target::Classes { .. } | Target::ManyClasses { .. }) => {
            Err(Error::argument("criterion", "losses other than Gini and entropy need values, not classes"))
        }
        (_, Target::Values(_)) => Err(Error::argument("criterion", "Gini and entropy need classes, not values")),
    };
    let tree = team.supervise(work, go_on)?.with_outputs(target.n_outputs())?;
    let tree = if max_leaves < tree.n_leaves() { tree.with_best_leaves(max_leaves)? } else { tree };
    if params.ccp_alpha == 0.0 { Ok(tree) } else { tree.pruned(params.ccp_alpha) }
}

/// What a fit needs beside its columns: bytes a row, bytes a row and worker, and bytes a node.
const ROW_BYTES: usize = 32;
const WORKER_ROW_BYTES: usize = 24;
const NODE_BYTES: usize = 48;
/// And more where the order of targets counts: bytes a row for tables, of weights if there are any, and bytes a row and worker.
const ORDERED_ROW_BYTES: [usize; 2] = [16, 48];
const ORDERED_WORKER_ROW_BYTES: usize = 12;

struct Task<'a, X> {
    x: Source<'a, X>,
    rows: &'a Rows,
    rules: &'a Rules,
    /// `None`: the best of all splits, of numbers.
    choices: Option<&'a Choices>,
    team: &'a Team,
}

impl<X: Cell> Task<'_, X> {
    /// Refuses what the chosen features can't do with this loss.
    fn check_loss(&self, loss: Loss, target: Target<'_>) -> Result<()> {
        let Some(Choices { monotonic, categories, .. }) = self.choices else { return Ok(()) };
        let many_classes = matches!(target, Target::Classes { n_classes, .. } if n_classes > 2);
        let many_outputs = matches!(target, Target::ManyValues { .. } | Target::ManyClasses { .. });
        let of_order = matches!(loss, Loss::AbsoluteError | Loss::Quantile(_));
        if monotonic.is_some() && (many_classes || many_outputs) {
            let problem = "is not supported for more than two classes, nor for several outputs";
            return Err(Error::argument("monotonic_cst", problem));
        }
        let Some(counts) = categories else { return Ok(()) };
        if counts.iter().any(|&count| count > 0) && (many_classes || many_outputs || of_order) {
            let problem = "the best split of categories is known only for squared error, poisson and two classes, \
                and for one output; encode the feature as numbers (for example by one-hot columns)";
            return Err(Error::argument("categorical_features", problem));
        }
        let x = self.x.values();
        for (feature, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let is_sound = |code: f64| code.is_nan() || (0.0..f64::from(count)).contains(&code) && code.fract() == 0.0;
            if let Some(row) = (0..x.n_rows()).find(|&row| !is_sound(x.value(row, feature))) {
                let problem =
                    format!("feature {feature} has {} in row {row}, not a code below {count}", x.value(row, feature));
                return Err(Error::argument("categorical_features", problem));
            }
        }
        Ok(())
    }

    fn squared(&self, mut y: Vec<f64>, weights: Option<&[f64]>, report: Report) -> Result<Tree> {
        let unit = power_of_two(&y);
        for y in &mut y {
            *y /= unit;
        }
        // In two steps: the square of a unit may be too small or too large for a float.
        let rules = Rules { min_gain: self.rules.min_gain / unit / unit, ..*self.rules };
        match weights {
            None => self.grow(&SquaredError::<f64>::new(report), y, [unit, unit * unit], &rules),
            Some(weights) => {
                let items = self.weigh(&y, weights);
                self.grow(&SquaredError::<Weighted<f64>>::new(report), items, [unit, unit * unit], &rules)
            }
        }
    }

    fn quantile(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
        level: f64,
        report: quantile::Report,
        method: MedianMethod,
    ) -> Result<Tree> {
        let level = checked_level(level)?;
        let unit = power_of_two(y);
        let y: Vec<f64> = y.iter().map(|y| y / unit).collect();
        let rules = Rules { min_gain: self.rules.min_gain / unit, ..*self.rules };
        match weights {
            None => {
                let (targets, items, order) = self.rank(&y, &y)?;
                self.grow_ordered(&Quantile::new(level, report, method, targets), items, order, [unit; 2], &rules)
            }
            Some(weights) => {
                let (targets, items, order) = self.rank(&y, &self.weigh(&y, weights))?;
                self.grow_ordered(&Quantile::new(level, report, method, targets), items, order, [unit; 2], &rules)
            }
        }
    }

    /// Sorts the targets: they themselves in ascending order, the ticket of each row, and the column of all.
    fn rank<T: Sample<f64>>(&self, y: &[f64], targets: &[T]) -> Result<(Vec<T>, Vec<u32>, Column<u32>)> {
        let column = Matrix::from_rows(y, y.len(), 1)?;
        let Column { rows, items } = presort(&column, self.rows, targets, self.team).columns.swap_remove(0);
        if self.team.cancelled() {
            // What was not sorted is no order.
            return Err(Error::Interrupted);
        }
        let mut tickets = vec![0; y.len()];
        for (ticket, &row) in (0..).zip(&rows) {
            tickets[row as usize] = ticket;
        }
        let order = Column { items: (0..rows.len() as u32).collect(), rows };
        Ok((items, tickets, order))
    }

    fn poisson(&self, y: &[f64], weights: Option<&[f64]>) -> Result<Tree> {
        check_counts(y, weights)?;
        let unit = power_of_two(y);
        let y: Vec<f64> = y.iter().map(|y| y / unit).collect();
        match weights {
            None => self.grow(&Poisson::<f64>::new(unit), y, [1.0; 2], self.rules),
            Some(weights) => {
                let items = self.weigh(&y, weights);
                self.grow(&Poisson::<Weighted<f64>>::new(unit), items, [1.0; 2], self.rules)
            }
        }
    }

    fn classes(&self, codes: &[u32], n_classes: usize, weights: Option<&[f64]>, impurity: Impurity) -> Result<Tree> {
        let n_rows = codes.len();
        match weights {
            None => self.grow(&Classes::<u32>::new(impurity, n_classes, n_rows), codes.to_vec(), [1.0; 2], self.rules),
            Some(weights) => {
                let items = self.weigh(codes, weights);
                self.grow(&Classes::<Weighted<u32>>::new(impurity, n_classes, n_rows), items, [1.0; 2], self.rules)
            }
        }
    }

    fn weigh<Y: Copy>(&self, targets: &[Y], weights: &[f64]) -> Vec<Weighted<Y>> {
        let unit = self.rows.weight_unit;
        targets.iter().zip(weights).map(|(&y, &weight)| Weighted { y, weight: weight / unit }).collect()
    }

    /// Refuses a fit whose columns, with so many bytes beside each row's number, have no room. Values of many classes or outputs are not
    /// counted: how many nodes there will be is not known, and for one value each they hardly count.
    fn check_room<C: Criterion>(&self, item: usize) -> Result<()> {
        let (n_rows, threads) = (self.rows.len(), self.team.threads());
        let n_cells = match self.x {
            Source::Dense(x) => n_rows.saturating_mul(x.n_columns()),
            Source::Sparse(x) => x.n_entries(),
        };
        let columns = n_cells.saturating_mul(size_of::<u32>() + item);
        // Sides, ranks and orders of all rows; what each worker sorts and parts in.
        let mut row = ROW_BYTES + WORKER_ROW_BYTES.max(size_of::<u32>() + item) * threads;
        if C::ORDERED {
            row += ORDERED_ROW_BYTES[usize::from(C::WEIGHTED)] + ORDERED_WORKER_ROW_BYTES * threads;
        }
        let buffers = n_rows * row;
        let nodes = self.rules.max_nodes(n_rows, 0) * NODE_BYTES;
        check_room(columns.saturating_add(buffers).saturating_add(nodes))
    }

    fn grow<C: Criterion>(&self, criterion: &C, items: Vec<C::Item>, units: [f64; 2], rules: &Rules) -> Result<Tree> {
        self.grow_ordered(criterion, items, Column::with_len(0), units, rules)
    }

    /// With a column in the order of the targets. Units are those of targets and of impurities.
    fn grow_ordered<C: Criterion>(
        &self,
        criterion: &C,
        items: Vec<C::Item>,
        order: Column<C::Item>,
        [target, impurity]: [f64; 2],
        rules: &Rules,
    ) -> Result<Tree> {
        let Self { x, rows, team, choices, .. } = *self;
        let units = Units { target, impurity, weight: rows.weight_unit };
        match (x, choices) {
            (Source::Dense(x), None) => {
                self.check_room::<C>(size_of::<C::Item>())?;
                grow(&Fit { x, criterion, rules, team, units }, rows, items, order)
            }
            _ => self.grow_in_general(criterion, &items, order.rows, units, rules),
        }
    }

    /// With the rows in the order of the targets, where that counts.
    fn grow_in_general<C: Criterion>(
        &self,
        criterion: &C,
        items: &[C::Item],
        order: Vec<u32>,
        units: Units,
        rules: &Rules,
    ) -> Result<Tree> {
        let Self { rows, team, choices, .. } = *self;
        self.check_room::<C>(0)?;
        let fit = Fit { x: self.x.values(), criterion, rules, team, units };
        let all = Params::default().all_choices(fit.x.n_columns());
        general::grow(&fit, choices.unwrap_or(&all), self.x.orders(rows, order, team), items)
    }
}
