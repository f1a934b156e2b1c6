"""The stages that let clients whom a judge set apart take part again after a while: nobody is lost by one mistake.

Who comes back has to prove itself: in its first rounds inside a flock its update counts only if it looks like the others'.
"""

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.gram import gram
from flockwise.messages import Event
from flockwise.options import Count
from flockwise.stages.stage import REPLIES, Round, Stage, nothing, stage
from flockwise.stages.state import FREE, QUARANTINED, UNPLACED, Slot, State, flocks_in
from flockwise.types import Updates

Parole = Annotated[
    Count | None, "rounds after which a client set apart may try again; doubled each time; none: never"
]
PROOFS = 3  # rounds in which a client that is back must look like the others of its flock
FEWEST = 3  # members that it can be compared with
_MOST_DOUBLINGS = 16


class Sentences(NamedTuple):
    """Of each client: the round in which it may try again (0: none is set), how often it was set apart, and in how
    many rounds it still has to prove itself.
    """

    until: np.ndarray
    times: np.ndarray
    proofs: np.ndarray


_SENTENCES = Slot("sentences", Sentences, {"until": 0, "times": 0, "proofs": 0})


def _of(state: State) -> Sentences:
    zeros = np.zeros(state.clients, dtype=np.int64)
    return _SENTENCES.get(state) or Sentences(zeros, zeros, zeros)


def parole(after: int | None) -> Stage:
    """Clients that a judge set apart are free again `after` rounds later, twice as many after each further time.

    A client that is let in is without a flock: its update counts nowhere until its validation data have placed it. Whom a
    person set apart, a person lets in again. Put it behind the judge and before clients are placed.
    """
    if after is None:
        return nothing

    def run(round: Round) -> Round:
        state = round.state
        until, times, proofs = _of(state)
        out = state.apart == QUARANTINED
        fresh = out & (round.start.apart == FREE)
        times = times + fresh
        length = after * 2 ** np.clip(times - 1, 0, _MOST_DOUBLINGS)
        until = np.where(fresh, round.number + length, until)
        due = np.flatnonzero(out & (until > 0) & (until <= round.number))
        until = np.where(out, until, 0)
        until[due] = 0
        proofs = np.where(out, 0, proofs)
        apart, labels = state.apart.copy(), state.labels.copy()
        apart[due], labels[due], proofs[due] = FREE, UNPLACED, PROOFS
        told = [Event("released", "may take part again after its time apart", int(client)) for client in due]
        state = _SENTENCES.put(replace(state, apart=apart, labels=labels), Sentences(until, times, proofs))
        return round.noted(events=told).to(state)

    return stage("parole", run)


def probation(after: int | None) -> Stage:
    """Clients on parole that do not look like the others of their flock are set apart again, before anything is averaged."""
    if after is None:
        return nothing

    def run(round: Round) -> Round:
        state, batch = round.state, round.replies
        held = _of(state)
        proving = (held.proofs > 0) & state.free
        if not proving[batch.clients].any():
            return round
        proofs, apart, labels = held.proofs.copy(), state.apart.copy(), state.labels.copy()
        for flock in flocks_in(state.labels[batch.clients]):
            rows = np.flatnonzero(state.labels[batch.clients] == flock)
            back = proving[batch.clients[rows]]
            if back.any() and np.sum(~back) >= FEWEST:
                odd = back & unlike(batch.updates[rows], ~back)
                gone, passed = batch.clients[rows[odd]], batch.clients[rows[back & ~odd]]
                apart[gone], labels[gone], proofs[gone] = QUARANTINED, UNPLACED, 0
                proofs[passed] -= 1
        gone = np.flatnonzero(apart != state.apart)
        events = []
        if len(gone):
            told = f"{len(gone)} clients on parole set apart again: unlike the others of their flock"
            events = [Event("quarantine", told, detail={"clients": gone.tolist()})]
        state = _SENTENCES.put(replace(state, apart=apart, labels=labels), held._replace(proofs=proofs))
        return round.noted(events=events).to(state)

    return stage("probation", run, [REPLIES])


def unlike(updates: Updates, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Who is more than twice as long as any member, or points away from them twice as far as the oddest of them does."""
    products = gram(np.ascontiguousarray(updates))
    lengths = np.sqrt(products.diagonal())
    scale = np.where(lengths > 0, lengths, 1.0)
    cosines = products / scale / scale[:, None]
    np.fill_diagonal(cosines, 0.0)
    alike = cosines[:, members].sum(axis=1) / (
        members.sum() - members
    )  # a member is not compared with itself
    typical, oddest = alike[members].mean(), alike[members].min()
    return np.asarray((lengths > 2 * lengths[members].max()) | (alike < 2 * oddest - typical))
