"""What stands between clients and server in a simulation: attackers that lie, replies that get lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flockwise.messages import Event, Plan, Replies, RoundRecord, Scores
from flockwise.runs.adversary import Adversary
from flockwise.runs.channel import Channel
from flockwise.server import Server


@dataclass(frozen=True)
class Hazards:
    """The attackers and the channel of a run; neither, in a deployment."""

    adversary: Adversary | None = None
    channel: Channel | None = None

    @property
    def attackers(self) -> frozenset[int]:
        """Who lies."""
        return self.adversary.clients if self.adversary else frozenset()

    def facts(self, record: RoundRecord, events: Sequence[Event]) -> Mapping[str, float]:
        """What the clock says of a round, where there is one."""
        clock = self.channel.clock if self.channel else None
        if clock is None:
            return {}
        in_time = np.flatnonzero(record.arrays["trained"]).tolist()
        return clock.facts(record.round, in_time, sum(event.kind == "late" for event in events))

    def reached(self, plan: Plan) -> Plan:
        """The plan as far as it reaches clients that are there."""
        return self.channel.reached(plan) if self.channel else plan

    def replies(self, replies: Replies, server: Server) -> tuple[Replies, list[Event]]:
        """What arrives of what clients sent, and what did not."""
        sent = self.adversary.tamper(replies, server) if self.adversary else replies
        return self.channel.carry(sent) if self.channel else (sent, [])

    def scores(self, scores: Sequence[Scores], plan: Plan, server: Server) -> Sequence[Scores]:
        """Answers to a validation plan as attackers give them, without those of clients that are not there yet."""
        told = self.adversary.answer(scores, plan, server) if self.adversary else scores
        return self.channel.present(told) if self.channel else told
