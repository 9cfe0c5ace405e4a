"""Exact decision trees and forests with a compiled core: drop-in replacements for scikit-learn's.

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

from typing import TYPE_CHECKING, Any

from ._core import RunningMedian, __version__
from ._median import running_median
from ._model import Model
from ._storage import from_dict, load

if TYPE_CHECKING:
    from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
    from ._extra_trees import ExtraTreeClassifier, ExtraTreeRegressor
    from ._forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from ._graphviz import export_graphviz
    from ._growth import animate_growth, plot_growth
    from ._plot import plot_tree
    from ._quantile_forests import ExtraTreesQuantileRegressor, RandomForestQuantileRegressor
    from ._skl2onnx import register_skl2onnx
    from ._sklearn_bridge import from_sklearn
    from ._text import export_text

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesQuantileRegressor",
    "ExtraTreesRegressor",
    "Model",
    "RandomForestClassifier",
    "RandomForestQuantileRegressor",
    "RandomForestRegressor",
    "RunningMedian",
    "__version__",
    "animate_growth",
    "export_graphviz",
    "export_text",
    "from_dict",
    "from_sklearn",
    "load",
    "plot_growth",
    "plot_tree",
    "register_skl2onnx",
    "running_median",
]

# Modules that need scikit-learn are imported when one of these names is first used: to load a model
# and to predict, numpy is enough.
_LAZY = {
    "DecisionTreeClassifier": "_estimators",
    "DecisionTreeRegressor": "_estimators",
    "ExtraTreeClassifier": "_extra_trees",
    "ExtraTreeRegressor": "_extra_trees",
    "ExtraTreesClassifier": "_forests",
    "ExtraTreesQuantileRegressor": "_quantile_forests",
    "ExtraTreesRegressor": "_forests",
    "RandomForestClassifier": "_forests",
    "RandomForestQuantileRegressor": "_quantile_forests",
    "RandomForestRegressor": "_forests",
    "animate_growth": "_growth",
    "export_graphviz": "_graphviz",
    "export_text": "_text",
    "from_sklearn": "_sklearn_bridge",
    "plot_growth": "_growth",
    "plot_tree": "_plot",
    "register_skl2onnx": "_skl2onnx",
}
_PACKAGE_NAMES = (
    "__doc__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__path__",
    "__spec__",
)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(f".{_LAZY[name]}", __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("sklearn", "scipy"):
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs scikit-learn: pip install scikit-learn", name="sklearn"
        ) from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, and those that the import system gives to every package."""
    return sorted([*__all__, *_PACKAGE_NAMES])
