"""Fitted estimators ⇄ files and dicts.

Both hold the same parts (`Stored`). The core checks every byte of a file; this module checks the
JSON in it, and dicts as a whole. scikit-learn is imported only to create an estimator.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from . import _category_labels, _class_labels, _core, _parameters
from ._categories import codes_of
from ._forest_leaves import ForestLeaves
from ._model import ClassificationModel, Model, QuantileModel, RegressionModel
from ._tree_state import CategoryState, TreeState

if TYPE_CHECKING:
    from ._estimators import DecisionTreeClassifier, DecisionTreeRegressor
    from ._forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from ._quantile_forests import ExtraTreesQuantileRegressor, RandomForestQuantileRegressor

    Estimator: TypeAlias = (
        DecisionTreeRegressor
        | DecisionTreeClassifier
        | RandomForestRegressor
        | RandomForestClassifier
        | ExtraTreesRegressor
        | ExtraTreesClassifier
        | RandomForestQuantileRegressor
        | ExtraTreesQuantileRegressor
    )

# The estimators that can be stored, and whether they are classifiers.
_TREES = {
    "DecisionTreeRegressor": False,
    "DecisionTreeClassifier": True,
    "ExtraTreeRegressor": False,
    "ExtraTreeClassifier": True,
}
_FORESTS = {
    "RandomForestRegressor": False,
    "RandomForestClassifier": True,
    "ExtraTreesRegressor": False,
    "ExtraTreesClassifier": True,
}
# Forests that keep the training rows of their leaves.
_QUANTILE_FORESTS = {
    "RandomForestQuantileRegressor": False,
    "ExtraTreesQuantileRegressor": False,
}
_CLASSIFIES = _TREES | _FORESTS | _QUANTILE_FORESTS
_FORMAT = "splitwood"
FORMAT_VERSION = (1, 2)
# How many rows each node keeps, these rows, and the targets of all training rows.
LeafRows = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
# The upper halves of NaNs that stand for a set of categories instead of a threshold: a bitmap, or a
# list.
_SETS = {"set": 0x7FF8_0000, "list": 0x7FF8_0001}
_NOT_FINITE = {"inf": np.inf, "-inf": -np.inf}
# A string of JSON, also one that does not end, or a bracket. The possessive repeats never go back,
# so that a search takes time in proportion to the length of the text, whatever it holds.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True)
class Stored:
    """A fitted estimator as data."""

    estimator: str
    # By name, as JSON values.
    parameters: dict[str, Any]
    fitted: _core.Tree | _core.Forest
    feature_names: list[str] | None
    # One list of labels per output, and numpy's name of its dtype; None for a regressor.
    classes: list[list[Any]] | None
    classes_dtype: list[str] | None
    # One list of labels per feature, None for a numeric feature. None instead of the list if no
    # feature is categorical, or if only codes are known.
    categories: list[list[Any] | None] | None
    # "float32" if X of the fit was; None for float64.
    x_dtype: str | None
    # The training rows in the leaves of a quantile forest.
    leaf_rows: LeafRows | None

    @classmethod
    def of(cls, estimator: Any) -> Stored:
        """Collect the parts of a fitted estimator; a subclass is stored as its base class."""
        if getattr(estimator, "_leaf_targets", None) is not None:
            warnings.warn(
                "the targets of the leaves are not stored; call keep_leaf_targets again after "
                "loading, or use a pickle",
                stacklevel=4,
            )
        kind = next(base for base in type(estimator).__mro__ if _is_ours(base))
        names = getattr(estimator, "feature_names_in_", None)
        categories = getattr(estimator, "categories_", None)
        classes = dtypes = None
        if _CLASSIFIES[kind.__name__]:
            outputs = [estimator.classes_] if estimator.n_outputs_ == 1 else estimator.classes_
            classes, dtypes = map(list, zip(*map(_class_labels.to_list, outputs), strict=True))
        return cls(
            estimator=kind.__name__,
            parameters=_parameters.encode_all(
                {
                    name: getattr(estimator, name)
                    for name in kind._get_param_names()  # type: ignore[attr-defined]
                }
            ),
            fitted=getattr(estimator, estimator._fitted),
            feature_names=None if names is None else names.tolist(),
            classes=classes,
            classes_dtype=dtypes,
            categories=None if categories is None else _category_labels.to_lists(categories),
            x_dtype="float32" if estimator._x_dtype == "float32" else None,
            leaf_rows=estimator._leaves.parts() if kind.__name__ in _QUANTILE_FORESTS else None,
        )

    def attributes(self) -> dict[str, Any]:
        """Get the attributes that `fit` sets."""
        fitted = self.fitted
        attributes: dict[str, Any] = {
            "n_features_in_": fitted.n_features,
            "n_outputs_": fitted.n_outputs,
            "is_categorical_": None,
            "categories_": None,
        }
        if isinstance(fitted, _core.Forest):
            attributes |= {"forest_": fitted, "_bags": []}
            if self.leaf_rows is not None:
                sizes, rows, targets = self.leaf_rows
                leaves = ForestLeaves.of_rows(sizes, rows, fitted.node_counts, targets)
                attributes |= {"_leaves": leaves, "_in_core": []}
        else:
            attributes["tree_"] = fitted
        if self.categories is not None:
            tree = fitted.tree(0) if isinstance(fitted, _core.Forest) else fitted
            known = tree._state()["categories"]
            counts = [0] * fitted.n_features if known is None else known["counts"]
            labels = _category_labels.to_arrays(self.categories, counts)
            attributes |= {
                "is_categorical_": np.array([array is not None for array in labels]),
                "categories_": labels,
                "_codes": [None if array is None else codes_of(array) for array in labels],
            }
        if self.x_dtype is not None:
            attributes["_x_dtype"] = self.x_dtype
        if self.feature_names is not None:
            attributes["feature_names_in_"] = np.array(self.feature_names, dtype=object)
        if self.classes is not None:
            dtypes: list[Any] = self.classes_dtype or [None] * len(self.classes)
            classes = list(map(_class_labels.to_array, self.classes, dtypes))
            # For one output, scikit-learn has no list of outputs.
            n_classes = list(map(len, classes))
            if len(classes) == 1:
                attributes |= {"classes_": classes[0], "n_classes_": n_classes[0]}
            else:
                # As in scikit-learn, a tree has an array and a forest a list.
                is_forest = isinstance(fitted, _core.Forest)
                attributes["classes_"] = classes
                attributes["n_classes_"] = n_classes if is_forest else np.array(n_classes)
        return attributes

    def as_model(self) -> Model:
        kind: type[Model] = RegressionModel if self.classes is None else ClassificationModel
        if self.leaf_rows is not None:
            kind = QuantileModel
        return kind(self.attributes(), _parameters.decode_all(self.parameters))

    def as_estimator(self) -> Any:
        kind = getattr(import_module(__package__), self.estimator)
        known = kind._get_param_names()
        if unknown := sorted(self.parameters.keys() - known):
            warnings.warn(
                f"the model was saved with {', '.join(unknown)}, which {self.estimator} does not "
                "have in this version; predictions are the same, but another fit ignores it",
                stacklevel=4,
            )
        stored = {name: value for name, value in self.parameters.items() if name in known}
        estimator = kind(**_parameters.decode_all(stored))
        estimator.__dict__.update(self.attributes())
        return estimator


@overload
def load(path: str | os.PathLike[str], *, as_estimator: Literal[True]) -> Estimator: ...
@overload
def load(path: str | os.PathLike[str], *, as_estimator: Literal[False]) -> Model: ...
@overload
def load(
    path: str | os.PathLike[str], *, as_estimator: bool | None = None
) -> Estimator | Model: ...
def load(path: str | os.PathLike[str], *, as_estimator: bool | None = None) -> Any:
    """Load an estimator from a file that its method ``save`` has written.

    Unlike a pickle, the file may come from an untrusted source: everything is checked before it is
    used, and no code is run. A damaged file is refused.

    Parameters
    ----------
    path : str or path-like
        The file.
    as_estimator : bool, default=None
        None gives the fitted estimator if scikit-learn is installed, and otherwise a `Model`, which
        has the same predictions and needs only numpy. True always gives the estimator. False
        always gives a `Model`, and does not import scikit-learn.

    Returns
    -------
    model : object
        The saved tree or forest, or a `Model`. A parameter that a file can't hold, such as a
        callable, is a string that says so, and `fit` refuses it.

    Examples
    --------
    >>> import tempfile, pathlib, splitwood
    >>> tree = splitwood.DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.splitwood"
    >>> tree.save(path)
    >>> splitwood.load(path).predict([[0.0], [4.0]])
    array(['no', 'yes'], dtype='<U3')
    """
    return _revive(_read(path), as_estimator)


@overload
def from_dict(data: dict[str, Any], *, as_estimator: Literal[True]) -> Estimator: ...
@overload
def from_dict(data: dict[str, Any], *, as_estimator: Literal[False]) -> Model: ...
@overload
def from_dict(data: dict[str, Any], *, as_estimator: bool | None = None) -> Estimator | Model: ...
def from_dict(data: dict[str, Any], *, as_estimator: bool | None = None) -> Any:
    """Create an estimator from a dict that its method ``to_dict`` has returned.

    The dict may have been stored as JSON. Everything is checked before it is used, and no code is
    run.

    Parameters
    ----------
    data : dict
        The result of ``to_dict``.
    as_estimator : bool, default=None
        None gives the fitted estimator if scikit-learn is installed, and otherwise a `Model`; True
        always gives the estimator, False always a `Model`. See `load`.

    Returns
    -------
    model : object
        The converted tree or forest, the same to the last bit, or a `Model`.

    Examples
    --------
    >>> import json, splitwood
    >>> tree = splitwood.DecisionTreeRegressor().fit([[1.0], [2.0]], [5.0, 9.0])
    >>> text = json.dumps(tree.to_dict())
    >>> splitwood.from_dict(json.loads(text)).predict([[0.0], [4.0]])
    array([5., 9.])
    """
    return _revive(_undict(data), as_estimator)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file. A write that fails leaves no incomplete file."""
    stored = Stored.of(estimator)
    about: dict[str, Any] = {
        "estimator": stored.estimator,
        "splitwood": _core.__version__,
        "parameters": stored.parameters,
    }
    if stored.classes_dtype is not None:
        about["classes_dtype"] = stored.classes_dtype
    if stored.categories is not None:
        about["categories"] = stored.categories
    if stored.x_dtype is not None:
        about["x_dtype"] = stored.x_dtype
    text = json.dumps(about, allow_nan=False)
    _core.write_model(
        path, stored.fitted, stored.classes, stored.feature_names, text, stored.leaf_rows
    )


