"""Forests: their trees, bags, out-of-bag results and importances, by their definitions."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.base
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score

import splitwood
from forests import ALL, FORESTS, classifies, predicted, problem, theirs
from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from trees import assert_same_tree

# ---- the trees -----------------------------------------------------------------------------------


@FORESTS
def test_parameters_and_defaults_are_those_of_scikit_learn(kind):
    ours, known = (inspect.signature(one).parameters for one in (kind, theirs(kind)))
    assert list(ours)[: len(known)] == list(known)
    for name, parameter in known.items():
        assert ours[name].default == parameter.default
        assert ours[name].kind == parameter.kind


@FORESTS
def test_public_attributes_are_those_of_scikit_learn(kind):
    X, y = problem(kind)
    settings = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    ours, known = (one(**settings).fit(X, y) for one in (kind, theirs(kind)))
    names = {name for name in dir(known) if not name.startswith("_")}
    # The prototype of the trees, the names of its parameters and the weights of classes in a
    # regressor are details there.
    missing = names - set(dir(ours)) - {"estimator", "estimator_params"}
    if not classifies(kind):
        missing -= {"class_weight"}
    assert missing == set()


@FORESTS
def test_methods_take_the_arguments_of_scikit_learn(kind):
    known = theirs(kind)
    names = [name for name in dir(known) if callable(getattr(known, name))]
    # What is settled by the arguments of `fit` and `predict`, which are compared below.
    names = [name for name in names if not name.startswith(("_", "set_fit_request"))]
    assert {"fit", "predict", "apply", "decision_path", "score"} <= set(names)
    for name in names:
        expected = inspect.signature(getattr(known, name)).parameters
        mine = inspect.signature(getattr(kind, name)).parameters
        assert list(mine)[: len(expected)] == list(expected), name
        for argument, parameter in expected.items():
            assert mine[argument].default == parameter.default, (name, argument)
            assert mine[argument].kind == parameter.kind, (name, argument)


def description(value):
    """What a user of an attribute relies on: its type, and those of its items."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    if isinstance(value, list) and not isinstance(value[0], sklearn.base.BaseEstimator):
        return [description(item) for item in value]
    return len(value) if isinstance(value, list) else type(value)


@FORESTS
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_fitted_attributes_look_like_those_of_scikit_learn(kind, n_outputs):
    X, y = problem(kind)
    if n_outputs > 1:
        # Labels of two classes, or an output with other values.
        y = np.stack([y > 0, y > 1] if classifies(kind) else [y, y**2], axis=1)
    settings = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    ours, known = (one(**settings).fit(X, y) for one in (kind, theirs(kind)))
    names = {name for name in vars(known) if name.endswith("_") and name != "estimator_"}
    names |= {"estimators_samples_", "feature_importances_"}
    assert {"estimators_", "n_outputs_", "oob_score_"} <= names
    for name in names:
        mine, expected = getattr(ours, name), getattr(known, name)
        assert description(mine) == description(expected), name
    if classifies(kind):
        again = splitwood.from_dict(ours.to_dict())
        for same in (again, ours.to_sklearn(), splitwood.from_sklearn(known)):
            assert description(same.n_classes_) == description(known.n_classes_)
        np.testing.assert_array_equal(ours[0].n_classes_, known[0].n_classes_, strict=True)


@pytest.mark.parametrize(
    ("kind", "tree", "criterion"),
    [
        (RandomForestRegressor, DecisionTreeRegressor, "squared_error"),
        (RandomForestRegressor, DecisionTreeRegressor, "absolute_error"),
        (RandomForestRegressor, DecisionTreeRegressor, "poisson"),
        (RandomForestClassifier, DecisionTreeClassifier, "gini"),
        (RandomForestClassifier, DecisionTreeClassifier, "entropy"),
    ],
)
def test_a_forest_without_draws_is_the_tree(kind, tree, criterion):
    X, y = problem(kind)
    settings = {"criterion": criterion, "max_features": None}
    forest = kind(3, bootstrap=False, **settings).fit(X, y)
    single = tree(**settings).fit(X, y)
    for one in forest.estimators_:
        assert_same_tree(one, single)
    ones = np.ones((len(y), 2), dtype=int)
    for one in kind(2, **settings).fit(X, y, bags=ones).estimators_:
        assert_same_tree(one, single)


