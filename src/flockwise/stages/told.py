"""What clients have told besides their updates (`Report`) as evidence: the newest array of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flockwise.similarity import ClientTable
from flockwise.stages.evidence import Known
from flockwise.stages.stage import REPLIES, Round, Stage, stage
from flockwise.stages.state import UNPLACED, Slot


class _Told:
    """An array of every client, and whether it has told any."""

    def __init__(self, table: ClientTable) -> None:
        self.table = table

    def arrays(self) -> dict[str, np.ndarray]:
        return self.table.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "_Told":
        return cls(
            ClientTable({name: np.require(array, requirements=["C", "W"]) for name, array in arrays.items()})
        )


_TOLD = Slot("told", _Told, {"rows": 0.0, "heard": False})
_MOST = 1e15  # a liar's numbers: their squares can still be added up in float32


@dataclass(frozen=True)
class Told:
    """The newest report of every client heard so far: one of its arrays, in the shape that was agreed."""

    name: str
    needs: frozenset[object] = frozenset({REPLIES, _TOLD})

    @property
    def remember(self) -> Stage:
        """The stage that replaces the rows of this round's clients."""
        return self._remember(lambda round: np.ones(len(round.replies.clients), dtype=bool))

    @property
    def remember_new(self) -> Stage:
        """The same of this round's clients that have no flock; what others told stays."""
        return self._remember(lambda round: round.state.labels[round.replies.clients] == UNPLACED)

    def _remember(self, whom: Callable[[Round], np.ndarray]) -> Stage:
        def run(round: Round) -> Round:
            batch, state, chosen = round.replies, round.state, whom(round)
            rows = np.clip(batch.replies.reports[self.name], -_MOST, _MOST).astype(np.float32)
            held = _TOLD.get(state) or _Told.from_arrays(
                {"rows": np.zeros((state.clients, *rows.shape[1:]), np.float32),
                 "heard": np.zeros(state.clients, dtype=bool)}
            )  # fmt: skip
            heard = np.ones(int(chosen.sum()), dtype=bool)
            table = held.table.changed(batch.clients[chosen], rows=rows[chosen], heard=heard)
            return round.to(_TOLD.put(state, _Told(table)))

        return stage("remember what is told", run, [REPLIES], [_TOLD], whole="")

    def known(self, round: Round) -> Known:
        """Every free client that has told something."""
        held = _TOLD.get(round.state)
        assert held is not None
        clients = np.flatnonzero(held.table["heard"] & round.state.free)
        return Known(clients, lambda: held.table["rows"][clients])
