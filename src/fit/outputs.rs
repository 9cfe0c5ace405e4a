//! Fits of several outputs. Their losses are added up, so one tree serves all of them.
//!
//! Rows are numbered from 0 among the rows of the fit, and columns carry these numbers.

use super::{FitTask, LocalEngine};
use crate::columns::SortedColumn;
use crate::criterion::Weighted;
use crate::criterion::classes::{ClassSample, Classes};
use crate::criterion::outputs::{AnyOutputs, OutputCriterion, Outputs};
use crate::criterion::poisson::Poisson;
use crate::criterion::quantile::{Quantile, QuantileReport, RankedSample};
use crate::criterion::squared::{SquaredError, SquaredReport, ValueSample};
use crate::data::{Cell, power_of_two};
use crate::error::Result;
use crate::grow::Units;
use crate::median::Level;
use crate::params::{Impurity, MedianMethod, Rules, ValueLoss};
use crate::tree::Tree;

impl<X: Cell> FitTask<'_, LocalEngine<'_, X>> {
    pub(super) fn many_values(
        &self,
        y: &[f64],
        n_outputs: usize,
        weights: Option<&[f64]>,
        loss: ValueLoss,
        method: MedianMethod,
    ) -> Result<Tree> {
        // One unit for all outputs, because their losses are added up.
        let unit = power_of_two(y);
        let columns: Vec<Vec<f64>> =
            (0..n_outputs).map(|k| column(y, n_outputs, k).iter().map(|y| y / unit).collect()).collect();
        match weights {
            None => self.grow_values(&columns, columns.clone(), unit, loss, method),
            Some(weights) => {
                let items = columns.iter().map(|y| self.with_weights(y, weights)).collect();
                self.grow_values::<Weighted<f64>>(&columns, items, unit, loss, method)
            }
        }
    }

    /// `y` and `items` have the targets of each output, as numbers and as items of a column.
    fn grow_values<T: ValueSample + RankedSample + 'static>(
        &self,
        y: &[Vec<f64>],
        items: Vec<Vec<T>>,
        unit: f64,
        loss: ValueLoss,
        method: MedianMethod,
    ) -> Result<Tree> {
        let (level, report) = match loss {
            ValueLoss::SquaredError => {
                let outputs = items.into_iter().map(|items| (SquaredError::new(SquaredReport::Mean), items));
                return self.grow_outputs(outputs, [unit, unit * unit], self.rules.min_gain / unit / unit);
            }
            ValueLoss::Poisson => {
                let outputs = items.into_iter().map(|items| (Poisson::new(), items));
                return self.grow_outputs(outputs, [unit; 2], self.rules.min_gain / unit);
            }
            ValueLoss::AbsoluteError => (Level::HALF, QuantileReport::AbsoluteError),
            ValueLoss::Quantile(level) => (level, QuantileReport::PinballLoss),
        };
        let output = |(y, items): (&Vec<f64>, Vec<T>)| {
            let (targets, global_ranks, _) = self.rank(y, &items)?;
            Ok((Quantile::new(level, report, method, targets), global_ranks))
        };
        let outputs = y.iter().zip(items).map(output).collect::<Result<Vec<_>>>()?;
        self.grow_outputs(outputs.into_iter(), [unit; 2], self.rules.min_gain / unit)
    }

    pub(super) fn many_classes(
        &self,
        codes: &[u32],
        n_outputs: usize,
        n_classes: usize,
        weights: Option<&[f64]>,
        impurity: Impurity,
    ) -> Result<Tree> {
        let columns = (0..n_outputs).map(|k| column(codes, n_outputs, k));
        match weights {
            None => self.grow_classes(columns, n_classes, impurity),
            Some(weights) => {
                self.grow_classes(columns.map(|codes| self.with_weights(&codes, weights)), n_classes, impurity)
            }
        }
    }

    fn grow_classes<T: ClassSample + 'static>(
        &self,
        outputs: impl Iterator<Item = Vec<T>>,
        n_classes: usize,
        impurity: Impurity,
    ) -> Result<Tree> {
        let outputs = outputs.map(|items| (Classes::new(impurity, n_classes, items.len()), items));
        self.grow_outputs(outputs, [1.0; 2], self.rules.min_gain)
    }

    /// `outputs` have the targets of each row of X.
    fn grow_outputs<C: OutputCriterion + Send + 'static>(
        &self,
        outputs: impl Iterator<Item = (C, Vec<C::Item>)>,
        [target, impurity]: [f64; 2],
        min_gain: f64,
    ) -> Result<Tree> {
        let outputs = Outputs::new(outputs.map(|(criterion, items)| (criterion, self.rows.pick(items))));
        let mut items = vec![0; self.engine.x.values().n_rows()];
        let numbers: Vec<u32> = (0..self.rows.len() as u32).collect();
        let rows: Vec<u32> = (0..numbers.len()).map(|place| self.rows.id(place)).collect();
        for (&row, &number) in rows.iter().zip(&numbers) {
            items[row as usize] = number;
        }
        let rules = Rules { min_gain, ..*self.rules };
        let units = Units { target, impurity, weight: self.rows.weight_unit };
        let order = SortedColumn { rows, items: numbers };
        if C::WEIGHTED {
            self.grow_ranked_locally(&AnyOutputs::<true>::new(outputs), items, order, units, &rules)
        } else {
            self.grow_ranked_locally(&AnyOutputs::<false>::new(outputs), items, order, units, &rules)
        }
    }
}

/// The entries of one output.
fn column<T: Copy>(entries: &[T], n_outputs: usize, output: usize) -> Vec<T> {
    entries.iter().skip(output).step_by(n_outputs).copied().collect()
}
