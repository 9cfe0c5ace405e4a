"""The words for a tree's nodes: names, numbers and tests, the same in every text and drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import Estimator
from ._estimators import DecisionTreeClassifier

# From here on, digits after the point say nothing: floats are integers.
_NO_FRACTIONS = 2.0**53
# Categories that a test lists.
_MAX_MEMBERS = 8


class Test(NamedTuple):
    """What an inner node asks: the condition of its left branch, of its right one, and both in a question."""

    left: str
    right: str
    question: str


def number(value: float, decimals: int, *, padded: bool) -> str:
    """A number with so many digits after the point, padded with zeros or as short as it goes.

    Where these digits would change it by more than a tenth, it is written with significant ones instead:
    nothing but 0 reads as 0, whatever the scale.
    """
    rounded = round(float(value), decimals)
    if abs(value) >= _NO_FRACTIONS or abs(rounded - value) > abs(value) / 10.0:
        return f"{value:.{max(decimals, 2)}g}"
    # + 0.0 makes 0.0 of -0.0.
    return f"{rounded + 0.0:.{decimals}f}" if padded else repr(rounded + 0.0)


class Labels:
    """Names and numbers of one estimator, ready to be written at its nodes."""

    def __init__(
        self,
        estimator: Estimator,
        *,
        feature_names: ArrayLike | None,
        unnamed: str,
        class_names: ArrayLike | bool | None,
        decimals: int,
        padded: bool,
        show_missing: bool | None,
        escape: Callable[[str], str] = str,
        at_most: str = "<=",
    ) -> None:
        # The user's words are escaped here, for the language of the output; all others are our own.
        self._feature_names = _feature_names(estimator, feature_names, escape)
        self._unnamed = unnamed
        # A list for each output.
        self.class_names = _class_names(estimator, class_names, escape)
        self._at_most = at_most
        self._decimals = decimals
        self._padded = padded
        tree = estimator.tree_
        self._tree, self._feature, self._threshold = tree, tree.feature, tree.threshold
        self._missing_left = tree.missing_go_to_left
        self._show_missing = (
            missing_goes_its_own_way(estimator) if show_missing is None else show_missing
        )

    def number(self, value: float) -> str:
        return number(value, self._decimals, padded=self._padded)

    def feature(self, index: int) -> str:
        if self._feature_names is None:
            return self._unnamed.format(index)
        return self._feature_names[index]

    def numbers(self, values: NDArray[np.float64]) -> str:
        return "[" + ", ".join(map(self.number, values)) + "]"

    def classes(self, values: NDArray[np.float64]) -> str:
        """The classes with the largest shares, of which there is a row for each output."""
        assert self.class_names is not None
        outputs = zip(self.class_names, values.argmax(axis=1), strict=True)
        names = [labels[place] for labels, place in outputs]
        return names[0] if len(names) == 1 else "[" + ", ".join(names) + "]"

    def test(self, node: int) -> Test:
        """What an inner node asks, and where missing values go if that is to be shown."""
        name = self.feature(self._feature[node])
        if np.isposinf(self._threshold[node]):
            # Every value there is goes left.
            return Test(f"{name} is not missing", f"{name} is missing", f"{name} is not missing")
        if np.isnan(self._threshold[node]):
            members = _members(self._tree.categories_left(node) or [])
            left, right = f"{name} in {members}", f"{name} not in {members}"
        else:
            threshold = self.number(self._threshold[node])
            # Two spaces, so that the thresholds of both branches stand in line.
            left, right = f"{name} {self._at_most} {threshold}", f"{name} >  {threshold}"
        question = left
        if self._show_missing:
            if self._missing_left[node]:
                left = question = f"{left} or missing"
            else:
                question = f"{left}, not missing"
                right = f"{right} or missing"
        return Test(left, right, question)


def _members(categories: list[int]) -> str:
    """A set of categories, the first of them if they are many."""
    words = [str(category) for category in categories[:_MAX_MEMBERS]]
    if len(categories) > _MAX_MEMBERS:
        words.append(f"{len(categories) - _MAX_MEMBERS:,} more")
    return "{" + ", ".join(words) + "}"


def missing_goes_its_own_way(estimator: Estimator) -> bool:
    """Whether missing values ever go to the child with less weight, as they don't in nodes that had none."""
    tree = estimator.tree_
    if np.isposinf(tree.threshold).any():
        return True
    inner = np.flatnonzero(tree.children_left >= 0)
    weight = tree.weighted_n_node_samples
    left, right = weight[tree.children_left[inner]], weight[tree.children_right[inner]]
    goes_left = tree.missing_go_to_left[inner] != 0
    return bool(np.any((left < right) & goes_left | (left > right) & ~goes_left))


def _feature_names(
    estimator: Estimator, given: ArrayLike | None, escape: Callable[[str], str]
) -> Sequence[str] | None:
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
        if given is None:
            return None
    names = list(np.asarray(given, dtype=object))
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"feature_names: the tree has {estimator.n_features_in_} features, got {len(names)} names"
        )
    if not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names: must be strings")
    return [escape(name) for name in names]


def _class_names(
    estimator: Estimator, given: ArrayLike | bool | None, escape: Callable[[str], str]
) -> list[list[str]] | None:
    if not isinstance(estimator, DecisionTreeClassifier) or given is None or given is False:
        return None
    outputs = [estimator.classes_] if estimator.n_outputs_ == 1 else estimator.classes_
    if given is True:
        return [[escape(str(label)) for label in labels] for labels in outputs]
    if len(outputs) > 1:
        raise ValueError("class_names: several outputs have the names of their labels; pass True")
    names = [escape(str(name)) for name in np.asarray(given, dtype=object)]
    if len(names) != len(outputs[0]):
        raise ValueError(
            f"class_names: the tree has {len(outputs[0])} classes, got {len(names)} names"
        )
    return [names]
