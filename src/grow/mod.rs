//! Growing a tree: which node is next, and when to stop. `README.md` in this folder defines the
//! terms.
//!
//! Large nodes are grown breadth-first, with the features distributed over threads (`top.rs`), the
//! subtrees below them depth-first in the cache, one thread each (`subtree.rs`), and tiny nodes by
//! kernels with loops of fixed length (`tiny.rs`). The limits between them affect the speed, not
//! the tree: all of them apply the rules of this file. Random thresholds need no order of the rows
//! (`random_splits.rs`), and sparse columns have only their entries (`sparse.rs`). Categories use
//! `general.rs`.

pub(crate) mod assemble;
mod by_node;
mod category;
mod category_sets;
mod cell_rows;
pub(crate) mod general;
mod histograms;
pub(crate) mod inherited;
mod label_sums;
mod monotonic;
pub(crate) mod node_ranks;
pub(crate) mod random;
pub(crate) mod random_splits;
pub(crate) mod sides;
pub(crate) mod sparse;
pub(crate) mod sparse_column;
pub(crate) mod sparse_sweep;
#[cfg(test)]
mod sparse_tests;
pub(crate) mod subtree;
mod tiny;
pub(crate) mod top;
pub(crate) mod tree_piece;

use self::inherited::Inherited;
use self::random::FeatureDrawer;
use crate::columns::Columns;
use crate::criterion::{Criterion, TargetRanking};
use crate::data::{Cell, Matrix, Rows, Values};
use crate::error::Result;
use crate::params::{Choices, Rules};
use crate::split::{Division, Split, missing_goes_left};
use crate::threads::Team;
use crate::tree::{Test, Tree};

/// What all nodes of a fit share.
pub(crate) struct Fit<'a, M: ?Sized, C> {
    pub x: &'a M,
    pub criterion: &'a C,
    pub rules: &'a Rules,
    /// `None`: every split is the best of all, and any is allowed.
    pub choices: Option<&'a Choices>,
    pub team: &'a Team,
    pub units: Units,
}

/// Factors from the engine's targets, impurities and weights to the user's: powers of two, so that
/// the conversion is exact.
#[derive(Clone, Copy)]
pub(crate) struct Units {
    pub target: f64,
    pub impurity: f64,
    pub weight: f64,
}

/// Grows a tree. `items` has the target of each row of `x`, including rows that are not in `rows`;
/// `columns` has the rows of the fit in the order of every feature and, if the criterion ranks
/// them, of their targets.
pub(crate) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    rows: &Rows,
    items: Vec<C::Item>,
    columns: Columns<C::Item>,
) -> Result<Tree> {
    let root = if C::Ranking::RANKED {
        drop(items);
        fit.criterion.describe(&columns.targets.items)
    } else {
        fit.criterion.describe(&rows.pick(items))
    };
    top::grow(fit, columns, root)
}

impl<M: ?Sized, C: Criterion> Fit<'_, M, C> {
    /// Whether a node is a leaf without a search of its features.
    pub fn is_leaf(&self, node: &C::NodeStats, depth: u32) -> bool {
        let Self { criterion, rules, .. } = self;
        rules.is_leaf(criterion.rows(node), criterion.weight(node), depth) || criterion.is_pure(node)
    }

    /// Whether only some features are evaluated at each node.
    fn draws(&self) -> bool
    where
        M: Values,
    {
        self.choices.is_some_and(|choices| choices.n_features < self.x.n_columns())
    }

    /// Whether small nodes order their rows by a feature when it is drawn. Otherwise, orders of all
    /// features are carried along.
    fn orders_on_demand(&self) -> bool
    where
        M: Values,
    {
        self.draws() && self.choices.is_some_and(|choices| choices.orders_on_demand)
    }

    /// The features that are evaluated at a node if they are drawn, in ascending order; constant
    /// ones are left out.
    fn draw_features<'d>(
        &self,
        inherited: Inherited,
        drawer: &'d mut FeatureDrawer,
        mut is_constant: impl FnMut(usize) -> bool,
    ) -> &'d [u32]
    where
        M: Values,
    {
        let n = self.choices.map_or(usize::MAX, |choices| choices.n_features);
        drawer.draw(inherited.seed, n, self.x.n_columns(), &mut is_constant)
    }

    /// Clamps what a node predicts to the range that it has inherited.
    #[inline]
    fn clamp<'v>(&self, inherited: Inherited, values: impl FnOnce() -> &'v mut [f64]) {
        if self.choices.is_some() {
            inherited.clamp(values());
        }
    }

    /// The largest possible number of nodes of a subtree with this root.
    fn max_nodes(&self, root: &C::NodeStats, depth: u32) -> usize {
        self.rules.max_nodes(self.criterion.rows(root), depth)
    }

    /// Whether the best split of a node gains enough.
    pub fn is_worthwhile(&self, node: &C::NodeStats, split: &Split) -> bool {
        self.criterion.loss_decrease(node, split.gain) >= self.rules.min_gain
    }

    /// The test of a node with these children. Its right child is set later.
    pub fn test(&self, division: &Division, left: &C::NodeStats, right: &C::NodeStats) -> Test {
        let [left, right] = [left, right].map(|node| self.criterion.weight(node));
        Test {
            feature: division.feature as u32,
            threshold: division.threshold,
            missing_left: missing_goes_left(division.missing_left, left, right),
            right: 0,
        }
    }
}