@pytest.mark.parametrize(
    ("kind", "tree", "settings"),
    [
        (RandomForestRegressor, DecisionTreeRegressor, {}),
        (RandomForestRegressor, DecisionTreeRegressor, {"criterion": "absolute_error"}),
        (RandomForestRegressor, DecisionTreeRegressor, {"criterion": "quantile", "quantile": 0.3}),
        (RandomForestRegressor, DecisionTreeRegressor, {"criterion": "poisson"}),
        (RandomForestRegressor, DecisionTreeRegressor, {"max_leaf_nodes": 9}),
        (RandomForestRegressor, DecisionTreeRegressor, {"ccp_alpha": 0.5}),
        (RandomForestClassifier, DecisionTreeClassifier, {"max_depth": 3}),
        (RandomForestClassifier, DecisionTreeClassifier, {"criterion": "entropy", "max_depth": 3}),
    ],
)
def test_each_tree_is_that_of_its_bag(kind, tree, settings):
    """Counts are weights. In large nodes no two cuts tie, so the order of features is moot."""
    X, y = problem(kind, n=500)
    settings = {"max_features": None, "min_samples_leaf": 20, **settings}
    forest = kind(5, random_state=3, **settings).fit(X, y)
    for one, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(y)).astype(float)
        single = tree(**settings).fit(X, y, sample_weight=counts)
        assert one.tree_.node_count == single.tree_.node_count > 5
        np.testing.assert_array_equal(one.tree_.feature, single.tree_.feature)
        np.testing.assert_array_equal(one.tree_.threshold, single.tree_.threshold)
        np.testing.assert_array_equal(one.tree_.n_node_samples, single.tree_.n_node_samples)
        np.testing.assert_array_equal(
            one.tree_.weighted_n_node_samples, single.tree_.weighted_n_node_samples
        )
        np.testing.assert_allclose(one.tree_.value, single.tree_.value, rtol=1e-12)
        np.testing.assert_allclose(one.tree_.impurity, single.tree_.impurity, rtol=1e-9, atol=1e-12)


