"""A run as Markdown: for the terminal case by case, and as one page with the pictures."""

from collections.abc import Iterable, Iterator
from math import inf

from compare.cases import OURS_NAME, Prediction
from compare.catalogue import GROUPS, SERIES
from compare.growth import Growth, growths
from compare.markdown import megabytes, ratio, seconds, table
from compare.results import Result, Run, less_memory, not_ahead, verdicts
from compare.systems import OURS, PEERS, System
from compare.timing import Measured

PICTURES = {
    "ratios": "ratios.png",
    "times": "times.png",
    "memory": "memory.png",
    "ways": "prediction-ways.png",
}
INTRODUCTION = """\
What `make compare` measured, and nothing else: one command, one run, one machine. It writes this page, the
pictures and `results.json` with every single time.

Each system fits one tree to the same arrays from Python; converting them is part of its time. Systems take
turns, round by round, so that all see the same machine; a turn lasts a tenth of a second at least, and its
best time counts. Times are compared best over best, and the training loss stands beside them: nobody wins
by fitting worse. LightGBM puts features into 255 bins and is marked
as approximate. The rows called numpy are what one writes without a compiler, where that takes seconds:
features sorted once and running sums over all of them (squared error, classes), a median between two heaps
(absolute error), row numbers parted at every node (prediction)."""


def label(system: System) -> str:
    return system.name if system.exact else f"{system.name} (approximate)"


def setting(run: Run) -> str:
    """Where the numbers come from: the machine, the versions, the threads."""
    lines = [f"- {run.machine}", f"- {run.started}"]
    if run.partial:
        lines.append(f"- **only a part of the whole**: {run.partial}")
    for system in (OURS, *PEERS):
        if system.name in run.versions:
            threads = run.threads if system.parallel else 1
            limits = "".join(f", {text}" for text in _limits(system))
            version = run.versions[system.name]
            lines.append(
                f"- {label(system)}: {system.package} {version}, threads: {threads}{limits}"
            )
    lines.append("- data: friedman1 with noise, float32, unless stated")
    return "\n".join(lines)


def _limits(system: System) -> Iterator[str]:
    if system.most_histograms < inf:
        yield f"where leaves × columns are at most {system.most_histograms:,}"
    if system.patience < inf:
        yield "only where that takes seconds"


def _row(result: Result, one: Measured) -> list[str]:
    times = result.ratio(one)
    return [
        label(one.system),
        seconds(one.best),
        f"{seconds(one.best)} to {seconds(max(one.seconds))}",
        str(len(one.seconds)),
        f"{one.loss:.6g}",
        "–" if times is None else ratio(times),
    ]


HEADER = ["system", "best", "spread", "rounds", "training loss", "system / splitwood"]


def case_table(result: Result) -> str:
    """Best and spread of the times, how well each tree fits, and the ratio to our time."""
    rows = [_row(result, one) for one in result.measured]
    return f"### {result.case.title}\n\n" + table(HEADER, rows)


def verdict_table(run: Run) -> str:
    """Every target beside what was measured."""
    rows = [
        [
            verdict.case.title,
            verdict.against,
            verdict.target,
            verdict.measured,
            " ".join(filter(None, ["yes" if verdict.reached else "**no**", verdict.remark])),
        ]
        for result in run.results
        for verdict in verdicts(result)
    ]
    if not rows:
        return "None of the targets was measured."
    return table(["case", "against", "target", "measured", "reached"], rows)


def not_ahead_table(run: Run) -> str:
    """Where a peer was faster."""
    rows = [
        [
            result.case.title,
            label(peer.system),
            ratio(result.ratio(peer)),
            f"{peer.loss:.6g}",
            f"{result.ours.loss:.6g}",
            "fits worse" if result.fits_better(peer) else "**fits as well**",
        ]
        for result, peer in not_ahead(run)
    ]
    if not rows:
        return "In time nowhere: no peer was faster in any case of this run."
    header = ["case", "faster", "its time / ours", "its training loss", "ours", "its tree"]
    return table(header, rows)


def less_memory_table(run: Run) -> str:
    """Where a peer added less memory."""
    rows = [
        [
            result.case.title,
            name,
            megabytes(result.memory[name].added),
            megabytes(result.memory[OURS_NAME].added),
        ]
        for result, name in less_memory(run)
    ]
    return table(["fit", "less", "it adds", "splitwood adds"], rows) if rows else ""


def _not_ahead_text(run: Run) -> str:
    memory = less_memory_table(run)
    parts = [not_ahead_table(run), memory and f"In memory at the peak:\n\n{memory}"]
    return "\n\n".join(filter(None, parts))


def growth_table(run: Run) -> str:
    """The slopes of time and memory."""
    return table(
        ["what", "along", "system", "from", "to", "slope"],
        [_growth_row(growth) for series in SERIES for growth in growths(run, series)],
    )


