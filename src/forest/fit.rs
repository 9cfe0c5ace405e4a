//! Grows the trees of a forest. Each thread takes whole trees; `README.md` has the steps.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Forest;
use super::bag::{Bags, Probabilities, draw};
use super::feature_order::{shuffled_features, tree_params};
use super::out_of_bag::{LeftOut, OutOfBag, OutOfBagSums};
use crate::data::{AnySource, Cell, Matrix, PickedCells, Rows, Source, SparseColumns, Target, are_all, picked};
use crate::error::{Error, Result};
use crate::fit::fit_valid;
use crate::grow::random::Seed;
use crate::memory::check_room;
use crate::params::{Choices, Loss, Objective, Params, PickedTargets, ValidFit};
use crate::shared_order::{SharedOrder, TreeOrder};
use crate::threads::Team;
use crate::tree::Tree;

/// Memory of a tree that is being grown, in bytes per cell and per row: sorted columns with items
/// of 16 bytes, and the cells themselves.
const CELL_BYTES: usize = 28;
const ROW_BYTES: usize = 120;

/// Settings of a forest.
///
/// ```
/// use splitwood::{Bags, ForestParams, Loss, Matrix, Target, fit_forest};
///
/// let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 3.0], 4, 1)?;
/// let y = Target::Values(&[1.0, 1.0, 5.0, 7.0]);
/// let params = ForestParams { bags: Bags::Bootstrap(4), ..ForestParams::new(10, 0) };
/// let fitted = fit_forest(&x, y, None, Loss::SquaredError, &params)?;
/// assert_eq!(fitted.forest.n_trees(), 10);
/// assert!(fitted.forest.predict(&x, None)?[3] > 4.0);
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ForestParams<'a> {
    /// Settings of each tree. Its seed is not used; `n_jobs` is the number of threads.
    pub tree: Params,
    /// One seed per tree. A tree depends on its own seed alone, so more trees can be grown later.
    pub seeds: Vec<u64>,
    /// Which rows the trees see.
    pub bags: Bags<'a>,
    /// Whether each class has the same weight in a bag. For classes only.
    pub balanced_subsample: bool,
    /// Whether to sum up the predictions of the trees for the rows that they did not see.
    pub out_of_bag: bool,
    /// The order of the same `x` and targets, from [`sort_forest_while`]; `None` to sort them.
    pub order: Option<&'a ForestOrder>,
}

/// The sorted columns and targets of a forest's data: what several fits to the same data share.
///
/// ```
/// use splitwood::{ForestParams, Loss, Matrix, Target, fit_forest, sort_forest_while};
///
/// let x = Matrix::from_rows(&[0.0, 1.0, 2.0, 3.0], 4, 1)?;
/// let y = Target::Values(&[1.0, 1.0, 5.0, 7.0]);
/// let params = ForestParams::new(10, 0);
/// let order = sort_forest_while(|| true, &x, y, Loss::SquaredError, &params.tree)?;
/// let ordered = ForestParams { order: Some(&order), ..params.clone() };
/// let fitted = fit_forest(&x, y, None, Loss::SquaredError, &ordered)?;
/// assert_eq!(fitted, fit_forest(&x, y, None, Loss::SquaredError, &params)?);
/// # Ok::<(), splitwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ForestOrder {
    order: SharedOrder,
    shape: [usize; 2],
    draws_thresholds: bool,
    ranks_targets: bool,
}

