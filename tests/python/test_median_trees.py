"""Trees of medians and quantiles, compared with scikit-learn's and with their definitions."""

import pickle

import numpy as np
import pytest
import sklearn.tree
from sklearn import datasets
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, mean_pinball_loss

from splitwood import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from test_parity import REGRESSORS, assert_same_structure, both, friedman, random_weights
from trees import STRUCTURE, assert_same_tree, leaf_loss, rows_by_node

ABSOLUTE = {"criterion": "absolute_error"}
# Without the direction of missing values: where a node has none and both sides weigh the same, the
# rounding of the weights decides it.
SPLITS = ("children_left", "children_right", "feature", "threshold", "value")
WEIGHTS = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def quantile_tree(level, **settings):
    return DecisionTreeRegressor(criterion="quantile", quantile=level, **settings)


def diabetes():
    return datasets.load_diabetes(return_X_y=True)


def linnerud():
    """Waists from exercises: 20 rows."""
    X, y = datasets.load_linnerud(return_X_y=True)
    return X, y[:, 1]


def petals():
    X = datasets.load_iris().data
    return X[:, :2], X[:, 3]


def wine():
    X = datasets.load_wine().data
    return X[:, 1:], X[:, 0]


def pixels():
    """Many ties: the darkness of one pixel from the others."""
    X = datasets.load_digits().data[:300]
    return np.delete(X, 10, axis=1), X[:, 10]


@pytest.fixture(params=[diabetes, linnerud, petals, wine, pixels])
def data(request):
    """Regression on the data that comes with scikit-learn, as it sees it: in single precision."""
    X, y = request.param()
    return X.astype(np.float32), y


def integer_weights(n):
    return np.random.default_rng(4).integers(1, 5, n).astype(float)


@WEIGHTS
class TestBesideScikitLearn:
    def test_the_same_reported_root(self, data, weighted):
        X, y = data
        weight = integer_weights(len(y)) if weighted else None
        ours, theirs = both(REGRESSORS, X, y, weight, max_depth=1, **ABSOLUTE)
        for name in ("value", "impurity", "n_node_samples", "weighted_n_node_samples"):
            a, e = getattr(ours.tree_, name)[0], getattr(theirs.tree_, name)[0]
            assert a == pytest.approx(e, rel=1e-12), name
        errors = np.abs(y - y[:, None]) @ (np.ones(len(y)) if weight is None else weight)
        assert ours.tree_.impurity[0] == pytest.approx(
            errors.min() / ours.tree_.weighted_n_node_samples[0], rel=1e-12
        )

    @pytest.mark.parametrize("leaf", [1, 7])
    def test_no_split_is_worse_than_scikit_learns(self, data, leaf, weighted):
        """Compares node by node, so that other choices in ties further up don't matter."""
        X, y = data
        weight = integer_weights(len(y)) if weighted else np.ones(len(y))
        rules = {"min_samples_leaf": leaf, **ABSOLUTE}
        model = DecisionTreeRegressor(max_depth=5, **rules).fit(X, y, weight)
        tree, members = model.tree_, rows_by_node(model, X)
        losses = tree.impurity * tree.weighted_n_node_samples
        for node in np.flatnonzero(tree.children_left >= 0):
            rows = members[node]
            stump = sklearn.tree.DecisionTreeRegressor(max_depth=1, random_state=0, **rules)
            expected = leaf_loss(stump.fit(X[rows], y[rows], weight[rows])) * weight[rows].sum()
            found = losses[[tree.children_left[node], tree.children_right[node]]].sum()
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)

    @pytest.mark.parametrize("depth", [2, 4, None])
    def test_about_the_same_loss_of_whole_trees(self, data, depth, weighted):
        X, y = data
        weight = integer_weights(len(y)) if weighted else None
        ours, theirs = both(REGRESSORS, X, y, weight, max_depth=depth, **ABSOLUTE)
        # Other choices in ties lead to other subtrees.
        assert leaf_loss(ours) == pytest.approx(leaf_loss(theirs), rel=0.1, abs=1e-9)
        error = mean_absolute_error(y, ours.predict(X), sample_weight=weight)
        assert leaf_loss(ours) == pytest.approx(error, rel=1e-9, abs=1e-12)

    def test_the_same_tree_where_nothing_ties(self, weighted):
        X, y = friedman()
        weight = random_weights(len(y), 0.25, 3.0) if weighted else None
        for rules in (
            {"max_depth": 3, "min_samples_leaf": 20},
            {"max_depth": 4, "min_samples_leaf": 20, "min_impurity_decrease": 0.02},
            {"max_depth": 4, "min_samples_leaf": 5, "min_weight_fraction_leaf": 0.06},
        ):
            assert_same_structure(*both(REGRESSORS, X, y, weight, **rules, **ABSOLUTE))


