"""The compiled core, which grows trees from numpy arrays.

Arrays ``X`` may be float32 or float64 in any memory order; they are read in place.
"""

import os
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ._tree_state import TreeState

__all__ = [
    "ColumnWorker",
    "Driver",
    "Forest",
    "ForestOrder",
    "LeafTargets",
    "RunningMedian",
    "Tree",
    "__version__",
    "_panic",
    "available_threads",
    "bag_counts",
    "check_leaf_rows",
    "fit_classifier",
    "fit_forest_classifier",
    "fit_forest_regressor",
    "fit_regressor",
    "grouped_quantiles",
    "read_model",
    "running_median",
    "set_values_of_leaves",
    "write_model",
]

__version__: str

def _panic() -> None:
    """Panic in a thread of the core, to test what users see of a bug."""

def available_threads() -> int:
    """Get the number of CPUs that affinity, quota and environment allow this process to use."""

# An array; or the columns of a sparse matrix: number of rows, indptr, indices and data.
_Cells = NDArray[np.float32] | NDArray[np.float64]
# How many rows each node keeps, these rows, and the targets of all training rows.
_LeafRows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
_Entries = tuple[int, NDArray[np.int64], NDArray[np.int32], _Cells]

def fit_regressor(
    X: _Cells | _Entries,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    settings: dict[str, Any],
) -> Tree:
    """Grow a regression tree."""

