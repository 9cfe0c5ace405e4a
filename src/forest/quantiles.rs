//! Quantile forests: the targets of each leaf's training rows, and quantiles over the leaves of a
//! row.
//!
//! A leaf keeps the ranks of its rows among all targets, in any order; a row that was drawn
//! twice is kept twice. A prediction gathers the ranks in the leaves of a row, one leaf per tree,
//! and selects the order statistics that the quantiles lie between. Nothing is sampled.
//!
//! ```text
//! for each chunk of rows, in parallel
//!     for each tree                       its nodes and starts of leaves stay in cache
//!         for each row                    walk; note where the ranks of its leaf are
//!     for some rows at a time, whose ranks stay in cache together
//!         for each tree
//!             for each row                copy the ranks, which were prefetched
//!         for each row                    select (`selection.rs`)
//! ```
//!
//! Row after row would take two cache misses per row and tree, one after the other.
//!
//! Cost: 4 bytes per row and tree, and 4 bytes per node. A prediction takes O(rows of the leaves)
//! per row, and 8 bytes per row of a chunk and tree.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::predict::Collect;
use super::selection::Selection;
use super::{Forest, LeafRows};
use crate::data::{Cell, Matrix, Source};
use crate::error::{Error, Result};
use crate::memory::{check_room, prefetch};
use crate::predict::filled;
use crate::threads::Team;
use crate::tree::Tree;

/// What a quantile between two targets is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The point between them in proportion.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// The midpoint.
    Midpoint,
    /// The nearer one; halfway, the one with the even rank.
    Nearest,
}

/// The targets of the training rows in each leaf of a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafTargets {
    /// All targets in ascending order.
    targets: Vec<f64>,
    trees: Vec<TreeRanks>,
}

/// The rows in the leaves of one tree.
#[derive(Clone, Debug, Default, PartialEq)]
struct TreeRanks {
    /// By node, and one more: where its ranks start. Inner nodes have none.
    starts: Vec<u32>,
    ranks: Vec<u32>,
}

impl TreeRanks {
    /// Gathers the ranks of a tree's rows; `order` has the rows in ascending order of their
    /// targets, and `count` says how often the tree sees a row.
    fn new(tree: &Tree, leaves: &[u32], order: &[u32], count: impl Fn(usize) -> u32) -> Result<Self> {
        let n_ranks = (0..leaves.len()).fold(0, |sum: usize, row| sum.saturating_add(count(row) as usize));
        if u32::try_from(n_ranks).is_err() {
            let problem =
                format!("the leaves of a tree have {n_ranks} rows, of which at most {} can be kept", u32::MAX);
            return Err(Error::argument("bags", problem));
        }
        check_room(n_ranks.saturating_mul(size_of::<u32>()))?;
        let mut starts = vec![0; tree.node_count() + 1];
        for (row, &leaf) in leaves.iter().enumerate() {
            starts[leaf as usize + 1] += count(row);
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = starts.clone();
        let mut ranks = vec![0; starts[tree.node_count()] as usize];
        for (rank, &row) in (0..).zip(order) {
            let next = &mut next[leaves[row as usize] as usize];
            let n = count(row as usize);
            ranks[*next as usize..][..n as usize].fill(rank);
            *next += n;
        }
        Ok(Self { starts, ranks })
    }

    fn of_leaf(&self, leaf: u32) -> Span {
        let start = self.starts[leaf as usize];
        Span { start, len: self.starts[leaf as usize + 1] - start }
    }

    /// Whether these are the ranks of a tree with this many nodes, below `n_targets`.
    fn is_sound(&self, n_nodes: usize, n_targets: usize) -> bool {
        let ends = (self.starts.first(), self.starts.last().map(|&end| end as usize));
        self.starts.len() == n_nodes + 1
            && self.starts.is_sorted()
            && ends == (Some(&0), Some(self.ranks.len()))
            && self.ranks.iter().all(|&rank| (rank as usize) < n_targets)
    }
}

impl LeafTargets {
    /// Finds the leaf of every row in every tree. `y` has the targets of the rows of `x`, and
    /// `counts(tree)` how often a tree sees each row; `None` means once.
    ///
    /// # Errors
    /// If lengths differ, a target is not finite, or there is not enough memory.
    pub fn new<X: Cell>(
        forest: &Forest,
        x: &Matrix<'_, X>,
        y: &[f64],
        counts: impl Fn(usize) -> Option<Vec<u32>> + Sync,
        n_jobs: Option<i64>,
    ) -> Result<Self> {
        Self::new_while(|| true, forest, Source::Dense(x), y, counts, n_jobs)
    }

