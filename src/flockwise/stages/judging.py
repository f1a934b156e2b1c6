"""The stages that watch flocks for clients that turn, and set hostile ones apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from flockwise.kernels.stored import by_rows
from flockwise.messages import ROOT, Event, Scores
from flockwise.notes import Needs
from flockwise.options import Natural
from flockwise.rng import generator
from flockwise.scoring import ACCURACY, Scoring
from flockwise.stages.evidence import this_round
from flockwise.stages.grouping import SplitInTwo
from flockwise.stages.place import ASKS, scoring_plan
from flockwise.stages.regroup import all_go_on, split_flocks
from flockwise.stages.stage import Remark, Round, Stage, Steps, ask, nothing
from flockwise.stages.state import QUARANTINED, UNPLACED, State, flocks_in
from flockwise.stages.timing import FOUND, Timing
from flockwise.stages.trial import on_trial
from flockwise.types import Clients, Mask, Updates

MOST_WITNESSES = 1000  # members of a flock that a judge asks

# The options that strategies with a judge share.
JudgeName = Annotated[
    Literal["none", "largest", "root", "validation"],
    replace(ASKS, values=("validation",)),
    Needs("root.samples", "needs clean data on the server, such as 100", ("root",)),
    "who says which flocks are hostile",
]
JudgeAfter = Annotated[Natural | None, "judge flocks every so many rounds after finding them"]
JudgeRatio = Annotated[
    float,
    Field(gt=0, le=1),
    "hostile below this share of the best model's score (for errors: above it by as much)",
]


@dataclass(frozen=True)
class AfterFound(Timing):
    """Every round after the one in which flocks were looked for with a result, be it one flock; or from a round on."""

    at_latest: int | None = None

    def look(self, state: State, round: int) -> bool:
        """Once there has been time to find flocks."""
        found = FOUND.get(state)
        since = found.round if found else self.at_latest
        return since is not None and round > since


def watch_flocks(judge: JudgeName, at_latest: int | None = None) -> Stage:
    """Look inside each flock again in every round, and split off who turns against the others.

    A judge that looked only once would never see clients that behave until flocks are found. A split costs the
    innocent nothing: whoever is of another kind has a flock of its own. Put it before the replies are averaged.
    `at_latest` is for methods that may never find flocks: from that round on, everybody counts as one.
    """
    if judge == "none":
        return nothing
    turned = SplitInTwo(cohesion=0.1, beyond_noise=True)
    return split_flocks(this_round, turned, all_go_on, AfterFound(at_latest))


@dataclass(frozen=True)
class Judge:
    """Says which flocks are hostile, every `after` rounds from the round in which they were found.

    largest: all but the largest flock. Assumes that the honest are one flock and the biggest.
    root: flocks whose model does badly on a small clean set the server holds, measured by the best flock's. Assumes that
      the set is of the honest clients' kind; honest flocks of another kind are condemned with the wolves.
    validation: flocks whose own members say that their model is bad, and that another flock's would serve them far
      better. What others report about themselves condemns nobody: of a hostile flock only those are set apart who say so
      themselves, or liars that are the most of a flock could have the rest of it set apart.

    "Badly" is below `ratio` times the best, or an error above the best by as much. Whatever the judge says, half of all
    clients stay: a majority is set apart by a person, or not at all. In a hostile flock only those are set apart who pull
    where it goes; the others look for a flock.
    """

    kind: Literal["largest", "root", "validation"] = "largest"
    after: int = 0
    ratio: float = 0.5

    def sits(self, since: int) -> bool:
        """Whether to judge, this many rounds after flocks were found; more than once, as ruin takes time."""
        return since == 0 if self.after == 0 else since > 0 and since % self.after == 0

    def hostile(
        self, own: Mapping[int, float], best: Mapping[int, float], scoring: Scoring = ACCURACY
    ) -> list[int]:
        """The hostile flocks, given each flock's mark, and the best that it could have."""
        heard = [flock for flock in sorted(own) if not np.isnan(own[flock]) and not np.isnan(best[flock])]
        if len(heard) < 2:
            return []
        if self.kind == "largest":
            largest = max(heard, key=lambda flock: own[flock])
            return [flock for flock in heard if flock != largest]
        return [flock for flock in heard if scoring.falls_short(own[flock], best[flock], self.ratio)]


def judge_flocks(name: JudgeName, after: int | None = None, ratio: float = 0.5) -> Stage:
    """Clients that the judge calls hostile are set apart; one that looks at scores waits until flocks have trained."""
    if name == "none":
        return nothing
    judge = Judge(name, after if after is not None else (0 if name == "largest" else 5), ratio)

    def run(round: Round) -> Steps:
        state, found = round.state, FOUND.get(round.state)
        if not found or state.flocks <= 1 or not judge.sits(round.number - found.round):
            return round
        scores: Sequence[Scores] = ()
        asked: Sequence[int] | Clients = ()
        alive = flocks_in(state.labels[state.free])
        if judge.kind != "largest":
            asked = [ROOT] if judge.kind == "root" else witnesses(round, alive)
            round, scores = yield from ask(round, scoring_plan(round, state.models[alive], asked))
        scoring = round.setting.scoring
        own, best = _marks(state, judge, alive.tolist(), scores, scoring)
        hostile = judge.hostile(own, best, scoring)
        if judge.kind != "validation":
            return _sentenced(round, judge, own, hostile, np.ones(state.clients, dtype=bool))
        unheard = np.isin(state.labels, hostile) & state.free & ~np.isin(np.arange(state.clients), asked)
        if unheard.any():  # nobody is sentenced without having been asked
            plan = scoring_plan(round, state.models[alive], np.flatnonzero(unheard))
            round, more = yield from ask(round, plan)
            scores = [*scores, *more]
        return _sentenced(round, judge, own, hostile, _owning_up(state, judge, alive, scores, scoring))

    return Stage(
        f"judge by {name}", run, remarks=() if name == "validation" else (sets_minorities_apart(name),)
    )