def _growth_row(growth: Growth) -> list[str]:
    series, slope = growth.series, growth.slope
    unit = megabytes if series.of == "memory" else seconds

    def end(at: int) -> str:
        return f"{growth.sizes[at]:,}: {unit(growth.costs[at])}"

    return [
        f"{series.of}: {series.title}",
        series.along,
        growth.system,
        end(0),
        end(-1),
        "–" if slope is None else f"{slope:.2f}",
    ]


def memory_of_fits(run: Run) -> str:
    rows = [
        [
            result.case.title,
            name,
            megabytes(memory.added),
            f"{memory.sizes:.2f}",
            f"{memory.bytes_per_cell:.1f}",
        ]
        for result in run.results
        for name, memory in result.memory.items()
        if not isinstance(result.case, Prediction)
    ]
    return table(["fit", "system", "added at the peak", "sizes of X", "bytes a cell"], rows)


def memory_of_predictions(run: Run) -> str:
    rows = [
        [
            result.case.title,
            name,
            megabytes(memory.size),
            megabytes(memory.added),
            f"{memory.beyond / 1e3:,.0f} kB",
            megabytes(memory.first),
        ]
        for result in run.results
        for name, memory in result.memory.items()
        if isinstance(result.case, Prediction)
    ]
    header = ["prediction", "system", "result", "added at the peak", "beyond the result"]
    return table([*header, "first prediction adds"], rows)


def group_tables(run: Run, group: str) -> str:
    """The best times side by side, then the spread, the rounds and the losses."""
    results = [one for one in run.results if one.case.group == group and one.measured]
    systems = list(dict.fromkeys(one.system.name for result in results for one in result.measured))
    labels = {one.system.name: label(one.system) for result in results for one in result.measured}
    wide = [
        [result.case.title, *(_cell(result, result.named(name)) for name in systems)]
        for result in results
    ]
    long = [
        [result.case.title, *_row(result, one)] for result in results for one in result.measured
    ]
    return "\n\n".join(
        [
            f"### {group}",
            table(["best (times ours)", *(labels[name] for name in systems)], wide),
            "<details><summary>Spread, rounds and training losses</summary>",
            table(["case", *HEADER], long),
            "</details>",
        ]
    )


def _cell(result: Result, one: Measured | None) -> str:
    if one is None:
        return "–"
    if one.system.name == OURS_NAME:
        return f"**{seconds(one.best)}**"
    times = result.ratio(one)
    return seconds(one.best) + ("" if times is None else f" ({ratio(times)})")


def ways_table(run: Run) -> str:
    ours = run.ways[OURS_NAME]
    rows = [[name, seconds(best), ratio(best / ours)] for name, best in run.ways.items()]
    return table(["way", "best round", "way / splitwood"], rows)


def summary(run: Run) -> str:
    """What the terminal shows at the end."""
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in _findings(run))


def _findings(run: Run) -> Iterator[tuple[str, str]]:
    """What follows from the times, title by title."""
    yield "Targets", verdict_table(run)
    yield "Where splitwood is not ahead", _not_ahead_text(run)
    if any(True for series in SERIES for _ in growths(run, series)):
        yield "How cost grows", growth_table(run)
    if any(result.memory for result in run.results):
        yield "Memory", _memory_text(run)
    if run.ways:
        yield "Obvious ways to predict", ways_table(run)


def _memory_text(run: Run) -> str:
    return "\n\n".join(
        [
            "Peak of the resident memory minus what was there before, in a process of its own.",
            memory_of_fits(run),
            "The first prediction may make a compact copy of the tree, which the tree keeps.",
            memory_of_predictions(run),
        ]
    )


CAPTIONS = {
    "Targets": ("ratios", "How many times splitwood's time the others take, case by case"),
    "How cost grows": ("times", "Time against rows and columns, with each system's slope"),
    "Memory": ("memory", "Peak memory against rows and columns, with each system's slope"),
    "Obvious ways to predict": ("ways", "Cumulative time of the ways to predict"),
}
GROWTH_WORDS = """\
The slope of a line through the points on log axes: 1 is in proportion, n·log n over these sizes is about 1.1,
2 is quadratic. Where a fit of the smallest size is mostly the call itself, the slope comes out below 1."""


def page(run: Run, pictures: Iterable[str]) -> str:
    """The whole report; `pictures` are the keys of those that were drawn."""
    drawn = set(pictures)
    parts = ["# Benchmarks", INTRODUCTION, setting(run)]
    for title, text in _findings(run):
        parts.append(f"## {title}")
        if title == "How cost grows":
            parts.append(GROWTH_WORDS)
        if title in CAPTIONS:
            parts += _picture(*CAPTIONS[title], drawn)
        parts.append(text)
    parts.append("## Every case")
    measured = {result.case.group for result in run.results if result.measured}
    parts += [group_tables(run, group) for group in GROUPS if group in measured]
    return "\n\n".join(parts) + "\n"


def _picture(key: str, caption: str, drawn: set[str]) -> list[str]:
    return [f"![{caption}]({PICTURES[key]})"] if key in drawn else []
