"""Models of clients' own for nothing: the flock's, one step further along the client's course.

A course (`stages/course.py`) is where a client pulls round after round. What it shares with its flock is in the flock's
model already; what is its own, such as the few labels it holds, is not. One mean update further along, the flock's model is
the client's own, as a round of fine-tuning would make it, but without the noise of a single round, and without training.

Only who is better off has it, by its own validation data; everybody else, and whoever is new, has the flock's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flockwise.messages import Event, Plan, Scores, Task
from flockwise.scoring import Scoring
from flockwise.stages.attribution import Attribution, SendsOne, own_flock, with_own
from flockwise.stages.course import COURSES, PAST
from flockwise.stages.sketching import sketcher_of
from flockwise.stages.stage import Holds, Round, Setting, Stage, Steps, ask
from flockwise.stages.state import UNPLACED, Slot, State, flocks_in
from flockwise.stages.train import HEARD
from flockwise.types import Clients, Models, Rows

NOBODYS = UNPLACED - 1  # the flock of who has no model of its own
CLEAR = 1.5  # standard deviations of a score beyond which it is hardly chance
_ROOM = 64  # models beside one for each client that engines have room for


class Owned(NamedTuple):
    """By client: the flock in which it has a model of its own, and the round in which it was last asked."""

    flock: np.ndarray
    asked: np.ndarray


_OWNED = Slot("own steps", Owned, {"flock": NOBODYS, "asked": 0})


@dataclass(frozen=True)
class OwnStep(SendsOne):
    """The flock's model, or one step further along the client's course where that serves it better."""

    every: int = 5  # rounds after which a client is asked again
    before: Attribution = own_flock

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The flocks' models, then those of the clients that have their own."""
        models, rows = self.before.assign(state, setting)
        owned = _OWNED.get(state)
        if owned is None:
            return models, rows
        own = np.flatnonzero((owned.flock == state.labels) & _has_course(state, 1))
        own = own[: max(state.clients + _ROOM - len(models), 0)]
        if not len(own):
            return models, rows
        return with_own(models, rows, own, _further(state, setting, own))

    @property
    def choose(self) -> Stage:
        """The stage in which this round's clients say which of the two serves them better; put it last.

        Updates that are sketched have no course that a model could be moved along: there everybody has the flock's.
        """

        def run(round: Round) -> Steps:
            state, heard = round.state, HEARD.get(round.state)
            if heard is None or sketcher_of(round.setting, state.clients, state.models.shape[1]):
                return round
            zeros = np.zeros(state.clients, dtype=np.int64)
            owned = _OWNED.get(state) or Owned(zeros + NOBODYS, zeros)
            due = _has_course(state, PAST) & (round.number - owned.asked >= self.every)
            clients = heard.clients[due[heard.clients]]
            if not len(clients):
                return round
            round, scores = yield from ask(round, _either(round, clients))
            return _chosen(round, owned, scores)

        return Stage("own steps", run, holds=Holds(rows=1, sketched=1), relabels=False)


def _has_course(state: State, rounds: int) -> np.ndarray:
    """Who has a course of so many rounds in the flock that it is in."""
    held = COURSES.get(state)
    if held is None:
        return np.zeros(state.clients, dtype=bool)
    here = (held["home"] == state.labels) & (state.labels != UNPLACED) & state.free
    return np.asarray(here & (held["rounds"] >= rounds) & (held["length"] > 0))


def _further(state: State, setting: Setting, clients: Clients) -> Models:
    """The models of these clients' flocks, one mean update further along each course."""
    held = COURSES.get(state)
    assert held is not None
    lengths = np.minimum(held["length"][clients], np.finfo(np.float32).max)  # liars send anything
    steps = held["course"][clients] * lengths.astype(np.float32)[:, None]
    models, before = state.models[state.labels[clients]], 0  # a copy
    for start, stop in setting.learned or ((0, models.shape[1]),):
        with np.errstate(over="ignore"):  # a model out of bounds scores badly
            models[:, start:stop] += steps[:, before : before + stop - start]
        before += stop - start
    return models


def _either(round: Round, clients: Clients) -> Plan:
    """Each of these clients scores its flock's model and its own."""
    state = round.state
    flocks, rows = np.unique(state.labels[clients], return_inverse=True)
    models = np.concatenate([state.models[flocks], _further(state, round.setting, clients)])
    pairs = zip(rows.tolist(), range(len(flocks), len(models)), strict=True)
    tasks = [Task(client, pair) for client, pair in zip(clients.tolist(), pairs, strict=True)]
    return Plan(round.number, "validate", models, tuple(tasks))


def _chosen(round: Round, owned: Owned, scores: Sequence[Scores]) -> Round:
    """What a client says of itself must be clear; where it is clear of the whole flock, anything better is enough."""
    state, scoring = round.state, round.setting.scoring
    flock, asked = owned.flock.copy(), owned.asked.copy()
    told = [score for score in scores if not np.isnan(score.values).any()]
    labels = np.array([state.labels[score.client] for score in told], dtype=np.int64)
    gains = np.array([scoring.gain(*score.values) for score in told])
    bars = np.array([CLEAR * chance(score, scoring) for score in told])
    for home in flocks_in(labels).tolist():
        mine = labels == home
        if np.median(gains[mine]) > np.median(bars[mine]) / np.sqrt(mine.sum()):
            bars[mine] = 0.0
    for score, home, better in zip(told, labels.tolist(), (gains > bars).tolist(), strict=True):
        flock[score.client], asked[score.client] = home if better else NOBODYS, round.number
    here, before = flock == state.labels, owned.flock == state.labels
    round = round.to(_OWNED.put(state, Owned(flock, asked))).noted(facts={"own_models": float(here.sum())})
    if (here == before).all():
        return round
    said = f"{here.sum()} clients have a model of their own, which serves them better than their flock's"
    return round.noted(events=[Event("own", said, detail={"clients": np.flatnonzero(here).tolist()})])


def chance(score: Scores, scoring: Scoring) -> float:
    """What chance makes of the difference of two scores on so few samples, as one standard deviation.

    Of a share of samples that is known from the share itself; errors are taken to spread as much as their mean.
    """
    spread = 1.0
    if scoring.share:
        width = scoring.high - scoring.low
        mean = (float(np.mean(score.values)) - scoring.low) / width
        spread = width * float(np.sqrt(mean * (1 - mean)))
    return spread / float(np.sqrt(max(score.samples, 1)))
