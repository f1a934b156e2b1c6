"""The stages in which replies become the next models."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from flockwise.aggregation import Rule, RulePiece
from flockwise.aggregation.rule import as_bound
from flockwise.errors import ConfigError
from flockwise.stages.batch import Batch, believed
from flockwise.stages.evidence import LatestModels
from flockwise.stages.stage import AVERAGED, REPLIES, Holds, Round, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in, largest_flock
from flockwise.stages.timing import FOUND
from flockwise.types import Clients, Labels, Models, Vector, Weights


class RuleMemory(dict[str, np.ndarray]):
    """What a rule remembers of each flock, by "flock.name"."""

    arrays = dict.copy

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "RuleMemory":
        """From a checkpoint."""
        return cls(arrays)

    def of(self, flock: int) -> dict[str, np.ndarray]:
        """The memory of one flock, copied: a rule may change what it is given."""
        start = f"{flock}."
        mine = {name: array for name, array in self.items() if name.startswith(start)}
        return {name.removeprefix(start): array.copy() for name, array in mine.items()}


AnyRule = Rule | RulePiece | Callable[..., Any]  # with options, without, or a function of the user's own
_ONCE: dict[str, Any] = {"spends": [REPLIES], "relabels": False}  # replies move the models, and once
_RULE = Slot("rule", RuleMemory, brief=True)  # rules may remember clients by their numbers


def moved(model: Vector, update: Vector) -> Vector:
    """The model after an update, added in float64 and rounded once."""
    return (model.astype(np.float64) + update).astype(np.float32)


def average(rule: AnyRule) -> Stage:
    """The rule inside each flock, on its members' updates; a flock nobody answered for keeps its model bit for bit."""
    rule = as_bound(rule)

    def run(round: Round) -> Round:
        models, labels = round.state.models.copy(), round.state.labels[round.replies.clients]
        for flock in flocks_in(labels):
            round, joint = _joint(round, rule, round.replies.of(labels == flock), int(flock))
            models[flock] = moved(models[flock], joint)
        return round.to(replace(round.state, models=models))

    return stage("average", run, [REPLIES], [AVERAGED], **_ONCE, **_asked(rule))


def _restarted(round: Round) -> Round:
    state = round.state
    if state.flocks <= 1:
        return round
    sent = round.replies.models[round.replies.rows[:1]]
    return round.to(replace(state, models=np.repeat(sent, len(state.models), axis=0)))


# Every flock goes on from the one model that all clients trained, once there are several flocks.
restart_from_sent = stage(
    "restart from the model that was sent", _restarted, [REPLIES], whole="", relabels=False
)


def average_groups(rule: AnyRule, weights: Literal["equal", "size"] = "equal", wait: bool = True) -> Stage:
    """The rule inside each group, then one global model from the mean of the groups (Mini-FL).

    `weights`: "equal" for each group (what fits the published numbers) or by "size".
    With `wait` the model does not move until groups are known. Clients without a group count with the largest one:
    a group of their own would give whoever hides the feature the weight of a group.
    """
    rule = as_bound(rule)

    def run(round: Round) -> Round:
        state, batch = round.state, round.replies
        if wait and FOUND.get(state) is None:
            return round
        labels = np.where(state.labels == UNPLACED, largest_flock(state), state.labels)[batch.clients]
        joints, sizes = [], []
        for group in np.unique(labels):
            mine = batch.of(labels == group)
            round, joint = _joint(round, rule, mine, int(group))
            joints.append(joint)
            sizes.append(len(mine.clients) if weights == "size" else 1.0)
        shares = np.array(sizes)
        models = state.models.copy()
        models[0] = moved(models[0], (shares / shares.sum()) @ np.stack(joints).astype(np.float64))
        return round.to(replace(round.state, models=models))

    return stage("average groups", run, [REPLIES], [AVERAGED], **_ONCE, **_asked(rule))


def average_known(
    rule: AnyRule, latest: LatestModels, weights: Callable[[Round, Clients], Weights] | None = None
) -> Stage:
    """The rule on the newest models of all known members, also those not heard this round (communities, eq. 1).

    All count the same, or as `weights` says.
    """
    rule = as_bound(rule)
    for asked, name in (("root", "root set"), ("memory", "memory")):
        if asked in rule.wants:
            raise ConfigError(
                f"aggregation.name = {rule.name!r}: this method averages whole models, not updates of one model; "
                f"choose a rule without a {name}, such as 'geometric-median'"
            )

    def run(round: Round) -> Round:
        state = round.state
        known, heard = latest.of(state)
        models = state.models.copy()
        for flock in flocks_in(state.labels):
            members = np.flatnonzero((state.labels == flock) & heard & state.free)
            if len(members):
                center = known[members[0]]
                counts = np.ones(len(members)) if weights is None else weights(round, members)
                joint, _ = rule(
                    known[members] - center, counts, state.clients, round=round.number, seed=round.setting.seed,
                    clients=members,
                )  # fmt: skip
                models[flock] = moved(center, joint)
        return round.to(replace(state, models=models))

    return stage("average known models", run, [REPLIES, *latest.needs], [AVERAGED], **_ONCE)


def one_model_goes_on(state: State, labels: Labels) -> Models:
    """What groups begin with where one model serves all: whoever is grouped with whom, it goes on."""
    return np.repeat(state.models[:1], max(int(labels.max(initial=0)) + 1, len(state.models)), axis=0)


def _asked(rule: Rule) -> dict[str, Any]:
    """What a stage needs for its rule. One that remembers single clients holds a row for each; so does a step before it."""
    pieces = (rule.piece, *(step.piece for step in rule.before))
    held = Holds(rows=sum({"clients", "memory"} <= piece.wants for piece in pieces))
    return {"wants_root": "root" in rule.piece.wants, "holds": held, "whole": rule.whole}


def _joint(round: Round, rule: Rule, mine: Batch, flock: int) -> tuple[Round, Vector]:
    """A flock's joint update, with what its rule remembers put into the state."""
    state = round.state
    memory = _RULE.get(state) or RuleMemory()
    # All of a flock train the same model, so the server's own update of it serves all of them.
    root = round.roots.get(int(mine.rows[0])) if round.roots else None
    weights = believed(mine.weights, round.setting.weight_cap)
    joint, kept = rule(
        mine.replies.updates, weights, state.clients, round=round.number, seed=round.setting.seed, root=root,
        clients=mine.clients, memory=memory.of(flock),
    )  # fmt: skip
    if not kept:
        return round, joint
    others = {name: array for name, array in memory.items() if not name.startswith(f"{flock}.")}
    held = RuleMemory({**others, **{f"{flock}.{name}": np.asarray(array) for name, array in kept.items()}})
    return round.to(_RULE.put(state, held)), joint
