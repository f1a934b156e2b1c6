"""The attackers of a simulation: they see what their attack may know, and change what they send."""

from dataclasses import dataclass

import numpy as np

from flockwise.attacks import DataAttack, UpdateAttack, View
from flockwise.config import Config
from flockwise.errors import PluginError
from flockwise.messages import Replies
from flockwise.rng import generator
from flockwise.stages.state import State


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

    def tamper(self, replies: Replies, state: State) -> Replies:
        """What is really sent: attackers' updates replaced by what the attack makes of its knowledge."""
        lies = np.isin(replies.clients, list(self.clients))
        wolves, sheep = np.flatnonzero(lies), np.flatnonzero(~lies & (replies.clients >= 0))
        if not len(wolves) or not isinstance(self.attack, UpdateAttack) or replies.round < self.first_round:
            return replies
        knows = self.attack.knows
        if "all" in knows and not len(sheep):
            return replies  # nobody honest took part this round: nothing to imitate
        everyone = replies.clients[np.concatenate([wolves, sheep])]
        view = View(
            own=replies.updates[wolves],
            others=replies.updates[sheep] if "all" in knows else None,
            rule=self.rule if "rule" in knows else None,
            rule_parameters=self.rule_parameters if "rule" in knows else None,
            groups=state.labels[everyone] if "groups" in knows else None,
        )
        crafted = self.attack.craft(view, generator(self.seed, "attack", replies.round))
        if np.shape(crafted) != view.own.shape:
            raise PluginError(
                f"attack.name = {self.attack.name!r}: made updates of shape {np.shape(crafted)}, must be {view.own.shape}"
            )
        return replies.with_updates(wolves, np.asarray(crafted, dtype=np.float32))
