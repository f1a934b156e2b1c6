"""What clients do to one model that never changes, the anchor: evidence that can be compared whenever it was given."""

from dataclasses import dataclass

import numpy as np

from flockwise.similarity import ClientTable
from flockwise.stages.attribution import SendsOne
from flockwise.stages.evidence import Known
from flockwise.stages.sampling import Draw
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State
from flockwise.types import Clients, Models, Rows


class _Seen:
    """The anchor, each client's update of it, and who has given one."""

    def __init__(self, anchor: np.ndarray, table: ClientTable) -> None:
        self.anchor, self.table = anchor, table

    def arrays(self) -> dict[str, np.ndarray]:
        return {"anchor": self.anchor, **self.table.arrays()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "_Seen":
        rest = {
            name: np.require(a, requirements=["C", "W"]) for name, a in arrays.items() if name != "anchor"
        }
        return cls(np.asarray(arrays["anchor"]), ClientTable(rest))


_SEEN = Slot("anchor", _Seen, {"updates": 0.0, "seen": False})


@dataclass(frozen=True)
class Anchor(SendsOne):
    """The first model of the run, as what newcomers train once, and as evidence.

    `last_layers` compares only the last so many layers of what they make of it.
    """

    last_layers: int | None = None
    needs: frozenset[object] = frozenset({_SEEN})

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The anchor to everyone."""
        held = _SEEN.get(state)
        model = state.models[:1] if held is None else held.anchor[None]
        return model, np.zeros(state.clients, dtype=np.int64)

    def newcomers(self, draw: Draw) -> Draw:
        """Of the clients drawn, those who have not trained the anchor yet, or who have lost their flock: were released."""

        def new(round: Round) -> Clients:
            held, drawn = _SEEN.get(round.state), draw(round)
            if held is None:
                return drawn
            lost = round.state.labels[drawn] == UNPLACED
            return np.asarray(drawn[lost | ~held.table["seen"][drawn]])

        return new

    @property
    def remember(self) -> Stage:
        """The stage that keeps this round's updates, which are of the anchor."""

        def run(round: Round) -> Round:
            batch, state, cut = round.replies, round.state, self._from(round.setting)
            held = _SEEN.get(state) or _Seen.from_arrays(
                {"anchor": state.models[0].copy(), "seen": np.zeros(state.clients, dtype=bool),
                 "updates": np.zeros((state.clients, state.models.shape[1] - cut), np.float32)}
            )  # fmt: skip
            seen = np.ones(len(batch.clients), dtype=bool)
            table = held.table.changed(batch.clients, updates=batch.updates[:, cut:], seen=seen)
            return round.to(_SEEN.put(state, _Seen(held.anchor, table)))

        return stage("remember what the anchor became", run, [REPLIES], [_SEEN])

    def known(self, round: Round) -> Known:
        """Every free client that has trained the anchor."""
        held = _SEEN.get(round.state)
        if held is None:
            return Known(np.zeros(0, np.int64), lambda: np.zeros((0, 0), np.float32))
        clients = np.flatnonzero(held.table["seen"] & round.state.free)
        return Known(clients, lambda: held.table["updates"][clients])

    def _from(self, setting: Setting) -> int:
        """The first number that counts; all of them, where nobody knows the layers."""
        last = setting.layers[-self.last_layers :] if self.last_layers else ()
        return min((start for start, _ in last), default=0)
