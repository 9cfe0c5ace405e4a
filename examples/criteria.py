"""
What each criterion is for
==========================

Draw the pictures of docs/choosing-a-criterion.md: what each criterion is for.

.. code-block:: sh

    python examples/criteria.py [folder]

The drawing needs the extra "plot": pip install 'splitwood[plot]'.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from splitwood import DecisionTreeRegressor

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

PICTURES = Path(sys.argv[0]).resolve().parents[1] / "docs/pictures"
# Sharp at full width on dense screens.
PIXELS = 1_800
# Readers with any colour vision can tell these apart, and in grey by their lightness.
BLUE, RED, GREY, DARK = "#0072b2", "#d55e00", "#9a9a9a", "#333333"
STYLE = {
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}


def predicted(x: np.ndarray, y: np.ndarray, where: np.ndarray, **settings: Any) -> np.ndarray:
    """Predictions of a tree with one feature."""
    return DecisionTreeRegressor(**settings).fit(x[:, None], y).predict(where[:, None])


def draw_leaf() -> Figure:
    """What one leaf predicts, by criterion."""
    y = np.random.default_rng(0).lognormal(3.0, 0.9, 4_000)
    figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
    counts, _, _ = axes.hist(y, bins=np.arange(0, 122, 2.0), color="#d9d9d9", edgecolor="white")
    top = counts.max()
    nothing = np.zeros(len(y))
    marks = [
        ("0.1 quantile", {"criterion": "quantile", "quantile": 0.1}, BLUE, "--", 1.22),
        ("median", {"criterion": "absolute_error"}, BLUE, "-", 1.12),
        ("mean", {"criterion": "squared_error"}, RED, "-", 1.02),
        ("0.9 quantile", {"criterion": "quantile", "quantile": 0.9}, BLUE, "--", 0.92),
    ]
    for name, settings, color, style, height in marks:
        # The feature is constant, so the tree is one leaf.
        value = predicted(nothing, y, np.zeros(1), **settings)[0]
        axes.vlines(value, 0, height * top, color=color, linestyle=style, linewidth=2.5)
        label = f" {name}: {value:.0f}"
        axes.text(value, height * top, label, color=color, weight="bold", va="top")
    axes.set(xlim=(0, 120), ylim=(0, 1.25 * top), yticks=[])
    axes.set(xlabel="minutes of delay of the rows in one leaf", ylabel="rows")
    axes.set_title("One leaf, four answers")
    return figure


def draw_outliers() -> Figure:
    """The same data with a few failed readings, for a tree of means and one of medians."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, 240))
    level = np.select([x < 3, x < 7], [2.0, 6.0], 4.0)
    y = level + rng.normal(0, 0.5, len(x))
    broken = np.array([20, 47, 130, 205])
    y[broken] = 60.0
    where = np.linspace(0, 10, 2_000)
    figure, both = pyplot.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    rules = {"max_leaf_nodes": 3, "min_samples_leaf": 5}
    for axes, criterion, color, title in (
        (both[0], "squared_error", RED, "means: pulled up by the failures"),
        (both[1], "absolute_error", BLUE, "medians: the three levels"),
    ):
        axes.scatter(x, y, s=12, color=GREY, linewidths=0)
        for at in x[broken]:
            axes.annotate("▲", (at, 11.4), color=DARK, ha="center", va="center", fontsize=12)
        axes.step(where, predicted(x, y, where, criterion=criterion, **rules), color=color, lw=3)
        axes.set(ylim=(0, 12), xlabel="x")
        axes.set_title(title, color=color)
    both[0].set_ylabel("y")
    both[1].annotate("▲ failed readings: y = 60", (9.9, 10.4), ha="right", color=DARK)
    return figure


