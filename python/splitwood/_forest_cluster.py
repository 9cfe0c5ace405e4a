"""A forest on several machines: the part that no engine of tasks or actors changes.

Every worker has a `WholeSeat`, which holds all rows and sorts them once. `grow_forest` hands out
trees in batches, through a `TreeEngine`. A tree follows from its seed alone, so it does not matter
which seat grows it, and the trees of a lost seat are grown by others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._bags import Bags, Counts
from ._cluster import Report, WorkerLost
from ._fitted_forest import RESULTS

# A seat gets its share of the trees that are left in this many batches: the last ones are small,
# so that seats finish at the same time, and little is lost with a worker.
_BATCHES = 3


class Held(NamedTuple):
    """What the driver learns of the data that each seat has."""

    n_rows: int
    dtype: str
    n_bytes: int
    # The classes and their number, if there are any.
    attributes: dict[str, Any]
    # By row, as the trees see them; None if there are none, or the driver does not need them.
    weights: NDArray[np.float64] | None


class Stopped(Exception):  # noqa: N818 -- The name says what happened.
    """The driver does not wait for the work any more."""


class WholeSeat:
    """A worker that holds all rows: it grows trees of a forest, or one tree."""

    def __init__(
        self,
        estimator: Any,
        pieces: Sequence[NDArray[Any]],
        targets: Sequence[NDArray[Any]],
        weights: Sequence[NDArray[np.float64]] | None,
        check: Callable[[NDArray[Any]], NDArray[Any]],
        n_jobs: int,
    ) -> None:
        self._estimator = estimator
        estimator.n_jobs = n_jobs
        self._cells = np.concatenate(pieces)
        self._y = check(np.concatenate(targets))
        self._weights = None if weights is None else np.concatenate(weights)
        if len(self._cells) != len(self._y):
            raise ValueError(f"y: has {len(self._y)} entries, but X has {len(self._cells)} rows")
        estimator._x_dtype = self._cells.dtype.name

    def is_wanted(self) -> bool:
        """Whether the driver still waits for the work; engines know."""
        return True

    def _go_on(self, *_: float) -> None:
        if not self.is_wanted():
            raise Stopped

    # ---- one tree --------------------------------------------------------------------------------

    def fit_tree(self) -> dict[str, Any]:
        """Grow the estimator's tree, and get what a fit sets."""
        given = self._estimator
        given.tree_ = given._grow(self._cells, self._y, self._weights, self._go_on)
        return {name: given.__dict__[name] for name in _OF_TREES & given.__dict__.keys()}

    # ---- a forest --------------------------------------------------------------------------------

    def sort(self, settings: dict[str, Any], wants_weights: bool) -> Held:
        """Encode the targets, sort the rows, and describe the data."""
        self._targets = self._estimator._encode(self._y, self._weights)
        y, weights, n_classes, balance_bags = self._targets
        own = {"balanced_subsample": balance_bags, "n_jobs": self._estimator.n_jobs}
        self._settings = settings | own
        self._order = _core.ForestOrder(self._cells, y, n_classes, self._settings)
        known = self._estimator.__dict__
        attributes = {name: known[name] for name in ("classes_", "n_classes_") if name in known}
        of_rows = weights if wants_weights else None
        size = self._cells.nbytes + y.nbytes
        return Held(len(y), self._cells.dtype.name, size, attributes, of_rows)

    def grow(
        self, seeds: NDArray[np.uint64], n_draws: int | None, own_bags: Counts | None
    ) -> _core.Forest:
        """Grow the trees with these seeds."""
        own: dict[str, Any] = {"seeds": seeds, "n_draws": n_draws, "bags": own_bags}
        own |= {"progress": self._go_on, "order": self._order}
        y, weights, n_classes, _ = self._targets
        settings = self._settings | own
        if n_classes is None:
            grown = _core.fit_forest_regressor(self._cells, y, weights, settings)
        else:
            grown = _core.fit_forest_classifier(self._cells, y, n_classes, weights, settings)
        return grown[0]

    def results(
        self, forest: _core.Forest, bags: list[Bags]
    ) -> tuple[dict[str, Any], list[tuple[str, type[Warning]]]]:
        """Get what follows from the rows out of the bags, and the warnings about it."""
        given = self._estimator
        given.forest_, given._bags = forest, bags
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given._set_results(self._cells, self._targets, None, bool(given.oob_score))
        found = {name: given.__dict__[name] for name in RESULTS if name in given.__dict__}
        return found, [(str(warning.message), warning.category) for warning in caught]


