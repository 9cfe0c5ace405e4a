//! A worker: all rows of some features, and all targets.
//!
//! Memory: beside the columns of its features, a worker has the targets, and per row 4 bytes for
//! its node, 9 bits for its side and 2 bytes for its number in a small node; more for criteria that
//! rank targets (`grow/README.md`).

use super::level::LevelWorker;
use super::messages::{Decision, Divisions, Findings, HandOver, NodeKind, NodeReport, Splits};
use crate::columns::{Columns, SortedColumn};
use crate::criterion::Criterion;
use crate::data::{Cell, Matrix, Target, Values};
use crate::error::{Error, Result};
use crate::fit::{Engine, FitTask};
use crate::grow::subtree;
use crate::grow::tree_piece::{NodeSummary, TreePiece};
use crate::grow::{Fit, Units};
use crate::memory::check_room;
use crate::params::{Loss, MaxFeatures, Params, PickedTargets, Rules, Splitter, ValidFit};
use crate::presort::presort;
use crate::threads::Team;
use crate::wire::Wire;

/// Bytes per row beside the columns: targets, weights and items; node, side and number in a small
/// node; and, per thread, buffers of the presort and a spare column.
const ROW_BYTES: usize = 40;
const THREAD_ROW_BYTES: usize = 40;
/// Bytes per row of criteria that rank targets: two columns of targets, ranks, and the tables of
/// two levels of open nodes.
const RANKED_ROW_BYTES: usize = 120;
/// Largest item of a column, beside the row id.
const ITEM_BYTES: usize = 16;

/// Cells of a worker's features, feature by feature.
#[derive(Clone, Debug)]
pub enum Cells {
    /// In single precision.
    Single(Vec<f32>),
    /// In double precision.
    Double(Vec<f64>),
}

impl From<Vec<f32>> for Cells {
    fn from(cells: Vec<f32>) -> Self {
        Self::Single(cells)
    }
}

impl From<Vec<f64>> for Cells {
    fn from(cells: Vec<f64>) -> Self {
        Self::Double(cells)
    }
}

/// A worker of a fit on several machines: it has some features of all rows, and all targets.
///
/// All workers of a fit must have the same targets, weights, loss and settings, and each feature
/// exactly one owner. The order of the calls is that of the module's documentation; messages are
/// bytes that [`Driver`](super::Driver) makes and reads.
///
/// ```
/// use splitwood::{Cells, ColumnWorker, Driver, Loss, Params, Target};
///
/// // One worker has both features, so that there is nobody to send anything to.
/// let (x, y) = (vec![0.0, 1.0, 2.0, 5.0, 5.0, 4.0], [1.0, 1.0, 5.0]);
/// let (target, params) = (Target::Values(&y), Params::default());
/// let (cells, loss) = (Cells::Double(x), Loss::SquaredError);
/// let mut worker = ColumnWorker::new(cells, &[0, 1], 2, target, None, loss, &params)?;
/// let mut driver = Driver::new(&[vec![0, 1]], 2, &params)?;
/// let root = worker.root(&worker.has_missing())?;
/// driver.begin(&root)?;
/// while !driver.is_done() {
///     let decisions = driver.decide(&[worker.search()])?;
///     while let Some(plan) = driver.hand_over() {
///         let parcels = worker.extract(&plan, 0)?;
///         driver.finished(&worker.finish(&parcels)?)?;
///     }
///     let (divisions, sides) = worker.divide(&decisions[0])?;
///     worker.apply(&driver.divided(&[divisions])?, &[sides])?;
/// }
/// let tree = driver.tree()?;
/// assert_eq!(tree.threshold(0), Some(1.5));
/// # Ok::<(), splitwood::Error>(())
/// ```
pub struct ColumnWorker(Box<dyn ColumnWork>);

