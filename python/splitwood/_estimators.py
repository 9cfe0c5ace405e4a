"""The estimators: scikit-learn's conventions in front of the compiled core.

This side turns what users pass into arrays that the core can read, and keeps scikit-learn's attributes.
Settings, weights and the size of targets are judged by the core alone.
"""

from __future__ import annotations

import copy
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isqrt
from numbers import Integral, Number, Real
from typing import Any, Self, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Bunch, check_array, check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _answers, _core, _storage
from ._categories import (
    CategoricalFeatures,
    Codes,
    Labels,
    codes_of,
    encode,
    find_categorical,
    find_labels,
)
from ._class_weight import ClassWeight, weigh_outputs
from ._frames import array_columns, gather, read_columns, read_frame
from ._progress import Report, shown_progress
from ._sparse import dense_parts, is_sparse, sparse_columns, sparse_rows

# What a leaf predicts: a known way, or a function of its rows' targets and weights.
LeafValue = str | Callable[[NDArray[np.float64], NDArray[np.float64]], float] | None

# What the core reads in place; everything else becomes the first of them.
_CELL_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_CHECK_X = {"dtype": list(_CELL_DTYPES), "ensure_all_finite": False}


RandomState = int | np.random.RandomState | None


class _BaseTree(MultiOutputMixin, BaseEstimator, ABC):
    """What a regression and a classification tree share; only the target differs."""

    tree_: _core.Tree
    n_features_in_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Labels | None
    # None if there are no categories.
    _codes: Codes | None = None

    def __init__(
        self,
        *,
        criterion: str,
        splitter: str,
        max_depth: int | None,
        min_samples_split: float,
        min_samples_leaf: float,
        min_weight_fraction_leaf: float,
        max_features: float | str | None,
        random_state: RandomState,
        max_leaf_nodes: int | None,
        min_impurity_decrease: float,
        ccp_alpha: float,
        monotonic_cst: ArrayLike | None,
        categorical_features: CategoricalFeatures,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _settings(self, progress: Report | None = None) -> dict[str, Any]:
        """The constructor's parameters, as the core takes them."""
        return {
            "criterion": self.criterion,
            "splitter": self.splitter,
            "max_depth": self.max_depth,
            "min_samples_split": self.min_samples_split,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "max_features": self.max_features,
            "seed": self._seed(),
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": self.min_impurity_decrease,
            "ccp_alpha": self.ccp_alpha,
            "monotonic_cst": _as_signs(self.monotonic_cst),
            "categories": self._n_categories(),
            "n_jobs": self.n_jobs,
            "progress": progress,
        }

    def _n_categories(self) -> list[int] | None:
        """Number of categories of each feature, 0 for numbers."""
        if self.categories_ is None:
            return None
        return [0 if labels is None else len(labels) for labels in self.categories_]

    def _seed(self) -> int:
        """What random choices follow from. Where nothing is chosen, the random state is left alone."""
        n_features = self.n_features_in_
        draws_features = _features_at_a_time(self.max_features, n_features) < n_features
        draws_thresholds = not (isinstance(self.splitter, str) and self.splitter == "best")
        seed = self.random_state
        if draws_features or draws_thresholds:
            return int(check_random_state(seed).randint(np.iinfo(np.int32).max))
        # To seed a generator for nothing would take longer than to fit few rows.
        if not (isinstance(seed, Integral) and 0 <= seed < 2**32):
            check_random_state(seed)
        return 0

    @abstractmethod
    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        """Encode ``y``, set the attributes that describe it, and grow the tree."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree from training rows.

        If anything is refused or interrupted, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows. float32 and float64 are read in place, each in its own precision and in any
            memory order; other dtypes are converted to float64. NaN means missing; infinite values are
            ordinary values at the ends of the order. pandas and polars data frames and pyarrow tables are
            read column by column, missing entries as NaN and names as ``feature_names_in_``. Of sparse
            matrices (CSC is read in place) only the entries are stored and sorted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets: finite numbers for a regressor, class labels for a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, not all zero. Rows of weight zero count as dropped. None means
            that all rows weigh the same.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.tree_.threshold
        array([ 2.5, -2. , -2. ])
        """
        # Everything is set on a twin whose state is taken over by one assignment at the end:
        # a failure halfway, or a thread that predicts meanwhile, finds the old model complete.
        twin = copy.copy(self)
        rows, targets = _checked_training(twin, X, y)
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        twin.n_outputs_ = 1 if targets.ndim == 1 else targets.shape[1]
        weights = _as_weights(sample_weight, len(targets))
        source = sparse_columns(rows) if is_sparse(rows) else _aligned(rows)
        with shown_progress(self.verbose, len(targets)) as progress:
            twin.tree_ = twin._grow(source, targets, weights, progress)
        self.__dict__ = twin.__dict__
        return self

    def _rows(self, X: ArrayLike) -> Any:
        """``X`` as the core reads it, checked against the data of the fit: an array or a CSR matrix."""
        # The common case skips what takes longer than predicting few rows: an array that the core reads as it
        # is, no names that it should have had, no labels. Whatever is to be refused is left to scikit-learn.
        known = self.__dict__
        tree = known.get("tree_")
        if (
            tree is not None
            and tree.reads(X)
            and "feature_names_in_" not in known
            and known.get("_codes") is None
        ):
            return cast("NDArray[Any]", X)
        check_is_fitted(self)
        rows = _checked_rows(self, X)
        return rows if is_sparse(rows) else _aligned(rows)

    def _values(self, X: ArrayLike) -> NDArray[np.float64]:
        """The numbers in the leaf of each row, those of each output side by side."""
        rows = self._rows(X)
        if not is_sparse(rows):
            return self.tree_.predict(rows, self.n_jobs)
        values = self.tree_.value
        return values.reshape(len(values), -1)[self.tree_.apply_sparse(sparse_rows(rows))]

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Node ids, as in the arrays of ``tree_``.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.apply([[0.0], [2.0], [4.0]])
        array([1, 1, 2])
        """
        rows = self._rows(X)
        if is_sparse(rows):
            return self.tree_.apply_sparse(sparse_rows(rows))
        return self.tree_.apply(rows, self.n_jobs)

    def decision_path(self, X: ArrayLike) -> csr_matrix:
        """List the nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the tree.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            Entry (i, j) is 1 if row i passes node j.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.decision_path([[0.0], [4.0]]).toarray()
        array([[1, 1, 0],
               [1, 0, 1]])
        """
        rows = self._rows(X)
        if is_sparse(rows):
            return vstack([self.decision_path(part) for part in dense_parts(rows)], format="csr")
        indptr, indices = self.tree_.decision_path(rows)
        ones = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((ones, indices, indptr), shape=(len(rows), self.tree_.node_count))

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Compute the trees that ``ccp_alpha`` can make, from the whole tree down to its root.

        A tree is grown from the given rows with this estimator's settings, and its weakest link is cut
        again and again: the node whose splits, those below included, remove least of the impurity each.
        The estimator itself does not change.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as in `fit`.
        y : array-like of shape (n_samples,)
            Targets, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as in `fit`.

        Returns
        -------
        ccp_path : Bunch
            Two arrays with an entry for each tree, the whole one first: ``ccp_alphas``, ascending from 0,
            the least ``ccp_alpha`` that makes it, and ``impurities``, the total impurity of its leaves.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor()
        >>> path = tree.cost_complexity_pruning_path([[0], [1], [2], [3]], [1.0, 1.0, 5.0, 7.0])
        >>> path.ccp_alphas
        array([0.  , 0.5 , 6.25])
        >>> path.impurities
        array([0.  , 0.5 , 6.75])
        """
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        ccp_alphas, impurities = whole.tree_.pruning_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Tell how many splits the longest path from the root to a leaf has.

        Returns
        -------
        depth : int
            Depth of the deepest leaf; the root is at depth 0.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 7.0, 9.0]).get_depth()
        2
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        n_leaves : int
            Number of nodes without children.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 7.0, 9.0]).get_n_leaves()
        3
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def max_features_(self) -> int:
        """Number of features that are looked at for each split.

        Returns
        -------
        max_features : int
            What ``max_features`` means for the features that ``fit`` saw.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(max_features="sqrt").fit([[1.0] * 10], [5.0])
        >>> tree.max_features_
        3
        """
        check_is_fitted(self, "n_features_in_")
        return _features_at_a_time(self.max_features, self.n_features_in_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the impurity that all splits remove.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            Non-negative, with a sum of 1, or all 0 if the tree is a single leaf.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[0.0, 1.0], [0.0, 2.0]], [5.0, 7.0])
        >>> tree.feature_importances_
        array([0., 1.])
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, for `splitwood.load`.

        The file holds the tree, the parameters, the labels of classes and the names of features, in
        splitwood's own format: small, checksummed, and safe to load from strangers, which a pickle is not.
        It is there as a whole or not at all: it is written under another name and then takes its place.

        A parameter that is not data, such as a callable `leaf_value`, is not stored; the leaves hold its
        values. After loading it is a string that says so, which `fit` refuses. An estimator of a class that
        is derived from this one comes back as this one.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced.

        Examples
        --------
        >>> import tempfile, pathlib, splitwood
        >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.splitwood"
        >>> tree.save(path)
        >>> splitwood.load(path).predict([[0.0], [4.0]])
        array([5., 9.])
        """
        check_is_fitted(self)
        _storage.save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Give the fitted estimator as lists, numbers and strings, for JSON and `splitwood.from_dict`.

        Floats keep every bit. See `save` for what is not stored; for large trees, a file is smaller, faster
        and checksummed.

        Returns
        -------
        data : dict
            For ``json.dumps(data, allow_nan=False)``. docs/model-format.md has the keys.

        Examples
        --------
        >>> import splitwood
        >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.to_dict()["tree"]["threshold"]
        [2.5, -2.0, -2.0]
        """
        check_is_fitted(self)
        return _storage.to_dict(self)

    def to_sklearn(self, X: ArrayLike | None = None) -> Any:
        """Make a genuine tree of scikit-learn with the same predictions.

        scikit-learn rounds ``X`` to float32. Rows in float32 get the same predictions from both trees. A cell
        in float64 that is rounded across a threshold goes the other way; a warning says how many
        thresholds that concerns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to look for such cells, for example those of the fit. None means that only the
            tree is looked at, for thresholds so close together that no float32 is in between.

        Returns
        -------
        tree : sklearn.tree.DecisionTreeRegressor or sklearn.tree.DecisionTreeClassifier
            A fitted tree with the same nodes, and the parameters that both have; those count for another
            fit only. scikit-learn has no ``criterion="quantile"``: it becomes "absolute_error". Versions
            that refuse to predict missing values for such a criterion get "squared_error".

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> type(tree.to_sklearn()).__module__
        'sklearn.tree._classes'
        >>> tree.to_sklearn().predict([[0.0], [4.0]])
        array([5., 9.])
        """
        from ._sklearn_bridge import to_sklearn

        return to_sklearn(self, X)

    def to_onnx(self, dtype: DTypeLike = np.float64) -> Any:
        """Make an ONNX model with the same predictions, for runtimes without Python.

        Needs onnx: ``pip install 'splitwood[onnx]'``. Predictions are identical to the last bit for rows of
        the given type, missing values included.

        Parameters
        ----------
        dtype : {np.float32, np.float64}, default=np.float64
            Type of the cells of the input "X".

        Returns
        -------
        model : onnx.ModelProto
            Of a regressor, it has the output "prediction" of shape (n_samples,) or (n_samples, n_outputs);
            of a classifier, "label" of shape (n_samples,) and "probabilities" of shape
            (n_samples, n_classes), or "label_0", "probabilities_0", "label_1" and so on. The operator is
            ``TreeEnsemble`` of ``ai.onnx.ml`` 5.

        Examples
        --------
        >>> import numpy as np
        >>> import onnxruntime
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> session = onnxruntime.InferenceSession(tree.to_onnx().SerializeToString())
        >>> session.run(["prediction"], {"X": np.array([[0.0], [4.0]])})
        [array([5., 9.])]
        """
        from ._onnx import to_onnx

        return to_onnx(self, dtype)

    def to_shap(self) -> dict[str, Any]:
        """Describe the tree as a model for ``shap.TreeExplainer``.

        The values that shap then gives to the features of a row add up to the row's prediction less the
        expected one; for a classifier, to its probabilities. Missing values go where the tree sends them.
        With background data, shap itself rounds thresholds and values to float32.

        Returns
        -------
        model : dict
            What ``shap.TreeExplainer`` takes as its first argument.

        Examples
        --------
        >>> import shap
        >>> from splitwood import DecisionTreeRegressor
        >>> X = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [3.0, 1.0]]
        >>> tree = DecisionTreeRegressor().fit(X, [5.0, 5.0, 9.0, 9.0])
        >>> explainer = shap.TreeExplainer(tree.to_shap())
        >>> explainer.expected_value
        array([7.])
        >>> explainer(np.array([[3.0, 1.0]])).values
        array([[2., 0.]])
        """
        from ._shap import to_shap

        return to_shap(self)

    def _fitted_html(self) -> str:
        from ._html import fitted_html

        return fitted_html(self) if hasattr(self, "tree_") else ""

    # Notebooks ask for the bundle, others for the HTML alone; both are scikit-learn's, with ours below.
    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return diagram + self._fitted_html()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class DecisionTreeRegressor(RegressorMixin, _BaseTree):
    """A regression tree that minimises the squared error or another loss, greedily and exactly.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What a split is to minimise, and with it what a leaf predicts. "squared_error" is for means;
        "absolute_error" for medians, which a few wild targets can't move; "quantile" for the quantile of
        level `quantile`, by the pinball loss, which at level 0.5 is half the absolute error. "poisson"
        is half the Poisson deviance, for counts and rates: no target may be negative, and no leaf has
        targets that are all zero. "friedman_mse", which scikit-learn deprecates, is another name of
        "squared_error" and gives a warning.
    splitter : {"best", "random"}, default="best"
        How a feature's threshold is chosen: the best of all, or one drawn between the least and the greatest
        value of the node. The best of the features' splits is made.
    max_depth : int, default=None
        Deepest level of a leaf; the root is at depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Smallest node that may be split: a number of rows, or a fraction of the training rows.
    min_samples_leaf : int or float, default=1
        Smallest number of rows on either side of a split, or a fraction of the training rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight on either side of a split.
    max_features : int, float or {"sqrt", "log2"}, default=None
        How many features, drawn anew for each split, are looked at: a number, a share of all, their square
        root or their logarithm. If all that were drawn are constant, more are drawn until one is not. None
        means all.
    random_state : int, RandomState instance, default=None
        What random choices follow from. The model is the same for every `n_jobs`. With all features and
        the best splits, nothing is random.
    max_leaf_nodes : int, default=None
        Most leaves: those splits are made that remove most of the impurity, the first to come up among
        equal ones. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total weight,
        by at least this much.
    ccp_alpha : float, default=0.0
        What a leaf costs, in units of the impurity: the grown tree is pruned to the smallest one whose
        impurity and cost together are least. 0 means no pruning. `cost_complexity_pruning_path` lists the
        values at which the tree changes.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        How predictions must change with each feature while the others stay: 1 never down, -1 never up, 0
        freely. For one output; missing values are allowed.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        Which features have categories instead of numbers: a mask, places or names of features, or those that
        the data frame calls categories (pandas' ``category``, polars' ``Categorical`` and ``Enum``, Arrow's
        dictionaries). A label is any number, string or other hashable value. A split sends a set of them
        left, the best of all sets but for those that are too small for `min_samples_leaf`. Missing labels go
        where that lowers the loss, and labels that the fit did not see go where missing ones go. For
        "squared_error" and "poisson", one output and ``splitter="best"``.
    quantile : float, default=0.5
        Level of the quantile, strictly between 0 and 1, for ``criterion="quantile"``.
    leaf_value : {"mean", "median"} or callable, default=None
        What a leaf predicts. None means what the criterion makes of its rows: mean, median or quantile.
        "median" is the weighted median, halfway between two targets where just half of the weight is
        below. A callable gets the targets and the weights (ones, if there are none) of a leaf's rows as
        arrays, returns a number, and is called once for each leaf, after the tree was grown and pruned;
        what it raises reaches the caller. The splits don't change, nor do inner nodes: their
        ``tree_.value`` stays the criterion's own.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all the CPUs that this process may use, -2 all but one.
        The model is the same for every value.
    verbose : int, default=0
        1 shows how far a long fit is: a bar, if tqdm is installed, or else a line. 0 shows nothing.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as arrays, with the names and conventions of scikit-learn's ``tree_``.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``fit`` saw a data frame whose column names are all strings.
    n_outputs_ : int
        Number of targets.
    max_features_ : int
        Number of features that were looked at for each split.
    is_categorical_ : ndarray of bool of shape (n_features_in_,) or None
        Which features have categories; None if none has.
    categories_ : list or None
        The labels of each feature with categories, in the order of their codes; None for features without, or
        instead of the list if none has categories.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the impurity that all splits remove.

    See Also
    --------
    DecisionTreeClassifier : The same for class labels.

    Notes
    -----
    Where several splits are equally good, the lowest feature wins, then the lowest threshold. A missing
    value goes to the side where it lowered the loss in training; if the training rows of a node had none,
    it goes to the child with more weight.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10)
    >>> bool(cross_val_score(tree, X, y).mean() > 0.3)
    True
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        quantile: float = 0.5,
        leaf_value: LeafValue = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.quantile = quantile
        self.leaf_value = leaf_value

    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        settings = self._settings(progress) | {
            "quantile": self.quantile,
            "leaf_value": self.leaf_value,
        }
        if isinstance(self.criterion, str) and self.criterion == "friedman_mse":
            warnings.warn(
                'criterion: "friedman_mse" is deprecated, as in scikit-learn; "squared_error", which '
                "always chose the same splits, is used. Pass that to silence this warning.",
                FutureWarning,
                stacklevel=3,
            )
            settings["criterion"] = "squared_error"
        return _core.fit_regressor(X, _as_numbers(y), sample_weight, settings)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the mean of each row's leaf, or its median or quantile.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets.

        Examples
        --------
        >>> from splitwood import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [5.0, 5.0, 9.0])
        >>> tree.predict([[0.0], [2.0], [4.0]])
        array([5., 5., 9.])
        """
        return _answers.numbers(self._values(X))


