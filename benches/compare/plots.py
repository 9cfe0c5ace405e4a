"""The pictures of a run: time against rows, how cost grows, and ratios case by case.

Colours are Okabe and Ito's, which colour-blind people can tell apart; markers differ, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from compare.cases import OURS_NAME, Series
from compare.catalogue import SERIES
from compare.growth import Growth, growths
from compare.markdown import megabytes, ratio, seconds
from compare.results import Result, Run

RESOLUTION = 130
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
}
OTHER = Style("#767676", "x")


def _style(system: str) -> Style:
    return STYLES.get(system, OTHER)


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _is_shown(system: str) -> bool:
    """Our other settings are a yardstick for ourselves and stay in the tables."""
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


def _draw_growth(axes, run: Run, series: Series, unit: Callable[[float], str]) -> None:
    """A panel: a line for each system, labelled at its end with its slope."""
    lines = [growth for growth in growths(run, series) if _is_shown(growth.system)]
    axes.set(xscale="log", yscale="log", xlabel=series.along, title=f"{series.of}: {series.title}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    if not lines:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color="grey")
        return
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
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(
        lambda value, _: unit(value).replace(".00", "").replace(".0 ", " ")
    )
    _label_ends(axes, lines)


def _label_ends(axes, lines: list[Growth]) -> None:
    """Names and slopes to the right of the panel, at the height where each line ends."""
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    ends = [to_axes((growth.sizes[-1], growth.costs[-1])) for growth in lines]
    heights = _apart([y for _, y in ends], LABEL_GAP)
    for growth, (x, y), height in zip(lines, ends, heights, strict=True):
        slope = "" if growth.slope is None else f", slope {growth.slope:.2f}"
        axes.annotate(
            growth.system + slope,
            xy=(x, y),
            xytext=(1.04, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            fontweight="bold" if growth.system == OURS_NAME else "normal",
            color=_style(growth.system).color,
            arrowprops={"arrowstyle": "-", "color": _style(growth.system).color, "alpha": 0.4},
        )


def _panels(run: Run, chosen: Sequence[Series], columns: int, title: str, file: Path) -> bool:
    """Draws the series side by side; says whether there was anything to draw."""
    chosen = [series for series in chosen if any(growths(run, series))]
    if not chosen:
        return False
    columns = min(columns, len(chosen))
    rows = -(-len(chosen) // columns)
    pyplot = _pyplot()
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(6.4 * columns, 4.1 * rows), layout="constrained", squeeze=False
    )
    for axes in grid.flat[len(chosen) :]:
        axes.set_axis_off()
    for axes, series in zip(grid.flat, chosen, strict=False):
        _draw_growth(axes, run, series, megabytes if series.of == "memory" else seconds)
    figure.suptitle(title, fontsize=13)
    figure.savefig(file, dpi=RESOLUTION)
    pyplot.close(figure)
    return True


def draw_rows(run: Run, file: Path) -> bool:
    chosen = [series for series in SERIES if series.of == "time" and series.along == "rows"]
    title = "Time against rows, log axes: the lower, the faster; a slope of 1 is in proportion"
    return _panels(run, chosen, 2, title, file)


def draw_growth(run: Run, file: Path) -> bool:
    chosen = [series for series in SERIES if series.of == "memory" or series.along == "columns"]
    title = "How cost grows with columns and rows, log axes"
    return _panels(run, chosen, 2, title, file)


def draw_ratios(run: Run, file: Path) -> bool:
    """A bar for the fastest exact peer in each case, a mark for everyone, a line where we would be level."""
    results = [result for result in run.results if result.ours and result.best_exact_peer()]
    if not results:
        return False
    pyplot = _pyplot()
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
    axes.set_yticks(range(len(results)), [result.case.title for result in results], fontsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_xlabel("its best time / splitwood's best time, log axis")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    figure.suptitle("Times of the others as multiples of splitwood's; bars: the fastest exact one")
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
    # Inside the bar where it is long enough, otherwise on the other side of the line.
    inside = times > 2.2
    axes.annotate(
        f"{ratio(times)}×",
        (1, place),
        xytext=(4 if inside else -4, 0),
        textcoords="offset points",
        va="center",
        ha="left" if inside else "right",
        fontsize=8,
    )


def _legend_of_systems(figure, axes, results: list[Result]) -> None:
    """Below the axes: the marks of those that were measured."""
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
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