class TestWeightedMedian:
    """Only shares of the weight matter, whatever unit the weights have."""

    X, y = np.zeros((3, 1)), [0.0, 1.0, 5.0]

    @pytest.mark.parametrize("weight", [[1, 2, 3], [0.1, 0.2, 0.3], [0.7, 1.4, 2.1]], ids=str)
    def test_a_half_between_two_rows_is_their_midpoint(self, weight):
        """In floating point, 0.1 + 0.2 is above 0.3, and 0.7 + 1.4 is below 2.1."""
        model = DecisionTreeRegressor(**ABSOLUTE).fit(self.X, self.y, weight)
        assert model.tree_.value[0, 0, 0] == 3.0

    def test_scikit_learns_moves_with_the_scale(self):
        """scikit-learn predicts 1, 3 or 5 from the same shares of the weight."""
        kind = sklearn.tree.DecisionTreeRegressor
        medians = {
            kind(**ABSOLUTE).fit(self.X, self.y, weight).tree_.value[0, 0, 0]
            for weight in ([1, 2, 3], [0.1, 0.2, 0.3], [0.7, 1.4, 2.1])
        }
        assert len(medians) > 1

    @pytest.mark.parametrize("scale", [0.1, 0.3, 1e-9, 7e11])
    @pytest.mark.parametrize("settings", [ABSOLUTE, {"criterion": "quantile", "quantile": 0.3}])
    def test_the_scale_of_weights_changes_nothing(self, data, settings, scale):
        X, y = data
        weight = integer_weights(len(y))
        expected = DecisionTreeRegressor(**settings).fit(X, y, weight)
        scaled = DecisionTreeRegressor(**settings).fit(X, y, weight * scale)
        assert_same_tree(scaled, expected, SPLITS)
        np.testing.assert_allclose(scaled.tree_.impurity, expected.tree_.impurity, rtol=1e-12)

    @pytest.mark.parametrize("settings", [ABSOLUTE, {"criterion": "quantile", "quantile": 0.85}])
    def test_integer_weights_are_repeated_rows(self, data, settings):
        X, y = data
        weight = integer_weights(len(y)).astype(int)
        weighted = DecisionTreeRegressor(**settings).fit(X, y, weight)
        repeated = DecisionTreeRegressor(**settings)
        repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert_same_tree(weighted, repeated, (*STRUCTURE, "value", "weighted_n_node_samples"))
        np.testing.assert_allclose(weighted.tree_.impurity, repeated.tree_.impurity, rtol=1e-12)


