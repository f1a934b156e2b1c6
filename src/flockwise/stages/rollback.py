"""The stages that keep past joint models, and let healthy flocks go back to before the damage."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from flockwise.messages import Event, Scores
from flockwise.options import Count
from flockwise.scoring import Scoring
from flockwise.stages.place import ASKS, scoring_plan
from flockwise.stages.stage import REPLIES, Round, Stage, Steps, ask, nothing, stage
from flockwise.stages.state import Slot, State, flocks_in
from flockwise.stages.timing import FOUND
from flockwise.types import Models

# The options that strategies with a roll-back share.
RollBack = Annotated[bool, ASKS, "flocks may start from a past joint model that suits them better"]
SnapshotEvery = Annotated[Count, "rollback: rounds between past models that are kept"]


class Snapshots(NamedTuple):
    """Past joint models, and the rounds they were the models of."""

    rounds: np.ndarray
    models: Models


_SNAPSHOTS = Slot("snapshot", Snapshots, {})
MOST = 8  # snapshots; beyond, every other is dropped and the spacing doubles


def _of(state: State) -> Snapshots:
    empty = np.zeros((0, state.models.shape[1]), np.float32)
    return _SNAPSHOTS.get(state) or Snapshots(np.zeros(0, np.int64), empty)


def keep_snapshots(wanted: bool, every: int = 5) -> Stage:
    """The joint model as it was before this round is kept, every so many rounds until flocks are found."""

    def run(round: Round) -> Round:
        state, start = round.state, round.start
        if FOUND.get(start) is not None:
            return round
        rounds, models = _of(state)
        spacing = int(np.diff(rounds).max(initial=every))
        if len(rounds) and start.round - rounds[-1] < spacing:
            return round
        rounds, models = np.append(rounds, start.round), np.concatenate([models, start.models[:1]])
        if len(rounds) > MOST:
            rounds, models = rounds[::2].copy(), models[::2].copy()
        return round.to(_SNAPSHOTS.put(state, Snapshots(rounds, models)))

    return (
        stage("keep snapshots", run, [REPLIES], [_SNAPSHOTS], whole="", relabels=False) if wanted else nothing
    )


def roll_back(wanted: bool) -> Stage:
    """In the round in which flocks are found, each picks the past joint model that its members do best with."""

    def run(round: Round) -> Steps:
        state, found = round.state, FOUND.get(round.state)
        if not found or found.round != round.number or state.flocks <= 1:
            return round
        alive, past = flocks_in(state.labels[state.free]), _of(state)
        everything = np.concatenate([past.models, state.models[alive]])
        plan = scoring_plan(round, everything, np.flatnonzero(state.free))
        round, scores = yield from ask(round, plan)
        models, events, scoring = state.models.copy(), [], round.setting.scoring
        for position, flock in enumerate(alive.tolist()):
            own = [s for s in scores if state.labels[s.client] == flock and not np.isnan(s.values).all()]
            if not own or not len(past.rounds):
                continue
            here = len(past.rounds) + position
            best, typical = _best(own, len(past.rounds), here, scoring)
            if best < len(past.rounds):
                models[flock] = past.models[best]
                back = int(past.rounds[best])
                events.append(_told(flock, back, typical[best], typical[here], scoring))
        return round.noted(events=events).to(replace(round.state, models=models))

    return Stage("roll back", run, frozenset({_SNAPSHOTS}), relabels=False) if wanted else nothing


def _best(own: Sequence[Scores], past: int, here: int, scoring: Scoring) -> tuple[int, list[float]]:
    """Which of the past models or the present one serves these clients best, and how each does."""
    # The median, here and of the losses, so that no single client decides. Shares within two points count as equal;
    # then the loss decides, which also tells ruin from chance.
    typical: list[float] = np.nanmedian([s.values for s in own], axis=0).tolist()
    best = max([*range(past), here], key=lambda model: (scoring.coarse(typical[model]), -_loss(own, model)))
    return best, typical


def _told(flock: int, back: int, score: float, instead_of: float, scoring: Scoring) -> Event:
    detail = {"flock": flock, "round": back, scoring.name: float(score), "instead_of": float(instead_of)}
    return Event("rollback", f"flock {flock} goes back to round {back}", detail=detail)


def _loss(scores: Sequence[Scores], model: int) -> float:
    losses = [s.losses[model] if np.isfinite(s.losses[model]) else np.inf for s in scores if s.losses]
    return float(np.median(losses)) if losses else float("inf")
