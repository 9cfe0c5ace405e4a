"""Labels of categories ⇄ codes.

The core works with codes 0, 1, …. At the fit, the labels that occur in a column get their codes in
ascending order, so that the order of the rows does not matter. Labels that do not occur at the fit
have no code; the core treats them as missing values.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._frames import Column

# Which features are categorical: a mask, indices, names, or those that the data frame declares.
CategoricalFeatures = ArrayLike | Literal["from_dtype"] | None
# Per feature, its labels by code and its codes by label; None for a numeric feature.
Labels = list[NDArray[Any] | None]
Codes = list[dict[Any, int] | None]

# float32 holds all integers up to this one exactly.
_MAX_FLOAT32 = 1 << 24


def find_categorical(
    categorical_features: CategoricalFeatures,
    columns: Sequence[Column],
    feature_names: Sequence[str] | None,
) -> NDArray[np.bool_]:
    """Get a mask of the categorical columns."""
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                'categorical_features: must be "from_dtype", a mask, indices or names of features, '
                f"or None, got {categorical_features!r}"
            )
        return np.array([column.is_categorical or column.is_text for column in columns], dtype=bool)
    given: NDArray[Any] = np.asarray(categorical_features)
    mask = np.zeros(len(columns), dtype=bool)
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features: must have one dimension, got {categorical_features!r}"
        )
    if given.size == 0:
        return mask
    if given.dtype.kind == "O":
        # pandas has names as objects; numpy finds their common type.
        given = np.array(given.tolist())
    if given.dtype.kind == "b":
        if len(given) != len(columns):
            raise ValueError(
                f"categorical_features: a mask of {len(given)} entries, "
                f"but X has {len(columns)} features"
            )
        return given.astype(bool)
    if given.dtype.kind in "iu":
        out = given[(given < 0) | (given >= len(columns))]
        if out.size:
            raise ValueError(
                f"categorical_features: indices must be between 0 and {len(columns) - 1}, "
                f"got {out[0]}"
            )
        mask[given] = True
        return mask
    if given.dtype.kind == "U":
        return _find_names(given.tolist(), feature_names)
    raise ValueError(
        "categorical_features: must be a mask, indices or names of features, "
        f"got {categorical_features!r}"
    )


def _find_names(wanted: list[str], feature_names: Sequence[str] | None) -> NDArray[np.bool_]:
    if feature_names is None:
        raise ValueError(
            f"categorical_features: X has no names of features, so {wanted[0]!r} can't be found; "
            "pass a data frame, or the indices of the features"
        )
    names = list(feature_names)
    for name in wanted:
        if name not in names:
            raise ValueError(f"categorical_features: X has no feature {name!r}")
    return np.array([name in wanted for name in names], dtype=bool)


def find_labels(column: Column) -> NDArray[Any]:
    """Get the labels that occur in a column, in ascending order if they can be compared."""
    return in_order(occurring(column)[0])


def occurring(column: Column) -> tuple[list[Any], int]:
    """Get the labels that occur in a column, and the number of rows that have one."""
    places, labels = _factorize(column)
    has_label = places >= 0
    occur = np.unique(places[has_label])
    found = dict.fromkeys(labels[place] for place in occur if not is_missing(labels[place]))
    return list(found), int(has_label.sum())


def in_order(found: list[Any]) -> NDArray[Any]:
    """Sort different labels, which are in ascending order if they can be compared."""
    try:
        found.sort()
    except TypeError:
        found.sort(key=_rank)
    return as_array(found)


# A column of at least so many rows in which more than this share of them have a label of their own
# is an identifier or a time stamp.
_MIN_ROWS, _OWN_LABEL = 100, 0.9


def warn_of_identifiers(columns: Sequence[Column], categories: Labels) -> None:
    """Warn of categorical columns in which nearly every row has its own label."""
    warn_of_own_labels(
        [
            (column.name, len(labels), occurring(column)[1])
            for column, labels in zip(columns, categories, strict=True)
            if labels is not None
        ],
        stacklevel=6,
    )


def warn_of_own_labels(counts: list[tuple[object, int, int]], stacklevel: int) -> None:
    """The same for columns of which the name and the numbers of labels and of rows are known."""
    names = [
        f"{name!r} ({n_labels:,} labels in {n_rows:,} rows)"
        for name, n_labels, n_rows in counts
        if n_rows >= _MIN_ROWS and n_labels > _OWN_LABEL * n_rows
    ]
    if names:
        warnings.warn(
            f"categorical_features: nearly every row has its own label in {', '.join(names)}; such "
            "a column says nothing about new rows: drop it, or pass numbers made of it, for "
            "example the hour of a time stamp",
            UserWarning,
            stacklevel=stacklevel,
        )


def as_array(labels: list[Any]) -> NDArray[Any]:
    """Convert labels to an array: of numbers if all labels are numbers, otherwise of objects."""
    if all(isinstance(label, Real) for label in labels):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _rank(label: object) -> tuple[str, float, str]:
    """Get the sort key of labels that can't be compared, such as numbers and strings. True is 1."""
    if isinstance(label, Real):
        return "", float(label), ""
    return type(label).__name__, 0.0, str(label)


