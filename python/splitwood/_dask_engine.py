"""The seats of a tree as actors of Dask, and the way of the rows to them.

Three facts of Dask decide the design. A worker runs the methods of all its actors in one thread,
unless they are async: so what seats hand to each other is async, or two of them would wait for each
other. A task that is pinned to a dead worker waits for ever: so every wait is watched
(`_dask_watch.py`), also that for new seats. A proxy of an actor inside another actor would keep it
alive: so seats call each other through the worker's own connections, by address and key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np
from distributed import Client, Future, get_worker
from distributed.protocol import to_serialize
from numpy.typing import NDArray

from . import _core
from ._cluster import Asked, Encode, Seat, WorkerLost, deal
from ._dask_tasks import Tasks


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


class DaskEngine(Tasks):
    """The seats of a tree, each of which has some of the features."""

    def __init__(self, client: Client, n_features: int) -> None:
        super().__init__(client, n_features)
        self._features = deal(n_features, len(self._addresses))

    @property
    def features(self) -> list[list[int]]:
        """Get the features of each seat."""
        return self._features

    def check_memory(
        self, n_rows: int, cell_bytes: int, settings: dict[str, Any], is_weighted: bool
    ) -> None:
        """Raise `MemoryError` if the seat of a worker needs more than the worker's limit."""
        for seat, room in enumerate(self.room()):
            features, threads = self._features[seat], self._threads[seat]
            # The pieces, the table that they are joined to, and the core's copy; y and weights.
            cells = 3 * n_rows * len(features) * cell_bytes + 32 * n_rows
            needed = cells + _core.ColumnWorker.memory(
                n_rows, len(features), settings, is_weighted, threads
            )
            what = f"{len(features)} of the features"
            self.check_room(seat, room, what, needed)

    def spawn(
        self,
        pieces: list[list[Future]],
        targets: list[Future],
        weights: list[Future] | None,
        encode: Encode,
        settings: dict[str, Any],
        kept: Sequence[Future] = (),
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
        self._keep(kept)
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


def columns_of(cells: NDArray[Any], features: list[int]) -> NDArray[Any]:
    """Take some columns of a block, column by column."""
    return np.asfortranarray(cells[:, features])
