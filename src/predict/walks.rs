//! Which nodes the rows of a prediction walk down: compact ones, those of the arena, or runs of
//! those.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::layout::{CompactNode, CompactTrees, Layout, Narrow, Wide};
use super::runs::Runs;
use super::walk::{self, BLOCK};
use crate::data::{AnySource, Cell, Matrix, Source};
use crate::threads::Team;
use crate::tree::Tree;

/// The copy is built when 1 row per this many nodes of a tree was predicted. An estimate for large
/// trees: a row saves some hundreds of nanoseconds per tree, and a node takes about ten to copy.
/// Small trees are copied almost at once.
const NODES_PER_ROW: usize = 64;

/// The compact copies of a tree or of the trees of a forest, built on demand. All values of this
/// type compare equal, and a clone is empty, because the copies follow from the nodes.
#[derive(Default)]
pub(crate) struct Layouts {
    pub(super) narrow: OnceLock<CompactTrees<Narrow>>,
    pub(super) wide: OnceLock<CompactTrees<Wide>>,
    /// Instead of a copy, for a single tree that is very deep. `None` if there was no memory.
    runs: OnceLock<Option<Runs>>,
    /// Rows that walked down the arena so far.
    rows: AtomicUsize,
}

impl Clone for Layouts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Layouts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Layouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Layouts")
    }
}

impl Layouts {
    /// The nodes that the rows of a prediction walk down. All calls must be for the same trees,
    /// which agree in their features.
    pub fn walks<'a, X: Cell>(&'a self, trees: &'a [&'a Tree], x: &'a Matrix<'a, X>, team: &Team) -> Walks<'a, X> {
        let single = match X::any(Source::Dense(x)) {
            AnySource::Single(Source::Dense(x)) => Some(x),
            _ => None,
        };
        // The common case: few rows should not wait for a look at each tree.
        if let (Some(x), Some(compact)) = (single, self.narrow.get()) {
            return Walks::Narrow(compact, x);
        }
        if let (None, Some(compact)) = (single, self.wide.get()) {
            return Walks::Wide(compact, x);
        }
        let n_rows = self.rows_with(x.n_rows());
        if let &[tree] = trees
            && Runs::pay(tree, n_rows)
            && let Some(runs) = self.runs.get_or_init(|| Runs::new(tree))
        {
            return Walks::Runs(runs, tree, x);
        }
        if is_too_early(trees, n_rows) || trees.iter().any(|tree| tree.categories.is_some()) {
            return Walks::Arena(trees, x);
        }
        let fits = trees.iter().all(|tree| Narrow::fits(tree.n_features(), tree.node_count()));
        let compact = match single.filter(|_| fits) {
            Some(x) => built(&self.narrow, trees, team).map(|compact| Walks::Narrow(compact, x)),
            None => built::<X, _>(&self.wide, trees, team).map(|compact| Walks::Wide(compact, x)),
        };
        compact.unwrap_or(Walks::Arena(trees, x))
    }

    /// The number of rows so far, with these.
    fn rows_with(&self, n_rows: usize) -> usize {
        self.rows.fetch_add(n_rows, Ordering::Relaxed).saturating_add(n_rows)
    }
}

/// Whether it is too early to build a copy after this many rows. The number of rows to come is
/// unknown. So the copy is built once walking without it has cost about as much as building it.
fn is_too_early(trees: &[&Tree], n_rows: usize) -> bool {
    let n_nodes: usize = trees.iter().map(|tree| tree.node_count()).sum();
    n_rows.saturating_mul(NODES_PER_ROW).saturating_mul(trees.len()) < n_nodes
}

/// The copy, which is built if there is none; `None` if there is not enough memory.
fn built<'a, X: Cell, N: CompactNode<X>>(
    cell: &'a OnceLock<CompactTrees<N>>,
    trees: &[&Tree],
    team: &Team,
) -> Option<&'a CompactTrees<N>> {
    if cell.get().is_none() {
        // Not within `get_or_init`: a thread that waits for other threads of its pool may be given
        // another prediction of these trees, which would wait for this one. If two predictions
        // build a copy, one of them is dropped.
        let _ = cell.set(CompactTrees::new::<X>(trees, team)?);
    }
    cell.get()
}

/// The nodes that the rows of one prediction walk down, and the rows.
pub(crate) enum Walks<'a, X> {
    Narrow(&'a CompactTrees<Narrow>, &'a Matrix<'a, f32>),
    Wide(&'a CompactTrees<Wide>, &'a Matrix<'a, X>),
    Arena(&'a [&'a Tree], &'a Matrix<'a, X>),
    Runs(&'a Runs, &'a Tree, &'a Matrix<'a, X>),
}

impl<'a, X: Cell> Walks<'a, X> {
    /// The walk down one tree.
    pub fn of_tree(&self, tree: usize) -> Walk<'a, X> {
        match self {
            Self::Narrow(compact, x) => Walk::Narrow(compact.layout(tree), x),
            Self::Wide(compact, x) => Walk::Wide(compact.layout(tree), x),
            Self::Arena(trees, x) => Walk::Arena(trees[tree], x),
            Self::Runs(runs, tree, x) => Walk::Runs(runs, tree, x),
        }
    }
}

/// The walk of some rows down one tree.
pub(crate) enum Walk<'a, X> {
    Narrow(Layout<'a, Narrow>, &'a Matrix<'a, f32>),
    Wide(Layout<'a, Wide>, &'a Matrix<'a, X>),
    Arena(&'a Tree, &'a Matrix<'a, X>),
    Runs(&'a Runs, &'a Tree, &'a Matrix<'a, X>),
}

impl<X: Cell> Walk<'_, X> {
    /// Calls `visit` for each block of these rows, in order, with the leaves of the block's rows.
    /// Ends early if the team is cancelled.
    pub fn blocks(&self, mut rows: Range<usize>, team: &Team, mut visit: impl FnMut(&[u32])) {
        while !rows.is_empty() && !team.cancelled() {
            let leaves = &mut [0; BLOCK][..rows.len().min(BLOCK)];
            self.leaves(rows.start, leaves);
            rows.start += leaves.len();
            visit(leaves);
        }
    }

    /// Writes the leaves of rows `first`, `first + 1`, …
    fn leaves(&self, first: usize, leaves: &mut [u32]) {
        match self {
            Self::Narrow(layout, x) => walk::walk(*layout, x, first, leaves),
            Self::Wide(layout, x) => walk::walk(*layout, x, first, leaves),
            Self::Arena(tree, x) => {
                for (i, leaf) in leaves.iter_mut().enumerate() {
                    *leaf = tree.walk(|feature| x.get(first + i, feature).to_f64(), |_| ()) as u32;
                }
            }
            Self::Runs(runs, tree, x) => {
                for (i, leaf) in leaves.iter_mut().enumerate() {
                    *leaf = runs.leaf(tree, |feature| x.get(first + i, feature).to_f64()) as u32;
                }
            }
        }
    }
}
