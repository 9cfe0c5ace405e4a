"""Three obvious ways to walk down a tree in Python, beside ours: cumulative time over rounds."""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from compare.cases import OURS_NAME
from compare.markdown import seconds as seconds_text
from compare.plots import RESOLUTION, STYLES, End, label_ends, pyplot_for_files, round_unit
from compare.walker import Walker

ROUNDS = 200
COLORS = {
    "row by row": "#0072B2",
    "explicit stack": "#CC79A7",
    "recursive partition": "#009E73",
    "scikit-learn": STYLES["scikit-learn"].color,
    OURS_NAME: STYLES[OURS_NAME].color,
}


def _measure(ways: dict[str, Callable], X: np.ndarray) -> dict[str, list[float]]:
    """Seconds of each round of each way, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, predict in ways.items():
            start = time.perf_counter()
            predict(X)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def _draw(seconds: dict[str, Sequence[float]], title: str, picture: Path) -> None:
    pyplot = pyplot_for_files()
    figure, axes = pyplot.subplots(figsize=(8, 4.6), layout="constrained")
    rounds = range(1, ROUNDS + 1)
    ends = []
    for name, times in seconds.items():
        ours = name == OURS_NAME
        so_far = list(accumulate(times))
        axes.plot(rounds, so_far, color=COLORS[name], linewidth=2.6 if ours else 1.6)
        ends.append(End(ROUNDS, so_far[-1], name, COLORS[name], ours))
    axes.set(xlabel="rounds", ylabel="time so far", title=title, yscale="log", xlim=(1, ROUNDS))
    axes.yaxis.set_major_formatter(round_unit(seconds_text))
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    label_ends(axes, ends)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=RESOLUTION)
    pyplot.close(figure)


def compare(picture: Path) -> dict[str, float]:
    """Draws the cumulative times and returns the best ones."""
    from sklearn.tree import DecisionTreeClassifier as Theirs

    from splitwood import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier().fit(X, y)
    walker = Walker.of(model)
    ways = {
        "row by row": walker.row_by_row,
        "explicit stack": walker.explicit_stack,
        "recursive partition": walker.recursive_partition,
        "scikit-learn": Theirs(random_state=0).fit(X, y).predict,
        OURS_NAME: model.predict,
    }
    for name, predict in ways.items():
        if not np.array_equal(predict(X), y):
            raise AssertionError(f"{name} predicts something else")
    seconds = _measure(ways, X)
    title = f"Predicting the {len(X)} rows of the breast cancer data, {model.get_n_leaves()} leaves"
    _draw(seconds, title, picture)
    return {name: min(times) for name, times in seconds.items()}
