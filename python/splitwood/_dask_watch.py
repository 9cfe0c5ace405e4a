"""A watch over the workers of a cluster of Dask, so that every wait has an end.

A worker is lost when the scheduler does not know it any more, when another process has its address,
or when it sends no heartbeats. A task waits for ever if it is pinned to a worker that is gone or
paused, or if its rows are on a worker that is stopped: so tasks also count as lost when they are
not done, but no worker executes or receives anything.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from ._cluster import WorkerLost

# Seconds between two looks at the workers.
POLL = 1.0
# Seconds without a heartbeat, or without any work, after which workers count as lost.
SILENCE = 25.0
# The share of it after which a worker gets no part of a new fit. A worker that was lost by its
# silence must be left out, although the last heartbeats of the others may be a while ago, too.
SILENCE_OF_NEW = 0.6
# Seconds that the scheduler has for an answer.
ANSWER = 20.0

# What calls to a worker that is gone raise, always or among others.
_GONE = (CommClosedError, ConnectionError, CancelledError, KilledWorker)
MAYBE_GONE = (*_GONE, OSError, RuntimeError, KeyError)
_SIGNS_OF_LOSS = ("lost", "cancelled", "contact", "connect", "splitwood-seat")


def says_lost(error: BaseException) -> bool:
    """Whether an error says that a worker is gone; tasks of users raise errors, too."""
    return isinstance(error, _GONE) or any(sign in str(error) for sign in _SIGNS_OF_LOSS)


def workers_of(client: Client) -> dict[str, Any]:
    """Get what the scheduler knows of its workers."""
    try:
        known: dict[str, Any] = client.sync(
            client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER
        )["workers"]
    except (OSError, AttributeError, RuntimeError) as error:
        raise WorkerLost(f"the scheduler does not answer: {error!r}") from error
    return known


def answering(known: dict[str, Any]) -> list[str]:
    """List the workers that take tasks: they are not paused or leaving, and send heartbeats."""
    silence = SILENCE * SILENCE_OF_NEW
    newest = max((worker["last_seen"] for worker in known.values()), default=0.0)
    return sorted(
        address
        for address, worker in known.items()
        if worker["status"] == "running" and newest - worker["last_seen"] < silence
    )


class Watch:
    """Tells when one of these workers is gone, or silent for too long."""

    def __init__(self, client: Client, addresses: Sequence[str], known: dict[str, Any]) -> None:
        self._client = client
        # A worker that was restarted may have its old address, but it has another directory.
        self._directories = {one: known[one]["local_directory"] for one in addresses}
        # By address: the last heartbeat, and when it was first seen here.
        self._heartbeats: dict[str, tuple[float, float]] = {}
        self._next = 0.0
        # How much the workers have received, and when one of them was last seen at work.
        self._received, self._at_work = -1, time.monotonic()
        # Whether a worker is there, but does not answer: Dask waits for its tasks for minutes.
        self.is_silent = False

    def lost(self, now: bool = False) -> dict[str, str]:
        """Get what happened to each lost worker; ask the scheduler only now and then."""
        if not now and time.monotonic() < self._next:
            return {}
        known = workers_of(self._client)
        self._next = time.monotonic() + POLL
        self._note_work(known)
        found = {}
        for address, directory in self._directories.items():
            worker = known.get(address)
            if worker is None:
                found[address] = f"the worker at {address} is gone"
            elif worker["local_directory"] != directory:
                found[address] = f"the worker at {address} was restarted"
            elif self._is_silent(address, worker["last_seen"]):
                found[address] = f"the worker at {address} does not answer"
                self.is_silent = True
        return found

    def check(self, now: bool = False) -> None:
        """Raise `WorkerLost` if a worker is lost; ask the scheduler only now and then."""
        for what in self.lost(now).values():
            raise WorkerLost(f"{what}; fit again")

    def check_work(self) -> None:
        """Raise `WorkerLost` if no worker has worked at tasks for a while."""
        if time.monotonic() - self._at_work > SILENCE:
            raise WorkerLost(
                f"no worker has done anything for {SILENCE:.0f} s: one that has rows of the fit is "
                "paused or does not answer; restart it and fit again"
            )

    def begin_tasks(self) -> None:
        """Begin to wait for tasks: what came before was something else."""
        self._at_work = time.monotonic()

    def _is_silent(self, address: str, heartbeat: float) -> bool:
        last, since = self._heartbeats.get(address, (None, 0.0))
        if heartbeat != last:
            self._heartbeats[address] = heartbeat, time.monotonic()
            return False
        return time.monotonic() - since > SILENCE

    def _note_work(self, known: dict[str, Any]) -> None:
        metrics = [known[address]["metrics"] for address in answering(known)]
        n_executing = sum(_executing(one.get("task_counts", {})) for one in metrics)
        received = sum(one.get("transfer", {}).get("incoming_count_total", 0) for one in metrics)
        if n_executing or received != self._received:
            self._received, self._at_work = received, time.monotonic()


def _executing(counts: dict[str, int]) -> int:
    return counts.get("executing", 0) + counts.get("long-running", 0)
