//! Python values → raw settings. A value of the wrong type is refused here, by name; its size is judged in `params.rs`.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use crate::leaf_value::LeafValue;
use crate::params::{Loss, Size};

/// A setting that was given by keyword and has not been looked at yet.
type Given<'py> = Bound<'py, PyAny>;

fn refuse<T>(name: &str, wanted: &str, given: &Given<'_>) -> PyResult<T> {
    Err(PyValueError::new_err(format!("{name}: must be {wanted}, got {}", given.repr()?)))
}

/// A whole number; one that is too large for 64 bits counts as the largest.
fn integer(given: &Given<'_>) -> Option<i64> {
    match given.extract::<i64>() {
        Ok(number) => Some(number),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
            Some(if given.gt(0).unwrap_or(false) { i64::MAX } else { i64::MIN })
        }
        Err(_) => None,
    }
}

pub(super) fn optional_integer(name: &str, given: &Given<'_>) -> PyResult<Option<i64>> {
    if given.is_none() {
        return Ok(None);
    }
    match integer(given) {
        Some(number) => Ok(Some(number)),
        None => refuse(name, "an int or None", given),
    }
}

pub(super) fn size(name: &str, given: &Given<'_>) -> PyResult<Size> {
    match (integer(given), given.extract()) {
        (Some(rows), _) => Ok(Size::Rows(rows)),
        (None, Ok(share)) => Ok(Size::Fraction(share)),
        (None, Err(_)) => refuse(name, "an int or a float", given),
    }
}

pub(super) fn number(name: &str, given: &Given<'_>) -> PyResult<f64> {
    given.extract().or_else(|_| refuse(name, "a number", given))
}

/// What a leaf is to predict.
pub(super) enum LeafSetting<'a, 'py> {
    /// The criterion's own value.
    Own,
    Known(LeafValue),
    Callable(&'a Given<'py>),
}

pub(super) fn leaf_value<'a, 'py>(given: &'a Given<'py>) -> PyResult<LeafSetting<'a, 'py>> {
    match given.extract::<String>().as_deref() {
        Ok("mean") => Ok(LeafSetting::Known(LeafValue::Mean)),
        Ok("median") => Ok(LeafSetting::Known(LeafValue::Median)),
        Err(_) if given.is_none() => Ok(LeafSetting::Own),
        Err(_) if given.is_callable() => Ok(LeafSetting::Callable(given)),
        _ => refuse("leaf_value", "None, \"mean\", \"median\" or a callable", given),
    }
}

/// What a callable for the leaves has returned: one number.
pub(super) fn returned_number(value: &Given<'_>) -> PyResult<f64> {
    match value.extract() {
        Ok(number) if value.len().is_err() => Ok(number),
        _ => refuse("leaf_value", "a callable that returns one number", value),
    }
}

/// The loss of this name among those that go with the target.
pub(super) fn loss(given: &Given<'_>, known: &[(&str, Loss)]) -> PyResult<Loss> {
    let name = given.extract::<String>().unwrap_or_default();
    if let Some(&(_, loss)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(loss);
    }
    let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
    refuse("criterion", &format!("one of {names:?}"), given)
}
