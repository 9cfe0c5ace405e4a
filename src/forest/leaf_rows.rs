//! The training rows in the leaves of a forest, and their targets: what the file of a quantile
//! forest holds beside the trees.
//!
//! [`LeafTargets`] answers questions about one output, from ranks; rows serve all outputs, and say
//! which training rows are near a row. Cost: 4 bytes per row and tree, 4 per node, 8 per target.

use super::{Forest, LeafTargets};
use crate::error::{Error, Result};
use crate::tree::Tree;

/// The training rows in the leaves of a forest, and their targets.
///
/// ```
/// use splitwood::{ForestModel, ForestParams, Interpolation, LeafTargets, Loss, Matrix, Target};
/// use splitwood::fit_forest;
///
/// let x = Matrix::from_rows(&[0.0, 0.0, 0.0, 3.0], 4, 1)?;
/// let y = [1.0, 2.0, 9.0, 7.0];
/// let params = ForestParams::new(10, 0);
/// let forest = fit_forest(&x, Target::Values(&y), None, Loss::SquaredError, &params)?.forest;
/// let targets = LeafTargets::new(&forest, &x, &y, |_| None, None)?;
///
/// let model = ForestModel::regressor(forest)?.with_leaf_rows(targets.to_rows())?;
/// let loaded = ForestModel::from_bytes(&model.to_bytes())?;
/// let (forest, leaves) = (loaded.forest(), loaded.leaf_rows().expect("the file has them"));
/// let targets = leaves.targets(forest, 0)?;
/// assert_eq!(targets.quantiles(forest, &x, &[0.5], Interpolation::Linear, None)?[0], 2.0);
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeafRows {
    sizes: Vec<u32>,
    rows: Vec<u32>,
    targets: Vec<f64>,
}

impl LeafRows {
    /// From how many rows each node keeps, tree after tree, 0 for inner nodes; from the numbers of
    /// these rows, leaf after leaf; and from the targets of all training rows, row after row, with
    /// one per output. They are checked when a model takes them.
    #[must_use]
    pub fn new(sizes: Vec<u32>, rows: Vec<u32>, targets: Vec<f64>) -> Self {
        Self { sizes, rows, targets }
    }

    /// How many rows each node keeps, tree after tree.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The rows of each leaf, leaf after leaf.
    #[must_use]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The targets of all training rows, row after row.
    #[must_use]
    pub fn all_targets(&self) -> &[f64] {
        &self.targets
    }

    /// The targets of one output in the leaves of the forest that these rows belong to.
    ///
    /// # Errors
    /// If the rows are not those of this forest, or it has no such output.
    pub fn targets(&self, forest: &Forest, output: usize) -> Result<LeafTargets> {
        let trees: Vec<&Tree> = forest.trees.iter().map(|tree| &**tree).collect();
        self.check(&trees)?;
        if output >= forest.n_outputs() {
            return Err(Error::argument("output", format!("must be below {}, got {output}", forest.n_outputs())));
        }
        let y: Vec<f64> = self.targets.iter().skip(output).step_by(forest.n_outputs()).copied().collect();
        let mut order: Vec<u32> = (0..y.len() as u32).collect();
        order.sort_by(|&a, &b| y[a as usize].total_cmp(&y[b as usize]));
        let mut rank_of = vec![0; y.len()];
        for (rank, &row) in (0..).zip(&order) {
            rank_of[row as usize] = rank;
        }
        let mut ranks: Vec<u32> = self.rows.iter().map(|&row| rank_of[row as usize]).collect();
        let (mut starts, mut sizes) = (Vec::with_capacity(self.sizes.len() + trees.len()), &self.sizes[..]);
        let mut later = &mut ranks[..];
        for tree in trees {
            let (of_tree, rest) = sizes.split_at(tree.node_count());
            sizes = rest;
            let mut start = 0;
            starts.push(start);
            for &size in of_tree {
                let (leaf, rest) = later.split_at_mut(size as usize);
                leaf.sort_unstable();
                later = rest;
                start += size;
                starts.push(start);
            }
        }
        let sorted = order.iter().map(|&row| y[row as usize]).collect();
        LeafTargets::from_parts(forest, sorted, &starts, &ranks)
    }

    /// Returns an error if these are not rows in the leaves of the trees of a forest.
    pub(crate) fn check(&self, trees: &[&Tree]) -> Result<()> {
        let refused = |problem: &str| Err(Error::argument("leaf_rows", problem));
        let n_outputs = trees[0].n_outputs();
        let n_rows = self.targets.len() / n_outputs;
        if n_rows == 0 || n_rows > crate::data::MAX_ROWS || self.targets.len() != n_rows * n_outputs {
            return refused("there must be one target per training row and output");
        }
        if self.targets.iter().any(|target| !target.is_finite()) {
            return refused("a target is not finite");
        }
        let mut sizes = &self.sizes[..];
        let mut total = 0;
        for tree in trees {
            let Some((of_tree, rest)) = sizes.split_at_checked(tree.node_count()) else {
                return refused("the number of nodes is not that of the trees");
            };
            sizes = rest;
            if of_tree.iter().enumerate().any(|(node, &size)| size > 0 && tree.children(node).is_some()) {
                return refused("only leaves have rows");
            }
            let in_tree: u64 = of_tree.iter().map(|&size| u64::from(size)).sum();
            if in_tree > u32::MAX.into() {
                return refused("a tree has too many rows");
            }
            total += in_tree;
        }
        if !sizes.is_empty() || total != self.rows.len() as u64 {
            return refused("the leaves don't have this many rows together");
        }
        if self.rows.iter().any(|&row| row as usize >= n_rows) {
            return refused("a leaf has a row without a target");
        }
        Ok(())
    }
}
