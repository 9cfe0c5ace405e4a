"""Seats as actors of Dask, and the way of the rows to them.

Every wait has an end: while a call runs, the engine asks the scheduler for the workers every few
seconds. A worker that is gone, or whose heartbeat has stopped, ends the fit with `WorkerLost`.

Three facts of Dask decide the design. A worker runs the methods of all its actors in one thread,
unless they are async: so what seats hand to each other is async, or two of them would wait for each
other. A task that is pinned to a dead worker waits for ever: so seats are created under the same
watch. A proxy of an actor inside another actor would keep it alive: so seats call each other
through the worker's own connections, by address and key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

import numpy as np
from distributed import Client, Future, get_worker
from distributed.comm import CommClosedError
from distributed.protocol import to_serialize
from distributed.scheduler import KilledWorker
from numpy.typing import NDArray

from . import _core
from ._cluster import Asked, Encode, Seat, WorkerLost, deal

# Seconds between two looks at the workers.
_POLL = 1.0
# Seconds without a heartbeat after which a worker counts as lost.
_SILENCE = 30.0

# What calls to a worker that is gone raise, always or among others.
_GONE = (CommClosedError, ConnectionError, CancelledError, KilledWorker)
_MAYBE_GONE = (*_GONE, OSError, RuntimeError, KeyError)
_SIGNS_OF_LOSS = ("lost", "cancelled", "contact", "connect", "splitwood-seat")


class DaskSeat(Seat):
    """A seat as an actor."""

    _peers: list[tuple[str, str]]

    def meet(self, peers: list[tuple[str, str]]) -> None:
        """Learn the address and the key of every seat."""
        self._peers = peers

    async def ask(self, seat: int, what: Asked) -> bytes:
        """Call `take` of another seat, from worker to worker."""
        address, key = self._peers[seat]
        reply = (
            await get_worker()
            .rpc(address)
            .actor_execute(
                function="take",
                actor=key,
                args=[to_serialize(what), to_serialize(self._number)],
                kwargs={},
            )
        )
        if reply["status"] != "OK":
            raise reply["exception"]
        return bytes(reply["result"])


class _Watch:
    """Tells when a worker is gone, or silent for too long."""

    def __init__(self, client: Client, addresses: Sequence[str]) -> None:
        self._client, self._addresses = client, addresses
        # By address: the last heartbeat, and when it was first seen here.
        self._heartbeats: dict[str, tuple[float, float]] = {}
        self._next = 0.0

    def workers(self) -> dict[str, Any]:
        """Get what the scheduler knows of its workers."""
        known: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return known

    def check(self, now: bool = False) -> None:
        """Raise `WorkerLost` if a worker is lost; ask the scheduler only now and then."""
        if not now and time.monotonic() < self._next:
            return
        known = self.workers()
        self._next = time.monotonic() + _POLL
        for address in self._addresses:
            if address not in known:
                raise WorkerLost(f"the worker at {address} is gone; fit again")
            heartbeat = known[address]["last_seen"]
            last, since = self._heartbeats.get(address, (None, 0.0))
            if heartbeat != last:
                self._heartbeats[address] = heartbeat, time.monotonic()
            elif time.monotonic() - since > _SILENCE:
                raise WorkerLost(f"the worker at {address} does not answer; fit again")


class DaskEngine:
    """The seats of one fit, as actors on the workers of a cluster.

    Used as a context: its end frees everything that the fit has put on the cluster.
    """

    def __init__(self, client: Client, n_features: int) -> None:
        self._client = client
        threads = dict(client.nthreads())
        if not threads:
            raise WorkerLost("the cluster has no workers; start one and fit again")
        self._features = deal(n_features, len(threads))
        self._addresses = sorted(threads)[: len(self._features)]
        self._threads = [threads[address] for address in self._addresses]
        self._watch = _Watch(client, self._addresses)
        self._futures: list[Future] = []
        self._actors: list[Any] = []

    @property
    def features(self) -> list[list[int]]:
        """Get the features of each seat."""
        return self._features

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._actors.clear()
        if self._futures and self._client.status == "running":
            self._client.cancel(self._futures, force=True)
        self._futures.clear()

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Start a task, which is cancelled at the end of the fit."""
        future = self._client.submit(function, *arguments, pure=False, **options)
        self._futures.append(future)
        return future

    def compute(self, blocks: Sequence[Any]) -> list[Future]:
        """Start the computation of delayed blocks."""
        futures: list[Future] = self._client.compute(list(blocks))
        self._futures.extend(futures)
        return futures

    def wait(self, futures: Sequence[Any]) -> list[Any]:
        """Get the results of tasks or calls, and watch the workers meanwhile."""
        return [self._result(future) for future in futures]

    def _result(self, future: Any) -> Any:
        while True:
            was_done = future.done()
            try:
                return future.result(timeout=_POLL)
            except _MAYBE_GONE as error:
                # The wait itself has timed out, not the call.
                if isinstance(error, TimeoutError) and not was_done:
                    self._watch.check()
                    continue
                # The worker that raised it may be there; the one that it called may not.
                for _ in range(5):
                    self._watch.check(now=True)
                    time.sleep(0.2)
                if _says_lost(error):
                    raise WorkerLost(f"a worker was lost: {error}") from error
                raise

    def check_memory(self, n_rows: int, cell_bytes: int, settings: dict[str, Any]) -> None:
        """Raise `MemoryError` if the seat of a worker needs more than the worker's limit."""
        known = self._watch.workers()
        for address, features, threads in zip(
            self._addresses, self._features, self._threads, strict=True
        ):
            # The pieces, the table that they are joined to, and the core's copy; y and weights.
            cells = 3 * n_rows * len(features) * cell_bytes + 32 * n_rows
            needed = cells + _core.ColumnWorker.memory(n_rows, len(features), settings, threads)
            limit = known[address]["memory_limit"] if address in known else 0
            if limit and needed > limit:
                raise MemoryError(
                    f"the worker at {address} needs about {needed / 1e9:.2f} GB for {len(features)}"
                    f" of the features, but its limit is {limit / 1e9:.2f} GB; use more workers or"
                    " larger ones"
                )

    def spawn(
        self,
        pieces: list[list[Future]],
        targets: list[Future],
        weights: list[Future] | None,
        encode: Encode,
        settings: dict[str, Any],
    ) -> None:
        """Create the seats where their features will be; ``pieces`` has the cells of each seat."""
        token = uuid4().hex
        keys = [f"splitwood-seat-{token}-{seat}" for seat in range(len(self._features))]
        n_features = sum(map(len, self._features))
        seats = []
        for number, address in enumerate(self._addresses):
            own = settings | {"n_jobs": settings["n_jobs"] or self._threads[number]}
            seat = self.submit(
                DaskSeat,
                number,
                self._features[number],
                n_features,
                pieces[number],
                targets,
                weights,
                encode,
                own,
                key=keys[number],
                actor=True,
                workers=[address],
                allow_other_workers=False,
            )
            seats.append(seat)
        with self._client.as_current():
            self._actors = self.wait(seats)
        # The rows are in the seats; only these are kept.
        self._futures = seats
        peers = list(zip(self._addresses, keys, strict=True))
        self.gather("meet", [(peers,)] * len(seats))

    def gather(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every seat; see `splitwood._cluster.Engine`."""
        with self._client.as_current():
            try:
                calls = [
                    None if given is None else getattr(actor, method)(*given)
                    for actor, given in zip(self._actors, arguments, strict=True)
                ]
            except RuntimeError as error:
                raise WorkerLost(f"a worker was lost: {error}") from error
            return [None if call is None else self._result(call) for call in calls]


def _says_lost(error: BaseException) -> bool:
    """Whether an error says that a worker is gone; tasks of users raise errors, too."""
    return isinstance(error, _GONE) or any(sign in str(error) for sign in _SIGNS_OF_LOSS)


def columns_of(cells: NDArray[Any], features: list[int]) -> NDArray[Any]:
    """Take some columns of a block, column by column."""
    return np.asfortranarray(cells[:, features])
