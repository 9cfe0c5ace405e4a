"""Labels of categories ⇄ lists for files."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from . import _parameters
from ._categories import Labels, as_array, codes_of

_TYPES = (bool, int, float, str)


def to_lists(categories: Labels) -> list[list[Any] | None]:
    """Convert the labels of each feature to JSON values; None for a numeric feature."""
    return [None if labels is None else _to_list(labels) for labels in categories]


def _to_list(labels: NDArray[Any]) -> list[Any]:
    known = labels.tolist()
    for label in known:
        if type(label) not in _TYPES:
            raise ValueError(
                f"categories_: a label such as {label!r} can't be saved; "
                "numbers, bools and strings can"
            )
    return [_parameters.encode(label) for label in known]


def to_arrays(lists: Any, counts: list[int]) -> Labels:
    """Convert lists of labels to arrays; the numbers of labels must be those of the tree."""
    if not isinstance(lists, list) or len(lists) != len(counts):
        raise ValueError("model: categories must have a list of labels, or none, for each feature")
    return [_to_array(labels, count) for labels, count in zip(lists, counts, strict=True)]


def _to_array(labels: Any, count: int) -> NDArray[Any] | None:
    if labels is None and count == 0:
        return None
    if not isinstance(labels, list) or len(labels) != count:
        raise ValueError(f"model: a feature with {count} categories must have {count} labels")
    decoded = _parameters.decode_all({"labels": labels})["labels"]
    if not all(type(label) in _TYPES and label == label for label in decoded):
        raise ValueError("model: labels of categories must be numbers, bools or strings")
    array = as_array(decoded)
    if len(codes_of(array)) != count:
        raise ValueError("model: two categories have the same label")
    return array
