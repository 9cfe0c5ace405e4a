"""The command line that the comparisons share, and what it chooses."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from compare import report
from compare.cases import Case
from compare.results import Result
from compare.systems import OURS, PEERS, System

# Measures a case: told how, and where to say how far it is.
RunCase = Callable[[Case, list[System], argparse.Namespace, Callable[[str], None]], Result]


def parser(doc: str, cases: Sequence[Case], quick: Sequence[str]) -> argparse.ArgumentParser:
    """What every comparison understands."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [case.name for case in cases]
    add = parser.add_argument
    add("--quick", action="store_true", help=f"only the cases {', '.join(quick)}")
    add("--cases", nargs="+", choices=names, metavar="CASE", help=f"of {', '.join(names)}")
    peers = [peer.name for peer in PEERS]
    add("--peers", nargs="+", choices=peers, metavar="PEER", help=f"of {', '.join(peers)}")
    add("--only-peers", action="store_true", help="leave splitwood out")
    add("--threads", type=int, default=2, help="for systems that can use them (default: 2)")
    add("--repeat", type=int, default=5, help="rounds (default: %(default)s)")
    add("--slow-repeat", type=int, default=2, help="rounds for slow systems (default: %(default)s)")
    add("--slow-seconds", type=float, default=5.0, help="slow is above this (default: %(default)s)")
    add("--json", type=Path, help="write every single time to this file as well")
    return parser


def _chosen_cases(
    options: argparse.Namespace, cases: Sequence[Case], quick: Sequence[str]
) -> list[Case]:
    names = options.cases or (quick if options.quick else [case.name for case in cases])
    return [case for case in cases if case.name in names]


def _chosen_systems(options: argparse.Namespace) -> list[System]:
    """splitwood and the peers that were asked for; those that are not installed are named."""
    wanted = [peer for peer in PEERS if not options.peers or peer.name in options.peers]
    systems = wanted if options.only_peers else [OURS, *wanted]
    for system in systems:
        if system.version is None:
            print(f"left out, not installed: {system.name}", file=sys.stderr)
    return [system for system in systems if system.version is not None]


class Progress:
    """A line on stderr: overwritten on a terminal, elsewhere a new one every few seconds."""

    PAUSE_SECONDS = 5.0

    def __init__(self) -> None:
        self.quiet_until = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif text and now >= self.quiet_until:
            print(text, file=sys.stderr, flush=True)
            self.quiet_until = now + self.PAUSE_SECONDS


def run(
    title: str,
    options: argparse.Namespace,
    cases: Sequence[Case],
    quick: Sequence[str],
    run_case: RunCase,
) -> None:
    """Measures the chosen cases one after the other and prints what came out."""
    systems = _chosen_systems(options)
    print(f"## {title}\n\n{report.setting(systems, options.threads)}", flush=True)
    results = []
    progress = Progress()
    for case in _chosen_cases(options, cases, quick):
        results.append(run_case(case, systems, options, progress))
        progress("")
        print(f"\n{report.case_table(results[-1])}", flush=True)
    print(f"\n{report.verdict_table(results)}")
    if options.json:
        data = report.as_json(results, systems, options.threads)
        options.json.write_text(json.dumps(data, indent=2) + "\n")
