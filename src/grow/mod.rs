//! Growing a tree: which node is next, and when to stop. `README.md` in this folder defines the
//! terms.
//!
//! Large nodes are grown breadth-first, with the features distributed over threads (`top.rs`), the
//! subtrees below them depth-first in the cache, one thread each (`subtree.rs`), and tiny nodes by
//! kernels with loops of fixed length (`tiny.rs`). The limits between them affect the speed, not
//! the tree: all of them apply the rules of this file. Fits that need more than the best split of
//! dense numbers use `general.rs`.

mod assemble;
mod category;
pub(crate) mod general;
mod monotonic;
mod node_ranks;
mod random;
mod sides;
mod subtree;
mod tiny;
mod top;
mod tree_piece;

use crate::columns::{Columns, SortedColumn};
use crate::criterion::{Criterion, TargetRanking};
use crate::data::{Cell, Matrix, Rows};
use crate::error::Result;
use crate::params::Rules;
use crate::presort::presort;
use crate::split::{Division, Split, missing_goes_left};
use crate::threads::Team;
use crate::tree::{Test, Tree};

/// What all nodes of a fit share.
pub(crate) struct Fit<'a, M: ?Sized, C> {
    pub x: &'a M,
    pub criterion: &'a C,
    pub rules: &'a Rules,
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
/// `targets` has the rows of the fit in ascending order of their targets, if the criterion ranks
/// them.
pub(crate) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    rows: &Rows,
    items: Vec<C::Item>,
    targets: SortedColumn<C::Item>,
) -> Result<Tree> {
    let columns = Columns { targets, ..presort(fit.x, rows, &items, fit.team) };
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
    fn is_leaf(&self, node: &C::NodeStats, depth: u32) -> bool {
        let Self { criterion, rules, .. } = self;
        rules.is_leaf(criterion.rows(node), criterion.weight(node), depth) || criterion.is_pure(node)
    }

    /// The largest possible number of nodes of a subtree with this root.
    fn max_nodes(&self, root: &C::NodeStats, depth: u32) -> usize {
        self.rules.max_nodes(self.criterion.rows(root), depth)
    }

    /// Whether the best split of a node gains enough.
    fn is_worthwhile(&self, node: &C::NodeStats, split: &Split) -> bool {
        self.criterion.loss_decrease(node, split.gain) >= self.rules.min_gain
    }

    /// The test of a node with these children. Its right child is set later.
    fn test(&self, division: &Division, left: &C::NodeStats, right: &C::NodeStats) -> Test {
        let [left, right] = [left, right].map(|node| self.criterion.weight(node));
        Test {
            feature: division.feature as u32,
            threshold: division.threshold,
            missing_left: missing_goes_left(division.missing_left, left, right),
            right: 0,
        }
    }
}
