//! The way in: checks the data, picks the criterion, and grows the tree.

use crate::columns::Column;
use crate::criterion::classes::{Classes, Impurity};
use crate::criterion::poisson::Poisson;
use crate::criterion::quantile::{self, Quantile};
use crate::criterion::squared::{Report, SquaredError};
use crate::criterion::{Criterion, Sample, Weighted};
use crate::data::{AnyMatrix, Cell, Matrix, Rows, Target, check_counts, power_of_two};
use crate::error::{Error, Result};
use crate::grow::{Fit, Units, grow};
use crate::median::checked_level;
use crate::params::{Loss, MedianMethod, Params, Rules};
use crate::presort::presort;
use crate::threads::Team;
use crate::tree::Tree;

/// Fits a decision tree.
///
/// Rows of weight zero are left out. The tree is the same for every number of threads and memory order of `x`.
///
/// # Errors
/// If lengths differ, `y` or weights are not finite, all weights are zero, the loss does not go with the target, or a
/// setting is out of its domain.
pub fn fit<X: Cell>(
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_while(|| true, x, target, weights, loss, params)
}

/// Fits a decision tree for as long as `go_on`, which is asked several times a second, says so.
///
/// # Errors
/// As [`fit`], and [`Error::Interrupted`] if `go_on` has said no.
pub fn fit_while<X: Cell>(
    mut go_on: impl FnMut() -> bool,
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    fit_any(&mut go_on, X::any(x), target, weights, loss, params)
}

/// No type parameters: whoever calls this finds it compiled.
fn fit_any(
    go_on: &mut dyn FnMut() -> bool,
    x: AnyMatrix<'_, '_>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    match x {
        AnyMatrix::Single(x) => fit_matrix(go_on, x, target, weights, loss, params),
        AnyMatrix::Double(x) => fit_matrix(go_on, x, target, weights, loss, params),
    }
}

fn fit_matrix<X: Cell>(
    go_on: &mut dyn FnMut() -> bool,
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<Tree> {
    target.check(x.n_rows())?;
    let rows = Rows::new(x.n_rows(), weights)?;
    let rules = params.rules(x.n_rows(), rows.total_weight, weights.is_some())?;
    let team = Team::new(params.n_jobs, x.n_rows() * x.n_columns())?;
    let task = Task { x, rows: &rows, rules: &rules, team: &team };
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
        (_, Target::Classes { .. }) => {
            Err(Error::argument("criterion", "losses other than Gini and entropy need values, not classes"))
        }
        (_, Target::Values(_)) => Err(Error::argument("criterion", "Gini and entropy need classes, not values")),
    };
    let tree = team.supervise(work, go_on)?;
    if params.ccp_alpha == 0.0 { Ok(tree) } else { tree.pruned(params.ccp_alpha) }
}

struct Task<'a, X> {
    x: &'a Matrix<'a, X>,
    rows: &'a Rows,
    rules: &'a Rules,
    team: &'a Team,
}

impl<X: Cell> Task<'_, X> {
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
        let Self { x, rows, team, .. } = *self;
        let units = Units { target, impurity, weight: rows.weight_unit };
        grow(&Fit { x, criterion, rules, team, units }, rows, items, order)
    }
}
