"""The machine that the figures were measured on, in words."""

import os
import platform
from datetime import date
from pathlib import Path


def describe() -> str:
    """Processor, CPUs that this process may use, memory, operating system, Python."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [
        _field("/proc/cpuinfo", "model name") or platform.processor() or "unknown processor",
        f"{cpus} CPUs",
        _memory(),
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"Python {platform.python_version()}",
    ]
    return ", ".join(filter(None, parts))


def moment() -> str:
    """The day, and how busy the machine is with other work: figures from a busy one say little."""
    busy = (
        f", load average {os.getloadavg()[0]:.2f} at the start" if hasattr(os, "getloadavg") else ""
    )
    return date.today().isoformat() + busy


def _memory() -> str:
    kilobytes = _field("/proc/meminfo", "MemTotal").removesuffix(" kB")
    return f"{int(kilobytes) / 2**20:.0f} GiB memory" if kilobytes else ""


def _field(file: str, name: str) -> str:
    """The first value of this name in a file of Linux; empty where there is none."""
    path = Path(file)
    for line in path.read_text().splitlines() if path.exists() else []:
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