/// The calls of [`ColumnWorker`], for any type of cells and any criterion.
pub(super) trait ColumnWork: Send {
    fn has_missing(&self) -> Vec<bool>;
    fn root(&mut self, has_missing: &[bool]) -> Result<NodeReport>;
    fn search(&mut self) -> Findings;
    fn divide(&mut self, decisions: &[Decision]) -> Result<(Divisions, Vec<u8>)>;
    fn apply(&mut self, splits: Splits, sides: &[&[u8]]) -> Result<()>;
    fn extract(&mut self, plan: &HandOver, own: usize) -> Result<Vec<Vec<u8>>>;
    fn finish(&mut self, parcels: &[&[u8]]) -> Result<Vec<(usize, TreePiece)>>;
}

impl ColumnWorker {
    /// A worker for these features, which are numbered in the whole table of `n_features` and
    /// ascend. The features are sorted here.
    ///
    /// # Errors
    /// As [`fit`](crate::fit); if a setting is not supported by fits on several machines (drawn
    /// features or thresholds, monotonic constraints, categories, several outputs); and if
    /// `features` don't ascend or don't fit the cells.
    pub fn new(
        cells: Cells,
        features: &[usize],
        n_features: usize,
        target: Target<'_>,
        weights: Option<&[f64]>,
        loss: Loss,
        params: &Params,
    ) -> Result<Self> {
        check_supported(params, target)?;
        if features.is_empty() || !features.is_sorted_by(|a, b| a < b) || features.iter().any(|&one| one >= n_features)
        {
            return Err(Error::argument("features", format!("must ascend below {n_features}, got {features:?}")));
        }
        let (features, n_features) = (features.to_vec(), n_features);
        match cells {
            Cells::Single(cells) => build(OwnColumns { cells, features, n_features }, target, weights, loss, params),
            Cells::Double(cells) => build(OwnColumns { cells, features, n_features }, target, weights, loss, params),
        }
    }

    /// About how many bytes a worker needs for this many rows and features of its own, beside the
    /// cells, the targets and the weights that it is given.
    #[must_use]
    pub fn memory(n_rows: usize, n_features: usize, loss: Loss, is_weighted: bool, threads: usize) -> usize {
        let ranked = matches!(loss, Loss::AbsoluteError | Loss::Quantile(_));
        let columns = n_features * (size_of::<u32>() + ITEM_BYTES);
        let row = ROW_BYTES + THREAD_ROW_BYTES * threads + if ranked { RANKED_ROW_BYTES } else { 0 };
        // Weights may be exchanged for copies of rows.
        let (n_rows, copied) =
            if ranked && is_weighted { (2 * n_rows, n_features * size_of::<f64>()) } else { (n_rows, 0) };
        n_rows.saturating_mul(columns + row + copied)
    }

    /// By feature of this worker: whether any row has no value.
    #[must_use]
    pub fn has_missing(&self) -> Vec<bool> {
        self.0.has_missing()
    }

    /// Describes the root. `has_missing` is that of all features of the table.
    ///
    /// # Errors
    /// If `has_missing` has another length than the table has features.
    pub fn root(&mut self, has_missing: &[bool]) -> Result<Vec<u8>> {
        Ok(self.0.root(has_missing)?.to_bytes())
    }

    /// Partitions the columns by the last splits and searches the open nodes.
    #[must_use]
    pub fn search(&mut self) -> Vec<u8> {
        self.0.search().to_bytes()
    }

    /// Divides the nodes that features of this worker have won. Returns the message to the driver,
    /// and the sides of these nodes' rows for all workers, this one included.
    ///
    /// # Errors
    /// If the message is damaged or not meant for this worker.
    pub fn divide(&mut self, decisions: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let (divisions, sides) = self.0.divide(&Vec::from_bytes(decisions)?)?;
        Ok((divisions.to_bytes(), sides))
    }

