"""How replies become the next models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from flockwise.pieces.batch import Batch
from flockwise.pieces.relabel import inherited
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.state import UNPLACED, State, flocks_in, largest_flock
from flockwise.types import Labels, Models, Vector

Roots = Mapping[int, Vector]  # the server's own update of each model that was sent, by its row in the plan


class Aggregation(Protocol):
    """Makes the next models from this round's replies."""

    @property
    def rule(self) -> BoundRule:
        """What turns a flock's updates into one."""

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, roots: Roots) -> Models:
        """The next models; a flock nobody answered for keeps its model bit for bit."""

    def begin(self, state: State, labels: Labels) -> Models:
        """The models that flocks found anew start from, before they are in the state."""


def _root(batch: Batch, roots: Roots) -> Vector | None:
    """The server's update of the model that these clients trained (all of a flock train the same)."""
    return roots.get(int(batch.rows[0])) if roots else None


class _ModelOfEachFlock:
    def begin(self, state: State, labels: Labels) -> Models:
        """Each from its members' former models."""
        return inherited(state, labels)


def moved(model: Vector, update: Vector) -> Vector:
    """The model after an update, added in float64 and rounded once."""
    return (model.astype(np.float64) + update).astype(np.float32)


@dataclass(frozen=True)
class PerFlock(_ModelOfEachFlock):
    """The rule inside each flock, on its members' updates of this round."""

    rule: BoundRule

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, roots: Roots) -> Models:
        """Each flock's model moves by its members' joint update."""
        models = models.copy()
        for flock in flocks_in(labels[batch.clients]):
            mine = batch.of(labels[batch.clients] == flock)
            joint = self.rule(mine.updates, mine.weights, state.clients, batch.round, _root(mine, roots))
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

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, roots: Roots) -> Models:
        """The one model moves by the weighted mean of the groups' joint updates."""
        if self.wait and "found/round" not in state.memory:
            return models
        labels = np.where(labels == UNPLACED, largest_flock(state), labels)
        groups = [batch.of(labels[batch.clients] == group) for group in np.unique(labels[batch.clients])]
        joint = np.stack(
            [self.rule(g.updates, g.weights, state.clients, batch.round, _root(g, roots)) for g in groups]
        )
        sizes = np.array([len(g.clients) if self.weights == "size" else 1.0 for g in groups])
        models = models.copy()
        models[0] = moved(models[0], (sizes / sizes.sum()) @ joint.astype(np.float64))
        return models

    def begin(self, state: State, labels: Labels) -> Models:
        """The one model for all: whoever is grouped with whom, it goes on."""
        return np.repeat(state.models[:1], max(int(labels.max(initial=0)) + 1, len(state.models)), axis=0)


@dataclass(frozen=True)
class OverKnown(_ModelOfEachFlock):
    """The rule on the newest models of all known members, also those not heard this round (communities, eq. 1)."""

    rule: BoundRule

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, roots: Roots) -> Models:
        """Each community's model is the aggregate of its members' newest models."""
        latest, heard = state.memory["latest/models"], state.memory["latest/round"] > 0
        models = models.copy()
        for flock in flocks_in(labels):
            members = np.flatnonzero((labels == flock) & heard & state.free)
            if len(members):
                center = latest[members[0]]
                joint = self.rule(latest[members] - center, np.ones(len(members)), state.clients, batch.round)
                models[flock] = moved(center, joint)
        return models
