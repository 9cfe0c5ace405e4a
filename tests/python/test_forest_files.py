"""Forests in files: the same predictions after loading, with and without scikit-learn."""

import os
import pickle

import numpy as np
import pytest

import splitwood
from forests import FORESTS, classifies, predicted, problem
from scripts import run_script
from splitwood import RandomForestRegressor


def saved(forest, tmp_path):
    path = tmp_path / "forest.splitwood"
    forest.save(path)
    return path


@FORESTS
def test_a_loaded_forest_is_the_same(kind, tmp_path):
    X, y = problem(kind)
    y = np.array(["x", "y", "z"])[y] if classifies(kind) else y
    forest = kind(7, max_depth=6, random_state=3).fit(X, y)
    loaded = splitwood.load(saved(forest, tmp_path))
    assert type(loaded) is kind
    assert loaded.get_params() == forest.get_params()
    assert pickle.dumps(loaded.forest_) == pickle.dumps(forest.forest_)
    np.testing.assert_array_equal(predicted(loaded, X), predicted(forest, X))
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))
    np.testing.assert_array_equal(loaded.feature_importances_, forest.feature_importances_)
    assert len(loaded.estimators_) == 7
    with pytest.raises(AttributeError, match="not grown here"):
        _ = loaded.estimators_samples_
    more = splitwood.load(tmp_path / "forest.splitwood")
    more.set_params(warm_start=True, n_estimators=9, bootstrap=True).fit(X, y)
    assert len(more.estimators_) == 9
    with pytest.raises(ValueError, match="oob_score: some trees were not grown here"):
        more.set_params(oob_score=True, n_estimators=11).fit(X, y)
    again = loaded.fit(X, y)
    assert pickle.dumps(again.forest_) == pickle.dumps(forest.forest_)


@FORESTS
def test_a_model_predicts_the_same(kind, tmp_path):
    X, y = problem(kind)
    forest = kind(7, random_state=3).fit(X, y)
    model = splitwood.load(saved(forest, tmp_path), as_estimator=False)
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    np.testing.assert_array_equal(model.apply(X), forest.apply(X))
    if classifies(kind):
        np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))
    assert "7 trees" in repr(model)


def test_several_outputs_and_names_are_stored(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = problem(RandomForestRegressor)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    forest = RandomForestRegressor(3, random_state=0).fit(frame, np.stack([y, -y], axis=1))
    loaded = splitwood.load(saved(forest, tmp_path))
    np.testing.assert_array_equal(loaded.predict(frame), forest.predict(frame))
    assert list(loaded.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"f0": "other"}))


def test_categories_are_stored(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("abcd"), 200), "size": rng.normal(size=200)})
    forest = RandomForestRegressor(3, categorical_features=["city"], random_state=0)
    forest.fit(frame, rng.normal(size=200) + (frame["city"] == "b"))
    path = saved(forest, tmp_path)
    for loaded in (splitwood.load(path), splitwood.load(path, as_estimator=False)):
        np.testing.assert_array_equal(loaded.predict(frame), forest.predict(frame))
        assert list(loaded.categories_[0]) == list("abcd")


def test_a_forest_is_loaded_without_scikit_learn(tmp_path):
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    path = saved(forest, tmp_path)
    found = run_script(
        f"""
        import json, sys
        sys.modules["sklearn"] = sys.modules["scipy"] = None
        import numpy as np, splitwood
        model = splitwood.load({os.fspath(path)!r})
        X = np.array({X[:5].tolist()}, dtype=np.float32)
        print(json.dumps(model.predict(X).tolist()))
        """
    )
    np.testing.assert_array_equal(found, forest.predict(X[:5]))


def test_case_24_a_damaged_file_of_a_forest_is_refused(tmp_path):
    X, y = problem(RandomForestRegressor, n=40)
    path = saved(RandomForestRegressor(3, random_state=0).fit(X, y), tmp_path)
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


def test_case_24_a_damaged_pickle_of_a_forest_is_refused():
    X, y = problem(RandomForestRegressor, n=40)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y).forest_
    make, (data,) = forest.__reduce__()
    assert len(make(data)) == 3
    for damaged in (b"", data[:-1], data[: len(data) // 2], data[:100] + b"\0" + data[101:]):
        if damaged != data:
            with pytest.raises(ValueError, match="model"):
                make(damaged)


def test_a_forest_file_does_not_name_a_tree(tmp_path):
    """The class must match what the file holds."""
    from splitwood import _core

    X, y = problem(RandomForestRegressor, n=40)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    path = tmp_path / "wrong.splitwood"
    text = '{"estimator": "DecisionTreeRegressor", "parameters": {}}'
    _core.write_model(path, forest.forest_, None, None, text)
    with pytest.raises(ValueError, match="no estimator of this version"):
        splitwood.load(path)


def test_a_file_without_parameters_is_a_forest(tmp_path):
    from splitwood import _core

    X, y = problem(RandomForestRegressor, n=40)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    path = tmp_path / "bare.splitwood"
    _core.write_model(
        path, forest.forest_, None, None, '{"estimator": "RandomForestRegressor", "parameters": {}}'
    )
    np.testing.assert_array_equal(splitwood.load(path).predict(X), forest.predict(X))