class DecisionTreeClassifier(ClassifierMixin, _BaseTree):
    """A classification tree that minimises the Gini impurity or the entropy, greedily and exactly.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split is to minimise. "entropy" and "log_loss" are the same.
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features
    random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha, n_jobs, verbose
        As in `DecisionTreeRegressor`.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes, by which those of the rows are multiplied, as ``{label: weight}``, for
        several outputs a list of such; a class that is not mentioned weighs 1. "balanced" gives all classes
        the same total: ``n_samples / (n_classes * np.bincount(y))``. None means that all classes weigh 1.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        As in `DecisionTreeRegressor`, for the share of the second of two classes.
    categorical_features : array-like of bool, int or str, or "from_dtype", default=None
        As in `DecisionTreeRegressor`, for one output of two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The class labels, sorted; of several outputs a list of them.
    n_classes_ : int or ndarray of int
        Number of classes; of several outputs an array.
    tree_, n_features_in_, feature_names_in_, n_outputs_, max_features_, is_categorical_, categories_
    feature_importances_
        As in `DecisionTreeRegressor`.

    See Also
    --------
    DecisionTreeRegressor : The same for real targets, with all the parameters explained.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from splitwood import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(criterion="entropy", max_depth=4)
    >>> bool(cross_val_score(tree, X, y).mean() > 0.9)
    True
    """

    # Of several outputs, a list of such and an array.
    classes_: Any
    n_classes_: Any

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: RandomState = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: ClassWeight = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _grow(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        progress: Report | None,
    ) -> _core.Tree:
        check_classification_targets(y)
        columns = [y] if y.ndim == 1 else list(y.T)
        encoded = [np.unique(column, return_inverse=True) for column in columns]
        classes = [labels for labels, _ in encoded]
        codes = [codes.astype(np.int64, copy=False) for _, codes in encoded]
        weights = weigh_outputs(self.class_weight, classes, codes, sample_weight)
        n_classes = max(map(len, classes))
        if y.ndim == 1:
            (self.classes_,), self.n_classes_ = classes, n_classes
            return _core.fit_classifier(X, codes[0], n_classes, weights, self._settings(progress))
        self.classes_, self.n_classes_ = classes, np.array([*map(len, classes)])
        return _core.fit_classifier(
            X, np.stack(codes, axis=1), n_classes, weights, self._settings(progress)
        )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the largest share of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of equal shares, the first class in ``classes_`` wins.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> tree.predict([[0.0], [4.0]])
        array(['no', 'yes'], dtype='<U3')
        """
        rows = self._rows(X)
        if self.n_outputs_ > 1 or is_sparse(rows):
            return _answers.likeliest(self.classes_, self.predict_proba(X))
        return _answers.labels(self.tree_, self.classes_, rows, self.n_jobs)

    def predict_proba(self, X: ArrayLike) -> Any:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            Share of each class in the weight of the row's leaf, in the order of ``classes_``; of several
            outputs a list of them.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=1)
        >>> tree = tree.fit([[1.0], [2.0], [3.0], [3.0]], ["no", "no", "no", "yes"])
        >>> tree.predict_proba([[0.0], [4.0]])
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        return _answers.shares(self._values(X), self.n_classes_)

    def predict_log_proba(self, X: ArrayLike) -> Any:
        """Predict the logarithm of each class's share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes) or list of ndarray
            Natural logarithm of ``predict_proba(X)``; ``-inf`` for classes that a leaf does not have.

        Examples
        --------
        >>> from splitwood import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> tree.predict_log_proba([[0.0]])
        array([[  0., -inf]])
        """
        return _answers.logarithm(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _checked_training(
    estimator: _BaseTree, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """``X`` and ``y`` as arrays; the estimator learns the number, names and categories of the features."""
    estimator.is_categorical_ = estimator.categories_ = estimator._codes = None
    if estimator.categorical_features is not None:
        return _checked_categories(estimator, X, y)
    # The common case skips scikit-learn's validation, a good part of the time that few rows take. Whatever it
    # would convert, refuse or warn about takes the long way.
    if _is_plain_table(X) and _is_plain_vector(y) and len(X) == len(y):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X, y
    cells = read_frame(X)
    if cells is None:
        rows, targets = validate_data(
            estimator, X, y, accept_sparse="csc", multi_output=True, **_CHECK_X
        )
    else:
        validate_data(estimator, X, y, skip_check_array=True)
        rows, targets = check_X_y(cells, y, multi_output=True, estimator=estimator, **_CHECK_X)
    return rows, targets


def _checked_categories(
    estimator: _BaseTree, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """As `_checked_training`, with labels of categories as codes."""
    columns = read_columns(X)
    if columns is None:
        X, y = validate_data(estimator, X, y, multi_output=True, **_check_labels(X))
        columns = array_columns(cast("NDArray[Any]", X))
    else:
        validate_data(estimator, X, y, skip_check_array=True)
    names = getattr(estimator, "feature_names_in_", None)
    mask = find_categorical(estimator.categorical_features, columns, names)
    if mask.any():
        pairs = list(zip(columns, mask, strict=True))
        estimator.is_categorical_ = mask
        estimator.categories_ = [find_labels(column) if has else None for column, has in pairs]
        estimator._codes = [
            None if labels is None else codes_of(labels) for labels in estimator.categories_
        ]
        columns = encode(columns, estimator._codes)
    cells = gather(len(cast("Any", X)), columns)
    rows, targets = check_X_y(cells, y, multi_output=True, estimator=estimator, **_CHECK_X)
    return rows, targets


def _checked_rows(estimator: _BaseTree, X: ArrayLike) -> NDArray[Any]:
    """``X`` as an array, with the number and the names of the features that the estimator knows."""
    if estimator._codes is not None:
        columns = read_columns(X)
        if columns is None:
            X = validate_data(estimator, X, reset=False, **_check_labels(X))
            columns = array_columns(cast("NDArray[Any]", X))
        else:
            validate_data(estimator, X, reset=False, skip_check_array=True)
        cells = gather(len(cast("Any", X)), encode(columns, estimator._codes))
        rows: NDArray[Any] = check_array(cells, estimator=estimator, input_name="X", **_CHECK_X)
        return rows
    frame = read_frame(X)
    if frame is None:
        rows = validate_data(estimator, X, reset=False, accept_sparse="csr", **_CHECK_X)
        return rows
    validate_data(estimator, X, reset=False, skip_check_array=True)
    rows = check_array(frame, estimator=estimator, input_name="X", **_CHECK_X)
    return rows


def _check_labels(X: ArrayLike) -> dict[str, Any]:
    """How scikit-learn is to validate an array some of whose columns are labels: numbers or objects."""
    if is_sparse(X):
        raise ValueError(
            "categorical_features: categories in sparse X are not supported; pass X.toarray()"
        )
    is_numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    return {"dtype": None if is_numeric else object, "ensure_all_finite": False}


def _is_plain_table(X: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether the core reads ``X`` in place."""
    return type(X) is np.ndarray and X.dtype in _CELL_DTYPES and X.ndim == 2 and X.size > 0