@FORESTS
def test_predictions_are_means_over_the_trees(kind):
    X, y = problem(kind)
    forest = kind(7, random_state=0).fit(X, y)
    each = [predicted(tree, X) for tree in forest.estimators_]
    assert len(each) == 7
    np.testing.assert_allclose(predicted(forest, X), np.mean(each, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(
        forest.apply(X), np.stack([tree.apply(X) for tree in forest.estimators_], axis=1)
    )
    indicator, ends = forest.decision_path(X)
    assert indicator.shape == (len(y), ends[-1])
    for number, tree in enumerate(forest.estimators_):
        part = indicator[:, ends[number] : ends[number + 1]]
        assert (part != tree.decision_path(X)).nnz == 0


@FORESTS
def test_trees_are_estimators_that_are_made_once_and_not_pickled(kind):
    X, y = problem(kind)
    forest = kind(4, random_state=0, max_depth=3).fit(X, y)
    small = len(pickle.dumps(forest))
    trees = forest.estimators_
    assert forest.estimators_ is trees
    assert len(forest) == 4
    assert [*forest] == trees
    assert forest[2] is trees[2]
    assert {tree.max_depth for tree in trees} == {3}
    assert len({tree.random_state for tree in trees}) == 4
    assert all(isinstance(tree, type(forest.estimator_)) for tree in trees)
    assert len(pickle.dumps(forest)) == small


def test_trees_of_a_classifier_predict_codes():
    X, y = problem(RandomForestClassifier)
    forest = RandomForestClassifier(2, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    assert forest.predict(X[:1]).dtype.kind == "U"
    np.testing.assert_array_equal(forest.estimators_[0].classes_, [0.0, 1.0, 2.0])


@ALL
def test_forests_do_not_depend_on_the_number_of_threads(kind):
    X, y = problem(kind)
    settings = {"n_estimators": 6, "random_state": 0, "bootstrap": True, "oob_score": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, many = (kind(n_jobs=n, **settings).fit(X, y) for n in (1, 2))
    assert pickle.dumps(one.forest_) == pickle.dumps(many.forest_)
    np.testing.assert_array_equal(predicted(one, X), predicted(many, X))
    assert one.oob_score_ == many.oob_score_


@FORESTS
def test_storage_and_memory_order_do_not_matter(kind):
    X, y = problem(kind)
    X[np.median(X) > X] = 0.0
    settings = {"n_estimators": 5, "random_state": 0}
    expected = predicted(kind(**settings).fit(X, y), X)
    for rows in (np.asfortranarray(X), X.astype(np.float64), X[::-1][::-1]):
        np.testing.assert_array_equal(predicted(kind(**settings).fit(rows, y), X), expected)
    sparse = kind(**settings).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(predicted(sparse, X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        predicted(sparse, scipy.sparse.csr_matrix(X)), predicted(sparse, X), rtol=1e-12
    )


# ---- bags ----------------------------------------------------------------------------------------


def test_bags_are_drawn_with_replacement_from_all_rows():
    X, y = problem(RandomForestRegressor)
    samples = RandomForestRegressor(50, random_state=0).fit(X, y).estimators_samples_
    assert {len(rows) for rows in samples} == {len(y)}
    shares = [len(np.unique(rows)) / len(y) for rows in samples]
    assert np.mean(shares) == pytest.approx(1 - np.exp(-1), abs=0.02)
    often = np.bincount(np.concatenate(samples), minlength=len(y))
    # Each row is drawn Poisson(50) times, within five standard deviations.
    assert (np.abs(often - 50) < 5 * np.sqrt(50)).all()


@FORESTS
def test_bags_are_those_of_scikit_learn(kind):
    X, y = problem(kind)
    for weights in (None, np.random.default_rng(0).random(len(y))):
        for settings in ({}, {"max_samples": 0.4}):
            settings = {"bootstrap": True, "random_state": 7, **settings}
            ours, known = (
                one(5, **settings).fit(X, y, sample_weight=weights) for one in (kind, theirs(kind))
            )
            for mine, other in zip(
                ours.estimators_samples_, known.estimators_samples_, strict=True
            ):
                np.testing.assert_array_equal(mine, np.sort(other))


@pytest.mark.parametrize(
    ("max_samples", "expected"), [(None, 300), (40, 40), (0.5, 150), (2.0, 600), (700, 700)]
)
def test_max_samples_says_how_many_rows_are_drawn(max_samples, expected):
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(3, max_samples=max_samples, random_state=0).fit(X, y)
    assert {len(rows) for rows in forest.estimators_samples_} == {expected}
    assert [tree.tree_.weighted_n_node_samples[0] for tree in forest.estimators_] == [expected] * 3


def test_a_share_is_one_of_the_weight():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(2, max_samples=0.5, random_state=0)
    forest.fit(X, y, sample_weight=np.full(len(y), 3.0))
    assert {len(rows) for rows in forest.estimators_samples_} == {450}


def test_a_share_that_gives_few_rows_is_warned_about():
    X, y = problem(RandomForestRegressor)
    with pytest.warns(UserWarning, match=r"max_samples: .* low number \(3\)"):
        RandomForestRegressor(2, max_samples=0.01).fit(X, y)


def test_rows_are_drawn_by_their_weights():
    X, y = problem(RandomForestRegressor)
    weights = np.ones(len(y))
    weights[:100], weights[100:200] = 0.0, 5.0
    forest = RandomForestRegressor(60, random_state=0).fit(X, y, sample_weight=weights)
    often = np.bincount(np.concatenate(forest.estimators_samples_), minlength=len(y))
    assert often[:100].sum() == 0
    assert often[100:200].sum() / often[200:].sum() == pytest.approx(5.0, rel=0.1)
    # The trees see counts, not weights.
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == len(y)


def test_without_draws_the_trees_see_the_weights():
    X, y = problem(ExtraTreesRegressor)
    weights = np.random.default_rng(0).random(len(y))
    forest = ExtraTreesRegressor(2, random_state=0).fit(X, y, sample_weight=weights)
    root = forest.estimators_[0].tree_.weighted_n_node_samples[0]
    assert root == pytest.approx(weights.sum())
    np.testing.assert_array_equal(forest.estimators_samples_[1], np.arange(len(y)))


def test_bags_of_ones_own():
    X, y = problem(RandomForestRegressor)
    counts = np.random.default_rng(0).integers(0, 3, size=(len(y), 4))
    forest = RandomForestRegressor(4, random_state=0).fit(X, y, bags=counts)
    for number, rows in enumerate(forest.estimators_samples_):
        np.testing.assert_array_equal(np.bincount(rows, minlength=len(y)), counts[:, number])
        assert forest.estimators_[number].tree_.n_node_samples[0] == (counts[:, number] > 0).sum()


def test_bags_from_a_function_keep_groups_together():
    X, y = problem(RandomForestRegressor)
    groups = np.arange(len(y)) // 10

    def whole_groups(rng):
        return rng.multinomial(30, np.full(30, 1 / 30))[groups]

    forest = RandomForestRegressor(20, oob_score=True, random_state=0)
    forest.fit(X, y, bags=whole_groups)
    for rows in forest.estimators_samples_:
        counts = np.bincount(rows, minlength=len(y)).reshape(30, 10)
        assert (counts == counts[:, :1]).all()
    again = RandomForestRegressor(20, random_state=0).fit(X, y, bags=whole_groups)
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))


def test_bags_can_leave_rows_out_of_extra_trees():
    X, y = problem(ExtraTreesRegressor)
    half = ExtraTreesRegressor(30, oob_score=True, random_state=0)
    half.fit(X, y, bags=lambda rng: rng.permutation(len(y)) < 150)
    assert {len(np.unique(rows)) for rows in half.estimators_samples_} == {150}
    assert 0.4 < half.oob_score_ < 1.0


# ---- out of bag ----------------------------------------------------------------------------------


@ALL
def test_out_of_bag_results_are_means_over_trees_without_the_row(kind):
    X, y = problem(kind)
    forest = kind(60, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    width = 3 if classifies(kind) else 1
    sums, n_trees = np.zeros((len(y), width)), np.zeros(len(y))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(y)), rows)
        sums[out] += predicted(tree, X[out]).reshape(len(out), -1)
        n_trees[out] += 1
    means = sums / n_trees[:, None]
    if classifies(kind):
        np.testing.assert_allclose(forest.oob_decision_function_, means, rtol=1e-12)
        assert forest.oob_score_ == accuracy_score(y, means.argmax(axis=1))
    else:
        np.testing.assert_allclose(forest.oob_prediction_, means[:, 0], rtol=1e-12)
        assert forest.oob_score_ == pytest.approx(r2_score(y, means[:, 0]), rel=1e-12)


def test_a_function_scores_out_of_bag_predictions():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(60, oob_score=mean_absolute_error, random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(mean_absolute_error(y, forest.oob_prediction_))


def test_several_outputs_have_out_of_bag_results():
    X, y = problem(RandomForestRegressor)
    both = np.stack([y, -2.0 * y], axis=1)
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, both)
    assert forest.oob_prediction_.shape == both.shape
    assert forest.predict(X).shape == both.shape
    assert forest.predict_interval(X[:7]).shape == (7, 2, 2)
    labels = (both > np.median(both, axis=0)).astype(int)
    classifier = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, labels)
    assert classifier.oob_decision_function_.shape == (len(y), 2, 2)
    np.testing.assert_allclose(classifier.oob_decision_function_.sum(axis=1), 1.0)
    assert [shares.shape for shares in classifier.predict_proba(X)] == [(len(y), 2)] * 2
    assert classifier.predict(X).shape == labels.shape


def test_rows_in_every_bag_are_warned_about():
    X, y = problem(RandomForestRegressor)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest = RandomForestRegressor(2, oob_score=True, random_state=0).fit(X, y)
    everywhere = np.intersect1d(*forest.estimators_samples_)
    assert everywhere.size
    assert (forest.oob_prediction_[everywhere] == 0.0).all()


def test_rows_may_all_be_in_every_bag():
    X, y = problem(RandomForestRegressor, n=20)
    bags = np.ones((20, 3), dtype=int)
    for targets in (y, np.stack([y, -y], axis=1)):
        forest = RandomForestRegressor(3, oob_score=True, random_state=0)
        with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
            forest.fit(X, targets, bags=bags)
        assert (forest.oob_prediction_ == 0.0).all()
        with pytest.raises(ValueError, match="predict_interval: no row is out of the bag"):
            forest.predict_interval(X)


def test_labels_of_several_classes_and_outputs_have_no_out_of_bag_score():
    X, y = problem(RandomForestClassifier)
    with pytest.raises(ValueError, match="multiclass-multioutput"):
        RandomForestClassifier(20, oob_score=True).fit(X, np.stack([y, y], axis=1))


def test_intervals_cover_as_they_say():
    """Rows that were held out; three standard deviations of a share of 2,000 rows are 0.027."""
    X, y = problem(RandomForestRegressor, n=4_000)
    forest = RandomForestRegressor(100, min_samples_leaf=3, oob_score=True, random_state=0)
    forest.fit(X[:2000], y[:2000])
    for coverage in (0.5, 0.8, 0.95):
        low, high = forest.predict_interval(X[2000:], coverage).T
        inside = (low <= y[2000:]) & (y[2000:] <= high)
        assert inside.mean() == pytest.approx(coverage, abs=0.035)


def test_an_interval_needs_out_of_bag_results():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(5).fit(X, y)
    with pytest.raises(ValueError, match="oob_score=True"):
        forest.predict_interval(X)
    for coverage in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(ValueError, match="coverage"):
            forest.predict_interval(X, coverage)


# ---- warm start and merging ----------------------------------------------------------------------


@ALL
def test_a_warm_start_gives_the_forest_of_one_fit(kind):
    X, y = problem(kind)
    settings = {"bootstrap": True, "oob_score": True, "random_state": 5}
    whole = kind(40, **settings).fit(X, y)
    grown = kind(25, warm_start=True, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        grown.fit(X, y)
    before = grown.estimators_[0].tree_
    grown.set_params(n_estimators=40).fit(X, y)
    assert pickle.dumps(grown.forest_) == pickle.dumps(whole.forest_)
    np.testing.assert_array_equal(grown.estimators_[0].tree_.threshold, before.threshold)
    np.testing.assert_array_equal(predicted(grown, X), predicted(whole, X))
    assert grown.oob_score_ == pytest.approx(whole.oob_score_, rel=1e-12)
    assert len(grown.estimators_samples_) == 40
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing"):
        grown.fit(X, y)
    assert len(grown.estimators_) == 40
    with pytest.raises(ValueError, match="n_estimators=3 must be larger or equal"):
        grown.set_params(n_estimators=3).fit(X, y)


def test_a_warm_start_can_add_out_of_bag_results():
    X, y = problem(RandomForestRegressor)
    expected = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    forest = RandomForestRegressor(60, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(oob_score=True).fit(X, y)
    np.testing.assert_array_equal(forest.oob_prediction_, expected.oob_prediction_)


def test_a_fit_starts_anew_without_warm_start():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(oob_score=False, n_estimators=3).fit(X, y)
    assert len(forest.estimators_) == 3
    assert not hasattr(forest, "oob_score_")


def test_a_warm_start_refuses_other_classes_or_features():
    X, y = problem(RandomForestClassifier)
    forest = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=5)
    with pytest.raises(ValueError, match="classes_"):
        forest.fit(X, y + 1)
    with pytest.raises(ValueError, match="n_features_in_"):
        forest.fit(X[:, :3], y)
    assert forest.n_features_in_ == 8
    assert len(forest.estimators_) == 3


@ALL
def test_merged_forests_have_the_trees_of_both(kind):
    X, y = problem(kind)
    first = kind(6, random_state=1).fit(X, y)
    second = kind(9, random_state=2).fit(X[:200], y[:200])
    merged = first.merge(second)
    assert merged.n_estimators == len(merged.estimators_) == 15
    assert len(first.estimators_) == 6
    if hasattr(kind, "quantile_ranks"):
        means = [one.predict(X, "mean") for one in (first, second, merged)]
        assert np.isfinite(means[2]).all()
        assert (means[2] >= np.minimum(means[0], means[1]) - 1e-9).all()
        assert (means[2] <= np.maximum(means[0], means[1]) + 1e-9).all()
    else:
        expected = (6 * predicted(first, X) + 9 * predicted(second, X)) / 15
        np.testing.assert_allclose(predicted(merged, X), expected, rtol=1e-12)
    with pytest.raises(TypeError, match="merge: needs forests"):
        first.merge(DecisionTreeRegressor())
    with pytest.raises(ValueError, match="n_features_in_"):
        first.merge(kind(2).fit(X[:, :3], y))


# ---- importances and proximities -----------------------------------------------------------------


@FORESTS
def test_importances_are_the_mean_of_the_trees(kind):
    X, y = problem(kind)
    forest = kind(8, random_state=0).fit(X, y)
    mean = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, mean / mean.sum(), rtol=1e-9)
    stumps = kind(3, max_depth=1, min_samples_leaf=len(y)).fit(X, y)
    np.testing.assert_array_equal(stumps.feature_importances_, np.zeros(8))


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_unbiased_importances_are_not_fooled_by_noise_of_many_values(kind):
    """Two columns of noise: coin tosses and many values. A third column has the signal."""
    rng = np.random.default_rng(0)
    n = 600
    X = np.stack([rng.integers(0, 2, n), rng.normal(size=n), rng.integers(0, 2, n)], axis=1)
    y = X[:, 2] + rng.normal(size=n)
    if classifies(kind):
        y = (y > 0.5).astype(int)
    settings = {"n_estimators": 200, "max_features": 1, "random_state": 0}
    biased = kind(**settings).fit(X, y).feature_importances_
    unbiased = kind(importance_type="unbiased", **settings).fit(X, y).feature_importances_
    assert biased[1] > 0.5
    assert np.abs(unbiased[:2]).max() < 0.15
    assert unbiased[2] > 0.85
    assert unbiased.sum() == pytest.approx(1.0)


def test_unbiased_importances_follow_their_definition():
    """Row by row, along each path, for a small forest."""
    X, y = problem(RandomForestRegressor, n=60)
    forest = RandomForestRegressor(5, importance_type="unbiased", random_state=0).fit(X, y)
    total = np.zeros(8)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(y)), rows)
        nodes, value = tree.tree_, tree.tree_.value[:, 0, 0]
        for row in out:
            node = 0
            while nodes.children_left[node] >= 0:
                feature = nodes.feature[node]
                left = X[row, feature] <= nodes.threshold[node]
                child = (nodes.children_left if left else nodes.children_right)[node]
                gained = (value[child] - value[node]) * (y[row] - value[node])
                total[feature] += gained / len(out)
                node = child
    np.testing.assert_allclose(forest.feature_importances_, total / total.sum(), rtol=1e-9)