def to_dict(estimator: Any) -> dict[str, Any]:
    """Convert a fitted estimator to lists, numbers and strings."""
    stored = Stored.of(estimator)
    fitted = stored.fitted
    if isinstance(fitted, _core.Forest):
        states = [fitted.tree(number)._state() for number in range(fitted.n_trees)]
    else:
        states = [fitted._state()]
    data = {
        "format": _FORMAT,
        "version": [FORMAT_VERSION[0], _minor_version(stored, states)],
        "estimator": stored.estimator,
        "splitwood": _core.__version__,
        "parameters": stored.parameters,
        "n_features": fitted.n_features,
        "n_outputs": fitted.n_outputs,
        "feature_names": stored.feature_names,
        "classes": stored.classes,
        "classes_dtype": stored.classes_dtype,
        "categories": stored.categories,
    }
    if isinstance(fitted, _core.Forest):
        data["trees"] = [_tree_out(state) for state in states]
    else:
        data["tree"] = _tree_out(states[0])
    if stored.leaf_rows is not None:
        sizes, rows, targets = (part.tolist() for part in stored.leaf_rows)
        data["leaves"] = {"sizes": sizes, "rows": rows, "targets": targets}
    return data if stored.x_dtype is None else data | {"x_dtype": stored.x_dtype}


