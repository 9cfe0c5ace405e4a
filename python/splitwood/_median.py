"""The median of every prefix of a sequence."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core


def running_median(
    y: ArrayLike, sample_weight: ArrayLike | None = None, quantile: float = 0.5
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the median of every prefix of a sequence, and the absolute error around it.

    The median is a value with at most half of the weight strictly below it and at most half
    strictly above it. If all values between two neighbours are medians, it is their midpoint.
    Weights count by their ratios: 0.1, 0.2 and 0.3 give the same medians as 1, 2 and 3.

    The time is O(n log n) for every order of the values and for all weights.

    Parameters
    ----------
    y : array-like of shape (n,)
        The values; finite.
    sample_weight : array-like of shape (n,), default=None
        Weights, finite and not negative; all equal by default. Values of weight zero are ignored.
    quantile : float, default=0.5
        Level of the quantile, strictly between 0 and 1; 0.5 is the median. At most this share of
        the weight is below the quantile, and at most the rest is above it.

    Returns
    -------
    medians : ndarray of shape (n,)
        Median of the first value, of the first two, of the first three, and so on; NaN until a
        value has a positive weight.
    losses : ndarray of shape (n,)
        Sums of ``weight * abs(y - median)`` over the same values. For levels other than 0.5, sums
        of pinball losses: ``quantile * (y - q)`` for values above the quantile ``q``, and
        ``(1 - quantile) * (q - y)`` for values below it, each times its weight.

    See Also
    --------
    RunningMedian : The median of values that are added and removed.

    Examples
    --------
    >>> from splitwood import running_median
    >>> medians, losses = running_median([3, 1, 9, 6])
    >>> medians
    array([3. , 2. , 3. , 4.5])
    >>> losses
    array([ 0.,  2.,  8., 11.])
    >>> running_median([1, 2, 4], sample_weight=[0.1, 0.2, 0.3])[0]
    array([1., 2., 3.])
    """
    weights = None if sample_weight is None else _vector("sample_weight", sample_weight)
    return _core.running_median(_vector("y", y), weights, quantile)


def _vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name}: must be one-dimensional, got shape {vector.shape}")
    return vector
