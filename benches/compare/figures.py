"""The figures of the other pages: a whole run rewrites them, and a test compares them.

A figure is a sentence with gaps, which the page has exactly once, and what belongs into the gaps.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from compare.cases import FORESTS, Case, Prediction
from compare.catalogue import PLAIN
from compare.markdown import megabytes, ratio, seconds, table
from compare.report import beside, cell, label, median_times
from compare.results import Run
from compare.systems import OURS, PEERS

SCIKIT_LEARN = "scikit-learn"
# The columns and the rows of README's table, by the names of systems and cases.
COLUMNS = (OURS.name, SCIKIT_LEARN, "YDF", "XGBoost", "LightGBM")
ROWS = (
    "1m",
    "1m-depth6",
    "1m-absolute",
    "1m-classes",
    "flights",
    "flights-absolute",
    "flights-categories",
    "diamonds",
    "census",
    "coarse",
    "third",
    "counts",
    "five-outputs",
    "random",
    "sparse",
    "1k",
    "forest-100k",
    "forest-classes",
    "forest-diamonds",
    "extra-trees-classes",
    "predict-depth6",
    "predict-1m-leaves",
    "predict-one-row",
    "forest-predict-100",
)
TABLE_HEAD = "one tree or forest"
# What stands in a gap ends before the sentence does, and before the paragraph.
GAP = r"((?:(?!\n\n|\.\s).)+?)"
# A full stop is one only before white space.
END = r"(?:(?<!\.)|(?!\S))"
WIDTH = 130


@dataclass(frozen=True)
class Figure:
    """`sentence` has a pair of braces for each gap; a space stands for any white space."""

    page: str
    sentence: str
    values: Callable[[Run], tuple[str, ...]]

    def filled(self, text: str, run: Run) -> str:
        """The text of the page with the run's values in the gaps."""
        parts = [re.escape(part).replace("\\ ", r"\s+") for part in self.sentence.split("{}")]
        found = list(re.finditer(GAP.join(parts) + END, text, flags=re.DOTALL))
        if len(found) != 1:
            raise ValueError(f"{self.page} has {self.sentence!r} {len(found)} times, not once")
        values = self.values(run)
        for gap in range(len(values), 0, -1):
            start, end = found[0].span(gap)
            text = text[:start] + values[gap - 1] + text[end:]
        return _wrapped(text, found[0].start())


