"""Forests in scikit-learn's tools, and converted to the formats of other packages."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import splitwood
from forests import ALL, FORESTS, classifies, predicted, problem, theirs
from splitwood import (
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
    from_sklearn,
)


def draws_rows(estimator):
    """Name the checks from which scikit-learn excuses its own random forests.

    They fit 15 weighted rows and the same rows repeated, in another order, and ask for equal
    predictions. A forest that draws rows makes 15 draws from the former and 28 from the latter:
    both draws are scikit-learn's (`test_bags_are_those_of_scikit_learn`), and no pair of seeds can
    make the trees equal. Of scikit-learn's other excuse, for classifiers of one label, these
    forests need none.

    Quantile forests count a row once in its leaf, whatever its weight, as quantile-forest does.

    The failures are strict (pyproject.toml): a check that passes is an error.
    """
    if not (estimator.bootstrap or hasattr(estimator, "quantile_ranks")):
        return {}
    checks = (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    )
    return dict.fromkeys(checks, "weights are not the same as repeated rows")


CHECKED = [
    RandomForestRegressor(10),
    RandomForestRegressor(5, criterion="absolute_error", max_depth=4, n_jobs=2),
    RandomForestRegressor(5, max_features="sqrt", bootstrap=False, max_leaf_nodes=9),
    RandomForestClassifier(10),
    RandomForestClassifier(5, criterion="entropy", max_samples=20, n_jobs=1),
    ExtraTreesRegressor(10),
    ExtraTreesClassifier(10),
    RandomForestQuantileRegressor(5, default_quantiles="mean"),
    ExtraTreesQuantileRegressor(5),
]


@parametrize_with_checks(CHECKED, expected_failed_checks=draws_rows)
def test_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [one for one in CHECKED if not hasattr(one, "quantile_ranks")]
)
def test_scikit_learn_excuses_its_own_forests_from_these_checks(estimator):
    """The list is that of scikit-learn's own test suite."""
    lists = pytest.importorskip("sklearn.utils._test_common.instance_generator")
    excused = lists._get_expected_failed_checks(theirs(type(estimator))())
    assert draws_rows(estimator).keys() <= excused.keys()


