"""
Quantiles and importances of forests
====================================

Draw the pictures of docs/forests.md: a band of quantiles, and importances that noise fools.

.. code-block:: sh

    python examples/forest_pictures.py [folder]

The drawing needs the extra "plot": pip install 'splitwood[plot]'.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from splitwood import RandomForestClassifier, RandomForestQuantileRegressor

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

PICTURES = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures"
# Sharp at full width on dense screens.
PIXELS = 1_800
# Readers with any colour vision can tell these apart, and in grey by their lightness.
BLUE, RED, GREY = "#0072b2", "#d55e00", "#9a9a9a"
STYLE = {
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}


def draw_band() -> Figure:
    """Targets whose spread grows, and the quantiles of one forest."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 2_000)
    y = np.sin(x) + rng.normal(0, 0.05 + 0.08 * x)
    forest = RandomForestQuantileRegressor(200, min_samples_leaf=30, random_state=0)
    forest.fit(x[:, None], y)
    grid = np.linspace(0, 10, 400)
    low, median, high = forest.predict(grid[:, None], quantiles=[0.1, 0.5, 0.9]).T
    figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(x, y, ".", color=GREY, markersize=2)
    axes.fill_between(grid, low, high, color=BLUE, alpha=0.25, label="quantiles 0.1 to 0.9")
    axes.plot(grid, median, color=BLUE, linewidth=2, label="median")
    axes.set(xlabel="feature", ylabel="target")
    axes.set_title("One quantile forest: the band is wide where the targets are spread")
    axes.legend(loc="upper left", frameon=False)
    return figure


def draw_importances() -> Figure:
    """A column with the signal beside a column of noise with many values."""
    rng = np.random.default_rng(0)
    coin, noise = rng.integers(0, 2, 1_000), rng.normal(size=1_000)
    label = (coin + rng.normal(size=1_000) > 0.5).astype(int)
    X = np.stack([coin, noise], axis=1)
    figure, axes = pyplot.subplots(figsize=(9, 3), layout="constrained")
    places = np.arange(2)
    for shift, kind, color in ((0.2, "impurity", RED), (-0.2, "unbiased", BLUE)):
        forest = RandomForestClassifier(importance_type=kind, random_state=0).fit(X, label)
        axes.barh(places + shift, forest.feature_importances_, 0.36, color=color, label=kind)
    axes.set(xlabel="importance")
    axes.set_yticks(places, ["coin: the signal", "noise of many values"])
    axes.set_title("The same forest, by importance_type")
    axes.legend(frameon=False)
    return figure


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with pyplot.rc_context(STYLE):
        for name, figure in (
            ("forest-band.png", draw_band()),
            ("forest-importances.png", draw_importances()),
        ):
            figure.savefig(folder / name, dpi=PIXELS / figure.get_figwidth())
            print(folder / name)


if __name__ == "__main__":
    main()
