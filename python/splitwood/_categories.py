"""Labels of categories ↔ codes.

The core knows categories as codes 0, 1, …. Which label has which code is decided here, at the fit: the
labels of a column that occur, in ascending order, so that the order of the rows does not matter. Labels that
were not there at the fit have no code, and are missing values to the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._frames import Column

# Which features have categories: a mask, their places, their names, or those whose columns say so.
CategoricalFeatures = ArrayLike | Literal["from_dtype"] | None
# Of each feature, None for numbers: its labels, by code, and its codes, by label.
Labels = list[NDArray[Any] | None]
Codes = list[dict[Any, int] | None]

# All whole numbers up to here are floats of 32 bits.
_MAX_FLOAT32 = 1 << 24


def find_categorical(
    categorical_features: CategoricalFeatures,
    columns: Sequence[Column],
    feature_names: Sequence[str] | None,
) -> NDArray[np.bool_]:
    """A mask of the columns that have categories."""
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                'categorical_features: must be "from_dtype", a mask, places or names of features, '
                f"or None, got {categorical_features!r}"
            )
        return np.array([column.is_categorical for column in columns], dtype=bool)
    given: NDArray[Any] = np.asarray(categorical_features)
    mask = np.zeros(len(columns), dtype=bool)
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features: must have one dimension, got {categorical_features!r}"
        )
    if given.size == 0:
        return mask
    if given.dtype.kind == "O":
        # Names of pandas and lists of mixed entries.
        given = np.array(given.tolist())
    if given.dtype.kind == "b":
        if len(given) != len(columns):
            raise ValueError(
                f"categorical_features: a mask of {len(given)} entries, but X has {len(columns)} features"
            )
        return given.astype(bool)
    if given.dtype.kind in "iu":
        out = given[(given < 0) | (given >= len(columns))]
        if out.size:
            raise ValueError(
                f"categorical_features: places must be between 0 and {len(columns) - 1}, got {out[0]}"
            )
        mask[given] = True
        return mask
    if given.dtype.kind == "U":
        return _find_names(given.tolist(), feature_names)
    raise ValueError(
        "categorical_features: must be a mask, places or names of features, "
        f"got {categorical_features!r}"
    )


def _find_names(wanted: list[str], feature_names: Sequence[str] | None) -> NDArray[np.bool_]:
    if feature_names is None:
        raise ValueError(
            f"categorical_features: X has no names of features to find {wanted[0]!r} among; "
            "pass a data frame, or the places of the features"
        )
    names = list(feature_names)
    for name in wanted:
        if name not in names:
            raise ValueError(f"categorical_features: X has no feature {name!r}")
    return np.array([name in wanted for name in names], dtype=bool)


def find_labels(column: Column) -> NDArray[Any]:
    """The labels of a column that occur, in ascending order if they have one."""
    places, labels = _factorize(column)
    occur = np.unique(places[places >= 0])
    found = list(dict.fromkeys(labels[place] for place in occur if not _is_missing(labels[place])))
    try:
        found.sort()
    except TypeError:
        found.sort(key=_rank)
    return as_array(found)


def as_array(labels: list[Any]) -> NDArray[Any]:
    """Numbers as an array of numbers, other labels as one of objects."""
    if all(isinstance(label, Real) for label in labels):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _rank(label: object) -> tuple[str, float, str]:
    """An order of labels that have none, such as numbers and strings. True is 1."""
    if isinstance(label, Real):
        return "", float(label), ""
    return type(label).__name__, 0.0, str(label)


def codes_of(labels: NDArray[Any]) -> dict[Any, int]:
    """The code of each label: its place."""
    return {label: code for code, label in enumerate(labels.tolist())}


def encode(columns: list[Column], codes: Codes) -> list[Column]:
    """The columns with codes instead of labels, NaN for missing and unknown ones; numbers as they are."""
    return [
        column if known is None else _encode(column, known)
        for column, known in zip(columns, codes, strict=True)
    ]


def _encode(column: Column, codes: dict[Any, int]) -> Column:
    places, labels = _factorize(column)
    # The last one is for -1.
    found = np.array([*(codes.get(label, np.nan) for label in labels), np.nan])
    dtype = np.dtype(np.float32 if len(codes) <= _MAX_FLOAT32 else np.float64)
    return column._replace(dtype=dtype, label="codes", read=lambda _: found[places])


def _factorize(column: Column) -> tuple[NDArray[np.intp], list[Any]]:
    """Labels, and for each row the place of its own among them, -1 if it is missing."""
    try:
        places, labels = column.factorize()
        hash(tuple(labels))
    except TypeError:
        raise ValueError(
            f"X: column {column.name!r} holds what can't be a label ({column.label}); "
            "categories must be numbers, strings or other hashable values"
        ) from None
    return places, labels


def _is_missing(label: object) -> bool:
    # pandas has values of its own, which are not equal to themselves either, or not sure of it.
    is_nan = isinstance(label, Real) and label != label
    return label is None or is_nan or type(label).__name__ in ("NAType", "NaTType")
