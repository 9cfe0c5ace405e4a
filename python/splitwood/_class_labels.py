"""Class labels ⇄ lists for files; the arrays get their dtype back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Byte order, kind and size, as numpy writes them. Other names from a file are not passed to numpy.
_DTYPE = re.compile(r"[<>|=]?(?:i[1248]|u[1248]|f[248]|b1|U[0-9]{1,8})|object", re.ASCII)
# The type of the labels by the kind of their dtype.
_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
# In an array of strings, every label takes the memory of the longest one: far more than in a file.
_MAX_BYTES = 1 << 28


def to_list(classes: NDArray[Any]) -> tuple[list[Any], str]:
    """Get the labels as a list, and the name of their dtype."""
    name = "object" if classes.dtype.hasobject else classes.dtype.str
    labels = classes.tolist()
    kind = classes.dtype.kind
    if (
        _DTYPE.fullmatch(name) is None
        or not all(isinstance(label, _TYPES.get(kind, ())) for label in labels)
        or (kind == "u" and max(labels) >= 1 << 63)
    ):
        raise ValueError(
            f"classes_: labels of dtype {classes.dtype} such as {labels[-1]!r} can't be saved; "
            "integers below 2**63, floats, bools and strings can"
        )
    return labels, name


def to_array(labels: list[Any], name: str | None) -> NDArray[Any]:
    """Convert labels to an array of the named dtype; everything is checked first."""
    kinds = {type(label) for label in labels}
    if len(kinds) != 1 or (kind := kinds.pop()) not in _TYPES.values():
        raise ValueError("model: class labels must be all integers, floats, bools or strings")
    if name is None:
        name = {bool: "|b1", int: "<i8", float: "<f8", str: "U1"}[kind]
        if kind is str:
            name = f"U{max(1, *map(len, labels))}"
    if not isinstance(name, str) or _DTYPE.fullmatch(name) is None:
        raise ValueError(f"model: no class labels have dtype {name!r:.100}")
    dtype = np.dtype(name)
    if _TYPES[dtype.kind] is not kind or len(labels) * dtype.itemsize > _MAX_BYTES:
        raise ValueError(
            f"model: {len(labels)} labels of type {kind.__name__} do not match dtype {name}"
        )
    try:
        array = np.array(labels, dtype=dtype)
    except OverflowError:
        raise ValueError(f"model: a class label does not fit into dtype {name}") from None
    if array.tolist() != labels:
        raise ValueError(f"model: a class label does not fit into dtype {name}")
    return array