def _is_plain_vector(y: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether ``y`` is a vector of finite real numbers."""
    return (
        type(y) is np.ndarray
        and y.dtype.kind in "iuf"
        and y.ndim == 1
        and bool(np.isfinite(y).all())
    )


def _aligned(X: NDArray[Any]) -> NDArray[Any]:
    """``X`` itself, unless its cells lie across word boundaries, as in packed records."""
    return X if X.flags.aligned else X.copy()


def _as_numbers(y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets of a regression; numpy would parse strings such as ``"1.5"`` without a word."""
    if y.dtype.kind in "OSU" and any(isinstance(value, str | bytes) for value in y.flat):
        raise ValueError("y: a regressor needs numbers, got strings")
    return np.require(y, np.float64, ["C", "A"])


def _features_at_a_time(max_features: Any, n_features: int) -> int:
    """How many features are looked at for each split. What is no such number, the core refuses."""
    match max_features:
        case "sqrt":
            return max(1, isqrt(n_features))
        case "log2":
            return max(1, n_features.bit_length() - 1)
        case Integral():
            return int(max_features)
        case Real() if 0.0 < float(max_features) <= 1.0:
            return max(1, int(float(max_features) * n_features))
    return n_features


def _as_signs(monotonic_cst: ArrayLike | None) -> list[int] | None:
    """A sign for each feature. The core judges how many there are."""
    if monotonic_cst is None:
        return None
    signs = np.asarray(monotonic_cst)
    if signs.ndim != 1 or not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst: must be a sequence of -1, 0 or 1 for each feature, got {monotonic_cst!r}"
        )
    return [int(sign) for sign in signs]


def _as_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
    """Weights as a vector. The core judges their length and their values."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        return np.full(n_samples, sample_weight, dtype=np.float64)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="sample_weight",
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight: must have one dimension, got shape {weights.shape}")
    return np.require(weights, np.float64, ["C", "A"])