/// Sorts the columns and, for a loss that ranks them, the targets, for fits of forests with the
/// same settings of the trees. It stops when `go_on` returns false.
///
/// # Errors
/// As [`fit_forest`], and [`Error::Interrupted`] if `go_on` returned false.
pub fn sort_forest_while<X: Cell>(
    mut go_on: impl FnMut() -> bool,
    x: &Matrix<'_, X>,
    target: Target<'_>,
    loss: Loss,
    params: &Params,
) -> Result<ForestOrder> {
    let shape = [x.n_rows(), x.n_columns()];
    let valid = params.check(x, target, None, loss)?;
    let n_cells = shape[0].saturating_mul(shape[1]);
    // Row numbers and keys, of each column that a thread sorts and of the sorted ones.
    check_room(n_cells.saturating_mul(4).saturating_add(shape[0] * ROW_BYTES))?;
    let team = Team::new(params.n_jobs, shape[1], n_cells)?;
    let order = team.supervise(|| sort(&valid, Source::Dense(x), &team), |_| go_on());
    if team.cancelled() {
        return Err(Error::Interrupted);
    }
    Ok(ForestOrder {
        order,
        shape,
        draws_thresholds: draws_thresholds(&valid),
        ranks_targets: valid.objective.ranks_targets(),
    })
}

fn draws_thresholds(valid: &ValidFit<'_>) -> bool {
    valid.choices.as_ref().is_some_and(Choices::are_random_splits)
}

/// Sorts what the trees need in order.
fn sort<X: Cell>(valid: &ValidFit<'_>, x: Source<'_, X>, team: &Team) -> SharedOrder {
    let x = match x {
        Source::Dense(x) if !draws_thresholds(valid) => Some(x),
        _ => None,
    };
    let y = match valid.objective {
        Objective::Values { y, n_outputs: 1, .. } if valid.objective.ranks_targets() => Some(y),
        _ => None,
    };
    SharedOrder::new(x, y, team)
}

impl ForestParams<'_> {
    /// Settings with the seeds of `n_trees` trees, which follow from one seed.
    #[must_use]
    pub fn new(n_trees: usize, seed: u64) -> Self {
        let seeds = (0..n_trees).map(|tree| Seed::new(seed).of_feature(tree).stream().next()).collect();
        let (tree, bags) = (Params::default(), Bags::Whole);
        Self { tree, seeds, bags, balanced_subsample: false, out_of_bag: false, order: None }
    }
}

/// A forest, and what its fit found out on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedForest {
    /// The forest.
    pub forest: Forest,
    /// The sums of predictions, if they were asked for.
    pub out_of_bag: Option<OutOfBag>,
}

/// Fits a forest. It is the same for every number of threads and memory order of `x`.
///
/// # Errors
/// As [`fit`](crate::fit), and if there are no trees, or a bag is invalid.
pub fn fit_forest<X: Cell>(
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    fit_forest_while(|_| true, x, target, weights, loss, params)
}

/// How far the fit of a forest is.
#[derive(Clone, Copy)]
pub struct ForestProgress<'a> {
    n_trees: usize,
    out_of_bag: Option<&'a OutOfBagSums>,
}

impl ForestProgress<'_> {
    /// Number of trees that are finished.
    #[must_use]
    pub fn n_trees(&self) -> usize {
        self.n_trees
    }

    /// A copy of the sums over the first trees, if sums were asked for.
    #[must_use]
    pub fn out_of_bag(&self) -> Option<OutOfBag> {
        self.out_of_bag.map(OutOfBagSums::so_far)
    }
}

