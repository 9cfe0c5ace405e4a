//! The class `Forest`, and the functions that fit forests.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use super::arrays::{
    Cells, Entries, RowSource, Source, Table, entries, filled, is_plain_table, vector, with_matrix, with_source,
};
use super::error::without_interpreter;
use super::fit::{class_codes, class_target, classification_loss, regression_loss, value_target};
use super::settings::Settings;
use super::tree::{PyTree, parse_n_jobs};
use crate::data::{self, Matrix, Target};
use crate::error::Error;
use crate::forest::{
    Bags, FittedForest, Forest, ForestOrder, ForestParams, ForestProgress, Interpolation, LeafTargets, OutOfBag,
    draw_bag, fit_forest_while, fit_sparse_forest_while, sort_forest_while,
};
use crate::params::Loss;

/// Cells of sparse rows that are predicted together.
const DENSE_CELLS: usize = 1 << 20;

/// The shortest time between two scores in the progress.
const PAUSE: Duration = Duration::from_millis(500);

type Sums<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<u32>>);
type Ranks<'py> = Bound<'py, PyArray1<u32>>;
type Parts<'py> = (Bound<'py, PyArray1<f64>>, Ranks<'py>, Ranks<'py>);
type Fitted<'py> = (PyForest, Option<Sums<'py>>);

/// A forest of trees, which it shares with others that were made of the same trees.
#[pyclass(name = "Forest", module = "splitwood._core", frozen)]
pub(super) struct PyForest {
    pub forest: Forest,
}

/// The settings of a forest beside those of its trees.
struct ForestSettings<'py> {
    seeds: Vec<u64>,
    n_draws: Option<usize>,
    bags: Option<PyReadonlyArray2<'py, u32>>,
    balanced_subsample: bool,
    out_of_bag: bool,
    order: Option<Bound<'py, PyForestOrder>>,
}

/// The sorted columns and targets of a forest's data, which fits to the same data share.
#[pyclass(name = "ForestOrder", module = "splitwood._core", frozen)]
pub(super) struct PyForestOrder(ForestOrder);

#[pymethods]
impl PyForestOrder {
    /// Sort the data; without ``n_classes`` it is a regression.
    #[new]
    #[pyo3(signature = (X, y, n_classes, settings))]
    #[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
    fn new(
        py: Python<'_>,
        X: Table<'_>,
        y: Bound<'_, PyAny>,
        n_classes: Option<usize>,
        settings: Settings<'_>,
    ) -> PyResult<Self> {
        let params = settings.params()?;
        let sort = |target: Target<'_>, loss: Loss| {
            with_matrix!(&X, |x| without_interpreter(py, |go_on| sort_forest_while(go_on, x, target, loss, &params)))
        };
        let order = if let Some(n_classes) = n_classes {
            let y = y.extract()?;
            sort(class_target(&y, &class_codes(&y)?, n_classes), classification_loss(&settings)?)
        } else {
            let y = y.extract()?;
            sort(value_target(&y, &entries(&y)), regression_loss(&settings)?)
        };
        Ok(Self(order?))
    }
}

impl<'py> ForestSettings<'py> {
    fn new(settings: &Settings<'py>) -> PyResult<Self> {
        let bags = settings.get("bags")?;
        Ok(Self {
            seeds: settings.get("seeds")?.extract::<PyReadonlyArray1<'py, u64>>()?.as_array().to_vec(),
            n_draws: settings.get("n_draws")?.extract()?,
            bags: if bags.is_none() { None } else { Some(bags.extract()?) },
            balanced_subsample: settings.get("balanced_subsample")?.extract()?,
            out_of_bag: settings.get("oob")?.extract()?,
            order: settings.get("order")?.extract()?,
        })
    }

    fn bags(&self) -> PyResult<Bags<'_>> {
        match (&self.bags, self.n_draws) {
            (Some(counts), _) => {
                let counts = counts.as_slice().map_err(|_| Error::argument("bags", "must be in C order"))?;
                Ok(Bags::Counts(counts))
            }
            (None, Some(n_draws)) => Ok(Bags::Bootstrap(n_draws)),
            (None, None) => Ok(Bags::Whole),
        }
    }
}