def _tree_out(tree: TreeState) -> dict[str, Any]:
    weight = tree["weighted_n_node_samples"]
    return {
        "feature": tree["feature"].tolist(),
        "threshold": _thresholds_out(tree["threshold"]),
        "missing_go_to_left": tree["missing_go_to_left"].astype(bool).tolist(),
        "children_right": tree["children_right"].tolist(),
        "value": tree["value"].reshape(-1, tree["n_values"]).tolist(),
        "impurity": _numbers_out(tree["impurity"]),
        "n_node_samples": tree["n_node_samples"].tolist(),
        "weighted_n_node_samples": None if weight is None else _numbers_out(weight),
        "categories": tree["categories"],
    }


def _minor_version(stored: Stored, states: list[TreeState]) -> int:
    """Get the first minor version that has all that is stored."""
    if stored.leaf_rows is not None:
        return 2
    return 1 if isinstance(stored.fitted, _core.Forest) or any(map(_has_lists, states)) else 0


def _has_lists(state: TreeState) -> bool:
    """Whether sets of categories are lists, which version 0 does not know."""
    threshold = state["threshold"]
    forms = threshold.view(np.uint64)[np.isnan(threshold)] >> np.uint64(32)
    return bool((forms == _SETS["list"]).any())


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __package__ and kind.__name__ in _CLASSIFIES


