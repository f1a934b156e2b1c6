"""Clients that belong to several flocks at once, each by a share (soft attribution)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flockwise.messages import Scores
from flockwise.stages.attribution import SendsOne
from flockwise.stages.batch import believed
from flockwise.stages.place import scoring_plan
from flockwise.stages.sampling import everyone
from flockwise.stages.stage import AVERAGED, REPLIES, Round, Setting, Stage, Steps, ask, stage
from flockwise.stages.state import UNPLACED, Slot, State
from flockwise.stages.timing import FOUND, Looked, Timing
from flockwise.types import Models, Rows


class Shares(NamedTuple):
    """How much every client belongs to each flock; rows sum to one."""

    shares: np.ndarray  # (clients, flocks)


_SHARES = Slot("shares", Shares, brief=True)  # other clients are asked anew


def shares_of(state: State) -> np.ndarray:
    """The shares; equal ones of clients that were never asked."""
    held = _SHARES.get(state)
    return np.full((state.clients, len(state.models)), 1 / len(state.models)) if held is None else held.shares


@dataclass(frozen=True)
class MixedByShares(SendsOne):
    """A model for each client: the mean of the flocks' models by its shares."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """A row for each client."""
        mixed = shares_of(state) @ state.models.astype(np.float64)
        return mixed.astype(np.float32), np.arange(state.clients)


def weigh(timing: Timing, least: float) -> Stage:
    """When it is time, all clients say which share of their training samples each flock's model fits best.

    A flock that fits none still gets the share `least`. A client belongs, on the record, to the flock of its largest share.
    """

    def run(round: Round) -> Steps:
        if not timing.looks(round):
            return round
        plan = scoring_plan(round, round.state.models, everyone(round))
        round, scores = yield from ask(round, replace(plan, shares=True))
        state, shares = round.state, shares_of(round.state).copy()
        for score in scores:
            told = _told(score)
            if told is not None:
                shares[score.client] = np.maximum(told, least) / np.maximum(told, least).sum()
        labels = np.where(state.free, shares.argmax(axis=1), UNPLACED)
        state = _SHARES.put(replace(state, labels=labels), Shares(shares))
        mixed = float(np.mean(shares.max(axis=1)))
        return round.noted(facts={"largest_share": mixed}).to(FOUND.put(state, Looked(round.number)))

    return Stage("weigh", run)


def _told(score: Scores) -> np.ndarray | None:
    """A client's shares; all of it to the lowest loss, where it only says losses; None if it says nothing."""
    if score.shares and sum(score.shares) > 0:
        return np.array(score.shares)
    losses = np.array(score.losses)
    if not np.isfinite(losses).any():
        return None
    return np.asarray(
        np.arange(len(losses)) == np.nanargmin(np.where(np.isfinite(losses), losses, np.nan)), float
    )


def _averaged(round: Round) -> Round:
    state, batch = round.state, round.replies
    models, trained = state.models.copy(), (batch.sent + batch.updates).astype(np.float64)
    believable = believed(batch.weights, round.setting.weight_cap)
    weights = believable[:, None] * shares_of(state)[batch.clients]
    for flock, whole in enumerate(weights.sum(axis=0)):
        if whole > 0:
            models[flock] = weights[:, flock] / whole @ trained
    return round.to(replace(state, models=models))


# Every flock's model is the mean of what this round's clients trained, each as much as it belongs to the flock.
average_by_shares = stage(
    "average by shares", _averaged, [REPLIES], [AVERAGED], spends=[REPLIES], relabels=False
)