    /// The same for any X, interrupted once `go_on` returns false.
    pub(crate) fn new_while<X: Cell>(
        mut go_on: impl FnMut() -> bool,
        forest: &Forest,
        x: Source<'_, X>,
        y: &[f64],
        counts: impl Fn(usize) -> Option<Vec<u32>> + Sync,
        n_jobs: Option<i64>,
    ) -> Result<Self> {
        let n_rows = x.values().n_rows();
        forest.check_width(x.values().n_columns())?;
        if y.len() != n_rows || y.iter().any(|y| !y.is_finite()) {
            return Err(Error::argument("y", format!("needs {n_rows} finite targets, one per row")));
        }
        let n_nodes: usize = forest.trees.iter().map(|tree| tree.node_count()).sum();
        check_room(4usize.saturating_mul(n_nodes.saturating_add(n_rows.saturating_mul(forest.n_trees()))))?;
        let mut order: Vec<u32> = (0..n_rows as u32).collect();
        order.sort_by(|&a, &b| y[a as usize].total_cmp(&y[b as usize]));
        let team = Team::new(n_jobs, 1, n_rows.saturating_mul(16 * forest.n_trees()))?;
        let mut trees: Vec<_> = forest.trees.iter().map(|tree| (tree, Ok(TreeRanks::default()))).enumerate().collect();
        let work = || {
            team.each(&mut trees, &mut vec![(); team.threads()], |(), (number, (tree, ranks))| {
                if !team.cancelled() {
                    let (leaves, counts) = (tree.leaves(x), counts(*number));
                    let count = |row: usize| counts.as_ref().map_or(1, |counts| counts[row]);
                    *ranks = TreeRanks::new(tree, &leaves, &order, count);
                }
            });
        };
        team.supervise(work, |_| go_on());
        if team.cancelled() {
            return Err(Error::Interrupted);
        }
        let trees = trees.into_iter().map(|(_, (_, ranks))| ranks).collect::<Result<_>>()?;
        Ok(Self { targets: order.iter().map(|&row| y[row as usize]).collect(), trees })
    }

    /// From its parts: all targets in ascending order; and, tree after tree, where the ranks of
    /// each node start in the tree's ranks, with one more entry per tree, and the ranks. Everything
    /// is checked.
    ///
    /// # Errors
    /// If the parts are not those of this forest.
    pub fn from_parts(forest: &Forest, targets: Vec<f64>, starts: &[u32], ranks: &[u32]) -> Result<Self> {
        let refused = || Error::argument("ranks", "targets, starts and ranks don't belong to this forest");
        let (mut starts, mut ranks) = (starts, ranks);
        let mut trees = Vec::with_capacity(forest.n_trees());
        for tree in &forest.trees {
            let (of_tree, later) = starts.split_at_checked(tree.node_count() + 1).ok_or_else(refused)?;
            let n_ranks = of_tree[tree.node_count()] as usize;
            let (ranks_of_tree, ranks_later) = ranks.split_at_checked(n_ranks).ok_or_else(refused)?;
            let of_tree = TreeRanks { starts: of_tree.to_vec(), ranks: ranks_of_tree.to_vec() };
            if !of_tree.is_sound(tree.node_count(), targets.len()) {
                return Err(refused());
            }
            trees.push(of_tree);
            (starts, ranks) = (later, ranks_later);
        }
        if !starts.is_empty() || !ranks.is_empty() || !targets.is_sorted() || targets.iter().any(|y| !y.is_finite()) {
            return Err(refused());
        }
        Ok(Self { targets, trees })
    }

    /// All targets in ascending order; and the starts and ranks of all trees, as
    /// [`Self::from_parts`] takes them.
    #[must_use]
    pub fn parts(&self) -> (&[f64], Vec<u32>, Vec<u32>) {
        let starts = self.trees.iter().flat_map(|tree| &tree.starts).copied().collect();
        let ranks = self.trees.iter().flat_map(|tree| &tree.ranks).copied().collect();
        (&self.targets, starts, ranks)
    }

    /// The rows in the leaves, for a model file. They are numbered in the order of their targets.
    #[must_use]
    pub fn to_rows(&self) -> LeafRows {
        let sizes = self.trees.iter().flat_map(|tree| tree.starts.windows(2).map(|ends| ends[1] - ends[0]));
        let rows = self.trees.iter().flat_map(|tree| &tree.ranks).copied();
        LeafRows::new(sizes.collect(), rows.collect(), self.targets.clone())
    }

    /// The quantiles of each row, row after row: of the targets of all training rows in the row's
    /// leaves. Levels are from 0 to 1.
    ///
    /// # Errors
    /// If `x` has another number of columns than the forest, a level is not from 0 to 1, or the
    /// forest has other trees than these targets.
    pub fn quantiles<X: Cell>(
        &self,
        forest: &Forest,
        x: &Matrix<'_, X>,
        levels: &[f64],
        interpolation: Interpolation,
        n_jobs: Option<i64>,
    ) -> Result<Vec<f64>> {
        filled(x.n_rows() * levels.len(), |out| {
            self.quantiles_into(out, forest, x, levels, interpolation, None, n_jobs, || true)
        })
    }