def test_unbiased_importances_need_rows_out_of_bag_and_means():
    X, y = problem(ExtraTreesRegressor)
    with pytest.raises(ValueError, match="importance_type"):
        ExtraTreesRegressor(3, importance_type="unbiased").fit(X, y)
    with pytest.raises(ValueError, match="importance_type"):
        RandomForestRegressor(3, importance_type="unbiased", criterion="absolute_error").fit(X, y)
    with pytest.raises(ValueError, match="importance_type"):
        RandomForestRegressor(3, importance_type="biased").fit(X, y)


@FORESTS
def test_shuffled_features_lose_score(kind):
    X, y = problem(kind)
    X[:, 7] = 1.0
    forest = kind(40, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    found = forest.oob_permutation_importances(X, y, n_repeats=3, random_state=0)
    assert found.importances.shape == (8, 3)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    assert found.importances_mean.max() > 0.05
    # No tree splits by a constant.
    assert (found.importances[7] == 0.0).all()
    again = forest.oob_permutation_importances(X, y, n_repeats=3, random_state=0)
    np.testing.assert_array_equal(again.importances, found.importances)


def test_shuffling_needs_the_rows_of_the_fit():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X: "):
        forest.oob_permutation_importances(X[:10], y[:10])
    with pytest.raises(ValueError, match="n_repeats"):
        forest.oob_permutation_importances(X, y, n_repeats=0)
    with pytest.raises(ValueError, match="sparse"):
        forest.oob_permutation_importances(scipy.sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        ExtraTreesRegressor(5).fit(X, y).oob_permutation_importances(X, y)


@ALL
def test_proximities_count_shared_leaves(kind):
    X, y = problem(kind)
    forest = kind(10, min_samples_leaf=20, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    expected = (leaves[:, None] == leaves[None]).mean(axis=2)
    found = forest.proximities(X)
    np.testing.assert_allclose(found.toarray(), expected)
    assert found.nnz == (expected > 0).sum()
    np.testing.assert_allclose(forest.proximities(X[:9], X).toarray(), expected[:9])


# ---- what is predicted ---------------------------------------------------------------------------


def test_the_median_of_the_trees():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(9, random_state=0).fit(X, y)
    each = [tree.predict(X) for tree in forest.estimators_]
    np.testing.assert_allclose(forest.predict(X, aggregate="median"), np.median(each, axis=0))
    with pytest.raises(ValueError, match="aggregate"):
        forest.predict(X, aggregate="mode")


def test_class_weights_shift_predictions():
    X, y = problem(RandomForestClassifier)
    y = (y == 0).astype(int)
    plain = RandomForestClassifier(30, min_samples_leaf=20, random_state=0).fit(X, y)
    for weight in ({1: 10.0}, "balanced", "balanced_subsample"):
        heavy = clone(plain).set_params(class_weight=weight).fit(X, y)
        assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.03


@pytest.mark.parametrize("weight", ["balanced", "balanced_subsample"])
def test_balanced_weights_without_draws_are_the_same(weight):
    X, y = problem(ExtraTreesClassifier)
    y = (y == 0).astype(int)
    forest = ExtraTreesClassifier(3, class_weight=weight, random_state=0).fit(X, y)
    explicit = len(y) / (2 * np.bincount(y))
    known = ExtraTreesClassifier(3, class_weight=dict(enumerate(explicit)), random_state=0)
    np.testing.assert_array_equal(forest.predict_proba(X), known.fit(X, y).predict_proba(X))


def test_balanced_subsamples_balance_the_bag():
    X, y = problem(RandomForestClassifier)
    y = (y == 0).astype(int)
    forest = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0).fit(X, y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        root = tree.tree_.value[0, 0]
        np.testing.assert_allclose(root, 0.5, rtol=1e-9)
        assert tree.tree_.weighted_n_node_samples[0] == pytest.approx(len(rows))


def test_presets_of_class_weights_warn_on_warm_start():
    X, y = problem(RandomForestClassifier)
    with pytest.warns(UserWarning, match="class_weight presets"):
        RandomForestClassifier(2, warm_start=True, class_weight="balanced").fit(X, y)


@FORESTS
def test_missing_values_are_learned(kind):
    X, y = problem(kind, n=600)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    forest = kind(30, random_state=0).fit(X[:400], y[:400])
    assert forest.score(X[400:], y[400:]) > 0.4
    assert np.isfinite(predicted(forest, np.full((1, 8), np.nan))).all()


def test_monotonic_constraints_hold():
    X, y = problem(RandomForestRegressor)
    signs = [1, 0, -1, 0, 0, 0, 0, 0]
    forest = RandomForestRegressor(20, monotonic_cst=signs, random_state=0).fit(X, y)
    for feature, sign in ((0, 1), (2, -1)):
        grid = np.repeat(X[:50], 20, axis=0)
        grid[:, feature] = np.tile(np.linspace(0, 1, 20, dtype=np.float32), 50)
        steps = np.diff(forest.predict(grid).reshape(50, 20), axis=1)
        assert (sign * steps >= -1e-9).all()


def test_categories_are_read_from_data_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"city": rng.choice(list("abcdefgh"), 400), "size": rng.normal(size=400)}
    ).astype({"city": "category"})
    y = frame["city"].isin(list("bdfh")) * 3.0 + frame["size"]
    forest = RandomForestRegressor(20, categorical_features="from_dtype", random_state=0)
    forest.fit(frame[:300], y[:300])
    assert forest.score(frame[300:], y[300:]) > 0.9
    assert list(forest.categories_[0]) == list("abcdefgh")
    assert list(forest.feature_names_in_) == ["city", "size"]
    assert np.isfinite(forest.predict(pd.DataFrame({"city": ["never seen"], "size": [0.0]}))).all()
    assert np.isfinite(forest.estimators_[0].predict(frame[:2])).all()


@ALL
def test_tables_of_any_library_give_the_same_forest(kind):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y = problem(kind)
    names = [f"f{i}" for i in range(8)]
    frame = pd.DataFrame(X, columns=names)
    expected = predicted(kind(3, random_state=0).fit(X, y), X)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        forest = kind(3, random_state=0).fit(table, y)
        assert list(forest.feature_names_in_) == names
        np.testing.assert_array_equal(predicted(forest, table), expected)


# ---- the estimator -------------------------------------------------------------------------------


@ALL
def test_pickles_and_copies_are_the_same(kind):
    X, y = problem(kind)
    forest = kind(5, random_state=0, bootstrap=True).fit(X, y)
    for same in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest), copy.copy(forest)):
        np.testing.assert_array_equal(predicted(same, X), predicted(forest, X))
        np.testing.assert_array_equal(same.estimators_samples_[3], forest.estimators_samples_[3])


