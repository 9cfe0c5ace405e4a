//! The class `Tree`: the arena as numpy arrays, with scikit-learn's names.
//!
//! Each array is made when it is first read, and kept: a loop over ``tree_.threshold[i]`` makes one
//! copy, not one per node. The arrays are read-only, because a change would not reach the arena.
//! Cost: up to 72 bytes per node and output, once all arrays were read. Pickles don't hold them.

#![allow(clippy::doc_markdown, reason = "docstrings are numpydoc")]

use std::mem::MaybeUninit;
use std::sync::Arc;

use numpy::ndarray::{Dimension, Ix1, Ix3};
use numpy::{
    Element, IntoPyArray, PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};

use super::arrays::{Cells, Entries, RowSource, Table, filled, is_plain_table, vector, with_matrix};
use super::error::without_interpreter;
use super::settings;
use crate::data::Values;
use crate::error::Error;
use crate::tree::{Arrays, Categories, CategorySets, Tree};

/// scikit-learn's feature and threshold of a leaf, and the children of a leaf.
const NO_FEATURE: i64 = -2;
const NO_CHILD: i64 = -1;

/// Grid points between two checks for Ctrl-C. A point may visit every node.
const POINTS_PER_CHECK: usize = 16;

/// A fitted tree as arrays with one entry per node in depth-first order, as in scikit-learn.
///
/// Node 0 is the root; the left child of an inner node follows it directly. Leaves have
/// ``children_left == children_right == -1`` and ``feature == threshold == -2``. The arrays are
/// read-only.
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
pub(super) struct PyTree {
    /// Shared with the forest that it belongs to.
    pub tree: Arc<Tree>,
    arrays: NodeArrays,
}

/// The attributes that are arrays, once they were read.
#[derive(Default)]
struct NodeArrays {
    children_left: Kept<i64, Ix1>,
    children_right: Kept<i64, Ix1>,
    feature: Kept<i64, Ix1>,
    threshold: Kept<f64, Ix1>,
    missing_go_to_left: Kept<u8, Ix1>,
    value: Kept<f64, Ix3>,
    impurity: Kept<f64, Ix1>,
    n_node_samples: Kept<i64, Ix1>,
    weighted_n_node_samples: Kept<f64, Ix1>,
}

/// A read-only array that is made once.
struct Kept<T: Element, D: Dimension>(PyOnceLock<Py<PyArray<T, D>>>);

impl<T: Element, D: Dimension> Default for Kept<T, D> {
    fn default() -> Self {
        Self(PyOnceLock::new())
    }
}

impl<T: Element, D: Dimension> Kept<T, D> {
    fn get<'py>(
        &self,
        py: Python<'py>,
        make: impl FnOnce() -> PyResult<Bound<'py, PyArray<T, D>>>,
    ) -> PyResult<Bound<'py, PyArray<T, D>>> {
        let kept = self.0.get_or_try_init(py, || {
            let array = make()?;
            array.try_readwrite()?.make_nonwriteable();
            PyResult::Ok(array.unbind())
        })?;
        Ok(kept.bind(py).clone())
    }
}

impl From<Tree> for PyTree {
    fn from(tree: Tree) -> Self {
        Self::from(Arc::new(tree))
    }
}

impl From<Arc<Tree>> for PyTree {
    fn from(tree: Arc<Tree>) -> Self {
        Self { tree, arrays: NodeArrays::default() }
    }
}

