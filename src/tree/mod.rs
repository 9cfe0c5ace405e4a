//! A fitted tree: the arena and what belongs to it.
//!
//! The arena is a vector of nodes in depth-first order. Node 0 is the root, and the left child of
//! an inner node is the node after it.
//!
//! | file | what it holds |
//! |---|---|
//! | `node.rs` | the arena's node, 16 bytes |
//! | `categories.rs` | sets of categories, which splits on categories refer to |
//! | `statistics.rs` | what is known of each node's training rows |
//! | `validate.rs` | the checks of a tree whose parts come from outside |
//! | `arrays.rs` | a tree from Python's arrays |

#[cfg(feature = "python")]
mod arrays;
mod categories;
mod node;
mod statistics;
mod validate;

#[cfg(feature = "python")]
pub(crate) use self::arrays::Arrays;
pub(crate) use self::categories::{Categories, CategorySets};
pub(crate) use self::node::{ArenaNode, Test};
pub(crate) use self::statistics::Statistics;
use crate::error::{Error, Result};
use crate::predict::Layouts;

/// The error of a tree whose parts don't make a tree.
fn invalid<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::argument("tree", problem))
}

/// A fitted decision tree.
///
/// Nodes are numbered depth-first: the root is 0, and the left child of an inner node `i` is `i +
/// 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<ArenaNode>,
    pub(crate) statistics: Statistics,
    n_features: usize,
    n_values: usize,
    n_outputs: usize,
    max_depth: usize,
    /// `None` if all features are numbers.
    pub(crate) categories: Option<Box<Categories>>,
    /// Compact copies of the nodes, which predictions make and share.
    pub(crate) layouts: Layouts,
}

impl Tree {
    /// A tree from its parts. They may come from a file or a pickle, so everything is checked.
    pub(crate) fn new(
        nodes: Vec<ArenaNode>,
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

    /// Memory of the nodes and their statistics, in bytes.
    pub(crate) fn n_bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + self.statistics.n_bytes()
    }

    /// A tree that has just been grown to this depth. It is sound by construction, so it is checked
    /// only in debug builds.
    pub(crate) fn grown(
        nodes: Vec<ArenaNode>,
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

    /// This tree where the values of each node belong to several outputs, one output after the
    /// other.
    ///
    /// # Errors
    /// If the values can't be shared out evenly.
    pub(crate) fn with_outputs(self, n_outputs: usize) -> Result<Self> {
        if n_outputs == 0 || !self.n_values.is_multiple_of(n_outputs) {
            return invalid(format!("{} values can't be shared by {n_outputs} outputs", self.n_values));
        }
        Ok(Self { n_outputs, ..self })
    }

    /// This tree with the number of categories of each feature, and with the sets that its nodes
    /// refer to. Sets that no node refers to are dropped; the others are put in the order of the
    /// nodes.
    pub(crate) fn with_categories(mut self, counts: Vec<u32>, sets: CategorySets) -> Self {
        let categories = Categories { counts, sets };
        let mut kept = CategorySets::default();
        for node in &mut self.nodes {
            if let Some(test) = node.test()
                && let Some(words) = categories.words(&test)
            {
                *node = ArenaNode::inner(Test { threshold: kept.push_copy(words, test.threshold), ..test });
            }
        }
        self.categories = Some(Box::new(Categories { sets: kept, ..categories }));
        debug_assert_eq!(self.check_categories(), Ok(()));
        self
    }

    /// This tree where feature `k` is called `features[k]`, each of which occurs once.
    pub(crate) fn with_features(mut self, features: &[u32]) -> Self {
        if features.is_sorted() {
            return self;
        }
        for node in &mut self.nodes {
            if let Some(test) = node.test() {
                *node = ArenaNode::inner(Test { feature: features[test.feature as usize], ..test });
            }
        }
        if let Some(categories) = &mut self.categories {
            let counts = categories.counts.clone();
            features.iter().zip(counts).for_each(|(&feature, count)| categories.counts[feature as usize] = count);
        }
        self
    }

    /// Number of features that the tree was fitted on.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// How many numbers each leaf predicts: one value or one probability per class, for each
    /// output.
    #[must_use]
    pub fn n_values(&self) -> usize {
        self.n_values
    }

    /// Number of outputs. The values of a leaf are shared out evenly among them.
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

    /// Depth of the deepest leaf. The root has depth 0.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Feature that an inner node tests; `None` for a leaf.
    #[must_use]
    pub fn feature(&self, node: usize) -> Option<usize> {
        self.nodes[node].test().map(|test| test.feature as usize)
    }

    /// Threshold of an inner node: values up to and including it go left. NaN for a split on
    /// categories, `None` for a leaf.
    #[must_use]
    pub fn threshold(&self, node: usize) -> Option<f64> {
        self.nodes[node].test().map(|test| test.threshold)
    }

    /// Whether missing values go left at an inner node; `None` for a leaf.
    #[must_use]
    pub fn missing_go_to_left(&self, node: usize) -> Option<bool> {
        self.nodes[node].test().map(|test| test.missing_left)
    }

    /// The codes of the categories that go left at a split on categories; `None` for all other
    /// nodes.
    #[must_use]
    pub fn categories_left(&self, node: usize) -> Option<Vec<u32>> {
        let categories = self.categories.as_deref()?;
        let test = self.nodes[node].test()?;
        categories.words(&test)?;
        let goes_left = |code: &u32| categories.goes_left(&test, f64::from(*code)) == Some(true);
        Some((0..categories.counts[test.feature as usize]).filter(goes_left).collect())
    }

    /// Left and right child of an inner node; `None` for a leaf.
    #[must_use]
    pub fn children(&self, node: usize) -> Option<(usize, usize)> {
        self.nodes[node].test().map(|test| (node + 1, test.right as usize))
    }

    /// What this node predicts, or would predict if it were a leaf.
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

    /// Loss of this node's training rows, averaged over the weight of all training rows.
    pub(crate) fn loss(&self, node: usize) -> f64 {
        // The weights are divided first: a weight times an impurity may overflow.
        self.weight(node) / self.weight(0) * self.impurity(node)
    }

    /// Loss that the splits on each feature remove, averaged over the weight of all training rows.
    /// With `normalize`, the importances are scaled to a sum of one.
    #[must_use]
    pub fn feature_importances(&self, normalize: bool) -> Vec<f64> {
        let mut importances = vec![0.0; self.n_features];
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(test) = node.test() {
                // A split removes no less than nothing; a decrease below 0 is rounding.
                let decrease = self.loss(id) - self.loss(id + 1) - self.loss(test.right as usize);
                importances[test.feature as usize] += decrease.max(0.0);
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
