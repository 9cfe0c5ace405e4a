//! The targets of some rows.

use std::borrow::Cow;

use super::Objective;
use crate::data::picked;

/// The targets of some rows, which ascend; equal ones are copies.
pub(crate) enum PickedTargets<'a> {
    Values(Cow<'a, [f64]>),
    Codes(Cow<'a, [u32]>),
}

impl<'a> PickedTargets<'a> {
    pub fn new(objective: &Objective<'a>, rows: &[u32]) -> Self {
        match *objective {
            Objective::Values { y, n_outputs, .. } => Self::Values(picked(y, n_outputs, rows)),
            Objective::Classes { codes, n_outputs, .. } => Self::Codes(picked(codes, n_outputs, rows)),
        }
    }

    /// The objective with these targets instead of all.
    pub fn objective<'t>(&'t self, of_all: &Objective<'_>) -> Objective<'t> {
        match (self, *of_all) {
            (Self::Values(y), Objective::Values { n_outputs, loss, .. }) => Objective::Values { y, n_outputs, loss },
            (Self::Codes(codes), Objective::Classes { n_outputs, n_classes, impurity, .. }) => {
                Objective::Classes { codes, n_outputs, n_classes, impurity }
            }
            _ => unreachable!("the targets are those of the objective"),
        }
    }
}
