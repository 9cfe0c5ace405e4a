# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""A program as users write it, which mypy and pyright accept in strict mode (`make lint`).

``assert_type`` fails if a type is lost on its way, for example if a method returns ``Any``. A line
with ``type: ignore`` must be an error: both checkers report an ignore that is not needed.
"""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from distributed import Client
from numpy.typing import NDArray

import splitwood
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    Model,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from splitwood.dask import (
    DaskDecisionTreeClassifier,
    DaskDecisionTreeRegressor,
    DaskExtraTreesClassifier,
    DaskRandomForestRegressor,
    WorkerLost,
)


def regression(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    tree = DecisionTreeRegressor(criterion="absolute_error", max_features="sqrt", max_depth=3)
    tree = tree.fit(X, y, check_input=True)
    assert_type(tree, DecisionTreeRegressor)
    assert_type(tree.n_outputs_, int)
    if hasattr(tree, "feature_names_in_"):
        assert_type(tree.feature_names_in_, NDArray[np.object_])
    assert_type(tree.tree_.threshold, NDArray[np.float64])
    assert_type(tree.apply(X), NDArray[np.int64])
    assert_type(tree.prune(0.1), DecisionTreeRegressor)
    assert_type(ExtraTreeRegressor(splitter="best").fit(X, y), ExtraTreeRegressor)
    assert_type(tree.keep_leaf_targets(X, y).predict_quantiles(X, [0.1]), NDArray[np.float64])
    return tree.predict(X)


def classification(X: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    tree = DecisionTreeClassifier(criterion="entropy", class_weight="balanced").fit(X, labels)
    assert_type(tree.predict(X), NDArray[Any])
    second: NDArray[np.float64] = tree.predict_proba(X)[:, 1]
    return second


def storage(tree: DecisionTreeRegressor, path: Path, X: NDArray[np.float64]) -> None:
    tree.save(path)
    assert_type(splitwood.load(path, as_estimator=False), Model)
    loaded = splitwood.load(path)
    assert_type(
        loaded,
        DecisionTreeRegressor
        | DecisionTreeClassifier
        | RandomForestRegressor
        | RandomForestClassifier
        | ExtraTreesRegressor
        | ExtraTreesClassifier
        | RandomForestQuantileRegressor
        | ExtraTreesQuantileRegressor
        | Model,
    )
    assert_type(splitwood.load(path, as_estimator=False).predict(X), NDArray[Any])
    copied = splitwood.from_dict(tree.to_dict(), as_estimator=False)
    assert_type(copied, Model)


def forests(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    forest = RandomForestRegressor(20, oob_score=True, max_features=0.5).fit(X, y)
    assert_type(forest, RandomForestRegressor)
    assert_type(forest.predict(X, aggregate="median"), NDArray[np.float64])
    assert_type(forest.predict_interval(X, 0.8), NDArray[np.float64])
    assert_type(forest.merge(forest), RandomForestRegressor)
    classifier = RandomForestClassifier(20, class_weight="balanced_subsample").fit(X, y > 0)
    assert_type(classifier.predict(X), NDArray[Any])
    quantiles = RandomForestQuantileRegressor(20).fit(X, y)
    assert_type(quantiles.predict(X, quantiles=[0.1, 0.9]), NDArray[np.float64])


def cluster(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    # The arrays of Dask have no types.
    da: Any = import_module("dask.array")
    rows, targets = da.from_array(X), da.from_array(y)
    with Client(n_workers=1, processes=False, dashboard_address=None) as client:
        try:
            tree = DaskDecisionTreeRegressor(max_depth=3, client=client).fit(rows, targets)
        except WorkerLost as error:
            raise SystemExit(str(error)) from error
        classifier = DaskDecisionTreeClassifier(client=client).fit(rows, targets > 0)
        forest = DaskRandomForestRegressor(5, client=client).fit(rows, targets)
        extra = DaskExtraTreesClassifier(5, client=client).fit(rows, targets > 0)
    assert_type(tree, DaskDecisionTreeRegressor)
    assert_type(tree.tree_.threshold, NDArray[np.float64])
    assert_type(classifier.to_local(), DecisionTreeClassifier)
    assert_type(tree.to_local(), DecisionTreeRegressor)
    assert_type(forest, DaskRandomForestRegressor)
    assert_type(forest.to_local(), RandomForestRegressor)
    assert_type(extra.to_local(), ExtraTreesClassifier)
    return tree.to_local().predict(X)


def mistakes() -> None:
    DecisionTreeRegressor(criterion="gini")  # type: ignore[arg-type]
    DecisionTreeClassifier(splitter="worst")  # type: ignore[arg-type]
    DecisionTreeClassifier(max_features="cube")  # type: ignore[arg-type]
    RandomForestClassifier(class_weight="fair")  # type: ignore[arg-type]


def main() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = X[:, 0] + X[:, 1]
    print(regression(X, y)[:3], classification(X, (y > 0).astype(np.int64))[:3])
    forests(X, y)
    print(cluster(X, y)[:3])
    with tempfile.TemporaryDirectory() as folder:
        storage(DecisionTreeRegressor(max_depth=2).fit(X, y), Path(folder) / "tree.splitwood", X)
    mistakes()


if __name__ == "__main__":
    main()
