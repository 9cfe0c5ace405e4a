"""Ratios and verdicts: what the measured times say about the targets."""

from collections.abc import Iterator
from dataclasses import dataclass

from compare.cases import BEST_EXACT_PEER, Case, Limit, Target
from compare.systems import OURS
from compare.timing import Measured

# Single precision leaves a rest where the loss is zero.
ABSOLUTE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Result:
    """A case with its measurements; `memory` is in sizes of X."""

    case: Case
    measured: list[Measured]
    memory: float | None = None

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

    def fits_worse(self, rival: Measured) -> bool:
        """Whether our tree fits worse than an exact one: then being faster says nothing."""
        tolerated = rival.loss * (1 + self.case.loss_tolerance) + ABSOLUTE_TOLERANCE
        return rival.system.exact and self.ours.loss > tolerated


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
    """One for each target and limit whose systems were measured, then one for the memory."""
    for target in result.case.targets:
        rival = result.rival(target)
        if rival is not None and result.ours is not None:
            yield _time_verdict(result, target, rival)
    for limit in result.case.limits:
        one, other = result.named(limit.system), result.named(limit.against)
        if one is not None and other is not None:
            yield _limit_verdict(result, limit, one, other)
    if result.memory is not None:
        limit = result.case.memory_target
        yield Verdict(
            result.case,
            "memory added, in sizes of X",
            f"≤ {limit:g}",
            f"{result.memory:.2f}",
            result.memory <= limit,
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
