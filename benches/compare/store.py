"""A run as JSON, and back: every single time, so that tables and pictures can be made again."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compare.cases import Case
from compare.catalogue import CASES, SERIES
from compare.growth import growths
from compare.memory import Memory
from compare.results import Result, Run, verdicts
from compare.systems import OURS, PEERS, System, ours_under
from compare.timing import Measured


def as_json(run: Run) -> dict[str, Any]:
    """What was measured, and what follows from it."""
    return {
        "machine": run.machine,
        "started": run.started,
        "threads": run.threads,
        "versions": run.versions,
        "partial": run.partial,
        "cases": [_case_as_json(result) for result in run.results],
        "ways": run.ways,
        "cluster": run.cluster,
        "growth": [
            {
                "of": growth.series.of,
                "series": growth.series.title,
                "along": growth.series.along,
                "system": growth.system,
                "sizes": growth.sizes,
                "costs": growth.costs,
                "slope": growth.slope,
            }
            for series in SERIES
            for growth in growths(run, series)
        ],
    }


def _case_as_json(result: Result) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "title": result.case.title,
        "case": asdict(result.case),
        "systems": [
            {
                "name": one.system.name,
                "exact": one.system.exact,
                "seconds": one.seconds,
                "best": one.best,
                "loss": one.loss,
                "ratio": result.ratio(one),
            }
            for one in result.measured
        ],
        "memory": {name: asdict(memory) for name, memory in result.memory.items()},
        "verdicts": [asdict(verdict) | {"case": verdict.case.name} for verdict in verdicts(result)],
    }


def save(run: Run, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(run), indent=1)
    # Lists of numbers in one line each.
    text = re.sub(r"\[[^][{}]*\]", lambda match: " ".join(match[0].split()), text)
    file.write_text(text + "\n")


def load(file: Path) -> Run:
    """The run that was saved, with the cases and targets as they are in the catalogue now."""
    stored = json.loads(file.read_text())
    cases = {case.name: case for case in CASES}
    run = Run(
        stored["machine"],
        stored["started"],
        stored["threads"],
        stored["versions"],
        stored["partial"],
        ways=stored["ways"],
        # Runs of earlier versions have none.
        cluster=stored.get("cluster", {}),
    )
    for one in stored["cases"]:
        case = cases.get(one["name"])
        if case is not None:
            run.results.append(_result(case, one))
    return run


def _result(case: Case, stored: dict[str, Any]) -> Result:
    measured = [
        Measured(_system(case, one["name"]), one["seconds"], one["loss"])
        for one in stored["systems"]
    ]
    memory = {name: Memory(**fields) for name, fields in stored["memory"].items()}
    return Result(case, measured, memory)


def _system(case: Case, name: str) -> System:
    known = (OURS, *PEERS, *map(ours_under, case.settings))
    found = next((system for system in known if system.name == name), None)
    if found is None:
        raise LookupError(f"no system {name!r} in the case {case.name!r}")
    return found
