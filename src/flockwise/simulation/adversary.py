"""The attackers of a simulation: they see what their attack may know, and change what they send."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flockwise.attacks import DataAttack, UpdateAttack, View
from flockwise.config import Config
from flockwise.messages import Reply
from flockwise.pieces.state import State
from flockwise.rng import generator


def choose_attackers(config: Config, clients: int) -> frozenset[int]:
    """Who lies: as listed, or drawn once for the whole run."""
    chosen = config.attack.clients
    if config.attack.name == "none":
        return frozenset()
    if isinstance(chosen, list):
        return frozenset(chosen)
    count = int(chosen) if chosen >= 1 else round(chosen * clients)
    drawn = generator(config.seed, "attackers").choice(clients, size=count, replace=False)
    return frozenset(int(client) for client in drawn)


@dataclass(frozen=True)
class Adversary:
    """All attackers of a run, acting together."""

    attack: UpdateAttack | DataAttack
    clients: frozenset[int]
    seed: int
    first_round: int = 1
    rule: str = "mean"
    rule_parameters: dict[str, object] | None = None

    def tamper(self, replies: Sequence[Reply], state: State) -> list[Reply]:
        """What is really sent: attackers' updates replaced by what the attack makes of its knowledge."""
        wolves = [reply for reply in replies if reply.client in self.clients]
        if not wolves or not isinstance(self.attack, UpdateAttack) or wolves[0].round < self.first_round:
            return list(replies)
        sheep = [reply for reply in replies if reply.client not in self.clients and reply.client >= 0]
        knows = self.attack.knows
        everyone = [reply.client for reply in [*wolves, *sheep]]
        view = View(
            own=np.stack([reply.update for reply in wolves]),
            others=np.stack([r.update for r in sheep]) if "all" in knows and sheep else None,
            rule=self.rule if "rule" in knows else None,
            rule_parameters=self.rule_parameters if "rule" in knows else None,
            groups=state.labels[everyone] if "groups" in knows else None,
        )
        if "all" in knows and view.others is None:
            return list(replies)  # nobody honest took part this round: nothing to imitate
        crafted = self.attack.craft(view, generator(self.seed, "attack", wolves[0].round))
        forged = {reply.client: replace(reply, update=np.ascontiguousarray(row, dtype=np.float32))
                  for reply, row in zip(wolves, crafted, strict=True)}  # fmt: skip
        return [forged.get(reply.client, reply) for reply in replies]
