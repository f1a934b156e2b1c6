"""Flocks that are given, not found: each client by itself, or the split's own groups."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flockwise.messages import Event
from flockwise.stages.relabel import inherited
from flockwise.stages.stage import Round, Stage, stage
from flockwise.stages.state import UNPLACED, Slot
from flockwise.types import Labels


class Given(NamedTuple):
    """The round in which flocks were first given."""

    round: int


_GIVEN = Slot("given", Given, brief=True)  # with other clients, flocks are given anew


def give_flocks(name: str, flocks_of: Callable[[Round], Labels]) -> Stage:
    """Every free client is in the flock that it is given, whatever was before; a flock that has a model keeps it."""

    def run(round: Round) -> Round:
        state = round.state
        after = np.where(state.free, flocks_of(round), UNPLACED)
        given = _GIVEN.get(state)
        if given is not None and np.array_equal(after, state.labels):
            return round
        missing = int(after.max(initial=0)) + 1 - len(state.models)
        models = inherited(state, after)
        if given is not None:  # who comes or goes takes nothing along
            models = (
                np.concatenate([state.models, models[len(state.models) :]]) if missing > 0 else state.models
            )
        state = _GIVEN.put(replace(state, labels=after, models=models), given or Given(round.number))
        sizes = np.unique(after[after != UNPLACED], return_counts=True)[1].tolist()
        told = Event("flocks", f"{len(sizes)} flocks, given: {name}", detail={"sizes": sizes})
        return round.noted(events=[told]).to(state)

    return stage(name, run)


# Every client is a flock of its own: nothing is ever averaged.
each_alone = give_flocks("each client alone", lambda round: np.arange(round.state.clients))


def _truth(round: Round) -> Labels:
    assert round.setting.truth is not None  # a run gives it to a method that says it reads it, or refuses it
    return round.setting.truth(round.number)


# The split's own groups. The method that uses it must say so: `Method(..., reads_truth=True)`.
true_groups = give_flocks("the split's groups", _truth)