fn fit<'py>(
    py: Python<'py>,
    x: &Source<'py>,
    target: Target<'_>,
    weights: Option<&PyReadonlyArray1<'py, f64>>,
    loss: Loss,
    settings: &Settings<'py>,
) -> PyResult<Fitted<'py>> {
    let weights = weights.map(vector);
    let weights = weights.as_deref();
    let of_forest = ForestSettings::new(settings)?;
    let params = &ForestParams {
        tree: settings.params()?,
        seeds: of_forest.seeds.clone(),
        bags: of_forest.bags()?,
        balanced_subsample: of_forest.balanced_subsample,
        out_of_bag: of_forest.out_of_bag,
        order: of_forest.order.as_ref().map(|order| &order.get().0),
    };
    let n_trees = params.seeds.len();
    let mut progress = Progress { report: settings.progress()?, n_trees, summed: 0, due: None, failure: None };
    let report = &mut progress;
    let fitted = with_source!(
        x,
        |x| without_interpreter(py, |go_on| {
            fit_forest_while(|progress| report.go_on(&progress) && go_on(), x, target, weights, loss, params)
        }),
        |x| without_interpreter(py, |go_on| {
            fit_sparse_forest_while(|progress| report.go_on(&progress) && go_on(), x, target, weights, loss, params)
        })
    );
    if let Some(failure) = progress.failure {
        return Err(failure);
    }
    let FittedForest { forest, out_of_bag } = fitted?;
    let sums = out_of_bag.map(|out_of_bag| sums_to_python(py, out_of_bag, forest.n_values())).transpose()?;
    Ok((PyForest { forest }, sums))
}

fn sums_to_python(py: Python<'_>, out_of_bag: OutOfBag, n_values: usize) -> PyResult<Sums<'_>> {
    let OutOfBag { sums, n_trees } = out_of_bag;
    let shape = [n_trees.len(), n_values];
    Ok((sums.into_pyarray(py).reshape(shape)?, n_trees.into_pyarray(py)))
}

/// The user's progress callback, if there is one, and the exception that it raised.
struct Progress {
    report: Option<Py<PyAny>>,
    n_trees: usize,
    /// Number of finished trees at the last report with out-of-bag sums, and the time from which on
    /// the next one may follow.
    summed: usize,
    due: Option<Instant>,
    failure: Option<PyErr>,
}

impl Progress {
    /// Reports the number of finished trees, their share and, now and then, the out-of-bag sums so
    /// far; false if the callback raised.
    fn go_on(&mut self, progress: &ForestProgress<'_>) -> bool {
        if let Some(report) = &self.report {
            let finished = progress.n_trees();
            let start = Instant::now();
            let is_due = finished > self.summed && self.due.is_none_or(|due| start >= due);
            let sums = if is_due { progress.out_of_bag() } else { None }.filter(|sums| !sums.sums.is_empty());
            let share = finished as f64 / self.n_trees as f64;
            let has_sums = sums.is_some();
            let told = Python::attach(|py| {
                let sums = sums.map(|sums| {
                    let n_values = sums.sums.len() / sums.n_trees.len();
                    sums_to_python(py, sums, n_values)
                });
                report.call1(py, (finished, share, sums.transpose()?))
            });
            self.failure = told.err();
            if has_sums {
                // Scores take at most a twentieth of the time of this thread, which only waits.
                let pause = (19 * start.elapsed()).max(PAUSE);
                (self.summed, self.due) = (finished, Some(Instant::now() + pause));
            }
        }
        self.failure.is_none()
    }
}

/// Grow a forest of regression trees.
#[pyfunction]
#[pyo3(signature = (X, y, sample_weight, settings))]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
pub(super) fn fit_forest_regressor<'py>(
    py: Python<'py>,
    X: Source<'py>,
    y: PyReadonlyArrayDyn<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    settings: Settings<'py>,
) -> PyResult<Fitted<'py>> {
    let loss = regression_loss(&settings)?;
    let values = entries(&y);
    fit(py, &X, value_target(&y, &values), sample_weight.as_ref(), loss, &settings)
}