    /// Splits the open nodes. `sides` has what each worker's `divide` returned.
    ///
    /// # Errors
    /// If the message and the sides don't match the open nodes.
    pub fn apply(&mut self, splits: &[u8], sides: &[impl AsRef<[u8]>]) -> Result<()> {
        let sides: Vec<&[u8]> = sides.iter().map(AsRef::as_ref).collect();
        self.0.apply(Vec::from_bytes(splits)?, &sides)
    }

    /// Takes small nodes off the level. Returns what each worker needs to grow its share of them;
    /// this worker is number `own`.
    ///
    /// # Errors
    /// If the message is damaged or names a node that is not waiting.
    pub fn extract(&mut self, plan: &[u8], own: usize) -> Result<Vec<Vec<u8>>> {
        self.0.extract(&HandOver::from_bytes(plan)?, own)
    }

    /// Grows this worker's share of the small nodes from the parcels of all workers, this one
    /// included. Returns the message to the driver.
    ///
    /// # Errors
    /// If a parcel is damaged, or features are missing.
    pub fn finish(&mut self, parcels: &[impl AsRef<[u8]>]) -> Result<Vec<u8>> {
        let parcels: Vec<&[u8]> = parcels.iter().map(AsRef::as_ref).collect();
        Ok(self.0.finish(&parcels)?.to_bytes())
    }
}

/// Refuses what is not distributed.
fn check_supported(params: &Params, target: Target<'_>) -> Result<()> {
    let refuse = |name, problem: &str| Err(Error::argument(name, format!("{problem} on a cluster; fit locally")));
    if params.splitter == Splitter::Random {
        return refuse("splitter", "random thresholds are not supported");
    }
    if params.max_features != MaxFeatures::All {
        return refuse("max_features", "drawn features are not supported");
    }
    if params.monotonic_cst.is_some() {
        return refuse("monotonic_cst", "monotonic constraints are not supported");
    }
    if params.categories.is_some() {
        return refuse("categorical_features", "categories are not supported");
    }
    if target.n_outputs() > 1 {
        return refuse("y", "several outputs are not supported");
    }
    Ok(())
}

/// Features of one worker.
pub(super) struct OwnColumns<X> {
    /// Feature by feature.
    pub cells: Vec<X>,
    /// Their numbers in the whole table, ascending.
    pub features: Vec<usize>,
    /// Number of features of the whole table.
    pub n_features: usize,
}

impl<X: Cell> OwnColumns<X> {
    pub fn matrix(&self, n_rows: usize) -> Result<Matrix<'_, X>> {
        if Some(self.cells.len()) != n_rows.checked_mul(self.features.len()) {
            let problem =
                format!("has {} cells, not {} columns of {n_rows} rows", self.cells.len(), self.features.len());
            return Err(Error::argument("X", problem));
        }
        Matrix::with_strides(&self.cells, 0, n_rows, self.features.len(), 1, n_rows as isize)
    }

    /// The same columns with the cells of these rows instead of all `n_rows`.
    fn picked(self, n_rows: usize, rows: &[u32]) -> Self {
        let columns = self.cells.chunks_exact(n_rows);
        let cells = columns.flat_map(|column| rows.iter().map(|&row| column[row as usize])).collect();
        Self { cells, ..self }
    }
}

/// The shape of the whole table, whose cells no worker has.
struct WholeTable {
    n_rows: usize,
    n_features: usize,
}

impl Values for WholeTable {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_columns(&self) -> usize {
        self.n_features
    }

    fn value(&self, _: usize, _: usize) -> f64 {
        unreachable!("only codes of categories are checked, which are refused before")
    }
}

