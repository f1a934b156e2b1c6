"""Flocks reconsidered by losses alone: who does worse than before leaves, flocks that do alike merge (FedDrift)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flockwise.clustering import agglomerative
from flockwise.messages import Event, Scores
from flockwise.stages.place import scoring_plan
from flockwise.stages.sampling import everyone
from flockwise.stages.stage import Round, Stage, Steps, ask
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in
from flockwise.stages.timing import FOUND, Looked, Timing
from flockwise.types import Labels, Square

LARGEST = 1e100  # losses that are told; what is beyond could not even be subtracted from another


class Lowest(NamedTuple):
    """The lowest loss of every client when it was last asked; NaN if it never was."""

    losses: np.ndarray


_LOWEST = Slot("lowest losses", Lowest, {"losses": np.nan})


def reconsider(timing: Timing, drift: float, merge: float) -> Stage:
    """When it is time, all clients score all flocks' models on their validation data.

    A client goes to the flock with the lowest loss, or, if even that is `drift` higher than its lowest at the last look,
    to a new one of its own, which begins from that flock's model. Then flocks merge whose models do nearly as well for each
    other: at most `merge` worse than at home, for all that are merged. New flocks wait until the next look.
    """

    def run(round: Round) -> Steps:
        if not timing.looks(round):
            return round
        alive = flocks_in(round.state.labels[round.state.free])
        plan = scoring_plan(round, round.state.models[alive], everyone(round))
        round, scores = yield from ask(round, plan)
        losses = loss_matrix(round.state.clients, scores, len(alive))
        state, gone = _sorted_out(round.state, losses, alive, drift)
        state, joined = _merged(state, losses, alive, merge)
        if not np.array_equal(state.labels, round.state.labels):
            sizes = np.unique(state.labels[state.labels != UNPLACED], return_counts=True)[1].tolist()
            detail = {"sizes": sizes, "left": gone, "merged": joined}
            told = Event("flocks", f"{len(sizes)} flocks among {sum(sizes)} clients", detail=detail)
            round = round.noted(events=[told])
        return round.to(FOUND.put(state, Looked(round.number)))

    return Stage("reconsider flocks", run)


def loss_matrix(clients: int, scores: Sequence[Scores], models: int) -> np.ndarray:
    """(clients, models) what each lost with each; NaN where it did not say."""
    losses = np.full((clients, models), np.nan)
    for score in scores:
        told = np.array(score.losses or [np.nan] * models)
        losses[score.client] = np.where(np.abs(told) < LARGEST, told, np.nan)
    return losses


def _sorted_out(state: State, losses: np.ndarray, alive: Labels, drift: float) -> tuple[State, list[int]]:
    """Everyone where it does best; those for whom that is not good enough on their own."""
    before = _LOWEST.get(state) or Lowest(np.full(state.clients, np.nan))
    lowest, labels, models, gone = before.losses.copy(), state.labels.copy(), list(state.models), []
    used = set(flocks_in(labels).tolist())
    for client in np.flatnonzero(np.isfinite(losses).any(axis=1)).tolist():
        best = int(np.nanargmin(losses[client]))
        labels[client] = alive[best]
        if losses[client, best] > lowest[client] + drift:
            number = next(n for n in range(len(used) + 1) if n not in used)
            used.add(number)
            models += [state.models[0]] * (number + 1 - len(models))
            models[number] = state.models[alive[best]]
            labels[client] = number
            gone.append(client)
        lowest[client] = losses[client, best]
    return _LOWEST.put(replace(state, labels=labels, models=np.stack(models)), Lowest(lowest)), gone


def _merged(state: State, losses: np.ndarray, alive: Labels, merge: float) -> tuple[State, list[list[int]]]:
    homes = [np.flatnonzero((state.labels == flock) & np.isfinite(losses).all(axis=1)) for flock in alive]
    known = [place for place, members in enumerate(homes) if len(members)]
    if len(known) < 2:
        return state, []
    # The median, so that no single member decides.
    typical = np.array([np.median(losses[homes[place]], axis=0)[known] for place in known]).T
    groups = agglomerative(loss_distances(typical), "complete", merge)
    labels, models, joined = state.labels.copy(), state.models.copy(), []
    for group in range(int(groups.max()) + 1):
        flocks = alive[[known[place] for place in np.flatnonzero(groups == group)]]
        if len(flocks) > 1:
            sizes = np.array([np.sum((labels == flock) & state.free) for flock in flocks], dtype=np.float64)
            kept = int(flocks[sizes.argmax()])
            mean = sizes / sizes.sum() @ models[flocks].astype(np.float64)
            models[kept] = mean
            labels[np.isin(labels, flocks)] = kept
            joined.append(flocks.tolist())
    return replace(state, labels=labels, models=models), joined


def loss_distances(losses: Square) -> Square:
    """How much worse one of two models does on the other's data than at home, the larger of both; row i is model i."""
    away = losses - np.diag(losses)[:, None]
    return np.maximum(np.maximum(away, away.T), 0.0)
