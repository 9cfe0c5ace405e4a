"""Checks of an installation: small problems, whose results are compared with their definitions.

The checks are slow and simple: rows walk down a model one by one, a split is compared with every
other split, and a loss is the sum over its rows. They take a second or two and share no code with
the core. Checks of fits need scikit-learn; those of models and medians need only numpy.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from . import _core, _storage
from ._median import running_median
from ._model import ClassificationModel

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
# A function of the targets and the weights of some rows.
Loss = Callable[[Floats, Floats], float]

# Two computations of the same number differ by less than this, relative to its scale.
TOLERANCE = 1e-9
LEVEL = 0.7


class CheckError(Exception):
    """A result that contradicts its definition."""


def checks() -> Iterator[tuple[str, Callable[[], None]]]:
    """List the names of the checks, and functions that raise if a result is wrong."""
    yield "running medians", running_medians
    yield "predictions of models", model_predictions
    yield "model files", model_files
    if not has_sklearn():
        return
    for estimator, criteria in CRITERIA.items():
        for criterion in criteria:
            yield f"{estimator}, {criterion}", _fit_check(estimator, criterion)
    for name, criterion in FORESTS.items():
        yield name, _forest_check(name, criterion)
    yield "categories", categories
    yield "an offset of y", offset
    yield "one thread or all", threads
    yield "saved and loaded", saved_and_loaded


def has_sklearn() -> bool:
    """Whether scikit-learn, which the estimators need, is installed."""
    try:
        import_module("sklearn")
    except ImportError:
        return False
    return True


def require(holds: bool | np.bool_, wrong: str) -> None:
    if not holds:
        raise CheckError(wrong)


# ---- with numpy alone ----------------------------------------------------------------------------


def running_medians() -> None:
    y = np.random.default_rng(1).normal(size=200).round(1) + 1e6
    medians, losses = running_median(y)
    for n in range(1, len(y) + 1):
        require(medians[n - 1] == np.median(y[:n]), f"median of the first {n} values")
        loss = np.abs(y[:n] - np.median(y[:n])).sum()
        require(_near(losses[n - 1], loss, scale=n), f"absolute error of the first {n} values")


def model_predictions() -> None:
    tree, X = _random_tree(depth=7), _random_rows(500)
    model = cast(ClassificationModel, _storage.from_dict(tree, as_estimator=False))
    for kind in (np.float64, np.float32):
        for order in ("C", "F"):
            rows = np.array(X, dtype=kind, order=order)
            leaves = np.array([_walk(model.tree_, row) for row in rows])
            name = f"of {np.dtype(kind)} in {order} order"
            require((model.apply(rows) == leaves).all(), f"leaves of rows {name}")
            shares = np.array(tree["tree"]["value"])[leaves]
            require((model.predict_proba(rows) == shares).all(), f"probabilities of rows {name}")
            likeliest = np.array(["no", "yes"])[shares.argmax(axis=1)]
            require((model.predict(rows) == likeliest).all(), f"classes of rows {name}")


def model_files() -> None:
    model = _storage.from_dict(_random_tree(depth=5), as_estimator=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        about = json.dumps({"estimator": "DecisionTreeClassifier", "parameters": {}})
        _core.write_model(path, model.tree_, [["no", "yes"]], None, about)
        loaded = _storage.load(path, as_estimator=False)
        require(_same_bytes(loaded.tree_, model.tree_), "the tree of a model file")
        file = bytearray(path.read_bytes())
        file[len(file) // 2] ^= 1
        path.write_bytes(file)
        try:
            _storage.load(path, as_estimator=False)
        except ValueError:
            return
    raise CheckError("a damaged model file was loaded")


def _walk(tree: _core.Tree, row: NDArray[Any]) -> int:
    """Find the leaf of a row from the arrays of the tree alone."""
    node, left, right = 0, tree.children_left, tree.children_right
    feature, threshold, missing_left = tree.feature, tree.threshold, tree.missing_go_to_left
    while left[node] >= 0:
        x = float(row[feature[node]])
        goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
        node = left[node] if goes_left else right[node]
    return int(node)


def _random_rows(n: int) -> Floats:
    """Draw rows with ties, missing and infinite cells."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = np.inf
    return X


