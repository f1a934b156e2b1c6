"""The attackers of a simulation: they see what their attack may know, and change what they send."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flockwise.aggregation import Rule
from flockwise.attacks import DataAttack, UpdateAttack, View
from flockwise.attacks.contract import Answer, Asked, Rehearsal
from flockwise.config import Config
from flockwise.errors import PluginError
from flockwise.messages import Plan, Replies, Scores
from flockwise.rng import generator
from flockwise.server import Server
from flockwise.stages.course import COURSES
from flockwise.stages.state import UNPLACED, State, flocks_in
from flockwise.stages.timing import FOUND, LOOKED
from flockwise.types import Clients, Models, Updates, Vector


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
    simulated: Rule | None = None  # the server's rule, for attackers that know it

    def tamper(self, replies: Replies, server: Server) -> Replies:
        """What is really sent: attackers' updates replaced by what the attack makes of its knowledge."""
        state = server.state
        lies = np.isin(replies.clients, list(self.clients))
        wolves, sheep = np.flatnonzero(lies), np.flatnonzero(~lies & (replies.clients >= 0))
        craft = self.attack.craft
        if not len(wolves) or craft is None or replies.round < self.first_round:
            return replies
        knows = self.attack.knows
        if "all" in knows and not len(sheep):
            return replies  # nobody honest took part this round: nothing to imitate
        everyone = replies.clients[np.concatenate([wolves, sheep])]
        view = View(
            own=np.asarray(replies.updates[wolves]),
            others=np.asarray(replies.updates[sheep]) if "all" in knows else None,
            rule=self.rule if "rule" in knows else None,
            rule_parameters=self.rule_parameters if "rule" in knows else None,
            groups=state.labels[everyone] if "groups" in knows else None,
            found=_looked(state) if "groups" in knows else None,
            simulate=self._simulated(state, replies.round) if "rule" in knows and self.simulated else None,
            course=_course(state, replies.clients[wolves], replies.updates.shape[1])
            if "course" in knows
            else None,
            rehearse=partial(_rehearsed, server, replies, wolves, sheep) if "defence" in knows else None,
        )
        crafted = craft(view, generator(self.seed, "attack", replies.round))
        if np.shape(crafted) != view.own.shape:
            raise PluginError(
                f"attack.name = {self.attack.name!r}: made updates of shape {np.shape(crafted)}, must be {view.own.shape}"
            )
        return replies.with_updates(wolves, np.asarray(crafted, dtype=np.float32))

    def answer(self, scores: Sequence[Scores], plan: Plan, server: Server) -> Sequence[Scores]:
        """What is really said of the plan's models: attackers' scores replaced by their attack's answers."""
        answer = self.attack.answer if isinstance(self.attack, UpdateAttack) else None
        if answer is None or plan.round < self.first_round:
            return scores
        return [self._said(answer, s, plan, server) if s.client in self.clients else s for s in scores]

    def _said(self, answer: Answer, score: Scores, plan: Plan, server: Server) -> Scores:
        row, asked = _own(plan.models, server.state, score.client), plan.offers[score.client]
        own = asked.index(row) if row is not None and row in asked else None
        said = tuple(map(float, answer(Asked(score.values, own, server.setting.scoring))))
        if len(said) != len(score.values):
            raise PluginError(
                f"attack.name = {self.attack.name!r}: answered with {len(said)} scores, must be {len(score.values)}"
            )
        return replace(score, values=said, losses=())

    def _simulated(self, state: State, round: int) -> Callable[[Updates], Vector]:
        """What the rule makes of a flock's updates; of the server's own data attackers have to guess.

        They do not know the server's seed or what a rule remembers: those they take to be none.
        """
        rule = self.simulated
        assert rule is not None

        def joint(updates: Updates) -> Vector:
            rows = np.ascontiguousarray(updates, dtype=np.float32)
            guess = rows.mean(axis=0) if "root" in rule.wants else None
            return rule(rows, np.ones(len(rows)), state.clients, round=round, root=guess)[0]

        return joint


def _rehearsed(
    server: Server, replies: Replies, wolves: np.ndarray, sheep: np.ndarray, rows: Updates
) -> Rehearsal:
    """What the server would make of the round if the attackers sent these rows."""
    before, clients = server.state, replies.clients
    after = server.rehearse(replies.with_updates(wolves, np.asarray(rows, dtype=np.float32)))
    honest = clients[sheep]
    had, has = (np.maximum(state.labels[honest], 0) for state in (before, after))
    steps = after.models[has] - before.models[had]
    return Rehearsal(after.labels[clients[wolves]], after.labels[honest], steps)


def _own(models: Models, state: State, client: int) -> int | None:
    """Which of the models that a client is asked about is its flock's, if it is in one: models come in the order of flocks.

    In a round in which flocks come or go it has to guess: the one that is nearest to what it was sent.
    """
    label, alive = int(state.labels[client]), flocks_in(state.labels[state.free])
    if label == UNPLACED:
        return None
    if len(alive) == len(models):
        return int(np.searchsorted(alive, label))
    return int(np.argmin(np.linalg.norm(models - state.models[label], axis=1)))


def _course(state: State, clients: Clients, width: int) -> Updates | None:
    """What attackers have sent of late, as the server remembers it; nothing, where it remembers no such thing in full."""
    if state.round == 0:
        return np.zeros((len(clients), width), np.float32)
    held = COURSES.get(state)
    if held is None or held["course"].shape[1] != width:
        return None
    return np.where(held["rounds"][clients, None] > 0, held["course"][clients], 0.0).astype(np.float32)


def _looked(state: State) -> bool:
    """Whether the server has looked for flocks yet."""
    return LOOKED.get(state) is not None or FOUND.get(state) is not None or state.flocks > 1
