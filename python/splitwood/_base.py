"""What trees and forests share: the features of a fit, rows to predict, and rules of growth."""

from __future__ import annotations

import warnings
from abc import ABC
from math import isqrt
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from ._categories import Codes, Labels
from ._inputs import aligned
from ._sklearn_inputs import checked_rows, unchecked_rows
from ._sparse import is_sparse

RandomState = int | np.random.RandomState | None
Splitter = Literal["best", "random"]
MaxFeatures = float | Literal["sqrt", "log2"] | None


class BaseModel(MultiOutputMixin, BaseEstimator, ABC):
    """The part of an estimator that does not depend on what is fitted: a tree or a forest."""

    n_features_in_: int
    # Only if the fit had a data frame whose column names are all strings.
    feature_names_in_: NDArray[np.object_]
    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Labels | None
    # None if no feature is categorical.
    _codes: Codes | None = None
    # The dtype in which the core read X; that of estimators of earlier versions is not known.
    _x_dtype: str = "float64"
    # The attribute that holds the fitted tree or forest of the core.
    _fitted: str

    # Parameters that all constructors have.
    criterion: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: MaxFeatures
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: ArrayLike | None
    # Estimators of earlier versions, whose pickles don't have it, had no brake.
    categorical_smoothing: float = 0.0
    n_jobs: int | None

    def _growth_settings(self) -> dict[str, Any]:
        """Collect the parameters that say how a tree grows, for the core."""
        return {
            "criterion": self.criterion,
            "max_depth": self.max_depth,
            "min_samples_split": self.min_samples_split,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "max_features": self.max_features,
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": self.min_impurity_decrease,
            "ccp_alpha": self.ccp_alpha,
            "monotonic_cst": _as_signs(self.monotonic_cst, self.n_features_in_, self.n_outputs_),
            "categories": self._n_categories(),
            "categorical_smoothing": self.categorical_smoothing,
            "n_jobs": self.n_jobs,
        }

    def _n_categories(self) -> list[int] | None:
        """Count the categories of each feature; numeric features have 0."""
        if self.categories_ is None:
            return None
        return [0 if labels is None else len(labels) for labels in self.categories_]

    def _rows(self, X: ArrayLike, check_input: bool = True) -> Any:
        """Check ``X`` against the data of the fit; the result is an array or a CSR matrix."""
        # The common case skips the validation, which takes longer than the prediction of a few
        # rows: the core reads the array in place, and the fit had neither names nor categories.
        # All input that must be refused is left to scikit-learn.
        known = self.__dict__
        fitted = known.get(self._fitted)
        if (
            fitted is not None
            and fitted.reads(X)
            and "feature_names_in_" not in known
            and known.get("_codes") is None
        ):
            return cast("NDArray[Any]", X)
        check_is_fitted(self)
        # Labels of categories become codes, which is no check.
        rows = checked_rows(self, X) if check_input or self._codes else unchecked_rows(X)
        return rows if is_sparse(rows) else aligned(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def known_criterion(criterion: str, stacklevel: int) -> str:
    """Replace a criterion that scikit-learn deprecates, with a warning."""
    if not (isinstance(criterion, str) and criterion == "friedman_mse"):
        return criterion
    warnings.warn(
        'criterion: "friedman_mse" is deprecated, as in scikit-learn. "squared_error" is used, '
        "which always chose the same splits; pass it to silence this warning.",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )
    return "squared_error"


def features_per_split(max_features: Any, n_features: int) -> int:
    """Count the features that are evaluated for each split. The core refuses invalid values."""
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


def _as_signs(monotonic_cst: ArrayLike | None, n_features: int, n_outputs: int) -> list[int] | None:
    """Convert constraints to one sign per feature. The messages are scikit-learn's."""
    if monotonic_cst is None:
        return None
    if n_outputs > 1:
        raise ValueError(
            "Monotonicity constraints are not supported with multiple output trees; monotonic_cst "
            "must be None"
        )
    signs = np.asarray(monotonic_cst)
    if signs.ndim != 1 or not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, with one entry per "
            f"feature, but got {monotonic_cst!r}"
        )
    if len(signs) != n_features:
        raise ValueError(
            f"monotonic_cst has shape {len(signs)} but the input data X has {n_features} features."
        )
    return [int(sign) for sign in signs]
