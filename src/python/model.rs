//! Model files for Python: a tree or a forest, labels, feature names and parameters are written and
//! read.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};

use super::error::without_interpreter;
use super::forest::PyForest;
use super::tree::PyTree;
use crate::error::Result;
use crate::forest::Forest;
use crate::model::{Labels, ModelOf, Predictor};
use crate::tree::Tree;

/// A list of Python values, all of the type of the first.
impl<'py> FromPyObject<'_, 'py> for Labels {
    type Error = PyErr;

    fn extract(list: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let first = list.get_item(0)?;
        // First, because a bool is also an int.
        if first.is_instance_of::<PyBool>() {
            list.extract().map(Self::Bools)
        } else if first.is_instance_of::<PyInt>() {
            list.extract().map(Self::Integers)
        } else if first.is_instance_of::<PyFloat>() {
            list.extract().map(Self::Floats)
        } else if first.is_instance_of::<PyString>() {
            list.extract().map(Self::Strings)
        } else {
            Err(PyTypeError::new_err(format!("a model file can't store the label {}", first.repr()?)))
        }
    }
}

impl<'py> IntoPyObject<'py> for &Labels {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            Labels::Integers(labels) => PyList::new(py, labels),
            Labels::Floats(labels) => PyList::new(py, labels),
            Labels::Bools(labels) => PyList::new(py, labels),
            Labels::Strings(labels) => PyList::new(py, labels),
        }
    }
}

/// What a model file may hold.
pub(super) enum AnyPredictor {
    Tree(Arc<Tree>),
    Forest(Forest),
}

impl Predictor for AnyPredictor {
    fn trees(&self) -> Vec<&Tree> {
        match self {
            Self::Tree(tree) => vec![tree],
            Self::Forest(forest) => Predictor::trees(forest),
        }
    }

    fn is_forest(&self) -> bool {
        matches!(self, Self::Forest(_))
    }

    fn from_trees(trees: Vec<Tree>, is_forest: bool) -> Result<Self> {
        if is_forest {
            return Forest::from_trees(trees, is_forest).map(Self::Forest);
        }
        Tree::from_trees(trees, is_forest).map(|tree| Self::Tree(Arc::new(tree)))
    }
}

impl<'py> FromPyObject<'_, 'py> for AnyPredictor {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(forest) = object.cast::<PyForest>() {
            return Ok(Self::Forest(forest.get().forest.clone()));
        }
        Ok(Self::Tree(Arc::clone(&object.cast::<PyTree>()?.get().tree)))
    }
}

/// Write a model file; without ``classes`` it is a regression.
#[pyfunction]
pub(super) fn write_model(
    py: Python<'_>,
    path: PathBuf,
    tree: AnyPredictor,
    classes: Option<Vec<Labels>>,
    feature_names: Option<Vec<String>>,
    parameters: String,
) -> PyResult<()> {
    without_interpreter(py, |_| {
        let mut model = match classes {
            None => ModelOf::regressor(tree),
            Some(classes) => ModelOf::classifier(tree, classes),
        }?;
        if let Some(names) = feature_names {
            model = model.with_feature_names(names)?;
        }
        model.with_parameters(parameters).save(path)
    })
}

/// Get the tree or forest, classes, feature names and parameters of a model file, after checking
/// it.
#[pyfunction]
#[allow(clippy::type_complexity)] // The parts of a model.
pub(super) fn read_model(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Bound<'_, PyAny>, Option<Vec<Bound<'_, PyList>>>, Option<Vec<String>>, Option<String>)> {
    let model = without_interpreter(py, |_| ModelOf::<AnyPredictor>::load(path))?;
    let classes = model.classes().iter().map(|labels| labels.into_pyobject(py)).collect::<PyResult<Vec<_>>>()?;
    let names = model.feature_names().map(<[String]>::to_vec);
    let parameters = model.parameters().map(str::to_owned);
    let predictor = match model.into_predictor() {
        AnyPredictor::Tree(tree) => Bound::new(py, PyTree::from(tree))?.into_any(),
        AnyPredictor::Forest(forest) => Bound::new(py, PyForest { forest })?.into_any(),
    };
    Ok((predictor, (!classes.is_empty()).then_some(classes), names, parameters))
}
