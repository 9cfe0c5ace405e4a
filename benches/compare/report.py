"""A run as Markdown: for the terminal case by case, and as one page with the pictures."""

from collections.abc import Iterable, Iterator
from math import inf
from statistics import median

from compare.cases import OURS_NAME, Prediction
from compare.catalogue import GROUPS, SERIES, SQUARED, WEIGHTED
from compare.cluster import cluster_table, target_lines
from compare.growth import Growth, growths
from compare.markdown import megabytes, ratio, seconds, table
from compare.results import Result, Run, less_memory, not_ahead, verdicts
from compare.systems import OURS, PEERS, System
from compare.timing import Measured

GLANCE = "At a glance"
RATIOS = "Beside other packages"
WAYS = "Walking down a tree in Python"
PICTURES = {
    "ratios": "ratios.png",
    "options": "options.png",
    "times": "times.png",
    "memory": "memory.png",
    "ways": "prediction-ways.png",
}
INTRODUCTION = """\
How fast splitwood fits and predicts beside other packages, how much memory a fit needs, and where
splitwood is not ahead. One command measured every figure on this page, in one run on one machine:

```sh
make compare
```

It takes about half an hour and rewrites this page, its pictures, `results.json`, which holds every
single time, and the figures of the other pages. `make compare COMPARE_ARGS=--quick` takes three minutes
and writes to `target/compare`."""
METHOD = """\
How the figures were measured:

- Each system fits one tree, or one forest, to the same arrays from Python. Converting the arrays is part
  of its time.
- The systems take turns, round by round, so that all of them see the same machine. A turn lasts at least
  a tenth of a second, and its best time counts. A ratio is a best time divided by splitwood's best time.
- A loss is listed beside each time, because a tree that fits worse may take less time. It is that of the
  fitted rows; of forests, and where choices are random, it is that of rows that were held out.
- scikit-learn grows a tree on one thread, and a forest on as many threads as the other systems.
- Only scikit-learn has splitwood's options, several outputs, and sparse X, so other packages are left out
  there.
- LightGBM sorts features into 255 bins, so its trees are approximate.
- ranger is an R package, called in the same process. scikit-learn-intelex sorts features into 256 bins.
  quantile-forest is measured with all rows of each leaf, as in splitwood, and with one random row of
  each leaf, its default.
- In the rows "from idle", each prediction comes after a pause, in which threads have gone to sleep.
- Fast work has ten rounds. Slow work has as many as fit into three seconds, and one at least.
- The systems called "numpy" are what one writes without a compiler. They are measured where a fit takes
  seconds: presorted features with running sums (squared error, classes), running medians with two heaps
  (absolute error), and row numbers that are partitioned at every node (prediction)."""


def label(system: System) -> str:
    return system.name if system.exact else f"{system.name} (approximate)"


def setting(run: Run) -> str:
    """The machine, the day, the versions and the threads."""
    lines = [f"- machine: {run.machine}", f"- day: {run.started}"]
    if run.partial:
        lines.append(f"- **a part of the whole run**: {run.partial}")
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
        yield f"only where leaves × columns are at most {system.most_histograms:,}"
    if system.patience < inf:
        yield "only where a fit takes seconds"


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


HEADER = ["system", "best", "spread", "rounds", "loss", "system / splitwood"]


def case_table(result: Result) -> str:
    """Best and spread of the times, the loss of each model, and the ratio to our time."""
    rows = [_row(result, one) for one in result.measured]
    return f"### {result.case.title}\n\n" + table(HEADER, rows)


def verdict_table(run: Run) -> str:
    """Every target beside what was measured: for the terminal, not for the page."""
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
    """The cases in which a peer was faster."""
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
        return "No peer was faster in any case of this run."
    header = ["case", "faster peer", "its time / ours", "its loss", "ours", "its tree"]
    return table(header, rows)


