"""A progress bar on stderr: the share that is done and the time left.

The plan is in rough seconds. A terminal shows one bar; elsewhere a line is printed now and then.
"""

import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 24
PAUSE_SECONDS = 30.0
# Below this share the plan gives the time left; above it, the speed so far.
TRUSTED_SHARE = 0.03

# Takes the name of the next step and its planned seconds.
Tell = Callable[[str, float], None]


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02d}"


class Progress:
    """A progress bar over parts with planned times in seconds."""

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
