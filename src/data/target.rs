//! Targets, and which of them are valid.

use super::check_finite;
use crate::error::{Error, Result};

/// Bounds the memory of a node, which has a sum per class.
const MAX_CLASSES: usize = 1 << 20;

/// The targets of a fit, for each row of X.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Real values.
    Values(&'a [f64]),
    /// Class codes below `n_classes`.
    Classes {
        /// Code of each row.
        codes: &'a [u32],
        /// Number of classes, including classes without rows.
        n_classes: usize,
    },
    /// Several real values per row.
    ManyValues {
        /// Row after row.
        values: &'a [f64],
        /// Number of values per row.
        n_outputs: usize,
    },
    /// Several class codes per row.
    ManyClasses {
        /// Row after row.
        codes: &'a [u32],
        /// Number of codes per row.
        n_outputs: usize,
        /// The largest number of classes of an output.
        n_classes: usize,
    },
}

impl Target<'_> {
    /// Number of entries: rows times outputs.
    pub(crate) fn len(&self) -> usize {
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

    /// Checks that there is one target per row of X and output, that targets are finite, and that
    /// their squares can be summed.
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
            Self::Values(values) | Self::ManyValues { values, .. } => check_values(values, n_rows, n_outputs),
            Self::Classes { codes, n_classes } | Self::ManyClasses { codes, n_classes, .. } => {
                check_codes(codes, n_classes, n_outputs)
            }
        }
    }
}

/// Checks that values are finite, and that the sum of their squares doesn't overflow.
fn check_values(values: &[f64], n_rows: usize, n_outputs: usize) -> Result<()> {
    check_finite("y", values)?;
    let limit = (f64::MAX / n_rows as f64).sqrt() / 4.0;
    let Some(place) = values.iter().position(|y| y.abs() > limit) else { return Ok(()) };
    let (value, row) = (values[place], place / n_outputs);
    Err(Error::argument("y", format!("{value:e} in row {row} is too large: its square overflows; rescale y")))
}

/// Checks that class codes are below the number of classes, and that there are not too many.
fn check_codes(codes: &[u32], n_classes: usize, n_outputs: usize) -> Result<()> {
    if n_classes.saturating_mul(n_outputs) > MAX_CLASSES {
        return Err(Error::argument("y", format!("n_classes = {n_classes} is more than {MAX_CLASSES}")));
    }
    let Some(place) = codes.iter().position(|&code| code as usize >= n_classes) else { return Ok(()) };
    let (code, row) = (codes[place], place / n_outputs);
    Err(Error::argument("y", format!("class code {code} in row {row} is not below n_classes = {n_classes}")))
}

/// Checks the targets of a Poisson deviance: none is negative, and a row with weight has a target
/// above 0.
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
