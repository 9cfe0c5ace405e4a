"""Draw the pictures of docs/how-it-works.md: how a tree is grown and how it predicts.

    python examples/drawings.py [folder]

The numbers in the drawings are computed, not made up. The drawing needs the extra "plot":
pip install 'splitwood[plot]'.
"""

import sys
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

PICTURES = Path(__file__).parents[1] / "docs/pictures"
# Pixels per inch: at full width, sharp on dense screens.
RESOLUTION = 160
# Readers with any colour vision can tell these apart, and in grey by their lightness.
BLUE, RED, GREY, DARK = "#0072b2", "#d55e00", "#9a9a9a", "#333333"
PALE_BLUE, PALE_RED, PALE = "#cfe5f3", "#fbdcc8", "#ededed"
SIDE_COLOR = {"left": PALE_BLUE, "right": PALE_RED}
STYLE = {
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.facecolor": "white",
}

# Six rows: two features and a target. The split of both drawings is by the first feature.
A = np.array([4, 1, 6, 2, 5, 3])
B = np.array([20, 50, 10, 60, 40, 30])
Y = np.array([5, 1, 7, 2, 6, 1])
THRESHOLD = 3.5


def canvas(width: float, height: float, size: tuple[float, float]) -> tuple[Figure, Axes]:
    """A sheet on which a unit is a unit, with its origin at the top."""
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_aspect("equal")
    axes.axis("off")
    return figure, axes


def boxes(
    axes: Axes, x: float, y: float, values: Sequence[Any], colors: Sequence[str], down: bool = False
) -> None:
    """Values in boxes of size one, side by side or one below the other."""
    for i, (value, color) in enumerate(zip(values, colors, strict=True)):
        at = (x, y + i) if down else (x + i, y)
        axes.add_patch(Rectangle(at, 1, 1, facecolor=color, edgecolor=DARK, linewidth=1))
        axes.text(at[0] + 0.5, at[1] + 0.52, str(value), ha="center", va="center")


def label(axes: Axes, x: float, y: float, text: str, color: str = DARK, **style: Any) -> None:
    axes.text(x, y, text, color=color, **{"ha": "center", "va": "center", **style})


def arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str = DARK
) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color, "lw": 1.6})


def sides() -> dict[int, str]:
    """The side of each row."""
    return {row: "left" if A[row] <= THRESHOLD else "right" for row in range(len(A))}


# ---- growing -------------------------------------------------------------------------------------


def draw_presort() -> Figure:
    """A table becomes columns: the row ids in each feature's order, with the target beside them."""
    figure, axes = canvas(24, 9.6, (11, 4.6))
    plain = [PALE] * len(A)
    for x, values, name in ((1, range(len(A)), "row"), (2.3, A, "a"), (3.6, B, "b"), (4.9, Y, "y")):
        label(axes, x + 0.5, 1.6, name, weight="bold")
        boxes(axes, x, 2.2, list(values), plain if name != "row" else ["white"] * 6, down=True)
    label(axes, 3.4, 0.5, "the table", weight="bold")
    arrow(axes, (6.7, 5.2), (8.9, 5.2))
    label(axes, 7.8, 4.5, "one sort\nper feature", fontsize=12, va="bottom")
    for top, feature, name in ((1.6, A, "a"), (5.9, B, "b")):
        order = np.argsort(feature, kind="stable")
        color = PALE_BLUE if name == "a" else PALE_RED
        for below, values, what in (
            (0, feature[order], name),
            (1.15, order, "row"),
            (2.3, Y[order], "y"),
        ):
            label(axes, 10.9, top + below + 0.5, what, ha="right", weight="bold")
            boxes(axes, 11.2, top + below, list(values), [color if below else "white"] * 6)
    label(axes, 14.2, 0.5, "the columns", weight="bold")
    for top, name in ((1.6, "a"), (5.9, "b")):
        label(axes, 17.7, top + 0.5, f"{name} ascends; it is not stored", ha="left", fontsize=12)
        label(axes, 17.7, top + 1.65, f"row numbers in the order of {name}", ha="left", fontsize=12)
        label(axes, 17.7, top + 2.8, "the target, carried along", ha="left", fontsize=12)
    return figure