class TestQuantiles:
    @pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.9])
    @WEIGHTS
    def test_the_impurity_is_the_mean_pinball_loss(self, data, level, weighted):
        X, y = data
        weight = integer_weights(len(y)) if weighted else None
        model = quantile_tree(level, max_depth=4).fit(X, y, weight)
        loss = mean_pinball_loss(y, model.predict(X), sample_weight=weight, alpha=level)
        assert leaf_loss(model) == pytest.approx(loss, rel=1e-9)

    @pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
    def test_leaves_have_the_levels_share_below(self, data, level):
        X, y = data
        model = quantile_tree(level, min_samples_leaf=7).fit(X, y)
        values = model.tree_.value[:, 0, 0]
        for node, rows in enumerate(rows_by_node(model, X)):
            slack = 1e-9 * len(rows)
            assert (y[rows] < values[node]).sum() <= level * len(rows) + slack
            assert (y[rows] > values[node]).sum() <= (1 - level) * len(rows) + slack

    def test_level_one_half_is_the_absolute_error_halved(self, data):
        X, y = data
        median, half = DecisionTreeRegressor(**ABSOLUTE), quantile_tree(0.5)
        assert_same_tree(half.fit(X, y), median.fit(X, y), (*STRUCTURE, "value"))
        np.testing.assert_allclose(2 * half.tree_.impurity, median.tree_.impurity, rtol=1e-12)

    def test_higher_levels_predict_more_in_the_same_leaf(self):
        y = np.random.default_rng(5).normal(size=101)
        X = np.zeros((101, 1))
        values = [quantile_tree(q).fit(X, y).predict(X)[0] for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
        assert values == sorted(values)
        assert values == [np.sort(y)[k] for k in (5, 25, 50, 75, 95)]


@pytest.mark.parametrize("settings", [ABSOLUTE, {"criterion": "quantile", "quantile": 0.3}])
class TestOffsetsAndScales:
    def test_an_offset_of_y_moves_the_values_alone(self, settings):
        X, y = diabetes()  # integers
        expected = DecisionTreeRegressor(**settings).fit(X, y)
        moved = DecisionTreeRegressor(**settings).fit(X, y + 1e9)
        assert_same_tree(moved, expected, STRUCTURE)
        np.testing.assert_array_equal(moved.tree_.value - 1e9, expected.tree_.value)
        np.testing.assert_allclose(moved.tree_.impurity, expected.tree_.impurity, rtol=1e-12)

    @pytest.mark.parametrize("scale", [2.0**-40, 1e-12, 2.0**100])
    def test_a_scale_of_y_scales_the_values_alone(self, settings, scale):
        X, y = diabetes()
        expected = DecisionTreeRegressor(**settings).fit(X, y)
        scaled = DecisionTreeRegressor(**settings).fit(X, y * scale)
        assert_same_tree(scaled, expected, STRUCTURE)
        np.testing.assert_allclose(scaled.tree_.value, expected.tree_.value * scale, rtol=1e-12)
        np.testing.assert_allclose(
            scaled.tree_.impurity, expected.tree_.impurity * scale, rtol=1e-9, atol=1e-12 * scale
        )

    @WEIGHTS
    @pytest.mark.parametrize(("scale", "offset"), [(1e-12, 0), (1 / 60, 0), (0.1, 1e9)])
    def test_ties_by_chance_stay_ties(self, settings, scale, offset, weighted):
        """Integers far from 0, times a factor that rounds each of them separately."""
        rng = np.random.default_rng(0)
        X = rng.integers(0, 30, (300, 4)).astype(float)
        y = rng.integers(0, 40, 300) + 1e6
        weight = integer_weights(300) if weighted else None
        expected = DecisionTreeRegressor(**settings).fit(X, y, weight)
        moved = DecisionTreeRegressor(**settings).fit(X, y * scale + offset, weight)
        assert_same_tree(moved, expected, STRUCTURE)

    def test_threads_and_memory_order_change_nothing(self, settings):
        X, y = friedman(20_000)
        expected = DecisionTreeRegressor(n_jobs=1, **settings).fit(X, y)
        assert_same_tree(DecisionTreeRegressor(n_jobs=2, **settings).fit(X, y), expected)
        turned = DecisionTreeRegressor(n_jobs=2, **settings).fit(np.asfortranarray(X), y)
        assert_same_tree(turned, expected)

    def test_outliers_move_no_other_leaf(self, settings):
        """The size of an outlier changes no leaf but its own."""
        X, y = np.arange(9.0)[:, None], [1, 1, 2, 2, 2, 7, 8, 8, 9]
        wild = [*y[:-1], 1e12]
        tame = DecisionTreeRegressor(max_depth=1, **settings).fit(X[:5], y[:5])
        assert DecisionTreeRegressor(**settings).fit(X, wild).predict(X)[0] == tame.predict(X)[0]


class TestErrors:
    X, y = [[0.0], [1.0]], [0.0, 1.0]

    @pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.1, 1.5, float("nan"), float("inf")])
    def test_levels_are_strictly_between_0_and_1(self, level):
        with pytest.raises(ValueError, match=r"quantile: must be strictly between 0 and 1, got "):
            quantile_tree(level).fit(self.X, self.y)

    @pytest.mark.parametrize("level", [None, "0.5", [0.5]])
    def test_levels_are_numbers(self, level):
        with pytest.raises((TypeError, ValueError), match=r"quantile: must be a number, got "):
            quantile_tree(level).fit(self.X, self.y)

    def test_targets_are_finite(self):
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match="y"):
                DecisionTreeRegressor(**ABSOLUTE).fit(self.X, [0.0, bad])

    @pytest.mark.parametrize("criterion", ["absolute_error", "quantile"])
    def test_classes_have_no_median(self, criterion):
        with pytest.raises(ValueError, match="criterion"):
            DecisionTreeClassifier(criterion=criterion).fit(self.X, [0, 1])


