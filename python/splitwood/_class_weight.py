"""Weights of classes → weights of rows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

ClassWeight = Mapping[Any, float] | list[Mapping[Any, float]] | Literal["balanced"] | None
ForestClassWeight = ClassWeight | Literal["balanced_subsample"]


def encode_classes(
    columns: list[NDArray[Any]],
) -> tuple[list[NDArray[Any]], list[NDArray[np.int64]]]:
    """Get the classes of each output, ascending, and the codes of its rows."""
    try:
        encoded = [np.unique(column, return_inverse=True) for column in columns]
    except TypeError:
        kinds = sorted({type(label).__name__ for column in columns for label in column.tolist()})
        raise ValueError(
            f"y: labels of the types {', '.join(kinds)} have no common order; turn all of them "
            "into strings, or all into numbers"
        ) from None
    classes = [labels for labels, _ in encoded]
    return classes, [codes.astype(np.int64, copy=False) for _, codes in encoded]


def weigh_outputs(
    class_weight: ClassWeight,
    classes: list[NDArray[Any]],
    codes: list[NDArray[np.int64]],
    sample_weight: NDArray[np.float64] | None,
    balance_weights: bool = False,
) -> NDArray[np.float64] | None:
    """Multiply each row's weight by those of its classes; ``codes`` are indices of ``classes``.

    "balanced" is about the number of rows, as for scikit-learn's trees; with ``balance_weights``,
    it is about their weight, as for scikit-learn's forests.
    """
    if class_weight is None:
        return sample_weight
    counted = sample_weight if balance_weights else None
    weights = np.ones(len(codes[0])) if sample_weight is None else sample_weight
    for of_output, labels, places in zip(
        _of_outputs(class_weight, len(classes)), classes, codes, strict=True
    ):
        weights = weights * _of_classes(of_output, labels, places, counted)[places]
    return weights


def _of_outputs(class_weight: ClassWeight, n_outputs: int) -> list[Any]:
    """Get the class weights of each output."""
    if n_outputs == 1 or (isinstance(class_weight, str) and class_weight == "balanced"):
        return [class_weight] * n_outputs
    if not isinstance(class_weight, list) or len(class_weight) != n_outputs:
        raise ValueError(
            "class_weight: number of elements in class_weight should match number of outputs. "
            f'Pass a list of {n_outputs} dicts, or "balanced"'
        )
    return class_weight


def _of_classes(
    class_weight: ClassWeight,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    counted: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, counted)
        # A class whose rows all weigh 0 stays without weight.
        totals = np.where(totals > 0.0, totals, np.inf)
        balanced: NDArray[np.float64] = totals[np.isfinite(totals)].sum() / (len(classes) * totals)
        return balanced
    if isinstance(class_weight, list):
        raise ValueError("class_weight: a list is for several outputs; y has one, so pass its dict")
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight: must be a dict, "balanced" or None, got {class_weight!r}')
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0.0 <= float(weight) < np.inf):
            raise ValueError(
                f"class_weight: must be finite and not negative, got {weight!r} for {label!r}"
            )
    # scikit-learn looks up the labels. If the dict has labels that are not classes, the error names
    # the classes that the dict lacks.
    weights: NDArray[np.float64] = compute_class_weight(class_weight, classes=classes, y=classes)
    if not weights.any():
        raise ValueError("class_weight: every class of y weighs 0; at least one must be positive")
    return weights
