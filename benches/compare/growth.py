"""How cost grows: the slope of a straight line through the points on log axes.

1 is in proportion; n·log n from a thousand to a million rows is about 1.1; 2 is quadratic.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from compare.cases import Series
from compare.results import Result, Run


@dataclass(frozen=True)
class Growth:
    """A system along a series: sizes and what each cost, in seconds or bytes."""

    series: Series
    system: str
    sizes: tuple[int, ...]
    costs: tuple[float, ...]

    @property
    def slope(self) -> float | None:
        return slope(self.sizes, self.costs)


def slope(sizes: Iterable[float], costs: Iterable[float]) -> float | None:
    """The exponent b of cost ≈ a · size^b, by least squares; None for fewer than two sizes."""
    points = np.log([(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost > 0])
    if len({size for size, _ in points}) < 2:
        return None
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


def _costs(result: Result, series: Series) -> dict[str, float]:
    if series.of == "memory":
        return {name: memory.added for name, memory in result.memory.items()}
    return {one.system.name: one.best for one in result.measured}


def growths(run: Run, series: Series) -> Iterator[Growth]:
    """Every system that was measured in at least two cases of the series."""
    results = list(filter(None, map(run.named, series.cases)))
    points: dict[str, list[tuple[int, float]]] = {}
    for result in results:
        for system, cost in _costs(result, series).items():
            points.setdefault(system, []).append((series.size(result.case), cost))
    for system, pairs in points.items():
        sizes, costs = zip(*pairs, strict=True)
        if len(sizes) > 1:
            yield Growth(series, system, sizes, costs)
