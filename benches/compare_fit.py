"""Fit times beside the peers': scikit-learn, YDF, XGBoost and LightGBM, in one interleaved run.

Every system fits one tree to the same arrays from Python; converting them is part of its time.
Times are compared best over best; the training loss beside them shows that nobody is faster by
fitting worse. Splits of LightGBM fall on 255 bins: it is marked as approximate.

    python benches/compare_fit.py                    everything: some minutes
    python benches/compare_fit.py --quick            100,000 and 1,000 rows only
    python benches/compare_fit.py --cases 1m-depth6 --peers YDF LightGBM
"""

import argparse
import json
import sys
import time
from pathlib import Path

from compare import report
from compare.cases import CASES, QUICK, Case
from compare.memory import memory_added
from compare.results import Result
from compare.systems import OURS, PEERS, System
from compare.timing import Rounds, measure


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [case.name for case in CASES]
    add = parser.add_argument
    add("--quick", action="store_true", help=f"only the cases {', '.join(QUICK)}")
    add("--cases", nargs="+", choices=names, metavar="CASE", help=f"of {', '.join(names)}")
    peers = [peer.name for peer in PEERS]
    add("--peers", nargs="+", choices=peers, metavar="PEER", help=f"of {', '.join(peers)}")
    add("--only-peers", action="store_true", help="leave splitwood out")
    add("--threads", type=int, default=2, help="for systems that can use them (default: 2)")
    add("--repeat", type=int, default=5, help="rounds (default: 5)")
    add("--slow-repeat", type=int, default=2, help="rounds for slow systems (default: 2)")
    add("--slow-seconds", type=float, default=5.0, help="slow is a fit above this (default: 5)")
    add("--json", type=Path, help="write every single time to this file as well")
    return parser.parse_args()


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    names = options.cases or (QUICK if options.quick else [case.name for case in CASES])
    return [case for case in CASES if case.name in names]


def chosen_systems(options: argparse.Namespace) -> list[System]:
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


def run_case(case: Case, systems: list[System], options: argparse.Namespace) -> Result:
    progress = Progress()
    rounds = Rounds(options.repeat, options.slow_repeat, options.slow_seconds)
    measured = measure(case, systems, rounds, options.threads, progress)
    memory = None
    if case.memory_target is not None and OURS in systems:
        progress(f"{case.name}: memory")
        memory = memory_added(case, options.threads)
    progress("")
    return Result(case, measured, memory)


def main() -> None:
    options = arguments()
    systems = chosen_systems(options)
    print(f"## Fit times\n\n{report.setting(systems, options.threads)}", flush=True)
    results = []
    for case in chosen_cases(options):
        results.append(run_case(case, systems, options))
        print(f"\n{report.case_table(results[-1])}", flush=True)
    print(f"\n{report.verdict_table(results)}")
    if options.json:
        data = report.as_json(results, systems, options.threads)
        options.json.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