# What a fit of one tree sets beside what is known of the features.
_OF_TREES = {"tree_", "classes_", "n_classes_", "_x_dtype"}


class Reply(NamedTuple):
    """The result of a call, or that the seat was lost."""

    seat: int
    value: Any
    lost: WorkerLost | None


class TreeEngine(Protocol):
    """What runs the seats of a forest: threads in tests, the actors of a cluster."""

    # Number of threads by seat; a lost seat is missing.
    threads: dict[int, int]

    def start(self, seat: int, method: str, *arguments: Any) -> None:
        """Call a method of a seat that has no other call."""

    def replies(self) -> list[Reply]:
        """Wait until a call has ended, and get the replies to all that have."""


def on_any(engine: TreeEngine, method: str, *arguments: Any) -> Any:
    """Call a method of one seat; if it is lost, of another one."""
    lost: WorkerLost | None = WorkerLost("the cluster has no workers; start one and fit again")
    while engine.threads:
        engine.start(next(iter(engine.threads)), method, *arguments)
        (reply,) = engine.replies()
        lost = reply.lost
        if lost is None:
            return reply.value
    raise WorkerLost(f"all workers were lost; the last: {lost}") from lost


def on_all(engine: TreeEngine, method: str, *arguments: Any) -> list[Any]:
    """Call a method of all seats, and get the results of those that are left."""
    for seat in list(engine.threads):
        engine.start(seat, method, *arguments)
    n_open, values = len(engine.threads), []
    lost = None
    while n_open:
        for reply in engine.replies():
            n_open -= 1
            lost = reply.lost or lost
            if reply.lost is None:
                values.append(reply.value)
    if not values:
        raise WorkerLost(f"all workers were lost; the last: {lost}") from lost
    return values


def grow_forest(engine: TreeEngine, bags: Bags, report: Report) -> _core.Forest:
    """Grow a tree for each seed on the seats of an engine."""
    n_trees = len(bags.seeds)
    # Ranges of trees that no seat has, in descending order; and by seat, the range that it grows.
    todo = [(0, n_trees)]
    growing: dict[int, tuple[int, int]] = {}
    grown: dict[int, _core.Forest] = {}
    n_grown, lost = 0, None
    while todo or growing:
        if not engine.threads:
            raise WorkerLost(f"all workers were lost; the last: {lost}") from lost
        for seat, threads in engine.threads.items():
            if not todo or seat in growing:
                continue
            n_left = sum(end - start for start, end in todo)
            size = max(threads, -(-n_left // (_BATCHES * len(engine.threads))))
            start, end = todo.pop()
            if start + size < end:
                todo.append((start + size, end))
            growing[seat] = batch = start, min(start + size, end)
            of_batch = slice(*batch)
            own = None if bags.own is None else bags.own[of_batch]
            engine.start(seat, "grow", bags.seeds[of_batch], bags.n_draws, own)
        for seat, forest, failure in engine.replies():
            start, end = growing.pop(seat)
            if failure is not None:
                lost = failure
                todo.append((start, end))
                report(f"{failure}: its {end - start} trees are grown elsewhere")
                continue
            grown[start] = forest
            n_grown += end - start
            report(f"{n_grown} of {n_trees} trees")
    return _core.Forest.concat([grown[start] for start in sorted(grown)])
