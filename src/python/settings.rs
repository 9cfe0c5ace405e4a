//! Python values → raw settings. A value of the wrong type is refused here, by the name of its
//! parameter; its range is checked in `params/valid.rs`.

use pyo3::exceptions::{PyKeyError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::leaf_value::LeafValue;
use crate::params::{
    ColumnOrders, ColumnStorage, Loss, MaxFeatures, MedianMethod, Params, Size, Splitter, WholeWeights,
};

/// The value of a setting, of any type.
type Given<'py> = Bound<'py, PyAny>;

/// The settings of a fit by name; all must be present.
pub(super) struct Settings<'py>(Bound<'py, PyDict>);

impl<'a, 'py> FromPyObject<'a, 'py> for Settings<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<PyDict>()?.to_owned()))
    }
}

impl<'py> Settings<'py> {
    pub fn get(&self, name: &str) -> PyResult<Given<'py>> {
        self.0.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    pub fn number(&self, name: &str) -> PyResult<f64> {
        number(name, &self.get(name)?)
    }

    pub fn loss(&self, known: &[(&str, Loss)]) -> PyResult<Loss> {
        loss(&self.get("criterion")?, known)
    }

    pub fn leaf_value(&self) -> PyResult<LeafSetting<'py>> {
        leaf_value(self.get("leaf_value")?)
    }

    /// The progress callback, or `None`. It is called with the share of the work that is done.
    pub fn progress(&self) -> PyResult<Option<Py<PyAny>>> {
        Ok(Some(self.get("progress")?).filter(|given| !given.is_none()).map(Bound::unbind))
    }

    pub fn params(&self) -> PyResult<Params> {
        let integer = |name: &str| optional_integer(name, &self.get(name)?);
        let size = |name: &str| size(name, &self.get(name)?);
        Ok(Params {
            max_depth: integer("max_depth")?,
            min_samples_split: size("min_samples_split")?,
            min_samples_leaf: size("min_samples_leaf")?,
            min_weight_fraction_leaf: self.number("min_weight_fraction_leaf")?,
            min_impurity_decrease: self.number("min_impurity_decrease")?,
            max_leaf_nodes: integer("max_leaf_nodes")?,
            max_features: max_features(&self.get("max_features")?)?,
            splitter: splitter(&self.get("splitter")?)?,
            seed: self.get("seed")?.extract()?,
            monotonic_cst: self.get("monotonic_cst")?.extract()?,
            categories: self.get("categories")?.extract()?,
            category_smoothing: self.number("categorical_smoothing")?,
            ccp_alpha: self.number("ccp_alpha")?,
            median_method: MedianMethod::default(),
            column_orders: ColumnOrders::default(),
            column_storage: ColumnStorage::default(),
            whole_weights: WholeWeights::default(),
            n_jobs: integer("n_jobs")?,
        })
    }
}

fn refuse<T>(name: &str, wanted: &str, given: &Given<'_>) -> PyResult<T> {
    Err(PyValueError::new_err(format!("{name}: must be {wanted}, got {}", given.repr()?)))
}

/// An integer. One that does not fit in 64 bits becomes the largest or the smallest.
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

fn size(name: &str, given: &Given<'_>) -> PyResult<Size> {
    match (integer(given), given.extract()) {
        (Some(rows), _) => Ok(Size::Rows(rows)),
        (None, Ok(share)) => Ok(Size::Fraction(share)),
        (None, Err(_)) => refuse(name, "an int or a float", given),
    }
}

pub(super) fn number(name: &str, given: &Given<'_>) -> PyResult<f64> {
    given.extract().or_else(|_| refuse(name, "a number", given))
}

fn max_features(given: &Given<'_>) -> PyResult<MaxFeatures> {
    match (given.extract::<String>().as_deref(), integer(given), given.extract()) {
        (Ok("sqrt"), ..) => Ok(MaxFeatures::Sqrt),
        (Ok("log2"), ..) => Ok(MaxFeatures::Log2),
        (Err(_), Some(count), _) => Ok(MaxFeatures::Count(count)),
        (Err(_), None, Ok(share)) => Ok(MaxFeatures::Fraction(share)),
        _ if given.is_none() => Ok(MaxFeatures::All),
        _ => refuse("max_features", "an int, a float, \"sqrt\", \"log2\" or None", given),
    }
}

fn splitter(given: &Given<'_>) -> PyResult<Splitter> {
    match given.extract::<String>().as_deref() {
        Ok("best") => Ok(Splitter::Best),
        Ok("random") => Ok(Splitter::Random),
        _ => refuse("splitter", "\"best\" or \"random\"", given),
    }
}

/// What a leaf predicts.
pub(super) enum LeafSetting<'py> {
    /// The criterion's own value.
    Own,
    Known(LeafValue),
    Callable(Given<'py>),
}

fn leaf_value(given: Given<'_>) -> PyResult<LeafSetting<'_>> {
    match given.extract::<String>().as_deref() {
        Ok("mean") => Ok(LeafSetting::Known(LeafValue::Mean)),
        Ok("median") => Ok(LeafSetting::Known(LeafValue::Median)),
        Err(_) if given.is_none() => Ok(LeafSetting::Own),
        Err(_) if given.is_callable() => Ok(LeafSetting::Callable(given)),
        _ => refuse("leaf_value", "None, \"mean\", \"median\" or a callable", &given),
    }
}

/// The result of a callable for `leaf_value`, which must be one number.
pub(super) fn returned_number(value: &Given<'_>) -> PyResult<f64> {
    match value.extract() {
        Ok(number) if value.len().is_err() => Ok(number),
        _ => refuse("leaf_value", "a callable that returns one number", value),
    }
}

/// The loss with this name, among those for the kind of target.
fn loss(given: &Given<'_>, known: &[(&str, Loss)]) -> PyResult<Loss> {
    let name = given.extract::<String>().unwrap_or_default();
    if let Some(&(_, loss)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(loss);
    }
    let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
    refuse("criterion", &format!("one of {names:?}"), given)
}
