//! The arena: a fitted tree, node after node in depth-first order.
//!
//! Node 0 is the root. The left child of an inner node follows it directly, so a node stores only its right child.
//! A node is 16 bytes: what prediction needs, and nothing else. Statistics that only people ask for stand apart.

use crate::error::{Error, Result};
use crate::predict::Layouts;

/// Marks a leaf where a feature would stand.
const LEAF: u32 = u32::MAX;
/// Marks, beside the feature, that missing values go left.
const MISSING_LEFT: u32 = 1 << 31;

/// A node of the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Where categories decide, a NaN that says which set of them goes left.
    threshold: f64,
    /// `LEAF`, or the feature with the flag `MISSING_LEFT`.
    feature: u32,
    right: u32,
}

/// An inner node, taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    pub feature: u32,
    pub threshold: f64,
    pub missing_left: bool,
    pub right: u32,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        let same_threshold = self.threshold == other.threshold || self.threshold.to_bits() == other.threshold.to_bits();
        same_threshold && (self.feature, self.right) == (other.feature, other.right)
    }
}

impl Test {
    /// The set of categories that go left, by the place of its first word, if categories decide.
    #[inline]
    pub fn category_set(&self) -> Option<usize> {
        self.threshold.is_nan().then_some(self.threshold.to_bits() as u32 as usize)
    }

    /// Whether a row with this value goes left.
    #[inline]
    pub fn goes_left(&self, value: f64, categories: Option<&Categories>) -> bool {
        if value <= self.threshold {
            return true;
        }
        match categories.filter(|_| self.threshold.is_nan()) {
            None => self.missing_left && value.is_nan(),
            Some(categories) => categories.has(self, value).unwrap_or(self.missing_left),
        }
    }
}

/// A quiet NaN with room for a number of 32 bits.
const CATEGORIES: u64 = 0x7FF8_0000_0000_0000;

/// Sets of categories, one after the other, a bit for each category of the feature.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CategorySets {
    pub words: Vec<u64>,
}

impl CategorySets {
    /// Adds the set of those on the left. Those on neither side are in it if `others` says so. Returns what stands for the set as a threshold.
    pub fn push(&mut self, n_categories: u32, [left, right]: [impl Iterator<Item = u32>; 2], others: bool) -> f64 {
        let start = self.words.len();
        self.words.resize(start + n_words(n_categories), if others { u64::MAX } else { 0 });
        let set = &mut self.words[start..];
        left.for_each(|code| set[code as usize / 64] |= 1 << (code % 64));
        right.for_each(|code| set[code as usize / 64] &= !(1 << (code % 64)));
        // No bits beyond the last category, so that equal sets are equal words.
        if !n_categories.is_multiple_of(64) {
            set[n_words(n_categories) - 1] &= (1 << (n_categories % 64)) - 1;
        }
        f64::from_bits(CATEGORIES | start as u64)
    }

    /// Appends others; returns by how much their places have moved.
    pub fn append(&mut self, mut others: Self) -> u32 {
        let shift = self.words.len() as u32;
        self.words.append(&mut others.words);
        shift
    }
}

fn n_words(n_categories: u32) -> usize {
    n_categories.div_ceil(64) as usize
}

/// The categories of a tree's features.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Categories {
    /// For each feature their number, 0 for numbers.
    pub counts: Vec<u32>,
    pub sets: CategorySets,
}

impl Categories {
    fn set(&self, test: &Test) -> Option<&[u64]> {
        let start = test.category_set()?;
        self.sets.words.get(start..start.checked_add(n_words(*self.counts.get(test.feature as usize)?))?)
    }

    /// Whether a category goes left; `None` if it is missing, or none that was there at fit.
    fn has(&self, test: &Test, code: f64) -> Option<bool> {
        let count = self.counts[test.feature as usize];
        // Also false for NaN.
        if !(code >= 0.0 && code < f64::from(count) && code.fract() == 0.0) {
            return None;
        }
        let code = code as usize;
        self.set(test).map(|set| set[code / 64] >> (code % 64) & 1 != 0)
    }
}

impl Node {
    /// The same node where the place of its set of categories, if it has one, is higher by `shift`.
    pub fn with_set_shifted(&self, shift: u32) -> Self {
        let threshold = if self.feature != LEAF && self.threshold.is_nan() {
            f64::from_bits(self.threshold.to_bits() + u64::from(shift))
        } else {
            self.threshold
        };
        Self { threshold, ..*self }
    }

    pub const fn leaf() -> Self {
        Self { threshold: 0.0, feature: LEAF, right: 0 }
    }

    pub fn inner(test: Test) -> Self {
        debug_assert!(test.feature < MISSING_LEFT - 1);
        let flag = if test.missing_left { MISSING_LEFT } else { 0 };
        Self { threshold: test.threshold, feature: test.feature | flag, right: test.right }
    }