/// Grow a forest of classification trees from class codes ``0 .. n_classes - 1``.
#[pyfunction]
#[pyo3(signature = (X, y, n_classes, sample_weight, settings))]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
pub(super) fn fit_forest_classifier<'py>(
    py: Python<'py>,
    X: Source<'py>,
    y: PyReadonlyArrayDyn<'py, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    settings: Settings<'py>,
) -> PyResult<Fitted<'py>> {
    let loss = classification_loss(&settings)?;
    let codes = class_codes(&y)?;
    fit(py, &X, class_target(&y, &codes, n_classes), sample_weight.as_ref(), loss, &settings)
}

/// Draw the bag of the tree with this seed: how often each row was drawn.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Extracted by value.
pub(super) fn bag_counts<'py>(
    py: Python<'py>,
    seed: u64,
    n_rows: usize,
    n_draws: usize,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let weights = sample_weight.as_ref().map(vector);
    if n_rows == 0 || weights.as_ref().is_some_and(|weights| weights.len() != n_rows) {
        return Err(PyValueError::new_err(format!("sample_weight: needs one entry for each of {n_rows} rows")));
    }
    Ok(draw_bag(seed, n_rows, n_draws, weights.as_deref()).into_pyarray(py))
}

impl PyForest {
    fn per_tree<'py>(&self, py: Python<'py>, of: fn(&crate::tree::Tree) -> usize) -> Bound<'py, PyArray1<i64>> {
        self.forest.trees().iter().map(|tree| of(tree) as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Calls `write` for blocks of sparse rows, as dense rows, with the places of their results.
    fn by_blocks<T: Send>(
        &self,
        rows: &Entries<'_>,
        out: &mut [MaybeUninit<T>],
        mut write: impl FnMut(&mut [MaybeUninit<T>], &Matrix<'_, f64>) -> PyResult<()>,
    ) -> PyResult<()> {
        let (starts, columns) = (vector(&rows.starts), vector(&rows.indices));
        let cells: Vec<f64> = match &rows.cells {
            Cells::Narrow(cells) => vector(cells).iter().map(|&cell| cell.into()).collect(),
            Cells::Wide(cells) => vector(cells).into_owned(),
        };
        let (n_rows, n_features) = (starts.len().saturating_sub(1), self.forest.n_features());
        let fits = starts.is_sorted() && starts.first() == Some(&0) && starts.last() == Some(&(cells.len() as i64));
        if !fits || columns.len() != cells.len() || columns.iter().any(|&c| c < 0 || c as usize >= n_features) {
            let problem = "indptr, indices and data of the sparse matrix don't fit together, or have other columns";
            return Err(Error::argument("X", problem).into());
        }
        if n_rows == 0 {
            return Ok(());
        }
        let (width, block) = (out.len() / n_rows, (DENSE_CELLS / n_features).max(1));
        for (first, out) in (0..n_rows).step_by(block).zip(out.chunks_mut(block * width)) {
            let mut dense = vec![0.0; (n_rows - first).min(block) * n_features];
            for (row, ends) in dense.chunks_exact_mut(n_features).zip(starts[first..].windows(2)) {
                for entry in ends[0] as usize..ends[1] as usize {
                    row[columns[entry] as usize] = cells[entry];
                }
            }
            write(out, &Matrix::from_rows(&dense, dense.len() / n_features, n_features)?)?;
        }
        Ok(())
    }
}

/// The targets of the training rows in each leaf of a forest.
#[pyclass(name = "LeafTargets", module = "splitwood._core", frozen)]
pub(super) struct PyLeafTargets {
    forest: Forest,
    targets: LeafTargets,
}

fn interpolation(name: &str) -> PyResult<Interpolation> {
    match name {
        "linear" => Ok(Interpolation::Linear),
        "lower" => Ok(Interpolation::Lower),
        "higher" => Ok(Interpolation::Higher),
        "midpoint" => Ok(Interpolation::Midpoint),
        "nearest" => Ok(Interpolation::Nearest),
        _ => Err(PyValueError::new_err(format!(
            "interpolation: must be \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\", got {name:?}"
        ))),
    }
}

/// A view of a mask; a copy if its entries are not adjacent.
fn mask_entries<'a>(mask: Option<&'a PyReadonlyArray2<'_, bool>>) -> Option<Cow<'a, [bool]>> {
    mask.map(|mask| match mask.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(mask.as_array().iter().copied().collect()),
    })
}

