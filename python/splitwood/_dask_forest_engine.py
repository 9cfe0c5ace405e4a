"""The seats of a forest as actors of Dask. The forest goes on without those that are lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future as Gathering
from typing import Any
from uuid import uuid4

from distributed import Client, Future, get_worker
from numpy.typing import NDArray

from ._cluster import WorkerLost
from ._dask_tasks import Tasks
from ._dask_watch import ANSWER, MAYBE_GONE, says_lost
from ._forest_cluster import Reply, WholeSeat

# Seconds between two looks at the calls.
_PAUSE = 0.01


class DaskWholeSeat(WholeSeat):
    """A seat that holds all rows, as an actor."""

    def __init__(self, key: str, *arguments: Any) -> None:
        self._key, self._actors = key, get_worker().state.actors
        super().__init__(*arguments)

    def is_wanted(self) -> bool:
        """Whether the actor still exists: the end of a fit, or of its client, removes it."""
        return self._key in self._actors


class DaskTreeEngine(Tasks):
    """The seats of a forest, each of which has all rows; see `splitwood._forest_cluster`."""

    def __init__(self, client: Client, most: int, n_jobs: int | None) -> None:
        super().__init__(client, most)
        self._n_jobs = [n_jobs or threads for threads in self._threads]
        self.threads: dict[int, int] = {}
        self._calls: dict[int, Any] = {}

    def check_memory(self, n_rows: int, n_features: int, cell_bytes: int) -> None:
        """Raise `MemoryError` if all rows don't fit a worker; grow fewer trees at once if need be.

        The numbers are those of ``src/forest/fit.rs``.
        """
        n_cells = n_rows * n_features
        # The pieces and the table that they are joined to, the order of its rows, y and weights.
        held = n_cells * (2 * cell_bytes + 4) + 64 * n_rows
        per_tree = 28 * n_cells + 120 * n_rows
        for seat, room in enumerate(self.room()):
            what = f"all {n_rows:,} rows and the growth of a tree"
            self.check_room(seat, room, what, held + per_tree)
            if room.limit and self._n_jobs[seat] > 0:
                self._n_jobs[seat] = min(self._n_jobs[seat], (room.free - held) // per_tree)

    def spawn(
        self,
        estimator: Any,
        pieces: list[Future],
        targets: list[Future],
        weights: list[Future] | None,
        check: Callable[[NDArray[Any]], NDArray[Any]],
    ) -> None:
        """Create a seat on each worker, and go on with those that are not lost."""
        token = uuid4().hex
        seats = []
        for seat, address in enumerate(self._addresses):
            key = f"splitwood-seat-{token}-{seat}"
            given = estimator, pieces, targets, weights, check, self._n_jobs[seat]
            seats.append(
                self.submit(
                    DaskWholeSeat,
                    *(key, *given),
                    key=key,
                    actor=True,
                    workers=[address],
                    allow_other_workers=False,
                )
            )
        self._actors = [None] * len(seats)
        with self._client.as_current():
            self._calls = {number: self.begin_gather([seat]) for number, seat in enumerate(seats)}
        self.threads = {seat: max(1, n_jobs) for seat, n_jobs in enumerate(self._n_jobs)}
        lost = None
        while self._calls:
            for reply in self.replies():
                if reply.lost is None:
                    (self._actors[reply.seat],) = reply.value
                lost = reply.lost or lost
                # Other seats may wait for rows that it has.
                if lost is not None and self._watch.is_silent:
                    raise WorkerLost(f"{lost}; fit again") from lost
        if not self.threads:
            raise WorkerLost(f"all workers were lost; the last: {lost}") from lost
        self._keep([])

    def _forget_calls(self) -> None:
        # Those that have failed refer to their error; see `_drop_locals`.
        self._calls.clear()

    def start(self, seat: int, method: str, *arguments: Any) -> None:
        """Call a method of a seat; see `splitwood._forest_cluster.TreeEngine`."""
        with self._client.as_current():
            try:
                self._calls[seat] = getattr(self._actors[seat], method)(*arguments)
            except RuntimeError as error:
                self._calls[seat] = _Failed(error)

    def replies(self) -> list[Reply]:
        """Wait until a call has ended, and get the replies to all that have."""
        while True:
            found = [self._reply(seat) for seat, call in self._calls.items() if call.done()]
            if not found:
                lost = self._watch.lost()
                found = [
                    Reply(seat, None, WorkerLost(lost[self._addresses[seat]]))
                    for seat in self._calls
                    if self._addresses[seat] in lost
                ]
            if found:
                break
            if any(isinstance(call, Gathering) for call in self._calls.values()):
                self._watch.check_work()
            time.sleep(_PAUSE)
        for reply in found:
            call = self._calls.pop(reply.seat)
            if isinstance(call, Gathering):
                call.cancel()
            if reply.lost is not None:
                self.threads.pop(reply.seat, None)
        return found

    def _reply(self, seat: int) -> Reply:
        """Get the result of a call that has ended."""
        try:
            with self._client.as_current():
                return Reply(seat, self._calls[seat].result(timeout=ANSWER), None)
        except MAYBE_GONE as error:
            for _ in range(5):
                if what := self._watch.lost(now=True).get(self._addresses[seat]):
                    return Reply(seat, None, WorkerLost(what))
                if says_lost(error):
                    return Reply(seat, None, WorkerLost(f"a worker was lost: {error}"))
                time.sleep(0.2)
            raise

    def wait(self, futures: Sequence[Future]) -> list[Any]:
        """Get the results of tasks that may run on any worker: Dask repeats those of lost ones."""
        gathering = self.begin_gather(futures)
        try:
            while not gathering.done():
                lost = self._watch.lost()
                if self._watch.is_silent or len(lost) == len(self._addresses):
                    raise WorkerLost(f"{'; '.join(lost.values())}; fit again")
                self._watch.check_work()
                time.sleep(_PAUSE)
            found: list[Any] = gathering.result()
        except MAYBE_GONE as error:
            if not isinstance(error, WorkerLost) and says_lost(error):
                raise WorkerLost(f"a worker was lost: {error}; fit again") from error
            raise
        finally:
            gathering.cancel()
        return found


class _Failed:
    """A call that could not be made."""

    def __init__(self, error: RuntimeError) -> None:
        self._error = error

    def done(self) -> bool:
        return True

    def result(self, timeout: float) -> Any:
        raise self._error