def _wrapped(text: str, place: int) -> str:
    """The text with the lines of the paragraph or bullet at this place filled anew; no table."""
    gaps = list(re.finditer(r"\n\n|\n(?=- )", text))
    start = max((gap.end() for gap in gaps if gap.end() <= place), default=0)
    end = min((gap.start() for gap in gaps if gap.start() > place), default=len(text))
    item = text[start:end]
    if "\n|" in item or item.startswith("<!--"):
        return text
    indent = "  " if item.startswith("- ") else ""
    lines = wrap(
        " ".join(item.split()),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text[:start] + "\n".join(lines) + text[end:]


def updated(page: str, text: str, run: Run) -> str:
    """The text of a page with the figures of the run."""
    for figure in FIGURES:
        if figure.page == page:
            text = figure.filled(text, run)
    return text


def write(run: Run, root: Path) -> None:
    """Puts the figures of the run into all the pages."""
    for page in sorted({figure.page for figure in FIGURES}):
        file = root / page
        file.write_text(updated(page, file.read_text(encoding="utf-8"), run), encoding="utf-8")


# ---- what belongs into the gaps ------------------------------------------------------------------


def _range(values: Iterable[float], text: Callable[[float], str]) -> str:
    values = sorted(values)
    return f"{text(values[0])} to {text(values[-1])}"


def _is_plain(case: Case) -> bool:
    return case.group in PLAIN and not isinstance(case, Prediction)


# What README and the first page of the site compare with scikit-learn.
KINDS: dict[str, Callable[[Case], bool]] = {
    "for plain trees": _is_plain,
    "for trees of real tables": lambda case: case.group == "Real data",
    "for trees with options": lambda case: (
        not _is_plain(case)
        and case.group not in ("Real data", "Forests")
        and not isinstance(case, Prediction)
    ),
    "for forests": lambda case: case.model in FORESTS and not isinstance(case, Prediction),
}


def _speed(run: Run) -> tuple[str]:
    """The ranges of the ratios to scikit-learn's times, kind by kind."""
    ranges = []
    for kind, belongs in KINDS.items():
        results = [result for result in run.results if belongs(result.case)]
        ratios = [times for times, _ in beside(results, SCIKIT_LEARN)]
        if ratios:
            ranges.append(f"{_range(ratios, ratio)} times {'' if ranges else 'as long '}{kind}")
    return (", ".join(ranges),)


def _fit(run: Run, place: int) -> tuple[str, str]:
    """A fit by its place among the ratios, the smallest first."""
    fits = [result for result in run.results if not isinstance(result.case, Prediction)]
    times, result = beside(fits, SCIKIT_LEARN)[place]
    return ratio(times), result.case.title


def _largest(run: Run) -> tuple[str, str]:
    return _fit(run, -1)


def _smallest(run: Run) -> tuple[str, str]:
    return _fit(run, 0)


def _table(run: Run) -> tuple[str]:
    found = {one.system.name: one.system for result in run.results for one in result.measured}
    systems = [
        system for system in (OURS, *PEERS) if system.name in COLUMNS and system.name in found
    ]
    results = [result for name in ROWS if (result := run.named(name)) and result.measured]
    rows = [
        [result.case.title, *(cell(result, result.named(one.name)) for one in systems)]
        for result in results
    ]
    return (table([TABLE_HEAD, *map(label, systems)], rows),)


def _medians(run: Run) -> tuple[str, str]:
    """Absolute error beside squared error, without and with weights."""
    pairs = [pair for result in run.results if (pair := median_times(result))]
    plain = _range((times for times, _ in pairs), "{:.1f}".format)
    return plain, _range((times for _, times in pairs if times), "{:.1f}".format)


def _memory(run: Run, case: str, system: str, text: Callable[[float], str]) -> str:
    return text(run.named(case).memory[system].sizes)


def _added(run: Run, case: str, system: str) -> str:
    return megabytes(run.named(case).memory[system].added)


def _one_decimal(value: float) -> str:
    return f"{value:.1f}"


def _machine(run: Run) -> tuple[str]:
    return (", ".join(run.machine.split(", ")[:2]),)


def _one_row(run: Run) -> tuple[str]:
    return (seconds(run.named("predict-one-row").ours.best),)


FIGURES = (
    Figure(
        "README.md",
        "In [the benchmarks](docs/benchmarks/README.md), scikit-learn takes {}.",
        _speed,
    ),
    Figure(
        "docs/index.md", "In [the benchmarks](benchmarks/README.md), scikit-learn takes {}.", _speed
    ),
    Figure("README.md", "<!-- from results.json -->\n\n{}\n\nOne run", _table),
    Figure("README.md", "measured all times ({}).", _machine),
    Figure("README.md", "- **Largest ratio of a fit to scikit-learn**: {}, {}.", _largest),
    Figure("README.md", "- **Smallest ratio of a fit to scikit-learn**: {}, {}.", _smallest),
    Figure(
        "README.md",
        "- **Absolute error** takes {} times as long as squared error, and {} times with weights.",
        _medians,
    ),
    Figure(
        "README.md",
        "a fit of 1,000,000 × 10 adds {} times the size of `X`, where scikit-learn adds {} times.",
        lambda run: (
            _memory(run, "1m", OURS.name, _one_decimal),
            _memory(run, "1m", SCIKIT_LEARN, _one_decimal),
        ),
    ),
    Figure(
        "README.md",
        "A fit of 10,000 × 200 adds {}, where scikit-learn adds {}.",
        lambda run: (_added(run, "10k-200", OURS.name), _added(run, "10k-200", SCIKIT_LEARN)),
    ),
    Figure(
        "docs/coming-from-scikit-learn.md",
        '`criterion="absolute_error"` takes {} times as long as squared error',
        lambda run: _medians(run)[:1],
    ),
    Figure(
        "docs/performance.md",
        "- **Absolute error and quantiles** take {} times as long as squared error, "
        "and {} times with weights",
        _medians,
    ),
    Figure(
        "docs/performance.md",
        "measured {} times the size of a float32 `X` for a million rows and unlimited depth, "
        "and {} times at depth 6.",
        lambda run: (
            _memory(run, "1m", OURS.name, _one_decimal),
            _memory(run, "1m-depth6", OURS.name, _one_decimal),
        ),
    ),
    Figure("docs/performance.md", "One row then takes [{}](", _one_row),
)