@ALL
def test_pipelines_and_searches_take_forests(kind):
    X, y = problem(kind)
    pipeline = make_pipeline(StandardScaler(), kind(10, random_state=0))
    name = kind.__name__.lower()
    grid = {f"{name}__max_depth": [1, 6], f"{name}__min_samples_leaf": [3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {f"{name}__max_depth": 6, f"{name}__min_samples_leaf": 3}
    assert search.best_score_ > 0.4
    assert cross_val_score(pipeline, X, y, cv=3, n_jobs=2).min() > 0.3


def test_bags_pass_through_a_search():
    X, y = problem(RandomForestRegressor)
    counts = np.random.default_rng(0).integers(0, 3, size=(len(y), 5))
    search = GridSearchCV(RandomForestRegressor(5), {"max_depth": [2, 6]}, cv=3)
    assert search.fit(X, y, bags=counts).best_params_ == {"max_depth": 6}


@FORESTS
def test_permutation_importance_finds_the_features(kind):
    X, y = problem(kind)
    X[:, 7] = np.random.default_rng(0).normal(size=len(y))
    forest = kind(20, random_state=0).fit(X, y)
    found = permutation_importance(forest, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean.max() > 10 * abs(found.importances_mean[7])


def test_partial_dependence_by_recursion_is_that_of_scikit_learn():
    X, y = problem(RandomForestRegressor)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    settings = {"features": [0], "kind": "average", "method": "recursion"}
    ours = partial_dependence(forest, X, **settings)["average"]
    known = partial_dependence(forest.to_sklearn(), X, **settings)["average"]
    np.testing.assert_allclose(ours, known, rtol=1e-6)
    brute = partial_dependence(forest, X, features=[0], method="brute")["average"]
    assert np.corrcoef(ours[0], brute[0])[0, 1] > 0.9


@FORESTS
def test_features_are_selected_by_importance(kind):
    X, y = problem(kind)
    selected = SelectFromModel(kind(20, random_state=0), max_features=3).fit(X, y)
    assert selected.transform(X).shape == (len(y), 3)
    best = np.argsort(selected.estimator_.feature_importances_)[-3:]
    assert set(best) == set(np.flatnonzero(selected.get_support()))
    assert RFE(kind(5, random_state=0), n_features_to_select=2).fit(X, y).support_.sum() == 2


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_probabilities_are_calibrated(kind):
    X, y = problem(kind, n=900)
    forest = kind(20, random_state=0)
    calibrated = CalibratedClassifierCV(forest, method="isotonic", cv=3).fit(X[:600], y[:600])
    assert log_loss(y[600:], calibrated.predict_proba(X[600:])) < 1.0


def test_forests_are_stacked_and_vote():
    X, y = problem(RandomForestRegressor)
    forests = [("rf", RandomForestRegressor(10)), ("et", ExtraTreesRegressor(10))]
    assert StackingRegressor(forests, RidgeCV()).fit(X, y).score(X, y) > 0.8
    assert VotingRegressor(forests).fit(X, y).score(X, y) > 0.8
    both = MultiOutputRegressor(RandomForestRegressor(5)).fit(X, np.stack([y, -y], axis=1))
    assert both.predict(X).shape == (len(y), 2)
    X, y = problem(RandomForestClassifier)
    forests = [("rf", RandomForestClassifier(10)), ("et", ExtraTreesClassifier(10))]
    assert StackingClassifier(forests, LogisticRegression()).fit(X, y).score(X, y) > 0.8
    assert cross_val_predict(forests[0][1], X, y, method="predict_proba").shape == (len(y), 3)


# ---- conversions ---------------------------------------------------------------------------------


@FORESTS
def test_forests_become_those_of_scikit_learn_and_back(kind):
    X, y = problem(kind)
    forest = kind(10, random_state=0).fit(X, y)
    genuine = forest.to_sklearn()
    assert type(genuine) is theirs(kind)
    assert len(genuine.estimators_) == 10
    np.testing.assert_allclose(predicted(genuine, X), predicted(forest, X), rtol=1e-12)
    np.testing.assert_array_equal(genuine.apply(X), forest.apply(X))
    np.testing.assert_allclose(genuine.feature_importances_, forest.feature_importances_, rtol=1e-6)
    assert genuine.get_params()["max_features"] == forest.max_features
    back = from_sklearn(genuine)
    assert type(back) is kind
    np.testing.assert_allclose(predicted(back, X), predicted(forest, X), rtol=1e-12)
    with pytest.raises(AttributeError, match="estimators_samples_"):
        _ = back.estimators_samples_
    with pytest.raises(TypeError, match="already"):
        from_sklearn(forest)


@FORESTS
def test_forests_of_scikit_learn_predict_the_same(kind):
    X, y = problem(kind)
    y = np.array(["x", "y", "z"])[y] if classifies(kind) else y
    known = theirs(kind)(10, random_state=0).fit(X, y)
    ours = from_sklearn(known)
    np.testing.assert_allclose(predicted(ours, X), predicted(known, X), rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), known.predict(X)) if classifies(kind) else None


def test_several_outputs_are_converted():
    X, y = problem(RandomForestClassifier)
    both = np.stack([y, (y > 0).astype(int)], axis=1)
    forest = RandomForestClassifier(5, random_state=0).fit(X, both)
    for ours, known in zip(
        forest.predict_proba(X), forest.to_sklearn().predict_proba(X), strict=True
    ):
        np.testing.assert_allclose(ours, known, rtol=1e-12)
    back = from_sklearn(forest.to_sklearn())
    np.testing.assert_array_equal(back.predict(X), forest.predict(X))


def test_thresholds_that_float32_loses_are_counted_once():
    rng = np.random.default_rng(0)
    X = 1.7e9 + rng.random((200, 2))
    forest = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="to_sklearn: ") as caught:
        forest.to_sklearn()
    assert len(caught) == 1


@FORESTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forests_become_onnx_models(kind, dtype):
    runtime = pytest.importorskip("onnxruntime")
    X, y = problem(kind)
    X[::5, 0] = np.nan
    y = np.array(["x", "y", "z"])[y] if classifies(kind) else y
    for n_trees in (1, 12):
        forest = kind(n_trees, random_state=0).fit(X, y)
        session = runtime.InferenceSession(forest.to_onnx(dtype).SerializeToString())
        *labels, numbers = session.run(None, {"X": X.astype(dtype)})
        np.testing.assert_allclose(numbers, predicted(forest, X), rtol=1e-12, atol=1e-15)
        for found in labels:
            np.testing.assert_array_equal(found, forest.predict(X))


def test_onnx_models_have_several_outputs_and_trees_of_one_leaf():
    runtime = pytest.importorskip("onnxruntime")
    X, y = problem(RandomForestRegressor)
    both = np.stack([y, -y], axis=1)
    bags = np.zeros((len(y), 3), dtype=int)
    bags[:, 0] = 1
    bags[5, 1:] = 1
    forest = RandomForestRegressor(3, random_state=0).fit(X, both, bags=bags)
    assert [tree.get_n_leaves() == 1 for tree in forest.estimators_] == [False, True, True]
    session = runtime.InferenceSession(forest.to_onnx().SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found, forest.predict(X), rtol=1e-12)


@FORESTS
def test_shap_explains_forests(kind):
    shap = pytest.importorskip("shap")
    X, y = problem(kind)
    forest = kind(8, max_depth=5, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(forest.to_shap())
    values = explainer(X[:20].astype(np.float64)).values
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, predicted(forest, X[:20]), rtol=1e-6, atol=1e-12)


@FORESTS
@pytest.mark.parametrize("is_converted", [False, True])
def test_treelite_takes_forests(kind, is_converted):
    treelite = pytest.importorskip("treelite")
    X, y = problem(kind)
    forest = kind(8, random_state=0).fit(X, y)
    model = treelite.sklearn.import_model(forest.to_sklearn() if is_converted else forest)
    found = np.asarray(treelite.gtil.predict(model, X)).reshape(len(y), -1)
    np.testing.assert_allclose(found, predicted(forest, X).reshape(len(y), -1), rtol=1e-6)


def test_a_virtual_subclass_of_the_forests_of_scikit_learn():
    assert isinstance(RandomForestRegressor(), sklearn.ensemble.RandomForestRegressor)
    assert not isinstance(RandomForestRegressor(), sklearn.ensemble.ExtraTreesRegressor)


@FORESTS
def test_pickles_of_processes_are_the_same(kind):
    """joblib sends forests to other processes and back."""
    from joblib import Parallel, delayed

    X, y = problem(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Parallel(n_jobs=2)(delayed(kind(4, random_state=0).fit)(X, y) for _ in range(2))
    here = kind(4, random_state=0).fit(X, y)
    for one in fitted:
        assert pickle.dumps(one.forest_) == pickle.dumps(here.forest_)


def test_what_draws_trees_says_where_those_of_a_forest_are():
    forest = RandomForestRegressor(2, max_depth=1, bootstrap=False)
    forest.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    for show in (splitwood.export_text, splitwood.export_graphviz, splitwood.plot_tree):
        with pytest.raises(TypeError, match=r"RandomForestRegressor; .* are in estimators_"):
            show(forest)
    assert "feature_0" in splitwood.export_text(forest.estimators_[0])
