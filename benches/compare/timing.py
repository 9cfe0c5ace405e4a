"""Times fits and predictions in turns: each round has each system once, on the same machine.

A round's time is the best of what fits into a tenth of a second, once at least.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from compare.cases import Case, Prediction
from compare.data import make_data, make_rows
from compare.losses import loss
from compare.progress import Tell
from compare.systems import Predict, System, systems_for

T = TypeVar("T")

# Threads of the previous system may still be spinning when the next one starts.
SETTLE_SECONDS = 0.02
# A turn lasts at least this long. Short work is repeated, because the first time is too long: the
# processor has to wake up.
TURN_SECONDS = 0.1
# The pause before a prediction that is timed from idle.
IDLE_SECONDS = 0.3
WARM_UP_ROWS = 500
# A first time above this multiple of the expected time counts as a hiccup of the machine.
HICCUP = 3.0


@dataclass(frozen=True)
class Rounds:
    """How often to measure: what fits into `seconds`, from once to `repeat` times."""

    repeat: int
    seconds: float

    def wanted(self, seconds: float) -> int:
        """Rounds for a system that takes this long."""
        turn = max(seconds, TURN_SECONDS) + SETTLE_SECONDS
        return max(1, min(self.repeat, int(self.seconds / turn)))


@dataclass
class Measured:
    """The times of a system and the loss of its model, on held-out rows if the case has some."""

    system: System
    seconds: list[float] = field(default_factory=list)
    loss: float = float("nan")

    @property
    def best(self) -> float:
        return min(self.seconds)


# Besides the fits: data, warm-up, losses.
CASE_SECONDS = 1.0
# Roughly what all the rounds of a system's predictions take.
PREDICTION_SECONDS = 2.0


def expected_seconds(case: Case, systems: Sequence[System], rounds: Rounds) -> float:
    """Roughly the time that a case takes, to estimate the time left."""
    total = CASE_SECONDS
    for system in systems_for(case, systems):
        fit = system.expected_seconds(case)
        if isinstance(case, Prediction):
            total += fit + min(rounds.seconds, PREDICTION_SECONDS)
        else:
            total += rounds.wanted(fit) * (max(fit, TURN_SECONDS) + SETTLE_SECONDS)
    return total


def timed(work: Callable[[], T], idle: bool = False) -> tuple[float, T]:
    """The best time of the work within one turn, in seconds, and its result.

    From idle, the work is done once, after a pause in which the threads have gone to sleep.
    """
    gc.collect()
    time.sleep(IDLE_SECONDS if idle else SETTLE_SECONDS)
    best, end = float("inf"), time.perf_counter() + (0.0 if idle else TURN_SECONDS)
    while True:
        start = time.perf_counter()
        result = work()
        now = time.perf_counter()
        best = min(best, now - start)
        if now >= end:
            return best, result
        del result  # the next one should not have to share the memory


def warm_up(systems: Sequence[System], case: Case, threads: int) -> None:
    """Imports, starts thread pools and does other set-up before the measurement."""
    small = replace(case, rows=min(case.rows, WARM_UP_ROWS), held_out=0)
    data = make_data(small)
    for system in systems:
        system.fit(small, data, threads)


def plausible_seconds(case: Case, one: Measured) -> float:
    """The best time, limited to a multiple of the expected time.

    Threads that wait for each other take many times as long on a busy machine. One slow round must
    not cost a system its other rounds.
    """
    return min(one.best, HICCUP * one.system.expected_seconds(case))


def turns(case: Case, rounds: Rounds, measured: list[Measured]) -> Iterator[tuple[int, Measured]]:
    """The systems in the order of their turns, with the number of the round."""
    for turn in range(rounds.repeat):
        for one in measured:
            if not one.seconds or turn < rounds.wanted(plausible_seconds(case, one)):
                yield turn, one


def measure(
    case: Case,
    systems: Sequence[System],
    rounds: Rounds,
    threads: int,
    progress: Tell,
) -> list[Measured]:
    """Fit every system that takes part in the case, in turns."""
    measured = [Measured(system) for system in systems_for(case, systems)]
    progress(f"{case.name}: data and warm-up", 1.0)
    data = make_data(case)
    warm_up([one.system for one in measured], case, threads)
    for turn, one in turns(case, rounds, measured):
        progress(
            f"{case.name}: round {turn + 1} of {rounds.repeat}, {one.system.name}",
            one.best if one.seconds else one.system.expected_seconds(case),
        )
        seconds, predict = timed(partial(one.system.fit, case, data, threads))
        if not one.seconds:
            one.loss = loss(predict, case, *data.judged)
        one.seconds.append(seconds)
        del predict  # the next system should not have to share the memory
    return measured


def measure_predictions(
    case: Prediction,
    systems: Sequence[System],
    rounds: Rounds,
    threads: int,
    progress: Tell,
) -> list[Measured]:
    """Fit every system that takes part in the case once, then predict in turns."""
    data, rows = make_data(case), make_rows(case)
    fitted = {}
    for system in systems_for(case, systems):
        progress(f"{case.name}: fitting {system.name}", system.expected_seconds(case))
        predict = system.fit(case, data, threads)
        # The first prediction may set things up that the next ones find.
        predict(rows)
        fitted[system.name] = (
            Measured(system, loss=loss(predict, case, *data.judged)),
            predict,
        )
    for turn, one in turns(case, rounds, [one for one, _ in fitted.values()]):
        progress(
            f"{case.name}: round {turn + 1} of {rounds.repeat}, {one.system.name}",
            one.best * case.calls if one.seconds else 0.0,
        )
        _, predict = fitted[one.system.name]
        seconds, _ = timed(partial(_call, predict, rows, case.calls), case.idle)
        one.seconds.append(seconds / case.calls)
    return [one for one, _ in fitted.values()]


def _call(predict: Predict, rows: np.ndarray, calls: int) -> None:
    for _ in range(calls):
        predict(rows)
