//! The class `Tree`: the arena as numpy arrays, with scikit-learn's names.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Cells, Entries, Table, filled, is_plain_table, vector, with_matrix};
use super::error::without_interpreter;
use super::settings;
use crate::tree::{Arrays, Categories, CategorySets, Tree};

/// What scikit-learn writes where a leaf has no feature and no threshold, and no children.
const NO_FEATURE: i64 = -2;
const NO_CHILD: i64 = -1;

/// A fitted tree as arrays, node by node in depth-first order, as in scikit-learn.
#[pyclass(name = "Tree", module = "splitwood._core", frozen)]
pub(super) struct PyTree(pub Tree);

impl PyTree {
    /// An array with an entry for each node.
    fn per_node<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        entry: impl Fn(usize) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        numbers(py, &(0..self.0.node_count()).map(entry).collect::<Vec<T>>())
    }
}

#[pymethods]
#[allow(non_snake_case)] // X is scikit-learn's name.
impl PyTree {
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    #[getter]
    fn n_outputs(&self) -> usize {
        self.0.n_outputs()
    }

    #[getter]
    fn n_classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        numbers(py, &vec![self.max_n_classes() as i64; self.0.n_outputs()])
    }

    #[getter]
    fn max_n_classes(&self) -> usize {
        self.0.n_values() / self.0.n_outputs()
    }

    #[getter]
    fn node_count(&self) -> usize {
        self.0.node_count()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.0.node_count()
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.0.max_depth()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.0.n_leaves()
    }

    #[getter]
    fn children_left<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_node(py, |node| self.0.children(node).map_or(NO_CHILD, |children| children.0 as i64))
    }

    #[getter]
    fn children_right<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_node(py, |node| self.0.children(node).map_or(NO_CHILD, |children| children.1 as i64))
    }

    #[getter]
    fn feature<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_node(py, |node| self.0.feature(node).map_or(NO_FEATURE, |feature| feature as i64))
    }

    #[getter]
    fn threshold<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.per_node(py, |node| self.0.threshold(node).unwrap_or(NO_FEATURE as f64))
    }

    #[getter]
    fn missing_go_to_left<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        self.per_node(py, |node| u8::from(self.0.missing_go_to_left(node).unwrap_or(false)))
    }

    /// Codes of the categories that go left at a node, or None if no categories decide there.
    fn categories_left(&self, node: usize) -> PyResult<Option<Vec<u32>>> {
        if node < self.0.node_count() {
            return Ok(self.0.categories_left(node));
        }
        Err(PyIndexError::new_err(format!("node {node} of {}", self.0.node_count())))
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let shape = [self.0.node_count(), self.0.n_outputs(), self.max_n_classes()];
        PyArray1::from_slice(py, &self.0.statistics.values).reshape(shape)
    }

    #[getter]
    fn impurity<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.per_node(py, |node| self.0.impurity(node))
    }

    #[getter]
    fn n_node_samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.per_node(py, |node| self.0.n_rows(node) as i64)
    }

    #[getter]
    fn weighted_n_node_samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.per_node(py, |node| self.0.weight(node))
    }

    /// Value of the leaf of each row, of shape ``(n_samples, n_outputs * max_n_classes)``.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows(), self.0.n_values()], |out| {
                without_interpreter(py, |go_on| self.0.predict_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Column of the largest value of the leaf of each row, the first of equal ones.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict_class<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows()], |out| {
                without_interpreter(py, |go_on| self.0.predict_class_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Whether ``X`` is a plain array that can be predicted as it is.
    fn reads(&self, X: &Bound<'_, PyAny>) -> bool {
        is_plain_table(X, self.0.n_features())
    }

    /// Node id of the leaf of each row.
    #[pyo3(signature = (X, n_jobs=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows()], |out| without_interpreter(py, |go_on| self.0.apply_into(out, x, n_jobs, go_on)))
        })
    }

    /// Node id of the leaf of each sparse row, given as ``(n_features, indptr, indices, data)``.
    #[allow(clippy::needless_pass_by_value)] // Python's arguments come by value.
    fn apply_sparse<'py>(&self, py: Python<'py>, X: Entries<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if X.n != self.0.n_features() {
            return Err(PyValueError::new_err(format!("X: has {} columns, not {}", X.n, self.0.n_features())));
        }
        let (starts, columns) = (vector(&X.starts), vector(&X.indices));
        let leaves = match &X.cells {
            Cells::Narrow(cells) => {
                let cells = vector(cells);
                without_interpreter(py, |go_on| self.0.apply_sparse_while(&starts, &columns, &cells, go_on))
            }
            Cells::Wide(cells) => {
                let cells = vector(cells);
                without_interpreter(py, |go_on| self.0.apply_sparse_while(&starts, &columns, &cells, go_on))
            }
        }?;
        Ok(numbers(py, &leaves))
    }

    /// Nodes that each row passes, as ``(indptr, indices)`` of a CSR matrix.
    #[allow(clippy::type_complexity)] // A pair of arrays.
    fn decision_path<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>)> {
        with_matrix!(X, |x| {
            let (starts, nodes) = without_interpreter(py, |go_on| self.0.decision_path_while(x, go_on))?;
            Ok((starts.into_pyarray(py), nodes.into_pyarray(py)))
        })
    }

    /// Total loss removed by the splits on each feature, scaled to a sum of one by default.
    #[pyo3(signature = (normalize=true))]
    fn compute_feature_importances<'py>(&self, py: Python<'py>, normalize: bool) -> Bound<'py, PyArray1<f64>> {
        numbers(py, &self.0.feature_importances(normalize))
    }

    /// Prices of a leaf at which pruning makes smaller trees, and their losses.
    #[allow(clippy::type_complexity)] // A pair of arrays.
    fn pruning_path<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let path = without_interpreter(py, |_| Ok(self.0.pruning_path()))?;
        Ok((numbers(py, &path.ccp_alphas), numbers(py, &path.impurities)))
    }

    fn __repr__(&self) -> String {
        let Self(tree) = self;
        format!(
            "<splitwood tree: {} nodes, depth {}, {} features>",
            tree.node_count(),
            tree.max_depth(),
            tree.n_features()
        )
    }

    /// The bytes of the model file, so that a pickle is checked like one.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let tree = &slf.get().0;
        let bytes = without_interpreter(slf.py(), |_| tree.check_all().map(|_| tree.to_bytes()))?;
        Ok((slf.get_type().getattr("_from_bytes")?, (PyBytes::new(slf.py(), &bytes),)))
    }

    /// Rebuild a pickled tree; everything is checked first.
    #[staticmethod]
    fn _from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        without_interpreter(py, |_| Tree::from_bytes(bytes)).map(Self)
    }

    /// All parts of the tree by name, for ``_from_state``.
    fn _state<'py>(slf: &Bound<'py, Self>) -> TreeState<'py> {
        let py = slf.py();
        let tree = slf.get();
        let statistics = &tree.0.statistics;
        TreeState {
            n_features: tree.0.n_features(),
            n_outputs: tree.0.n_outputs(),
            n_values: tree.0.n_values(),
            feature: tree.feature(py),
            threshold: tree.threshold(py),
            missing_go_to_left: tree.missing_go_to_left(py),
            children_right: tree.children_right(py),
            value: PyArray1::from_slice(py, &statistics.values),
            impurity: tree.impurity(py),
            n_node_samples: tree.n_node_samples(py),
            weighted_n_node_samples: statistics.weight.as_ref().map(|weight| PyArray1::from_slice(py, weight)),
            categories: tree.0.categories.as_ref().map(|categories| CategoryState {
                counts: categories.counts.clone(),
                sets: categories.sets.words.clone(),
            }),
        }
    }

    /// Rebuild a tree from its parts; everything is checked first.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // The binding extracts a value.
    fn _from_state(state: TreeState<'_>) -> PyResult<Self> {
        let weight = state.weighted_n_node_samples.as_ref().map(PyArrayMethods::readonly);
        let tree = Tree::from_arrays(&Arrays {
            n_features: state.n_features,
            n_values: state.n_values,
            feature: &vector(&state.feature.readonly()),
            threshold: &vector(&state.threshold.readonly()),
            missing_left: &vector(&state.missing_go_to_left.readonly()),
            right: &vector(&state.children_right.readonly()),
            values: &vector(&state.value.readonly()),
            impurity: &vector(&state.impurity.readonly()),
            rows: &vector(&state.n_node_samples.readonly()),
            weight: weight.as_ref().map(vector).as_deref(),
            categories: state
                .categories
                .map(|CategoryState { counts, sets }| Categories { counts, sets: CategorySets { words: sets } }),
        })?;
        Ok(Self(tree.with_outputs(state.n_outputs)?))
    }
}

/// The parts of a tree as a dict: `TreeState` of `_tree_state.py`, which describes the fields.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct TreeState<'py> {
    n_features: usize,
    n_outputs: usize,
    n_values: usize,
    feature: Bound<'py, PyArray1<i64>>,
    threshold: Bound<'py, PyArray1<f64>>,
    missing_go_to_left: Bound<'py, PyArray1<u8>>,
    children_right: Bound<'py, PyArray1<i64>>,
    value: Bound<'py, PyArray1<f64>>,
    impurity: Bound<'py, PyArray1<f64>>,
    n_node_samples: Bound<'py, PyArray1<i64>>,
    weighted_n_node_samples: Option<Bound<'py, PyArray1<f64>>>,
    categories: Option<CategoryState>,
}

#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct CategoryState {
    counts: Vec<u32>,
    sets: Vec<u64>,
}

/// An array in numpy's own memory: of arrays in memory of others numpy refuses some things, for example to make a view writable again,
/// which scipy does to those that it is indexed with.
fn numbers<'py, T: numpy::Element + Copy>(py: Python<'py>, numbers: &[T]) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_slice(py, numbers)
}

fn jobs(n_jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    n_jobs.map_or(Ok(None), |given| settings::optional_integer("n_jobs", given))
}
