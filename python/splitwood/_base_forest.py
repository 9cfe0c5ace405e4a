"""How regression and classification forests are fitted, by scikit-learn's conventions.

The core draws the bags, grows the trees and predicts; the trees become estimators when a user asks
for them.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Bunch, check_array, check_random_state

from . import _core
from ._arguments import check_count
from ._bags import Bags, OwnBags, counts_of_trees, number_of_draws, own_counts
from ._base import MaxFeatures, RandomState, Splitter
from ._categories import CategoricalFeatures
from ._fitted_forest import RESULTS, FittedForest
from ._importances import unbiased_importances
from ._inputs import aligned
from ._mlflow import warn_of_autolog
from ._out_of_bag import OutOfBag, out_of_bag_sums, permuted_scores
from ._progress import shown_trees
from ._sklearn_inputs import as_weights, checked_training, core_columns
from ._sparse import is_sparse

# A function of the true and the predicted targets.
OobScore = bool | Callable[[NDArray[Any], NDArray[Any]], float]
ImportanceType = Literal["impurity", "unbiased"]


class Targets(NamedTuple):
    """The targets of a fit as the core reads them."""

    # Numbers or class codes, with a column per output if there are several.
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    # The largest number of classes of an output; None for numbers.
    n_classes: int | None
    # Whether each bag weighs its classes by their shares in the bag.
    balance_bags: bool


def warn_of_no_new_trees() -> None:
    warn(
        "Warm-start fitting without increasing n_estimators does not fit new trees.",
        UserWarning,
        stacklevel=4,
    )


class BaseForest(FittedForest):
    """The part of a forest that does not depend on the kind of its targets."""

    # How the thresholds of the trees are chosen.
    _splitter: ClassVar[Splitter]

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
        categorical_smoothing: float,
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
        self.categorical_smoothing = categorical_smoothing
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
        rows = rows if is_sparse(rows) else aligned(rows)
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

    def _grow_forest(
        self, rows: Any, targets: Targets, own: OwnBags, earlier: _core.Forest | None
    ) -> None:
        """Grow the missing trees, join them with the earlier ones, and set the results."""
        n_earlier = 0 if earlier is None else earlier.n_trees
        bags = self._new_bags(len(targets.y), targets.weights, own, n_earlier)
        wants_oob = self._check_out_of_bag(bags)
        if len(bags.seeds) == 0:
            warn_of_no_new_trees()
            self.forest_, found = earlier, None  # type: ignore[assignment]
        else:
            # The running score is that of the new trees, so it needs all of them.
            shows_score = wants_oob and earlier is None
            found = self._grow(core_columns(rows), targets, bags, wants_oob, shows_score)
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
        draws = self._draws_rows(counts is not None)
        n_draws = number_of_draws(self.max_samples, n_rows, weights) if draws else None
        return Bags(n_rows, seeds, n_draws, weights if draws else None, counts)

    def _draws_rows(self, has_own_bags: bool) -> bool:
        """Whether the rows of each tree are drawn."""
        draws = bool(self.bootstrap) and not has_own_bags
        if not draws and self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        return draws

    def _check_out_of_bag(self, bags: Bags) -> bool:
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

    def _grow(
        self, X: Any, targets: Targets, bags: Bags, wants_oob: bool, shows_score: bool
    ) -> OutOfBag | None:
        """Grow trees, set ``forest_``, and get the sums over the trees that left a row out."""

        def score(out_of_bag: OutOfBag) -> float | None:
            return self._running_score(out_of_bag, targets) if shows_score else None

        settings = self._growth_settings() | bags.settings()
        settings |= {
            "splitter": self._splitter,
            # Each tree has a seed of its own.
            "seed": 0,
            "balanced_subsample": targets.balance_bags,
            "oob": wants_oob,
            # The core sorts X.
            "order": None,
        }
        with shown_trees(self.verbose, len(bags.seeds), score) as progress:
            settings["progress"] = progress
            if targets.n_classes is None:
                grown = _core.fit_forest_regressor(X, targets.y, targets.weights, settings)
            else:
                grown = _core.fit_forest_classifier(
                    X, targets.y, targets.n_classes, targets.weights, settings
                )
            self.forest_, out_of_bag = grown
            if progress is not None:
                progress(len(bags.seeds), 1.0, out_of_bag)
        return out_of_bag

    def _running_score(self, out_of_bag: OutOfBag, targets: Targets) -> float | None:
        """Get the score of the rows that a tree has left out so far; None if they are too few."""
        sums, n_trees = out_of_bag
        known = n_trees > 0
        if known.sum() < 2:
            return None
        of_known = targets._replace(y=targets.y[known])
        return self._score_of((sums[known], n_trees[known]), of_known)[0]

    def _set_results(
        self, rows: Any, targets: Targets, out_of_bag: OutOfBag | None, wants_oob: bool
    ) -> None:
        """Set what follows from the rows out of the bags."""
        for name in RESULTS:
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
        n_known = sum(len(part.seeds) for part in self._bags)
        if n_known != self.forest_.n_trees or any(part.n_rows != n_rows for part in self._bags):
            raise ValueError(
                f"{purpose}: some trees were not grown here, or from another number of rows, so the "
                "rows that they have not seen are not known"
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
