"""The command line of the comparison."""

import argparse
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

from compare import cluster, figures, machine, plots, report, store, ways
from compare.cases import Case, Prediction
from compare.catalogue import CASES, in_memory_series
from compare.memory import measure_memory
from compare.progress import Progress, clock
from compare.results import Result, Run
from compare.systems import OURS, PEERS, System
from compare.timing import Rounds, expected_seconds, measure, measure_predictions

PARTS = ("fit", "predict", "memory", "ways", "cluster")
ROOT = Path(__file__).parents[2]
# A whole run is published. A part of a run must not replace it.
PUBLISHED = ROOT / "docs" / "benchmarks"
SCRATCH = ROOT / "target" / "compare"

ROUNDS = Rounds(repeat=10, seconds=3.0)
QUICK_ROUNDS = Rounds(repeat=3, seconds=0.5)
# The limit of the plain numpy trees in the short run.
QUICK_NAIVE_SECONDS = 0.5
# The time to start a process and to import a package.
PROCESS_SECONDS = 2.0
WAYS_SECONDS = 5.0


def parser(doc: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compare", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [case.name for case in CASES]
    peers = [peer.name for peer in PEERS]
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer cases and rounds: under three minutes")
    add("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    add("--cases", nargs="+", choices=names, metavar="CASE", help=f"of {', '.join(names)}")
    add("--peers", nargs="*", choices=peers, metavar="PEER", help=f"of {'; '.join(peers)}")
    add("--threads", type=int, default=2, help="for systems that can use them (default: 2)")
    add("--repeat", type=int, help="rounds of what is not slow (default: 10)")
    add(
        "--out",
        type=Path,
        help="folder for README.md, results.json and the pictures (default: docs/benchmarks for a whole run, "
        "target/compare for a part)",
    )
    add(
        "--redraw",
        action="store_true",
        help="measure nothing: page and pictures again, from the results.json in the folder; for "
        "--out docs/benchmarks, also the figures of the other pages",
    )
    return parser


def _partial(options: argparse.Namespace) -> str:
    """The options that make this a part of the whole, as they were given."""
    given = {
        "--quick": [] if options.quick else None,
        "--only": options.only,
        "--cases": options.cases,
        "--peers": options.peers,
        "--repeat": None if options.repeat is None else [str(options.repeat)],
    }
    words = [" ".join([name, *values]) for name, values in given.items() if values is not None]
    return " ".join(words)


def _chosen_cases(options: argparse.Namespace) -> list[Case]:
    if options.cases:
        return [case for case in CASES if case.name in options.cases]
    return [case for case in CASES if case.quick or not options.quick]


def _chosen_systems(options: argparse.Namespace) -> list[System]:
    """splitwood and the chosen peers. Peers that are not installed are reported."""
    systems = [OURS]
    for peer in PEERS:
        if options.peers is not None and peer.name not in options.peers:
            continue
        if peer.version is None:
            print(f"left out, not installed: {peer.name}", file=sys.stderr)
        elif options.quick and peer.patience < inf:
            systems.append(replace(peer, patience=QUICK_NAIVE_SECONDS))
        else:
            systems.append(peer)
    return systems


class Comparison:
    """One run: a plan of the work, then the work, case by case."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.parts = options.only or PARTS
        self.quick = options.quick
        self.threads = options.threads
        self.systems = _chosen_systems(options)
        self.rounds = QUICK_ROUNDS if options.quick else ROUNDS
        if options.repeat is not None:
            self.rounds = replace(self.rounds, repeat=options.repeat)
        self.cases = _chosen_cases(options)
        self.out = options.out
        self.failed: list[str] = []
        self.run = Run(
            machine.describe(),
            machine.moment(),
            options.threads,
            {system.name: system.version for system in self.systems},
            _partial(options),
        )
        self.progress = Progress(
            sum(self._planned(case) for case in self.cases)
            + WAYS_SECONDS * ("ways" in self.parts)
            + cluster.planned_seconds(self.quick) * ("cluster" in self.parts)
        )

    def _is_timed(self, case: Case) -> bool:
        return ("predict" if isinstance(case, Prediction) else "fit") in self.parts

    def _measured_for_memory(self, case: Case) -> list[System]:
        """All systems in the series of memory; only splitwood for a target or in the short run."""
        if "memory" not in self.parts:
            return []
        grows = in_memory_series(case)
        asked = grows or case.memory_target is not None
        systems = self.systems if grows and not self.quick else [OURS]
        return [one for one in systems if asked and one.takes_part(case)]

    def _planned(self, case: Case) -> float:
        timed = expected_seconds(case, self.systems, self.rounds)
        memory = (
            PROCESS_SECONDS + one.expected_seconds(case) for one in self._measured_for_memory(case)
        )
        return timed * self._is_timed(case) + sum(memory)

    def measure(self) -> None:
        """Measures case by case, and saves the results after each."""
        print(f"{report.setting(self.run)}\n", flush=True)
        for case in self.cases:
            self.progress.enter(self._planned(case))
            try:
                result = self._measure_case(case)
            except Exception:  # of a peer, say; the other cases are still worth their time
                self.failed.append(case.name)
                traceback.print_exc()
                continue
            if not result.measured and not result.memory:
                continue
            self.run.results.append(result)
            store.save(self.run, self.out / "results.json")
            self.progress.clear()
            if result.measured:
                print(f"{report.case_table(result)}\n", flush=True)
        if "ways" in self.parts:
            self.progress.enter(WAYS_SECONDS)
            self.progress("obvious ways to predict")
            self.run.ways.update(ways.compare(self.out / report.PICTURES["ways"]))
            store.save(self.run, self.out / "results.json")
        if "cluster" in self.parts:
            self.progress.enter(cluster.planned_seconds(self.quick))
            for title, times in self._fits_on_a_cluster():
                self.run.cluster[title] = times
                store.save(self.run, self.out / "results.json")
            self.progress.clear()
            print(f"{cluster.cluster_table(self.run.cluster)}\n", flush=True)
        self.progress.clear()
        print(f"measured in {clock(self.progress.elapsed)} minutes", file=sys.stderr)

    def _fits_on_a_cluster(self) -> Iterator[tuple[str, dict[str, list[float]]]]:
        with_peer = any(system.name == "XGBoost" for system in self.systems)
        return cluster.compare(self.threads, self.quick, with_peer, self.progress)

    def _measure_case(self, case: Case) -> Result:
        result = Result(case)
        if self._is_timed(case):
            work = measure_predictions if isinstance(case, Prediction) else measure
            result.measured.extend(
                work(case, self.systems, self.rounds, self.threads, self.progress)
            )
        for system in self._measured_for_memory(case):
            planned = PROCESS_SECONDS + system.expected_seconds(case)
            self.progress(f"{case.name}: memory, {system.name}", planned)
            memory = measure_memory(case, system, self.threads)
            if memory is not None:
                result.memory[system.name] = memory
        return result


def publish(run: Run, out: Path) -> None:
    """The pictures, and the page that shows them."""
    drawings = {
        "ratios": partial(plots.draw_ratios, plain=True),
        "options": partial(plots.draw_ratios, plain=False),
        "times": plots.draw_times,
        "memory": plots.draw_memory,
    }
    drawn = [key for key, draw in drawings.items() if draw(run, out / report.PICTURES[key])]
    if run.ways:
        drawn.append("ways")
    (out / "README.md").write_text(report.page(run, drawn))


def main(doc: str, arguments: Sequence[str] | None = None) -> None:
    options = parser(doc).parse_args(arguments)
    options.out = options.out or (SCRATCH if _partial(options) else PUBLISHED)
    failed: list[str] = []
    if options.redraw:
        run = store.load(options.out / "results.json")
    else:
        options.out.mkdir(parents=True, exist_ok=True)
        comparison = Comparison(options)
        comparison.measure()
        run, failed = comparison.run, comparison.failed
        print(report.summary(run))
    publish(run, options.out)
    if options.out.resolve() == PUBLISHED:
        figures.write(run, ROOT)
    print(f"\n{options.out / 'README.md'} has the report")
    if failed:
        sys.exit(f"these cases failed: {', '.join(failed)}")
