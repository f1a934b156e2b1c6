"""Where newcomers ended: numbers of a finished run, for the leaderboard's study."""

import math

import numpy as np

from flockwise.runs.channel import newcomers
from flockwise.studies.finished import Finished
from flockwise.studies.readers import groups


def right(finished: Finished) -> float:
    """Share of the newcomers whose flock's other members are mostly of their own kind; NaN where nobody is new."""
    return _share(finished, lambda own, mates: len(mates) > 0 and (mates == own).mean() > 0.5)


def apart(finished: Finished) -> float:
    """Share of the newcomers that share their flock with nobody of another kind; NaN where nobody is new."""
    return _share(finished, lambda own, mates: bool((mates == own).all()))


def _share(finished, says) -> float:
    truth, flock = groups(finished), finished.run.array_at("flock", finished.last)
    late = newcomers(finished.run.config["faults"]["late_clients"], len(truth), finished.run.config["seed"])
    if not late or flock is None:
        return math.nan
    others = np.arange(len(truth))
    told = [
        flock[client] >= 0 and says(truth[client], truth[(flock == flock[client]) & (others != client)])
        for client in sorted(late)
    ]
    return float(np.mean(told))