def less_memory_table(run: Run) -> str:
    """The fits in which a peer added less memory."""
    rows = [
        [
            result.case.title,
            name,
            megabytes(result.memory[name].added),
            megabytes(result.memory[OURS_NAME].added),
        ]
        for result, name in less_memory(run)
    ]
    return table(["fit", "peer", "peer adds", "splitwood adds"], rows) if rows else ""


def _not_ahead_text(run: Run) -> str:
    memory = less_memory_table(run)
    parts = [
        not_ahead_table(run),
        memory and f"In these fits a peer added less memory at its peak:\n\n{memory}",
    ]
    return "\n\n".join(filter(None, parts))


def growth_table(run: Run) -> str:
    """The slopes of time and memory."""
    return table(
        ["cost", "along", "system", "from", "to", "slope"],
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
    return table(["fit", "system", "added at the peak", "sizes of X", "bytes per cell"], rows)


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
        [result.case.title, *(cell(result, result.named(name)) for name in systems)]
        for result in results
    ]
    long = [
        [result.case.title, *_row(result, one)] for result in results for one in result.measured
    ]
    return "\n\n".join(
        [
            f"### {group}",
            table(["best time (ratio)", *(labels[name] for name in systems)], wide),
            "<details><summary>Spread, rounds and losses</summary>",
            table(["case", *HEADER], long),
            "</details>",
        ]
    )


def cell(result: Result, one: Measured | None) -> str:
    if one is None:
        return "–"
    if one.system.name == OURS_NAME:
        return f"**{seconds(one.best)}**"
    times = result.ratio(one)
    return seconds(one.best) + ("" if times is None else f" ({ratio(times)})")


def ways_table(run: Run) -> str:
    ours = run.ways[OURS_NAME]
    rows = [[name, seconds(best), ratio(best / ours)] for name, best in run.ways.items()]
    return table(["method", "best round", "method / splitwood"], rows)


def median_table(run: Run) -> str:
    """What our trees of medians cost beside our trees of means, without and with weights."""
    rows = [
        [result.case.title, seconds(means.best), *(_over(means, one) for one in medians)]
        for result in run.results
        if (means := result.named(SQUARED.name)) and (medians := _medians(result))
    ]
    return table(["case", "squared error", "absolute error", "with weights"], rows) if rows else ""


def _medians(result: Result) -> list[Measured | None]:
    return [result.ours, result.named(WEIGHTED.name)]


def median_times(result: Result) -> tuple[float, float | None] | None:
    """How many times the time of squared error a median takes, without and with weights."""
    means = result.named(SQUARED.name)
    if means is None:
        return None
    plain, weighted = _medians(result)
    return plain.best / means.best, weighted and weighted.best / means.best


def _over(means: Measured, one: Measured | None) -> str:
    return "–" if one is None else f"{seconds(one.best)} ({one.best / means.best:.2f})"


def overview(run: Run) -> str:
    """The range of the ratios to scikit-learn, of fits and of predictions."""
    sentences = []
    for kind, is_prediction in (("fits", False), ("predictions", True)):
        results = [one for one in run.results if isinstance(one.case, Prediction) == is_prediction]
        ratios = [times for times, _ in beside(results, "scikit-learn")]
        if ratios:
            least, most = ratio(ratios[0]), ratio(ratios[-1])
            sentences.append(
                f"In {len(ratios)} {kind}, scikit-learn takes {least} to {most} times splitwood's time; "
                f"the median is {ratio(median(ratios))}."
            )
    return " ".join(sentences)


def beside(results: Iterable[Result], peer: str) -> list[tuple[float, Result]]:
    """The ratios to a peer's times, the smallest first, with their cases."""
    pairs = [
        (result.ratio(one), result)
        for result in results
        if result.ours and (one := result.named(peer))
    ]
    return sorted(pairs, key=lambda pair: pair[0])


def glance_table(run: Run) -> str:
    """Each group in one line: the best and the worst case beside scikit-learn."""
    rows = []
    for group in GROUPS:
        pairs = beside((one for one in run.results if one.case.group == group), "scikit-learn")
        if pairs:
            ends = [
                f"{ratio(times)}: {result.case.title}" for times, result in (pairs[0], pairs[-1])
            ]
            middle = ratio(median(times for times, _ in pairs))
            rows.append([group, str(len(pairs)), middle, *ends])
    return table(["scikit-learn's time / splitwood's", "cases", "median", "least", "most"], rows)


