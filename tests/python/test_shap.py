"""Trees explained by shap: the SHAP values of a row sum to its prediction."""

import numpy as np
import pytest

from handover import (
    CLASSIFIERS,
    REGRESSORS,
    fitted_classifier,
    fitted_outputs,
    fitted_regressor,
    hostile_rows,
    training_rows,
)
from splitwood import DecisionTreeRegressor

shap = pytest.importorskip("shap", reason="there is nothing to explain trees with")

# The rounding of sums of a hundred numbers that cancel.
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("settings", REGRESSORS.values(), ids=REGRESSORS)
def test_values_of_a_regressor_add_up(settings):
    tree = fitted_regressor(**settings)
    X = hostile_rows(tree, n_rows=2000)
    explainer = shap.TreeExplainer(tree.to_shap())
    np.testing.assert_array_equal(explainer.model.predict(X), tree.predict(X))
    values = explainer.shap_values(X)
    assert values.shape == X.shape
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict(X), **TOLERANCE)


@pytest.mark.parametrize("settings", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_values_of_a_classifier_add_up_to_its_probabilities(settings):
    tree = fitted_classifier(**settings)
    X = hostile_rows(tree, n_rows=2000)
    explainer = shap.TreeExplainer(tree.to_shap())
    values = np.asarray(explainer.shap_values(X)).reshape(*X.shape, -1)
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict_proba(X), **TOLERANCE)


def test_values_of_several_outputs_add_up():
    tree = fitted_outputs(max_depth=6)
    X = hostile_rows(tree, n_rows=500)
    explainer = shap.TreeExplainer(tree.to_shap())
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, tree.predict(X), **TOLERANCE)
    with pytest.raises(ValueError, match="to_shap: shap can't explain several outputs of classes"):
        fitted_outputs(classes=True).to_shap()


def test_values_against_a_background_add_up():
    tree = fitted_regressor(max_depth=6)
    X = training_rows(9)
    explainer = shap.TreeExplainer(tree.to_shap(), training_rows(7)[:50])
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    # shap's own kernel for backgrounds has thresholds and values in float32.
    np.testing.assert_allclose(total, tree.predict(X), rtol=1e-6, atol=1e-6)


def test_the_expected_value_is_the_mean_of_the_training_rows():
    X = training_rows(0)
    weight = np.random.default_rng(0).random(len(X))
    tree = fitted_regressor(sample_weight=weight)
    expected = shap.TreeExplainer(tree.to_shap()).expected_value
    assert expected == pytest.approx(np.average(tree.predict(X), weights=weight))


def test_cells_are_not_rounded_to_float32():
    X = 1.7e9 + np.arange(50.0)[:, None]
    tree = DecisionTreeRegressor().fit(X, np.arange(50.0))
    explainer = shap.TreeExplainer(tree.to_shap())
    np.testing.assert_allclose(explainer(X).values[:, 0] + 24.5, np.arange(50.0), **TOLERANCE)
