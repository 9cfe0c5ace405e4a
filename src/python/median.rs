//! Running medians: the function over arrays, and the class.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::arrays::vector;
use super::error::without_interpreter;
use super::settings;
use crate::median::{self, RunningMedian};

/// Median of every prefix and the loss around it.
#[pyfunction]
#[pyo3(signature = (y, sample_weight=None, quantile=None), text_signature = "(y, sample_weight=None, quantile=0.5)")]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)] // What Python passes and gets.
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

fn level(given: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    given.map_or(Ok(0.5), |given| settings::number("quantile", given))
}

/// The median, or another quantile, of values that come and go.
///
/// The median is a value with at most half of the weight strictly below it and at most half strictly above it. If all
/// values between two neighbours are medians, it is their midpoint.
///
/// Two heaps hold the lower and the upper values, so that a value comes or goes in O(log n). With weights, one
/// heavy value can send many others from heap to heap; `running_median` takes O(n log n) for all weights.
///
/// Parameters
/// ----------
/// quantile : float, default=0.5
///     Level of the quantile, strictly between 0 and 1, if it is not to be the median: at most this share of the
///     weight is below it, at most the rest above it.
///
/// Attributes
/// ----------
/// median : float
///     The median; halfway between the small and the large one. NaN if there are no values.
/// small_median, large_median : float
///     The least and the greatest of the values that are medians; the same if there is but one. NaN if there are no values.
/// absolute_error : float
///     Sum of ``weight * abs(value - median)``. For other levels than one half, the sum of pinball losses:
///     ``quantile * (value - q)`` for values above the quantile ``q``, ``(1 - quantile) * (q - value)`` for values
///     below it, each times its weight. Zero if there are no values.
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

    /// Take out a value that was added with this weight.
    ///
    /// Parameters
    /// ----------
    /// value : float
    ///     The value.
    /// weight : float, default=1.0
    ///     The weight that it was added with. With weight zero, nothing is taken out.
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

    /// A copy with the same values.
    fn __copy__(&self) -> Self {
        Self(self.0.clone())
    }
}
