"""Ratios of times, verdicts on the targets, and the cases in which a peer is ahead."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from compare.cases import BEST_EXACT_PEER, Case, Limit, Prediction, Target
from compare.cluster import Times
from compare.memory import Memory
from compare.systems import OURS
from compare.timing import Measured

# In single precision a loss of zero leaves a rounding error.
ABSOLUTE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Result:
    """A case with its measurements; memory by the system's name."""

    case: Case
    measured: list[Measured] = field(default_factory=list)
    memory: dict[str, Memory] = field(default_factory=dict)

    @property
    def ours(self) -> Measured | None:
        return next((one for one in self.measured if one.system == OURS), None)

    @property
    def peers(self) -> list[Measured]:
        return [one for one in self.measured if one.system.is_peer]

    def named(self, name: str) -> Measured | None:
        """The system of this name, if it was measured."""
        return next((one for one in self.measured if one.system.name == name), None)

    def ratio(self, one: Measured) -> float | None:
        """Best time over our best time."""
        return one.best / self.ours.best if self.ours else None

    def rival(self, target: Target) -> Measured | None:
        """The peer that a target speaks of, if it was measured."""
        if target.against == BEST_EXACT_PEER:
            exact = [one for one in self.peers if one.system.exact]
            return min(exact, key=lambda one: one.best, default=None)
        return self.named(target.against)

    def best_exact_peer(self) -> Measured | None:
        return self.rival(Target(BEST_EXACT_PEER, 0))

    def fits_worse(self, rival: Measured) -> bool:
        """Whether our tree fits worse than an exact one. Then a better time means nothing."""
        return rival.system.exact and self._worse(self.ours.loss, rival.loss)

    def fits_better(self, rival: Measured) -> bool:
        """Whether our tree fits better than the rival's, which may save the rival time."""
        return self._worse(rival.loss, self.ours.loss)

    def _worse(self, loss: float, than: float) -> bool:
        return loss > than * (1 + self.case.loss_tolerance) + ABSOLUTE_TOLERANCE


@dataclass(frozen=True)
class Run:
    """Everything that one run measured, and where. Only `results` grows while it runs."""

    machine: str
    started: str
    threads: int
    # By the system's name.
    versions: dict[str, str]
    # What was asked for, where that was not everything.
    partial: str = ""
    results: list[Result] = field(default_factory=list)
    # The best round of each way to predict, in seconds.
    ways: dict[str, float] = field(default_factory=dict)
    # By title and system, the seconds of each fit on a cluster.
    cluster: Times = field(default_factory=dict)

    def named(self, name: str) -> Result | None:
        """The result of the case of this name, if it was measured."""
        return next((one for one in self.results if one.case.name == name), None)


def not_ahead(run: Run) -> Iterator[tuple[Result, Measured]]:
    """Peers that were faster than we were, those that fit as well first."""
    faster = [
        (result, peer)
        for result in run.results
        if result.ours
        for peer in result.peers
        if result.ratio(peer) < 1
    ]
    yield from sorted(faster, key=lambda pair: pair[0].fits_better(pair[1]))


def less_memory(run: Run) -> Iterator[tuple[Result, str]]:
    """Names of the peers that added less memory in a fit than splitwood."""
    for result in run.results:
        ours = result.memory.get(OURS.name)
        for name, memory in result.memory.items():
            if ours is not None and memory.added < ours.added:
                yield result, name


@dataclass(frozen=True)
class Verdict:
    """A target, what was measured, and whether that is good enough."""

    case: Case
    against: str
    target: str
    measured: str
    reached: bool
    remark: str = ""


def verdicts(result: Result) -> Iterator[Verdict]:
    """A verdict per target and limit if its systems were measured, and one for the memory."""
    for target in result.case.targets:
        rival = result.rival(target)
        if rival is not None and result.ours is not None:
            yield _time_verdict(result, target, rival)
    for limit in result.case.limits:
        one, other = result.named(limit.system), result.named(limit.against)
        if one is not None and other is not None:
            yield _limit_verdict(result, limit, one, other)
    memory = result.memory.get(OURS.name)
    if memory is not None and result.case.memory_target is not None:
        yield _memory_verdict(result.case, memory)


def _memory_verdict(case: Case, memory: Memory) -> Verdict:
    if isinstance(case, Prediction):
        what, measured, unit, scale = "memory beyond the result", memory.beyond, " kB", 1e3
    else:
        what, measured, unit, scale = "memory added, in sizes of X", memory.sizes, "", 1.0
    return Verdict(
        case,
        what,
        f"≤ {case.memory_target / scale:g}{unit}",
        f"{measured / scale:.{0 if unit else 2}f}{unit}",
        measured <= case.memory_target,
    )


def _time_verdict(result: Result, target: Target, rival: Measured) -> Verdict:
    ratio = result.ratio(rival)
    worse = result.fits_worse(rival)
    name = rival.system.name
    return Verdict(
        result.case,
        target.against if target.against == name else f"{target.against} ({name})",
        f"≥ {target.ratio:g}",
        f"{ratio:.1f}",
        ratio >= target.ratio and not worse,
        "fits worse" if worse else "",
    )


def _limit_verdict(result: Result, limit: Limit, one: Measured, other: Measured) -> Verdict:
    ratio = one.best / other.best
    return Verdict(
        result.case,
        f"{limit.system} / {limit.against}",
        f"≤ {limit.ratio:g}",
        f"{ratio:.2f}",
        ratio <= limit.ratio,
    )
