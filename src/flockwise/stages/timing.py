"""When flocks are looked for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flockwise.metrics import adjusted_rand
from flockwise.stages.grouping import Found
from flockwise.stages.stage import Round
from flockwise.stages.state import Slot, State
from flockwise.types import Labels


class Looked(NamedTuple):
    """The round in which flocks were last looked for, or last found."""

    round: int


LOOKED = Slot("looked", Looked, {})
FOUND = Slot("found", Looked, {})


class Timing(ABC):
    """Decides, at the end of a round, whether to look for flocks, and whether to act on what was found."""

    @abstractmethod
    def look(self, state: State, round: int) -> bool:
        """Whether to look for flocks at the end of this round."""

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """Whether to act on what was found; the state carries what the timing remembers."""
        return True, state

    def over(self, state: State) -> bool:
        """Whether no look will follow, whatever happens."""
        return False

    def remark(self, state: State, rounds: int) -> str:
        """What a person should know before a run to this many rounds, or after it; "" if nothing."""
        return ""

    def looks(self, round: Round) -> bool:
        """The same as `look`, as a condition for `when`."""
        return self.look(round.state, round.number)


@dataclass(frozen=True)
class Every(Timing):
    """At the end of round `first`, then every `every` rounds (None: just once), until round `last`.

    Just once is the first round from `first` on in which somebody answers: a round that failed comes again.
    """

    first: int = 1
    every: int | None = 1
    last: int | None = None

    def look(self, state: State, round: int) -> bool:
        """On the rounds of the timing."""
        if round < self.first or (self.last is not None and round > self.last):
            return False
        if self.every is None:
            return LOOKED.get(state) is None and FOUND.get(state) is None
        return (round - self.first) % self.every == 0

    def over(self, state: State) -> bool:
        """After the only look."""
        return self.every is None and not self.look(state, self.first)

    def remark(self, state: State, rounds: int) -> str:
        """Whether the run is too short for a look, or the only one found nothing."""
        looked = LOOKED.get(state)
        if looked is None and FOUND.get(state) is None:
            if self.first > rounds:
                return f"flocks are looked for after round {self.first}, and the run ends with round {rounds}"
            return ""
        if self.every is None and looked is not None and state.round >= rounds and state.flocks == 1:
            return (
                f"all clients looked alike in round {looked.round}, and flocks are looked for only once: "
                "a later look may tell them apart"
            )
        return ""


def once(first: int) -> Every:
    """At the end of one round, the first from here on in which somebody answers."""
    return Every(first, every=None)


class Stable(NamedTuple):
    """The flocks of the last look, for how many looks they have stayed, how long nobody new was heard."""

    labels: Labels
    streak: int
    quiet: int
    done: int | None = None  # the round in which they were acted on


_STABLE = Slot("stable", Stable, {"labels": -1})


@dataclass(frozen=True)
class WhenStable(Timing):
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

    def look(self, state: State, round: int) -> bool:
        """Every round until it has acted."""
        memory = _STABLE.get(state)
        return round >= self.first and (memory is None or memory.done is None)

    def over(self, state: State) -> bool:
        """Once it has acted."""
        memory = _STABLE.get(state)
        return memory is not None and memory.done is not None

    def remark(self, state: State, rounds: int) -> str:
        """Whether the run ended, or must end, before anything could be done."""
        memory = _STABLE.get(state)
        earliest = self.first + self.patience
        if memory is None or state.round < rounds:
            if memory is None and earliest > rounds:
                return (
                    f"flocks must stay the same for {self.patience} rounds before anything is done, round "
                    f"{earliest} at the earliest, and the run ends with round {rounds}"
                )
            return ""
        if memory.done is not None:
            return ""
        if memory.labels.max(initial=-1) <= 0:
            return "clients looked alike to the end: one flock"
        return (
            f"flocks were seen, but did not stay the same for {self.patience} rounds (the last {memory.streak}), so "
            "nothing was done: more rounds, or flocks after a fixed round, may help"
        )

    def act(self, state: State, found: Found) -> tuple[bool, State]:
        """When the flocks have stayed the same for long enough and almost all clients are known."""
        labels = np.full(state.clients, -1, dtype=np.int64)
        labels[found.clients] = found.labels
        before, streak, quiet, _ = _STABLE.get(state) or Stable(np.full(state.clients, -1), 0, 0)
        both = (labels >= 0) & (before >= 0)
        same = both.any() and adjusted_rand(labels[both], before[both]) >= self.agreement
        streak = streak + 1 if same and found.flocks > 1 else 0
        known = np.isin(np.flatnonzero(state.free), found.clients).mean()
        quiet = 0 if ((labels >= 0) & (before < 0)).any() else quiet + 1
        ready = bool(streak >= self.patience and (known >= self.heard or quiet >= self.patience))
        return ready, _STABLE.put(state, Stable(labels, streak, quiet, state.round + 1 if ready else None))
