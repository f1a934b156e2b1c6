"""Who gets which model next."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from flockwise.pieces.batch import Batch
from flockwise.pieces.evidence import Layers
from flockwise.pieces.state import UNPLACED, State, all_alike, flocks_in, largest_flock
from flockwise.similarity import trusted
from flockwise.types import Labels, Models, Square


class Attribution(Protocol):
    """Says which model each client is sent, and judged on."""

    def assign(self, state: State) -> tuple[Models, Labels]:
        """The distinct models, and the row of each client."""

    def offers(self, state: State, clients: Labels, rows: Labels) -> list[tuple[int, ...]]:
        """The rows each of these clients is sent; more than one means it picks by its training loss."""

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """Flocks of the clients after what this round's clients picked."""


class _SendsOne:
    def offers(self, state: State, clients: Labels, rows: Labels) -> list[tuple[int, ...]]:
        """One model each."""
        return [(int(row),) for row in rows[clients]]

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """Clients have no say."""
        return state.labels


@dataclass(frozen=True)
class OwnFlock:
    """The model of the client's own flock; a client without one gets the largest flock's.

    Without a flock and without validation data that could place it, it is sent the models of all flocks, and
    belongs to the one with the lowest loss on its training data.
    """

    def assign(self, state: State) -> tuple[Models, Labels]:
        """Flock models, and each client's flock."""
        return state.models, np.where(state.labels == UNPLACED, largest_flock(state), state.labels)

    def offers(self, state: State, clients: Labels, rows: Labels) -> list[tuple[int, ...]]:
        """One model each, but for those who have to choose."""
        single: list[tuple[int, ...]] = [(int(row),) for row in rows[clients]]
        blind = state.memory.get("place/blind")
        flocks = flocks_in(state.labels[state.free])
        if blind is None or all_alike(state.models[flocks]):
            return single
        home = largest_flock(state)
        # Who does not choose trains the first.
        every = (home, *(int(flock) for flock in flocks if flock != home))
        choosing = blind[clients] & (state.labels[clients] == UNPLACED)
        return [every if chooses else one for chooses, one in zip(choosing, single, strict=True)]

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """Who had to choose belongs to the flock it chose."""
        labels = state.labels.copy()
        for client, offer, pick in zip(batch.clients, offers, batch.chosen, strict=True):
            if len(offer) > 1:
                labels[client] = offer[pick]
        return labels


@dataclass(frozen=True)
class OneModel(_SendsOne):
    """One global model for all, whatever the groups."""

    def assign(self, state: State) -> tuple[Models, Labels]:
        """The one model."""
        return state.models[:1], np.zeros(state.clients, dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """Every client is sent all models and trains the one with the lowest loss on its training data."""

    def assign(self, state: State) -> tuple[Models, Labels]:
        """Flock models, and what each client picked last (the first model before it ever did)."""
        return state.models, np.maximum(state.labels, 0)

    def offers(self, state: State, clients: Labels, rows: Labels) -> list[tuple[int, ...]]:
        """All models to each."""
        return [tuple(range(len(state.models)))] * len(clients)

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """A client belongs to the model it picked."""
        labels = state.labels.copy()
        labels[batch.clients] = [offer[pick] for offer, pick in zip(offers, batch.chosen, strict=True)]
        return labels


@dataclass(frozen=True)
class Communities(_SendsOne):
    """AVG, 1NN or WNN of the communities paper (Algorithm 2), or Late.

    Newcomers get the global model, the plain mean of the community models. WNN weighs the `neighbours`
    nearest community models by exp(-beta * distance) so that the weights sum to one: the further
    division by |N_q| in the paper's eq. 4 would shrink the model every round.
    Late is AVG until the communities are fixed at round `late_from`, then each client's own community.
    """

    kind: Literal["avg", "1nn", "wnn", "late"] = "1nn"
    neighbours: int = 3
    beta: float = 1.0
    late_from: int = 10
    layers: Layers = ()

    def assign(self, state: State) -> tuple[Models, Labels]:
        """The global model in row 0, then community or personal models."""
        alive = flocks_in(state.labels)
        alive = alive if len(alive) else np.zeros(1, dtype=np.int64)  # everyone was set apart
        world = state.models[alive].mean(axis=0, dtype=np.float64).astype(np.float32)
        known = np.flatnonzero(state.memory.get("latest/round", np.zeros(state.clients, np.int64)) > 0)
        rows = np.zeros(state.clients, dtype=np.int64)
        if self.kind == "avg" or len(known) == 0 or (self.kind == "late" and state.round < self.late_from):
            return world[None], rows
        models = np.concatenate([world[None], state.models[alive]])
        if self.kind == "late":
            rows[known] = 1 + np.searchsorted(alive, state.labels[known])
            rows[state.labels == UNPLACED] = 0
            return models, rows
        away = self._distances(state, known, state.models[alive])
        if self.kind == "1nn" or len(alive) == 1:
            rows[known] = 1 + away.argmin(axis=1)
            return models, rows
        nearest = np.argsort(away, axis=1, kind="stable")[:, : self.neighbours]
        near = np.take_along_axis(away, nearest, axis=1)
        # Only differences matter: with many layers every distance is so large that its exp alone would be 0.
        weights = np.exp(-self.beta * (near - near.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        mixed = np.einsum(
            "qj,qjd->qd", weights, state.models[alive].astype(np.float64)[nearest], optimize=True
        )
        rows[known] = 1 + np.arange(len(known))
        return np.concatenate([world[None], mixed.astype(np.float32)]), rows

    def _distances(self, state: State, known: Labels, communities: Models) -> Square:
        latest = state.memory["latest/models"][known]
        both = np.concatenate([latest, communities])
        layers = self.layers or ((0, both.shape[1]),)
        return trusted(both, layers, center=latest.mean(axis=0))[: len(known), len(known) :]
