//! Workers and driver of a fit on several machines. Messages are `bytes`.

use std::sync::{Mutex, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods};

use super::arrays::{Table, entries, vector, with_matrix};
use super::error::without_interpreter;
use super::fit::{class_codes, classification_loss, regression_loss};
use super::settings::Settings;
use super::tree::PyTree;
use crate::cluster::{Cells, ColumnWorker, Driver};
use crate::data::{Cell, Matrix, Target};
use crate::error::{Error, Result};

/// The cells of a matrix, column after column.
fn cells<X: Cell>(x: &Matrix<'_, X>) -> Cells
where
    Cells: From<Vec<X>>,
{
    let mut cells = Vec::with_capacity(x.n_rows() * x.n_columns());
    for column in 0..x.n_columns() {
        cells.extend((0..x.n_rows()).map(|row| x.get(row, column)));
    }
    Cells::from(cells)
}

/// A worker of a fit on several machines: some features of all rows, and all targets.
#[pyclass(module = "splitwood._core", name = "ColumnWorker", frozen)]
pub(super) struct PyColumnWorker(Mutex<ColumnWorker>);

impl PyColumnWorker {
    /// Calls the worker without the interpreter.
    fn call<R: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut ColumnWorker) -> Result<R> + Send) -> PyResult<R> {
        without_interpreter(py, |_| call(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PyColumnWorker {
    /// Sort the features; without ``n_classes`` it is a regression.
    #[new]
    #[pyo3(signature = (X, features, n_features, y, n_classes, sample_weight, settings))]
    #[allow(non_snake_case, clippy::needless_pass_by_value, clippy::too_many_arguments)] // As in `fit.rs`.
    fn new(
        py: Python<'_>,
        X: Table<'_>,
        features: Vec<usize>,
        n_features: usize,
        y: Bound<'_, PyAny>,
        n_classes: Option<usize>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        settings: Settings<'_>,
    ) -> PyResult<Self> {
        let params = settings.params()?;
        let cells = with_matrix!(&X, |x| cells(x));
        let weights = sample_weight.as_ref().map(vector);
        let weights = weights.as_deref();
        let worker = match n_classes {
            None => {
                let (loss, y) = (regression_loss(&settings)?, y.extract::<PyReadonlyArrayDyn<'_, f64>>()?);
                let y = &entries(&y);
                without_interpreter(py, |_| {
                    ColumnWorker::new(cells, &features, n_features, Target::Values(y), weights, loss, &params)
                })
            }
            Some(n_classes) => {
                let codes = &class_codes(&y.extract()?)?;
                let (loss, target) = (classification_loss(&settings)?, Target::Classes { codes, n_classes });
                without_interpreter(py, |_| {
                    ColumnWorker::new(cells, &features, n_features, target, weights, loss, &params)
                })
            }
        };
        Ok(Self(Mutex::new(worker?)))
    }

    /// Tell, for each feature of this worker, whether any row has no value.
    fn has_missing(&self, py: Python<'_>) -> PyResult<Vec<bool>> {
        self.call(py, |worker| Ok(worker.has_missing()))
    }

    /// Describe the root; ``has_missing`` is that of all features.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn root<'py>(&self, py: Python<'py>, has_missing: Vec<bool>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.call(py, |worker| worker.root(&has_missing))?))
    }

    /// Search the open nodes.
    fn search<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.call(py, |worker| Ok(worker.search()))?))
    }

    /// Divide the nodes that features of this worker have won: the message to the driver, and the
    /// sides of the rows.
    fn divide<'py>(&self, py: Python<'py>, decisions: &[u8]) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (divisions, sides) = self.call(py, |worker| worker.divide(decisions))?;
        Ok((PyBytes::new(py, &divisions), PyBytes::new(py, &sides)))
    }

    /// Split the open nodes by the sides that each worker has noted.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn apply(&self, py: Python<'_>, splits: &[u8], sides: Vec<Bound<'_, PyBytes>>) -> PyResult<()> {
        let sides: Vec<&[u8]> = sides.iter().map(PyBytesMethods::as_bytes).collect();
        self.call(py, |worker| worker.apply(splits, &sides))
    }

    /// Take small nodes off the level: a parcel for each worker.
    fn extract<'py>(&self, py: Python<'py>, plan: &[u8], own: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let parcels = self.call(py, |worker| worker.extract(plan, own))?;
        Ok(parcels.iter().map(|parcel| PyBytes::new(py, parcel)).collect())
    }

    /// Grow this worker's small nodes from the parcels of all workers.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn finish<'py>(&self, py: Python<'py>, parcels: Vec<Bound<'py, PyBytes>>) -> PyResult<Bound<'py, PyBytes>> {
        let parcels: Vec<&[u8]> = parcels.iter().map(PyBytesMethods::as_bytes).collect();
        Ok(PyBytes::new(py, &self.call(py, |worker| worker.finish(&parcels))?))
    }

    /// Estimate the bytes that a worker needs beside its cells, targets and weights.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn memory(
        n_rows: usize,
        n_features: usize,
        settings: Settings<'_>,
        is_weighted: bool,
        threads: usize,
    ) -> PyResult<usize> {
        let loss = regression_loss(&settings).or_else(|_| classification_loss(&settings))?;
        Ok(ColumnWorker::memory(n_rows, n_features, loss, is_weighted, threads))
    }
}

