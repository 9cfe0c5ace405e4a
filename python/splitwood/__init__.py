"""Exact decision trees with a compiled core, as drop-in replacements for scikit-learn's.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from splitwood import DecisionTreeClassifier
>>> X, y = load_iris(return_X_y=True)
>>> tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
>>> tree.predict(X[[0, 75, 149]])
array([0, 1, 2])
>>> tree.tree_.node_count
5
"""

from ._core import RunningMedian, __version__
from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
from ._extra_trees import ExtraTreeClassifier, ExtraTreeRegressor
from ._graphviz import export_graphviz
from ._growth import animate_growth, plot_growth
from ._median import running_median
from ._plot import plot_tree
from ._sklearn_bridge import from_sklearn
from ._text import export_text

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "RunningMedian",
    "__version__",
    "animate_growth",
    "export_graphviz",
    "export_text",
    "from_sklearn",
    "plot_growth",
    "plot_tree",
    "running_median",
]
