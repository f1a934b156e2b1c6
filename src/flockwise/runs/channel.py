"""The way between clients and server: replies get lost, clients are not there yet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flockwise.config import Config
from flockwise.messages import Event, Replies, Scores, is_root
from flockwise.rng import generator


@dataclass(frozen=True)
class Channel:
    """Loses replies with a given chance, and those of clients that have not joined yet."""

    seed: int
    dropout: float = 0.0
    late: frozenset[int] = frozenset()
    late_round: int = 1

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
        return replies.rows(arrives), events

    def _loses(self, client: int, round: int) -> bool:
        if not self.dropout or is_root(client):  # the server's own data is at hand
            return False
        return bool(generator(self.seed, "dropout", round, client).random() < self.dropout)


def make_channel(config: Config, clients: int) -> Channel:
    """The channel of a config; late clients are drawn once."""
    drawn = generator(config.seed, "late clients").choice(
        clients, size=config.faults.late_clients, replace=False
    )
    return Channel(config.seed, config.faults.dropout, frozenset(drawn.tolist()), config.faults.late_round)
