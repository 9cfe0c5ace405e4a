//! Growing: who is next, and when to stop.
//!
//! Large nodes are grown breadth-first with threads over features (`top.rs`), the subtrees below them depth-first in
//! cache with one task each (`subtree.rs`). Where the one hands over to the other is a matter of speed, not of
//! the tree: both apply the rules of this file.

mod category;
mod crown;
mod dice;
pub(crate) mod general;
mod monotonic;
mod sprout;
mod subtree;
mod tiny;
mod top;

use crate::columns::{Column, Columns};
use crate::criterion::Criterion;
use crate::data::{Cell, Matrix, Rows};
use crate::error::Result;
use crate::params::Rules;
use crate::presort::presort;
use crate::split::{Division, Split};
use crate::threads::Team;
use crate::tree::{Test, Tree};

/// What all the nodes of a fit share.
pub(crate) struct Fit<'a, M: ?Sized, C> {
    pub x: &'a M,
    pub criterion: &'a C,
    pub rules: &'a Rules,
    pub team: &'a Team,
    pub units: Units,
}

/// What a target, an impurity and a weight of one stand for: powers of two, so that scaling back is exact.
#[derive(Clone, Copy)]
pub(crate) struct Units {
    pub target: f64,
    pub impurity: f64,
    pub weight: f64,
}

/// Grows a tree; `items` has the target of each row of `x`, also of those that don't take part, and `targets` are those that do in
/// ascending order, for criteria where that counts.
pub(crate) fn grow<X: Cell, C: Criterion>(
    fit: &Fit<'_, Matrix<'_, X>, C>,
    rows: &Rows,
    items: Vec<C::Item>,
    targets: Column<C::Item>,
) -> Result<Tree> {
    let columns = Columns { targets, ..presort(fit.x, rows, &items, fit.team) };
    let root = if C::ORDERED {
        drop(items);
        fit.criterion.describe(&columns.targets.items)
    } else {
        fit.criterion.describe(&rows.pick(items))
    };
    top::grow(fit, columns, root)
}

impl<M: ?Sized, C: Criterion> Fit<'_, M, C> {
    /// The rules that make a node a leaf before its features are looked at.
    fn is_leaf(&self, node: &C::Node, depth: u32) -> bool {
        depth >= self.rules.max_depth
            || self.criterion.rows(node) < self.rules.min_rows_split
            || self.criterion.weight(node) < 2.0 * self.rules.min_weight_leaf
            || self.criterion.is_pure(node)
    }

    /// The most nodes that a subtree with this root can have.
    fn max_nodes(&self, root: &C::Node, depth: u32) -> usize {
        self.rules.max_nodes(self.criterion.rows(root), depth)
    }

    /// The rule that makes a node a leaf although it could be split.
    fn is_worthwhile(&self, node: &C::Node, split: &Split) -> bool {
        self.criterion.loss_decrease(node, split.gain) >= self.rules.min_gain
    }

    /// The test of a node. Missing values that the node never saw go to the heavier child.
    fn test(&self, division: &Division, left: &C::Node, right: &C::Node) -> Test {
        let weight = |node| self.criterion.weight(node);
        Test {
            feature: division.feature as u32,
            threshold: division.threshold,
            missing_left: division.missing_left.unwrap_or_else(|| weight(left) > weight(right)),
            right: 0,
        }
    }
}
