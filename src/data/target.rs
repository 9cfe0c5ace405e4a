//! What a tree is to predict, and which targets are valid.

use super::check_finite;
use crate::error::{Error, Result};

/// Every node counts every class.
const MAX_CLASSES: usize = 1 << 20;

/// What the tree is to predict, one entry a row.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Real values.
    Values(&'a [f64]),
    /// Class codes below `n_classes`.
    Classes {
        /// Code of each row.
        codes: &'a [u32],
        /// Number of classes, also of those that no row has.
        n_classes: usize,
    },
    /// Several real values a row.
    ManyValues {
        /// Those of the first row, then those of the second, and so on.
        values: &'a [f64],
        /// Number of values a row.
        n_outputs: usize,
    },
    /// Several class codes a row.
    ManyClasses {
        /// Those of the first row, then those of the second, and so on.
        codes: &'a [u32],
        /// Number of codes a row.
        n_outputs: usize,
        /// Number of classes, of the output that has most.
        n_classes: usize,
    },
}

impl Target<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Values(values) | Self::ManyValues { values, .. } => values.len(),
            Self::Classes { codes, .. } | Self::ManyClasses { codes, .. } => codes.len(),
        }
    }

    pub(crate) fn n_outputs(&self) -> usize {
        match *self {
            Self::Values(_) | Self::Classes { .. } => 1,
            Self::ManyValues { n_outputs, .. } | Self::ManyClasses { n_outputs, .. } => n_outputs,
        }
    }

    /// One target for each row of X, finite, and small enough to be squared and summed.
    pub(crate) fn check(&self, n_rows: usize) -> Result<()> {
        let n_outputs = self.n_outputs();
        if n_outputs == 0 {
            return Err(Error::argument("y", "has no outputs"));
        }
        if Some(self.len()) != n_rows.checked_mul(n_outputs) {
            let problem = format!("has {} entries, but X has {n_rows} rows of {n_outputs} output(s)", self.len());
            return Err(Error::argument("y", problem));
        }
        match *self {
            Self::Values(values) | Self::ManyValues { values, .. } => {
                check_finite("y", values)?;
                let limit = (f64::MAX / n_rows as f64).sqrt() / 4.0;
                match values.iter().position(|y| y.abs() > limit) {
                    Some(place) => Err(Error::argument(
                        "y",
                        format!(
                            "{:e} in row {} is too large: its square overflows; rescale y",
                            values[place],
                            place / n_outputs
                        ),
                    )),
                    None => Ok(()),
                }
            }
            Self::Classes { n_classes, .. } | Self::ManyClasses { n_classes, .. }
                if n_classes.saturating_mul(n_outputs) > MAX_CLASSES =>
            {
                Err(Error::argument("y", format!("n_classes = {n_classes} is more than {MAX_CLASSES}")))
            }
            Self::Classes { codes, n_classes } | Self::ManyClasses { codes, n_classes, .. } => {
                match codes.iter().position(|&code| code as usize >= n_classes) {
                    Some(place) => Err(Error::argument(
                        "y",
                        format!(
                            "class code {} in row {} is not below n_classes = {n_classes}",
                            codes[place],
                            place / n_outputs
                        ),
                    )),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Targets of a Poisson deviance: none negative, and not all zero where there is weight.
pub(crate) fn check_counts(y: &[f64], weights: Option<&[f64]>) -> Result<()> {
    if let Some(row) = y.iter().position(|&y| y < 0.0) {
        let problem = "Some value(s) of y are negative which is not allowed for Poisson regression";
        return Err(Error::argument("y", format!("{problem}: {} in row {row}", y[row])));
    }
    let counts = |row: usize| y[row] > 0.0 && weights.is_none_or(|weights| weights[row] > 0.0);
    if !(0..y.len()).any(counts) {
        return Err(Error::argument("y", "Sum of y is not positive which is necessary for Poisson regression"));
    }
    Ok(())
}
