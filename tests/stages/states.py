"""Small states, batches and rounds for testing one stage at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flockwise.messages import Plan, Replies, Scores
from flockwise.stages import Known, Round, Setting, Stage, State
from flockwise.stages.batch import Batch
from flockwise.stages.stage import Admitted
from flockwise.stages.state import Slot, first_state


def state(
    labels: Any, models: int | None = None, dimension: int = 3, apart: Any = None, round: int = 0,
    memory: Sequence[tuple[Slot[Any], Any]] = (),
) -> State:  # fmt: skip
    """A state with these labels; model k is filled with the number k."""
    labels = np.asarray(labels, dtype=np.int64)
    count = models if models is not None else int(labels.max(initial=0)) + 1
    rows = np.repeat(np.arange(count, dtype=np.float32)[:, None], dimension, axis=1)
    start = first_state(rows, len(labels))
    away = np.zeros(len(labels), np.int8) if apart is None else np.asarray(apart, np.int8)
    made = State(round, start.models, labels, away)
    for slot, value in memory:
        made = slot.put(made, value)
    return made


def batch(
    clients: Any, updates: Any, round: int = 1, *, origins: Any = None, losses: Any = None, chosen: Any = None,
    rows: Any = None, sent: Any = None,
) -> Batch:  # fmt: skip
    """Replies of these clients, all sent a model of zeros if not told otherwise."""
    clients, updates = np.asarray(list(clients), np.int64), np.asarray(updates, np.float32)
    count = len(clients)
    replies = Replies(
        round, clients, updates, np.ones(count, np.int64),
        np.zeros(count, np.int64) if chosen is None else np.asarray(chosen, np.int64),
        np.zeros(count) if losses is None else np.asarray(losses, float),
        np.full((count, 3), np.nan) if origins is None else np.asarray(origins, float),
    )  # fmt: skip
    models = np.zeros((1, updates.shape[1]), np.float32) if sent is None else np.asarray(sent, np.float32)
    where = np.zeros(count, np.int64) if rows is None else np.asarray(rows, np.int64)
    return Batch(replies, np.ones(count), where, models)


def a_round(before: State, replies: Batch | None = None, **setting: Any) -> Round:
    """The round after this state, with these replies in."""
    return Round(before, Setting(**setting), batch=replies)


def after(stage: Stage, round: Round) -> Round:
    """The round after a stage that asks nobody anything."""
    steps = stage.run(round)
    try:
        plan = next(steps)
    except StopIteration as done:
        return done.value
    raise AssertionError(f"{stage} asks {len(plan.tasks)} clients to {plan.kind}")


def asked(stage: Stage, round: Round, answers: Any) -> tuple[Plan, Round]:
    """What a stage asks, and the round after these answers to it."""
    steps = stage.run(round)
    plan = next(steps)
    try:
        steps.send(Admitted(answers))
    except StopIteration as done:
        return plan, done.value
    raise AssertionError(f"{stage} asks again")


def scored(accuracies: dict[int, tuple[float, ...]], round: int = 1) -> tuple[Scores, ...]:
    """Answers to a validation plan."""
    return tuple(Scores(client, round, told, 10) for client, told in accuracies.items())


def known(rows: Any) -> Known:
    """What is known of clients 0, 2, 4, ..."""
    rows = np.asarray(rows, np.float32)
    return Known(np.arange(len(rows)) * 2, lambda: rows)


def flocks_of_updates(
    sizes: Sequence[int], noise: float = 0.3, dimension: int = 60, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Updates of clients in flocks, and the flock of each."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centers = rng.normal(size=(len(sizes), dimension))
    return centers[truth] + noise * rng.normal(size=(len(truth), dimension)), truth
