"""How far a run is and how long it will take: a bar on stderr.

Work is planned in rough seconds. On a terminal the bar is overwritten; elsewhere lines are few.
"""

import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 24
PAUSE_SECONDS = 30.0
# Until this share is done, the plan is believed; then, how fast it went so far.
TRUSTED_SHARE = 0.03

# Told what is done next, and the seconds that it is planned to take.
Tell = Callable[[str, float], None]


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02d}"


class Progress:
    """A bar over parts that are planned to take so many seconds in all."""

    def __init__(
        self,
        planned: float,
        stream: TextIO = sys.stderr,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.planned = planned
        self.stream = stream
        self.now = now
        self.started = now()
        self.quiet_until = self.started
        self.parts_done = 0.0
        self.part = 0.0
        self.steps_done = 0.0
        self.step = 0.0

    def enter(self, part: float) -> None:
        """The next part begins: what came before is done, whatever its steps added up to."""
        self.parts_done += self.part
        self.part, self.steps_done, self.step = part, 0.0, 0.0

    def __call__(self, text: str, seconds: float = 0.0) -> None:
        """The next step of the part begins."""
        self.steps_done += self.step
        self.step = seconds
        self._show(text)

    @property
    def elapsed(self) -> float:
        return self.now() - self.started

    @property
    def share(self) -> float:
        done = self.parts_done + min(self.steps_done, self.part)
        return min(1.0, done / self.planned) if self.planned else 1.0

    @property
    def seconds_left(self) -> float:
        if self.share < TRUSTED_SHARE:
            return max(0.0, self.planned - self.elapsed)
        return self.elapsed * (1 - self.share) / self.share

    def _show(self, text: str) -> None:
        filled = round(WIDTH * self.share)
        bar = "█" * filled + "·" * (WIDTH - filled)
        line = f"{bar} {self.share:4.0%}  {clock(self.seconds_left)} left  {text}"
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{line}")
            self.stream.flush()
        elif self.now() >= self.quiet_until:
            print(line, file=self.stream, flush=True)
            self.quiet_until = self.now() + PAUSE_SECONDS

    def clear(self) -> None:
        """Makes room for other output on a terminal."""
        if self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()
