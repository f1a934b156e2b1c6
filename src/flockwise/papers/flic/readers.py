"""Numbers that only FLIC reports."""

import numpy as np

from flockwise.metrics import purity
from flockwise.studies.finished import Finished
from flockwise.studies.readers import attackers

LAST = 50  # Table II: the best accuracy of the last 50 rounds


def best_of_last(finished: Finished) -> float:
    """The best mean accuracy of the honest clients in the last 50 rounds, or in the last third of a short run."""
    values = finished.run.facts["accuracy"][-min(LAST, max(finished.last // 3, 1)) :]
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")


def before(finished: Finished) -> float:
    """Mean accuracy of the second half of the rounds before clustering; NaN for a run that does not cluster."""
    warmup = finished.run.config["strategy"].get("warmup")
    if warmup is None:
        return float("nan")
    rounds, values = finished.run.rounds, finished.run.facts["accuracy"]
    return float(np.nanmean(values[(rounds >= warmup // 2 + 1) & (rounds <= warmup)]))


def loyal_flocks(finished: Finished) -> float:
    """How many flocks have a loyal client."""
    return float(len(_loyal(finished)))


def loyal_members(finished: Finished) -> float:
    """Loyal clients in a flock that has any, on average."""
    return float(np.mean(_loyal(finished))) if _loyal(finished) else float("nan")


def wolves_apart(finished: Finished) -> float:
    """Share of clients whose flock does not mix loyal and malicious ones."""
    flock = _flocks(finished)
    placed = flock >= 0
    return purity(flock[placed], attackers(finished)[placed].astype(int), kind="unmixed")


def _loyal(finished: Finished) -> list[int]:
    flock = _flocks(finished)
    honest = flock[~attackers(finished) & (flock >= 0)]
    return [int(count) for count in np.unique(honest, return_counts=True)[1]]


def _flocks(finished: Finished) -> np.ndarray:
    flock = finished.run.array_at("flock", finished.last)
    return np.zeros(0, dtype=int) if flock is None else flock