#[pymethods]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
impl PyLeafTargets {
    /// Rebuild the targets from their parts, which are checked.
    #[new]
    fn new(
        forest: &Bound<'_, PyForest>,
        targets: PyReadonlyArray1<'_, f64>,
        starts: PyReadonlyArray1<'_, u32>,
        ranks: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Self> {
        let forest = forest.get().forest.clone();
        let (starts, ranks) = (vector(&starts), vector(&ranks));
        let targets = LeafTargets::from_parts(&forest, vector(&targets).into_owned(), &starts, &ranks)?;
        Ok(Self { forest, targets })
    }

    /// Find the leaves of the training rows of a forest.
    ///
    /// Parameters
    /// ----------
    /// forest : Forest
    ///     The fitted forest.
    /// X : ndarray of shape (n_samples, n_features), or the columns of a sparse matrix
    ///     The rows that it was fitted to.
    /// y : ndarray of shape (n_samples,)
    ///     Their targets, of one output.
    /// seeds : ndarray of shape (n_trees,)
    ///     The seeds of the trees.
    /// n_draws : int or None
    ///     How many rows each tree has drawn; None if it saw all of them.
    /// bags : ndarray of shape (n_trees, n_samples) or None
    ///     How often each tree saw each row, instead of draws.
    /// sample_weight : ndarray of shape (n_samples,) or None
    ///     The weights by which rows were drawn.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// targets : LeafTargets
    ///     The targets in each leaf.
    #[staticmethod]
    #[pyo3(signature = (forest, X, y, seeds, n_draws, bags, sample_weight, n_jobs=None))]
    #[allow(clippy::too_many_arguments)] // The settings of the bags.
    fn of_training<'py>(
        py: Python<'py>,
        forest: &Bound<'py, PyForest>,
        X: Source<'py>,
        y: PyReadonlyArray1<'py, f64>,
        seeds: PyReadonlyArray1<'py, u64>,
        n_draws: Option<usize>,
        bags: Option<PyReadonlyArray2<'py, u32>>,
        sample_weight: Option<PyReadonlyArray1<'py, f64>>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let forest = forest.get().forest.clone();
        let (y, seeds, weights) = (vector(&y), vector(&seeds), sample_weight.as_ref().map(vector));
        let weights = weights.as_deref();
        let n_rows = y.len();
        let bags = bags.as_ref().map(|bags| bags.as_slice()).transpose()?;
        let is_short = |len: Option<usize>, wanted: usize| len.is_some_and(|len| len != wanted);
        if seeds.len() != forest.n_trees()
            || is_short(weights.map(<[f64]>::len), n_rows)
            || is_short(bags.map(<[u32]>::len), n_rows * forest.n_trees())
            || n_rows == 0
        {
            return Err(PyValueError::new_err("seeds, bags and sample_weight must have the shapes of the fit"));
        }
        let counts = |tree: usize| match (bags, n_draws) {
            (Some(bags), _) => Some(bags[tree * n_rows..][..n_rows].to_vec()),
            (None, Some(n_draws)) => Some(draw_bag(seeds[tree], n_rows, n_draws, weights)),
            (None, None) => None,
        };
        let targets = with_source!(
            &X,
            |x| without_interpreter(py, |go_on| {
                LeafTargets::new_while(go_on, &forest, data::Source::Dense(x), &y, counts, n_jobs)
            }),
            |x| without_interpreter(py, |go_on| {
                LeafTargets::new_while(go_on, &forest, data::Source::Sparse(x), &y, counts, n_jobs)
            })
        )?;
        Ok(Self { forest, targets })
    }

