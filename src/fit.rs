//! The way in: checks the data, picks the criterion, and grows the tree.

use crate::criterion::classes::{Classes, Impurity};
use crate::criterion::squared::{Report, SquaredError};
use crate::criterion::{Criterion, Weighted};
use crate::data::{Cell, Matrix, Rows, Target};
use crate::error::{Error, Result};
use crate::grow::{Fit, grow};
use crate::params::{Loss, Params};
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
    let rules = params.rules(x.n_rows(), rows.total_weight)?;
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
    rules: &'a crate::params::Rules,
    team: &'a Team,
}

impl<X: Cell> Task<'_, X> {
    fn squared(&self, y: Vec<f64>, weights: Option<&[f64]>, report: Report) -> Result<Tree> {
        match weights {
            None => self.grow(&SquaredError::<f64>::new(report), y),
            Some(weights) => self.grow(&SquaredError::<Weighted<f64>>::new(report), weigh(&y, weights)),
        }
    }

    fn classes(&self, codes: &[u32], n_classes: usize, weights: Option<&[f64]>, impurity: Impurity) -> Result<Tree> {
        let n_rows = codes.len();
        match weights {
            None => self.grow(&Classes::<u32>::new(impurity, n_classes, n_rows), codes.to_vec()),
            Some(weights) => {
                self.grow(&Classes::<Weighted<u32>>::new(impurity, n_classes, n_rows), weigh(codes, weights))
            }
        }
    }

    fn grow<C: Criterion>(&self, criterion: &C, items: Vec<C::Item>) -> Result<Tree> {
        let Self { x, rows, rules, team } = *self;
        grow(&Fit { x, criterion, rules, team }, rows, items)
    }
}

fn weigh<Y: Copy>(targets: &[Y], weights: &[f64]) -> Vec<Weighted<Y>> {
    targets.iter().zip(weights).map(|(&y, &weight)| Weighted { y, weight }).collect()
}