def _glance_text(run: Run) -> str:
    return "\n\n".join(filter(None, [overview(run), glance_table(run)]))


def summary(run: Run) -> str:
    """What the terminal shows at the end: the targets, then the findings."""
    targets = "\n\n".join([verdict_table(run), "\n".join(target_lines(run.cluster))])
    sections = [("Targets", targets), *_findings(run)]
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections)


def _findings(run: Run) -> Iterator[tuple[str, str]]:
    """The sections of the page, each with its title."""
    yield GLANCE, _glance_text(run)
    yield RATIOS, RATIO_WORDS
    yield "Where splitwood is not ahead", _not_ahead_text(run)
    if any(True for series in SERIES for _ in growths(run, series)):
        yield "How cost grows", growth_table(run)
    if any(result.memory for result in run.results):
        yield "Memory", _memory_text(run)
    if medians := median_table(run):
        yield "Medians beside means", f"{MEDIAN_WORDS}\n\n{medians}"
    if run.ways:
        yield WAYS, f"{WAYS_WORDS}\n\n{ways_table(run)}"
    if run.cluster:
        yield "On a cluster", f"{CLUSTER_WORDS}\n\n{cluster_table(run.cluster)}"


def _memory_text(run: Run) -> str:
    return "\n\n".join(
        [
            "Each fit runs in a fresh process. It adds the peak of the resident memory minus what was "
            "resident before.",
            memory_of_fits(run),
            "The first prediction may build a compact copy of the tree, which the tree keeps.",
            memory_of_predictions(run),
        ]
    )


CAPTIONS = {
    RATIOS: (
        ("ratios", "Time of each peer in each plain case, as a multiple of splitwood's time"),
        ("options", "The same for real data, options, other targets and inputs, and forests"),
    ),
    "How cost grows": (
        ("times", "Time against rows, columns and trees, with each system's slope"),
    ),
    "Memory": (("memory", "Peak memory against rows and columns, with each system's slope"),),
    WAYS: (("ways", "Cumulative time of each way to predict"),),
}
RATIO_WORDS = "The tables of [every case](#every-case) have the times and the losses."
GROWTH_WORDS = """\
The slope is that of a line through the points on log axes. A slope of 1 means that cost is proportional
to size, 2 that it is quadratic; n·log n has a slope of about 1.1 over these sizes. Where the smallest
fit is mostly the overhead of the call, the slope is below 1."""
MEDIAN_WORDS = """\
splitwood's own times for the same data. The ratio to squared error is in brackets."""
WAYS_WORDS = """\
The rows of the breast cancer data, predicted again and again: by scikit-learn, by splitwood, and by three
ways to walk down the same tree in Python and numpy."""

CLUSTER_WORDS = """\
A tree on a [Dask cluster](../cluster.md) on this machine, beside the same tree by one process with as many
threads as the cluster has workers. Each worker has one thread; the cluster is up, and the rows are in its
memory. The peer sorts the rows into bins and grows one tree of histograms."""


def page(run: Run, pictures: Iterable[str]) -> str:
    """The whole report; `pictures` are the keys of those that were drawn."""
    drawn = set(pictures)
    parts = ["# Benchmarks", INTRODUCTION]
    for title, text in _findings(run):
        parts.append(f"## {title}")
        if title == "How cost grows":
            parts.append(GROWTH_WORDS)
        if title in CAPTIONS:
            parts += [
                f"![{words}]({PICTURES[key]})" for key, words in CAPTIONS[title] if key in drawn
            ]
        parts.append(text)
    parts += ["## Machine and method", setting(run), METHOD, "## Every case"]
    measured = {result.case.group for result in run.results if result.measured}
    parts += [group_tables(run, group) for group in GROUPS if group in measured]
    return "\n\n".join(parts) + "\n"
