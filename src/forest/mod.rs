//! Forests: many trees on the same data, each with its own bag of rows, and their mean.
//!
//! | file | what it holds |
//! |---|---|
//! | `bag.rs` | how often each row is drawn for a tree |
//! | `feature_order.rs` | the order of a tree's features |
//! | `fit.rs` | grows the trees, each by one thread |
//! | `out_of_bag.rs` | predictions for rows by the trees that did not see them |
//! | `predict.rs` | means over the trees, and leaves |
//! | `quantiles.rs` | targets in leaves, and their quantiles |
//! | `leaf_rows.rs` | the rows in leaves, as files hold them |
//! | `selection.rs` | order statistics of a list of ranks |
//! | `importance.rs` | importances of features |
//!
//! `README.md` of this folder has the terms and the steps of a fit.

mod bag;
mod feature_order;
mod fit;
mod importance;
mod leaf_rows;
mod out_of_bag;
mod predict;
mod quantiles;
mod selection;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

pub use self::bag::{Bags, draw_bag};
pub use self::fit::{
    FittedForest, ForestOrder, ForestParams, ForestProgress, fit_forest, fit_forest_while, fit_sparse_forest,
    fit_sparse_forest_while, sort_forest_while,
};
pub use self::leaf_rows::LeafRows;
pub use self::out_of_bag::OutOfBag;
pub use self::quantiles::{Interpolation, LeafTargets};
use crate::error::{Error, Result};
use crate::predict::Layouts;
use crate::tree::Tree;

/// Trees whose mean is the prediction.
///
/// Trees are shared, not copied: forests with the same trees need little more memory than one.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    /// Invariant: at least one tree, and all agree in their numbers of features, outputs, values
    /// and categories.
    trees: Vec<Arc<Tree>>,
    /// Compact nodes of all trees, which clones share.
    layouts: Arc<Layouts>,
}

impl Forest {
    /// A forest of these trees.
    ///
    /// # Errors
    /// If there are no trees, or two of them differ in the number of features, outputs, values or
    /// categories.
    pub fn new(trees: Vec<Arc<Tree>>) -> Result<Self> {
        fn shape(tree: &Tree) -> ([usize; 3], Option<&[u32]>) {
            let counts = tree.categories.as_deref().map(|categories| &categories.counts[..]);
            ([tree.n_features(), tree.n_outputs(), tree.n_values()], counts)
        }
        let Some(first) = trees.first() else {
            return Err(Error::argument("trees", "a forest needs at least one tree"));
        };
        match trees.iter().position(|tree| shape(tree) != shape(first)) {
            Some(i) => {
                let problem =
                    format!("tree {i} differs from tree 0 in its number of features, outputs, values or categories");
                Err(Error::argument("trees", problem))
            }
            None => Ok(Self { trees, layouts: Arc::default() }),
        }
    }

    /// The trees of several forests in one.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn merged<'f>(forests: impl IntoIterator<Item = &'f Self>) -> Result<Self> {
        Self::new(forests.into_iter().flat_map(|forest| forest.trees.iter().cloned()).collect())
    }

    /// A forest of some of these trees.
    ///
    /// # Errors
    /// If there are none.
    ///
    /// # Panics
    /// If the range reaches beyond the trees.
    pub fn part(&self, trees: Range<usize>) -> Result<Self> {
        Self::new(self.trees[trees].to_vec())
    }

    /// The trees.
    #[must_use]
    pub fn trees(&self) -> &[Arc<Tree>] {
        &self.trees
    }

    /// Number of trees.
    #[must_use]
    pub fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// Number of features that the forest was fitted on.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.trees[0].n_features()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.trees[0].n_outputs()
    }

    /// How many numbers each row's prediction has: one value or one probability per class, for each
    /// output.
    #[must_use]
    pub fn n_values(&self) -> usize {
        self.trees[0].n_values()
    }
}
