//! The functions that fit trees.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::{Source, entries, vector, with_source};
use super::error::without_interpreter;
use super::settings::{LeafSetting, Settings, returned_number};
use super::tree::PyTree;
use crate::data::Target;
use crate::error::Error;
use crate::fit::{fit_sparse_while, fit_while};
use crate::params::{Loss, Params};
use crate::tree::Tree;

/// Names of the criteria. The quantile's level is a separate setting.
const REGRESSION: &[(&str, Loss)] = &[
    ("squared_error", Loss::SquaredError),
    ("absolute_error", Loss::AbsoluteError),
    ("quantile", Loss::Quantile(0.5)),
    ("poisson", Loss::Poisson),
];
const CLASSIFICATION: &[(&str, Loss)] =
    &[("gini", Loss::Gini), ("entropy", Loss::Entropy), ("log_loss", Loss::Entropy)];

fn fit(
    py: Python<'_>,
    x: &Source<'_>,
    target: Target<'_>,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    loss: Loss,
    params: &Params,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyTree> {
    let weights = weights.map(vector);
    let weights = weights.as_deref();
    let mut progress = Progress { report: progress, failure: None };
    let report = &mut progress;
    let tree = with_source!(
        x,
        |x| without_interpreter(py, |go_on| {
            fit_while(|share| report.go_on(share) && go_on(), x, target, weights, loss, params)
        }),
        |x| without_interpreter(py, |go_on| {
            fit_sparse_while(|share| report.go_on(share) && go_on(), x, target, weights, loss, params)
        })
    );
    match progress.failure {
        Some(failure) => Err(failure),
        None => Ok(tree?.into()),
    }
}

/// The user's progress callback, if there is one, and the exception that it raised.
struct Progress {
    report: Option<Py<PyAny>>,
    failure: Option<PyErr>,
}

impl Progress {
    /// Reports the share of the rows that have reached their leaf; false if the callback raised.
    fn go_on(&mut self, share: f64) -> bool {
        if let Some(report) = &self.report {
            self.failure = Python::attach(|py| report.call1(py, (share,))).err();
        }
        self.failure.is_none()
    }
}

/// Grow a regression tree.
#[pyfunction]
#[pyo3(signature = (X, y, sample_weight, settings))]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
pub(super) fn fit_regressor(
    py: Python<'_>,
    X: Source<'_>,
    y: PyReadonlyArrayDyn<'_, f64>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    settings: Settings<'_>,
) -> PyResult<PyTree> {
    let loss = regression_loss(&settings)?;
    let leaf_value = settings.leaf_value()?;
    let params = settings.params()?;
    let values = entries(&y);
    let tree = fit(py, &X, value_target(&y, &values), sample_weight.as_ref(), loss, &params, settings.progress()?)?;
    set_leaf_values(py, tree, &X, &values, sample_weight.as_ref(), params.n_jobs, &leaf_value)
}

/// Grow a classification tree from class codes ``0 .. n_classes - 1``.
#[pyfunction]
#[pyo3(signature = (X, y, n_classes, sample_weight, settings))]
#[allow(non_snake_case, clippy::needless_pass_by_value)] // scikit-learn's X; extracted by value.
pub(super) fn fit_classifier(
    py: Python<'_>,
    X: Source<'_>,
    y: PyReadonlyArrayDyn<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    settings: Settings<'_>,
) -> PyResult<PyTree> {
    let loss = classification_loss(&settings)?;
    let params = settings.params()?;
    let codes = class_codes(&y)?;
    let target = class_target(&y, &codes, n_classes);
    fit(py, &X, target, sample_weight.as_ref(), loss, &params, settings.progress()?)
}

/// The loss of a regression. Only quantiles have a level.
pub(super) fn regression_loss(settings: &Settings<'_>) -> PyResult<Loss> {
    let level = settings.number("quantile")?;
    match settings.loss(REGRESSION)? {
        Loss::Quantile(_) => Ok(Loss::Quantile(level)),
        _ if level != 0.5 => {
            let problem = format!("is the level of criterion=\"quantile\"; other criteria have none, got {level}");
            Err(Error::argument("quantile", problem).into())
        }
        loss => Ok(loss),
    }
}

/// The loss of a classification.
pub(super) fn classification_loss(settings: &Settings<'_>) -> PyResult<Loss> {
    settings.loss(CLASSIFICATION)
}

/// The target of a regression; `values` are the entries of `y`.
pub(super) fn value_target<'a>(y: &PyReadonlyArrayDyn<'_, f64>, values: &'a [f64]) -> Target<'a> {
    match n_outputs(y) {
        None => Target::Values(values),
        Some(n_outputs) => Target::ManyValues { values, n_outputs },
    }
}

/// The entries of `y` as class codes.
pub(super) fn class_codes(y: &PyReadonlyArrayDyn<'_, i64>) -> Result<Vec<u32>, Error> {
    let code = |&code: &i64| {
        u32::try_from(code).map_err(|_| Error::argument("y", format!("class code {code} is not below n_classes")))
    };
    entries(y).iter().map(code).collect()
}

/// The target of a classification; `codes` are the entries of `y`.
pub(super) fn class_target<'a>(y: &PyReadonlyArrayDyn<'_, i64>, codes: &'a [u32], n_classes: usize) -> Target<'a> {
    match n_outputs(y) {
        None => Target::Classes { codes, n_classes },
        Some(n_outputs) => Target::ManyClasses { codes, n_outputs, n_classes },
    }
}

/// Number of outputs if the targets are a matrix; `None` for a vector.
fn n_outputs<T: Element>(y: &PyReadonlyArrayDyn<'_, T>) -> Option<usize> {
    y.shape().get(1).copied()
}

/// Sets the values of the leaves as the setting `leaf_value` says.
fn set_leaf_values(
    py: Python<'_>,
    tree: PyTree,
    x: &Source<'_>,
    y: &[f64],
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    n_jobs: Option<i64>,
    leaf_value: &LeafSetting<'_>,
) -> PyResult<PyTree> {
    if matches!(leaf_value, LeafSetting::Own) {
        return Ok(tree);
    }
    let tree = Arc::unwrap_or_clone(tree.tree);
    let leaves = with_source!(x, |x| without_interpreter(py, |go_on| tree.apply_while(x, n_jobs, go_on)), |x| {
        without_interpreter(py, |go_on| tree.apply_values_while(x, go_on))
    })?;
    with_leaf_values(py, tree, &leaves, y, weights, leaf_value)
}

/// Sets the values of the leaves, given the leaf of each training row.
fn with_leaf_values(
    py: Python<'_>,
    tree: Tree,
    leaves: &[i64],
    y: &[f64],
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    leaf_value: &LeafSetting<'_>,
) -> PyResult<PyTree> {
    let weights = weights.map(vector);
    let weights = weights.as_deref();
    let call = |callable: &Bound<'_, PyAny>, y: &[f64], weights: &[f64]| {
        let value = callable.call1((PyArray1::from_slice(py, y), PyArray1::from_slice(py, weights)))?;
        returned_number(&value)
    };
    let tree = match leaf_value {
        LeafSetting::Own => tree,
        LeafSetting::Known(known) => {
            tree.with_values_of_leaves(leaves, y, weights, |y, weights| Ok::<_, Error>(known.of(y, weights)))?
        }
        LeafSetting::Callable(callable) => {
            tree.with_values_of_leaves(leaves, y, weights, |y, weights| call(callable, y, weights))?
        }
    };
    Ok(tree.into())
}

/// Set the values of a regression tree's leaves from the targets and the leaf of each training row.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Extracted by value.
pub(super) fn set_values_of_leaves(
    py: Python<'_>,
    tree: &Bound<'_, PyTree>,
    leaves: PyReadonlyArray1<'_, i64>,
    y: PyReadonlyArray1<'_, f64>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    settings: Settings<'_>,
) -> PyResult<PyTree> {
    let tree = Tree::clone(&tree.get().tree);
    let leaf_value = settings.leaf_value()?;
    with_leaf_values(py, tree, &vector(&leaves), &vector(&y), sample_weight.as_ref(), &leaf_value)
}

/// Get the number of CPUs that affinity, quota and environment allow this process to use.
#[pyfunction]
pub(super) fn available_threads() -> usize {
    crate::threads::available_threads()
}