/// Fits a forest and calls `go_on` several times per second. The fit stops when it returns false.
///
/// # Errors
/// As [`fit_forest`], and [`Error::Interrupted`] if `go_on` returned false.
pub fn fit_forest_while<X: Cell>(
    mut go_on: impl FnMut(ForestProgress<'_>) -> bool,
    x: &Matrix<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    fit_any(&mut go_on, X::any(Source::Dense(x)), target, weights, loss, params)
}

/// [`fit_forest`] for sparse columns. The forest is the same as for a dense matrix of the same
/// cells.
///
/// # Errors
/// As [`fit_forest`].
pub fn fit_sparse_forest<X: Cell>(
    x: &SparseColumns<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    fit_sparse_forest_while(|_| true, x, target, weights, loss, params)
}

/// [`fit_forest_while`] for sparse columns.
///
/// # Errors
/// As [`fit_forest_while`].
pub fn fit_sparse_forest_while<X: Cell>(
    mut go_on: impl FnMut(ForestProgress<'_>) -> bool,
    x: &SparseColumns<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    fit_any(&mut go_on, X::any(Source::Sparse(x)), target, weights, loss, params)
}

/// Has no type parameters, so that it is compiled in this crate.
fn fit_any(
    go_on: &mut dyn FnMut(ForestProgress<'_>) -> bool,
    x: AnySource<'_>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    match x {
        AnySource::Single(x) => fit_source(go_on, x, target, weights, loss, params),
        AnySource::Double(x) => fit_source(go_on, x, target, weights, loss, params),
    }
}

fn fit_source<X: Cell>(
    go_on: &mut dyn FnMut(ForestProgress<'_>) -> bool,
    x: Source<'_, X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &ForestParams<'_>,
) -> Result<FittedForest> {
    let n_trees = params.seeds.len();
    let (n_rows, n_features) = (x.values().n_rows(), x.values().n_columns());
    let valid = params.tree.check(x.values(), target, weights, loss)?;
    if n_trees == 0 {
        return Err(Error::argument("n_estimators", "must be at least 1, got 0"));
    }
    params.bags.check(n_trees, n_rows)?;
    if params.balanced_subsample && !matches!(valid.objective, Objective::Classes { .. }) {
        return Err(Error::argument("class_weight", "\"balanced_subsample\" is for classes, not for values"));
    }
    if let Some(order) = params.order {
        let found = (order.shape, order.draws_thresholds, order.ranks_targets);
        if found != ([n_rows, n_features], draws_thresholds(&valid), valid.objective.ranks_targets()) {
            return Err(Error::argument("order", "is that of other data, or of other settings"));
        }
    }
    let team = Team::new(params.tree.n_jobs, n_trees, (n_rows * n_features).saturating_mul(n_trees))?;
    let sums = params.out_of_bag.then(|| OutOfBagSums::new(n_rows));
    let out_of_bag = sums.as_ref();
    let task = ForestTask { x, n_rows, n_features, weights, params, valid: &valid, out_of_bag, team: &team };
    let progress = |share: f64| ForestProgress { n_trees: (share * n_trees as f64).round() as usize, out_of_bag };
    let forest = team.supervise(|| task.grow(), |share| go_on(progress(share)))?;
    Ok(FittedForest { forest, out_of_bag: sums.map(OutOfBagSums::finish) })
}

/// A fit whose arguments passed all checks.
struct ForestTask<'a, X> {
    x: Source<'a, X>,
    n_rows: usize,
    n_features: usize,
    weights: Option<&'a [f64]>,
    params: &'a ForestParams<'a>,
    valid: &'a ValidFit<'a>,
    out_of_bag: Option<&'a OutOfBagSums>,
    team: &'a Team,
}

/// What all trees share.
struct Shared<'a> {
    order: &'a SharedOrder,
    probabilities: Option<Probabilities>,
}

impl<X: Cell> ForestTask<'_, X> {
    fn grow(&self) -> Result<Forest> {
        let n_trees = self.params.seeds.len();
        let workers = self.workers()?;
        let own;
        let order = if let Some(order) = self.params.order {
            &order.order
        } else {
            own = sort(self.valid, self.x, self.team);
            &own
        };
        let shared = self.share(order);
        let mut trees: Vec<(usize, Option<Result<Tree>>)> = (0..n_trees).map(|number| (number, None)).collect();
        let (is_first, has_failed) = (AtomicBool::new(true), AtomicBool::new(false));
        let grow = |(number, tree): &mut (usize, Option<Result<Tree>>), threads: usize| {
            if self.team.cancelled() || has_failed.load(Ordering::Relaxed) {
                return;
            }
            let mut grown = self.grow_tree(*number, &shared, &self.team.of_tree(threads));
            if is_first.swap(false, Ordering::Relaxed) {
                grown = grown.and_then(|tree| self.check_room_of_trees(&tree).map(|()| tree));
            }
            has_failed.fetch_or(grown.is_err(), Ordering::Relaxed);
            *tree = Some(grown);
            self.team.add_finished(1);
        };
        // The trees that would leave most threads idle at the end are grown first, by all threads.
        let rest = n_trees % workers;
        let (first, others) = trees.split_at_mut(if 2 * rest <= workers { rest } else { 0 });
        for tree in first {
            grow(tree, self.team.threads());
        }
        self.team.each(others, &mut vec![(); workers], |(), tree| grow(tree, 1));
        if self.team.cancelled() {
            return Err(Error::Interrupted);
        }
        let trees = trees.into_iter().filter_map(|(_, tree)| tree.map(|tree| tree.map(Arc::new)));
        Forest::new(trees.collect::<Result<_>>()?)
    }

    /// Number of trees that are grown at the same time: as many as there are threads, or fewer if
    /// their memory can't be allocated.
    fn workers(&self) -> Result<usize> {
        let n_cells = self.n_rows.saturating_mul(self.n_features);
        let per_tree = n_cells.saturating_mul(CELL_BYTES).saturating_add(self.n_rows * ROW_BYTES);
        let room = |workers: usize| check_room(per_tree.saturating_mul(workers).saturating_add(n_cells * 4));
        let workers = (2..=self.team.threads()).rev().find(|&workers| room(workers).is_ok()).unwrap_or(1);
        room(workers).map(|()| workers)
    }

    /// Returns an error if a forest of trees like the first one can't be allocated.
    ///
    /// Half of their memory is asked for, because later trees may be smaller. Bags of the caller's
    /// own can differ by any factor, so their trees are not judged by the first one.
    fn check_room_of_trees(&self, first: &Tree) -> Result<()> {
        match self.params.bags {
            Bags::Counts(_) => Ok(()),
            Bags::Whole | Bags::Bootstrap(_) => check_room(first.n_bytes().saturating_mul(self.params.seeds.len()) / 2),
        }
    }

    fn share<'s>(&self, order: &'s SharedOrder) -> Shared<'s> {
        let is_bootstrap = matches!(self.params.bags, Bags::Bootstrap(_));
        Shared { order, probabilities: self.weights.filter(|_| is_bootstrap).map(Probabilities::new) }
    }

    fn grow_tree(&self, number: usize, shared: &Shared<'_>, team: &Team) -> Result<Tree> {
        if team.cancelled() {
            return Err(Error::Interrupted);
        }
        let seed = self.params.seeds[number];
        let counts = self.counts(number, shared);
        let weights = self.tree_weights(counts.as_deref());
        let rows = Rows::new(self.n_rows, weights.as_deref())?;
        let features = if counts.is_some() || self.draws() {
            shuffled_features(seed, self.n_features)
        } else {
            (0..self.n_features as u32).collect()
        };
        let tree = self.grow_bag(seed, &rows, &features, weights.as_deref(), shared, team)?;
        let tree = tree.with_features(&features);
        if let Some(out_of_bag) = self.out_of_bag {
            let left_out = counts.map(|counts| LeftOut::new(&tree, self.x, &counts)).unwrap_or_default();
            out_of_bag.add(number, left_out, tree.n_values());
        }
        Ok(tree)
    }

    /// Grows a tree from the rows of its bag; its features are numbered in this order.
    fn grow_bag(
        &self,
        seed: u64,
        rows: &Rows,
        features: &[u32],
        weights: Option<&[f64]>,
        shared: &Shared<'_>,
        team: &Team,
    ) -> Result<Tree> {
        let params = tree_params(&self.params.tree, seed, features);
        let (rows, ids, own_weights) = match self.valid.repeated(rows, weights) {
            Some(repeated) => (repeated.rows(), repeated.ids, None),
            None => (rows.renumbered(), rows.ids(), weights),
        };
        let order = TreeOrder::new(shared.order, self.n_rows, &ids, features);
        let targets = PickedTargets::new(&self.valid.objective, &ids);
        let objective = targets.objective(&self.valid.objective);
        let valid = params.of_tree(rows, self.n_rows, self.n_features, objective, weights.is_some())?;
        let weights = own_weights.map(|weights| picked(weights, 1, &ids));
        let fit = |x: Source<'_, X>| fit_valid(x, weights.as_deref(), &valid, params.median_method, Some(&order), team);
        if are_all(&ids, self.n_rows) && features.is_sorted() {
            return fit(self.x);
        }
        // Random thresholds read X row by row, sorted columns are read feature by feature.
        let cells = if draws_thresholds(self.valid) { PickedCells::by_rows } else { PickedCells::new };
        cells(self.x, &ids, features).with(fit)
    }

    /// Whether features or thresholds are drawn.
    fn draws(&self) -> bool {
        let draws = |choices: &Choices| choices.n_features < self.n_features || choices.are_random_splits();
        self.valid.choices.as_ref().is_some_and(draws)
    }

    /// How often the tree sees each row; `None` if it sees each row once.
    fn counts(&self, number: usize, shared: &Shared<'_>) -> Option<Cow<'_, [u32]>> {
        match self.params.bags {
            Bags::Whole => None,
            Bags::Bootstrap(n_draws) => {
                let seed = self.params.seeds[number];
                Some(Cow::Owned(draw(seed, self.n_rows, n_draws, shared.probabilities.as_ref())))
            }
            Bags::Counts(counts) => {
                let counts = &counts[number * self.n_rows..][..self.n_rows];
                counts.iter().any(|&count| count != 1).then_some(Cow::Borrowed(counts))
            }
        }
    }

    /// The weights of the rows in a tree with this bag; `None` if all weights are one.
    fn tree_weights(&self, counts: Option<&[u32]>) -> Option<Cow<'_, [f64]>> {
        let given = self.weights.filter(|_| !matches!(self.params.bags, Bags::Bootstrap(_)));
        let mut weights: Cow<'_, [f64]> = match (counts, given) {
            (None, None) if self.params.balanced_subsample => vec![1.0; self.n_rows].into(),
            (None, given) => Cow::Borrowed(given?),
            (Some(counts), None) => counts.iter().map(|&count| f64::from(count)).collect(),
            (Some(counts), Some(given)) => given.iter().zip(counts).map(|(w, &count)| w * f64::from(count)).collect(),
        };
        if self.params.balanced_subsample {
            balance(weights.to_mut(), &self.valid.objective);
        }
        Some(weights)
    }
}

/// Multiplies weights so that each class of each output has the same total weight.
fn balance(weights: &mut [f64], objective: &Objective<'_>) {
    let &Objective::Classes { codes, n_outputs, n_classes, .. } = objective else { return };
    let total: f64 = weights.iter().sum();
    let mut factors = vec![1.0; weights.len()];
    for output in 0..n_outputs {
        let codes = || codes.iter().skip(output).step_by(n_outputs).map(|&code| code as usize);
        let mut sums = vec![0.0; n_classes];
        codes().zip(&*weights).for_each(|(code, weight)| sums[code] += weight);
        let n_present = sums.iter().filter(|&&sum| sum > 0.0).count() as f64;
        for (factor, code) in factors.iter_mut().zip(codes()) {
            // Classes without rows in the bag have no weight that could be multiplied.
            *factor *= if sums[code] > 0.0 { total / (n_present * sums[code]) } else { 0.0 };
        }
    }
    weights.iter_mut().zip(factors).for_each(|(weight, factor)| *weight *= factor);
}