fn build<X: Cell + Wire>(
    columns: OwnColumns<X>,
    target: Target<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<ColumnWorker> {
    let n_rows = target.len();
    let whole = WholeTable { n_rows, n_features: columns.matrix(n_rows).map(|_| columns.n_features)? };
    let valid = params.check(&whole, target, weights, loss)?;
    if let Some(rows) = valid.repeated(&valid.rows, weights) {
        let (targets, columns) = (PickedTargets::new(&valid.objective, &rows.ids), columns.picked(n_rows, &rows.ids));
        let objective = targets.objective(&valid.objective);
        let valid = params.of_tree(rows.rows(), n_rows, whole.n_features, objective, true)?;
        return build_valid(columns, rows.ids.len(), &valid, None, loss, params);
    }
    build_valid(columns, n_rows, &valid, weights, loss, params)
}

/// Builds a worker from arguments that passed all checks.
fn build_valid<X: Cell + Wire>(
    columns: OwnColumns<X>,
    n_rows: usize,
    valid: &ValidFit<'_>,
    weights: Option<&[f64]>,
    loss: Loss,
    params: &Params,
) -> Result<ColumnWorker> {
    let n_own = columns.features.len();
    let team = Team::new(params.n_jobs, valid.rows.len(), n_rows * n_own)?;
    check_room(ColumnWorker::memory(n_rows, n_own, loss, weights.is_some(), team.threads()))?;
    let engine = ColumnEngine { columns, n_rows, n_jobs: params.n_jobs };
    let task = FitTask { engine, rows: &valid.rows, rules: &valid.rules, order: None, team: &team };
    task.grow_objective(valid.objective, weights, params.median_method)
}

/// The engine that builds a worker instead of a tree.
struct ColumnEngine<X> {
    columns: OwnColumns<X>,
    n_rows: usize,
    n_jobs: Option<i64>,
}

impl<X: Cell + Wire> Engine for ColumnEngine<X> {
    type Grown = ColumnWorker;

    fn grow<C: Criterion<NodeStats: Wire> + Send + 'static>(
        task: FitTask<'_, Self>,
        criterion: C,
        items: Vec<C::Item>,
        order: SortedColumn<C::Item>,
        units: Units,
        rules: Rules,
    ) -> Result<ColumnWorker> {
        let ColumnEngine { columns: own, n_rows, n_jobs } = task.engine;
        let team = Team::new(n_jobs, task.rows.len(), n_rows * own.features.len())?;
        let columns = Columns { targets: order, ..presort(&own.matrix(n_rows)?, task.rows, &items, 0, &team) };
        let shared = Shared { own, n_rows, criterion, items, rules, units, team };
        Ok(ColumnWorker(Box::new(LevelWorker::new(shared, columns, task.rows))))
    }
}

/// What does not change during a fit.
pub(super) struct Shared<X, C: Criterion> {
    pub own: OwnColumns<X>,
    pub n_rows: usize,
    pub criterion: C,
    /// By row.
    pub items: Vec<C::Item>,
    pub rules: Rules,
    pub units: Units,
    pub team: Team,
}

impl<X: Cell, C: Criterion> Shared<X, C> {
    pub fn matrix(&self) -> Matrix<'_, X> {
        self.own.matrix(self.n_rows).expect("the shape was checked when the worker was built")
    }

    /// The fit of a table with the same targets.
    pub fn fit<'a>(&'a self, x: &'a Matrix<'a, X>) -> Fit<'a, Matrix<'a, X>, C> {
        let Self { criterion, rules, team, units, .. } = self;
        Fit { x, criterion, rules, choices: None, team, units: *units }
    }

    /// Largest node that is grown as a subtree, as in a local fit.
    fn small(&self) -> usize {
        subtree::max_rows(self.own.n_features, false)
    }

    pub fn kind(&self, node: &C::NodeStats, depth: u32) -> NodeKind {
        if self.fit(&self.matrix()).is_leaf(node, depth) {
            NodeKind::Leaf
        } else if self.criterion.rows(node) <= self.small() {
            NodeKind::Small
        } else {
            NodeKind::Open
        }
    }

    pub fn report(&self, node: &C::NodeStats, depth: u32) -> NodeReport {
        NodeReport {
            kind: self.kind(node, depth),
            summary: NodeSummary::new(&self.criterion, node, self.units),
            noise: self.criterion.noise(node),
            nothing: self.criterion.nothing(node),
        }
    }
}
