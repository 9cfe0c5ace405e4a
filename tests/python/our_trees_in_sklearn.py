"""A plugin of pytest: scikit-learn's ensembles and tests use splitwood's trees as their own.

It must be imported before scikit-learn's test modules: ``pytest -p our_trees_in_sklearn``.
"""

import sklearn.ensemble._bagging
import sklearn.ensemble._iforest
import sklearn.ensemble._weight_boosting
import sklearn.tree

import splitwood

NAMES = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
]
MODULES = [
    sklearn.tree,
    sklearn.ensemble._bagging,
    sklearn.ensemble._iforest,
    sklearn.ensemble._weight_boosting,
]

for module in MODULES:
    for name in NAMES:
        if hasattr(module, name):
            setattr(module, name, getattr(splitwood, name))
