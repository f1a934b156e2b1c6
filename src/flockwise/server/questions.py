"""What the server asks clients' validation data before it closes a round.

Test data never steers anything here: a client scores models on validation data of its own.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from flockwise.messages import ROOT, Event, Plan, Scores, Task
from flockwise.pieces.state import QUARANTINED, UNPLACED, State, all_alike, flocks_in
from flockwise.server.method import Method
from flockwise.types import Labels, Models

Answer = Callable[[State, Sequence[Scores]], tuple[State, list[Event]]]


@dataclass(frozen=True)
class Question:
    """Models to be scored by some clients, and what to do with the scores."""

    name: str
    models: Models
    clients: Labels
    answer: Answer

    def plan(self, round: int) -> Plan:
        """The question as a plan."""
        rows = tuple(range(len(self.models)))
        return Plan(round, "validate", self.models, tuple(Task(int(client), rows) for client in self.clients))


def questions(method: Method, state: State, asked: Set[str]) -> Iterator[Question]:
    """The next question of this round that has not been asked yet, if any."""
    found = int(state.memory["found/round"][0]) if "found/round" in state.memory else None
    if found is None:
        return
    now = state.round + 1
    if "rollback" not in asked and method.recovery and state.flocks > 1 and now == found:
        yield _rollback(state)
    elif "judge" not in asked and method.judge and state.flocks > 1 and method.judge.sits(now - found):
        yield _judge(method, state)
    elif (
        "place" not in asked
        and method.place == "validation"
        and len(clients := _to_place(method, state, found))
    ):
        yield _place(method, state, clients)


def _alive(state: State) -> Labels:
    return flocks_in(state.labels[state.free])


def _to_place(method: Method, state: State, found: int) -> Labels:
    """Everyone without a flock in the round after flocks are found; else, this round's clients without one.

    New flocks often share one model at first, and then nobody can tell which one suits.
    """
    if state.flocks > 1 and all_alike(state.models[_alive(state)]):
        return np.zeros(0, np.int64)
    here = np.isin(np.arange(state.clients), state.memory["batch/clients"])
    lost = (state.labels == UNPLACED) & state.free
    if state.round + 1 not in (found, found + 1):
        lost &= here
    if method.follow is not None and state.flocks > 1:
        lost |= here & state.free
    return (
        np.flatnonzero(lost)
        if state.flocks > 1 or (state.labels[lost] == UNPLACED).any()
        else np.zeros(0, np.int64)
    )


def _place(method: Method, state: State, clients: Labels) -> Question:
    alive = _alive(state)

    def answer(state: State, scores: Sequence[Scores]) -> tuple[State, list[Event]]:
        labels, events = state.labels.copy(), []
        blind = state.memory.get("place/blind", np.zeros(state.clients, dtype=bool)).copy()
        for score in scores:
            blind[score.client] = np.isnan(score.accuracies).all()
            if blind[score.client]:
                continue  # no validation data: it will choose when it trains
            order = sorted(range(len(alive)), key=lambda model: _quality(score, model), reverse=True)
            if len(alive) > 1 and _quality(score, order[0]) == _quality(score, order[1]):
                continue  # no telling yet
            best = int(alive[order[0]])
            own = labels[score.client]
            if own == UNPLACED:
                events.append(Event("placed", f"fits flock {best} best", score.client, {"flock": best}))
            elif best == own or max(score.accuracies) - score.accuracies[
                int(np.searchsorted(alive, own))
            ] <= (method.follow or 0.0):
                continue
            else:
                events.append(Event("moved", f"moved from flock {own} to {best}", score.client,
                                    {"from": int(own), "to": best, "accuracies": list(score.accuracies)}))  # fmt: skip
            labels[score.client] = best
        return replace(state, labels=labels).remember(**{"place/blind": blind}), events

    return Question("place", state.models[alive], clients, answer)


def _judge(method: Method, state: State) -> Question:
    alive, judge = _alive(state), method.judge
    assert judge is not None
    asked = {
        "largest": np.zeros(0, np.int64),
        "root": np.array([ROOT]),
        "validation": np.flatnonzero(state.free),
    }

    def answer(state: State, scores: Sequence[Scores]) -> tuple[State, list[Event]]:
        marks: dict[int, float] = {}
        for position, flock in enumerate(alive.tolist()):
            if judge.kind == "largest":
                marks[flock] = float(np.sum((state.labels == flock) & state.free))
                continue
            own = [
                s.accuracies[position] for s in scores if s.client == ROOT or state.labels[s.client] == flock
            ]
            marks[flock] = float(np.nanmean(own)) if own and not np.isnan(own).all() else float("nan")
        hostile = judge.hostile(marks)
        gone = np.isin(state.labels, hostile) & state.free
        if not gone.any():
            return state, [
                Event("judged", f"no flock is hostile by {judge.kind}", detail={"marks": _named(marks)})
            ]
        detail = {"judge": judge.kind, "marks": _named(marks),
                  "clients": np.flatnonzero(gone).tolist()}  # fmt: skip
        event = Event(
            "quarantine",
            f"{int(gone.sum())} clients set apart: judged hostile by {judge.kind}",
            detail=detail,
        )
        apart = np.where(gone, QUARANTINED, state.apart).astype(np.int8)
        labels = np.where(gone, UNPLACED, state.labels)
        return replace(state, apart=apart, labels=labels), [event]

    return Question("judge", state.models[alive], asked[judge.kind], answer)


def _quality(score: Scores, model: int) -> tuple[float, float]:
    """Accuracy; among equals, which are frequent on few samples, the loss."""
    loss = score.losses[model] if score.losses and np.isfinite(score.losses[model]) else np.inf
    return score.accuracies[model], -loss


def _named(marks: dict[int, float]) -> dict[str, float]:
    return {f"flock {flock}": mark for flock, mark in marks.items()}


def _coarse(accuracy: float) -> int:
    """Accuracies within two points count as equal; then the loss decides, which also tells ruin from chance."""
    return round(accuracy / 0.02)


def _loss(scores: Sequence[Scores], model: int) -> float:
    # The median, so that no single client can make a model look ruined or fine.
    losses = [s.losses[model] if np.isfinite(s.losses[model]) else np.inf for s in scores if s.losses]
    return float(np.median(losses)) if losses else float("inf")


def _rollback(state: State) -> Question:
    alive = _alive(state)
    rounds = state.memory.get("snapshot/rounds", np.zeros(0, np.int64))
    past = state.memory.get("snapshot/models", np.zeros((0, state.models.shape[1]), np.float32))

    def answer(state: State, scores: Sequence[Scores]) -> tuple[State, list[Event]]:
        models, events = state.models.copy(), []
        for position, flock in enumerate(alive.tolist()):
            own = [s for s in scores if state.labels[s.client] == flock and not np.isnan(s.accuracies).all()]
            if not own or not len(past):
                continue
            # The median, here and of the losses, so that no single client decides.
            typical = np.nanmedian([s.accuracies for s in own], axis=0).tolist()
            here = len(past) + position
            best = max(
                [*range(len(past)), here], key=lambda model: (_coarse(typical[model]), -_loss(own, model))
            )
            if best != here:
                models[flock] = past[best]
                events.append(Event("rollback", f"flock {flock} goes back to round {int(rounds[best])}", detail={
                    "flock": flock, "round": int(rounds[best]), "accuracy": float(typical[best]),
                    "instead_of": float(typical[here])}))  # fmt: skip
        return replace(state, models=models), events

    return Question(
        "rollback", np.concatenate([past, state.models[alive]]), np.flatnonzero(state.free), answer
    )
