"""``export_text``, as in scikit-learn but for trees of any depth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import Estimator, check_count, check_max_depth, check_tree
from ._labels import Labels
from ._outline import Shown, outline


def export_text(
    decision_tree: Estimator,
    *,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_missing: bool | None = None,
) -> str:
    """Write the rules of a tree as text.

    Parameters
    ----------
    decision_tree : DecisionTreeRegressor or DecisionTreeClassifier
        A fitted tree.
    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features. None means those of the fit or, if the fit had none, "feature_0",
        "feature_1" and so on.
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of ``classes_``. None shows the labels.
    max_depth : int, default=10
        Deepest level of a split that is written; the root is at depth 0. A line with its depth and
        number of nodes stands for a deeper branch. None means the whole tree.
    spacing : int, default=3
        Number of characters per level of indentation.
    decimals : int, default=2
        Digits after the decimal point. A number that these would change by more than a tenth is
        written with significant digits instead.
    show_weights : bool, default=False
        Whether the leaves of a classifier show the weight of each class.
    show_missing : bool, default=None
        Whether to show the side to which missing values go. None shows it unless all of them go to
        the child with more weight, as they do in nodes without missing values in training.

    Returns
    -------
    report : str
        The rules, one per line.

    See Also
    --------
    export_graphviz : A graph of the tree.
    plot_tree : A drawing of the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from splitwood import DecisionTreeClassifier, export_text
    >>> iris = load_iris(as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target)
    >>> print(export_text(tree, class_names=iris.target_names))
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: versicolor
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: virginica
    <BLANKLINE>
    """
    estimator = check_tree(decision_tree, "export_text")
    max_depth = check_max_depth(max_depth)
    spacing = check_count("spacing", spacing, 1)
    labels = Labels(
        estimator,
        feature_names=feature_names,
        unnamed="feature_{}",
        class_names=True if class_names is None else class_names,
        decimals=check_count("decimals", decimals, 0),
        padded=True,
        show_missing=show_missing,
    )
    describe = _leaf_words(estimator, labels, show_weights)
    shown = outline(estimator.tree_, max_depth)
    lines = []
    for item in shown:
        if item.parent is not None:
            parent = shown[item.parent]
            test = labels.test(parent.node)
            lines.append(f"{_indent(parent, spacing)} {test.left if item.is_left else test.right}")
        if item.is_leaf:
            lines.append(f"{_indent(item, spacing)} {describe(item.node)}")
        elif item.is_cut:
            lines.append(
                f"{_indent(item, spacing)} truncated branch of depth {item.height}, "
                f"{item.size:,} nodes"
            )
    return "\n".join(lines) + "\n"


def _indent(item: Shown, spacing: int) -> str:
    return ("|" + " " * spacing) * item.depth + "|" + "-" * spacing


def _leaf_words(estimator: Estimator, labels: Labels, show_weights: bool) -> Callable[[int], str]:
    """Get a function that describes the prediction of a leaf, given its node id."""
    tree = estimator.tree_
    values, weight = tree.value, tree.weighted_n_node_samples

    def describe(node: int) -> str:
        if labels.class_names is None:
            return f"value: {labels.numbers(values[node, :, 0])}"
        words = f"class: {labels.classes(values[node])}"
        if show_weights:
            with np.errstate(over="ignore", invalid="ignore"):
                weights = ", ".join(map(labels.numbers, values[node] * weight[node]))
            words = f"weights: {weights} {words}"
        return words

    return describe