@pytest.mark.parametrize("settings", [ABSOLUTE, {"criterion": "quantile", "quantile": 0.8}])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_few_distinct_targets_make_no_chains(settings, weights, outputs):
    # Where no cut gained anything, the first one split off a row: 20,000 rows were thousands deep.
    rng = np.random.default_rng(0)
    n = 20_000 if outputs == 1 else 2_000
    X, y = rng.random((n, 3)), rng.choice([0.0, 1.0], (n, outputs), p=[0.9, 0.1])
    weight = rng.integers(1, 4, n).astype(float) if weights else None
    model = DecisionTreeRegressor(**settings).fit(X, y, weight)
    assert model.get_depth() < 150


class TestTheSetting:
    def test_it_is_a_parameter_like_the_others(self):
        assert DecisionTreeRegressor().get_params()["quantile"] == 0.5
        assert "quantile" not in DecisionTreeClassifier().get_params()
        model = quantile_tree(0.5).set_params(quantile=0.9)
        assert clone(model).get_params() == model.get_params()
        assert "quantile=0.9" in repr(model)

    def test_it_survives_pickling(self):
        X, y = friedman()
        model = quantile_tree(0.9, max_depth=4).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        assert (copy.quantile, copy.criterion) == (0.9, "quantile")
        assert_same_tree(copy, model)
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert_same_tree(clone(copy).fit(X, y), model)


def test_rounding_makes_no_importance_negative():
    """With seed 22 the cut that is drawn gains nothing, and the losses of its sides round up."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(7, 5)), rng.normal(size=7)
        model = ExtraTreeRegressor(
            criterion="absolute_error", max_features=1, random_state=seed
        ).fit(X, y)
        assert (model.feature_importances_ >= 0.0).all()


@pytest.mark.parametrize("unit", [1.0, 0.25])
@pytest.mark.parametrize("n_rows", [12, 200, 3_000])
@pytest.mark.parametrize(
    "settings",
    [ABSOLUTE, {"criterion": "quantile", "quantile": 0.8}, ABSOLUTE | {"max_leaf_nodes": 20}],
    ids=["median", "quantile", "leaves"],
)
def test_counts_are_repeated_rows(settings, n_rows, unit):
    """Nodes count a row once, and report its copies as weight."""
    rng = np.random.default_rng(n_rows)
    X = rng.random((n_rows, 4)).round(2)
    y = np.exp(3 * rng.normal(size=n_rows)) + X[:, 0]
    counts = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
    model = DecisionTreeRegressor(**settings).fit(X, y, unit * counts)
    tree = model.tree_
    repeated = np.arange(n_rows).repeat(counts)
    twin = DecisionTreeRegressor(**settings).fit(X[repeated], y[repeated]).tree_
    for name in (*SPLITS, "impurity"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(twin, name), name)
    np.testing.assert_array_equal(tree.weighted_n_node_samples, unit * twin.n_node_samples)
    n_distinct = [len(rows) for rows in rows_by_node(model, X[counts > 0])]
    np.testing.assert_array_equal(tree.n_node_samples, n_distinct)
