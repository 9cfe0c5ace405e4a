//! A fit to copies of rows instead of whole weights: the counts of a bootstrap, or of a frequency
//! table.
//!
//! A row of weight 3 becomes three rows, and so does one of weight 0.75 if all weights are
//! multiples of 0.25. Medians of rows without weights are found several times as fast, so that the
//! copies pay although there are more rows. The tree is the same: nodes count their rows without
//! the copies, and report the copies as their weight
//! (`fit/tests.rs::whole_weights_and_copies_of_rows`). Cost: a copy of X.

use crate::data::{Cell, PickedCells, RepeatedRows, Source, are_all};
use crate::error::Result;
use crate::memory::check_room;
use crate::params::{Params, PickedTargets, ValidFit};
use crate::tree::Tree;

/// Calls `grow` with these rows as a table of their own and as a fit without weights.
pub(super) fn fit<X: Cell>(
    x: Source<'_, X>,
    rows: &RepeatedRows,
    params: &Params,
    valid: &ValidFit<'_>,
    grow: impl FnOnce(Source<'_, X>, &ValidFit<'_>) -> Result<Tree>,
) -> Result<Tree> {
    let (n_rows, n_features) = (x.values().n_rows(), x.values().n_columns());
    let ids = &rows.ids;
    if are_all(ids, n_rows) {
        let valid = params.of_tree(rows.rows(), n_rows, n_features, valid.objective, true)?;
        return grow(x, &valid);
    }
    check_room(ids.len().saturating_mul(n_features).saturating_mul(size_of::<X>()))?;
    let targets = PickedTargets::new(&valid.objective, ids);
    let objective = targets.objective(&valid.objective);
    let repeated = params.of_tree(rows.rows(), n_rows, n_features, objective, true)?;
    let features: Vec<u32> = (0..n_features as u32).collect();
    PickedCells::new(x, ids, &features).with(|x| grow(x, &repeated))
}
