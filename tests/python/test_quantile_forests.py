"""Quantile forests: by their definition, and beside the package quantile-forest."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forests import problem
from splitwood import ExtraTreesQuantileRegressor, RandomForestQuantileRegressor, from_sklearn
from splitwood._forest_leaves import ForestLeaves, Groups, _quantiles, _weighted_quantiles

KINDS = pytest.mark.parametrize(
    "kind", [RandomForestQuantileRegressor, ExtraTreesQuantileRegressor]
)
INTERPOLATIONS = ["linear", "lower", "higher", "midpoint", "nearest"]
LEVELS = [0.0, 0.1, 0.33, 0.5, 0.9, 1.0]


def collected(forest, X, y, trees=None):
    """Get the targets in the leaves of each row, tree by tree."""
    leaves = forest.apply(X)
    targets = [[] for _ in X]
    everything = zip(forest.estimators_, forest.estimators_samples_, strict=True)
    for number, (tree, rows) in enumerate(everything):
        of_rows = tree.apply(forest_rows(forest))[rows]
        for row, leaf in enumerate(leaves[:, number]):
            if trees is None or trees[row, number]:
                targets[row].append(y[rows[of_rows == leaf]])
    return targets


def forest_rows(forest):
    return forest.training_rows


def fitted(kind, X, y, **settings):
    forest = kind(**{"n_estimators": 12, "random_state": 0, "min_samples_leaf": 3, **settings})
    forest.fit(X, y)
    forest.training_rows = X
    return forest


@KINDS
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_quantiles_are_those_of_all_targets_in_the_leaves(kind, interpolation):
    X, y = problem(kind)
    forest = fitted(kind, X, y)
    found = forest.predict(X[:40], quantiles=LEVELS, interpolation=interpolation)
    for row, parts in zip(found, collected(forest, X[:40], y), strict=True):
        expected = np.quantile(np.concatenate(parts), LEVELS, method=interpolation)
        np.testing.assert_allclose(row, expected, rtol=1e-12)


@KINDS
def test_means_are_those_of_all_targets_in_the_leaves(kind):
    X, y = problem(kind)
    forest = fitted(kind, X, y)
    found = forest.predict(X[:40], quantiles="mean")
    expected = [np.concatenate(parts).mean() for parts in collected(forest, X[:40], y)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    each = forest.predict(X[:40], quantiles="mean", aggregate_leaves_first=False)
    expected = [np.mean([part.mean() for part in parts]) for parts in collected(forest, X[:40], y)]
    np.testing.assert_allclose(each, expected, rtol=1e-12)
    same = forest.predict(X[:40], quantiles="mean", weighted_leaves=True)
    np.testing.assert_allclose(same, expected, rtol=1e-12)


@KINDS
def test_quantiles_of_each_leaf_are_averaged(kind):
    X, y = problem(kind)
    forest = fitted(kind, X, y)
    found = forest.predict(X[:40], quantiles=[0.2, 0.7], aggregate_leaves_first=False)
    for row, parts in zip(found, collected(forest, X[:40], y), strict=True):
        expected = np.mean([np.quantile(part, [0.2, 0.7]) for part in parts], axis=0)
        np.testing.assert_allclose(row, expected, rtol=1e-12)


@KINDS
def test_ranks_are_shares_of_the_targets(kind):
    X, y = problem(kind)
    y = np.round(y)
    forest = fitted(kind, X, y)
    parts = [np.concatenate(one) for one in collected(forest, X[:40], y)]
    less = np.array([(part < target).mean() for part, target in zip(parts, y, strict=False)])
    upto = np.array([(part <= target).mean() for part, target in zip(parts, y, strict=False)])
    for kind_of_rank, expected in (
        ("strict", less),
        ("weak", upto),
        ("mean", (less + upto) / 2),
        ("rank", (less + upto + (upto > less) / [len(part) for part in parts]) / 2),
    ):
        found = forest.quantile_ranks(X[:40], y[:40], kind=kind_of_rank)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@KINDS
def test_proximities_count_training_rows_in_the_leaves(kind):
    X, y = problem(kind)
    y = np.arange(len(y), dtype=float)
    forest = fitted(kind, X, y)
    for found, parts in zip(
        forest.proximity_counts(X[:20]), collected(forest, X[:20], y), strict=True
    ):
        rows, counts = np.unique(np.concatenate(parts).astype(int), return_counts=True)
        assert dict(found) == dict(zip(rows.tolist(), counts.tolist(), strict=True))
        assert [count for _, count in found] == sorted(counts.tolist(), reverse=True)
    few = forest.proximity_counts(X[:20], max_proximities=3)
    assert [row[:3] for row in forest.proximity_counts(X[:20])] == few


def test_out_of_bag_quantiles_use_trees_without_the_row():
    X, y = problem(RandomForestQuantileRegressor)
    forest = fitted(RandomForestQuantileRegressor, X, y, n_estimators=30)
    samples = forest.estimators_samples_
    trees = np.stack([~np.isin(np.arange(len(y)), rows) for rows in samples], axis=1)
    found = forest.predict(X, quantiles=[0.1, 0.9], oob_score=True)
    for row, parts in zip(found, collected(forest, X, y, trees), strict=True):
        expected = np.quantile(np.concatenate(parts), [0.1, 0.9])
        np.testing.assert_allclose(row, expected, rtol=1e-12)
    some = [7, -1, 9]
    part = forest.predict(X[[7, 8, 9]], [0.1, 0.9], oob_score=True, indices=some)
    np.testing.assert_array_equal(part[[0, 2]], found[[7, 9]])
    np.testing.assert_array_equal(part[1], forest.predict(X[8:9], [0.1, 0.9])[0])
    twins = forest.predict(X, [0.1, 0.9], oob_score=True, duplicates=[[7, 9], [1]])
    np.testing.assert_array_equal(np.delete(twins, [7, 9], 0), np.delete(found, [7, 9], 0))
    assert (twins[[7, 9]] != found[[7, 9]]).any()


def test_intervals_cover_and_follow_the_spread():
    """Rows that were held out, with noise that grows with the first feature."""
    rng = np.random.default_rng(0)
    X = rng.random((4_000, 3))
    y = X[:, 1] + rng.normal(size=4_000) * (0.1 + X[:, 0])
    forest = RandomForestQuantileRegressor(100, min_samples_leaf=20, random_state=0)
    forest.fit(X[:2000], y[:2000])
    low, high = forest.predict_interval(X[2000:], coverage=0.8).T
    inside = (low <= y[2000:]) & (y[2000:] <= high)
    assert inside.mean() == pytest.approx(0.8, abs=0.04)
    narrow, wide = X[2000:, 0] < 0.3, X[2000:, 0] > 0.7
    assert (high - low)[wide].mean() > 2.0 * (high - low)[narrow].mean()
    ranks = forest.quantile_ranks(X[2000:], y[2000:])
    assert ranks.mean() == pytest.approx(0.5, abs=0.03)


@KINDS
def test_shapes(kind):
    X, y = problem(kind)
    one, two = kind(3).fit(X, y), kind(3).fit(X, np.stack([y, -y], axis=1))
    assert one.predict(X).shape == one.predict(X, [0.5]).shape == (len(y),)
    assert one.predict(X, [0.1, 0.5, 0.9]).shape == (len(y), 3)
    assert two.predict(X).shape == (len(y), 2)
    assert two.predict(X, [0.1, 0.5, 0.9]).shape == (len(y), 2, 3)
    assert two.predict(X, "mean").shape == (len(y), 2)
    assert two.quantile_ranks(X, np.stack([y, -y], axis=1)).shape == (len(y), 2)
    assert two.predict_interval(X).shape == (len(y), 2, 2)
    np.testing.assert_array_equal(kind(3, default_quantiles="mean").fit(X, y).predict(X).ndim, 1)
    assert one.score(X, y) > 0.5
    assert two.score(X, np.stack([y, -y], axis=1), quantiles="mean") > 0.5


@KINDS
@pytest.mark.parametrize(("limit", "largest"), [(1, 1), (4, 4), (0.02, 6)])
def test_leaves_keep_some_of_their_rows(kind, limit, largest):
    X, y = problem(kind)
    forest = kind(5, min_samples_leaf=20, max_samples_leaf=limit, random_state=0).fit(X, y)
    sizes = np.diff(forest._leaves.indptr)
    assert sizes.max() == largest
    assert (sizes > 0).sum() == sum(tree.get_n_leaves() for tree in forest.estimators_)
    again = kind(5, min_samples_leaf=20, max_samples_leaf=limit, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))


@KINDS
def test_missing_and_sparse_values_work(kind):
    from scipy.sparse import csr_matrix

    X, y = problem(kind)
    X[::7, 0] = np.nan
    forest = kind(5, random_state=0).fit(X, y)
    assert np.isfinite(forest.predict(X, LEVELS)).all()
    X = np.nan_to_num(X)
    sparse = kind(5, random_state=0).fit(csr_matrix(X), y)
    assert np.isfinite(sparse.predict(csr_matrix(X), LEVELS)).all()


def test_rows_of_weight_zero_are_in_no_leaf():
    X, y = problem(ExtraTreesQuantileRegressor)
    weights = (np.arange(len(y)) % 2).astype(float)
    forest = ExtraTreesQuantileRegressor(5, random_state=0).fit(X, y, sample_weight=weights)
    assert set(forest._leaves.rows % 2) == {1}


def test_a_warm_start_keeps_the_leaves_of_all_trees():
    X, y = problem(RandomForestQuantileRegressor)
    whole = RandomForestQuantileRegressor(8, random_state=0).fit(X, y)
    grown = RandomForestQuantileRegressor(3, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(grown.predict(X, LEVELS), whole.predict(X, LEVELS))
    same = pickle.loads(pickle.dumps(grown))
    np.testing.assert_array_equal(same.predict(X, LEVELS), whole.predict(X, LEVELS))


def test_merged_forests_have_the_targets_of_both():
    X, y = problem(RandomForestQuantileRegressor)
    first = RandomForestQuantileRegressor(4, bootstrap=False, max_depth=0 + 1).fit(X[:100], y[:100])
    second = RandomForestQuantileRegressor(4, bootstrap=False, max_depth=1).fit(X[100:], y[100:])
    merged = first.merge(second)
    for row in X[:10]:
        low = [one.predict([row], 0.0)[0] for one in (first, second, merged)]
        high = [one.predict([row], 1.0)[0] for one in (first, second, merged)]
        assert low[2] == min(low[:2])
        assert high[2] == max(high[:2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantiles": 1.5}, "quantiles"),
        ({"quantiles": [-0.1]}, "quantiles"),
        ({"quantiles": []}, "quantiles"),
        ({"quantiles": "median"}, "quantiles"),
        ({"quantiles": [0.5, "mean"]}, "quantiles"),
        ({"quantiles": float("nan")}, "quantiles"),
        ({"interpolation": "cubic"}, "interpolation"),
        ({"oob_score": True}, "indices"),
        ({"oob_score": True, "indices": [1]}, "indices"),
        ({"oob_score": True, "indices": [1, 2, 300]}, "indices"),
        ({"oob_score": True, "indices": [1, 2, 0.5]}, "indices"),
    ],
)
def test_bad_arguments_of_predictions_are_refused(arguments, message):
    X, y = problem(RandomForestQuantileRegressor)
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        forest.predict(X[:3], **arguments)


def test_other_bad_arguments_are_refused():
    X, y = problem(RandomForestQuantileRegressor)
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="kind"):
        forest.quantile_ranks(X, y, kind="best")
    with pytest.raises(ValueError, match="outputs"):
        forest.quantile_ranks(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="inconsistent"):
        forest.quantile_ranks(X, y[:10])
    with pytest.raises(ValueError, match="max_proximities"):
        forest.proximity_counts(X, max_proximities=0)
    with pytest.raises(ValueError, match="coverage"):
        forest.predict_interval(X, 1.0)
    with pytest.raises(ValueError, match="bootstrap=True"):
        ExtraTreesQuantileRegressor(3).fit(X, y).predict(X, oob_score=True)
    for settings in (
        {"default_quantiles": 2.0},
        {"max_samples_leaf": 0},
        {"max_samples_leaf": 1.5},
    ):
        with pytest.raises(ValueError, match=next(iter(settings)).removeprefix("default_")):
            RandomForestQuantileRegressor(2, **settings).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        RandomForestQuantileRegressor(2, monotonic_cst=[1] * 8).fit(X, y)


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    weights=st.lists(st.integers(1, 4), min_size=30, max_size=30),
    level=st.sampled_from([0.0, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.99, 1.0]),
    interpolation=st.sampled_from(INTERPOLATIONS),
)
def test_whole_weights_are_repetitions(values, weights, level, interpolation):
    y = np.sort(np.array(values, dtype=float))
    weights = np.array(weights[: len(y)], dtype=float)
    levels = np.array([level])
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    plain = Groups(np.array([0, len(repeated)]), repeated, None)
    weighted = Groups(np.array([0, len(y)]), np.arange(len(y)), weights)
    expected = _quantiles(plain, y, levels, interpolation)
    found = _weighted_quantiles(weighted, y, levels, interpolation)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        expected[0], np.quantile(y[repeated], levels, method=interpolation), rtol=1e-9, atol=1e-9
    )


# ---- beside quantile-forest ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    """A forest of quantile-forest, and one of ours with the same trees and bags."""
    package = pytest.importorskip("quantile_forest")
    X, y = problem(RandomForestQuantileRegressor)
    both = np.stack([y, -(y**2)], axis=1)
    settings = {"n_estimators": 10, "min_samples_leaf": 4, "random_state": 1}
    theirs = package.RandomForestQuantileRegressor(max_samples_leaf=None, **settings).fit(X, both)
    counts = np.stack(
        [np.bincount(rows, minlength=len(y)) for rows in theirs.estimators_samples_], axis=1
    )
    ours = RandomForestQuantileRegressor(**settings).fit(X, both, bags=counts)
    trees = [from_sklearn(tree).tree_ for tree in theirs.estimators_]
    ours.forest_ = type(ours.forest_).of_trees(trees)
    ours._leaves = ForestLeaves.of(ours.forest_, ours._known_bags(), [0] * 10, X, both, None, None)
    return theirs, ours, X, both


@pytest.mark.parametrize("oob", [False, True])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_quantile_forest(pair, weighted, together, oob):
    theirs, ours, X, _ = pair
    options = {
        "weighted_quantile": weighted,
        "aggregate_leaves_first": together,
        "oob_score": oob,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for quantiles in ([0.1, 0.5, 0.9], 0.33, "mean"):
            expected = theirs.predict(X, quantiles=quantiles, **options)
            found = ours.predict(X, quantiles=quantiles, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_interpolations_and_duplicates_are_those_of_quantile_forest(pair, interpolation, together):
    theirs, ours, X, _ = pair
    options = {
        "interpolation": interpolation,
        "weighted_quantile": False,
        "aggregate_leaves_first": together,
        "oob_score": True,
        "duplicates": [[3, 17], [5, 40, 41]],
    }
    for rows, indices in ((X, None), (X[[3, 5, 9, 7]], [3, 5, -1, 7])):
        found, expected = (
            one.predict(rows, quantiles=[0.1, 0.33, 0.9], indices=indices, **options)
            for one in (ours, theirs)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("together", [False, True])
def test_weighted_leaves_are_those_of_quantile_forest(pair, together):
    """Up to rounding: sums of weights that would be whole are not whole there."""
    theirs, ours, X, _ = pair
    options = {"weighted_leaves": True, "aggregate_leaves_first": together}
    expected = theirs.predict(X, quantiles=[0.13, 0.48, 0.83], **options)
    found = ours.predict(X, quantiles=[0.13, 0.48, 0.83], **options)
    assert np.isclose(found, expected, rtol=1e-9).mean() > 0.95


@pytest.mark.parametrize("kind", ["rank", "weak", "strict", "mean"])
@pytest.mark.parametrize("together", [False, True])
def test_ranks_are_those_of_quantile_forest(pair, kind, together):
    theirs, ours, X, y = pair
    options = {"kind": kind, "aggregate_leaves_first": together}
    np.testing.assert_allclose(
        ours.quantile_ranks(X, y, **options), theirs.quantile_ranks(X, y, **options), rtol=1e-9
    )


def test_proximities_are_those_of_quantile_forest(pair):
    theirs, ours, X, _ = pair
    found, expected = (one.proximity_counts(X[:30]) for one in (ours, theirs))
    assert [dict(row) for row in found] == [dict(row) for row in expected]


def test_names_and_parameters_are_those_of_quantile_forest():
    import inspect

    package = pytest.importorskip("quantile_forest")
    for ours in (RandomForestQuantileRegressor, ExtraTreesQuantileRegressor):
        theirs = getattr(package, ours.__name__)
        for method in ("__init__", "fit", "predict", "quantile_ranks", "proximity_counts", "score"):
            known = inspect.signature(getattr(theirs, method)).parameters
            mine = inspect.signature(getattr(ours, method)).parameters
            assert [name for name in mine if name in known] == list(known)
            for name, parameter in known.items():
                assert mine[name].kind == parameter.kind, name
                # All rows of a leaf count by default here.
                if name != "max_samples_leaf":
                    assert mine[name].default == parameter.default, name
