"""The way between clients and server: replies get lost, clients are not there yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from flockwise.config import Config
from flockwise.messages import Event, Reply, Scores, is_root
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

    def carry(self, replies: Sequence[Reply]) -> tuple[list[Reply], list[Event]]:
        """What arrives, and what did not."""
        arrived, events = [], []
        for reply in replies:
            if reply.client in self.late and reply.round < self.late_round:
                continue
            lost = (
                self.dropout
                and not is_root(reply.client)  # the server's own data is at hand
                and generator(self.seed, "dropout", reply.round, reply.client).random() < self.dropout
            )
            if lost:
                events.append(Event("dropout", "its reply never came", reply.client))
            else:
                arrived.append(reply)
        return arrived, events


def make_channel(config: Config, clients: int) -> Channel:
    """The channel of a config; late clients are drawn once."""
    drawn = generator(config.seed, "late clients").choice(
        clients, size=config.faults.late_clients, replace=False
    )
    return Channel(config.seed, config.faults.dropout, frozenset(drawn.tolist()), config.faults.late_round)