    /// Writes the quantiles of each row: every place of `out`, unless it fails. `mask` says, for
    /// each row and tree, whether the tree counts; NaN if none does.
    #[allow(clippy::too_many_arguments)] // The prediction's, and three of its own.
    pub(crate) fn quantiles_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<f64>],
        forest: &Forest,
        x: &Matrix<'_, X>,
        levels: &[f64],
        interpolation: Interpolation,
        mask: Option<&[bool]>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        if let Some(level) = levels.iter().find(|level| !(0.0..=1.0).contains(*level)) {
            return Err(Error::argument("quantiles", format!("must be from 0 to 1, got {level}")));
        }
        self.write_leaves(out, forest, x, mask, n_jobs, go_on, |selection: &mut Selection, _, ranks, out| {
            selection.take(ranks);
            for (place, &level) in out.iter_mut().zip(levels) {
                place.write(quantile(selection, level, interpolation, &self.targets));
            }
        })
    }

    /// For each row and its own number of `y`: how many targets in the row's leaves are below the
    /// number, how many are equal to it, and how many there are.
    ///
    /// # Errors
    /// If `y` has other than one number per row, and as [`Self::quantiles`].
    pub fn counts<X: Cell>(
        &self,
        forest: &Forest,
        x: &Matrix<'_, X>,
        y: &[f64],
        n_jobs: Option<i64>,
    ) -> Result<Vec<i64>> {
        filled(x.n_rows() * 3, |out| self.counts_into(out, forest, x, y, None, n_jobs, || true))
    }

    /// Writes the three numbers of each row: every place of `out`, unless it fails.
    #[allow(clippy::too_many_arguments)] // The prediction's, and two of its own.
    pub(crate) fn counts_into<X: Cell>(
        &self,
        out: &mut [MaybeUninit<i64>],
        forest: &Forest,
        x: &Matrix<'_, X>,
        y: &[f64],
        mask: Option<&[bool]>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
    ) -> Result<()> {
        if y.len() != x.n_rows() {
            return Err(Error::argument("y", format!("needs {} entries, one per row", x.n_rows())));
        }
        self.write_leaves(out, forest, x, mask, n_jobs, go_on, |(): &mut (), row, ranks, out| {
            let below = self.targets.partition_point(|&target| target < y[row]) as u32;
            let up_to = self.targets.partition_point(|&target| target <= y[row]) as u32;
            let count = |end: u32| ranks.iter().filter(|&&rank| rank < end).count() as i64;
            let (below, up_to) = (count(below), count(up_to));
            for (place, n) in out.iter_mut().zip([below, up_to - below, ranks.len() as i64]) {
                place.write(n);
            }
        })
    }

    /// Calls `write` for each row with its number, the ranks in its leaves in any order, and the
    /// places of its results.
    #[allow(clippy::too_many_arguments)] // The prediction's, and two of its own.
    fn write_leaves<X: Cell, O: Send, S: Default + Send>(
        &self,
        out: &mut [MaybeUninit<O>],
        forest: &Forest,
        x: &Matrix<'_, X>,
        mask: Option<&[bool]>,
        n_jobs: Option<i64>,
        go_on: impl FnMut() -> bool,
        write: impl Fn(&mut S, usize, &[u32], &mut [MaybeUninit<O>]) + Sync,
    ) -> Result<()> {
        let n_trees = forest.n_trees();
        let has_nodes =
            |(tree, ranks): (&std::sync::Arc<Tree>, &TreeRanks)| ranks.starts.len() == tree.node_count() + 1;
        if self.trees.len() != n_trees || !forest.trees.iter().zip(&self.trees).all(has_nodes) {
            return Err(Error::argument("forest", "has other trees than the targets in leaves"));
        }
        if mask.is_some_and(|mask| mask.len() != x.n_rows() * n_trees) {
            return Err(Error::argument("mask", format!("needs {} rows of {n_trees} entries", x.n_rows())));
        }
        forest.write_rows(out, x, n_jobs, go_on, &RanksOfRows { trees: &self.trees, mask, write, scratch: PhantomData })
    }
}

/// Some ranks of a tree: those of a leaf.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

/// Ranks that are gathered before the first row of them is written. They and their spans stay in a
/// core's own cache.
const GATHERED: usize = 1 << 16;
/// How many rows ahead ranks are prefetched.
const AHEAD: usize = 16;

/// Gathers the ranks in the leaves of each row, and calls `write` with them.
struct RanksOfRows<'a, S, W> {
    trees: &'a [TreeRanks],
    /// For each row and tree, whether the tree counts.
    mask: Option<&'a [bool]>,
    write: W,
    /// What `write` needs for itself.
    scratch: PhantomData<fn() -> S>,
}