def fit_classifier(
    X: _Cells | _Entries,
    y: NDArray[np.int64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    settings: dict[str, Any],
) -> Tree:
    """Grow a classification tree from class codes ``0 .. n_classes - 1``."""

def set_values_of_leaves(
    tree: Tree,
    leaves: NDArray[np.int64],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    settings: dict[str, Any],
) -> Tree:
    """Set the values of a regression tree's leaves from the targets and leaves of its rows."""

# For each row: values summed over the trees that did not see it, and the number of these trees.
_OutOfBag = tuple[NDArray[np.float64], NDArray[np.uint32]]

def fit_forest_regressor(
    X: _Cells | _Entries,
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    settings: dict[str, Any],
) -> tuple[Forest, _OutOfBag | None]:
    """Grow a forest of regression trees."""

def fit_forest_classifier(
    X: _Cells | _Entries,
    y: NDArray[np.int64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None,
    settings: dict[str, Any],
) -> tuple[Forest, _OutOfBag | None]:
    """Grow a forest of classification trees from class codes ``0 .. n_classes - 1``."""

@final
class ForestOrder:
    """The sorted columns and targets of a forest's data, which fits to the same data share."""

    def __new__(
        cls,
        X: _Cells,
        y: NDArray[np.float64] | NDArray[np.int64],
        n_classes: int | None,
        settings: dict[str, Any],
    ) -> ForestOrder:
        """Sort the data; without ``n_classes`` it is a regression."""

def bag_counts(
    seed: int, n_rows: int, n_draws: int, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.uint32]:
    """Draw the bag of the tree with this seed: how often each row was drawn."""

def running_median(
    y: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None, quantile: float = 0.5
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Get the median of every prefix and the loss around it."""

def grouped_quantiles(
    indptr: NDArray[np.int64],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    quantile: float,
) -> NDArray[np.float64]:
    """Get the quantile of each group of values, which must ascend within their group."""

def check_leaf_rows(forest: Forest, leaf_rows: _LeafRows) -> None:
    """Check that these are rows in the leaves of a forest."""

def write_model(
    path: str | os.PathLike[str],
    tree: Tree | Forest,
    classes: list[list[Any]] | None,
    feature_names: list[str] | None,
    parameters: str,
    leaf_rows: _LeafRows | None = None,
) -> None:
    """Write a model file; without ``classes`` it is a regression.

    A quantile forest has ``leaf_rows``.
    """

def read_model(
    path: str | os.PathLike[str],
) -> tuple[Tree | Forest, list[list[Any]] | None, list[str] | None, str | None, _LeafRows | None]:
    """Get the parts of a model file, after checking it.

    These are the tree or forest, classes, feature names, parameters and, of a quantile forest, the
    rows in the leaves.
    """

@final
class RunningMedian:
    """The median, or another quantile, of values that come and go."""

    def __new__(cls, quantile: float = 0.5) -> RunningMedian: ...
    def push(self, value: float, weight: float = 1.0) -> None:
        """Add a value."""

    def remove(self, value: float, weight: float = 1.0) -> None:
        """Remove a value that was added with this weight."""

    @property
    def median(self) -> float: ...
    @property
    def small_median(self) -> float: ...
    @property
    def large_median(self) -> float: ...
    @property
    def absolute_error(self) -> float: ...
    @property
    def quantile(self) -> float: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> RunningMedian: ...

@final
class Forest:
    """A forest of trees, which it shares with others that were made of the same trees."""

    def __new__(cls, bytes: bytes) -> Forest: ...
    @staticmethod
    def of_trees(trees: list[Tree]) -> Forest:
        """Join trees that agree in their numbers of features, outputs and values."""

    @staticmethod
    def concat(forests: list[Forest]) -> Forest:
        """Join the trees of several forests."""

    def slice(self, start: int, stop: int) -> Forest:
        """Get a forest of the trees ``start`` to ``stop - 1``."""

    def __len__(self) -> int: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_values(self) -> int: ...
    @property
    def max_n_classes(self) -> int: ...
    @property
    def node_counts(self) -> NDArray[np.int64]: ...
    @property
    def max_depths(self) -> NDArray[np.int64]: ...
    @property
    def n_leaves(self) -> NDArray[np.int64]: ...
    def tree(self, number: int) -> Tree:
        """Get one tree. It shares the memory of the forest."""

    def reads(self, X: Any) -> bool:
        """Whether ``X`` is an array that the core can read in place."""

    def predict(self, X: _Cells | csr_matrix, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Get the mean of the trees' values for each row."""

    def predict_class(self, X: _Cells, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Get the column of the largest mean value of each row; of equal ones, the first."""

    def predict_median(self, X: _Cells, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Get the median of the trees' values for each row."""

    def apply(self, X: _Cells | csr_matrix, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Get the node id of each row's leaf in each tree."""

    def feature_importances(self, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Get the importances of the features: the mean over the trees, with a sum of one."""

@final
class LeafTargets:
    """The targets of the training rows in each leaf of a forest."""

    def __new__(
        cls,
        forest: Forest,
        targets: NDArray[np.float64],
        starts: NDArray[np.uint32],
        ranks: NDArray[np.uint32],
    ) -> LeafTargets: ...
    @staticmethod
    def of_training(
        forest: Forest,
        X: _Cells | _Entries,
        y: NDArray[np.float64],
        seeds: NDArray[np.uint64],
        n_draws: int | None,
        bags: NDArray[np.uint32] | None,
        sample_weight: NDArray[np.float64] | None,
        n_jobs: int | None = None,
    ) -> LeafTargets:
        """Find the leaves of the training rows of a forest."""

    def quantiles(
        self,
        X: _Cells,
        quantiles: list[float],
        interpolation: str,
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Get quantiles of the targets in the leaves of each row."""

    def count(
        self,
        X: _Cells,
        y: NDArray[np.float64],
        mask: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.int64]:
        """Count the targets in the leaves of each row: below its ``y``, equal to it, and all."""

    def parts(self) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Get the parts: all targets in ascending order, and the starts and ranks of all trees."""

@final
class Tree:
    """A fitted tree as arrays with one entry per node in depth-first order, as in scikit-learn.

    Node 0 is the root; the left child of an inner node follows it directly. Leaves have
    ``children_left == children_right == -1`` and ``feature == threshold == -2``. The arrays are
    read-only.
    """

    def __new__(cls, bytes: bytes) -> Tree: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_classes(self) -> NDArray[np.int64]: ...
    @property
    def max_n_classes(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def children_left(self) -> NDArray[np.int64]: ...
    @property
    def children_right(self) -> NDArray[np.int64]: ...
    @property
    def feature(self) -> NDArray[np.int64]: ...
    @property
    def threshold(self) -> NDArray[np.float64]: ...
    @property
    def value(self) -> NDArray[np.float64]: ...
    @property
    def impurity(self) -> NDArray[np.float64]: ...
    @property
    def n_node_samples(self) -> NDArray[np.int64]: ...
    @property
    def weighted_n_node_samples(self) -> NDArray[np.float64]: ...
    @property
    def missing_go_to_left(self) -> NDArray[np.uint8]: ...
    def predict(self, X: _Cells | csr_matrix, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Get the values of each row's leaf: ``(n_samples, n_outputs * max_n_classes)``."""

    def predict_class(self, X: _Cells, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Get the column of the largest value of each row's leaf; of equal ones, the first."""

    def reads(self, X: object) -> bool:
        """Whether ``X`` is an array that the core can read in place."""

    def apply(self, X: _Cells | csr_matrix, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Get the node id of each row's leaf."""

    def categories_left(self, node: int) -> list[int] | None:
        """Get the codes of the categories that go left; None if a threshold splits the node."""

    def decision_path(self, X: _Cells | csr_matrix) -> csr_matrix:
        """Get the nodes on each row's path: entry (i, j) is 1 if row i passes node j."""

    def compute_node_depths(self) -> NDArray[np.int64]:
        """Get the depth of each node, counted from 1 for the root, as scikit-learn does."""

    def compute_partial_dependence(
        self, X: _Cells, target_features: NDArray[np.int64], out: NDArray[np.float64]
    ) -> None:
        """Add the partial dependence of the first value on some features to ``out``."""

    def _partial_dependence(
        self, X: _Cells, target_features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Get the partial dependence of all values on some features, one row per grid point."""

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Get the loss that the splits on each feature remove, by default scaled to a sum of 1."""

    def pruning_path(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Get the costs per leaf at which the pruned tree changes, and the losses of the trees."""

    def pruned(self, ccp_alpha: float) -> Tree:
        """Get the tree that costs least if each leaf costs ``ccp_alpha``."""

    def __reduce__(self) -> tuple[Any, ...]: ...
    def _state(self) -> TreeState:
        """Get all parts of the tree by name."""

    @staticmethod
    def _from_bytes(bytes: bytes) -> Tree:
        """Rebuild a tree from a pickle of an earlier version; everything is checked first."""

    @staticmethod
    def _from_state(state: TreeState) -> Tree:
        """Rebuild a tree from its parts; everything is checked first."""

@final
class ColumnWorker:
    """A worker of a fit on several machines: some features of all rows, and all targets."""

    def __new__(
        cls,
        X: _Cells,
        features: list[int],
        n_features: int,
        y: NDArray[np.float64] | NDArray[np.int64],
        n_classes: int | None,
        sample_weight: NDArray[np.float64] | None,
        settings: dict[str, Any],
    ) -> ColumnWorker:
        """Sort the features; without ``n_classes`` it is a regression."""

    def has_missing(self) -> list[bool]:
        """Tell, for each feature of this worker, whether any row has no value."""

    def root(self, has_missing: list[bool]) -> bytes:
        """Describe the root; ``has_missing`` is that of all features."""

    def search(self) -> bytes:
        """Search the open nodes."""

    def divide(self, decisions: bytes) -> tuple[bytes, bytes]:
        """Divide the nodes that features of this worker have won."""

    def apply(self, splits: bytes, sides: list[bytes]) -> None:
        """Split the open nodes by the sides that each worker has noted."""

    def extract(self, plan: bytes, own: int) -> list[bytes]:
        """Take small nodes off the level: a parcel for each worker."""

    def finish(self, parcels: list[bytes]) -> bytes:
        """Grow this worker's small nodes from the parcels of all workers."""

    @staticmethod
    def memory(
        n_rows: int, n_features: int, settings: dict[str, Any], is_weighted: bool, threads: int
    ) -> int:
        """Estimate the bytes that a worker needs beside its cells, targets and weights."""

@final
class Driver:
    """Decides the splits of a fit on several machines, and assembles its tree."""

    def __new__(
        cls, features_of_workers: list[list[int]], n_features: int, settings: dict[str, Any]
    ) -> Driver:
        """Begin a fit whose workers have these features."""

    def begin(self, root: bytes) -> None:
        """Take a worker's description of the root."""

    def is_done(self) -> bool:
        """Tell whether all nodes are grown."""

    def progress(self) -> list[int]:
        """Count the nodes that are searched, the small ones that wait, and all of the top."""

    def decide(self, findings: list[bytes]) -> list[bytes]:
        """Decide the splits: a message for each worker."""

    def winners(self) -> list[int]:
        """List the workers that have nodes to divide."""

    def hand_over(self) -> bytes | None:
        """Say which small nodes are handed over now, and to which workers; None to wait."""

    def finished(self, pieces: bytes) -> None:
        """Take the subtrees that a worker has grown."""

    def divided(self, divisions: list[bytes]) -> bytes:
        """Take the divisions of all workers: the message to all workers."""

    def tree(self) -> Tree:
        """Get the tree, when all nodes are grown."""