def _revive(stored: Stored, as_estimator: bool | None) -> Any:
    if as_estimator is None:
        as_estimator = _has_sklearn()
    return stored.as_estimator() if as_estimator else stored.as_model()


def _has_sklearn() -> bool:
    try:
        from . import _estimators  # noqa: F401
    except ModuleNotFoundError as error:
        # It is not installed. Errors of a broken installation are raised.
        if (error.name or "").partition(".")[0] not in ("sklearn", "scipy"):
            raise
        return False
    return True


# ---- files ---------------------------------------------------------------------------------------


def _read(path: str | os.PathLike[str]) -> Stored:
    fitted, classes, feature_names, text, leaf_rows = _core.read_model(path)
    kind = "RandomForest" if isinstance(fitted, _core.Forest) else "DecisionTree"
    if leaf_rows is not None:
        kind = "RandomForestQuantile"
    by_task = f"{kind}Regressor" if classes is None else f"{kind}Classifier"
    about: Any = {"estimator": by_task, "parameters": {}}
    if text is not None:
        # One level more than the parameters, for the object around them.
        if _is_nested(text, _parameters.MAX_NESTING + 1):
            raise ValueError(f"model: {os.fspath(path)}: section 'params' is nested too deeply")
        try:
            about = json.loads(text)
        except ValueError:
            raise ValueError(f"model: {os.fspath(path)}: section 'params' is not JSON") from None
    # Later minor versions may add keys, which are ignored: predictions do not depend on them.
    match about:
        case {"estimator": str(estimator), "parameters": dict(parameters)}:
            dtypes, categories = about.get("classes_dtype"), about.get("categories")
            x_dtype = about.get("x_dtype")
        case _:
            raise ValueError(
                f"model: {os.fspath(path)}: section 'params' does not name an estimator"
            )
    return _checked(
        Stored(
            estimator,
            parameters,
            fitted,
            feature_names,
            classes,
            dtypes,
            categories,
            x_dtype,
            leaf_rows,
        )
    )