    /// Get quantiles of the targets in the leaves of each row.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// quantiles : list of float
    ///     Levels from 0 to 1.
    /// interpolation : str
    ///     What a quantile between two targets is: "linear", "lower", "higher", "midpoint" or
    ///     "nearest".
    /// mask : ndarray of shape (n_samples, n_trees) or None
    ///     Which trees count for each row.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// values : ndarray of shape (n_samples, n_quantiles)
    ///     NaN if no tree counts.
    #[pyo3(signature = (X, quantiles, interpolation, mask=None, n_jobs=None))]
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        quantiles: Vec<f64>,
        interpolation: &str,
        mask: Option<PyReadonlyArray2<'py, bool>>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let interpolation = self::interpolation(interpolation)?;
        let (mask, forest) = (mask_entries(mask.as_ref()), &self.forest);
        let mask = mask.as_deref();
        with_matrix!(X, |x| {
            filled(py, [x.n_rows(), quantiles.len()], |out| {
                without_interpreter(py, |go_on| {
                    self.targets.quantiles_into(out, forest, x, &quantiles, interpolation, mask, n_jobs, go_on)
                })
            })
        })
    }

    /// Count the targets in the leaves of each row: below its ``y``, equal to it, and all.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// y : ndarray of shape (n_samples,)
    ///     A number per row.
    /// mask : ndarray of shape (n_samples, n_trees) or None
    ///     Which trees count for each row.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// counts : ndarray of shape (n_samples, 3)
    ///     The three numbers.
    #[pyo3(signature = (X, y, mask=None, n_jobs=None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        y: PyReadonlyArray1<'py, f64>,
        mask: Option<PyReadonlyArray2<'py, bool>>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let (mask, y, forest) = (mask_entries(mask.as_ref()), vector(&y), &self.forest);
        let mask = mask.as_deref();
        with_matrix!(X, |x| {
            filled(py, [x.n_rows(), 3], |out| {
                without_interpreter(py, |go_on| self.targets.counts_into(out, forest, x, &y, mask, n_jobs, go_on))
            })
        })
    }

    /// Get the parts: all targets in ascending order, and the starts and ranks of all trees.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let (targets, starts, ranks) = self.targets.parts();
        (PyArray1::from_slice(py, targets), starts.into_pyarray(py), ranks.into_pyarray(py))
    }

    /// Pickle the parts, which are checked when they are loaded.
    #[allow(clippy::type_complexity)] // What pickle takes.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (Bound<'py, PyType>, (PyForest, Bound<'py, PyArray1<f64>>, Ranks<'py>, Ranks<'py>)) {
        let (targets, starts, ranks) = slf.get().parts(slf.py());
        let forest = PyForest { forest: slf.get().forest.clone() };
        (slf.get_type(), (forest, targets, starts, ranks))
    }
}

fn n_sparse_rows(rows: &Entries<'_>) -> usize {
    vector(&rows.starts).len().saturating_sub(1)
}

#[pymethods]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
impl PyForest {
    /// Join trees that agree in their numbers of features, outputs and values.
    #[staticmethod]
    fn of_trees(trees: Vec<Bound<'_, PyTree>>) -> PyResult<Self> {
        let trees = trees.iter().map(|tree| Arc::clone(&tree.get().tree)).collect();
        Ok(Self { forest: Forest::new(trees)? })
    }

    /// Join the trees of several forests.
    #[staticmethod]
    fn concat(forests: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        Ok(Self { forest: Forest::merged(forests.iter().map(|forest| &forest.get().forest))? })
    }

    /// Get a forest of the trees ``start`` to ``stop - 1``.
    fn slice(&self, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.forest.n_trees() {
            return Err(PyIndexError::new_err(format!("there are {} trees", self.forest.n_trees())));
        }
        Ok(Self { forest: self.forest.part(start..stop)? })
    }

    fn __len__(&self) -> usize {
        self.forest.n_trees()
    }

    #[getter]
    fn n_trees(&self) -> usize {
        self.forest.n_trees()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.forest.n_features()
    }

    #[getter]
    fn n_outputs(&self) -> usize {
        self.forest.n_outputs()
    }

    #[getter]
    fn n_values(&self) -> usize {
        self.forest.n_values()
    }

    #[getter]
    fn max_n_classes(&self) -> usize {
        self.forest.n_values() / self.forest.n_outputs()
    }

