"""The compiled core: trees grown from numpy arrays.

Arrays of ``X`` may be float32 or float64 in any memory order; they are read in place.
"""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tree", "__version__", "available_threads", "fit_classifier", "fit_regressor"]

__version__: str

def available_threads() -> int:
    """Number of CPUs this process may use (affinity, quota and environment respected)."""

def fit_regressor(
    X: NDArray[np.float32] | NDArray[np.float64],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
    *,
    criterion: str,
    max_depth: int | None,
    min_samples_split: float,
    min_samples_leaf: float,
    min_weight_fraction_leaf: float,
    min_impurity_decrease: float,
    n_jobs: int | None,
) -> Tree:
    """Grow a regression tree."""

def fit_classifier(
    X: NDArray[np.float32] | NDArray[np.float64],
    y: NDArray[np.int64],
    n_classes: int,
    sample_weight: NDArray[np.float64] | None = None,
    *,
    criterion: str,
    max_depth: int | None,
    min_samples_split: float,
    min_samples_leaf: float,
    min_weight_fraction_leaf: float,
    min_impurity_decrease: float,
    n_jobs: int | None,
) -> Tree:
    """Grow a classification tree from class codes ``0 .. n_classes - 1``."""

@final
class Tree:
    """A fitted tree as arrays, node by node in depth-first order, as in scikit-learn.

    Node 0 is the root; the left child of an inner node follows it directly. Leaves have
    ``children_left == children_right == -1`` and ``feature == threshold == -2``.
    """

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
    def predict(
        self, X: NDArray[np.float32] | NDArray[np.float64], n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Value of the leaf of each row, of shape ``(n_samples, max_n_classes)``."""

    def predict_class(
        self, X: NDArray[np.float32] | NDArray[np.float64], n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Column of the largest value of the leaf of each row, the first of equal ones."""

    def reads(self, X: object) -> bool:
        """Whether ``X`` is a plain array that can be predicted as it is."""

    def apply(
        self, X: NDArray[np.float32] | NDArray[np.float64], n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Node id of the leaf of each row."""

    def decision_path(
        self, X: NDArray[np.float32] | NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Nodes that each row passes, as ``(indptr, indices)`` of a CSR matrix."""

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Total loss removed by the splits on each feature, scaled to a sum of one by default."""

    def __reduce__(self) -> tuple[Any, ...]: ...