    /// The node as model files have it: threshold, feature with its flag, right child.
    pub fn to_bytes(self) -> [u8; 16] {
        let [threshold, links] = [self.threshold.to_bits(), u64::from(self.right) << 32 | u64::from(self.feature)];
        (u128::from(links) << 64 | u128::from(threshold)).to_le_bytes()
    }

    /// The node of these bytes; `None` for a leaf with more than its mark, or a NaN that stands for no set of categories.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let bits = u128::from_le_bytes(bytes);
        let threshold = f64::from_bits(bits as u64);
        let node = Self { threshold, feature: (bits >> 64) as u32, right: (bits >> 96) as u32 };
        let is_number_or_set = !threshold.is_nan() || threshold.to_bits() >> 32 == CATEGORIES >> 32;
        (is_number_or_set && (node.feature != LEAF || bytes == Self::leaf().to_bytes())).then_some(node)
    }

    /// The same node where all numbers are higher by `shift`. No branch: nothing tells a leaf beforehand.
    #[inline]
    pub fn shifted(&self, shift: u32) -> Self {
        Self { right: self.right + if self.feature == LEAF { 0 } else { shift }, ..*self }
    }

    #[inline]
    pub fn test(&self) -> Option<Test> {
        (self.feature != LEAF).then_some(Test {
            feature: self.feature & !MISSING_LEFT,
            threshold: self.threshold,
            missing_left: self.feature & MISSING_LEFT != 0,
            right: self.right,
        })
    }
}

/// What is known of the training rows of each node; each vector has an entry for each node of the arena.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    /// `n_values` numbers a node.
    pub values: Vec<f64>,
    pub impurity: Vec<f64>,
    pub rows: Vec<u32>,
    /// `None`: every row weighed one, so the weights are the rows.
    pub weight: Option<Vec<f64>>,
}

impl Statistics {
    /// Appends those of one node of another tree.
    pub fn push_from(&mut self, other: &Self, id: usize, n_values: usize) {
        self.values.extend_from_slice(&other.values[id * n_values..][..n_values]);
        self.impurity.push(other.impurity[id]);
        self.rows.push(other.rows[id]);
        if let Some(weight) = &other.weight {
            self.weight.get_or_insert_default().push(weight[id]);
        }
    }
}

/// A tree taken apart, an array for each property of its nodes.
#[cfg(feature = "python")]
pub(crate) struct Arrays<'a> {
    pub n_features: usize,
    pub n_values: usize,
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

/// A fitted decision tree.
///
/// Nodes are numbered depth-first: the root is 0, and the left child of an inner node `i` is `i + 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) statistics: Statistics,
    n_features: usize,
    n_values: usize,
    n_outputs: usize,
    max_depth: usize,
    /// Of trees with categories.
    pub(crate) categories: Option<Box<Categories>>,
    /// What predictions have derived from the nodes.
    pub(crate) layouts: Layouts,
}

impl Tree {
    /// A tree from its parts. They may come from a file or a pickle, so everything is checked.
    pub(crate) fn new(
        nodes: Vec<Node>,
        statistics: Statistics,
        n_features: usize,
        n_values: usize,
        categories: Option<Categories>,
    ) -> Result<Self> {
        let categories = categories.map(Box::new);
        let layouts = Layouts::default();
        let mut tree =
            Self { nodes, statistics, n_features, n_values, n_outputs: 1, max_depth: 0, categories, layouts };
        tree.max_depth = tree.check_all()?;
        Ok(tree)
    }

    /// Checks everything that prediction relies on; returns the depth.
    pub(crate) fn check_all(&self) -> Result<usize> {
        let depth = self.check()?;
        self.check_categories()?;
        Ok(depth)
    }

    /// A tree that has just been grown, to this depth: sound by construction.
    pub(crate) fn grown(
        nodes: Vec<Node>,
        statistics: Statistics,
        n_features: usize,
        n_values: usize,
        max_depth: usize,
    ) -> Self {
        let (categories, layouts) = (None, Layouts::default());
        let tree = Self { nodes, statistics, n_features, n_values, n_outputs: 1, max_depth, categories, layouts };
        debug_assert_eq!(tree.check(), Ok(max_depth));
        tree
    }

    /// The same tree, its values those of several outputs, one after the other.
    ///
    /// # Errors
    /// If the values can't be shared out evenly.
    pub(crate) fn with_outputs(self, n_outputs: usize) -> Result<Self> {
        if n_outputs == 0 || !self.n_values.is_multiple_of(n_outputs) {
            let problem = format!("{} values can't be those of {n_outputs} outputs", self.n_values);
            return Err(Error::argument("tree", problem));
        }
        Ok(Self { n_outputs, ..self })
    }

