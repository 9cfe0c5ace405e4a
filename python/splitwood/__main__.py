"""Report what is installed here, and whether it works: ``python -m splitwood``.

The exit code is 0 if every check passes, and 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from importlib import import_module

import numpy as np

from . import _core, _self_check

_THREAD_LIMITS = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m splitwood", description=__doc__)
    parser.parse_args(arguments)
    print(f"splitwood {_core.__version__}")
    for name, fact in facts():
        print(f"  {name:16} {fact}")
    return check()


def facts() -> Iterator[tuple[str, str]]:
    """List what a bug report should say about the machine and the installation."""
    yield "system", platform.platform()
    machine = platform.machine() or "unknown"
    yield (
        "instruction set",
        f"{machine}; compiled for every CPU of this kind, without dispatch at run time",
    )
    yield "threads", _threads()
    yield "Python", f"{platform.python_version()}, {platform.python_implementation()}"
    yield "numpy", np.__version__
    yield "scikit-learn", _sklearn()


def _threads() -> str:
    threads = f"{_core.available_threads()} (n_jobs=None) on {os.cpu_count()} CPUs"
    limits = [f"{name}={os.environ[name]}" for name in _THREAD_LIMITS if name in os.environ]
    return ", ".join([threads, *limits])


def _sklearn() -> str:
    if not _self_check.has_sklearn():
        return "not installed: models can be loaded and predict, but no trees can be fitted"
    return str(import_module("sklearn").__version__)


def check() -> int:
    """Run every check, print its result, and return the exit code."""
    print("self-check")
    failed = 0
    for name, run in _self_check.checks():
        try:
            run()
            verdict = "passed"
        # Any exception means that the installation does not work.
        except Exception as error:
            failed += 1
            verdict = (
                f"FAILED: {error if isinstance(error, _self_check.CheckError) else repr(error)}"
            )
        print(f"  {name:38} {verdict}", flush=True)
    if failed:
        print(f"self-check: FAILED ({failed} of the checks above)")
        return 1
    extent = "" if _self_check.has_sklearn() else " (without scikit-learn, fits are not checked)"
    print(f"self-check: passed{extent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
