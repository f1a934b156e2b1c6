"""The stage that sets hostile flocks apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from flockwise.messages import ROOT, Event, Scores
from flockwise.options import Natural
from flockwise.stages.place import scoring_plan
from flockwise.stages.schedule import FOUND
from flockwise.stages.stage import Round, Stage, Steps, ask, nothing
from flockwise.stages.state import QUARANTINED, UNPLACED, State, flocks_in

# The options that strategies with a judge share.
JudgeName = Annotated[Literal["none", "largest", "root", "validation"], "who says which flocks are hostile"]
JudgeAfter = Annotated[Natural | None, "judge flocks every so many rounds after finding them"]
JudgeRatio = Annotated[float, Field(gt=0, le=1), "hostile below this share of the best flock's accuracy"]


@dataclass(frozen=True)
class Judge:
    """Says which flocks are hostile, every `after` rounds from the round in which they were found.

    largest: all but the largest flock. Assumes that the honest are one flock and the biggest.
    root: flocks whose model does badly on a small clean set the server holds. Assumes that the set is of
      the honest clients' kind; honest flocks of another kind are condemned with the wolves.
    validation: flocks whose model does badly on its own members' validation data. Assumes that members
      report honestly; right even when wolves are the majority, as long as their model is ruined.

    "Badly" is below `ratio` times the best flock's accuracy.
    """

    kind: Literal["largest", "root", "validation"] = "largest"
    after: int = 0
    ratio: float = 0.5

    def sits(self, since: int) -> bool:
        """Whether to judge, this many rounds after flocks were found; more than once, as ruin takes time."""
        return since == 0 if self.after == 0 else since > 0 and since % self.after == 0

    def hostile(self, accuracy: Mapping[int, float]) -> list[int]:
        """The hostile flocks, given each flock's accuracy (or size, for `largest`)."""
        heard = {flock: value for flock, value in accuracy.items() if not np.isnan(value)}
        if len(heard) < 2:
            return []
        best = max(sorted(heard), key=lambda flock: heard[flock])
        if self.kind == "largest":
            return [flock for flock in sorted(heard) if flock != best]
        return [flock for flock in sorted(heard) if heard[flock] < self.ratio * heard[best]]


def judge_flocks(name: JudgeName, after: int | None = None, ratio: float = 0.5) -> Stage:
    """Flocks that the judge calls hostile are set apart; one that looks at accuracy waits until flocks have trained."""
    if name == "none":
        return nothing
    judge = Judge(name, after if after is not None else (0 if name == "largest" else 5), ratio)

    def run(round: Round) -> Steps:
        state, found = round.state, FOUND.get(round.state)
        if not found or state.flocks <= 1 or not judge.sits(round.number - found.round):
            return round
        scores: Sequence[Scores] = ()
        alive = flocks_in(state.labels[state.free])
        if judge.kind != "largest":
            asked = [ROOT] if judge.kind == "root" else np.flatnonzero(state.free)
            round, scores = yield from ask(round, scoring_plan(round, state.models[alive], asked))
        return _sentenced(round, judge, _marks(state, judge, alive.tolist(), scores))

    return Stage(f"judge by {name}", run)


def _marks(state: State, judge: Judge, alive: list[int], scores: Sequence[Scores]) -> dict[int, float]:
    """Each flock's accuracy by the judge's witnesses; its size where only that counts."""
    marks = {}
    for place, flock in enumerate(alive):
        if judge.kind == "largest":
            marks[flock] = float(np.sum((state.labels == flock) & state.free))
            continue
        own = [s.accuracies[place] for s in scores if s.client == ROOT or state.labels[s.client] == flock]
        marks[flock] = float(np.nanmean(own)) if own and not np.isnan(own).all() else float("nan")
    return marks


def _sentenced(round: Round, judge: Judge, marks: dict[int, float]) -> Round:
    state = round.state
    named = {f"flock {flock}": mark for flock, mark in marks.items()}
    gone = np.isin(state.labels, judge.hostile(marks)) & state.free
    if not gone.any():
        return round.noted(
            events=[Event("judged", f"no flock is hostile by {judge.kind}", detail={"marks": named})]
        )
    detail = {"judge": judge.kind, "marks": named, "clients": np.flatnonzero(gone).tolist()}
    told = f"{int(gone.sum())} clients set apart: judged hostile by {judge.kind}"
    apart = np.where(gone, QUARANTINED, state.apart).astype(np.int8)
    labels = np.where(gone, UNPLACED, state.labels)
    return round.noted(events=[Event("quarantine", told, detail=detail)]).to(
        replace(state, apart=apart, labels=labels)
    )
