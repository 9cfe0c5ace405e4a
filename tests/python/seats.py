"""An engine in threads, for the tests of fits on several workers."""

import asyncio
import inspect
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from splitwood._cluster import Seat, WorkerLost, deal, grow
from splitwood._forest_cluster import Reply


class ThreadSeat(Seat):
    """A seat in a thread; ``peers`` is a list that all seats share."""

    def __init__(self, peers, *arguments):
        super().__init__(*arguments)
        self.peers = peers

    async def ask(self, seat, what):
        return await self.peers[seat].take(what, self._number)


class ThreadEngine:
    """The seats of one fit in threads. The call number ``fault`` finds its seat lost."""

    def __init__(self, X, encode, settings, n_seats, n_pieces=1, weights=None, y=None, fault=None):
        self.features = deal(X.shape[1], n_seats)
        self.seats: list[ThreadSeat] = []
        self.calls = 0
        # Bytes of sides that each seat has received, for each level.
        self.sides: list[list[int]] = []
        self.fault = fault
        pieces = np.array_split(X, n_pieces)
        # Other partitions than those of X, one of them empty.
        targets = [*np.array_split(y, n_pieces + 1), y[:0]]
        parts = None if weights is None else np.array_split(weights, n_pieces + 2)
        for number, own in enumerate(self.features):
            cells = [piece[:, own] for piece in pieces]
            self.seats.append(
                ThreadSeat(
                    self.seats, number, own, X.shape[1], cells, targets, parts, encode, settings
                )
            )

    def gather(self, method, arguments):
        def call(seat, given):
            if given is None:
                return None
            self.calls += 1
            if self.calls == self.fault:
                raise WorkerLost("on purpose")
            result = getattr(seat, method)(*given)
            return asyncio.run(result) if inspect.iscoroutine(result) else result

        with ThreadPoolExecutor(len(self.seats)) as threads:
            results = list(threads.map(call, self.seats, arguments))
        if method == "apply":
            self.sides.append(results)
        return results

    def grow(self, settings):
        return grow(self, self.features, settings, lambda line: None)


class TurnEngine:
    """The seats of a forest, one after the other in a random order.

    The calls with the numbers ``faults`` find their seat lost.
    """

    def __init__(self, seats, faults=()):
        self.seats, self.faults = seats, faults
        self.threads = dict.fromkeys(range(len(seats)), 1)
        self.calls = 0
        self.dice = random.Random(0)
        self.open = {}

    def start(self, seat, method, *arguments):
        self.calls += 1
        self.open[seat] = method, arguments, self.calls in self.faults

    def replies(self):
        seat = self.dice.choice(sorted(self.open))
        method, arguments, is_lost = self.open.pop(seat)
        if is_lost:
            del self.threads[seat]
            return [Reply(seat, None, WorkerLost("on purpose"))]
        return [Reply(seat, getattr(self.seats[seat], method)(*arguments), None)]
