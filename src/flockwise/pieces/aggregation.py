"""How replies become the next models."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from flockwise.pieces.attribution import largest_flock
from flockwise.pieces.batch import Batch
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.state import UNPLACED, State, flocks_in
from flockwise.types import Labels, Models, Vector


class Aggregation(Protocol):
    """Makes the next models from this round's replies."""

    @property
    def rule(self) -> BoundRule:
        """What turns a flock's updates into one."""

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, root: Vector | None) -> Models:
        """The next models; a flock nobody answered for keeps its model bit for bit."""


def moved(model: Vector, update: Vector) -> Vector:
    """The model after an update, added in float64 and rounded once."""
    return (model.astype(np.float64) + update).astype(np.float32)


@dataclass(frozen=True)
class PerFlock:
    """The rule inside each flock, on its members' updates of this round."""

    rule: BoundRule

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, root: Vector | None) -> Models:
        """Each flock's model moves by its members' joint update."""
        models = models.copy()
        for flock in flocks_in(labels[batch.clients]):
            mine = batch.of(labels[batch.clients] == flock)
            joint = self.rule(mine.updates, mine.weights, state.clients, batch.round, root)
            models[flock] = moved(models[flock], joint)
        return models


@dataclass(frozen=True)
class Merged:
    """The rule inside each group, then one global model from the mean of the groups (Mini-FL).

    `weights`: "equal" for each group (what fits the published numbers) or by "size".
    Until groups are known the model does not move. Clients without a group count with the largest one:
    a group of their own would give whoever hides the feature the weight of a group.
    """

    rule: BoundRule
    weights: Literal["equal", "size"] = "equal"
    wait: bool = True

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, root: Vector | None) -> Models:
        """The one model moves by the weighted mean of the groups' joint updates."""
        if self.wait and "found/round" not in state.memory:
            return models
        labels = np.where(labels == UNPLACED, largest_flock(state), labels)
        groups = [batch.of(labels[batch.clients] == group) for group in np.unique(labels[batch.clients])]
        joint = np.stack([self.rule(g.updates, g.weights, state.clients, batch.round, root) for g in groups])
        sizes = np.array([len(g.clients) if self.weights == "size" else 1.0 for g in groups])
        models = models.copy()
        models[0] = moved(models[0], (sizes / sizes.sum()) @ joint.astype(np.float64))
        return models


@dataclass(frozen=True)
class OverKnown:
    """The rule on the newest models of all known members, also those not heard this round (communities, eq. 1)."""

    rule: BoundRule

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, root: Vector | None) -> Models:
        """Each community's model is the aggregate of its members' newest models."""
        latest, heard = state.memory["latest/models"], state.memory["latest/round"] > 0
        models = models.copy()
        for flock in flocks_in(labels):
            members = np.flatnonzero((labels == flock) & heard & state.free)
            if len(members):
                center = latest[members[0]]
                joint = self.rule(
                    latest[members] - center, np.ones(len(members)), state.clients, batch.round, root
                )
                models[flock] = moved(center, joint)
        return models
