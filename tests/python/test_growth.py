"""Pictures of growing trees show the predictions of the trees."""

import numpy as np
import pandas
import polars
import pytest
import sklearn.linear_model
import sklearn.tree

from splitwood import DecisionTreeRegressor, animate_growth, plot_growth

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)
from PIL import Image  # noqa: E402  (comes with matplotlib)


@pytest.fixture(autouse=True)
def _no_open_figures():
    yield
    pyplot.close("all")


def chirp(n=200):
    x = np.linspace(0.0, np.pi, n)
    return x, np.cos(x**2)


def surface(points=20):
    side = np.linspace(-1.0, 1.0, points)
    X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    return X, np.sin(3 * X[:, 0]) * X[:, 1]


def test_steps_are_the_predictions():
    x, y = chirp()
    figure = plot_growth({"min_samples_leaf": 3}, x, y, depths=(1, 3))
    assert len(figure.axes) == 2
    for axes, depth in zip(figure.axes, (1, 3), strict=True):
        values, edges, _ = axes.patches[0].get_data()
        tree = DecisionTreeRegressor(min_samples_leaf=3, max_depth=depth).fit(x[:, None], y)
        # Intervals are closed on the right, and the first on both sides.
        at = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, None)
        np.testing.assert_array_equal(values[at], tree.predict(x[:, None]))
        assert axes.get_title().startswith(f"depth {depth}: {2**depth} leaves, R² ")


def test_a_column_and_a_vector_are_the_same_picture():
    x, y = chirp()
    titles = [
        [axes.get_title() for axes in plot_growth({}, X, y, depths=(2, 4, 5)).axes]
        for X in (x, x[:, None])
    ]
    assert titles[0] == titles[1]


@pytest.mark.parametrize("library", [pandas, polars])
def test_the_names_of_series_are_on_the_axes(library):
    x, y = chirp()
    X, height = surface()
    frame = library.DataFrame({"hour": x, "delay": y})
    hour, delay = frame["hour"], frame["delay"]
    named = plot_growth({}, hour, delay, depths=(2,)).axes[0]
    assert (named.get_xlabel(), named.get_ylabel()) == ("hour", "delay")
    bare = plot_growth({}, x, y, depths=(2,)).axes[0]
    assert (bare.get_xlabel(), bare.get_ylabel()) == ("x", "y")
    plate = plot_growth({}, X, pandas.Series(height, name="height"), depths=(2,)).axes[-1]
    assert plate.get_zlabel() == "height"


def test_two_features_are_surfaces_beside_the_data():
    X, y = surface()
    shuffled = np.random.default_rng(0).permutation(len(y))
    figure = plot_growth({}, X[shuffled], y[shuffled], depths=(2, 4))
    assert [axes.get_title().split(":")[0] for axes in figure.axes] == [
        "the data",
        "depth 2",
        "depth 4",
    ]
    assert all(len(axes.collections) == 1 for axes in figure.axes)
    assert len({axes.get_zlim() for axes in figure.axes}) == 1
    figure.draw_without_rendering()


def test_scattered_data_with_missing_values_is_drawn():
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    X[:5, 0] = np.nan
    plot_growth({}, X, rng.random(100), depths=(3,)).draw_without_rendering()
    plot_growth({}, X[:, :1], rng.random(100), depths=(3,)).draw_without_rendering()


def test_names_of_a_data_frame_are_used():
    pandas = pytest.importorskip("pandas", reason="data frames have names")
    X, y = surface()
    figure = plot_growth({}, pandas.DataFrame(X, columns=["width", "height"]), y, depths=(1,))
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("width", "height")


def test_an_estimator_is_not_changed():
    ours = DecisionTreeRegressor(max_depth=9, criterion="absolute_error")
    plot_growth(ours, *chirp(), depths=(1, 2))
    assert ours.max_depth == 9
    assert not hasattr(ours, "tree_")
    # Any estimator is accepted.
    plot_growth(sklearn.tree.DecisionTreeRegressor(), *chirp(), depths=(1, 2))


@pytest.mark.parametrize("data", [chirp(), surface()], ids=["one", "two"])
def test_an_animation_has_a_frame_for_each_depth(data, tmp_path):
    path = tmp_path / "growth.gif"
    animate_growth({}, *data, path, depths=(1, 2, 4), fps=2)
    with Image.open(path) as gif:
        assert (gif.format, gif.n_frames, gif.info["duration"]) == ("GIF", 3, 500)
        pictures = []
        for frame in range(3):
            gif.seek(frame)
            pictures.append(gif.convert("RGB").tobytes())
    assert len(set(pictures)) == 3
    assert pyplot.get_fignums() == []


def test_wrong_arguments_are_named():
    x, y = chirp()
    with pytest.raises(ValueError, match="depths: must be an integer of at least 1, got 0"):
        plot_growth({}, x, y, depths=(0, 1))
    with pytest.raises(ValueError, match="depths: must have at least one"):
        plot_growth({}, x, y, depths=())
    with pytest.raises(
        ValueError, match=r"X: must have one or two features to be drawn, got shape \(9, 3\)"
    ):
        plot_growth({}, np.zeros((9, 3)), np.zeros(9))
    with pytest.raises(ValueError, match=r"y: must be a vector to be drawn, got shape \(200, 2\)"):
        plot_growth({}, x, np.stack([y, y], axis=1))
    with pytest.raises(TypeError, match="estimator_or_params: must be a regressor with max_depth"):
        plot_growth(sklearn.linear_model.LinearRegression(), x, y)
    with pytest.raises(TypeError, match="estimator_or_params: must be a regressor with max_depth"):
        plot_growth(sklearn.tree.DecisionTreeClassifier(), x, y)
    with pytest.raises(ValueError, match="fps: must be above 0, got 0"):
        animate_growth({}, x, y, "never.gif", fps=0)
