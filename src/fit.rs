//! The way in: checks the data, picks the criterion, and grows the tree.

use crate::criterion::classes::{Classes, Impurity};
use crate::criterion::squared::{Report, SquaredError};
use crate::criterion::{Criterion, Weighted};
use crate::data::{Cell, Matrix, Rows, Target, power_of_two};
use crate::error::{Error, Result};
use crate::grow::{Fit, Units, grow};
use crate::params::{Loss, Params, Rules};
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
    go_on: impl FnMut() -> bool,
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
        (Loss::Gini, Target::Classes { codes, n_classes: 2 }) => {
            task.squared(codes.iter().map(|&code| f64::from(code)).collect(), weights, Report::TwoClasses)
        }
        (Loss::Gini, Target::Classes { codes, n_classes }) => task.classes(codes, n_classes, weights, Impurity::Gini),
        (Loss::Entropy, Target::Classes { codes, n_classes }) => {
            task.classes(codes, n_classes, weights, Impurity::Entropy)
        }
        (Loss::SquaredError, _) => Err(Error::argument("criterion", "squared error needs values, not classes")),
        (_, Target::Values(_)) => Err(Error::argument("criterion", "Gini and entropy need classes, not values")),
    };
    team.supervise(work, go_on)
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
            None => self.grow(&SquaredError::<f64>::new(report), y, unit, &rules),
            Some(weights) => {
                let items = self.weigh(&y, weights);
                self.grow(&SquaredError::<Weighted<f64>>::new(report), items, unit, &rules)
            }
        }
    }

    fn classes(&self, codes: &[u32], n_classes: usize, weights: Option<&[f64]>, impurity: Impurity) -> Result<Tree> {
        let n_rows = codes.len();
        match weights {
            None => self.grow(&Classes::<u32>::new(impurity, n_classes, n_rows), codes.to_vec(), 1.0, self.rules),
            Some(weights) => {
                let items = self.weigh(codes, weights);
                self.grow(&Classes::<Weighted<u32>>::new(impurity, n_classes, n_rows), items, 1.0, self.rules)
            }
        }
    }

    fn weigh<Y: Copy>(&self, targets: &[Y], weights: &[f64]) -> Vec<Weighted<Y>> {
        let unit = self.rows.weight_unit;
        targets.iter().zip(weights).map(|(&y, &weight)| Weighted { y, weight: weight / unit }).collect()
    }

    fn grow<C: Criterion>(&self, criterion: &C, items: Vec<C::Item>, target: f64, rules: &Rules) -> Result<Tree> {
        let Self { x, rows, team, .. } = *self;
        let units = Units { target, weight: rows.weight_unit };
        grow(&Fit { x, criterion, rules, team, units }, rows, items)
    }
}
