"""When to write a checkpoint, and which to keep."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

SHARE = 20  # automatic: a checkpoint costs a twentieth of the time since the last,
LOST = 120.0  # unless that is more than two minutes of work that a crash would lose,
LEAST = 5  # and at most a fifth, however long writing takes


@dataclass
class CheckpointPolicy:
    """Every so many rounds, or "auto": as often as costs a twentieth of the time, but at least every two minutes.

    So a crash costs the round under way and at most two minutes of work, or five times what writing a checkpoint takes,
    if that is more. Rounds between checkpoints are on record but are trained again after a crash, to the same bits. `at`
    names rounds whose checkpoint is always written and kept, to fork from; of the others the last `keep`.
    """

    every: int | None = None  # None: auto
    keep: int = 2
    at: frozenset[int] = frozenset()
    _cost: float = field(default=0.0, repr=False)
    _last: float = field(default_factory=time.perf_counter, repr=False)

    def due(self, round: int) -> bool:
        """Whether this round ends with a checkpoint."""
        if round in self.at:
            return True
        if self.every is not None:
            return round % self.every == 0
        return time.perf_counter() - self._last >= min(SHARE * self._cost, max(LOST, LEAST * self._cost))

    def wrote(self, seconds: float) -> None:
        """Note what a checkpoint cost."""
        self._cost, self._last = seconds, time.perf_counter()

    def droppable(self, rounds: Sequence[int]) -> set[int]:
        """The checkpoints that need not be kept any longer."""
        loose = sorted(set(rounds) - self.at)
        return set(loose[: -self.keep]) if len(loose) > self.keep else set()
