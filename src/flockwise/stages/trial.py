"""The stages that put clients on trial who come into another flock by their own word.

Nobody can check what a client says of its validation data: liars that were split off would be back among the honest at
once, again and again. So who moves trains with its new flock's model, but does not count in its average, and has no voice
when the flock is judged, until what it sends has gone along with the others' in some rounds; twice as many after each
further move. Clients that are heard for the first time are on no trial: they have left nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flockwise.kernels.combine import squared_lengths
from flockwise.messages import Event
from flockwise.stages.evidence import EvidenceSource, Known
from flockwise.stages.stage import REPLIES, Round, Stage, Steps, stage
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in
from flockwise.types import Clients, Mask

PROOFS = 3  # rounds in which a client that has moved must look like the others of its flock
FEWEST = 3  # others that tell how much members differ
MOST = 1000  # others that a client is compared with
_MOST_DOUBLINGS = 16


class Trials(NamedTuple):
    """Of each client: in how many rounds it still has to look like the others, how often it has moved, and whether it has
    ever counted in a flock."""

    left: np.ndarray
    moves: np.ndarray
    counted: np.ndarray


_TRIALS = Slot("trials", Trials, {"left": 0, "moves": 0, "counted": False})


def on_trial(state: State) -> Mask:
    """Who is; nobody, where no stage puts anybody on trial."""
    return np.asarray(_of(state).left > 0)


@dataclass(frozen=True)
class Trial:
    """Holds back those who have moved until they look like the others of their flock, by this evidence."""

    evidence: EvidenceSource
    proofs: int = PROOFS

    def of_movers(self, placing: Stage) -> Stage:
        """The same stage; whom it puts into another flock is on trial there."""

        def run(round: Round) -> Steps:
            before = round.state.labels
            round = yield from placing.run(round)
            return round.to(self._begun(round.state, before))

        return replace(placing, run=run)

    @property
    def hold_back(self) -> Stage:
        """What clients on trial have sent does not count. Put it before the average and behind what splits flocks.

        In a flock of nobody else they are the flock: their trial is over.
        """

        def run(round: Round) -> Round:
            # Who had no flock when the round began may have chosen one since.
            lost = round.start.labels == UNPLACED
            state = self._begun(round.state, np.where(lost, UNPLACED, round.state.labels))
            clients = round.replies.clients
            held = _of(state)
            left, counted = held.left.copy(), held.counted.copy()
            if (left[clients] > 0).any():
                known = self.evidence.known(round)
                lengths = np.full(state.clients, np.nan)  # of what was sent in this round
                lengths[clients] = np.sqrt(squared_lengths(round.replies.replies.updates))
                for flock in flocks_in(state.labels[clients[left[clients] > 0]]):
                    _tried(state, int(flock), known, lengths, left)
            taken = left[clients] == 0
            counted[clients[taken & (state.labels[clients] != UNPLACED)]] = True
            passed = np.flatnonzero((held.left > 0) & (left == 0))
            state = _TRIALS.put(state, held._replace(left=left, counted=counted))
            rest = round.replies.of(taken)
            round = round.noted(events=_told(clients[~taken], passed))
            return round.to(state, batch=rest if len(rest.clients) else None)

        return stage("hold movers back", run, [REPLIES, *self.evidence.needs], relabels=False)

    def _begun(self, state: State, before: np.ndarray) -> State:
        """The trials of those that are in another flock than before, if they have counted in one."""
        left, moves, counted = _of(state)
        moved = (state.labels != before) & (state.labels != UNPLACED) & counted
        moves = moves + (moved & (left == 0))  # who did not count yet has left nobody
        rounds = self.proofs * 2 ** np.clip(moves - 1, 0, _MOST_DOUBLINGS)
        return _TRIALS.put(state, Trials(np.where(moved, rounds, left), moves, counted))


def _of(state: State) -> Trials:
    zeros = np.zeros(state.clients, dtype=np.int64)
    return _TRIALS.get(state) or Trials(zeros, zeros, np.zeros(state.clients, dtype=bool))


def _tried(state: State, flock: int, known: Known, lengths: np.ndarray, left: np.ndarray) -> None:
    """One round of the trials in a flock: those heard in it who look like the others, and are not louder than twice the
    loudest of these, have one less to go."""
    members = (state.labels == flock) & state.free
    settled = members & (left == 0)
    if not settled.any():
        left[members] = 0
        return
    heard = lengths[settled & ~np.isnan(lengths)]
    loudest = 2 * heard.max() if len(heard) else np.inf
    trying = members & (left > 0) & (lengths <= loudest)  # who was not heard is not
    rows, others = np.flatnonzero(trying[known.clients]), np.flatnonzero(settled[known.clients])[:MOST]
    if len(rows) and len(others):
        alike = looks_alike(known.of(others).rows, known.of(rows).rows)
        left[known.clients[rows[alike]]] -= 1


def looks_alike(members: np.ndarray, rows: np.ndarray) -> Mask:
    """Which rows point along the members, and not away from them twice as far as the oddest of these does."""
    units = _units(members)
    total, count = units.sum(axis=0), len(units)
    along = _units(rows) @ total / count
    if count < FEWEST:
        return np.asarray(along > 0)
    inside = (units @ total - np.einsum("ij,ij->i", units, units)) / (count - 1)  # not with itself
    return np.asarray(along > max(0.0, 2 * inside.min() - inside.mean()))


def _units(rows: np.ndarray) -> np.ndarray:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None], dtype=np.float64)


def _told(held: Clients, passed: Clients) -> Sequence[Event]:
    events = []
    if len(held):
        said = f"{len(held)} clients that moved are on trial: what they sent does not count"
        events.append(Event("trial", said, detail={"clients": held.tolist()}))
    if len(passed):
        said = f"{len(passed)} clients that moved count in their flock from now on"
        events.append(Event("settled", said, detail={"clients": passed.tolist()}))
    return events
