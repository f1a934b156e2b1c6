"""The stage that lets clients whom a judge set apart take part again after a while: nobody is lost by one mistake."""

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from flockwise.messages import Event
from flockwise.options import Count
from flockwise.stages.stage import Round, Stage, nothing, stage
from flockwise.stages.state import FREE, QUARANTINED, UNPLACED, Slot

Parole = Annotated[
    Count | None, "rounds after which a client set apart may try again; doubled each time; none: never"
]
_MOST_DOUBLINGS = 16


class Sentences(NamedTuple):
    """The round in which each client may try again (0: none is set), and how often it was set apart."""

    until: np.ndarray
    times: np.ndarray


_SENTENCES = Slot("sentences", Sentences)


def parole(after: int | None) -> Stage:
    """Clients that a judge set apart are free again `after` rounds later, twice as many after each further time.

    A client that is let in is without a flock: its update counts nowhere until its validation data have placed it. Whom a
    person set apart, a person lets in again. Put it behind the judge and before clients are placed.
    """
    if after is None:
        return nothing

    def run(round: Round) -> Round:
        state = round.state
        zeros = np.zeros(state.clients, dtype=np.int64)
        until, times = _SENTENCES.get(state) or Sentences(zeros, zeros)
        out = state.apart == QUARANTINED
        fresh = out & (round.start.apart == FREE)
        times = times + fresh
        length = after * 2 ** np.clip(times - 1, 0, _MOST_DOUBLINGS)
        until = np.where(fresh, round.number + length, until)
        due = np.flatnonzero(out & (until > 0) & (until <= round.number))
        until = np.where(out, until, 0)
        until[due] = 0
        apart, labels = state.apart.copy(), state.labels.copy()
        apart[due], labels[due] = FREE, UNPLACED
        told = [Event("released", "may take part again after its time apart", int(client)) for client in due]
        state = _SENTENCES.put(replace(state, apart=apart, labels=labels), Sentences(until, times))
        return round.noted(events=told).to(state)

    return stage("parole", run)
