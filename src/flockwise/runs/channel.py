"""The way between clients and server: replies get lost or come too late, clients are not there yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flockwise.config import Config
from flockwise.messages import Event, Plan, Replies, Scores, is_root
from flockwise.rng import generator
from flockwise.runs.clock import Clock, make_clock


@dataclass(frozen=True)
class Channel:
    """Loses replies with a given chance, those that come after the deadline, and those of clients not there yet."""

    seed: int
    dropout: float = 0.0
    late: frozenset[int] = frozenset()
    late_round: int = 1
    clock: Clock | None = None

    def reached(self, plan: Plan) -> Plan:
        """The plan as far as it reaches clients that have joined: the others must not train, nor keep anything."""
        if not self.late or plan.round >= self.late_round:
            return plan
        return replace(plan, tasks=tuple(task for task in plan.tasks if task.client not in self.late))

    def present(self, scores: Sequence[Scores]) -> list[Scores]:
        """Answers to a validation plan, without those of clients that have not joined yet."""
        return [score for score in scores if score.client not in self.late or score.round >= self.late_round]

    def carry(self, replies: Replies) -> tuple[Replies, list[Event]]:
        """What arrives, and what did not."""
        arrives, events = np.ones(len(replies), dtype=bool), []
        for row, client in enumerate(replies.clients.tolist()):
            if client in self.late and replies.round < self.late_round:
                arrives[row] = False
            elif self._loses(client, replies.round):
                arrives[row] = False
                events.append(Event("dropout", "its reply never came", client))
            elif self.clock is not None and self.clock.is_late(client, replies.round):
                arrives[row] = False
                events.append(_late(self.clock, client, replies.round))
        return replies.rows(arrives), events

    def _loses(self, client: int, round: int) -> bool:
        if not self.dropout or is_root(client):  # the server's own data is at hand
            return False
        return bool(generator(self.seed, "dropout", round, client).random() < self.dropout)


def _late(clock: Clock, client: int, round: int) -> Event:
    took = clock.takes(client, round)
    told = f"its reply came after {took:.3g}, the round was closed at {clock.deadline:g}; it is not used"
    return Event("late", told, client, {"took": took})


def make_channel(config: Config, samples: np.ndarray) -> Channel:
    """The channel of a config, for clients with so many samples."""
    faults, clock = config.faults, make_clock(config, samples)
    late = newcomers(faults.late_clients, len(samples), config.seed)
    return Channel(config.seed, faults.dropout, late, faults.late_round, clock)


def newcomers(chosen: int | Sequence[int], clients: int, seed: int) -> frozenset[int]:
    """Who joins late: as listed, or drawn once for the whole run."""
    if not isinstance(chosen, int):
        return frozenset(chosen)
    drawn = generator(seed, "late clients").choice(clients, size=chosen, replace=False)
    return frozenset(drawn.tolist())
