"""The stage in which clients without a flock join the one that they resemble, without being asked anything."""

from dataclasses import replace

import numpy as np

from flockwise.messages import Event
from flockwise.similarity import Measure
from flockwise.stages.evidence import EvidenceSource
from flockwise.stages.stage import REPLIES, Round, Stage, stage
from flockwise.stages.state import UNPLACED, flocks_in, largest_flock
from flockwise.stages.timing import FOUND


def _join_largest(round: Round) -> Round:
    """Once flocks are found: this round's clients without one belong to the largest, and who lost its flock just now."""
    state = round.state
    known = round.start.labels != UNPLACED
    known[round.replies.clients] = True
    lost = np.flatnonzero(known & (state.labels == UNPLACED) & state.free)
    if FOUND.get(state) is None or not len(lost):
        return round
    labels, home = state.labels.copy(), largest_flock(state)
    labels[lost] = home
    told = [
        Event("placed", f"joins flock {home}, the largest", int(client), {"flock": home}) for client in lost
    ]
    return round.noted(events=told).to(replace(state, labels=labels))


join_largest = stage("join the largest", _join_largest, [REPLIES], whole="", relabels=False)


def join_nearest(evidence: EvidenceSource, measure: Measure) -> Stage:
    """Once flocks are found: whoever is known and has no flock joins the one whose members it is nearest to on the mean."""

    def run(round: Round) -> Round:
        state = round.state
        if FOUND.get(state) is None:
            return round
        known = evidence.known(round)
        homes = state.labels[known.clients]
        new, settled = np.flatnonzero(homes == UNPLACED), np.flatnonzero(homes != UNPLACED)
        if not len(new) or not len(settled):
            return round
        square = known.compare(measure)
        away = -square if measure.kind == "similarity" else square
        flocks = flocks_in(homes)
        means = np.stack([away[np.ix_(new, np.flatnonzero(homes == f))].mean(axis=1) for f in flocks], axis=1)
        labels = state.labels.copy()
        labels[known.clients[new]] = flocks[means.argmin(axis=1)]
        told = [
            Event("placed", f"resembles flock {labels[client]} most", client, {"flock": int(labels[client])})
            for client in known.clients[new].tolist()
        ]
        return round.noted(events=told).to(replace(state, labels=labels))

    return stage("join the nearest", run, [REPLIES, *evidence.needs], whole="")