impl PyTree {
    /// A new array with one entry per node.
    fn per_node<'py, T: Element + Copy>(
        &self,
        py: Python<'py>,
        entry: impl Fn(&Tree, usize) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        let tree = &self.tree;
        owned_array(py, &(0..tree.node_count()).map(|node| entry(tree, node)).collect::<Vec<T>>())
    }

    /// The array with one entry per node that is kept in `kept`.
    fn kept_per_node<'py, T: Element + Copy>(
        &self,
        py: Python<'py>,
        kept: &Kept<T, Ix1>,
        entry: impl Fn(&Tree, usize) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        kept.get(py, || Ok(self.per_node(py, entry)))
    }

    /// The leaf of each sparse row.
    fn apply_entries(&self, py: Python<'_>, rows: &Entries<'_>) -> PyResult<Vec<i64>> {
        let tree = &self.tree;
        if rows.n != tree.n_features() {
            return Err(PyValueError::new_err(format!(
                "X: has {} columns, but the tree was fitted on {}",
                rows.n,
                tree.n_features()
            )));
        }
        let (starts, columns) = (vector(&rows.starts), vector(&rows.indices));
        match &rows.cells {
            Cells::Narrow(cells) => {
                let cells = vector(cells);
                without_interpreter(py, |go_on| tree.apply_sparse_while(&starts, &columns, &cells, go_on))
            }
            Cells::Wide(cells) => {
                let cells = vector(cells);
                without_interpreter(py, |go_on| tree.apply_sparse_while(&starts, &columns, &cells, go_on))
            }
        }
    }

    /// The paths to these leaves, as `indptr` and `indices` of a CSR matrix.
    fn paths_to(&self, leaves: &[i64]) -> (Vec<i64>, Vec<i64>) {
        let mut parents = vec![NO_CHILD; self.tree.node_count()];
        for node in 0..self.tree.node_count() {
            if let Some((left, right)) = self.tree.children(node) {
                parents[left] = node as i64;
                parents[right] = node as i64;
            }
        }
        let (mut starts, mut nodes) = (vec![0], Vec::new());
        for &leaf in leaves {
            let start = nodes.len();
            let mut node = leaf;
            while node != NO_CHILD {
                nodes.push(node);
                node = parents[node as usize];
            }
            nodes[start..].reverse();
            starts.push(nodes.len() as i64);
        }
        (starts, nodes)
    }

    /// Adds the expected values of one grid point to `sums`, one per value of a node. `cell` gives
    /// the point's coordinate of a feature, or `None` if the feature is averaged over.
    ///
    /// A split on a fixed feature sends the point to one side. A split on another feature sends it
    /// to both, in proportion to the training weights of the children.
    fn add_expectation(&self, cell: impl Fn(usize) -> Option<f64>, sums: &mut [f64]) {
        let tree = &self.tree;
        let mut pending = vec![(0, 1.0)];
        while let Some((node, share)) = pending.pop() {
            let Some(test) = tree.nodes[node].test() else {
                sums.iter_mut().zip(tree.value(node)).for_each(|(sum, value)| *sum += share * value);
                continue;
            };
            let (left, right) = (node + 1, test.right as usize);
            match cell(test.feature as usize) {
                Some(cell) if test.goes_left(cell, tree.categories.as_deref()) => pending.push((left, share)),
                Some(_) => pending.push((right, share)),
                None => {
                    let share_left = share * (tree.weight(left) / tree.weight(node));
                    pending.extend([(right, share - share_left), (left, share_left)]);
                }
            }
        }
    }

    /// The expected values of each grid point, row after row.
    fn expectations(&self, py: Python<'_>, grid: &Table<'_>, features: &[i64]) -> PyResult<Vec<f64>> {
        let mut place = vec![None; self.tree.n_features()];
        for (column, &feature) in features.iter().enumerate() {
            let known = usize::try_from(feature).ok().and_then(|feature| place.get_mut(feature));
            let Some(known) = known else {
                let problem = format!("target_features: must be below {}, got {feature}", self.tree.n_features());
                return Err(PyValueError::new_err(problem));
            };
            *known = Some(column);
        }
        with_matrix!(grid, |x| {
            if x.n_columns() != features.len() {
                let problem = format!("X: has {} columns, but there are {} features", x.n_columns(), features.len());
                return Err(PyValueError::new_err(problem));
            }
            without_interpreter(py, |go_on| {
                let mut sums = vec![0.0; x.n_rows() * self.tree.n_values()];
                for (row, sums) in sums.chunks_exact_mut(self.tree.n_values()).enumerate() {
                    self.add_expectation(|feature| place[feature].map(|column| x.value(row, column)), sums);
                    if row % POINTS_PER_CHECK == 0 && !go_on() {
                        return Err(Error::Interrupted);
                    }
                }
                Ok(sums)
            })
        })
    }
}

