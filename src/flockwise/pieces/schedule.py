"""When flocks are looked for."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flockwise.metrics import adjusted_rand
from flockwise.pieces.grouping import Found
from flockwise.pieces.state import State


class Schedule(Protocol):
    """Decides, at the end of a round, whether to look for flocks, and whether to act on what was found."""

    def everyone(self, state: State, round: int) -> bool:
        """Whether all clients should train in this round."""

    def look(self, state: State, round: int) -> bool:
        """Whether to look for flocks at the end of this round."""

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """Whether to act on what was found; the state carries what the schedule remembers."""


@dataclass(frozen=True)
class Never:
    """Flocks are never looked for."""

    def everyone(self, state: State, round: int) -> bool:
        """No round asks everyone."""
        return False

    def look(self, state: State, round: int) -> bool:
        """Never."""
        return False

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """Never."""
        return False, state


@dataclass(frozen=True)
class Every:
    """At the end of round `first`, then every `every` rounds (None: just once), until round `last`.

    Just once is the first round from `first` on in which somebody answers: a round that failed comes again.
    With `census`, all clients train in those rounds.
    """

    first: int = 1
    every: int | None = 1
    census: bool = False
    last: int | None = None

    def everyone(self, state: State, round: int) -> bool:
        """In a census round, all train."""
        return self.census and self.look(state, round)

    def look(self, state: State, round: int) -> bool:
        """On the rounds of the schedule."""
        if round < self.first or (self.last is not None and round > self.last):
            return False
        if self.every is None:
            return not {"looked/round", "found/round"} & state.memory.keys()
        return (round - self.first) % self.every == 0

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """Always."""
        return True, state


@dataclass(frozen=True)
class WhenStable:
    """Once, when the evidence has settled: the flocks found have not changed for `patience` rounds.

    Unchanged means an adjusted Rand index of at least `agreement` with the previous round's flocks, on
    the clients known in both; `heard` is the share of free clients that must be known first, unless nobody
    new was heard for `patience` rounds: clients that never answer must not hold up the others.
    On clients of one kind the partition keeps changing (or is not separated), so nothing is ever done.
    """

    patience: int = 5
    agreement: float = 0.999
    heard: float = 0.9
    first: int = 2

    def everyone(self, state: State, round: int) -> bool:
        """No round asks everyone."""
        return False

    def look(self, state: State, round: int) -> bool:
        """Every round until it has acted."""
        return round >= self.first and "stable/done" not in state.memory

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """When the flocks have stayed the same for long enough and almost all clients are known."""
        labels = np.full(state.clients, -1, dtype=np.int64)
        labels[found.clients] = found.labels
        before = state.memory.get("stable/labels", np.full(state.clients, -1))
        streak = int(state.memory.get("stable/streak", np.zeros(1, np.int64))[0])
        both = (labels >= 0) & (before >= 0)
        same = both.any() and adjusted_rand(labels[both], before[both]) >= self.agreement
        streak = streak + 1 if same and found.flocks > 1 else 0
        known = np.isin(np.flatnonzero(state.free), found.clients).mean()
        quiet = int(state.memory.get("stable/quiet", np.zeros(1, np.int64))[0])
        quiet = 0 if ((labels >= 0) & (before < 0)).any() else quiet + 1
        ready = streak >= self.patience and (known >= self.heard or quiet >= self.patience)
        state = state.remember(
            **{
                "stable/labels": labels,
                "stable/streak": np.array([streak]),
                "stable/quiet": np.array([quiet]),
            }
        )
        if ready:
            state = state.remember(**{"stable/done": np.array([state.round + 1])})
        return bool(ready), state
