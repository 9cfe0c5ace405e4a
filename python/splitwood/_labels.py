"""The names, numbers and tests at the nodes of a tree, the same in every text and drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import Estimator
from ._estimators import DecisionTreeClassifier

# All floats from here on are integers, so digits after the point have no meaning.
_NO_FRACTIONS = 2.0**53
# The largest number of categories that a test lists.
_MAX_MEMBERS = 8


class Test(NamedTuple):
    """The test of an inner node: the conditions of its left and right branch, and its label."""

    left: str
    right: str
    question: str


def number(value: float, decimals: int, *, padded: bool) -> str:
    """Write a number with this many digits after the point, padded with zeros or shortened.

    If these digits would change the number by more than a tenth, it is written with significant
    digits instead. Only 0 is written as 0, at every scale.
    """
    rounded = round(float(value), decimals)
    if abs(value) >= _NO_FRACTIONS or abs(rounded - value) > abs(value) / 10.0:
        return f"{value:.{max(decimals, 2)}g}"
    # Adding 0.0 turns -0.0 into 0.0.
    return f"{rounded + 0.0:.{decimals}f}" if padded else repr(rounded + 0.0)


class Labels:
    """The texts at the nodes of one estimator."""

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
        # Names from the user are escaped for the language of the output; all other text is fixed.
        self._feature_names = _feature_names(estimator, feature_names, escape)
        self._unnamed = unnamed
        # One list per output.
        self.class_names = _class_names(estimator, class_names, escape)
        self._at_most = at_most
        self._decimals = decimals
        self._padded = padded
        tree = estimator.tree_
        self._tree, self._feature, self._threshold = tree, tree.feature, tree.threshold
        self._missing_left = tree.missing_go_to_left
        self._categories = getattr(estimator, "categories_", None)
        self._escape = escape
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
        """Get the classes with the largest shares, given one row of shares per output."""
        assert self.class_names is not None
        # An output may have fewer classes than there are places.
        outputs = zip(self.class_names, values, strict=True)
        names = [labels[int(shares[: len(labels)].argmax())] for labels, shares in outputs]
        return names[0] if len(names) == 1 else "[" + ", ".join(names) + "]"

    def test(self, node: int) -> Test:
        """Get the test of an inner node, with the side of missing values if that is shown."""
        name = self.feature(self._feature[node])
        if np.isposinf(self._threshold[node]):
            # All values go left; only missing values go right.
            return Test(f"{name} is not missing", f"{name} is missing", f"{name} is not missing")
        if np.isnan(self._threshold[node]):
            members = self._members(node)
            left, right = f"{name} in {members}", f"{name} not in {members}"
        else:
            threshold = self.number(self._threshold[node])
            # Two spaces align the thresholds of both branches.
            left, right = f"{name} {self._at_most} {threshold}", f"{name} >  {threshold}"
        question = left
        if self._show_missing:
            if self._missing_left[node]:
                left = question = f"{left} or missing"
            else:
                question = f"{left}, not missing"
                right = f"{right} or missing"
        return Test(left, right, question)

    def _members(self, node: int) -> str:
        """List the categories that go left; of many, only the first ones."""
        codes = self._tree.categories_left(node) or []
        known = None if self._categories is None else self._categories[self._feature[node]]
        first = codes[:_MAX_MEMBERS]
        words = [self._escape(str(code if known is None else known[code])) for code in first]
        if len(codes) > _MAX_MEMBERS:
            words.append(f"{len(codes) - _MAX_MEMBERS:,} more")
        return "{" + ", ".join(words) + "}"


def missing_goes_its_own_way(estimator: Estimator) -> bool:
    """Whether any node sends missing values to the child with less weight.

    Nodes without missing values in training never do.
    """
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
            f"feature_names: the tree has {estimator.n_features_in_} features, "
            f"got {len(names)} names"
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
        raise ValueError(
            "class_names: several outputs have the names of their labels only; pass True"
        )
    names = [escape(str(name)) for name in np.asarray(given, dtype=object)]
    if len(names) != len(outputs[0]):
        raise ValueError(
            f"class_names: the tree has {len(outputs[0])} classes, got {len(names)} names"
        )
    return [names]
