"""Libraries that expect scikit-learn's trees, with trees from `to_sklearn`."""

import numpy as np
import pytest
import sklearn.ensemble

from handover import (
    fitted_classifier,
    fitted_regressor,
    hostile_rows,
    regression_target,
    training_rows,
)
from splitwood import DecisionTreeRegressor


def forest_of(tree, forest):
    """A forest with this one tree, because treelite accepts only forests."""
    forest.estimators_ = [tree]
    forest.n_outputs_, forest.n_features_in_ = 1, tree.n_features_in_
    if hasattr(tree, "classes_"):
        forest.classes_, forest.n_classes_ = tree.classes_, len(tree.classes_)
    return forest


@pytest.fixture(scope="module")
def treelite():
    return pytest.importorskip("treelite", reason="treelite is not installed")


def test_treelite_predicts_a_regressor(treelite):
    ours = fitted_regressor()
    model = treelite.sklearn.import_model(
        forest_of(ours.to_sklearn(), sklearn.ensemble.RandomForestRegressor(1))
    )
    X = hostile_rows(ours, dtype=np.float32)
    predicted = treelite.gtil.predict(model, X.astype(np.float64)).reshape(-1)
    np.testing.assert_array_equal(predicted, ours.predict(X))


def test_treelite_predicts_a_classifier(treelite):
    ours = fitted_classifier(labels=(0, 1, 2))
    model = treelite.sklearn.import_model(
        forest_of(ours.to_sklearn(), sklearn.ensemble.RandomForestClassifier(1))
    )
    X = hostile_rows(ours, dtype=np.float32)
    predicted = treelite.gtil.predict(model, X.astype(np.float64)).reshape(len(X), -1)
    np.testing.assert_array_equal(predicted, ours.predict_proba(X))


# dtreeviz does not accept missing values.
@pytest.mark.parametrize(
    "ours",
    [fitted_regressor(missing=False, max_depth=4), fitted_classifier(missing=False, max_depth=4)],
    ids=["regressor", "classifier"],
)
def test_dtreeviz_explains_each_prediction(ours):
    dtreeviz = pytest.importorskip("dtreeviz", reason="dtreeviz is not installed")
    X = training_rows(0, missing=False)
    is_regressor = isinstance(ours, DecisionTreeRegressor)
    y = regression_target(X, 0) if is_regressor else np.searchsorted(ours.classes_, ours.predict(X))
    model = dtreeviz.model(
        *(ours.to_sklearn(), X, y),
        feature_names=list("abcde"),
        target_name="target",
        class_names=None if is_regressor else list(ours.classes_),
    )
    shadow = model.shadow_tree
    assert shadow.nnodes() == ours.tree_.node_count
    predictions = ours.predict(X) if is_regressor else y
    for row, expected in zip(X, predictions, strict=True):
        assert shadow.predict(row) == expected
        path = [node.id for node in shadow.predict_path(row)]
        assert path == ours.decision_path([row]).indices.tolist()
    assert "<" in model.explain_prediction_path(X[0])