def _random_tree(depth: int) -> dict[str, Any]:
    """Draw a full tree, as `to_dict` returns it. Some thresholds equal values of the rows."""
    rng = np.random.default_rng(3)
    n = 2 ** (depth + 1) - 1
    right, is_leaf = np.full(n, -1), np.ones(n, dtype=bool)

    # In depth-first order, a branch is its root, then its left half, then its right half.
    def number(root: int, levels: int) -> None:
        if levels > 0:
            right[root], is_leaf[root] = root + 2**levels, False
            number(root + 1, levels - 1)
            number(int(right[root]), levels - 1)

    number(0, depth)
    share = rng.random(n)
    return {
        "format": "splitwood",
        "version": list(_storage.FORMAT_VERSION),
        "estimator": "DecisionTreeClassifier",
        "splitwood": _core.__version__,
        "parameters": {},
        "n_features": 3,
        "n_outputs": 1,
        "feature_names": None,
        "classes": [["no", "yes"]],
        "classes_dtype": ["<U3"],
        "categories": None,
        "tree": {
            "feature": np.where(is_leaf, -2, rng.integers(0, 3, n)).tolist(),
            "threshold": np.where(is_leaf, -2.0, rng.normal(size=n).round(1)).tolist(),
            "missing_go_to_left": (~is_leaf & (rng.random(n) < 0.5)).tolist(),
            "children_right": right.tolist(),
            "value": np.column_stack([share, 1 - share]).tolist(),
            "impurity": [0.0] * n,
            "n_node_samples": [1] * n,
            "weighted_n_node_samples": None,
            "categories": None,
        },
    }


# ---- losses by their definitions -----------------------------------------------------------------


def squared_error(y: Floats, w: Floats) -> float:
    return float((w * (y - np.average(y, weights=w)) ** 2).sum())


def pinball(level: float) -> Loss:
    def loss(y: Floats, w: Floats) -> float:
        # One of the targets is a constant with the least loss.
        above = y[:, None] - y
        return float(
            (w[:, None] * np.maximum(level * above, (level - 1) * above)).sum(axis=0).min()
        )

    return loss


def absolute_error(y: Floats, w: Floats) -> float:
    return 2 * pinball(0.5)(y, w)


def half_poisson_deviance(y: Floats, w: Floats) -> float:
    mean = np.average(y, weights=w)
    if mean == 0:
        return np.inf  # A Poisson distribution has a positive mean: such a child is invalid.
    logs = np.log(np.where(y > 0, y, mean) / mean)
    return float((w * (y * logs - y + mean)).sum())


def gini(y: Floats, w: Floats) -> float:
    share = _shares(y, w)
    return float(w.sum() * (1 - (share**2).sum()))


def entropy(y: Floats, w: Floats) -> float:
    share = _shares(y, w)
    share = share[share > 0]
    return float(-w.sum() * (share * np.log2(share)).sum())


def _shares(y: Floats, w: Floats) -> Floats:
    return np.array([w[y == label].sum() / w.sum() for label in range(3)])


LOSSES: dict[str, Loss] = {
    "squared_error": squared_error,
    "absolute_error": absolute_error,
    "quantile": pinball(LEVEL),
    "poisson": half_poisson_deviance,
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
}
NUMBERS = ("squared_error", "absolute_error", "quantile", "poisson")
CLASSES = ("gini", "entropy", "log_loss")
CRITERIA = {
    "DecisionTreeRegressor": NUMBERS,
    "DecisionTreeClassifier": CLASSES,
    "ExtraTreeRegressor": NUMBERS,
    "ExtraTreeClassifier": CLASSES,
}
# Forests, and a criterion of each.
FORESTS = {
    "RandomForestRegressor": "squared_error",
    "RandomForestClassifier": "gini",
    "ExtraTreesRegressor": "absolute_error",
    "ExtraTreesClassifier": "entropy",
    "RandomForestQuantileRegressor": "squared_error",
    "ExtraTreesQuantileRegressor": "squared_error",
}


# ---- fits ----------------------------------------------------------------------------------------


def _estimator(name: str, **parameters: Any) -> Any:
    return getattr(import_module(__package__), name)(**parameters)