def codes_of(labels: NDArray[Any]) -> dict[Any, int]:
    """Get the code of each label, which is its index."""
    return {label: code for code, label in enumerate(labels.tolist())}


def as_cells(count: int, labels: NDArray[Any] | None, cells: np.dtype[Any]) -> NDArray[Any]:
    """Get the cells of ``X`` that stand for labels: the labels if they are numbers, or codes."""
    if labels is None or labels.dtype.kind not in "biuf":
        labels = np.arange(count)
    values = labels.astype(cells)
    if (values != labels).any():
        lost = labels[np.flatnonzero(values != labels)[0]]
        raise ValueError(
            f"dtype: {cells} does not hold the label {lost} of a category exactly; pass float64"
        )
    return values


def encode(columns: list[Column], codes: Codes) -> list[Column]:
    """Replace labels by their codes, missing and unknown labels by NaN; keep numeric columns."""
    return [
        column if known is None else _encode(column, known)
        for column, known in zip(columns, codes, strict=True)
    ]


def _encode(column: Column, codes: dict[Any, int]) -> Column:
    places, labels = _factorize(column)
    # Missing labels have index -1, which is the last entry.
    found = np.array([*(codes.get(label, np.nan) for label in labels), np.nan])
    dtype = np.dtype(np.float32 if len(codes) <= _MAX_FLOAT32 else np.float64)
    return column._replace(dtype=dtype, label="codes", read=lambda _: found[places])


def encoded_grid(
    grid: NDArray[Any], features: Sequence[int], codes: Codes | None
) -> NDArray[np.float64]:
    """Replace labels by their codes in points whose columns are the given features."""
    cells = np.empty(grid.shape, dtype=np.float64)
    for column, feature in enumerate(features):
        known = None if codes is None else codes[feature]
        labels = grid[:, column]
        cells[:, column] = (
            labels if known is None else [known.get(label, np.nan) for label in labels.tolist()]
        )
    return cells


def _factorize(column: Column) -> tuple[NDArray[np.intp], list[Any]]:
    """Get the index of each row's label in a list of labels, -1 if it is missing, and the list."""
    try:
        places, labels = column.factorize()
        hash(tuple(labels))
    except TypeError:
        raise ValueError(
            f"X: column {column.name!r} holds values that can't be labels ({column.label}); "
            "categories must be numbers, strings or other hashable values"
        ) from None
    return places, labels


def is_missing(label: object) -> bool:
    """Whether a label is None, NaN or one of pandas' missing values."""
    # pandas has its own missing values, whose comparison with themselves is not True either.
    is_nan = isinstance(label, Real) and label != label
    return label is None or is_nan or type(label).__name__ in ("NAType", "NaTType")
