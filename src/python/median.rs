//! Running medians: the function over arrays, and the class.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::arrays::vector;
use super::error::without_interpreter;
use super::settings;
use crate::error::Error;
use crate::median::{self, Center, RunningMedian, checked_level};

/// Get the median of every prefix and the loss around it.
#[pyfunction]
#[pyo3(signature = (y, sample_weight=None, quantile=None), text_signature = "(y, sample_weight=None, quantile=0.5)")]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)] // Python's types.
pub(super) fn running_median<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    quantile: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let (y, weights) = (vector(&y), sample_weight.as_ref().map(vector));
    let level = level(quantile)?;
    let running = without_interpreter(py, |_| median::running_median(&y, weights.as_deref(), level))?;
    Ok((running.medians.into_pyarray(py), running.losses.into_pyarray(py)))
}

/// Get the quantile of each group of values, which must ascend within their group.
///
/// The values of group ``i`` are ``y[indptr[i]:indptr[i + 1]]``. The quantile of an empty group is
/// NaN. The quantile is that of a leaf with ``criterion="quantile"``.
#[pyfunction]
#[pyo3(signature = (indptr, y, sample_weight, quantile))]
#[allow(clippy::needless_pass_by_value)] // Python's types.
pub(super) fn grouped_quantiles<'py>(
    py: Python<'py>,
    indptr: PyReadonlyArray1<'py, i64>,
    y: PyReadonlyArray1<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    quantile: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (starts, y, weights) = (vector(&indptr), vector(&y), sample_weight.as_ref().map(vector));
    let weights = weights.as_deref();
    let level = checked_level(settings::number("quantiles", quantile)?)?;
    let fits = starts.is_sorted() && starts.first() == Some(&0) && starts.last() == Some(&(y.len() as i64));
    if !fits || weights.is_some_and(|weights| weights.len() != y.len()) {
        return Err(Error::argument("indptr", "does not fit y and sample_weight").into());
    }
    let quantile_of = |ends: &[i64]| {
        let rows = ends[0] as usize..ends[1] as usize;
        match weights {
            _ if rows.is_empty() => f64::NAN,
            None => Center::of_values(level, &y[rows]).value,
            Some(weights) => {
                let rows = y[rows.clone()].iter().copied().zip(weights[rows].iter().copied());
                Center::of_weighted(level, rows).value
            }
        }
    };
    let quantiles = without_interpreter(py, |_| Ok(starts.windows(2).map(quantile_of).collect::<Vec<f64>>()))?;
    Ok(quantiles.into_pyarray(py))
}

fn level(given: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    given.map_or(Ok(0.5), |given| settings::number("quantile", given))
}

/// The median, or another quantile, of values that are added and removed.
///
/// The median is a value with at most half of the weight strictly below it and at most half
/// strictly above it. If all values between two neighbours are medians, it is their midpoint.
///
/// Two heaps hold the lower and the upper values, so that adding or removing a value takes O(log
/// n). With weights, one heavy value can move many others between the heaps; `running_median` takes
/// O(n log n) for all weights.
///
/// Parameters
/// ----------
/// quantile : float, default=0.5
///     Level of the quantile, strictly between 0 and 1; 0.5 is the median. At most this share of
///     the weight is below the quantile, and at most the rest is above it.
///
/// Attributes
/// ----------
/// median : float
///     The median: the midpoint of the small and the large one. NaN if there are no values.
/// small_median, large_median : float
///     The least and the greatest of the values that are medians; equal if there is only one. NaN
///     if there are no values.
/// absolute_error : float
///     Sum of ``weight * abs(value - median)``. For levels other than 0.5, the sum of pinball
///     losses: ``quantile * (value - q)`` for values above the quantile ``q``, and
///     ``(1 - quantile) * (q - value)`` for values below it, each times its weight. Zero if there
///     are no values.
/// quantile : float
///     The level.
///
/// See Also
/// --------
/// running_median : The median of every prefix of a sequence.
///
/// Examples
/// --------
/// >>> from splitwood import RunningMedian
/// >>> running = RunningMedian()
/// >>> for value in [3, 1, 9]:
/// ...     running.push(value)
/// >>> running.median, running.absolute_error
/// (3.0, 8.0)
/// >>> running.remove(9)
/// >>> running.small_median, running.median, running.large_median
/// (1.0, 2.0, 3.0)
/// >>> len(running)
/// 2
#[pyclass(name = "RunningMedian", module = "splitwood")]
pub(super) struct PyRunningMedian(RunningMedian);

#[pymethods]
impl PyRunningMedian {
    #[new]
    #[pyo3(signature = (quantile=None), text_signature = "(quantile=0.5)")]
    fn new(quantile: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(RunningMedian::with_quantile(level(quantile)?)?))
    }

    /// Add a value.
    ///
    /// Parameters
    /// ----------
    /// value : float
    ///     The value; finite.
    /// weight : float, default=1.0
    ///     Its weight, finite and not negative. With weight zero, nothing is added.
    ///
    /// Examples
    /// --------
    /// >>> from splitwood import RunningMedian
    /// >>> running = RunningMedian()
    /// >>> running.push(1, weight=2)
    /// >>> running.push(5)
    /// >>> running.median
    /// 1.0
    #[pyo3(signature = (value, weight=1.0))]
    fn push(&mut self, value: f64, weight: f64) -> PyResult<()> {
        Ok(self.0.push(value, weight)?)
    }

    /// Remove a value that was added with this weight.
    ///
    /// Parameters
    /// ----------
    /// value : float
    ///     The value.
    /// weight : float, default=1.0
    ///     The weight that it was added with. With weight zero, nothing is removed.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If there is no such value with this weight.
    ///
    /// Examples
    /// --------
    /// >>> from splitwood import RunningMedian
    /// >>> running = RunningMedian()
    /// >>> for value in [1, 5, 7]:
    /// ...     running.push(value)
    /// >>> running.remove(1)
    /// >>> running.median
    /// 6.0
    #[pyo3(signature = (value, weight=1.0))]
    fn remove(&mut self, value: f64, weight: f64) -> PyResult<()> {
        Ok(self.0.remove(value, weight)?)
    }

    #[getter]
    fn median(&self) -> f64 {
        self.0.median().unwrap_or(f64::NAN)
    }

    #[getter]
    fn small_median(&self) -> f64 {
        self.0.small_median().unwrap_or(f64::NAN)
    }

    #[getter]
    fn large_median(&self) -> f64 {
        self.0.large_median().unwrap_or(f64::NAN)
    }

    #[getter]
    fn absolute_error(&self) -> f64 {
        self.0.absolute_error()
    }

    #[getter]
    fn quantile(&self) -> f64 {
        self.0.quantile()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<RunningMedian of {} values, quantile={}>", self.0.len(), self.0.quantile())
    }

    /// Copy the median with its values.
    fn __copy__(&self) -> Self {
        Self(self.0.clone())
    }
}
