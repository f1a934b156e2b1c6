"""Models that clients go on with alone, beginning from their flock's (fine-tuning)."""

from dataclasses import dataclass

import numpy as np

from flockwise.similarity import ClientTable
from flockwise.stages.attribution import Attribution, SendsOne, own_flock, with_own
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import Slot, State
from flockwise.types import Models, Rows


class _Own:
    """Each client's own model, and whether it has one yet."""

    def __init__(self, table: ClientTable) -> None:
        self.table = table

    def arrays(self) -> dict[str, np.ndarray]:
        return self.table.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "_Own":
        return cls(
            ClientTable({name: np.require(array, requirements=["C", "W"]) for name, array in arrays.items()})
        )


_OWN = Slot("own models", _Own, {"models": 0.0, "has": False})


@dataclass(frozen=True)
class OwnModels(SendsOne):
    """The model that a client went on with alone; until it did, the one that another attribution has for it."""

    before: Attribution = own_flock

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The shared models, then those of the clients that have their own."""
        models, rows = self.before.assign(state, setting)
        held = _OWN.get(state)
        if held is None:
            return models, rows
        own = np.flatnonzero(held.table["has"])
        return with_own(models, rows, own, held.table["models"][own])

    @property
    def keep(self) -> Stage:
        """The stage after which this round's clients have what they trained for themselves."""

        def run(round: Round) -> Round:
            batch, state = round.replies, round.state
            held = _OWN.get(state) or _Own.from_arrays(
                {"models": np.zeros((state.clients, state.models.shape[1]), np.float32),
                 "has": np.zeros(state.clients, dtype=bool)}
            )  # fmt: skip
            trained = batch.sent + batch.updates
            has = np.ones(len(batch.clients), dtype=bool)
            return round.to(_OWN.put(state, _Own(held.table.changed(batch.clients, models=trained, has=has))))

        return stage("keep own models", run, [REPLIES], [_OWN])