/// What is known of the rows of a chunk.
#[derive(Default)]
struct Gathered<S> {
    /// Tree after tree, and row after row: where the ranks are.
    spans: Vec<Span>,
    /// By row: the number of its ranks, in all leaves.
    totals: Vec<usize>,
    /// Some rows' ranks, row after row.
    ranks: Vec<u32>,
    /// By row: the place of its next rank.
    next: Vec<usize>,
    scratch: S,
}

impl<O, S, W> Collect<O> for RanksOfRows<'_, S, W>
where
    S: Default + Send,
    W: Fn(&mut S, usize, &[u32], &mut [MaybeUninit<O>]) + Sync,
{
    type Collected = Gathered<S>;

    fn bytes_per_row(&self) -> usize {
        size_of::<usize>() + self.trees.len() * size_of::<Span>()
    }

    fn begin(&self, gathered: &mut Gathered<S>, n_rows: usize) {
        gathered.spans.clear();
        gathered.totals.clear();
        gathered.totals.resize(n_rows, 0);
    }

    fn visit(&self, gathered: &mut Gathered<S>, tree: usize, row: usize, leaves: &[u32]) {
        for (&leaf, total) in leaves.iter().zip(&mut gathered.totals[row..]) {
            let span = self.trees[tree].of_leaf(leaf);
            *total += span.len as usize;
            gathered.spans.push(span);
        }
    }

    fn write(&self, gathered: &mut Gathered<S>, first: usize, out: &mut [MaybeUninit<O>]) {
        let n_rows = gathered.totals.len();
        let width = out.len() / n_rows;
        if let Some(mask) = self.mask {
            gathered.mask(&mask[first * self.trees.len()..], self.trees.len());
        }
        let mut start = 0;
        while start < n_rows {
            let end = gathered.gather(self.trees, start);
            let mut ranks = &gathered.ranks[..];
            for row in start..end {
                let (of_row, later) = ranks.split_at(gathered.totals[row]);
                (self.write)(&mut gathered.scratch, first + row, of_row, &mut out[row * width..][..width]);
                ranks = later;
            }
            start = end;
        }
    }
}

impl<S> Gathered<S> {
    /// Removes the leaves of trees that don't count. `mask` begins at the first row of the chunk.
    fn mask(&mut self, mask: &[bool], n_trees: usize) {
        let n_rows = self.totals.len();
        for (place, span) in self.spans.iter_mut().enumerate() {
            let (tree, row) = (place / n_rows, place % n_rows);
            if !mask[row * n_trees + tree] {
                self.totals[row] -= span.len as usize;
                span.len = 0;
            }
        }
    }

    /// Gathers the ranks of at least one row, from row `start` on. Returns the row after the last
    /// one.
    fn gather(&mut self, trees: &[TreeRanks], start: usize) -> usize {
        let n_rows = self.totals.len();
        let mut n_ranks = 0;
        self.next.clear();
        for &total in &self.totals[start..] {
            if n_ranks > 0 && n_ranks + total > GATHERED {
                break;
            }
            self.next.push(n_ranks);
            n_ranks += total;
        }
        self.ranks.resize(n_ranks, 0);
        for (tree, spans) in trees.iter().zip(self.spans.chunks_exact(n_rows)) {
            let later = spans.iter().skip(start + AHEAD).map(Some).chain(std::iter::repeat(None));
            for ((span, next), later) in spans[start..].iter().zip(&mut self.next).zip(later) {
                if let Some(later) = later {
                    prefetch(tree.ranks.as_ptr().wrapping_add(later.start as usize));
                }
                let (from, len) = (span.start as usize, span.len as usize);
                let (to, from) = (&mut self.ranks[*next..][..len], &tree.ranks[from..][..len]);
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
                *next += len;
            }
        }
        start + self.next.len()
    }
}

/// The quantile of a level, of the targets with these ranks. NaN without ranks.
fn quantile(ranks: &mut Selection, level: f64, interpolation: Interpolation, targets: &[f64]) -> f64 {
    if ranks.len() == 0 {
        return f64::NAN;
    }
    let place = level * (ranks.len() - 1) as f64;
    let (floor, share) = (place as usize, place.fract());
    let mut target = |place| targets[ranks.at(place) as usize];
    let low = target(floor);
    if share == 0.0 {
        return low;
    }
    match interpolation {
        Interpolation::Lower => low,
        Interpolation::Nearest if share < 0.5 || share == 0.5 && floor.is_multiple_of(2) => low,
        Interpolation::Higher | Interpolation::Nearest => target(floor + 1),
        Interpolation::Linear => low + share * (target(floor + 1) - low),
        Interpolation::Midpoint => 0.5 * low + 0.5 * target(floor + 1),
    }
}
