"""A fit on several machines: the part that no engine of tasks or actors changes.

A `Seat` is one worker of a fit. It has some features of all rows and all targets, and hands bytes
to the other seats on request. `grow` is the driver: it calls the seats in rounds, through an
`Engine`, and passes on their short messages. Large ones, the sides of rows and the cells of small
nodes, go from seat to seat. ``src/cluster/mod.rs`` describes the steps.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _core


class WorkerLost(RuntimeError):  # noqa: N818 -- The name says what happened.
    """A worker of the cluster died, left or stopped during a fit.

    The fit is over, and the estimator has not changed. The next fit uses the workers that are left.

    Examples
    --------
    >>> from splitwood.dask import WorkerLost
    >>> issubclass(WorkerLost, RuntimeError)
    True
    """


class Encoded(NamedTuple):
    """Targets and weights as the core reads them."""

    # Numbers, or class codes.
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    # None for a regression.
    classes: NDArray[Any] | None


Encode = Callable[[NDArray[Any], NDArray[np.float64] | None], Encoded]


class Table(NamedTuple):
    """What the driver learns of the data that the seats have."""

    n_rows: int
    dtype: str
    classes: NDArray[Any] | None


class Engine(Protocol):
    """What runs the seats: threads in tests, the actors of a cluster."""

    def gather(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every seat, each with its own arguments, and wait for all results.

        A seat whose arguments are None is not called, and its result is None. If a seat is lost,
        `WorkerLost` is raised.
        """


Asked = Literal["sides", "parcels"]


class Seat(ABC):
    """One worker of a fit. An engine adds how seats reach each other."""

    def __init__(
        self,
        number: int,
        features: list[int],
        n_features: int,
        pieces: Sequence[NDArray[Any]],
        targets: Sequence[NDArray[Any]],
        weights: Sequence[NDArray[np.float64]] | None,
        encode: Encode,
        settings: dict[str, Any],
    ) -> None:
        sample_weight = None if weights is None else np.concatenate(weights)
        y, sample_weight, classes = encode(np.concatenate(targets), sample_weight)
        cells = np.concatenate(pieces)
        if len(cells) != len(y):
            raise ValueError(f"y: has {len(y)} entries, but X has {len(cells)} rows")
        self._number = number
        self._table = Table(len(cells), cells.dtype.name, classes)
        n_classes = None if classes is None else len(classes)
        self._worker = _core.ColumnWorker(
            cells, features, n_features, y, n_classes, sample_weight, settings
        )
        # What other seats ask for: the same bytes for all, or a parcel for each.
        self._sides = b""
        self._parcels: list[bytes] = []

    @abstractmethod
    async def ask(self, seat: int, what: Asked) -> bytes:
        """Call `take` of another seat."""

    async def take(self, what: Asked, receiver: int) -> bytes:
        """Hand out what another seat asks for. It is async, so that a busy seat answers."""
        return self._sides if what == "sides" else self._parcels[receiver]

    async def _collect(
        self, seats: Iterable[int], n_seats: int, what: Asked
    ) -> tuple[list[bytes], int]:
        """Take something from some seats, and count the bytes that came from other ones.

        What is not asked for is empty.
        """
        wanted = set(seats)
        own = self._number

        async def one(seat: int) -> bytes:
            if seat not in wanted:
                return b""
            return await (self.take(what, own) if seat == own else self.ask(seat, what))

        taken = await asyncio.gather(*map(one, range(n_seats)))
        return taken, sum(len(bytes_) for seat, bytes_ in enumerate(taken) if seat != own)

    def describe(self) -> tuple[Table, list[bool]]:
        """Describe the data, and tell for each feature whether it has missing values."""
        return self._table, self._worker.has_missing()

    def root(self, has_missing: list[bool]) -> bytes:
        """Describe the root; ``has_missing`` is that of all features."""
        return self._worker.root(has_missing)

    def search(self) -> bytes:
        """Search the open nodes."""
        return self._worker.search()

    def divide(self, decisions: bytes) -> bytes:
        """Divide the nodes that this seat's features have won, and keep the sides of their rows."""
        divisions, self._sides = self._worker.divide(decisions)
        return divisions

    async def apply(self, splits: bytes, winners: list[int], n_seats: int) -> int:
        """Split the open nodes by the sides that the winners keep; count the bytes received."""
        sides, n_received = await self._collect(winners, n_seats, "sides")
        await asyncio.to_thread(self._worker.apply, splits, sides)
        return n_received

    def extract(self, plan: bytes) -> None:
        """Pack the small nodes that are handed over."""
        self._parcels = self._worker.extract(plan, self._number)

    async def finish(self, n_seats: int) -> tuple[bytes, int]:
        """Grow this seat's share of the small nodes; count the bytes received."""
        parcels, n_received = await self._collect(range(n_seats), n_seats, "parcels")
        return await asyncio.to_thread(self._worker.finish, parcels), n_received


# Called with a line of text that says how far the fit is.
Report = Callable[[str], None]


def deal(n_features: int, n_seats: int) -> list[list[int]]:
    """Deal the features out in turn. There are no more seats than features."""
    n_seats = min(n_seats, n_features)
    return [list(range(seat, n_features, n_seats)) for seat in range(n_seats)]


def grow(
    engine: Engine, features: list[list[int]], settings: dict[str, Any], report: Report
) -> tuple[_core.Tree, Table]:
    """Grow a tree on the seats of an engine, which have these features."""
    n_seats, n_features = len(features), sum(map(len, features))

    def on_all(method: str, *arguments: Any) -> list[Any]:
        return engine.gather(method, [arguments] * n_seats)

    described = on_all("describe")
    has_missing = [False] * n_features
    for own, (_, flags) in zip(features, described, strict=True):
        for feature, flag in zip(own, flags, strict=True):
            has_missing[feature] = flag
    driver = _core.Driver(features, n_features, settings)
    driver.begin(on_all("root", has_missing)[0])
    level, n_bytes = 0, 0
    while not driver.is_done():
        decisions = driver.decide(on_all("search"))
        while (plan := driver.hand_over()) is not None:
            on_all("extract", plan)
            for pieces, n_received in on_all("finish", n_seats):
                driver.finished(pieces)
                n_bytes += n_received
        n_open, n_waiting, _ = driver.progress()
        sides = [0]
        if n_open:
            winners = driver.winners()
            divide = [(decisions[k],) if k in winners else None for k in range(n_seats)]
            divisions = [given or b"" for given in engine.gather("divide", divide)]
            sides = on_all("apply", driver.divided(divisions), winners, n_seats)
            n_bytes += sum(sides)
        report(
            f"level {level}: {n_open} large nodes, {n_waiting} small; up to {max(sides):,} bytes "
            f"of sides for a worker, {n_bytes:,} bytes moved between workers"
        )
        level += 1
    return driver.tree(), described[0][0]
