//! The class `Forest`, and the functions that fit forests.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use std::mem::MaybeUninit;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use super::arrays::{
    Cells, Entries, RowSource, Source, Table, entries, filled, is_plain_table, vector, with_matrix, with_source,
};
use super::error::without_interpreter;
use super::fit::{class_codes, class_target, regression_loss, value_target};
use super::settings::Settings;
use super::tree::{PyTree, parse_n_jobs};
use crate::data::{Matrix, Target};
use crate::error::Error;
use crate::forest::{
    Bags, FittedForest, Forest, ForestParams, OutOfBag, draw_bag, fit_forest_while, fit_sparse_forest_while,
};
use crate::params::Loss;

/// Cells of sparse rows that are predicted together.
const DENSE_CELLS: usize = 1 << 20;

type Sums<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<u32>>);
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
    };
    let n_trees = params.seeds.len();
    let mut progress = Progress { report: settings.progress()?, n_trees, failure: None };
    let report = &mut progress;
    let fitted = with_source!(
        x,
        |x| without_interpreter(py, |go_on| {
            fit_forest_while(|trees| report.go_on(trees) && go_on(), x, target, weights, loss, params)
        }),
        |x| without_interpreter(py, |go_on| {
            fit_sparse_forest_while(|trees| report.go_on(trees) && go_on(), x, target, weights, loss, params)
        })
    );
    if let Some(failure) = progress.failure {
        return Err(failure);
    }
    let FittedForest { forest, out_of_bag } = fitted?;
    let sums = |OutOfBag { sums, n_trees }| {
        let shape = [n_trees.len(), forest.n_values()];
        Ok::<_, PyErr>((sums.into_pyarray(py).reshape(shape)?, n_trees.into_pyarray(py)))
    };
    let sums = out_of_bag.map(sums).transpose()?;
    Ok((PyForest { forest }, sums))
}

/// The user's progress callback, if there is one, and the exception that it raised.
struct Progress {
    report: Option<Py<PyAny>>,
    n_trees: usize,
    failure: Option<PyErr>,
}

impl Progress {
    /// Reports the number of finished trees and their share; false if the callback raised.
    fn go_on(&mut self, finished: usize) -> bool {
        if let Some(report) = &self.report {
            let share = finished as f64 / self.n_trees as f64;
            self.failure = Python::attach(|py| report.call1(py, (finished, share))).err();
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
    let loss = settings.loss(super::fit::CLASSIFICATION)?;
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

fn n_sparse_rows(rows: &Entries<'_>) -> usize {
    vector(&rows.starts).len().saturating_sub(1)
}

#[pymethods]
#[allow(non_snake_case)] // scikit-learn's X.
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

    /// Pickle the bytes of the model file, which are checked when they are loaded.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let forest = &slf.get().forest;
        let bytes = without_interpreter(slf.py(), |_| Ok(forest.to_bytes()))?;
        Ok((slf.get_type(), (PyBytes::new(slf.py(), &bytes),)))
    }

    fn __repr__(&self) -> String {
        format!("<splitwood forest: {} trees, {} features>", self.forest.n_trees(), self.forest.n_features())
    }
}
