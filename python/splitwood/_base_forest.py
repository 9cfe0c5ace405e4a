"""The methods that regression and classification forests share, by scikit-learn's conventions.

The core draws the bags, grows the trees and predicts; the trees become estimators when a user asks
for them.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Bunch, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arguments import check_count
from ._bags import Bags, Counts, OwnBags, counts_of_trees, number_of_draws, own_counts
from ._base import BaseModel, MaxFeatures, RandomState, Splitter
from ._base_tree import BaseTree
from ._categories import CategoricalFeatures
from ._importances import unbiased_importances
from ._mlflow import warn_of_autolog
from ._out_of_bag import OutOfBag, out_of_bag_sums, permuted_scores
from ._progress import shown_trees
from ._proximities import proximities
from ._sklearn_inputs import as_weights, checked_training, core_columns
from ._sparse import is_sparse

# A function of the true and the predicted targets.
OobScore = bool | Callable[[NDArray[Any], NDArray[Any]], float]
ImportanceType = Literal["impurity", "unbiased"]

# What a fit sets beside the forest. Another fit starts without it.
_RESULTS = ("oob_score_", "oob_prediction_", "oob_decision_function_", "_residuals", "_unbiased")


class Targets(NamedTuple):
    """The targets of a fit as the core reads them."""

    # Numbers or class codes, with a column per output if there are several.
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    # The largest number of classes of an output; None for numbers.
    n_classes: int | None
    # Whether each bag weighs its classes by their shares in the bag.
    balance_bags: bool


class BaseForest(BaseModel):
    """The part of a forest that does not depend on the kind of its targets."""

    forest_: _core.Forest
    _fitted = "forest_"
    # The class of the trees, and how their thresholds are chosen.
    _tree_class: ClassVar[type[BaseTree]]
    _splitter: ClassVar[Splitter]
    # One entry per fit that has added trees; empty if the forest was not grown here.
    _bags: list[Bags]
    # The trees as estimators, once they were asked for.
    _trees: list[Any] | None = None
    _unbiased: NDArray[np.float64] | None = None

    def __init__(
        self,
        n_estimators: int,
        *,
        criterion: str,
        max_depth: int | None,
        min_samples_split: float,
        min_samples_leaf: float,
        min_weight_fraction_leaf: float,
        max_features: MaxFeatures,
        max_leaf_nodes: int | None,
        min_impurity_decrease: float,
        bootstrap: bool,
        oob_score: OobScore,
        n_jobs: int | None,
        random_state: RandomState,
        verbose: int,
        warm_start: bool,
        ccp_alpha: float,
        max_samples: float | None,
        monotonic_cst: ArrayLike | None,
        categorical_features: CategoricalFeatures,
        importance_type: ImportanceType,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.importance_type = importance_type

    # ---- fit -------------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        bags: OwnBags = None,
    ) -> Self:
        """Grow the trees from training rows.

        If the fit fails or is interrupted, the estimator does not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows. float32 and float64 are read in place, each in its own precision and in
            any memory order; other dtypes are converted to float64. NaN means missing; infinite
            values are ordinary values at the ends of the order. pandas and polars data frames and
            pyarrow tables are read column by column: missing entries become NaN, and the column
            names become ``feature_names_in_``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets: finite numbers for a regressor, class labels for a classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, not all zero. If rows are drawn for each tree, they are drawn
            with probabilities in proportion to the weights, and the trees only see how often each
            row was drawn. Otherwise, the trees see the weights. None gives all rows the same
            weight.
        bags : array-like of shape (n_samples, n_estimators) or callable, default=None
            Bags of your own, which replace the draws of `bootstrap`: how often each row counts in
            each tree. A callable gets a ``numpy.random.Generator`` and returns the counts of one
            tree, an array of shape (n_samples,). Rows with count 0 are out of the tree's bag. With
            ``warm_start=True``, an array has columns for the new trees only.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from splitwood import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
        >>> len(forest.estimators_)
        20

        Each tree sees half of the rows, drawn without replacement:

        >>> def half(rng):
        ...     return rng.permutation(len(y)) < len(y) // 2
        >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y, bags=half)
        >>> len(forest.estimators_samples_[0])
        221
        """
        warn_of_autolog()
        self._check_parameters()
        if is_sparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        # All attributes are set on a twin, whose state replaces this estimator's at the end.
        twin = copy.copy(self)
        rows, targets = checked_training(twin, X, y)
        twin._x_dtype = rows.dtype.name
        if targets.ndim == 2 and targets.shape[1] == 1:
            warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=2,
            )
            targets = targets[:, 0]
        twin.n_outputs_ = 1 if targets.ndim == 1 else targets.shape[1]
        encoded = twin._encode(targets, as_weights(sample_weight, len(targets)))
        twin._grow_forest(rows, encoded, bags, self._forest_to_extend(twin))
        self.__dict__ = twin.__dict__
        return self

    def _check_parameters(self) -> None:
        """Check the parameters that concern the forest; the core checks those of the trees."""
        check_count("n_estimators", self.n_estimators, 1)
        for name in ("bootstrap", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name}: must be True or False, got {getattr(self, name)!r}")
        if not (isinstance(self.oob_score, bool | np.bool_) or callable(self.oob_score)):
            raise ValueError(
                f"oob_score: must be True, False or a function, got {self.oob_score!r}"
            )
        if self.importance_type not in ("impurity", "unbiased"):
            raise ValueError(
                f'importance_type: must be "impurity" or "unbiased", got {self.importance_type!r}'
            )

    @abstractmethod
    def _encode(self, y: NDArray[Any], weights: NDArray[np.float64] | None) -> Targets:
        """Check and encode targets, and set the attributes that describe them."""

    def _forest_to_extend(self, twin: Self) -> _core.Forest | None:
        """Get the forest to which a warm start adds trees."""
        known: _core.Forest | None = self.__dict__.get("forest_")
        if not self.warm_start or known is None:
            return None
        if self.n_estimators < known.n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={known.n_trees} when warm_start==True"
            )
        self._check_can_join(twin, "warm_start")
        return known

    def _check_can_join(self, other: BaseForest, purpose: str) -> None:
        """Check that the trees of two forests fit into one forest."""
        for name in ("n_features_in_", "n_outputs_", "feature_names_in_", "classes_"):
            if not _same(getattr(self, name, None), getattr(other, name, None)):
                raise ValueError(f"{purpose}: the forests differ in {name}")
        if self._codes != other._codes:
            raise ValueError(f"{purpose}: the forests differ in the labels of their categories")

    def _grow_forest(
        self, rows: Any, targets: Targets, own: OwnBags, earlier: _core.Forest | None
    ) -> None:
        """Grow the missing trees, join them with the earlier ones, and set the results."""
        n_earlier = 0 if earlier is None else earlier.n_trees
        bags = self._new_bags(len(targets.y), targets.weights, own, n_earlier)
        wants_oob = self._check_out_of_bag(bags, targets)
        if len(bags.seeds) == 0:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
                stacklevel=3,
            )
            self.forest_, found = earlier, None  # type: ignore[assignment]
        else:
            found = self._grow(core_columns(rows), targets, bags, wants_oob)
            if earlier is None:
                self._bags = [bags]
            else:
                self.forest_ = _core.Forest.concat([earlier, self.forest_])
                self._bags = [*self._bags, bags]
        self._trees = None
        if len(bags.seeds) > 0 or "oob_score_" not in self.__dict__:
            self._set_results(rows, targets, found if earlier is None else None, wants_oob)

    def _new_bags(
        self,
        n_rows: int,
        weights: NDArray[np.float64] | None,
        own: OwnBags,
        n_earlier: int,
    ) -> Bags:
        """Draw the seeds of the new trees, and say how their rows are drawn."""
        random = check_random_state(self.random_state)
        # The seeds are those that the trees would have without a warm start.
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_estimators)
        seeds = seeds[n_earlier:].astype(np.uint64)
        counts = own_counts(own, n_rows, seeds)
        draws = self.bootstrap and counts is None
        if not draws and self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        n_draws = number_of_draws(self.max_samples, n_rows, weights) if draws else None
        return Bags(n_rows, seeds, n_draws, weights if draws else None, counts)

    def _check_out_of_bag(self, bags: Bags, targets: Targets) -> bool:
        """Check that there are rows out of the bags if they are needed."""
        if self.oob_score and not bags.leave_rows_out:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        if self.importance_type == "unbiased" and not bags.leave_rows_out:
            raise ValueError(
                'importance_type: "unbiased" needs rows out of the bags: pass bootstrap=True, or '
                "bags"
            )
        if self.importance_type == "unbiased" and self.criterion in ("absolute_error", "quantile"):
            raise ValueError(
                'importance_type: "unbiased" is for criteria whose leaves predict means or class '
                f"shares, got criterion={self.criterion!r}"
            )
        return bool(self.oob_score)

    def _grow(self, X: Any, targets: Targets, bags: Bags, wants_oob: bool) -> OutOfBag | None:
        """Grow trees, set ``forest_``, and get the sums over the trees that left a row out."""
        settings = self._growth_settings() | bags.settings()
        settings |= {
            "splitter": self._splitter,
            # Each tree has a seed of its own.
            "seed": 0,
            "balanced_subsample": targets.balance_bags,
            "oob": wants_oob,
        }
        with shown_trees(self.verbose, len(bags.seeds)) as progress:
            settings["progress"] = progress
            if targets.n_classes is None:
                grown = _core.fit_forest_regressor(X, targets.y, targets.weights, settings)
            else:
                grown = _core.fit_forest_classifier(
                    X, targets.y, targets.n_classes, targets.weights, settings
                )
        self.forest_, out_of_bag = grown
        return out_of_bag

    def _set_results(
        self, rows: Any, targets: Targets, out_of_bag: OutOfBag | None, wants_oob: bool
    ) -> None:
        """Set what follows from the rows out of the bags."""
        for name in _RESULTS:
            self.__dict__.pop(name, None)
        unbiased = self.importance_type == "unbiased"
        if not (wants_oob or unbiased):
            return
        rows = rows.tocsr() if is_sparse(rows) else rows
        counts = counts_of_trees(self._bags)
        if wants_oob:
            if out_of_bag is None:
                # After a warm start, the earlier trees predict these rows, too.
                self._check_rows_of_bags(rows.shape[0], "oob_score")
                out_of_bag = out_of_bag_sums(self.forest_, counts, rows, self.n_jobs)
            if not out_of_bag[1].all():
                warn(
                    "Some inputs do not have OOB scores. This probably means too few trees were "
                    "used to compute any reliable OOB estimates.",
                    UserWarning,
                    stacklevel=4,
                )
            self._set_out_of_bag(out_of_bag, targets)
        if unbiased:
            self._check_rows_of_bags(rows.shape[0], "importance_type")
            self._unbiased = unbiased_importances(
                self.forest_, counts, rows, self._target_columns(targets), self.n_jobs
            )

    def _check_rows_of_bags(self, n_rows: int, purpose: str) -> None:
        if any(part.n_rows != n_rows for part in self._bags):
            raise ValueError(
                f"{purpose}: the earlier trees were grown from another number of rows, so the rows "
                "that they have not seen are not known"
            )

    @abstractmethod
    def _score_of(self, out_of_bag: OutOfBag, targets: Targets) -> tuple[float, NDArray[Any]]:
        """Get the score of predictions by the trees that left a row out, and the predictions."""

    @abstractmethod
    def _set_out_of_bag(self, out_of_bag: OutOfBag, targets: Targets) -> None:
        """Set the attributes of ``oob_score``."""

    @abstractmethod
    def _target_columns(self, targets: Targets) -> NDArray[np.float64]:
        """Get the targets with a column per value of a leaf."""

    def _score_out_of_bag(
        self,
        default: Callable[..., float],
        truth: NDArray[Any],
        predicted: NDArray[Any],
    ) -> float:
        return float((self.oob_score if callable(self.oob_score) else default)(truth, predicted))

    # ---- the trees -------------------------------------------------------------------------------

    @property
    def estimator_(self) -> Any:
        """A tree that is not fitted, with the parameters of the forest's trees.

        Returns
        -------
        tree : object
            An estimator of splitwood.

        Examples
        --------
        >>> from splitwood import RandomForestRegressor
        >>> RandomForestRegressor(n_estimators=2, max_depth=3).fit([[1], [2]], [3, 4]).estimator_
        DecisionTreeRegressor(max_depth=3, max_features=1.0)
        """
        check_is_fitted(self)
        kind = self._tree_class
        given = self.get_params(deep=False)
        names = set(kind._get_param_names()) & given.keys() - _NOT_OF_TREES
        return kind(**{name: given[name] for name in names})

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators, which are made when they are first asked for.

        Returns
        -------
        trees : list
            Fitted trees of splitwood, which share their nodes with the forest. As in
            scikit-learn, the trees of a classifier predict class codes: indices of ``classes_``.

        Examples
        --------
        >>> from splitwood import RandomForestRegressor
        >>> forest = RandomForestRegressor(n_estimators=3).fit([[1], [2]], [3, 4])
        >>> [type(tree).__name__ for tree in forest.estimators_]
        ['DecisionTreeRegressor', 'DecisionTreeRegressor', 'DecisionTreeRegressor']
        """
        check_is_fitted(self)
        if self._trees is None:
            self._trees = [self._tree_of(number) for number in range(self.forest_.n_trees)]
        return self._trees

    def _tree_of(self, number: int) -> Any:
        """Make an estimator of a tree."""
        tree = self.estimator_
        seeds = np.concatenate([[], *(part.seeds for part in self._bags)])
        if number < len(seeds):
            tree.random_state = int(seeds[number])
        tree.tree_ = self.forest_.tree(number)
        for name in ("n_features_in_", "n_outputs_", "is_categorical_", "categories_"):
            setattr(tree, name, getattr(self, name))
        tree._codes, tree._x_dtype = self._codes, self._x_dtype
        return tree

    @property
    def estimators_samples_(self) -> list[NDArray[np.int32]]:
        """The rows of each tree's bag.

        Returns
        -------
        rows : list of ndarray of int
            Per tree, the indices of its rows in ascending order, each as often as it was drawn.
            They are drawn again when they are asked for.

        Examples
        --------
        >>> from splitwood import RandomForestRegressor
        >>> forest = RandomForestRegressor(n_estimators=3, max_samples=2, random_state=0)
        >>> [len(rows) for rows in forest.fit([[1], [2], [3]], [4, 5, 6]).estimators_samples_]
        [2, 2, 2]
        """
        check_is_fitted(self)
        return [np.repeat(np.arange(len(c), dtype=np.int32), c) for c in self._known_counts()]

    def _known_counts(self) -> Iterator[Counts]:
        """Get the counts of each tree, one after another."""
        return (counts() for counts in self._known_bags())

    def _known_bags(self) -> list[Callable[[], Counts]]:
        counts = counts_of_trees(self._bags)
        if len(counts) != self.forest_.n_trees:
            raise AttributeError(
                "estimators_samples_: the forest was not grown here, so the bags of its trees are "
                "not known"
            )
        return counts

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __getstate__(self) -> dict[str, Any]:
        # The estimators of the trees are made again when they are asked for.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_trees"}

    def merge(self, *others: Self) -> Self:
        """Join this forest and others, which may have been fitted elsewhere or to other rows.

        Parameters
        ----------
        *others : object
            Fitted forests of the same class, with the same features, outputs, classes and
            categories.

        Returns
        -------
        forest : object
            A fitted forest with the trees of all forests, in their order, and with the parameters
            of this one. It has no results of ``oob_score``.

        Examples
        --------
        >>> from splitwood import RandomForestRegressor
        >>> X, y = [[1], [2], [3]], [4, 5, 6]
        >>> first = RandomForestRegressor(n_estimators=10, random_state=1).fit(X, y)
        >>> second = RandomForestRegressor(n_estimators=20, random_state=2).fit(X, y)
        >>> len(first.merge(second))
        30
        """
        check_is_fitted(self)
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"merge: needs forests of the class {type(self).__name__}, got "
                    f"{type(other).__name__}"
                )
            check_is_fitted(other)
            self._check_can_join(other, "merge")
        return self._merged(others)

    def _merged(self, others: tuple[Self, ...]) -> Self:
        """Join forests that were checked."""
        merged = copy.copy(self)
        for name in _RESULTS:
            merged.__dict__.pop(name, None)
        merged.forest_ = _core.Forest.concat([self.forest_, *(one.forest_ for one in others)])
        all_bags = [self._bags, *(one._bags for one in others)]
        merged._bags = [*chain.from_iterable(all_bags)] if all(all_bags) else []
        merged.n_estimators = merged.forest_.n_trees
        return merged

    # ---- rows in the trees -----------------------------------------------------------------------

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the trees.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Node ids, as in the arrays of each tree's ``tree_``.

        Examples
        --------
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=3).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> forest.apply([[0.0], [4.0]])
        array([[1, 1, 1],
               [2, 2, 2]])
        """
        rows = self._rows(X)
        return self.forest_.apply(rows, self.n_jobs)

    def decision_path(self, X: ArrayLike) -> tuple[csr_matrix, NDArray[np.int64]]:
        """List the nodes on the path of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to send down the trees.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            Entry (i, j) is 1 if row i passes node j. The nodes of all trees stand side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns ``n_nodes_ptr[i]:n_nodes_ptr[i + 1]`` are the nodes of tree i.

        Examples
        --------
        >>> from splitwood import ExtraTreesRegressor
        >>> forest = ExtraTreesRegressor(n_estimators=2).fit([[1.0], [3.0]], [5.0, 9.0])
        >>> indicator, n_nodes_ptr = forest.decision_path([[0.0], [4.0]])
        >>> indicator.toarray()
        array([[1, 1, 0, 1, 1, 0],
               [1, 0, 1, 1, 0, 1]])
        >>> n_nodes_ptr
        array([0, 3, 6])
        """
        rows = self._rows(X)
        forest = self.forest_
        paths = [forest.tree(number).decision_path(rows) for number in range(forest.n_trees)]
        ends = np.concatenate(([0], np.cumsum([path.shape[1] for path in paths])))
        return hstack(paths, format="csr"), ends

    def proximities(self, X: ArrayLike, Y: ArrayLike | None = None) -> csr_matrix:
        """Compute in how many trees two rows are in the same leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        Y : array-like of shape (n_others, n_features), default=None
            Rows to compare them with; None means ``X``.

        Returns
        -------
        proximities : csr_matrix of shape (n_samples, n_others)
            Entry (i, j) is the share of the trees in which row i of ``X`` and row j of ``Y`` are in
            the same leaf. Pairs that never are have no entry.

        Examples
        --------
        >>> from splitwood import ExtraTreesRegressor
        >>> X, y = [[1.0], [2.0], [9.0]], [5.0, 5.0, 8.0]
        >>> forest = ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y)
        >>> forest.proximities([[1.0], [9.0]]).toarray()
        array([[1., 0.],
               [0., 1.]])
        """
        leaves = self.apply(X)
        others = leaves if Y is None else self.apply(Y)
        return proximities(leaves, others, self.forest_.node_counts)

    # ---- importances -----------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature, by `importance_type`.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            With a sum of 1, or all 0 if no tree has a split. Only "unbiased" ones can be negative.

        Examples
        --------
        >>> from splitwood import RandomForestRegressor
        >>> X, y = [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], [5.0, 7.0, 9.0]
        >>> RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y).feature_importances_
        array([0., 1.])
        """
        check_is_fitted(self)
        if self._unbiased is not None:
            return self._unbiased.copy()
        return self.forest_.feature_importances(self.n_jobs)

    def oob_permutation_importances(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_repeats: int = 5,
        random_state: RandomState = None,
    ) -> Bunch:
        """Compute how much the out-of-bag score drops if a feature is shuffled.

        Every row is predicted by the trees that have not seen it, so no rows need to be held out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit, in the same order.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        n_repeats : int, default=5
            How often each feature is shuffled.
        random_state : int, RandomState instance, default=None
            Seed of the shuffles.

        Returns
        -------
        result : Bunch
            As that of ``sklearn.inspection.permutation_importance``: ``importances`` of shape
            (n_features, n_repeats), ``importances_mean`` and ``importances_std``. The score is
            that of ``oob_score``, or the default one.

        Examples
        --------
        >>> import numpy as np
        >>> from splitwood import RandomForestRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, X[:, 1])
        >>> forest.oob_permutation_importances(X, X[:, 1], random_state=0).importances_mean.argmax()
        np.int64(1)
        """
        rows = self._rows(X)
        if is_sparse(rows):
            raise ValueError("X: sparse rows can't be shuffled; pass X.toarray()")
        check_count("n_repeats", n_repeats, 1)
        if not all(part.leave_rows_out for part in self._bags):
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        self._check_rows_of_bags(len(rows), "X")
        twin = copy.copy(self)
        targets = twin._encode(check_array(y, ensure_2d=False, dtype=None, input_name="y"), None)
        self._check_can_join(twin, "y")
        drops = permuted_scores(
            self.forest_,
            self._known_bags(),
            rows,
            lambda out_of_bag: self._score_of(out_of_bag, targets)[0],
            n_repeats,
            check_random_state(random_state),
            self.n_jobs,
        )
        return Bunch(
            importances=drops,
            importances_mean=drops.mean(axis=1),
            importances_std=drops.std(axis=1),
        )


# Parameters of the trees that are not those of their forest.
_NOT_OF_TREES = {"class_weight", "random_state", "verbose"}


def _same(one: Any, other: Any) -> bool:
    """Whether two attributes are equal: numbers, arrays or lists of arrays."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return np.array_equal(one, other)
