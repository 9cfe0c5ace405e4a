"""The pictures of a run: how time and memory grow, and ratios case by case.

The colours are Okabe and Ito's, which colour-blind readers can tell apart. The markers differ, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from compare.cases import OURS_NAME, Series
from compare.catalogue import PLAIN, SERIES
from compare.growth import Growth, growths
from compare.markdown import megabytes, ratio, seconds
from compare.results import Result, Run

# Pixels per inch: full-width pictures are 1,600 pixels wide or more, sharp on dense screens.
RESOLUTION = 200
# Lines that end closer than this, as a share of the axis, get labels that keep clear of each other.
LABEL_GAP = 0.062


@dataclass(frozen=True)
class Style:
    color: str
    marker: str
    dashed: bool = False


STYLES = {
    OURS_NAME: Style("black", "o"),
    "scikit-learn": Style("#D55E00", "s"),
    "YDF": Style("#0072B2", "^"),
    "XGBoost": Style("#009E73", "D"),
    "LightGBM": Style("#CC79A7", "v", dashed=True),
    "ranger": Style("#E69F00", "P"),
    "scikit-learn-intelex": Style("#56B4E9", "X", dashed=True),
    "quantile-forest": Style("#7A5195", "h"),
    "quantile-forest, sampled": Style("#7A5195", "h", dashed=True),
}
OTHER = Style("#767676", "x")


def _style(system: str) -> Style:
    return STYLES.get(system, OTHER)


def pyplot_for_files():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _is_shown(system: str) -> bool:
    """Our other settings appear in the tables only."""
    return system == OURS_NAME or not system.startswith(OURS_NAME)


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights pushed apart until neighbours are `gap` from each other, their order kept."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    for _ in range(100):
        for low, high in pairwise(order):
            lacking = gap - (placed[high] - placed[low])
            if lacking > 1e-9:
                placed[low] -= lacking / 2
                placed[high] += lacking / 2
    return placed


@dataclass(frozen=True)
class End:
    """Where a line ends, and what is written beside it."""

    x: float
    y: float
    text: str
    color: str
    bold: bool = False


def label_ends(axes, ends: Sequence[End]) -> None:
    """Writes to the right of the axes, at the height where each line ends, without overlaps."""
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    points = [to_axes((end.x, end.y)) for end in ends]
    heights = _apart([y for _, y in points], LABEL_GAP)
    for end, point, height in zip(ends, points, heights, strict=True):
        axes.annotate(
            end.text,
            xy=point,
            xytext=(1.03, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            fontweight="bold" if end.bold else "normal",
            color=end.color,
            arrowprops={"arrowstyle": "-", "color": end.color, "alpha": 0.4},
        )


def _draw_growth(axes, run: Run, series: Series, unit: Callable[[float], str]) -> None:
    """A panel: a line for each system, labelled at its end with its slope."""
    lines = [growth for growth in growths(run, series) if _is_shown(growth.system)]
    axes.set(xscale="log", yscale="log", xlabel=series.along, title=series.title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    for growth in lines:
        style = _style(growth.system)
        ours = growth.system == OURS_NAME
        axes.plot(
            growth.sizes,
            growth.costs,
            color=style.color,
            marker=style.marker,
            linestyle="--" if style.dashed else "-",
            linewidth=2.6 if ours else 1.6,
            markersize=6,
            zorder=3 if ours else 2,
        )
    sizes = sorted({size for growth in lines for size in growth.sizes})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    _label_decades(axes, unit)
    axes.minorticks_off()
    _label_lines(axes, lines, sizes[-1])


def round_unit(unit: Callable[[float], str]) -> Callable[[float, int], str]:
    """For ticks, which have round values: without zeros after the point."""
    return lambda value, _: unit(value).replace(".00 ", " ").replace(".0 ", " ")


def _label_decades(axes, unit: Callable[[float], str]) -> None:
    from matplotlib.ticker import LogLocator

    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5)))
    axes.yaxis.set_major_formatter(round_unit(unit))


def _label_lines(axes, lines: list[Growth], last: int) -> None:
    """Names and slopes, to the right of the panel or at the end of a line that stops earlier."""
    ends = []
    for growth in lines:
        style = _style(growth.system)
        slope = "" if growth.slope is None else f", slope {growth.slope:.2f}"
        end = End(
            growth.sizes[-1],
            growth.costs[-1],
            growth.system + slope,
            style.color,
            growth.system == OURS_NAME,
        )
        if growth.sizes[-1] == last:
            ends.append(end)
        else:
            axes.annotate(
                end.text,
                (end.x, end.y),
                xytext=(0, 11),
                textcoords="offset points",
                # Away from the nearer side of the panel.
                ha="center" if end.x**2 < lines[0].sizes[0] * last else "right",
                va="center",
                fontsize=9,
                color=end.color,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
                zorder=4,
            )
    label_ends(axes, ends)


def _panels(run: Run, of: str, title: str, unit: Callable[[float], str], file: Path) -> bool:
    """Draws the series of time or memory, two panels side by side; False if there are none."""
    chosen = [series for series in SERIES if series.of == of and any(growths(run, series))]
    if not chosen:
        return False
    columns = min(2, len(chosen))
    rows = -(-len(chosen) // columns)
    pyplot = pyplot_for_files()
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(6.4 * columns, 4.0 * rows), layout="constrained", squeeze=False
    )
    for axes in grid.flat[len(chosen) :]:
        axes.set_axis_off()
    for axes, series in zip(grid.flat, chosen, strict=False):
        _draw_growth(axes, run, series, unit)
    figure.suptitle(title, fontsize=13)
    figure.savefig(file, dpi=RESOLUTION)
    pyplot.close(figure)
    return True


def draw_times(run: Run, file: Path) -> bool:
    title = "Best time on log axes: lower is faster; a slope of 1 is proportional growth"
    return _panels(run, "time", title, seconds, file)


def draw_memory(run: Run, file: Path) -> bool:
    title = "Peak memory that a fit adds, on log axes: lower is less; a slope of 1 is proportional growth"
    return _panels(run, "memory", title, megabytes, file)


def draw_ratios(run: Run, file: Path, plain: bool) -> bool:
    """A bar for the fastest exact peer in each case, a marker per peer, a line at the ratio 1.

    The cases are those of the plain groups, or the others.
    """
    results = [
        result
        for result in run.results
        if result.ours and result.best_exact_peer() and (result.case.group in PLAIN) == plain
    ]
    if not results:
        return False
    pyplot = pyplot_for_files()
    figure, axes = pyplot.subplots(figsize=(11, 1.6 + 0.29 * len(results)), layout="constrained")
    for place, result in enumerate(results):
        _draw_case(axes, place, result)
    most = max(result.ratio(peer) for result in results for peer in result.peers)
    least = min(result.ratio(peer) for result in results for peer in result.peers)
    axes.axvline(1, color="black", linewidth=1.2)
    axes.set(
        xscale="log", xlim=(min(0.5, 0.8 * least), 1.4 * most), ylim=(len(results) - 0.4, -1.2)
    )
    axes.text(1, -0.75, " 1×: as fast as splitwood", fontsize=9, va="center")
    labels = [
        f"{result.case.title}   {ratio(result.ratio(result.best_exact_peer()))}×"
        for result in results
    ]
    axes.set_yticks(range(len(results)), labels, fontsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}×")
    axes.set_xlabel("peer's best time / splitwood's best time, log axis")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    figure.suptitle(
        "Time of each peer as a multiple of splitwood's; the bar is the fastest exact peer"
    )
    _legend_of_systems(figure, axes, results)
    figure.savefig(file, dpi=RESOLUTION)
    pyplot.close(figure)
    return True


def _draw_case(axes, place: int, result: Result) -> None:
    rival = result.best_exact_peer()
    times = result.ratio(rival)
    style = _style(rival.system.name)
    axes.barh(place, times - 1, left=1, height=0.62, color=style.color, alpha=0.30, zorder=1)
    for peer in result.peers:
        mark = _style(peer.system.name)
        axes.plot(
            result.ratio(peer),
            place,
            marker=mark.marker,
            color=mark.color,
            markerfacecolor="white" if mark.dashed else mark.color,
            markersize=5.5,
            linestyle="",
            zorder=3,
        )


def _legend_of_systems(figure, axes, results: list[Result]) -> None:
    """Below the axes: the markers of the systems that were measured."""
    from matplotlib.lines import Line2D

    names = dict.fromkeys(
        peer.system.name if peer.system.name in STYLES else "numpy"
        for result in results
        for peer in result.peers
    )
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=_style(name).marker,
            color=_style(name).color,
            markerfacecolor="white" if _style(name).dashed else _style(name).color,
            label=f"{name} (approximate)" if _style(name).dashed else name,
        )
        for name in names
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(4, len(handles)), frameon=False
    )
