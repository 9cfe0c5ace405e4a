"""Quantile forests in files and dicts, and forests in dicts: the same after loading, or refused."""

import copy
import json
import os
import pickle

import numpy as np
import pytest

import splitwood
from forests import FORESTS, classifies, predicted, problem
from scripts import run_script
from splitwood import (
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)


def by_file(forest, path, **settings):
    forest.save(path / "forest")
    return splitwood.load(path / "forest", **settings)


def by_dict(forest, _, **settings):
    data = json.loads(json.dumps(forest.to_dict(), allow_nan=False))
    return splitwood.from_dict(data, **settings)


WAYS = pytest.mark.parametrize("way", [by_file, by_dict])
QUANTILE_FORESTS = pytest.mark.parametrize(
    "kind", [RandomForestQuantileRegressor, ExtraTreesQuantileRegressor]
)


def fitted(kind, n_outputs=1, **settings):
    X, y = problem(RandomForestRegressor)
    y = y if n_outputs == 1 else np.stack([y, -y, y * y], axis=1)
    return kind(5, random_state=3, **settings).fit(X, y), X, y


@WAYS
@QUANTILE_FORESTS
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {"default_quantiles": [0.1, 0.5, 0.9]},
        {"max_samples_leaf": 1, "default_quantiles": "mean"},
        {"max_samples_leaf": 0.02, "min_samples_leaf": 9, "bootstrap": True},
    ],
)
def test_a_loaded_quantile_forest_is_the_same(way, kind, n_outputs, settings, tmp_path):
    forest, X, y = fitted(kind, n_outputs, **settings)
    loaded = way(forest, tmp_path)
    assert type(loaded) is kind
    assert loaded.get_params() == forest.get_params()
    for options in (
        {},
        {"quantiles": 0.3, "interpolation": "higher"},
        {"quantiles": "mean"},
        {"quantiles": [0.2, 0.7], "weighted_leaves": True},
        {"quantiles": [0.2, 0.7], "aggregate_leaves_first": False},
    ):
        np.testing.assert_array_equal(loaded.predict(X, **options), forest.predict(X, **options))
        small = way(forest, tmp_path, as_estimator=False)
        np.testing.assert_array_equal(small.predict(X, **options), forest.predict(X, **options))
    np.testing.assert_array_equal(loaded.quantile_ranks(X, y), forest.quantile_ranks(X, y))
    assert loaded.proximity_counts(X[:7]) == forest.proximity_counts(X[:7])
    np.testing.assert_array_equal(loaded.predict_interval(X), forest.predict_interval(X))
    np.testing.assert_array_equal(loaded.merge(forest).predict(X), forest.merge(forest).predict(X))
    with pytest.raises(AttributeError, match="not grown here"):
        loaded.predict(X, oob_score=True)


@WAYS
def test_the_same_forest_is_the_same_file(way, tmp_path):
    forest, _, _ = fitted(RandomForestQuantileRegressor, 2)
    forest.save(tmp_path / "first")
    way(forest, tmp_path).save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert (tmp_path / "first").read_bytes()[10] == 2


def test_a_quantile_forest_is_loaded_without_scikit_learn(tmp_path):
    forest, X, _ = fitted(RandomForestQuantileRegressor, default_quantiles=[0.1, 0.9])
    forest.save(tmp_path / "forest")
    found = run_script(
        f"""
        import json, sys
        sys.modules["sklearn"] = sys.modules["scipy"] = None
        import numpy as np, splitwood
        model = splitwood.load({os.fspath(tmp_path / "forest")!r})
        X = np.array({X[:5].tolist()}, dtype=np.float32)
        print(json.dumps([model.predict(X).tolist(), model.predict(X, quantiles="mean").tolist()]))
        """
    )
    np.testing.assert_array_equal(found[0], forest.predict(X[:5]))
    np.testing.assert_array_equal(found[1], forest.predict(X[:5], quantiles="mean"))


def test_models_check_their_arguments(tmp_path):
    forest, X, _ = fitted(RandomForestQuantileRegressor)
    model = by_file(forest, tmp_path, as_estimator=False)
    assert "5 trees" in repr(model)
    np.testing.assert_array_equal(model.apply(X), forest.apply(X))
    for options, name in (
        ({"quantiles": 1.5}, "quantiles"),
        ({"quantiles": []}, "quantiles"),
        ({"interpolation": "cubic"}, "interpolation"),
        ({"interpolation": "cubic", "weighted_leaves": True}, "interpolation"),
    ):
        with pytest.raises(ValueError, match=name):
            model.predict(X, **options)
        with pytest.raises(ValueError, match=name):
            forest.predict(X, **options)
    with pytest.raises(ValueError, match="2 columns, but the forest was fitted on 8"):
        model.predict(X[:, :2])


def test_case_24_a_damaged_file_of_a_quantile_forest_is_refused(tmp_path):
    forest, _, _ = fitted(RandomForestQuantileRegressor, max_depth=3)
    path = tmp_path / "forest"
    forest.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in rng.integers(0, len(whole), 50):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="model"):
            splitwood.load(path)
    for place in rng.integers(0, len(whole), 200):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match="model"):
            splitwood.load(path)


