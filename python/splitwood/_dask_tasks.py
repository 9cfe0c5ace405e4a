"""The tasks of one fit on a cluster of Dask: watched while they run, gone at the end of the fit."""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future as Gathering
from types import FrameType
from typing import Any, NamedTuple, Self

from distributed import Client, Future

from ._cluster import WorkerLost
from ._dask_watch import MAYBE_GONE, POLL, Watch, answering, says_lost, workers_of

# The share of its limit at which Dask kills a worker.
_FULL = 0.95
# The flags of functions that may go on after their frame has been left.
_MAY_GO_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


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


def _drop_locals(error: BaseException | None, outer: BaseException | None) -> None:
    """Drop the local variables of the functions that an error has left, but not those of `outer`.

    What waited for the error, here and in Dask, refers to it, and the error refers to the frames
    that it passes on its way to the user, where X and y are. Such a cycle would keep the user's
    rows on the workers until the garbage collector finds it, which takes minutes in a large
    process. The traceback still shows every line.
    """
    seen = {id(None), id(outer)}
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        traceback.clear_frames(one.__traceback__)
        for frame, _ in traceback.walk_tb(one.__traceback__):
            _clear_callers(frame)


def _clear_callers(frame: FrameType) -> None:
    """Clear the functions that called one and have ended.

    Lines of a worker are shown by frames made here, by functions of Dask that have the error.
    """
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_flags & _MAY_GO_ON:
        try:
            caller.clear()
        except RuntimeError:
            # It has not ended, and neither have its own callers.
            break
        caller = caller.f_back


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
        # What the caller handles while it fits.
        self._outer = sys.exception()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        self._forget_calls()
        self._actors.clear()
        self._keep([])
        if self._seats and self._client.status == "running":
            self._client.cancel(self._seats, force=True)
        self._seats.clear()
        _drop_locals(error, self._outer)

    def _forget_calls(self) -> None:
        """Drop the calls that have not been replied to."""

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