def draw_partition() -> Figure:
    """After a split, both parts of a column are still sorted."""
    figure, axes = canvas(24, 7.4, (11, 3.6))
    order = np.argsort(B, kind="stable")
    side = sides()
    left = [row for row in order if side[row] == "left"]
    right = [row for row in order if side[row] == "right"]
    label(axes, 0.2, 0.6, f"split: a ≤ {THRESHOLD}", ha="left", weight="bold")
    label(axes, 4.6, 2.0, "column of b", ha="right")
    boxes(axes, 5, 1.5, list(order), [SIDE_COLOR[side[row]] for row in order])
    label(axes, 4.6, 5.8, "two children", ha="right")
    boxes(axes, 5, 5.3, left, [PALE_BLUE] * len(left))
    boxes(axes, 9, 5.3, right, [PALE_RED] * len(right))
    for place, row in enumerate(order):
        end = 5.5 + left.index(row) if row in left else 9.5 + right.index(row)
        arrow(axes, (5.5 + place, 2.6), (end, 5.2), BLUE if row in left else RED)
    label(axes, 6.5, 6.9, "left", BLUE, weight="bold")
    label(axes, 10.5, 6.9, "right", RED, weight="bold")
    label(axes, 13.4, 2.0, "rows in the order of b", ha="left", fontsize=12)
    label(axes, 13.4, 5.8, "still in the order of b: no further sort", ha="left", fontsize=12)
    label(axes, 13.4, 3.9, "one bit per row: the side it goes to", ha="left", fontsize=12)
    return figure


def draw_blocks() -> Figure:
    """The gain of every cut of one feature, and the bound by which most blocks are skipped."""
    block, n = 32, 1024
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < 600, 0.0, 1.0) + rng.normal(0, 0.6, n)
    n_left = np.arange(1, n)
    prefix = np.cumsum(y - y.mean())[:-1]
    gain = prefix**2 * n / (n_left * (n - n_left))

    edges = np.concatenate([[0.0], prefix[block - 1 :: block], [0.0]])
    places = np.arange(0, n + 1, block)
    balance = places * (n - places)
    reach = block * np.ptp(y) / 4
    size = np.maximum(abs(edges[:-1]), abs(edges[1:])) + reach
    with np.errstate(divide="ignore"):
        bound = size**2 * n / np.minimum(balance[:-1], balance[1:])
    bar = gain[block - 1 :: block].max()
    is_open = bound >= bar

    figure, axes = pyplot.subplots(figsize=(11, 4.6), layout="constrained")
    top = 1.5 * gain.max()
    for start, height, evaluated in zip(places, bound, is_open, strict=False):
        color = PALE_RED if evaluated else PALE
        axes.bar(start, min(height, top), width=block, align="edge", color=color, edgecolor="white")
    axes.plot(n_left, gain, color=BLUE, linewidth=2)
    axes.axhline(bar, color=DARK, linewidth=1.2, linestyle="--")
    axes.plot(places[1:-1], gain[block - 1 :: block], "o", color=BLUE, markersize=4)
    axes.annotate("gain of every cut", (330, gain[329]), (395, 12), color=BLUE, weight="bold")
    axes.annotate("best block edge so far", (8, bar), (40, bar + 4), color=DARK)
    axes.annotate("bound of a block", (150, bound[4] - 2), ha="center", va="top", color="#666666")
    axes.annotate(
        "evaluated", (612, 1.47 * gain.max()), ha="center", va="top", color=RED, weight="bold"
    )
    axes.set(xlim=(0, n), ylim=(0, top), yticks=[], ylabel="gain")
    axes.set(xticks=places[::4], xlabel="rows on the left")
    axes.set_title(f"Of {len(bound)} blocks of {block} rows, {is_open.sum()} are evaluated")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


# ---- medians -------------------------------------------------------------------------------------


def draw_heaps() -> Figure:
    """Two heaps after each of four targets: the worked example."""
    figure, axes = canvas(26, 7.6, (11, 3.4))
    low: list[int] = []
    high: list[int] = []
    label(axes, 2.9, 0.6, "low: its greatest on top", BLUE, weight="bold", ha="left", fontsize=12)
    label(axes, 10.0, 0.6, "high: its least on top", RED, weight="bold", ha="left", fontsize=12)
    for step, target in enumerate((3, 1, 9, 6)):
        # The new target goes into `low`, and the greatest of `low` moves up. If `low` is then the
        # shorter heap, the least of `high` moves back.
        heappush(low, -target)
        heappush(high, -heappop(low))
        if len(high) > len(low):
            heappush(low, -heappop(high))
        x, middle = 0.6 + 6.6 * step, 3.5 + 6.6 * step
        label(axes, middle, 2.1, f"+ {target}", weight="bold", fontsize=15)
        below, above = sorted(-value for value in low), sorted(high)
        boxes(axes, middle - 0.15 - len(below), 3.2, below, [PALE_BLUE] * len(below))
        boxes(axes, middle + 0.15, 3.2, above, [PALE_RED] * len(above))
        small = -low[0]
        large = high[0] if len(high) == len(low) else small
        median = (small + large) / 2
        text = f"median {median:g}"
        label(axes, middle, 5.0, text, weight="bold")
        note = f"= ({small} + {large}) / 2" if small != large else "= top of low"
        label(axes, middle, 6.0, note, fontsize=12)
        if step:
            axes.plot([x - 0.3] * 2, [1.6, 6.6], color="#cccccc", linewidth=1)
    return figure