    /// The same tree with the numbers of categories of its features and the sets that its nodes refer to; of these only what is referred to
    /// is kept, in the order of the nodes.
    pub(crate) fn with_categories(mut self, counts: Vec<u32>, sets: &CategorySets) -> Self {
        let mut kept = CategorySets::default();
        for node in &mut self.nodes {
            if let Some(test) = node.test()
                && let Some(start) = test.category_set()
            {
                let threshold = f64::from_bits(CATEGORIES | kept.words.len() as u64);
                kept.words.extend_from_slice(&sets.words[start..][..n_words(counts[test.feature as usize])]);
                *node = Self::renamed(test, threshold);
            }
        }
        self.categories = Some(Box::new(Categories { counts, sets: kept }));
        debug_assert_eq!(self.check_categories(), Ok(()));
        self
    }

    fn renamed(test: Test, threshold: f64) -> Node {
        Node::inner(Test { threshold, ..test })
    }

    /// Checks sizes, that children come after their parents in depth-first order and each has one parent, that features
    /// exist, and that numbers that prediction returns are finite; returns the depth.
    fn check(&self) -> Result<usize> {
        let broken = |problem: String| Err(Error::argument("tree", problem));
        let Self { nodes, statistics, n_features, n_values, .. } = self;
        let n = nodes.len();
        let Statistics { values, impurity, rows, weight } = statistics;
        let weights = weight.as_ref().map_or(n, Vec::len);
        if n == 0 || *n_values == 0 || Some(values.len()) != n.checked_mul(*n_values) {
            return broken(format!("{n} nodes of {n_values} values can't have {} values", values.len()));
        }
        if impurity.len() != n || rows.len() != n || weights != n {
            return broken(format!("{n} nodes need as many statistics of each kind"));
        }
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return broken(format!("value {} of node {} is not finite", values[i], i / n_values));
        }
        if impurity.iter().chain(weight.iter().flatten()).any(|number| number.is_nan()) {
            return broken("an impurity or a weight is NaN".to_owned());
        }
        // Depth-first order: a stack of the right children still to come, each with its depth.
        let mut pending: Vec<(u32, usize)> = Vec::new();
        let (mut depth, mut max_depth) = (0, 0);
        for (id, node) in nodes.iter().enumerate() {
            max_depth = max_depth.max(depth);
            if let Some(test) = node.test() {
                if test.feature as usize >= *n_features {
                    return broken(format!("node {id} asks for feature {} of {n_features}", test.feature));
                }
                depth += 1;
                pending.push((test.right, depth));
            } else {
                match pending.pop() {
                    Some((right, right_depth)) if right as usize == id + 1 => depth = right_depth,
                    None if id + 1 == n => return Ok(max_depth),
                    _ => return broken(format!("node {} is no one's child, or of two", id + 1)),
                }
            }
        }
        broken("it ends before its last leaf".to_owned())
    }

    /// Checks that every threshold is a number, or a set of categories that is there.
    fn check_categories(&self) -> Result<()> {
        if let Some(categories) = &self.categories
            && categories.counts.len() != self.n_features
        {
            let problem =
                format!("{} features can't have {} numbers of categories", self.n_features, categories.counts.len());
            return Err(Error::argument("tree", problem));
        }
        let is_sound = |test: &Test| {
            let set = || self.categories.as_ref().and_then(|categories| categories.set(test));
            test.category_set().is_none_or(|_| set().is_some_and(|set| !set.is_empty()))
        };
        match (0..).zip(&self.nodes).find(|(_, node)| !node.test().is_none_or(|test| is_sound(&test))) {
            Some((id, _)) => Err(Error::argument("tree", format!("node {id} has no threshold"))),
            None => Ok(()),
        }
    }

    /// A tree from arrays with an entry for each node, as Python sees them: negative features mark leaves.
    #[cfg(feature = "python")]
    pub(crate) fn from_arrays(arrays: &Arrays<'_>) -> Result<Self> {
        let n = arrays.feature.len();
        let lengths = [arrays.threshold.len(), arrays.missing_left.len(), arrays.right.len(), arrays.rows.len()];
        if lengths.iter().any(|&len| len != n) {
            return Err(Error::argument("tree", format!("{n} nodes need as many entries in each array")));
        }
        let out_of_range = |_| Error::argument("tree", "a feature, child or count is out of range");
        let node = |id: usize| {
            if arrays.feature[id] < 0 {
                return Ok(Node::leaf());
            }
            let feature = u32::try_from(arrays.feature[id]).map_err(out_of_range)?;
            if feature >= MISSING_LEFT - 1 {
                return Err(Error::argument("tree", format!("node {id} has feature {feature}")));
            }
            Ok(Node::inner(Test {
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

    /// Number of features that the tree was fitted on.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Numbers that each leaf predicts: one value, or a probability for each class.
    #[must_use]
    pub fn n_values(&self) -> usize {
        self.n_values
    }

    /// Number of targets that a leaf predicts; its values are shared out evenly among them.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Number of nodes, leaves included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of leaves.
    #[must_use]
    pub fn n_leaves(&self) -> usize {
        // Every inner node has two children.
        self.nodes.len().div_ceil(2)
    }

    /// Depth of the deepest leaf; that of the root is 0.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Feature that an inner node tests, `None` for a leaf.
    #[must_use]
    pub fn feature(&self, node: usize) -> Option<usize> {
        self.nodes[node].test().map(|test| test.feature as usize)
    }

    /// Threshold of an inner node: values up to and including it go left. `None` for a leaf.
    #[must_use]
    pub fn threshold(&self, node: usize) -> Option<f64> {
        self.nodes[node].test().map(|test| test.threshold)
    }

    /// Whether missing values go left at an inner node, `None` for a leaf.
    #[must_use]
    pub fn missing_go_to_left(&self, node: usize) -> Option<bool> {
        self.nodes[node].test().map(|test| test.missing_left)
    }

    /// The codes of the categories that go left at an inner node on a feature of categories, `None` for other nodes. Their threshold is NaN.
    #[must_use]
    pub fn categories_left(&self, node: usize) -> Option<Vec<u32>> {
        let categories = self.categories.as_deref()?;
        let set = categories.set(&self.nodes[node].test()?)?;
        Some((0..set.len() as u32 * 64).filter(|&code| set[code as usize / 64] >> (code % 64) & 1 != 0).collect())
    }

    /// Left and right child of an inner node, `None` for a leaf.
    #[must_use]
    pub fn children(&self, node: usize) -> Option<(usize, usize)> {
        self.nodes[node].test().map(|test| (node + 1, test.right as usize))
    }

    /// What this node predicts, or would if it were a leaf.
    #[must_use]
    pub fn value(&self, node: usize) -> &[f64] {
        &self.statistics.values[node * self.n_values..][..self.n_values]
    }

    /// Loss of this node's training rows, averaged over their weight.
    #[must_use]
    pub fn impurity(&self, node: usize) -> f64 {
        self.statistics.impurity[node]
    }

    /// Number of training rows of this node.
    #[must_use]
    pub fn n_rows(&self, node: usize) -> usize {
        self.statistics.rows[node] as usize
    }

    /// Weight of the training rows of this node.
    #[must_use]
    pub fn weight(&self, node: usize) -> f64 {
        match &self.statistics.weight {
            Some(weight) => weight[node],
            None => f64::from(self.statistics.rows[node]),
        }
    }

    /// Loss of this node's training rows, averaged over the weight of all rows.
    pub(crate) fn loss(&self, node: usize) -> f64 {
        // Their quotient first: the product may overflow.
        self.weight(node) / self.weight(0) * self.impurity(node)
    }

    /// Loss removed by the splits on each feature as a share of the root's weight; scaled to a sum of one on request.
    #[must_use]
    pub fn feature_importances(&self, normalize: bool) -> Vec<f64> {
        let mut importances = vec![0.0; self.n_features];
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(test) = node.test() {
                importances[test.feature as usize] +=
                    self.loss(id) - self.loss(id + 1) - self.loss(test.right as usize);
            }
        }
        let total: f64 = importances.iter().sum();
        if normalize && total > 0.0 {
            for importance in &mut importances {
                *importance /= total;
            }
        }
        importances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(n: usize) -> Statistics {
        Statistics { values: vec![1.0; n], impurity: vec![0.0; n], rows: vec![1; n], weight: None }
    }

    fn inner(feature: u32, right: u32) -> Node {
        Node::inner(Test { feature, threshold: 0.5, missing_left: true, right })
    }

    fn build(nodes: &[Node]) -> Result<Tree> {
        Tree::new(nodes.to_vec(), statistics(nodes.len()), 2, 1, None)
    }

    #[test]
    fn a_node_has_16_bytes_and_keeps_its_parts() {
        assert_eq!(size_of::<Node>(), 16);
        let test = Test { feature: 7, threshold: -1.5, missing_left: true, right: 9 };
        assert_eq!(Node::inner(test).test(), Some(test));
        assert_eq!(Node::leaf().test(), None);
    }

    #[test]
    fn a_sound_tree_is_measured() {
        // 0 ─┬─ 1 ─┬─ 2
        //    │     └─ 3
        //    └─ 4
        let tree = build(&[inner(0, 4), inner(1, 3), Node::leaf(), Node::leaf(), Node::leaf()]).unwrap();
        assert_eq!((tree.node_count(), tree.n_leaves(), tree.max_depth()), (5, 3, 2));
        assert_eq!(tree.children(0), Some((1, 4)));
    }

    #[test]
    fn broken_trees_are_refused() {
        let leaf = Node::leaf();
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
    }
}
