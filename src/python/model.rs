//! Model files for Python: a tree or a forest, labels, feature names and parameters are written and
//! read.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};

use super::arrays::vector;
use super::error::without_interpreter;
use super::forest::PyForest;
use super::tree::PyTree;
use crate::error::Result;
use crate::forest::{Forest, LeafRows};
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

/// How many rows each node keeps, these rows, and the targets of all rows.
type ReadLeafRows<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>, PyReadonlyArray2<'py, f64>);
type LeafRowsOut<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f64>>);

fn leaf_rows((sizes, rows, targets): &ReadLeafRows<'_>) -> LeafRows {
    let targets = targets.as_array().iter().copied().collect();
    LeafRows::new(vector(sizes).into_owned(), vector(rows).into_owned(), targets)
}

/// Check that these are rows in the leaves of a forest.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Extracted by value.
pub(super) fn check_leaf_rows(forest: &Bound<'_, PyForest>, leaf_rows: ReadLeafRows<'_>) -> PyResult<()> {
    let model = ModelOf::regressor(forest.get().forest.clone())?.with_leaf_rows(self::leaf_rows(&leaf_rows));
    model.map_err(|error| crate::error::Error::model(error.to_string()))?;
    Ok(())
}

/// Write a model file; without ``classes`` it is a regression. A quantile forest has ``leaf_rows``.
#[pyfunction]
#[pyo3(signature = (path, tree, classes, feature_names, parameters, leaf_rows=None))]
#[allow(clippy::needless_pass_by_value)] // Extracted by value.
pub(super) fn write_model(
    py: Python<'_>,
    path: PathBuf,
    tree: AnyPredictor,
    classes: Option<Vec<Labels>>,
    feature_names: Option<Vec<String>>,
    parameters: String,
    leaf_rows: Option<ReadLeafRows<'_>>,
) -> PyResult<()> {
    let leaf_rows = leaf_rows.as_ref().map(self::leaf_rows);
    without_interpreter(py, |_| {
        let mut model = match classes {
            None => ModelOf::regressor(tree),
            Some(classes) => ModelOf::classifier(tree, classes),
        }?;
        if let Some(names) = feature_names {
            model = model.with_feature_names(names)?;
        }
        if let Some(leaf_rows) = leaf_rows {
            model = model.with_leaf_rows(leaf_rows)?;
        }
        model.with_parameters(parameters).save(path)
    })
}

type ReadModel<'py> =
    (Bound<'py, PyAny>, Option<Vec<Bound<'py, PyList>>>, Option<Vec<String>>, Option<String>, Option<LeafRowsOut<'py>>);

/// Get the tree or forest, classes, feature names, parameters and, of a quantile forest, the rows
/// in the leaves of a model file, after checking it.
#[pyfunction]
pub(super) fn read_model(py: Python<'_>, path: PathBuf) -> PyResult<ReadModel<'_>> {
    let model = without_interpreter(py, |_| ModelOf::<AnyPredictor>::load(path))?;
    let classes = model.classes().iter().map(|labels| labels.into_pyobject(py)).collect::<PyResult<Vec<_>>>()?;
    let names = model.feature_names().map(<[String]>::to_vec);
    let parameters = model.parameters().map(str::to_owned);
    let leaf_rows = model.leaf_rows().map(|leaves| {
        let shape = [leaves.all_targets().len() / model.n_outputs(), model.n_outputs()];
        let targets = leaves.all_targets().to_vec().into_pyarray(py).reshape(shape)?;
        let part = |numbers: &[u32]| numbers.to_vec().into_pyarray(py);
        Ok::<_, PyErr>((part(leaves.sizes()), part(leaves.rows()), targets))
    });
    let leaf_rows = leaf_rows.transpose()?;
    let predictor = match model.into_predictor() {
        AnyPredictor::Tree(tree) => Bound::new(py, PyTree::from(tree))?.into_any(),
        AnyPredictor::Forest(forest) => Bound::new(py, PyForest { forest })?.into_any(),
    };
    Ok((predictor, (!classes.is_empty()).then_some(classes), names, parameters, leaf_rows))
}
