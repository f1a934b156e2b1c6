"""Who gets which model: what clients are sent to train, and the model that each of them has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from flockwise.stages.batch import Batch
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import UNPLACED, Slot, State, all_alike, flocks_in, largest_flock
from flockwise.types import Clients, Labels, Models, Rows

Offers = list[tuple[int, ...]]  # the rows of models each client is sent; of several it trains the best


class Blind(NamedTuple):
    """Clients that could not place themselves, for want of validation data."""

    blind: np.ndarray  # (clients,) bool


BLIND = Slot("place", Blind, {"blind": False})


class Attribution(Protocol):
    """Says which model each client is sent, and judged on."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The distinct models, and the row of each client."""

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """The models that go out to these clients, and which rows of them each is sent."""

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """Flocks of the clients after what this round's clients picked."""


class SendsOne:
    """What attributions share in which every client is sent the one model it has, and has no say."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """To be said by each."""
        raise NotImplementedError

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """One model each."""
        models, rows = self.assign(round.state, round.setting)
        return models, [(row,) for row in rows[clients].tolist()]

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """Clients have no say."""
        return state.labels


@dataclass(frozen=True)
class OwnFlock:
    """The model of the client's own flock; a client without one gets the largest flock's.

    Without a flock and without validation data that could place it, it is sent the models of all flocks, and
    belongs to the one with the lowest loss on its training data.
    """

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """Flock models, and each client's flock."""
        unplaced = state.labels == UNPLACED
        if not unplaced.any():
            return state.models, state.labels
        return state.models, np.where(unplaced, largest_flock(state), state.labels)

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """One model each, but for those who have to choose."""
        state = round.state
        models, rows = self.assign(state, round.setting)
        single: Offers = [(row,) for row in rows[clients].tolist()]
        memory = BLIND.get(state)
        if memory is None:
            return models, single
        flocks = flocks_in(state.labels[state.free])
        if all_alike(state.models[flocks]):
            return models, single
        home = largest_flock(state)
        # Who does not choose trains the first.
        every = (home, *(int(flock) for flock in flocks if flock != home))
        choosing = memory.blind[clients] & (state.labels[clients] == UNPLACED)
        return models, [every if chooses else one for chooses, one in zip(choosing, single, strict=True)]

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """Who had to choose belongs to the flock it chose."""
        if max(map(len, offers), default=0) <= 1:
            return state.labels
        labels = state.labels.copy()
        for client, offer, pick in zip(batch.clients, offers, batch.replies.chosen, strict=True):
            if len(offer) > 1:
                labels[client] = offer[pick]
        return labels


@dataclass(frozen=True)
class Joint:
    """One model for the round, the mean of all clients' models: updates can only be compared if they start from one.

    Otherwise, and as long as there is one flock, as another attribution has it.
    """

    usual: Attribution = OwnFlock()

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """As usual."""
        return self.usual.assign(state, setting)

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """The mean to everyone, once there are several flocks."""
        state = round.state
        if state.flocks <= 1:
            return self.usual.offer(round, clients)
        models, rows = self.assign(state, round.setting)
        free = rows[state.free]
        shares = np.bincount(free, minlength=len(models)) / len(free)
        mean = (shares @ models.astype(np.float64)).astype(np.float32)
        return mean[None], [(0,) for _ in clients]

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """As usual."""
        return self.usual.relabel(state, batch, offers)


@dataclass(frozen=True)
class OneModel(SendsOne):
    """One global model for all, whatever the groups."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The one model."""
        return state.models[:1], np.zeros(state.clients, dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """Every client is sent all models and trains the one with the lowest loss on its training data."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """Flock models, and what each client picked last (the first model before it ever did)."""
        return state.models, np.maximum(state.labels, 0)

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """All models to each."""
        models = round.state.models
        return models, [tuple(range(len(models)))] * len(clients)

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """A client belongs to the model it picked."""
        labels = state.labels.copy()
        labels[batch.clients] = [
            offer[pick] for offer, pick in zip(offers, batch.replies.chosen, strict=True)
        ]
        return labels


def with_own(models: Models, rows: Rows, clients: Clients, own: Models) -> tuple[Models, Rows]:
    """The models that are shared, then those of the clients that have their own; and everybody's row among them."""
    rows = rows.copy()
    rows[clients] = len(models) + np.arange(len(clients))
    return np.concatenate([models, own]), rows


own_flock, joint, one_model = OwnFlock(), Joint(), OneModel()


def shared(serve: Attribution) -> Attribution:
    """The same without what clients have of their own: what a newcomer would be served."""
    before: Attribution = getattr(serve, "before", serve)
    return before


def serves_one(serve: Attribution) -> bool:
    """Whether it has one model for all, whatever the flocks."""
    return isinstance(serve, OneModel) or (isinstance(serve, Joint) and serves_one(serve.usual))


def starts_as_one(serve: Attribution) -> bool:
    """Whether all clients have the first model until a stage puts them into other flocks."""
    return isinstance(serve, OwnFlock) or (isinstance(serve, Joint) and starts_as_one(serve.usual))
