"""Which flocks are hostile, and how far the healthy ones go back."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flockwise.pieces.state import State


@dataclass(frozen=True)
class Judge:
    """Says which flocks are hostile, every `after` rounds from the round in which they were found.

    largest: all but the largest flock. Assumes that the honest are one flock and the biggest.
    root: flocks whose model does badly on a small clean set the server holds. Assumes that the set is of
      the honest clients' kind; honest flocks of another kind are condemned with the wolves.
    validation: flocks whose model does badly on its own members' validation data. Assumes that members
      report honestly; right even when wolves are the majority, as long as their model is ruined.

    "Badly" is below `ratio` times the best flock's accuracy.
    """

    kind: Literal["largest", "root", "validation"] = "largest"
    after: int = 0
    ratio: float = 0.5

    def sits(self, since: int) -> bool:
        """Whether to judge, this many rounds after flocks were found; more than once, as ruin takes time."""
        return since == 0 if self.after == 0 else since > 0 and since % self.after == 0

    def hostile(self, accuracy: dict[int, float]) -> list[int]:
        """The hostile flocks, given each flock's accuracy (or size, for `largest`)."""
        heard = {flock: value for flock, value in accuracy.items() if not np.isnan(value)}
        if len(heard) < 2:
            return []
        best = max(sorted(heard), key=lambda flock: heard[flock])
        if self.kind == "largest":
            return [flock for flock in sorted(heard) if flock != best]
        return [flock for flock in sorted(heard) if heard[flock] < self.ratio * heard[best]]


@dataclass(frozen=True)
class Recovery:
    """Keeps past joint models so that healthy flocks need not restart from a ruined one.

    A snapshot every `every` rounds until flocks are found; beyond `keep` of them, every other is dropped
    and the spacing doubles. Their own clients' validation accuracy picks the snapshot.
    """

    every: int = 5
    keep: int = 8

    def remember(self, state: State, round: int) -> State:
        """Take a snapshot if one is due."""
        if "found/round" in state.memory:
            return state
        rounds = state.memory.get("snapshot/rounds", np.zeros(0, np.int64))
        models = state.memory.get("snapshot/models", np.zeros((0, state.models.shape[1]), np.float32))
        spacing = int(np.diff(rounds).max(initial=self.every))
        if len(rounds) and round - rounds[-1] < spacing:
            return state
        rounds, models = np.append(rounds, round), np.concatenate([models, state.models[:1]])
        if len(rounds) > self.keep:
            rounds, models = rounds[::2].copy(), models[::2].copy()
        return state.remember(**{"snapshot/rounds": rounds, "snapshot/models": models})
