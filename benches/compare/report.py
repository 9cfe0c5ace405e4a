"""The results as Markdown tables for people and as JSON for programs."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from compare.results import Result, verdicts
from compare.systems import System
from compare.timing import Measured


def machine() -> str:
    """Processor, CPUs that this process may use, operating system, Python."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.machine()}"
    return f"{_processor()}, {cpus} CPUs, {system}, Python {platform.python_version()}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def _seconds(value: float) -> str:
    if value < 1e-3:
        return f"{value:.2e}"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _name(system: System) -> str:
    return system.name if system.exact else f"{system.name} (approximate)"


def setting(systems: Iterable[System], threads: int) -> str:
    """Where the numbers come from: the machine, the versions, the threads."""
    lines = [f"- machine: {machine()}", "- data: friedman1, float32 X unless stated"]
    for system in systems:
        used = threads if system.parallel else 1
        limit = system.most_leaves
        only = "" if limit == inf else f", only for trees of at most {limit:,} leaves"
        lines.append(f"- {_name(system)} {system.version}, threads: {used}{only}")
    return "\n".join(lines)


def case_table(result: Result) -> str:
    """Best and spread of the times, how well each tree fits, and the ratio to our time."""

    def row(one: Measured) -> list[str]:
        ratio = result.ratio(one)
        return [
            _name(one.system),
            _seconds(one.best),
            f"{_seconds(one.best)} .. {_seconds(max(one.seconds))}",
            str(len(one.seconds)),
            f"{one.loss:.6g}",
            "–" if ratio is None else f"{ratio:.1f}",
        ]

    header = ["system", "best, s", "spread, s", "rounds", "training loss", "system / splitwood"]
    return f"### {result.case.title}\n\n" + table(header, map(row, result.measured))


def verdict_table(results: Iterable[Result]) -> str:
    """Every target beside what was measured."""
    rows = [
        [
            verdict.case.title,
            verdict.against,
            verdict.target,
            verdict.measured,
            " ".join(filter(None, ["yes" if verdict.reached else "**no**", verdict.remark])),
        ]
        for result in results
        for verdict in verdicts(result)
    ]
    if not rows:
        return "### Targets\n\nNone of the targets was measured."
    return "### Targets\n\n" + table(["case", "against", "target", "measured", "reached"], rows)


def as_json(results: Iterable[Result], systems: Iterable[System], threads: int) -> dict[str, Any]:
    """Everything above, and every single time."""
    return {
        "machine": machine(),
        "threads": threads,
        "versions": {system.name: system.version for system in systems},
        "cases": [_case_as_json(result) for result in results],
    }


def _case_as_json(result: Result) -> dict[str, Any]:
    return {
        "case": asdict(result.case),
        "systems": [
            {
                "name": one.system.name,
                "exact": one.system.exact,
                "seconds": one.seconds,
                "best": one.best,
                "training_loss": one.loss,
                "ratio": result.ratio(one),
            }
            for one in result.measured
        ],
        "memory_in_sizes_of_X": result.memory,
        "verdicts": [asdict(verdict) | {"case": verdict.case.name} for verdict in verdicts(result)],
    }