def draw_band() -> Figure:
    """Quantiles around noise that grows."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 3_000))
    y = 10 + 3 * np.sin(x / 2) + rng.gamma(2.0, 0.2 + 0.35 * x)
    where = np.linspace(0, 10, 2_000)
    rules = {"max_depth": 4, "min_samples_leaf": 150}
    lines = {
        level: predicted(x, y, where, criterion="quantile", quantile=level, **rules)
        for level in (0.1, 0.5, 0.9)
    }
    figure, axes = pyplot.subplots(figsize=(9, 4.4), layout="constrained")
    axes.scatter(x, y, s=5, color=GREY, alpha=0.5, linewidths=0)
    axes.fill_between(where, lines[0.1], lines[0.9], color=BLUE, alpha=0.16, linewidth=0)
    for level, width in ((0.1, 1.5), (0.5, 3.0), (0.9, 1.5)):
        axes.step(where, lines[level], color=BLUE, linewidth=width)
        name = "median" if level == 0.5 else f"0.{round(10 * level)} quantile"
        axes.annotate(name, (10.15, lines[level][-1]), color=BLUE, weight="bold", va="center")
    axes.set(xlim=(0, 12.4), xticks=range(0, 11, 2), ylim=(7, 32), xlabel="x", ylabel="y")
    axes.set_title("Eight of ten rows are inside the band, wide or narrow")
    return figure


def draw_counts() -> Figure:
    """The first split by squared error and by Poisson deviance: larger difference or ratio."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, 600))
    rate = np.select([x < 3, x < 7], [0.3, 8.0], 16.0)
    y = rng.poisson(rate).astype(float)
    where = np.linspace(0, 10, 2_000)
    figure, both = pyplot.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    for axes, criterion, color, title in (
        (both[0], "squared_error", RED, "squared error: 8 more is 8 more"),
        (both[1], "poisson", BLUE, "Poisson: from 0.3 to 8 is the larger step"),
    ):
        axes.scatter(x, y, s=10, color=GREY, alpha=0.6, linewidths=0)
        axes.step(
            where, predicted(x, y, where, criterion=criterion, max_depth=1), color=color, lw=3
        )
        axes.plot(
            where, np.select([where < 3, where < 7], [0.3, 8.0], 16.0), color=DARK, lw=1, ls=":"
        )
        axes.set(xlabel="x", ylim=(-0.5, 28))
        axes.set_title(title, color=color)
    both[0].set_ylabel("events")
    arrow = {"arrowstyle": "->", "color": DARK}
    both[0].annotate("the true rates", (3.0, 7.0), (0.1, 10.5), color=DARK, arrowprops=arrow)
    return figure


def draw_impurities() -> Figure:
    """Gini impurity, entropy and the error of the majority vote, of two classes."""
    share = np.linspace(0, 1, 501)[1:-1]
    entropy = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    figure, axes = pyplot.subplots(figsize=(7.5, 4), layout="constrained")
    axes.plot(share, entropy, color=RED, linewidth=3)
    axes.plot(share, 2 * share * (1 - share), color=BLUE, linewidth=3)
    axes.plot(share, np.minimum(share, 1 - share), color=DARK, linewidth=1.5, linestyle="--")
    axes.annotate("entropy, in bits", (0.5, 0.92), color=RED, ha="center", va="top", weight="bold")
    axes.annotate("Gini", (0.5, 0.515), color=BLUE, ha="center", va="bottom", weight="bold")
    axes.annotate("errors of the\nmajority vote", (0.5, 0.3), color=DARK, ha="center", va="top")
    axes.set(xlim=(0, 1), ylim=(0, 1.05), xlabel="share of one of two classes", ylabel="impurity")
    axes.set_title("Both reward purity before the vote changes")
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "criterion-leaf.png": draw_leaf,
    "criterion-outliers.png": draw_outliers,
    "criterion-band.png": draw_band,
    "criterion-counts.png": draw_counts,
    "criterion-classes.png": draw_impurities,
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    pyplot.rcParams.update(STYLE)
    for name, draw in DRAWINGS.items():
        figure = draw()
        figure.savefig(folder / name, dpi=PIXELS / figure.get_figwidth())
        print(folder / name)


if __name__ == "__main__":
    main()