/// Decides the splits of a fit on several machines, and assembles its tree.
#[pyclass(module = "splitwood._core", name = "Driver")]
pub(super) struct PyDriver(Option<Driver>);

impl PyDriver {
    fn driver(&mut self) -> PyResult<&mut Driver> {
        Ok(self.0.as_mut().ok_or_else(|| Error::argument("tree", "has been taken already"))?)
    }
}

#[pymethods]
impl PyDriver {
    /// Begin a fit whose workers have these features.
    #[new]
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn new(features_of_workers: Vec<Vec<usize>>, n_features: usize, settings: Settings<'_>) -> PyResult<Self> {
        Ok(Self(Some(Driver::new(&features_of_workers, n_features, &settings.params()?)?)))
    }

    /// Take a worker's description of the root.
    fn begin(&mut self, root: &[u8]) -> PyResult<()> {
        Ok(self.driver()?.begin(root)?)
    }

    /// Tell whether all nodes are grown.
    fn is_done(&mut self) -> PyResult<bool> {
        Ok(self.driver()?.is_done())
    }

    /// Count the nodes that are searched, the small ones that wait, and all of the top.
    fn progress(&mut self) -> PyResult<[usize; 3]> {
        Ok(self.driver()?.progress())
    }

    /// List the workers that have nodes to divide.
    fn winners(&mut self) -> PyResult<Vec<usize>> {
        Ok(self.driver()?.winners())
    }

    /// Decide the splits: a message for each worker.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn decide<'py>(
        &mut self,
        py: Python<'py>,
        findings: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let findings: Vec<&[u8]> = findings.iter().map(PyBytesMethods::as_bytes).collect();
        let decisions = self.driver()?.decide(&findings)?;
        Ok(decisions.iter().map(|decisions| PyBytes::new(py, decisions)).collect())
    }

    /// Say which small nodes are handed over now, and to which workers; None to wait for more.
    fn hand_over<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.driver()?.hand_over().map(|plan| PyBytes::new(py, &plan)))
    }

    /// Take the subtrees that a worker has grown.
    fn finished(&mut self, pieces: &[u8]) -> PyResult<()> {
        Ok(self.driver()?.finished(pieces)?)
    }

    /// Take the divisions of all workers: the message to all workers.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn divided<'py>(&mut self, py: Python<'py>, divisions: Vec<Bound<'py, PyBytes>>) -> PyResult<Bound<'py, PyBytes>> {
        let divisions: Vec<&[u8]> = divisions.iter().map(PyBytesMethods::as_bytes).collect();
        Ok(PyBytes::new(py, &self.driver()?.divided(&divisions)?))
    }

    /// Get the tree, when all nodes are grown.
    fn tree(&mut self) -> PyResult<PyTree> {
        let driver = self.0.take().ok_or_else(|| Error::argument("tree", "has been taken already"))?;
        Ok(driver.tree()?.into())
    }
}