    #[getter]
    fn node_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_tree(py, crate::tree::Tree::node_count)
    }

    #[getter]
    fn max_depths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_tree(py, crate::tree::Tree::max_depth)
    }

    #[getter]
    fn n_leaves<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_tree(py, crate::tree::Tree::n_leaves)
    }

    /// Get one tree. It shares the memory of the forest.
    fn tree(&self, number: usize) -> PyResult<PyTree> {
        match self.forest.trees().get(number) {
            Some(tree) => Ok(Arc::clone(tree).into()),
            None => Err(PyIndexError::new_err(format!("there are {} trees", self.forest.n_trees()))),
        }
    }

    /// Whether ``X`` is an array that the core can read in place.
    fn reads(&self, X: &Bound<'_, PyAny>) -> bool {
        is_plain_table(X, self.forest.n_features())
    }

    /// Get the mean of the trees' values for each row.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray or sparse matrix of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// values : ndarray of shape (n_samples, n_outputs * max_n_classes)
    ///     The values, output after output.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        X: RowSource<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let (forest, n_values) = (&self.forest, self.forest.n_values());
        match X {
            RowSource::Dense(X) => with_matrix!(X, |x| {
                filled(py, [x.n_rows(), n_values], |out| {
                    without_interpreter(py, |go_on| forest.predict_into(out, x, n_jobs, go_on))
                })
            }),
            RowSource::Sparse(X) => filled(py, [n_sparse_rows(&X), n_values], |out| {
                self.by_blocks(&X, out, |out, x| {
                    without_interpreter(py, |go_on| forest.predict_into(out, x, n_jobs, go_on))
                })
            }),
        }
    }

    /// Get the column of the largest mean value of each row; of equal ones, the first.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// codes : ndarray of shape (n_samples,)
    ///     For one output, the code of the most probable class.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict_class<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows()], |out| {
                without_interpreter(py, |go_on| self.forest.predict_class_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Get the median of the trees' values for each row.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// values : ndarray of shape (n_samples, n_outputs * max_n_classes)
    ///     The values, output after output.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict_median<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows(), self.forest.n_values()], |out| {
                without_interpreter(py, |go_on| self.forest.predict_median_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Get the node id of each row's leaf in each tree.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray or sparse matrix of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// leaves : ndarray of shape (n_samples, n_trees)
    ///     Node ids.
    #[pyo3(signature = (X, n_jobs=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        X: RowSource<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let (forest, n_trees) = (&self.forest, self.forest.n_trees());
        match X {
            RowSource::Dense(X) => with_matrix!(X, |x| {
                filled(py, [x.n_rows(), n_trees], |out| {
                    without_interpreter(py, |go_on| forest.apply_into(out, x, n_jobs, go_on))
                })
            }),
            RowSource::Sparse(X) => filled(py, [n_sparse_rows(&X), n_trees], |out| {
                self.by_blocks(&X, out, |out, x| {
                    without_interpreter(py, |go_on| forest.apply_into(out, x, n_jobs, go_on))
                })
            }),
        }
    }

    /// Get the importances of the features: the mean over the trees, with a sum of one.
    ///
    /// Parameters
    /// ----------
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// importances : ndarray of shape (n_features,)
    ///     All zeros if no tree has a split.
    #[pyo3(signature = (n_jobs=None))]
    fn feature_importances<'py>(
        &self,
        py: Python<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        Ok(without_interpreter(py, |_| self.forest.feature_importances(n_jobs))?.into_pyarray(py))
    }

    /// Rebuild a pickled forest; everything is checked first.
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { forest: without_interpreter(py, |_| Forest::from_bytes(bytes))? })
    }

    /// Pickle the packed forest, which is checked when it is loaded.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let forest = &slf.get().forest;
        let bytes = without_interpreter(slf.py(), |_| Ok(forest.to_packed()))?;
        Ok((slf.get_type(), (PyBytes::new(slf.py(), &bytes),)))
    }

    fn __repr__(&self) -> String {
        format!("<splitwood forest: {} trees, {} features>", self.forest.n_trees(), self.forest.n_features())
    }
}
