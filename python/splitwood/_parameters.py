"""An estimator's parameters → what JSON can hold, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

# What stands for a value that can't be data, such as a function: `fit` refuses it by its parameter's name.
_NOT_STORED = "not stored: "


def encode(value: Any) -> Any:
    """A parameter as JSON has it; what JSON does not have is an object with one key."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | str):
        # A marker that was loaded and is saved again stays one.
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    return {"not stored": type(value).__name__}


def decode_all(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters by name, as they were before they were written; or ``ValueError``."""
    try:
        return {name: _decode(value) for name, value in parameters.items()}
    except RecursionError:
        raise ValueError("model: no parameter is nested so deeply") from None


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
    raise ValueError(f"model: no parameter is written as {value!r:.100}")


def _is_pair(pair: Any) -> bool:
    # Keys are labels, which JSON has as they are.
    return isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list | dict)
