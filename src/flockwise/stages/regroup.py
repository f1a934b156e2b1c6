"""The stages that find flocks: among all clients anew, or inside each flock."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flockwise.messages import Event
from flockwise.stages.evidence import EvidenceSource, LatestModels, OfUpdates
from flockwise.stages.grouping import Found, Grouping, SketchGrouping
from flockwise.stages.relabel import inherited, renumbered, split_inside
from flockwise.stages.stage import REPLIES, Holds, Remark, Round, Stage, stage
from flockwise.stages.state import FREE, QUARANTINED, UNPLACED, State, flocks_in
from flockwise.stages.timing import FOUND, LOOKED, Every, Looked, Timing
from flockwise.types import Labels, Models

_FURTHEST = float(np.finfo(np.float32).max)
EVERY_ROUND = Every()
FOR_BEING_FEWER = ", for being fewer: an honest minority of another kind would be, too"
Begin = Callable[[State, Labels], Models]  # the models that flocks found anew start from


def find_flocks(
    evidence: EvidenceSource, grouping: Grouping, timing: Timing = EVERY_ROUND, begin: Begin = inherited
) -> Stage:
    """Compare all known clients anew, when it is time; flocks that stay keep their numbers."""

    def run(round: Round) -> Round:
        state = round.state
        if not timing.look(state, round.number):
            return round
        known = evidence.known(round)
        state = LOOKED.put(state, Looked(round.number))
        found = grouping.find(known, round)
        round = _noted(round, found)
        act, state = timing.act(state, found)
        return _adopted(round.to(state), found, timing, begin) if act else round.to(state)

    # All are compared with all, and the comparison is clustered: measured, up to 7.4 squares at once
    # (benchmarks/reliability/memory.py).
    return stage(
        "find flocks", run, [REPLIES, *evidence.needs], holds=Holds(squares=8), remarks=[timing.remark],
        whole="", relabels=False, **_comparing(evidence, grouping),
    )  # fmt: skip


def _comparing(evidence: EvidenceSource, grouping: Grouping) -> dict[str, Any]:
    """Whether updates are compared, and why sketches of them would not do; other evidence is never sketched."""
    if isinstance(evidence, LatestModels):
        return {"compares": True, "exact": "it compares whole models"}
    if not isinstance(evidence, OfUpdates):
        return {}
    whole = f"{type(grouping).__name__} needs whole updates"
    return {"compares": True, "exact": grouping.exact if isinstance(grouping, SketchGrouping) else whole}


def _adopted(round: Round, found: Found, timing: Timing, begin: Begin) -> Round:
    state = FOUND.put(round.state, Looked(round.number))
    before = state.labels
    if found.remember is None:
        after = renumbered(state, found)
    else:  # what is remembered speaks of the flocks by the numbers they were found with
        state = found.remember(state)
        after = np.full(state.clients, UNPLACED)
        after[found.clients] = found.labels
    if found.flocks <= 1:  # nothing to tell apart: nobody is left without a flock
        after = np.where(state.free, after.max(initial=0), UNPLACED)
    if not np.array_equal(after, before):
        sizes = np.bincount(found.labels).tolist()
        told = f"{len(sizes)} flocks among {len(found.clients)} clients"
        round = round.noted(
            events=[Event("flocks", told, detail={"sizes": sizes, **found.detail, **found.facts})]
        )
    elif found.flocks <= 1 and state.flocks == 1 and not timing.look(state, round.number + 1):
        round = round.noted(events=[Event("alike", _alike(len(found.clients)), detail=dict(found.facts))])
    return round.to(replace(state, labels=after, models=begin(state, after)))


def _alike(compared: int) -> str:
    if not compared:
        return "nothing is known that tells clients apart: one flock"
    return f"{compared} clients look alike: one flock"


def _noted(round: Round, found: Found) -> Round:
    """Put what was found on the record, with the similarities of all clients."""
    arrays = dict(found.arrays)
    if found.compared is not None and found.square is not None:
        arrays["similarity"] = np.clip(found.square, -_FURTHEST, _FURTHEST).astype(np.float32)
        arrays["similarity_clients"] = found.compared
    elif found.square is not None:
        clients = round.state.clients
        everyone = np.full((clients, clients), np.nan, dtype=np.float32)
        # A liar may be further off than float32 can say.
        everyone[np.ix_(found.clients, found.clients)] = np.clip(found.square, -_FURTHEST, _FURTHEST)
        arrays["similarity"] = everyone
    return round.noted(facts=found.facts, arrays=arrays)


Part = Callable[[Round, int, Found], Round]  # what becomes of a flock in which several were found


def split_flocks(
    evidence: EvidenceSource, grouping: Grouping, part: Part, timing: Timing = EVERY_ROUND, remarks: Sequence[Remark] = ()
) -> Stage:  # fmt: skip
    """Look inside each flock by itself, when it is time; `part` says what becomes of one that falls apart."""

    def run(round: Round) -> Round:
        if not timing.look(round.state, round.number):
            return round
        known = evidence.known(round)
        round = round.to(LOOKED.put(round.state, Looked(round.number)))
        told: dict[str, float] = {}
        closest = np.inf
        for flock in flocks_in(round.state.labels[known.clients]):
            state = round.state
            members = np.flatnonzero((state.labels[known.clients] == flock) & state.free[known.clients])
            found = grouping.find(known.of(members), round)
            round = round.noted(arrays=found.arrays)
            if found.call is None or found.call < closest:
                told |= found.facts
                closest = closest if found.call is None else found.call
            if found.flocks > 1:
                round = part(round, int(flock), found)
        return round.noted(facts=told)

    return stage(
        "split flocks", run, [REPLIES, *evidence.needs], remarks=remarks, whole="",
        relabels=False, **_comparing(evidence, grouping),
    )  # fmt: skip


def all_go_on(round: Round, flock: int, found: Found, begin: Begin = inherited) -> Round:
    """Every part is a flock of its own."""
    after = split_inside(round.state, flock, found, keep_stragglers=False)
    gone = found.clients[after[found.clients] != flock]
    detail = {"flock": flock, "clients": gone.tolist(), **found.facts}
    round = round.noted(
        events=[Event("split", f"flock {flock} split: {len(gone)} clients leave", detail=detail)]
    )
    state = FOUND.put(round.state, Looked(round.number))
    return round.to(replace(state, labels=after, models=begin(state, after)))


def largest_goes_on(round: Round, flock: int, found: Found) -> Round:
    """All but the largest part are set apart, as the paper does it, but no majority is.

    Each split keeps the larger part of those that are left, so split after split might leave a few of many. Where more than
    half of all clients would be apart, nobody else is: the flock goes on as it is, and an alarm calls a person.
    """
    after = split_inside(round.state, flock, found, keep_stragglers=True)
    gone = found.clients[after[found.clients] != flock]
    detail = {"flock": flock, "clients": gone.tolist(), **found.facts}
    apart = round.state.apart.copy()
    apart[gone] = QUARANTINED
    out = int(np.sum(apart != FREE))
    if 2 * out > len(apart):
        told = f"{out} of {len(apart)} clients would be set apart, a majority: a person must decide"
        return round.noted(events=[Event("alarm", told, detail=detail)])
    labels = np.where(apart == FREE, round.state.labels, UNPLACED)
    said = f"{len(gone)} clients set apart from flock {flock}{FOR_BEING_FEWER}"
    return round.noted(events=[Event("quarantine", said, detail=detail)]).to(
        replace(round.state, labels=labels, apart=apart)
    )
