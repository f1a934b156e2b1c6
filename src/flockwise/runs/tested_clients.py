"""Which clients are tested: everyone, or so many drawn at random, with what that says of all of them."""

import numpy as np

from flockwise.config import Config
from flockwise.rng import generator
from flockwise.types import Clients

MOST_TESTED = 10_000  # with "auto": of more clients, a sample is tested
SAMPLE = 2_000
_TWO_SIDED = 1.96  # standard errors on either side that a normal distribution is within in 95 of 100 cases


def tested_clients(config: Config, clients: int) -> Clients | None:
    """The clients that are tested, the same in every round so that rounds can be compared; None: everyone."""
    said = config.evaluation.clients
    wanted = (clients if clients <= MOST_TESTED else SAMPLE) if said == "auto" else said
    if wanted >= clients:
        return None
    return np.sort(generator(config.seed, "tested clients").choice(clients, size=wanted, replace=False))


def estimated(scores: np.ndarray, population: int) -> dict[str, float]:
    """How far the mean over all may be from that of a sample drawn without replacement: a 95 % interval."""
    seen = scores[np.isfinite(scores)]
    facts = {"tested": float(len(seen))}
    if len(seen) < 2:
        return facts
    left = max(1.0 - len(seen) / max(population, 1), 0.0)  # of the uncertainty, if part of everybody was seen
    half = _TWO_SIDED * float(seen.std(ddof=1)) * float(np.sqrt(left / len(seen)))
    mean = float(seen.mean())
    return {**facts, "accuracy_low": mean - half, "accuracy_high": mean + half}