def _problem(criterion: str, n: int) -> tuple[Floats, Floats, Floats]:
    """Draw rows with ties and missing cells, targets (small counts or 3 classes), and weights."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 12, size=(n, 3)).astype(float)
    mean = 1.0 + X[:, 0] + 3.0 * (X[:, 1] > 5)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.poisson(mean).astype(float)
    if criterion in CLASSES:
        y = np.digitize(y, [4, 9]).astype(float)
    return X, y, rng.integers(1, 4, n).astype(float)


def _fit_check(estimator: str, criterion: str) -> Callable[[], None]:
    def check() -> None:
        parameters: dict[str, Any] = {"criterion": criterion}
        if criterion == "quantile":
            parameters["quantile"] = LEVEL
        is_random = estimator.startswith("Extra")
        if is_random:
            parameters["random_state"] = 5
        # A shallow tree of many weighted rows and a fully grown tree without weights use different
        # kernels.
        for n, max_depth in ((600, 2), (80, None)):
            X, y, w = _problem(criterion, n)
            w = w if max_depth else np.ones(n)
            model = _estimator(estimator, max_depth=max_depth, **parameters)
            tree = model.fit(X, y, w if max_depth else None).tree_
            require(tree.node_count > 1, "a tree of one leaf")
            require(max_depth in (None, tree.max_depth), "the depth")
            _check_tree(tree, X, y, w, criterion, is_whole=max_depth is None, is_random=is_random)

    return check


def _check_tree(
    tree: _core.Tree,
    X: Floats,
    y: Floats,
    w: Floats,
    criterion: str,
    *,
    is_whole: bool,
    is_random: bool,
) -> None:
    """Check the numbers of each node against its rows, its split against all others, and leaves."""
    loss = LOSSES[criterion]
    branches = [(0, np.arange(len(y)))]
    while branches:
        node, rows = branches.pop()
        here = loss(y[rows], w[rows])
        require(tree.n_node_samples[node] == len(rows), f"number of rows of node {node}")
        impurity = tree.impurity[node] * w[rows].sum()
        require(_near(impurity, here, scale=w.sum()), f"impurity of node {node}")
        _check_value(tree.value[node, 0], y[rows], w[rows], criterion, f"value of node {node}")
        is_leaf = tree.children_left[node] < 0
        if is_leaf:
            is_final = (
                not is_whole
                or np.ptp(y[rows]) == 0
                or min(_split_losses(X, y, w, rows, loss)) == np.inf
            )
            require(is_final, f"node {node} is a leaf too early")
            continue
        x = X[rows, tree.feature[node]]
        missing_left = tree.missing_go_to_left[node] != 0
        goes_left = np.where(np.isnan(x), missing_left, x <= tree.threshold[node])
        left, right = rows[goes_left], rows[~goes_left]
        require(min(len(left), len(right)) > 0, f"node {node} separates no rows")
        if not is_random:
            found = loss(y[left], w[left]) + loss(y[right], w[right])
            best = min(_split_losses(X, y, w, rows, loss))
            require(_near(found, best, scale=here), f"there is a better split of node {node}")
        branches.append((int(tree.children_left[node]), left))
        branches.append((int(tree.children_right[node]), right))


def _check_value(value: Floats, y: Floats, w: Floats, criterion: str, name: str) -> None:
    """Check that a value is the shares of the classes, the mean, or has the least loss."""
    if criterion in CLASSES:
        right = np.allclose(value, _shares(y, w), rtol=TOLERANCE, atol=0)
    elif criterion in ("squared_error", "poisson"):
        right = _near(value[0], np.average(y, weights=w))
    else:
        level = LEVEL if criterion == "quantile" else 0.5
        loss = (w * np.maximum(level * (y - value[0]), (level - 1) * (y - value[0]))).sum()
        right = _near(loss, pinball(level)(y, w), scale=w.sum())
    require(right, name)


def _split_losses(X: Floats, y: Floats, w: Floats, rows: Rows, loss: Loss) -> Iterator[float]:
    """Compute the loss of some rows after every split of them; at first, an infinite one."""
    yield np.inf
    for left, right in _splits(X, rows):
        yield loss(y[left], w[left]) + loss(y[right], w[right])


def _splits(X: Floats, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """List every split of rows by one feature, with missing values on either side."""
    for x in X[rows].T:
        is_missing = np.isnan(x)
        values = np.unique(x[~is_missing])
        for value in values:
            for missing_left in {False, bool(is_missing.any())}:
                goes_left = np.where(is_missing, missing_left, x <= value)
                if not goes_left.all():
                    yield rows[goes_left], rows[~goes_left]


def _forest_check(name: str, criterion: str) -> Callable[[], None]:
    def check() -> None:
        X, y, _ = _problem(criterion, 120)
        settings = {"n_estimators": 4, "bootstrap": True, "max_features": None, "random_state": 5}
        forest = _estimator(name, criterion=criterion, max_depth=3, **settings).fit(X, y)
        is_random = name.startswith("Extra")
        for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            counts = np.bincount(bag, minlength=len(y)).astype(float)
            kept = counts > 0
            parts = (X[kept], y[kept], counts[kept])
            _check_tree(tree.tree_, *parts, criterion, is_whole=False, is_random=is_random)
        rows = X[:20]
        if "Quantile" in name:
            found = forest.predict(rows, quantiles=[0.0, 0.3, 1.0])
            expected = np.array([np.quantile(t, [0.0, 0.3, 1.0]) for t in _targets(forest, X, y)])
        elif criterion in CLASSES:
            found = forest.predict_proba(rows)
            expected = np.mean([tree.predict_proba(rows) for tree in forest.estimators_], axis=0)
        else:
            found = forest.predict(rows)
            expected = np.mean([tree.predict(rows) for tree in forest.estimators_], axis=0)
        require(np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE), "predictions")

    return check


def _targets(forest: Any, X: Floats, y: Floats) -> list[Floats]:
    """Collect the targets in the leaves of the first 20 rows, over all trees."""
    targets: list[list[Floats]] = [[] for _ in range(20)]
    for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        leaves = tree.apply(X)
        for row, found in enumerate(targets):
            found.append(y[bag[leaves[bag] == leaves[row]]])
    return [np.concatenate(found) for found in targets]


def categories() -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 7, 120)
    labels = np.array(list("abcdefg"), dtype=object)[codes]
    y = rng.normal(size=7)[codes] + rng.normal(size=120)
    stump = _estimator(
        "DecisionTreeRegressor", max_depth=1, categorical_features=[0], categorical_smoothing=0.0
    )
    leaves = stump.fit(labels[:, None], y).apply(labels[:, None])
    found = _squared_error_of_sides(y, leaves == 1)
    sets = [chosen for size in range(1, 7) for chosen in combinations(range(7), size)]
    best = min(_squared_error_of_sides(y, np.isin(codes, chosen)) for chosen in sets)
    require(_near(found, best), "there is a better set of categories")


def _squared_error_of_sides(y: Floats, goes_left: NDArray[np.bool_]) -> float:
    return sum(float(((part - part.mean()) ** 2).sum()) for part in (y[goes_left], y[~goes_left]))


def offset() -> None:
    X, y = _noisy(300)
    near, far = (_estimator("DecisionTreeRegressor").fit(X, y + by).tree_ for by in (0.0, 2.0**30))
    require(near.node_count == far.node_count, "number of nodes")
    require((near.feature == far.feature).all(), "features")
    require((near.threshold == far.threshold).all(), "thresholds")


def threads() -> None:
    # With this many rows, threads share the top nodes and the predictions.
    X, y = _noisy(20_000)
    for criterion in ("squared_error", "absolute_error"):
        one, all_of_them = (
            _estimator("DecisionTreeRegressor", criterion=criterion, n_jobs=n_jobs).fit(X, y)
            for n_jobs in (1, None)
        )
        require(_same_bytes(one.tree_, all_of_them.tree_), f"trees by {criterion} differ")
        require((one.predict(X) == all_of_them.predict(X)).all(), "predictions differ")


def saved_and_loaded() -> None:
    for name, criterion in (
        ("DecisionTreeRegressor", "poisson"),
        ("DecisionTreeClassifier", "gini"),
    ):
        X, y, w = _problem(criterion, 90)
        fitted = _estimator(name, criterion=criterion).fit(X, y, w)
        with tempfile.TemporaryDirectory() as folder:
            fitted.save(Path(folder) / "model")
            loaded = _storage.load(Path(folder) / "model", as_estimator=True)
        pickled = pickle.loads(pickle.dumps(fitted))
        for copy, source in ((loaded, "a file"), (pickled, "a pickle")):
            require(_same_bytes(copy.tree_, fitted.tree_), f"the tree from {source}")
            require(copy.get_params() == fitted.get_params(), f"the parameters from {source}")
            require((copy.predict(X) == fitted.predict(X)).all(), f"predictions from {source}")


def _noisy(n: int) -> tuple[Floats, Floats]:
    """Draw rows, and targets that keep all digits when a power of two is added."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 4))
    return X, np.round((X[:, 0] + rng.normal(size=n)) * 64) / 64


def _near(a: float, b: float, scale: float = 0.0) -> bool:
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b), scale)


def _same_bytes(a: _core.Tree, b: _core.Tree) -> bool:
    return pickle.dumps(a) == pickle.dumps(b)
