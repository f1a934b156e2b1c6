"""A model that is kept for newcomers, so that what they tell of it can be compared with what others told."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flockwise.stages.attribution import SendsOne, own_flock
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State
from flockwise.types import Models, Rows


class KeptReference(NamedTuple):
    """The model that everyone was sent in the round in which flocks were found."""

    model: np.ndarray


_KEPT = Slot("reference", KeptReference, {})


@dataclass(frozen=True)
class Reference(SendsOne):
    """A client without a flock is sent the model that was kept; the others their flock's."""

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The flocks' models, then the one that was kept."""
        models, rows = own_flock.assign(state, setting)
        held = _KEPT.get(state)
        if held is None:
            return models, rows
        rows = np.where(state.labels == UNPLACED, len(models), rows)
        return np.concatenate([models, held.model[None]]), rows

    @property
    def keep(self) -> Stage:
        """The stage that keeps the model of this round."""

        def run(round: Round) -> Round:
            return round.to(
                _KEPT.put(round.state, KeptReference(np.array(round.replies.models[round.replies.rows[0]])))
            )

        return stage("keep the reference", run, [REPLIES], [_KEPT], whole="")
