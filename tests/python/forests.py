"""Forests that several tests look at, with data for each of them."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import make_classification, make_friedman1

import splitwood

NAMES = [
    "RandomForestRegressor",
    "RandomForestClassifier",
    "ExtraTreesRegressor",
    "ExtraTreesClassifier",
]
QUANTILE_NAMES = ["RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"]
FORESTS = pytest.mark.parametrize("kind", [getattr(splitwood, name) for name in NAMES])
ALL = pytest.mark.parametrize("kind", [getattr(splitwood, n) for n in NAMES + QUANTILE_NAMES])


def theirs(kind):
    """Get scikit-learn's class of the same name."""
    return getattr(sklearn.ensemble, kind.__name__)


def classifies(kind):
    return kind.__name__.endswith("Classifier")


def problem(kind, n=300, seed=0):
    """Draw rows in float32 and targets of the estimator's kind, which depend on some features."""
    if classifies(kind):
        X, y = make_classification(
            n, 8, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=seed
        )
    else:
        X, y = make_friedman1(n, 8, noise=1.0, random_state=seed)
    return X.astype(np.float32), y


def predicted(forest, X):
    """Get the probabilities of a classifier, or the predictions of a regressor."""
    return forest.predict_proba(X) if hasattr(forest, "classes_") else forest.predict(X)
