"""All of scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from splitwood import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@parametrize_with_checks(
    [
        DecisionTreeRegressor(),
        DecisionTreeRegressor(max_depth=3, min_samples_split=5, n_jobs=1),
        DecisionTreeRegressor(min_weight_fraction_leaf=0.05, n_jobs=2),
        DecisionTreeRegressor(ccp_alpha=0.01),
        DecisionTreeRegressor(criterion="absolute_error"),
        DecisionTreeRegressor(criterion="quantile", quantile=0.8, max_depth=4, n_jobs=2),
        DecisionTreeRegressor(max_leaf_nodes=9, max_features="sqrt", random_state=0),
        ExtraTreeRegressor(random_state=0),
        DecisionTreeClassifier(),
        DecisionTreeClassifier(criterion="entropy", max_depth=4, n_jobs=1),
        DecisionTreeClassifier(criterion="log_loss", min_impurity_decrease=0.001, n_jobs=2),
        ExtraTreeClassifier(random_state=0),
    ]
)
def test_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)
