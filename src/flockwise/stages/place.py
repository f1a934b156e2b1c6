"""The stage in which clients without a flock find one, on their own validation data.

Test data never steers anything here.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from flockwise.messages import Event, Plan, Scores, Task
from flockwise.notes import Needs
from flockwise.options import NonNegative
from flockwise.scoring import Scoring
from flockwise.stages.attribution import BLIND, Blind
from flockwise.stages.stage import Round, Stage, Steps, ask
from flockwise.stages.state import UNPLACED, State, all_alike, flocks_in
from flockwise.stages.timing import FOUND
from flockwise.stages.train import HEARD
from flockwise.types import Clients, Models

AT_ONCE = 10_000  # clients that are asked together; more than that wait until they take part
MOST_TOLD = 2_000  # clients that are told of one by one

ASKS = Needs("split.validation", "asks clients for validation data; set it to 0.1, or leave the option out")
Follow = Annotated[
    NonNegative | None,
    ASKS,
    "move clients that do this much better elsewhere: in accuracy, or as a share of an error that has no scale",
]


def scoring_plan(round: Round, models: Models, clients: Sequence[int] | Clients) -> Plan:
    """Every one of these clients scores every model."""
    rows = tuple(range(len(models)))
    return Plan(round.number, "validate", models, tuple(Task(int(client), rows) for client in clients))


def place(follow: float | None = None, rest: int = 0) -> Stage:
    """Clients without a flock join the one that does best on their validation data.

    With `follow`, this round's clients also move to a flock in which they do that much better, but not before flocks have
    stood for `rest` rounds: who was just split off for turning against others would be back before a judge has sat.
    """

    def run(round: Round) -> Steps:
        found = FOUND.get(round.state)
        clients = _to_place(round, found.round, follow, rest) if found else np.zeros(0, np.int64)
        if not len(clients):
            return round
        alive = _open(round.state)
        round, scores = yield from ask(round, scoring_plan(round, round.state.models[alive], clients))
        state, events = settled(round.state, alive, scores, follow or 0.0, round.setting.scoring)
        return round.noted(events=events if len(events) <= MOST_TOLD else together(events)).to(state)

    return Stage("place", run, relabels=False)  # into flocks that somebody is in already


def together(events: Sequence[Event], how: str = "by their validation data") -> list[Event]:
    """What became of very many clients, as one event for each kind: a line for each would hide everything else."""
    found = []
    for kind in dict.fromkeys(event.kind for event in events):
        flocks = [
            event.detail["flock" if kind == "placed" else "to"] for event in events if event.kind == kind
        ]
        counts = np.bincount(np.array(flocks, dtype=np.int64))
        sizes = {f"flock {flock}": int(counts[flock]) for flock in np.flatnonzero(counts)}
        told = f"{len(flocks):,} clients {kind} {how}"
        found.append(Event(kind, told, detail={"sizes": sizes}))
    return found


def settled(
    state: State, alive: Clients, scores: Sequence[Scores], follow: float, scoring: Scoring
) -> tuple[State, list[Event]]:
    """Each client where its scores of the flocks `alive` say, if it has no flock or does `follow` better elsewhere."""
    labels, events = state.labels.copy(), []
    blind = (BLIND.get(state) or Blind(np.zeros(state.clients, dtype=bool))).blind.copy()
    for score in scores:
        blind[score.client] = np.isnan(score.values).all()  # without data it will choose when it trains
        if blind[score.client] and len(alive) == 1 and labels[score.client] == UNPLACED:
            labels[score.client] = alive[0]
            told = {"flock": int(alive[0])}
            events.append(Event("placed", f"flock {alive[0]} is the only one", score.client, told))
        if blind[score.client]:
            continue
        best = _better(score, alive, int(labels[score.client]), follow, scoring)
        if best is not None:
            events.append(_told(score, int(labels[score.client]), best, scoring))
            labels[score.client] = best
    return BLIND.put(replace(state, labels=labels), Blind(blind)), events


def _open(state: State) -> Clients:
    """The flocks that clients may join: those that somebody is in, or all where a judge has sent everybody away."""
    alive = flocks_in(state.labels[state.free])
    return alive if len(alive) else np.arange(len(state.models))


def _to_place(round: Round, found: int, follow: float | None, rest: int) -> Clients:
    """Everyone without a flock in the round after flocks are found; else, and if they are very many, this round's clients
    without one.

    New flocks often share one model at first, and then nobody can tell which one suits. Who sent what could not be used is
    among this round's clients: a ruined model lets nobody train, and whoever has it must be able to leave.
    """
    state, nobody = round.state, np.zeros(0, np.int64)
    if state.flocks > 1 and all_alike(state.models[_open(state)]):
        return nobody
    heard = HEARD.get(state)
    here = np.isin(np.arange(state.clients), heard.clients if heard else nobody)
    turned_away = [event.client for event in round.events if event.kind == "rejected"]
    here[[client for client in turned_away if client is not None and 0 <= client < state.clients]] = True
    lost = (state.labels == UNPLACED) & state.free
    if state.round + 1 not in (found, found + 1) or lost.sum() > AT_ONCE:
        lost &= here
    if follow is not None and state.flocks > 1 and state.round + 1 - found >= rest:
        lost |= here & state.free
    return np.flatnonzero(lost) if state.flocks > 1 or (state.labels[lost] == UNPLACED).any() else nobody


def _better(score: Scores, alive: Clients, own: int, follow: float, scoring: Scoring) -> int | None:
    """The flock a client should be in, if it is another one than its own and there is a telling."""
    order = sorted(range(len(alive)), key=lambda model: _quality(score, model, scoring), reverse=True)
    if len(alive) > 1 and _quality(score, order[0], scoring) == _quality(score, order[1], scoring):
        return None  # no telling yet
    best = int(alive[order[0]])
    if own == UNPLACED:
        return best
    here = score.values[int(np.searchsorted(alive, own))]
    return None if best == own or scoring.gain(here, score.values[order[0]]) <= follow else best


def _quality(score: Scores, model: int, scoring: Scoring) -> tuple[float, float]:
    """The score; among equals, which are frequent on few samples, the loss."""
    loss = score.losses[model] if score.losses and np.isfinite(score.losses[model]) else np.inf
    return scoring.quality(score.values[model]), -loss


def _told(score: Scores, own: int, best: int, scoring: Scoring) -> Event:
    if own == UNPLACED:
        return Event("placed", f"fits flock {best} best", score.client, {"flock": best})
    detail = {"from": own, "to": best, scoring.plural: list(score.values)}
    return Event("moved", f"moved from flock {own} to {best}", score.client, detail)
