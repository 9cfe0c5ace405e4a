//! The class `Tree`: the arena as numpy arrays, with scikit-learn's names.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrays::{Cells, Entries, Table, filled, is_plain_table, vector, with_matrix};
use super::error::without_interpreter;
use super::settings;
use crate::tree::{Arrays, Categories, CategorySets, Tree};

/// scikit-learn's feature and threshold of a leaf, and the children of a leaf.
const NO_FEATURE: i64 = -2;
const NO_CHILD: i64 = -1;

/// A fitted tree as arrays with one entry per node in depth-first order, as in scikit-learn.
///
/// Node 0 is the root; the left child of an inner node follows it directly. Leaves have
/// ``children_left == children_right == -1`` and ``feature == threshold == -2``.
///
/// Attributes
/// ----------
/// n_features, n_outputs : int
///     Number of features and of outputs.
/// max_n_classes : int
///     Number of classes of the output with the most classes; 1 for regression.
/// n_classes : ndarray of shape (n_outputs,)
///     ``max_n_classes`` for each output.
/// node_count, capacity, n_leaves : int
///     Number of nodes (twice, as in scikit-learn) and of leaves.
/// max_depth : int
///     Depth of the deepest leaf; the root has depth 0.
/// children_left, children_right : ndarray of shape (node_count,)
///     Node ids of the children.
/// feature : ndarray of shape (node_count,)
///     Feature that the node tests.
/// threshold : ndarray of shape (node_count,)
///     Values up to and including the threshold go left. NaN where categories decide.
/// missing_go_to_left : ndarray of shape (node_count,)
///     1 if missing values go left, else 0.
/// value : ndarray of shape (node_count, n_outputs, max_n_classes)
///     Predicted value, or the shares of the classes.
/// impurity : ndarray of shape (node_count,)
///     Loss of the node's training rows, averaged over their weight.
/// n_node_samples, weighted_n_node_samples : ndarray of shape (node_count,)
///     Number and weight of the node's training rows.
///
/// Examples
/// --------
/// >>> from splitwood import DecisionTreeRegressor
/// >>> tree = DecisionTreeRegressor().fit([[0], [1], [2]], [1, 1, 4]).tree_
/// >>> tree
/// <splitwood tree: 3 nodes, depth 1, 1 features>
/// >>> tree.children_left, tree.children_right
/// (array([ 1, -1, -1]), array([ 2, -1, -1]))
/// >>> tree.threshold
/// array([ 1.5, -2. , -2. ])
/// >>> tree.value.ravel()
/// array([2., 1., 4.])
#[pyclass(name = "Tree", module = "splitwood._core", frozen)]
pub(super) struct PyTree(pub Tree);

impl PyTree {
    /// An array with one entry per node.
    fn per_node<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        entry: impl Fn(usize) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        owned_array(py, &(0..self.0.node_count()).map(entry).collect::<Vec<T>>())
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
        owned_array(py, &vec![self.max_n_classes() as i64; self.0.n_outputs()])
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

    /// Get the codes of the categories that go left; None if a threshold splits the node.
    ///
    /// Parameters
    /// ----------
    /// node : int
    ///     Node id.
    ///
    /// Returns
    /// -------
    /// codes : list of int or None
    ///     The codes in ascending order; None also for leaves.
    ///
    /// Raises
    /// ------
    /// IndexError
    ///     If there is no such node.
    fn categories_left(&self, node: usize) -> PyResult<Option<Vec<u32>>> {
        if node < self.0.node_count() {
            return Ok(self.0.categories_left(node));
        }
        Err(PyIndexError::new_err(format!("node {node} is not below {}, the number of nodes", self.0.node_count())))
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

    /// Get the values of each row's leaf.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// values : ndarray of shape (n_samples, n_outputs * max_n_classes)
    ///     The values, output after output.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows(), self.0.n_values()], |out| {
                without_interpreter(py, |go_on| self.0.predict_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Get the column of the largest value of each row's leaf; of equal ones, the first.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// codes : ndarray of shape (n_samples,)
    ///     For one output, the code of the most probable class.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict_class<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows()], |out| {
                without_interpreter(py, |go_on| self.0.predict_class_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Whether ``X`` is an array that the core can read in place.
    fn reads(&self, X: &Bound<'_, PyAny>) -> bool {
        is_plain_table(X, self.0.n_features())
    }

    /// Get the node id of each row's leaf.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///
    /// Returns
    /// -------
    /// leaves : ndarray of shape (n_samples,)
    ///     Node ids.
    #[pyo3(signature = (X, n_jobs=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        with_matrix!(X, |x| {
            filled(py, [x.n_rows()], |out| without_interpreter(py, |go_on| self.0.apply_into(out, x, n_jobs, go_on)))
        })
    }

    /// Get the leaf of each sparse row, for ``X = (n_features, indptr, indices, data)``.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn apply_sparse<'py>(&self, py: Python<'py>, X: Entries<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if X.n != self.0.n_features() {
            return Err(PyValueError::new_err(format!(
                "X: has {} columns, but the tree was fitted on {}",
                X.n,
                self.0.n_features()
            )));
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
        Ok(owned_array(py, &leaves))
    }

    /// Get the nodes on each row's path, as ``(indptr, indices)`` of a CSR matrix.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    ///
    /// Returns
    /// -------
    /// indptr : ndarray of shape (n_samples + 1,)
    ///     The path of row ``i`` is ``indices[indptr[i]:indptr[i + 1]]``.
    /// indices : ndarray
    ///     Node ids, ascending along each path.
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

    /// Get the loss that the splits on each feature remove, by default scaled to a sum of 1.
    ///
    /// Parameters
    /// ----------
    /// normalize : bool, default=True
    ///     Whether to scale the importances to a sum of 1.
    ///
    /// Returns
    /// -------
    /// importances : ndarray of shape (n_features,)
    ///     The importances.
    #[pyo3(signature = (normalize=true))]
    fn compute_feature_importances<'py>(&self, py: Python<'py>, normalize: bool) -> Bound<'py, PyArray1<f64>> {
        owned_array(py, &self.0.feature_importances(normalize))
    }

    /// Get the costs per leaf at which the pruned tree changes, and the losses of the trees.
    ///
    /// Returns
    /// -------
    /// ccp_alphas : ndarray
    ///     The least ``ccp_alpha`` of each tree, ascending; the first tree is this one.
    /// impurities : ndarray
    ///     The sum of the losses of each tree's leaves, averaged over the training weight.
    #[allow(clippy::type_complexity)] // A pair of arrays.
    fn pruning_path<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let path = without_interpreter(py, |_| Ok(self.0.pruning_path()))?;
        Ok((owned_array(py, &path.ccp_alphas), owned_array(py, &path.impurities)))
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

    /// Pickle the bytes of the model file, which are checked when they are loaded.
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

    /// Get all parts of the tree by name, for ``_from_state``.
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

/// A copy in an array whose memory numpy owns. Of other arrays numpy refuses some operations, for
/// example to make a view writable again, which scipy does with its index arrays.
fn owned_array<'py, T: numpy::Element + Copy>(py: Python<'py>, entries: &[T]) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_slice(py, entries)
}

fn parse_n_jobs(n_jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    n_jobs.map_or(Ok(None), |given| settings::optional_integer("n_jobs", given))
}