def test_the_class_of_a_file_matches_what_it_holds(tmp_path):
    from splitwood import _core

    forest, _, _ = fitted(RandomForestQuantileRegressor)
    about = '{{"estimator": "{}", "parameters": {{}}}}'
    path = tmp_path / "wrong"
    rows = forest._leaves.parts()
    _core.write_model(path, forest.forest_, None, None, about.format("RandomForestRegressor"), rows)
    with pytest.raises(ValueError, match="no estimator of this version"):
        splitwood.load(path)
    _core.write_model(path, forest.forest_, None, None, about.format(type(forest).__name__))
    with pytest.raises(ValueError, match="no estimator of this version"):
        splitwood.load(path)
    with pytest.raises(ValueError, match="leaf_rows: the leaves don't have"):
        _core.write_model(path, forest.forest_, None, None, "{}", (rows[0], rows[1][1:], rows[2]))
    with pytest.raises(ValueError, match="leaf_rows: only a forest"):
        _core.write_model(path, forest.forest_.tree(0), None, None, "{}", rows)


# ---- dicts ---------------------------------------------------------------------------------------


@FORESTS
def test_forests_in_dicts_are_the_same(kind):
    X, y = problem(kind)
    y = np.array(["x", "y", "z"])[y] if classifies(kind) else y
    forest = kind(4, max_depth=5, random_state=3).fit(X, y)
    assert forest.to_dict()["version"] == [1, 1]
    loaded = by_dict(forest, None)
    assert type(loaded) is kind
    assert loaded.get_params() == forest.get_params()
    assert pickle.dumps(loaded.forest_) == pickle.dumps(forest.forest_)
    np.testing.assert_array_equal(predicted(loaded, X), predicted(forest, X))
    small = by_dict(forest, None, as_estimator=False)
    np.testing.assert_array_equal(small.predict(X), forest.predict(X))


def test_categories_names_and_outputs_of_forests_are_in_dicts():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("abcd"), 200), "size": rng.normal(size=200)})
    forest = RandomForestQuantileRegressor(3, categorical_features=["city"], random_state=0)
    forest.fit(frame, rng.normal(size=200) + (frame["city"] == "b"))
    loaded = by_dict(forest, None)
    np.testing.assert_array_equal(loaded.predict(frame), forest.predict(frame))
    assert list(loaded.feature_names_in_) == ["city", "size"]


def put(*path):
    *way, last, value = path

    def change(data):
        for key in way:
            data = data[key]
        data[last] = value

    return change


def flip(data):
    """Exchange the rows of an inner node and of a leaf."""
    sizes = data["leaves"]["sizes"]
    leaf = next(node for node, size in enumerate(sizes) if size)
    sizes[0], sizes[leaf] = sizes[leaf], sizes[0]


CHANGES = [
    lambda data: data.pop("trees"),
    lambda data: data.pop("leaves"),
    lambda data: data.update(tree=data["trees"][0]),
    lambda data: data.update(tree=data.pop("trees")[0]),
    lambda data: data["trees"].pop(),
    lambda data: data["trees"][1].pop("value"),
    lambda data: data["leaves"].pop("rows"),
    lambda data: data["leaves"]["rows"].pop(),
    lambda data: data["leaves"]["sizes"].pop(),
    lambda data: data["leaves"]["targets"].pop(0),
    flip,
    put("trees", []),
    put("trees", {}),
    put("trees", 0, "n_outputs", 2),
    put("trees", 1, None),
    put("leaves", None),
    put("leaves", "novelty", 1),
    put("leaves", "rows", 0, 300),
    put("leaves", "rows", 0, -1),
    put("leaves", "rows", 0, 2**32),
    put("leaves", "rows", 0, 1.0),
    put("leaves", "targets", []),
    put("leaves", "targets", 0, [1.0, 2.0]),
    put("leaves", "targets", 0, 1.0),
    put("leaves", "targets", 0, ["inf"]),
    put("leaves", "targets", 0, ["one"]),
    put("estimator", "RandomForestRegressor"),
    put("estimator", "RandomForestClassifier"),
    put("classes", [[0, 1]]),
]
WHOLE = json.loads(json.dumps(fitted(RandomForestQuantileRegressor, max_depth=3)[0].to_dict()))


@pytest.mark.parametrize("change", CHANGES)
def test_case_25_crafted_dicts_of_forests_are_refused(change):
    data = copy.deepcopy(WHOLE)
    splitwood.from_dict(data)
    change(data)
    with pytest.raises(ValueError, match="model"):
        splitwood.from_dict(data)


def test_trees_of_a_forest_agree():
    X, y = problem(ExtraTreesRegressor)
    data = ExtraTreesRegressor(2, max_depth=2).fit(X, y).to_dict()
    both = ExtraTreesRegressor(2, max_depth=2).fit(X, np.stack([y, y], axis=1)).to_dict()
    data["trees"][1] = both["trees"][1]
    with pytest.raises(ValueError, match="model"):
        splitwood.from_dict(data)