#[pymethods]
#[allow(non_snake_case)] // X is scikit-learn's name.
impl PyTree {
    #[getter]
    fn n_features(&self) -> usize {
        self.tree.n_features()
    }

    #[getter]
    fn n_outputs(&self) -> usize {
        self.tree.n_outputs()
    }

    #[getter]
    fn n_classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        owned_array(py, &vec![self.max_n_classes() as i64; self.tree.n_outputs()])
    }

    #[getter]
    fn max_n_classes(&self) -> usize {
        self.tree.n_values() / self.tree.n_outputs()
    }

    #[getter]
    fn node_count(&self) -> usize {
        self.tree.node_count()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.tree.node_count()
    }

    #[getter]
    fn max_depth(&self) -> usize {
        self.tree.max_depth()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.tree.n_leaves()
    }

    #[getter]
    fn children_left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.kept_per_node(py, &self.arrays.children_left, left_child)
    }

    #[getter]
    fn children_right<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.kept_per_node(py, &self.arrays.children_right, right_child)
    }

    #[getter]
    fn feature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.kept_per_node(py, &self.arrays.feature, split_feature)
    }

    #[getter]
    fn threshold<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.kept_per_node(py, &self.arrays.threshold, split_threshold)
    }

    #[getter]
    fn missing_go_to_left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        self.kept_per_node(py, &self.arrays.missing_go_to_left, missing_left)
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
        if node < self.tree.node_count() {
            return Ok(self.tree.categories_left(node));
        }
        Err(PyIndexError::new_err(format!("node {node} is not below {}, the number of nodes", self.tree.node_count())))
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.arrays.value.get(py, || {
            let shape = [self.tree.node_count(), self.tree.n_outputs(), self.max_n_classes()];
            owned_array(py, &self.tree.statistics.values).reshape(shape)
        })
    }

    #[getter]
    fn impurity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.kept_per_node(py, &self.arrays.impurity, Tree::impurity)
    }

    #[getter]
    fn n_node_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.kept_per_node(py, &self.arrays.n_node_samples, n_rows)
    }

    #[getter]
    fn weighted_n_node_samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.kept_per_node(py, &self.arrays.weighted_n_node_samples, Tree::weight)
    }

    /// Get the values of each row's leaf.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray or sparse matrix of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///     Sparse rows use one thread.
    ///
    /// Returns
    /// -------
    /// values : ndarray of shape (n_samples, n_outputs * max_n_classes)
    ///     The values, output after output.
    #[pyo3(signature = (X, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        X: RowSource<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        let n_values = self.tree.n_values();
        match X {
            RowSource::Dense(X) => with_matrix!(X, |x| {
                filled(py, [x.n_rows(), n_values], |out| {
                    without_interpreter(py, |go_on| self.tree.predict_into(out, x, n_jobs, go_on))
                })
            }),
            RowSource::Sparse(X) => {
                let leaves = self.apply_entries(py, &X)?;
                filled(py, [leaves.len(), n_values], |out| {
                    for (out, &leaf) in out.chunks_exact_mut(n_values).zip(&leaves) {
                        let values = self.tree.value(leaf as usize);
                        out.iter_mut().zip(values).for_each(|(out, &value)| *out = MaybeUninit::new(value));
                    }
                    Ok(())
                })
            }
        }
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
                without_interpreter(py, |go_on| self.tree.predict_class_into(out, x, n_jobs, go_on))
            })
        })
    }

    /// Whether ``X`` is an array that the core can read in place.
    fn reads(&self, X: &Bound<'_, PyAny>) -> bool {
        is_plain_table(X, self.tree.n_features())
    }

    /// Get the node id of each row's leaf.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray or sparse matrix of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    /// n_jobs : int or None, default=None
    ///     Number of threads. None and -1 mean all CPUs that this process may use, -2 all but one.
    ///     Sparse rows use one thread.
    ///
    /// Returns
    /// -------
    /// leaves : ndarray of shape (n_samples,)
    ///     Node ids.
    #[pyo3(signature = (X, n_jobs=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        X: RowSource<'py>,
        n_jobs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let n_jobs = parse_n_jobs(n_jobs)?;
        match X {
            RowSource::Dense(X) => with_matrix!(X, |x| {
                filled(py, [x.n_rows()], |out| {
                    without_interpreter(py, |go_on| self.tree.apply_into(out, x, n_jobs, go_on))
                })
            }),
            RowSource::Sparse(X) => Ok(owned_array(py, &self.apply_entries(py, &X)?)),
        }
    }

    /// Get the nodes on each row's path.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray or sparse matrix of shape (n_samples, n_features)
    ///     Rows in float32 or float64, in any memory order.
    ///
    /// Returns
    /// -------
    /// indicator : csr_matrix of shape (n_samples, node_count)
    ///     Entry (i, j) is 1 if row i passes node j.
    fn decision_path<'py>(&self, py: Python<'py>, X: RowSource<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (starts, nodes) = match X {
            RowSource::Dense(X) => {
                with_matrix!(X, |x| without_interpreter(py, |go_on| self.tree.decision_path_while(x, go_on)))?
            }
            RowSource::Sparse(X) => {
                let leaves = self.apply_entries(py, &X)?;
                without_interpreter(py, |_| Ok(self.paths_to(&leaves)))?
            }
        };
        let shape = (starts.len() - 1, self.tree.node_count());
        let ones = filled::<i64, 1, Ix1>(py, [nodes.len()], |out| {
            out.fill(MaybeUninit::new(1));
            Ok(())
        })?;
        let entries = (ones, nodes.into_pyarray(py), starts.into_pyarray(py));
        py.import("scipy.sparse")?.getattr("csr_matrix")?.call1((entries, shape))
    }

    /// Get the depth of each node, counted from 1 for the root, as scikit-learn does.
    ///
    /// Returns
    /// -------
    /// depths : ndarray of shape (node_count,)
    ///     The number of nodes on the path from the root to each node.
    fn compute_node_depths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let mut depths = vec![1; self.tree.node_count()];
        for node in 0..depths.len() {
            if let Some((left, right)) = self.tree.children(node) {
                depths[left] = depths[node] + 1;
                depths[right] = depths[node] + 1;
            }
        }
        owned_array(py, &depths)
    }

    /// Add the partial dependence of the first value on some features to ``out``.
    ///
    /// Parameters
    /// ----------
    /// X : ndarray of shape (n_samples, n_target_features)
    ///     Grid points in float32 or float64.
    /// target_features : ndarray of int64 of shape (n_target_features,)
    ///     The features that the columns of ``X`` fix. Splits on other features are averaged over,
    ///     with the weights of the training rows.
    /// out : ndarray of float64 of shape (n_samples,)
    ///     The expectations are added to its entries.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn compute_partial_dependence(
        &self,
        py: Python<'_>,
        X: Table<'_>,
        target_features: PyReadonlyArray1<'_, i64>,
        mut out: PyReadwriteArray1<'_, f64>,
    ) -> PyResult<()> {
        let sums = self.expectations(py, &X, &vector(&target_features))?;
        let mut out = out.as_array_mut();
        if out.len() * self.tree.n_values() != sums.len() {
            return Err(PyValueError::new_err("out: must have one entry per row of X"));
        }
        out.iter_mut().zip(sums.iter().step_by(self.tree.n_values())).for_each(|(out, sum)| *out += sum);
        Ok(())
    }

    /// Get the partial dependence of all values on some features, one row per grid point.
    #[allow(clippy::needless_pass_by_value)] // Extracted by value.
    fn _partial_dependence<'py>(
        &self,
        py: Python<'py>,
        X: Table<'py>,
        target_features: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let sums = self.expectations(py, &X, &vector(&target_features))?;
        let n_values = self.tree.n_values();
        owned_array(py, &sums).reshape([sums.len() / n_values, n_values])
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
        owned_array(py, &self.tree.feature_importances(normalize))
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
        let path = without_interpreter(py, |_| Ok(self.tree.pruning_path()))?;
        Ok((owned_array(py, &path.ccp_alphas), owned_array(py, &path.impurities)))
    }

    /// Get the tree that costs least if each leaf costs ``ccp_alpha``.
    ///
    /// Parameters
    /// ----------
    /// ccp_alpha : float
    ///     Cost per leaf, in units of the impurity; at least 0. 0 gives the whole tree.
    ///
    /// Returns
    /// -------
    /// tree : Tree
    ///     The pruned tree; this one does not change.
    fn pruned(&self, py: Python<'_>, ccp_alpha: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ccp_alpha = settings::number("ccp_alpha", ccp_alpha)?;
        without_interpreter(py, |_| self.tree.pruned(ccp_alpha)).map(Self::from)
    }

    fn __repr__(&self) -> String {
        let tree = &self.tree;
        format!(
            "<splitwood tree: {} nodes, depth {}, {} features>",
            tree.node_count(),
            tree.max_depth(),
            tree.n_features()
        )
    }

    /// Rebuild a pickled tree; everything is checked first.
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        without_interpreter(py, |_| Tree::from_bytes(bytes)).map(Self::from)
    }

    /// Pickle the bytes of the model file, which are checked when they are loaded.
    ///
    /// The first entry is the type itself: skops calls nothing else.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let tree = &slf.get().tree;
        let bytes = without_interpreter(slf.py(), |_| tree.check_all().map(|_| tree.to_bytes()))?;
        Ok((slf.get_type(), (PyBytes::new(slf.py(), &bytes),)))
    }

    /// Rebuild a tree from a pickle of an earlier version; everything is checked first.
    #[staticmethod]
    fn _from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Self::new(py, bytes)
    }

    /// Get all parts of the tree by name, for ``_from_state``.
    fn _state<'py>(slf: &Bound<'py, Self>) -> TreeState<'py> {
        let py = slf.py();
        let tree = slf.get();
        let statistics = &tree.tree.statistics;
        TreeState {
            n_features: tree.tree.n_features(),
            n_outputs: tree.tree.n_outputs(),
            n_values: tree.tree.n_values(),
            feature: tree.per_node(py, split_feature),
            threshold: tree.per_node(py, split_threshold),
            missing_go_to_left: tree.per_node(py, missing_left),
            children_right: tree.per_node(py, right_child),
            value: PyArray1::from_slice(py, &statistics.values),
            impurity: tree.per_node(py, Tree::impurity),
            n_node_samples: tree.per_node(py, n_rows),
            weighted_n_node_samples: statistics.weight.as_ref().map(|weight| PyArray1::from_slice(py, weight)),
            categories: tree.tree.categories.as_ref().map(|categories| CategoryState {
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
        Ok(tree.with_outputs(state.n_outputs)?.into())
    }
}

fn left_child(tree: &Tree, node: usize) -> i64 {
    tree.children(node).map_or(NO_CHILD, |children| children.0 as i64)
}

fn right_child(tree: &Tree, node: usize) -> i64 {
    tree.children(node).map_or(NO_CHILD, |children| children.1 as i64)
}

fn split_feature(tree: &Tree, node: usize) -> i64 {
    tree.feature(node).map_or(NO_FEATURE, |feature| feature as i64)
}

fn split_threshold(tree: &Tree, node: usize) -> f64 {
    tree.threshold(node).unwrap_or(NO_FEATURE as f64)
}

fn missing_left(tree: &Tree, node: usize) -> u8 {
    u8::from(tree.missing_go_to_left(node).unwrap_or(false))
}

fn n_rows(tree: &Tree, node: usize) -> i64 {
    tree.n_rows(node) as i64
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

pub(super) fn parse_n_jobs(n_jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i64>> {
    n_jobs.map_or(Ok(None), |given| settings::optional_integer("n_jobs", given))
}
