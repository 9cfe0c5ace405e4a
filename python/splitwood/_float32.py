"""Thresholds for rows in float32: the bridge to scikit-learn and ONNX models need them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def float32_below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round down to float32: as a threshold, the result sends every float32 to the same side."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    down = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > values, down, rounded).astype(np.float64)