def _is_nested(text: str, limit: int) -> bool:
    """Whether JSON has more than ``limit`` nested objects and lists.

    The parser of the standard library recurses. On a thread with a small stack, some versions of
    Python crash before they reach their own limit, so the levels are counted before the text is
    parsed.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > limit:
                return True
        elif token[0] in "]}":
            depth -= 1
    return False


def _checked(stored: Stored) -> Stored:
    """Check that the parts are consistent. The core has checked the tree."""
    known = _FORESTS if isinstance(stored.fitted, _core.Forest) else _TREES
    if stored.leaf_rows is not None:
        known = _QUANTILE_FORESTS
    classifies = known.get(stored.estimator)
    if classifies is None or classifies != (stored.classes is not None):
        raise ValueError(
            f"model: {stored.estimator!r:.100} is no estimator of this version for "
            f"{'a regression' if stored.classes is None else 'classes'}"
        )
    dtypes = stored.classes_dtype
    if dtypes is not None and not (
        stored.classes is not None
        and isinstance(dtypes, list)
        and len(dtypes) == len(stored.classes)
    ):
        raise ValueError("model: classes_dtype must name a dtype for each output")
    if stored.x_dtype not in (None, "float32"):
        raise ValueError('model: x_dtype must be "float32", or be left out for float64')
    return stored


# ---- dicts ---------------------------------------------------------------------------------------


def _undict(data: dict[str, Any]) -> Stored:
    match data:
        case {"format": "splitwood", "version": [int(major), int(minor)]}:
            if major != FORMAT_VERSION[0]:
                raise ValueError(
                    f"model: it is written in format {major}.{minor}, and this version of "
                    f"splitwood reads {FORMAT_VERSION[0]}.x; use the version that wrote it, "
                    "or a newer one"
                )
        case _:
            raise ValueError(
                "model: this is not a result of to_dict: format and version are missing"
            )
    _refuse_others(
        data,
        "format version estimator splitwood parameters n_features n_outputs feature_names classes "
        "classes_dtype categories tree trees leaves x_dtype",
    )
    estimator = _take(data, "estimator", lambda value: isinstance(value, str))
    parameters = _take(data, "parameters", lambda value: isinstance(value, dict))
    n_features = _take(data, "n_features", lambda value: type(value) is int and 0 < value < 1 << 31)
    names = _take(data, "feature_names", lambda value: value is None or _is_list_of(str, value))
    if names is not None and len(names) != n_features:
        raise ValueError(f"model: {len(names)} names for {n_features} features")
    classes = _take(data, "classes", lambda value: value is None or _is_list_of(list, value))
    dtypes = _take(data, "classes_dtype", lambda value: value is None or _is_list_of(str, value))
    n_outputs = _take(data, "n_outputs", lambda value: type(value) is int and 0 < value < 1 << 31)
    if ("tree" in data) == ("trees" in data):
        raise ValueError("model: there must be either a tree or trees")
    if "tree" in data:
        trees = [_tree(_take(data, "tree", _is_dict), n_features, n_outputs)]
    else:
        known = _take(data, "trees", lambda value: _is_list_of(dict, value) and len(value) > 0)
        trees = [_tree(tree, n_features, n_outputs) for tree in known]
    n_values = 1 if classes is None else max(map(len, classes), default=0)
    if any(tree.max_n_classes != n_values for tree in trees) or (
        classes is not None and len(classes) != n_outputs
    ):
        raise ValueError("model: value, classes and n_outputs are not consistent")
    if classes is not None and not all(_are_shares(tree.value) for tree in trees):
        raise ValueError("model: value must be shares of classes, between 0 and 1")
    categories, x_dtype = data.get("categories"), data.get("x_dtype")
    fitted, leaf_rows = trees[0] if "tree" in data else _joined(trees), None
    if "leaves" in data:
        leaf_rows = _leaf_rows(_take(data, "leaves", _is_dict), n_outputs)
        if classes is not None or not isinstance(fitted, _core.Forest):
            raise ValueError("model: leaves: only a forest for numbers keeps rows of its leaves")
        _core.check_leaf_rows(fitted, leaf_rows)
    return _checked(
        Stored(
            estimator, parameters, fitted, names, classes, dtypes, categories, x_dtype, leaf_rows
        )
    )


def _joined(trees: list[_core.Tree]) -> _core.Forest:
    try:
        return _core.Forest.of_trees(trees)
    except ValueError as error:
        raise ValueError(f"model: {error}") from None


def _are_shares(value: NDArray[np.float64]) -> bool:
    return bool(((value >= 0.0) & (value <= 1.0 + 1e-9)).all())


def _leaf_rows(data: dict[str, Any], n_outputs: int) -> LeafRows:
    _refuse_others(data, "sizes rows targets")
    sizes, rows = (np.array(_counts(name, data, 32), dtype=np.uint32) for name in ("sizes", "rows"))
    targets = _take(data, "targets", lambda value: _is_list_of(list, value))
    if any(len(row) != n_outputs for row in targets):
        raise ValueError("model: targets must have a number per output for each row")
    numbers = _numbers_in("targets", [number for row in targets for number in row])
    return sizes, rows, numbers.reshape(-1, n_outputs)


def _tree(data: dict[str, Any], n_features: int, n_outputs: int) -> _core.Tree:
    _refuse_others(
        data,
        "feature threshold missing_go_to_left children_right value impurity n_node_samples "
        "weighted_n_node_samples categories",
    )
    values = _take(data, "value", lambda value: _is_list_of(list, value) and len(value) > 0)
    n_values = len(values[0])
    if any(len(row) != n_values for row in values):
        raise ValueError("model: value must have the same number of values for each node")
    missing = _take(data, "missing_go_to_left", lambda value: _is_list_of(bool, value))
    weight = data.get("weighted_n_node_samples")
    categories = data.get("categories")
    if categories is not None:
        _refuse_others(categories, "counts sets")
        categories = CategoryState(
            counts=_counts("counts", categories, 32), sets=_counts("sets", categories, 64)
        )
    return _core.Tree._from_state(
        TreeState(
            n_features=n_features,
            n_outputs=n_outputs,
            n_values=n_values,
            feature=_integers("feature", data),
            threshold=_thresholds_in(data.get("threshold")),
            missing_go_to_left=np.array(missing, dtype=np.uint8),
            children_right=_integers("children_right", data),
            value=_numbers_in("value", [number for row in values for number in row]),
            impurity=_numbers_in("impurity", data.get("impurity")),
            n_node_samples=_integers("n_node_samples", data),
            weighted_n_node_samples=(
                None if weight is None else _numbers_in("weighted_n_node_samples", weight)
            ),
            categories=categories,
        )
    )


def _refuse_others(data: dict[str, Any], known: str) -> None:
    if not isinstance(data, dict):
        raise ValueError(f"model: {known.split()} must be in a dict")
    if unknown := sorted(map(str, data.keys() - known.split())):
        raise ValueError(
            f"model: {', '.join(unknown)[:100]} is unknown to this version of splitwood; "
            "use the version that wrote it, or a newer one"
        )


def _take(data: dict[str, Any], name: str, is_right: Callable[[Any], bool]) -> Any:
    if name not in data or not is_right(data[name]):
        raise ValueError(f"model: {name} is missing, or not of the type that to_dict gives it")
    return data[name]


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list_of(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _integers(name: str, data: dict[str, Any]) -> NDArray[np.int64]:
    values = _take(data, name, lambda value: _is_list_of(int, value))
    if not all(-(1 << 63) <= value < 1 << 63 for value in values):
        raise ValueError(f"model: {name} has a number that does not fit into 64 bits")
    return np.array(values, dtype=np.int64)


def _counts(name: str, data: dict[str, Any], bits: int) -> list[int]:
    """Get a list of non-negative integers of at most this many bits."""
    values: list[int] = _take(data, name, lambda value: _is_list_of(int, value))
    if not all(0 <= value < 1 << bits for value in values):
        raise ValueError(f"model: {name} has a number of more than {bits} bits")
    return values


def _thresholds_out(values: NDArray[np.float64]) -> list[Any]:
    """Convert thresholds; a NaN stands for a set of categories, whose place is its lower half."""
    numbers: list[Any] = _numbers_out(values)
    for node in np.flatnonzero(np.isnan(values)):
        form, place = divmod(int(values.view(np.uint64)[node]), 1 << 32)
        numbers[node] = {"list" if form == _SETS["list"] else "set": place}
    return numbers


def _thresholds_in(values: Any) -> NDArray[np.float64]:
    places: dict[int, int] = {}
    if isinstance(values, list):
        values = values.copy()
        for node, value in enumerate(values):
            match value:
                case {"set": int(place), **others} | {"list": int(place), **others} if (
                    not others and 0 <= place < 1 << 32
                ):
                    form = "list" if "list" in value else "set"
                    places[node], values[node] = _SETS[form] << 32 | place, 0.0
    numbers = _numbers_in("threshold", values)
    for node, place in places.items():
        numbers.view(np.uint64)[node] = place
    return numbers


def _numbers_out(values: NDArray[np.float64]) -> list[float | str]:
    """Convert to a list in which numbers that are not finite are strings."""
    numbers = values.tolist()
    return (
        numbers if np.isfinite(values).all() else [n if np.isfinite(n) else str(n) for n in numbers]
    )


def _numbers_in(name: str, values: Any) -> NDArray[np.float64]:
    def number(value: Any) -> float:
        if type(value) is float or type(value) is int:
            return float(value)
        return _NOT_FINITE[value]

    try:
        return np.array([number(value) for value in values], dtype=np.float64)
    except (TypeError, KeyError, OverflowError):
        raise ValueError(f'model: {name} must be a list of numbers, "inf" and "-inf"') from None