@FORESTS
def test_pickles_are_small(kind):
    X, y = problem(kind, n=1_000)
    settings = {"n_estimators": 20, "random_state": 0}
    ours, known = (len(pickle.dumps(one(**settings).fit(X, y))) for one in (kind, theirs(kind)))
    assert ours <= 0.25 * known


@FORESTS
def test_a_forest_shows_its_progress(kind, capsys):
    X, y = problem(kind)
    shown = kind(4, verbose=1, random_state=0).fit(X, y)
    text = capsys.readouterr().err
    assert "forest grown" in text
    assert "4/4" in text
    quiet = kind(4, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    assert pickle.dumps(shown.forest_) == pickle.dumps(quiet.forest_)


@ALL
def test_a_failed_fit_changes_nothing(kind):
    X, y = problem(kind)
    forest = kind(4, random_state=0).fit(X, y)
    before = pickle.dumps(forest)
    with pytest.raises(ValueError, match="max_depth"):
        forest.set_params(max_depth=-3).fit(X, y)
    forest.set_params(max_depth=None)
    assert pickle.dumps(forest) == before
    assert len(forest.estimators_) == 4


@ALL
def test_nothing_works_before_the_fit(kind):
    forest = kind()
    for use in (
        lambda: forest.predict([[1.0]]),
        lambda: forest.estimators_,
        lambda: forest.feature_importances_,
        lambda: forest.apply([[1.0]]),
        lambda: forest.merge(kind()),
    ):
        with pytest.raises(NotFittedError):
            use()


def test_a_column_of_targets_is_warned_about():
    X, y = problem(RandomForestRegressor)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        forest = RandomForestRegressor(2).fit(X, y[:, None])
    assert forest.n_outputs_ == 1


def test_friedman_mse_is_squared_error():
    X, y = problem(RandomForestRegressor)
    with pytest.warns(FutureWarning, match="friedman_mse"):
        forest = RandomForestRegressor(2, criterion="friedman_mse", random_state=0).fit(X, y)
    same = RandomForestRegressor(2, random_state=0).fit(X, y)
    assert pickle.dumps(forest.forest_) == pickle.dumps(same.forest_)


def test_an_unseeded_forest_differs_from_the_next():
    X, y = problem(RandomForestRegressor)
    one, other = (RandomForestRegressor(3).fit(X, y).predict(X) for _ in range(2))
    assert (one != other).any()


def test_the_names_are_those_of_the_package():
    names = {"RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"}
    assert names <= set(dir(splitwood))
