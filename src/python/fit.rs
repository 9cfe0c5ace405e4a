//! The functions that fit.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::arrays::{Table, vector, with_matrix};
use super::error::without_interpreter;
use super::settings::{self, LeafSetting};
use super::tree::PyTree;
use crate::data::Target;
use crate::error::Error;
use crate::fit::fit_while;
use crate::params::{Loss, Params};

/// The level of the quantile is a setting of its own.
const REGRESSION: &[(&str, Loss)] = &[
    ("squared_error", Loss::SquaredError),
    ("absolute_error", Loss::AbsoluteError),
    ("quantile", Loss::Quantile(0.5)),
    ("poisson", Loss::Poisson),
];
const CLASSIFICATION: &[(&str, Loss)] =
    &[("gini", Loss::Gini), ("entropy", Loss::Entropy), ("log_loss", Loss::Entropy)];

/// What every fit is told, as Python gave it.
struct Settings<'a, 'py> {
    max_depth: &'a Bound<'py, PyAny>,
    min_samples_split: &'a Bound<'py, PyAny>,
    min_samples_leaf: &'a Bound<'py, PyAny>,
    min_weight_fraction_leaf: &'a Bound<'py, PyAny>,
    min_impurity_decrease: &'a Bound<'py, PyAny>,
    ccp_alpha: &'a Bound<'py, PyAny>,
    n_jobs: &'a Bound<'py, PyAny>,
}

impl Settings<'_, '_> {
    fn params(&self) -> PyResult<Params> {
        Ok(Params {
            max_depth: settings::optional_integer("max_depth", self.max_depth)?,
            min_samples_split: settings::size("min_samples_split", self.min_samples_split)?,
            min_samples_leaf: settings::size("min_samples_leaf", self.min_samples_leaf)?,
            min_weight_fraction_leaf: settings::number("min_weight_fraction_leaf", self.min_weight_fraction_leaf)?,
            min_impurity_decrease: settings::number("min_impurity_decrease", self.min_impurity_decrease)?,
            ccp_alpha: settings::number("ccp_alpha", self.ccp_alpha)?,
            n_jobs: settings::optional_integer("n_jobs", self.n_jobs)?,
            ..Params::default()
        })
    }
}

fn fit(
    py: Python<'_>,
    x: &Table<'_>,
    target: Target<'_>,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    loss: Loss,
    params: &Params,
) -> PyResult<PyTree> {
    let weights = weights.map(vector);
    let weights = weights.as_deref();
    let tree =
        with_matrix!(x, |x| without_interpreter(py, |go_on| { fit_while(go_on, x, target, weights, loss, params) }))?;
    Ok(PyTree(tree))
}

/// Grow a regression tree.
#[pyfunction]
#[pyo3(signature = (X, y, sample_weight=None, *, criterion, max_depth, min_samples_split, min_samples_leaf,
    min_weight_fraction_leaf, min_impurity_decrease, ccp_alpha, n_jobs, quantile, leaf_value))]
// X is scikit-learn's name, and Python passes its keyword arguments one by one.
#[allow(non_snake_case, clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub(super) fn fit_regressor(
    py: Python<'_>,
    X: Table<'_>,
    y: PyReadonlyArray1<'_, f64>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    criterion: &Bound<'_, PyAny>,
    max_depth: &Bound<'_, PyAny>,
    min_samples_split: &Bound<'_, PyAny>,
    min_samples_leaf: &Bound<'_, PyAny>,
    min_weight_fraction_leaf: &Bound<'_, PyAny>,
    min_impurity_decrease: &Bound<'_, PyAny>,
    ccp_alpha: &Bound<'_, PyAny>,
    n_jobs: &Bound<'_, PyAny>,
    quantile: &Bound<'_, PyAny>,
    leaf_value: &Bound<'_, PyAny>,
) -> PyResult<PyTree> {
    let level = settings::number("quantile", quantile)?;
    let loss = match settings::loss(criterion, REGRESSION)? {
        Loss::Quantile(_) => Loss::Quantile(level),
        loss => loss,
    };
    let leaf_value = settings::leaf_value(leaf_value)?;
    let params = Settings {
        max_depth,
        min_samples_split,
        min_samples_leaf,
        min_weight_fraction_leaf,
        min_impurity_decrease,
        ccp_alpha,
        n_jobs,
    }
    .params()?;
    let y = vector(&y);
    let tree = fit(py, &X, Target::Values(&y), sample_weight.as_ref(), loss, &params)?;
    set_leaf_values(py, tree, &X, &y, sample_weight.as_ref(), params.n_jobs, &leaf_value)
}

