"""A judge must not be turned against the innocent, and must not fall asleep."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flockwise as fw
from flockwise.messages import Event, Plan, Replies, Scores, bound
from flockwise.server import Server
from flockwise.stages.state import FREE, QUARANTINED
from flockwise.stages.timing import FOUND, Looked

CLIENTS = 20


def judged(
    flocks: list[int], accuracies: dict[int, list[float]], updates: np.ndarray | None = None
) -> tuple[Server, list[Event]]:
    """A server in the round in which its judge sits: each client scores the flocks' models as given."""
    method = fw.flic(judge="validation", judge_after=1)
    server = Server(method, np.ones((1, 8), np.float32), CLIENTS)
    labels, models = np.array(flocks), np.ones((max(flocks) + 1, 8), np.float32)
    models *= np.arange(1, len(models) + 1, dtype=np.float32)[:, None]
    server.state = FOUND.put(replace(server.state, round=20, labels=labels, models=models), Looked(19))
    plan, record = server.ask(), None
    rows = np.ones((CLIENTS, 8), np.float32) if updates is None else updates
    asked = np.array([task.client for task in plan.tasks])
    nothing = np.zeros(len(asked), np.int64)
    record = server.tell(
        Replies(
            plan.round,
            asked,
            rows[asked],
            nothing + 10,
            nothing,
            nothing * 0.1,
            np.full((len(asked), 3), np.nan),
        )
    )
    while record is None:
        record = server.tell(bound(_scored(server.ask(), accuracies)))
    return server, list(record.events)


def _scored(plan: Plan, accuracies: dict[int, list[float]]) -> list[Scores]:
    return [
        Scores(task.client, plan.round, tuple(accuracies[task.client][: len(task.models)]), 10)
        for task in plan.tasks
    ]


@pytest.mark.parametrize("honest", [0.05, 0.2, 0.4, 0.49, 0.9])
@pytest.mark.parametrize("liars", [1, 2, 3, 4])
def test_liars_that_praise_themselves_condemn_nobody(honest: float, liars: int) -> None:
    """They make a flock of their own and report an accuracy of 1; everybody else is far below."""
    flocks = [0] * (CLIENTS - liars) + [1] * liars
    said = {c: [honest, 0.1] if c < CLIENTS - liars else [0.0, 1.0] for c in range(CLIENTS)}
    server, _ = judged(flocks, said)
    assert (server.state.apart == FREE).all()


def test_a_flock_whose_own_members_say_that_it_is_ruined_is_set_apart() -> None:
    flocks = [0] * 14 + [1] * 6
    said = {c: [0.9, 0.1] for c in range(CLIENTS)}
    server, events = judged(flocks, said)
    assert np.flatnonzero(server.state.apart == QUARANTINED).tolist() == list(range(14, 20))
    assert [e.detail["clients"] for e in events if e.kind == "quarantine"] == [list(range(14, 20))]


def test_a_single_member_cannot_condemn_its_flock() -> None:
    flocks = [0] * 14 + [1] * 6
    said = {c: [0.9, 0.1] if c == 19 else ([0.9, 0.2] if c < 14 else [0.3, 0.8]) for c in range(CLIENTS)}
    assert (judged(flocks, said)[0].state.apart == FREE).all()


def test_a_majority_is_never_set_apart_without_a_person() -> None:
    flocks = [0] * 8 + [1] * 12
    server, events = judged(flocks, {c: [0.9, 0.1] for c in range(CLIENTS)})
    assert (server.state.apart == FREE).all()
    (alarm,) = [event for event in events if event.kind == "alarm"]
    assert alarm.detail["clients"] == list(range(8, 20)) and "a person must decide" in alarm.message


def test_a_victim_among_wolves_that_agree_is_split_off_at_once() -> None:
    flocks, updates = [0] * 14 + [1] * 6, np.ones((CLIENTS, 8), np.float32)
    updates[14:19], updates[19] = -3.0, 2.0
    server, events = judged(flocks, {c: [0.9, 0.1, 0.9] for c in range(CLIENTS)}, updates)
    assert server.state.apart[19] == FREE and server.state.labels[19] != server.state.labels[14]
    assert [event.detail["clients"] for event in events if event.kind == "split"] == [[19]]


def test_a_victim_among_wolves_that_differ_is_not_set_apart_with_them_but_looks_for_a_flock() -> None:
    """Its own update opposes where the wolves around it went."""
    flocks, updates = [0] * 14 + [1] * 6, np.ones((CLIENTS, 8), np.float32)
    updates[14:19], updates[19] = np.eye(5, 8), -0.5 * np.eye(5, 8).sum(axis=0)
    server, _ = judged(flocks, {c: [0.9, 0.1] for c in range(CLIENTS)}, 3 * updates)
    assert np.flatnonzero(server.state.apart == QUARANTINED).tolist() == list(range(14, 19))
    assert server.state.apart[19] == FREE and server.state.labels[19] != 1


def test_what_is_set_apart_can_come_back() -> None:
    server, _ = judged([0] * 14 + [1] * 6, {c: [0.9, 0.1] for c in range(CLIENTS)})
    server.release(15)
    assert 15 in [task.client for task in server.ask().tasks]


@pytest.mark.parametrize("attackers", [4, 8])
@pytest.mark.parametrize("split", ["iid", "label_swap"])
def test_sleepers_are_found_and_nobody_else(split: str, attackers: int, tmp_path: Path) -> None:
    """They behave until flocks have been found, then send their updates reversed and five times as long."""
    options = {"groups": 2} if split == "label_swap" else {}
    clients = getattr(fw.splits, split)(fw.data.digits(), clients=CLIENTS, seed=1, **options)
    run = fw.run(
        fw.flic(warmup=8, judge="validation", rollback=True), clients, model=fw.models.mlp, rounds=24,
        training=fw.SGD(epochs=3, learning_rate=0.1), engine=fw.Local(1), out=tmp_path / "run",
        attack=fw.attacks.reverse(clients=attackers, scale=5.0, first_round=12),
    )  # fmt: skip
    wolves = [row["client"] for row in run.clients if row["attacker"]]
    assert sorted(run.apart) == sorted(wolves)
    accuracy = run.array("accuracy")[1][-1]
    assert np.delete(accuracy, wolves).mean() > 0.9


@pytest.mark.parametrize(
    "split, options", [("iid", {}), ("label_swap", {"groups": 2}), ("dirichlet", {"alpha": 0.1})]
)
def test_where_nobody_attacks_nobody_is_set_apart(
    split: str, options: dict[str, float], tmp_path: Path
) -> None:
    clients = getattr(fw.splits, split)(fw.data.digits(), clients=CLIENTS, seed=0, **options)
    run = fw.run(
        fw.flic(judge="validation"), clients, model=fw.models.mlp, training=fw.SGD(epochs=3, learning_rate=0.1),
        rounds=20, engine=fw.Local(1), out=tmp_path / "run",
    )  # fmt: skip
    assert run.apart == []
