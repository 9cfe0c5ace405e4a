"""Parameters of an estimator ⇄ JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

# This prefix marks a value that can't be stored, such as a function. `fit` refuses such a string.
_NOT_STORED = "not stored: "
# How deep JSON objects and lists may be nested, the object of all parameters included. No estimator
# takes a parameter with more than six levels. The interpreter's own limit does not serve: in some
# versions it is higher than the stack of a thread allows.
MAX_NESTING = 100


def encode(value: Any, levels: int = MAX_NESTING) -> Any:
    """Convert a parameter to a JSON value; types that JSON lacks become objects with one key.

    More than ``levels`` nested values raise ``ValueError``.
    """
    if levels < 0:
        raise _too_deep()
    value = _plain(value)
    if value is None or isinstance(value, bool | str):
        # A marker that was loaded is saved as it is.
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list | tuple):
        return [encode(item, levels - 1) for item in value]
    if isinstance(value, Mapping):
        pairs = value.items()
        return {"dict": [[encode(key), encode(item, levels - 1)] for key, item in pairs]}
    return {"not stored": type(value).__name__}


def _plain(value: Any) -> Any:
    """Convert arrays, and the columns and indexes of data frames, to lists."""
    # numpy and pandas have the first method, polars the second one, pyarrow the third one.
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method) and not isinstance(value, type):
            return getattr(value, method)()
    return list(value) if isinstance(value, range) else value


def encode_all(parameters: dict[str, Any]) -> dict[str, Any]:
    """Convert parameters to JSON values; those that `decode_all` refuses raise ``ValueError``."""
    encoded = {name: encode(value) for name, value in parameters.items()}
    _check_nesting(encoded)
    return encoded


def decode_all(parameters: dict[str, Any]) -> dict[str, Any]:
    """Convert JSON values back to parameters; invalid ones raise ``ValueError``."""
    _check_nesting(parameters)
    return {name: _decode(value) for name, value in parameters.items()}


def _check_nesting(parameters: dict[str, Any]) -> None:
    """Refuse too many levels, level by level: recursion would need the stack that is in doubt."""
    level: list[Any] = [parameters]
    for _ in range(MAX_NESTING):
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"model: parameters are nested more than {MAX_NESTING} levels deep")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"float": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case {"not stored": str(kind)}:
            return _NOT_STORED + kind
        case {"dict": list(pairs)} if all(map(_is_pair, pairs)):
            return {key: _decode(item) for key, item in pairs}
    raise ValueError(f"model: a parameter can't be written as {value!r:.100}")


def _is_pair(pair: Any) -> bool:
    # The keys are class labels: numbers, bools or strings.
    return isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list | dict)