/// Gives the leaves the values that were asked for.
fn set_leaf_values(
    py: Python<'_>,
    PyTree(tree): PyTree,
    x: &Table<'_>,
    y: &[f64],
    weights: Option<&PyReadonlyArray1<'_, f64>>,
    n_jobs: Option<i64>,
    leaf_value: &LeafSetting<'_, '_>,
) -> PyResult<PyTree> {
    let weights = weights.map(vector);
    let weights = weights.as_deref();
    let call = |callable: &Bound<'_, PyAny>, y: &[f64], weights: &[f64]| {
        let value = callable.call1((PyArray1::from_slice(py, y), PyArray1::from_slice(py, weights)))?;
        settings::returned_number(&value)
    };
    let tree = with_matrix!(x, |x| match leaf_value {
        LeafSetting::Own => Ok(tree),
        LeafSetting::Known(known) => without_interpreter(py, |_| {
            tree.with_leaf_values(x, y, weights, n_jobs, |y, weights| Ok::<_, Error>(known.of(y, weights)))
        }),
        LeafSetting::Callable(callable) =>
            tree.with_leaf_values(x, y, weights, n_jobs, |y, weights| call(callable, y, weights)),
    })?;
    Ok(PyTree(tree))
}

/// Grow a classification tree from class codes ``0 .. n_classes - 1``.
#[pyfunction]
#[pyo3(signature = (X, y, n_classes, sample_weight=None, *, criterion, max_depth, min_samples_split, min_samples_leaf,
    min_weight_fraction_leaf, min_impurity_decrease, ccp_alpha, n_jobs))]
// X is scikit-learn's name, and Python passes its keyword arguments one by one.
#[allow(non_snake_case, clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub(super) fn fit_classifier(
    py: Python<'_>,
    X: Table<'_>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    criterion: &Bound<'_, PyAny>,
    max_depth: &Bound<'_, PyAny>,
    min_samples_split: &Bound<'_, PyAny>,
    min_samples_leaf: &Bound<'_, PyAny>,
    min_weight_fraction_leaf: &Bound<'_, PyAny>,
    min_impurity_decrease: &Bound<'_, PyAny>,
    ccp_alpha: &Bound<'_, PyAny>,
    n_jobs: &Bound<'_, PyAny>,
) -> PyResult<PyTree> {
    let loss = settings::loss(criterion, CLASSIFICATION)?;
    let params = Settings {
        max_depth,
        min_samples_split,
        min_samples_leaf,
        min_weight_fraction_leaf,
        min_impurity_decrease,
        ccp_alpha,
        n_jobs,
    }
    .params()?;
    let code = |&code: &i64| {
        u32::try_from(code).map_err(|_| Error::argument("y", format!("class code {code} is not below n_classes")))
    };
    let codes: Vec<u32> = vector(&y).iter().map(code).collect::<Result<_, _>>()?;
    fit(py, &X, Target::Classes { codes: &codes, n_classes }, sample_weight.as_ref(), loss, &params)
}

/// Number of CPUs this process may use (affinity, quota and environment respected).
#[pyfunction]
pub(super) fn available_threads() -> usize {
    crate::threads::available_threads()
}