def witnesses(round: Round, alive: Clients) -> Clients:
    """Whom a judge asks: everyone, or where flocks are very large some of each, drawn at random."""
    state = round.state
    members = {flock: np.flatnonzero((state.labels == flock) & state.free) for flock in alive.tolist()}
    if all(len(clients) <= MOST_WITNESSES for clients in members.values()):
        return np.flatnonzero(state.free)
    drawn = [
        generator(round.setting.seed, "witnesses", round.number, flock).permutation(clients)[:MOST_WITNESSES]
        for flock, clients in members.items()
    ]
    return np.sort(np.concatenate(drawn))


def sets_minorities_apart(who: str) -> Remark:
    """What a person should know who chose a method that takes honest clients of another kind for hostile ones."""

    def remark(state: State, rounds: int) -> str:
        assumption = {
            "root": "judge 'root' takes clients of another kind than the server's own data for hostile, honest or not",
            "largest": "judge 'largest' takes every flock but the largest for hostile, honest or not",
        }.get(who, f"{who} sets all but the largest part of each split apart, honest or not")
        apart = int((~state.free).sum())
        so_far = f"; {apart} clients are set apart" if apart else ""
        return f"{assumption}: only where all honest clients are of one kind{so_far}"

    return remark


def _marks(
    state: State, judge: Judge, alive: list[int], scores: Sequence[Scores], scoring: Scoring
) -> tuple[dict[int, float], dict[int, float]]:
    """How each flock does, and the best that its witnesses know: the root set's, or the typical member's own."""
    own, best = {}, {}
    silent = on_trial(state)  # who has just come does not speak for the flock
    for place, flock in enumerate(alive):
        if judge.kind == "largest":
            own[flock] = best[flock] = float(np.sum((state.labels == flock) & state.free))
            continue
        told = [
            s.values
            for s in scores
            if s.client == ROOT or (state.labels[s.client] == flock and not silent[s.client])
        ]
        told = [values for values in told if not np.isnan(values).all()]
        # The median, so that no single member decides.
        typical = np.median(told, axis=0) if told else np.full(len(alive), np.nan)
        own[flock], best[flock] = float(typical[place]), scoring.best(typical.tolist())
    return own, best


def _owning_up(
    state: State, judge: Judge, alive: Clients, scores: Sequence[Scores], scoring: Scoring
) -> Mask:
    """Who says of its own flock's model that another would serve it better.

    Half as much better as a flock's median must say: a single client has few samples, and its numbers are coarse.
    """
    said, ratio = np.zeros(state.clients, dtype=bool), (1 + judge.ratio) / 2
    for score in scores:
        here = score.values[int(np.searchsorted(alive, state.labels[score.client]))]
        known = [value for value in score.values if not np.isnan(value)]
        said[score.client] = bool(known) and scoring.falls_short(here, scoring.best(known), ratio)
    return said


def _sentenced(
    round: Round, judge: Judge, marks: Mapping[int, float], hostile: list[int], by_own_word: Mask
) -> Round:
    """Of the hostile flocks, those are set apart who may be by their own word and pull where the flock goes."""
    state = round.state
    named = {f"flock {flock}": mark for flock, mark in marks.items()}
    members = np.isin(state.labels, hostile) & state.free
    if not members.any():
        return round.noted(
            events=[Event("judged", f"no flock is hostile by {judge.kind}", detail={"marks": named})]
        )
    gone = members & by_own_word & ~_against(round, members)
    detail = {"judge": judge.kind, "marks": named, "clients": np.flatnonzero(gone).tolist()}
    if 2 * int(np.sum(~state.free | gone)) > state.clients:
        told = f"{int(gone.sum())} clients judged hostile by {judge.kind}, a majority: a person must decide"
        return round.noted(events=[Event("alarm", told, detail=detail)])
    told = f"{int(gone.sum())} clients set apart: judged hostile by {judge.kind}"
    kind = (
        "quarantine" if gone.any() else "judged"
    )  # a hostile flock of victims alone: all of them look for another
    apart = np.where(gone, QUARANTINED, state.apart).astype(np.int8)
    labels = np.where(members, UNPLACED, state.labels)  # who is not set apart looks for a flock
    return round.noted(events=[Event(kind, told, detail=detail)]).to(
        replace(state, apart=apart, labels=labels)
    )


def _against(round: Round, members: np.ndarray) -> np.ndarray:
    """The members of hostile flocks whose own update of this round opposes where their flock went: its victims.

    Only of a flock that they were in when the round began: one that was found in this round has not gone anywhere, and
    wolves oppose the flock that they are told apart from.
    """
    against = np.zeros_like(members)
    if round.batch is None:
        return against
    here, now = round.start.labels[round.batch.clients], round.state.labels[round.batch.clients]
    for flock in flocks_in(here[here == now]):
        rows = np.flatnonzero((here == flock) & (now == flock))
        moved = round.state.models[flock].astype(np.float64) - round.start.models[flock]
        along = by_rows(partial(_along, moved), round.batch.replies.updates[rows])
        against[round.batch.clients[rows]] = along < 0
    return np.asarray(against & members)


def _along(moved: np.ndarray, updates: Updates) -> np.ndarray:
    return np.asarray(updates.astype(np.float64) @ moved)
