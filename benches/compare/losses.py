"""How well a model's predictions fit, as one number."""

from typing import Any

import numpy as np

from compare.cases import QUANTILE_FOREST, QUANTILES, Case
from compare.systems import Predict


def loss(predict: Predict, case: Case, X: Any, y: np.ndarray) -> float:
    """The mean loss over rows and outputs.

    It is the squared or absolute error, or the Poisson deviance; for quantiles, the mean pinball
    loss; for classes, Brier's score, which of two classes counts the second alone.
    """
    predicted = np.asarray(predict(X), dtype=np.float64)
    if case.model == QUANTILE_FOREST:
        over = predicted - y[:, None]
        shares = np.array(QUANTILES)
        return float(np.mean(np.where(over > 0, (1 - shares) * over, -shares * over)))
    if case.n_classes > 2 or (case.n_classes and case.n_outputs > 1):
        # One array of probabilities per output, and one column per class.
        is_class = y.T[..., None] == np.arange(case.n_classes)
        squares = (predicted - is_class.reshape(predicted.shape)) ** 2
        return float(squares.sum(axis=-1).mean())
    if case.criterion == "absolute_error":
        return float(np.mean(np.abs(predicted - y)))
    if case.criterion == "poisson":
        events = np.where(y > 0, y, 1.0)
        logs = np.where(y > 0, y * np.log(events / np.where(y > 0, predicted, 1.0)), 0.0)
        return float(2 * np.mean(logs - y + predicted))
    return float(np.mean((predicted - y) ** 2))
