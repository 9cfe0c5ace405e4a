"""Random problems that the hostile cases are tried on, and the estimators that solve them."""

import numpy as np
import pytest

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor

KINDS = pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
BOTH = pytest.mark.parametrize(
    ("kind", "criterion"),
    [
        (DecisionTreeRegressor, "squared_error"),
        (DecisionTreeClassifier, "gini"),
        (DecisionTreeClassifier, "entropy"),
    ],
)
SIZE = (400, 4)


def random_problem(kind, size=SIZE, seed=0):
    """Draw X and a target of the estimator's kind.

    The first feature has ties, the others have none. The target depends on two features and noise.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=size)
    X[:, 0] = np.round(X[:, 0])
    signal = X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.5 * rng.normal(size=size[0])
    return X, (signal if kind is DecisionTreeRegressor else np.digitize(signal, [-0.7, 0.7]))


def stump(x, y, **settings):
    """Fit a regressor of depth 1 on one feature."""
    X = np.asarray(x)[:, None]
    return DecisionTreeRegressor(max_depth=1, **settings).fit(X, y)
