"""How long an exchange waits for the last ones, and how seldom the silent are asked."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from flockwise.messages import Event

_LEAST = 5.0  # seconds that anybody is given, however quick the others are
_FIRST = 3.0  # times the patience while nobody knows yet what is usual: nodes load data, compile, warm up
_REMEMBERED = 64  # answer times of each kind of message
_SELDOM = 16  # turns between two questions to a silent client, at most


@dataclass
class Pace:
    """What is usual among clients, and who has fallen silent.

    Once `quorum` of those asked have answered (not counting those that failed), the others have `patience` times what
    an answer usually takes, the median. Who is silent k times in a row is asked in every 2**k-th turn only; a turn
    is one try at a round.
    """

    quorum: float = 1.0  # 1: everybody is waited for
    patience: float = 3.0
    turn: int = 0
    _times: dict[str, deque[float]] = field(default_factory=dict)
    _silent: dict[int, tuple[int, int]] = field(default_factory=dict)  # times in a row, turn to ask it in

    def enough(self, kind: str, asked: int, took: Sequence[float], waited: float) -> bool:
        """Whether to close without the rest: `took` are the answers so far, of `asked` who can still answer."""
        if self.quorum >= 1 or not took or len(took) < math.ceil(self.quorum * asked):
            return False
        known = self._times.get(kind, ())
        patience = self.patience * (1.0 if known else _FIRST)
        return bool(waited >= max(_LEAST, patience * median([*known, *took])))

    def note(self, kind: str, took: Sequence[float]) -> None:
        """Remember how long answers took."""
        self._times.setdefault(kind, deque(maxlen=_REMEMBERED)).extend(took)

    def resting(self, client: int) -> bool:
        """Whether a client is not to be asked in this turn."""
        return self._silent.get(client, (0, 0))[1] > self.turn

    def due(self, client: int) -> Event | None:
        """What is told of a silent client that is asked once more."""
        if client not in self._silent:
            return None
        return Event("asked again", f"was silent {_times(self._silent[client][0])}", client)

    def missed(self, client: int) -> Event:
        """A client did not answer: it is asked more seldom from now on."""
        count = self._silent.get(client, (0, 0))[0] + 1
        rest = min(2**count, _SELDOM)
        self._silent[client] = (count, self.turn + rest)
        often = f", {count} times in a row" if count > 1 else ""
        return Event("silent", f"did not answer{often}; asked again in {rest} rounds", client)

    def heard(self, client: int) -> Event | None:
        """A client answered in time, and is asked as others are."""
        if self._silent.pop(client, None) is None:
            return None
        return Event("heard", "answers again", client)

    def forget(self, client: int) -> None:
        """A client's node is new: nothing is held against it."""
        self._silent.pop(client, None)

    def wake(self) -> None:
        """Nobody else is left, so the silent are asked, too."""
        self._silent = {client: (count, 0) for client, (count, _) in self._silent.items()}


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
