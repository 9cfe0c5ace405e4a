//! A tree from arrays with one entry per node, as Python has them.

use super::categories::Categories;
use super::node::{ArenaNode, Test};
use super::statistics::Statistics;
use super::{Tree, invalid};
use crate::error::{Error, Result};

/// The parts of a tree; the slices have one entry per node, `values` has `n_values` of them.
pub(crate) struct Arrays<'a> {
    pub n_features: usize,
    pub n_values: usize,
    /// Negative for leaves.
    pub feature: &'a [i64],
    pub threshold: &'a [f64],
    pub missing_left: &'a [u8],
    pub right: &'a [i64],
    pub values: &'a [f64],
    pub impurity: &'a [f64],
    pub rows: &'a [i64],
    pub weight: Option<&'a [f64]>,
    pub categories: Option<Categories>,
}

impl Tree {
    /// The tree of these arrays; everything is checked.
    pub(crate) fn from_arrays(arrays: &Arrays<'_>) -> Result<Self> {
        let n = arrays.feature.len();
        let lengths = [arrays.threshold.len(), arrays.missing_left.len(), arrays.right.len(), arrays.rows.len()];
        if lengths.iter().any(|&len| len != n) {
            return invalid(format!("each array needs {n} entries, one per node"));
        }
        let out_of_range = |_| Error::argument("tree", "a feature, child or count is out of range");
        let node = |id: usize| {
            if arrays.feature[id] < 0 {
                return Ok(ArenaNode::leaf());
            }
            let feature = u32::try_from(arrays.feature[id]).map_err(out_of_range)?;
            if feature >= ArenaNode::FEATURE_LIMIT {
                return invalid(format!("node {id} has feature {feature}"));
            }
            Ok(ArenaNode::inner(Test {
                feature,
                threshold: arrays.threshold[id],
                missing_left: arrays.missing_left[id] != 0,
                right: u32::try_from(arrays.right[id]).map_err(out_of_range)?,
            }))
        };
        let statistics = Statistics {
            values: arrays.values.to_vec(),
            impurity: arrays.impurity.to_vec(),
            rows: arrays
                .rows
                .iter()
                .map(|&rows| u32::try_from(rows))
                .collect::<std::result::Result<_, _>>()
                .map_err(out_of_range)?,
            weight: arrays.weight.map(<[f64]>::to_vec),
        };
        let nodes = (0..n).map(node).collect::<Result<_>>()?;
        Self::new(nodes, statistics, arrays.n_features, arrays.n_values, arrays.categories.clone())
    }
}
