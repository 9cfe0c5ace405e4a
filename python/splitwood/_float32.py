"""Thresholds for rows in float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def float32_below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest float32 at most as large as each value: as a threshold, it parts all float32 alike."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    down = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > values, down, rounded).astype(np.float64)
