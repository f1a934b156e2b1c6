"""How many samples clients say they hold, for methods that average models of clients not heard this round."""

from typing import NamedTuple

import numpy as np

from flockwise.stages.batch import believed
from flockwise.stages.stage import REPLIES, Round, stage
from flockwise.stages.state import Slot
from flockwise.types import Clients, Weights


class Claims(NamedTuple):
    """The newest count of every client; 0 of one never heard."""

    samples: np.ndarray


_CLAIMS = Slot("claims", Claims, {"samples": 0.0})


def _remembered(round: Round) -> Round:
    before = _CLAIMS.get(round.state)
    samples = np.zeros(round.state.clients) if before is None else before.samples.copy()
    samples[round.replies.clients] = round.replies.weights
    return round.to(_CLAIMS.put(round.state, Claims(samples)))


remember_claims = stage("remember claims", _remembered, [REPLIES], [_CLAIMS], whole="")


def by_claims(round: Round, clients: Clients) -> Weights:
    """The weights of clients that are averaged together, as far as their claims are believed."""
    held = _CLAIMS.get(round.state)
    assert held is not None
    return believed(held.samples[clients], round.setting.weight_cap)
