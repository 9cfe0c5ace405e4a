//! Validation: proves that the parts of a tree are a tree, before any prediction relies on it.
//!
//! Parts may come from a file or a pickle, so nothing about them is taken for granted. Time is
//! O(nodes); memory is a stack as high as the tree is deep.

use super::node::Test;
use super::statistics::Statistics;
use super::{Tree, invalid};
use crate::error::Result;

impl Tree {
    /// Checks everything that prediction relies on; returns the depth.
    pub(crate) fn check_all(&self) -> Result<usize> {
        let depth = self.check()?;
        self.check_categories()?;
        Ok(depth)
    }

    /// Checks statistics and structure; returns the depth.
    pub(super) fn check(&self) -> Result<usize> {
        self.check_statistics()?;
        self.check_structure()
    }

    /// Every array has the right length, predicted numbers are finite, every node has rows, and no
    /// statistic is NaN.
    fn check_statistics(&self) -> Result<()> {
        let (n, n_values) = (self.nodes.len(), self.n_values);
        let Statistics { values, impurity, rows, weight } = &self.statistics;
        let weights = weight.as_ref().map_or(n, Vec::len);
        if n == 0 || n_values == 0 || Some(values.len()) != n.checked_mul(n_values) {
            return invalid(format!("{n} nodes of {n_values} values can't have {} values", values.len()));
        }
        if impurity.len() != n || rows.len() != n || weights != n {
            return invalid(format!("each statistic needs {n} entries, one per node"));
        }
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return invalid(format!("value {} of node {} is not finite", values[i], i / n_values));
        }
        if let Some(node) = rows.iter().position(|&rows| rows == 0) {
            return invalid(format!("node {node} has no training rows"));
        }
        if impurity.iter().chain(weight.iter().flatten()).any(|number| number.is_nan()) {
            return invalid("an impurity or a weight is NaN");
        }
        Ok(())
    }

    /// Nodes are in depth-first order, each but the root is the child of one node, and features
    /// exist. Returns the depth.
    fn check_structure(&self) -> Result<usize> {
        let n = self.nodes.len();
        // Right children that are still to come, the next one last, each with its depth.
        let mut pending: Vec<(u32, usize)> = Vec::new();
        let (mut depth, mut max_depth) = (0, 0);
        for (id, node) in self.nodes.iter().enumerate() {
            max_depth = max_depth.max(depth);
            if let Some(test) = node.test() {
                if test.feature as usize >= self.n_features {
                    return invalid(format!(
                        "node {id} tests feature {}, but there are {} features",
                        test.feature, self.n_features
                    ));
                }
                depth += 1;
                pending.push((test.right, depth));
            } else {
                match pending.pop() {
                    Some((right, right_depth)) if right as usize == id + 1 => depth = right_depth,
                    None if id + 1 == n => return Ok(max_depth),
                    _ => return invalid(format!("node {} must be the child of exactly one node", id + 1)),
                }
            }
        }
        invalid("its last leaf is missing")
    }

    /// Checks that every threshold is a number or encodes a set of categories that exists.
    pub(super) fn check_categories(&self) -> Result<()> {
        if let Some(categories) = &self.categories
            && categories.counts.len() != self.n_features
        {
            return invalid(format!(
                "{} features can't have {} counts of categories",
                self.n_features,
                categories.counts.len()
            ));
        }
        let is_sound = |test: &Test| {
            let set = || self.categories.as_ref().and_then(|categories| categories.words(test));
            test.category_set().is_none_or(|_| set().is_some_and(|set| !set.is_empty()))
        };
        let find = |is_sound: &dyn Fn(&Test) -> bool| {
            (0..).zip(&self.nodes).find(|(_, node)| !node.test().is_none_or(|test| is_sound(&test)))
        };
        if let Some((id, _)) = find(&is_sound) {
            return invalid(format!("node {id} has no threshold"));
        }
        match find(&|test| self.categories.as_ref().is_none_or(|categories| categories.knows_all(test))) {
            Some((id, _)) => invalid(format!("node {id} has a set with categories that its feature does not have")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::categories::set_threshold;
    use crate::tree::{ArenaNode, Categories, CategorySets};

    fn statistics(n: usize) -> Statistics {
        Statistics { values: vec![1.0; n], impurity: vec![0.0; n], rows: vec![1; n], weight: None }
    }

    fn inner(feature: u32, right: u32) -> ArenaNode {
        ArenaNode::inner(Test { feature, threshold: 0.5, missing_left: true, right })
    }

    fn build(nodes: &[ArenaNode]) -> Result<Tree> {
        Tree::new(nodes.to_vec(), statistics(nodes.len()), 2, 1, None)
    }

    #[test]
    fn a_sound_tree_is_measured() {
        // 0 ─┬─ 1 ─┬─ 2
        //    │     └─ 3
        //    └─ 4
        let leaf = ArenaNode::leaf();
        let tree = build(&[inner(0, 4), inner(1, 3), leaf, leaf, leaf]).unwrap();
        assert_eq!((tree.node_count(), tree.n_leaves(), tree.max_depth()), (5, 3, 2));
        assert_eq!(tree.children(0), Some((1, 4)));
    }

    #[test]
    fn broken_trees_are_refused() {
        let leaf = ArenaNode::leaf();
        assert!(build(&[]).is_err(), "no root");
        assert!(build(&[inner(0, 2)]).is_err(), "truncated");
        assert!(build(&[inner(0, 2), leaf]).is_err(), "right child missing");
        assert!(build(&[inner(0, 0), leaf, leaf]).is_err(), "cycle");
        assert!(build(&[inner(0, 1), leaf, leaf]).is_err(), "one child for two");
        assert!(build(&[inner(0, 9), leaf, leaf]).is_err(), "out of range");
        assert!(build(&[inner(2, 2), leaf, leaf]).is_err(), "feature out of range");
        assert!(build(&[leaf, leaf]).is_err(), "two roots");
        assert!(Tree::new(vec![leaf], statistics(2), 1, 1, None).is_err(), "statistics of another tree");
        let mut nan = statistics(1);
        nan.values[0] = f64::NAN;
        assert!(Tree::new(vec![leaf], nan, 1, 1, None).is_err(), "a value that is not a number");
        let mut empty = statistics(1);
        empty.rows[0] = 0;
        assert!(Tree::new(vec![leaf], empty, 1, 1, None).is_err(), "a node without rows");
    }

    #[test]
    fn sets_with_unknown_categories_are_refused() {
        let build = |set: u64| {
            let mut sets = CategorySets::default();
            sets.words.push(set);
            let categories = Categories { counts: vec![0, 3], sets };
            let threshold = set_threshold(0);
            let root = ArenaNode::inner(Test { feature: 1, threshold, missing_left: true, right: 2 });
            Tree::new(vec![root, ArenaNode::leaf(), ArenaNode::leaf()], statistics(3), 2, 1, Some(categories))
        };
        assert!(build(0b101).is_ok());
        assert!(build(0b1000).is_err());
    }
}