def draw_bitmap() -> Figure:
    """Both children's medians on one line of bits, before and after a row moves."""
    figure, axes = canvas(25, 9.4, (11, 4.3))
    targets = [1, 2, 4, 4, 5, 7, 8, 9, 12]
    left = {1, 4, 7}
    label(axes, 4.6, 1.1, "rank", ha="right")
    for rank in range(len(targets)):
        label(axes, 5.5 + rank, 1.1, str(rank), "#777777")
    label(axes, 4.6, 2.1, "target", ha="right")
    boxes(axes, 5, 1.6, targets, ["white"] * len(targets))

    def line(top: float, on_left: set[int], title: str) -> None:
        members = {
            "left": sorted(on_left),
            "right": [rank for rank in range(len(targets)) if rank not in on_left],
        }
        bits = [int(rank in on_left) for rank in range(len(targets))]
        colors = [PALE_BLUE if bit else PALE_RED for bit in bits]
        label(axes, 4.6, top + 0.5, title, ha="right")
        boxes(axes, 5, top, bits, colors)
        for side, color in (("left", BLUE), ("right", RED)):
            ranks = members[side]
            # The pointer of an even set is on the lower of its two middle ranks.
            middle = ranks[(len(ranks) - 1) // 2]
            below = top + 1.25
            axes.plot([5.5 + middle], [below + 0.1], "^", color=color, markersize=10)
            label(axes, 5.5 + middle, below + 0.75, side, color, fontsize=11, weight="bold")

    line(3.3, left, "bits")
    line(6.7, left | {2}, "row of rank 2 goes left")
    arrow(axes, (7.5, 5.3), (7.5, 6.6))
    notes = [
        (2.1, "the node’s targets, in order"),
        (3.8, "1: left child, 0: right child"),
        (4.9, "▲ each child’s median stands on one of its ranks"),
        (7.2, "one bit is set"),
        (8.4, "▲ each median stays or moves to a neighbour"),
    ]
    for y, text in notes:
        label(axes, 14.6, y, text, ha="left", fontsize=12)
    return figure


# ---- asking --------------------------------------------------------------------------------------


def draw_layouts() -> Figure:
    """One small tree: as an arena in depth-first order, and as pairs for prediction."""
    figure, axes = canvas(25, 11.2, (11, 5.0))
    spots = {0: (5, 1.0), 1: (2.6, 3.2), 2: (1.2, 5.4), 3: (4.0, 5.4), 4: (7.4, 3.2)}
    for parent, child in ((0, 1), (0, 4), (1, 2), (1, 3)):
        (x0, y0), (x1, y1) = spots[parent], spots[child]
        axes.plot([x0, x1], [y0, y1], color=DARK, linewidth=1.4, zorder=1)
    inner = {0, 1}
    for node, (x, y) in spots.items():
        color = "white" if node in inner else PALE
        axes.plot([x], [y], "o", markersize=27, color=color, markeredgecolor=DARK, zorder=2)
        label(axes, x, y, str(node), zorder=3)
    label(axes, 5.0, 6.9, "white: splits, grey: leaves", fontsize=12)

    label(axes, 10.6, 0.9, "the arena: what is stored and shown", ha="left", weight="bold")
    order = [0, 1, 2, 3, 4]
    boxes(axes, 10.6, 1.8, order, ["white" if node in inner else PALE for node in order])
    label(
        axes, 10.6, 3.4, "depth-first: the left child follows its parent,", ha="left", fontsize=12
    )
    label(axes, 10.6, 4.2, "so a node names its right child only", ha="left", fontsize=12)

    label(axes, 10.6, 6.3, "compact nodes: what a row walks over", ha="left", weight="bold")
    slots = ["", 0, 1, 4, 2, 3]
    colors = ["white", "white", "white", PALE, PALE, PALE]
    boxes(axes, 10.6, 7.2, slots, colors)
    for start, text in ((12.6, "children of 0"), (14.6, "children of 1")):
        axes.plot([start + 0.06, start + 1.94], [8.55] * 2, color=BLUE, linewidth=3)
        label(axes, start + 1, 9.2, text.replace(" of", "\nof"), BLUE, fontsize=11)
    label(axes, 17.6, 7.4, "siblings side by side: a step is", ha="left", fontsize=12)
    label(axes, 17.6, 8.3, "next + not (x ≤ threshold)", ha="left", family="monospace", fontsize=12)
    label(axes, 17.6, 9.2, "8 or 16 bytes per node, no branch", ha="left", fontsize=12)
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "presort.png": draw_presort,
    "partition.png": draw_partition,
    "blocks.png": draw_blocks,
    "two-heaps.png": draw_heaps,
    "rank-bitmap.png": draw_bitmap,
    "node-layouts.png": draw_layouts,
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    pyplot.rcParams.update(STYLE)
    for name, draw in DRAWINGS.items():
        draw().savefig(folder / name, dpi=RESOLUTION, bbox_inches="tight", pad_inches=0.15)
        print(folder / name)


if __name__ == "__main__":
    main()
