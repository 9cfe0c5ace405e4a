"""What a fitted forest has: trees, bags, leaves of rows, proximities and importances."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._bags import Bags, Counts, counts_of_trees
from ._base import BaseModel
from ._base_tree import BaseTree
from ._proximities import proximities

# What a fit sets beside the forest. Another fit starts without it.
RESULTS = ("oob_score_", "oob_prediction_", "oob_decision_function_", "_residuals", "_unbiased")
# Parameters of the trees that are not those of their forest.
_NOT_OF_TREES = {"class_weight", "random_state", "verbose"}


class FittedForest(BaseModel):
    """The part of a forest that does not depend on how it was fitted."""

    forest_: _core.Forest
    _fitted = "forest_"
    # The class of the trees.
    _tree_class: ClassVar[type[BaseTree]]
    n_estimators: int
    # One entry per fit that has added trees; empty if the forest was not grown here.
    _bags: list[Bags]
    # The trees as estimators, once they were asked for.
    _trees: list[Any] | None = None
    _unbiased: NDArray[np.float64] | None = None

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
        # The seeds of trees that were not grown here are not known.
        if len(seeds) == self.forest_.n_trees:
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

    def _check_can_join(self, other: FittedForest, purpose: str) -> None:
        """Check that the trees of two forests fit into one forest."""
        for name in ("n_features_in_", "n_outputs_", "feature_names_in_", "classes_"):
            if not _same(getattr(self, name, None), getattr(other, name, None)):
                raise ValueError(f"{purpose}: the forests differ in {name}")
        if self._codes != other._codes:
            raise ValueError(f"{purpose}: the forests differ in the labels of their categories")

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
        for name in RESULTS:
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


def _same(one: Any, other: Any) -> bool:
    """Whether two attributes are equal: numbers, arrays or lists of arrays."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return np.array_equal(one, other)
