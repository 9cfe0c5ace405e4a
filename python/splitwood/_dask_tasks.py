"""The tasks of one fit on a cluster of Dask: watched while they run, gone at the end of the fit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future as Gathering
from typing import Any, NamedTuple, Self

from distributed import Client, Future

from ._cluster import WorkerLost
from ._dask_watch import MAYBE_GONE, POLL, Watch, answering, says_lost, workers_of

# The share of its limit at which Dask kills a worker.
_FULL = 0.95


class Room(NamedTuple):
    """The memory of a worker in bytes."""

    # 0 if there is none.
    limit: int
    # By what is no result of a task: the interpreter, and the seats of other fits. Results can be
    # spilled to disk.
    used: int

    @property
    def free(self) -> int:
        """Get what can be used before the worker is killed."""
        return int(_FULL * self.limit) - self.used


def _room(worker: dict[str, Any]) -> Room:
    metrics = worker.get("metrics", {})
    used = metrics.get("memory", 0) - metrics.get("managed_bytes", 0)
    return Room(int(worker.get("memory_limit") or 0), max(0, used))


class Tasks:
    """The tasks and actors of one fit on the workers of a cluster.

    Used as a context: its end frees everything that the fit has put on the cluster.
    """

    def __init__(self, client: Client, most: int) -> None:
        self._client = client
        known = workers_of(client)
        alive = answering(known)
        if not alive:
            raise WorkerLost("the cluster has no workers that take tasks; start one and fit again")
        self._addresses = alive[:most]
        self._threads = [known[address]["nthreads"] for address in self._addresses]
        self._watch = Watch(client, self._addresses, known)
        # The scheduler gives tasks to workers that are stopped, too.
        self._where: dict[str, Any] = {}
        if len(alive) < len(known):
            self._where = {"workers": alive, "allow_other_workers": True}
        # The partitions among the tasks may be persisted, and the user's. So tasks are released:
        # Dask keeps those that somebody else needs. Cancelling them, or tasks that depend on each
        # other, would take the user's, too. Actors may be cancelled.
        self._futures: list[Future] = []
        self._seats: list[Future] = []
        self._actors: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._actors.clear()
        self._keep([])
        if self._seats and self._client.status == "running":
            self._client.cancel(self._seats, force=True)
        self._seats.clear()

    def _keep(self, kept: Sequence[Future]) -> None:
        """Free the rows and all tasks but these: the seats have their own rows."""
        keys = {future.key for future in kept}
        for future in self._futures:
            if future.key not in keys:
                future.release()
        self._futures = list(kept)

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Start a task."""
        options = self._where | options
        future = self._client.submit(function, *arguments, pure=False, **options)
        (self._seats if options.get("actor") else self._futures).append(future)
        return future

    def compute(self, blocks: Sequence[Any]) -> list[Future]:
        """Start the computation of delayed blocks, or find the results of persisted ones."""
        futures: list[Future] = self._client.compute(list(blocks), **self._where)
        self._futures.extend(futures)
        return futures

    def begin_gather(self, futures: Sequence[Future]) -> Gathering[list[Any]]:
        """Begin to wait for tasks and to fetch their results.

        A fetch is begun once: one that is cut short after a while would never get a large result.
        """
        self._watch.begin_tasks()
        fetching: Any = self._client.gather(list(futures), asynchronous=True)
        return asyncio.run_coroutine_threadsafe(fetching, self._client.loop.asyncio_loop)

    def wait(self, futures: Sequence[Future]) -> list[Any]:
        """Get the results of tasks, and watch the workers meanwhile."""
        gathering = self.begin_gather(futures)
        try:
            found: list[Any] = self._result(gathering)
        finally:
            gathering.cancel()
        return found

    def _result(self, call: Any) -> Any:
        """Get the result of tasks or of a call, and watch the workers meanwhile."""
        while True:
            was_done = call.done()
            try:
                return call.result(timeout=POLL)
            except MAYBE_GONE as error:
                # The wait itself has timed out, not the call.
                if isinstance(error, TimeoutError) and not was_done:
                    self._watch.check()
                    if isinstance(call, Gathering):
                        self._watch.check_work()
                    continue
                # The worker that raised it may be there; the one that it called may not.
                for _ in range(5):
                    self._watch.check(now=True)
                    time.sleep(0.2)
                if says_lost(error):
                    raise WorkerLost(f"a worker was lost: {error}; fit again") from error
                raise

    def room(self) -> list[Room]:
        """Get the memory of each seat's worker; ask again, because it changes."""
        known = workers_of(self._client)
        return [_room(known.get(address, {})) for address in self._addresses]

    def check_room(self, seat: int, room: Room, what: str, needed: int) -> None:
        """Raise `MemoryError` if a seat needs more than its worker has."""
        if room.limit and needed > room.free:
            raise MemoryError(
                f"the worker at {self._addresses[seat]} needs about {needed / 1e9:.2f} GB for "
                f"{what}, beside {room.used / 1e9:.2f} GB that it uses, but its limit is "
                f"{room.limit / 1e9:.2f} GB; use more workers or larger ones"
            )
