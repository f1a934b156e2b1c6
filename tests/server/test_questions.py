"""Placing, following, judging and rolling back, on a federation small enough to work out by hand."""

import numpy as np
import pytest

from flockwise.messages import Reply
from flockwise.stages.state import FREE, UNPLACED
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

GROUPS, DIMENSION = [0, 1] * 5, 24


def test_clients_not_heard_before_flocks_are_found_are_placed_by_validation():
    engine = FakeEngine(goals_of(GROUPS, DIMENSION))
    server = make_server("flic", len(GROUPS), DIMENSION, options={"warmup": 3})
    for _ in range(3):
        round_of(server, engine, lambda replies: [r for r in replies if r.client not in (8, 9)])
    # At round 3 both flocks still have the joint model: no telling where the two belong.
    assert server.state.labels[8:].tolist() == [UNPLACED, UNPLACED]
    silent = round_of(server, engine, lambda replies: [r for r in replies if r.client not in (8, 9)])
    assert {event.client for event in silent.events if event.kind == "placed"} == {8, 9}
    assert server.state.labels.tolist() == (np.array(GROUPS) ^ (server.state.labels[0] != 0)).tolist()


def test_a_client_whose_data_changed_moves_to_the_other_flock_and_it_is_on_record():
    targets = goals_of(GROUPS, DIMENSION)
    server = make_server("flic", len(GROUPS), DIMENSION, options={"warmup": 3, "follow": 0.05})
    for _ in range(8):
        round_of(server, FakeEngine(targets))
    old = server.state.labels[4]
    targets[4] = targets[5]
    record = round_of(server, FakeEngine(targets))
    moved = [event for event in record.events if event.kind == "moved"]
    assert [event.client for event in moved] == [4]
    assert moved[0].detail["from"] == old
    assert server.state.labels[4] == server.state.labels[5]


def test_without_follow_nobody_is_moved():
    targets = goals_of(GROUPS, DIMENSION)
    server = make_server("flic", len(GROUPS), DIMENSION, options={"warmup": 3})
    for _ in range(6):
        round_of(server, FakeEngine(targets))
    targets[4] = targets[5]
    before = server.state.labels.tolist()
    for _ in range(3):
        round_of(server, FakeEngine(targets))
    assert server.state.labels.tolist() == before


def reversing(wolves):
    def spoil(replies: list[Reply]) -> list[object]:
        return [Reply(r.client, r.round, -r.update, r.samples) if r.client in wolves else r for r in replies]

    return spoil


def attacked(options, rounds=9, wolves=(1, 3, 5, 6, 7, 9)):
    engine = FakeEngine(goals_of([0] * 10, DIMENSION))
    server = make_server("flic", 10, DIMENSION, options={"warmup": 4, **options})
    records = [round_of(server, engine, reversing(set(wolves))) for _ in range(rounds)]
    return server, [event for record in records for event in record.events]


@pytest.mark.parametrize("judge", ["validation", "largest"])
def test_wolves_are_set_apart_with_the_evidence(judge):
    server, events = attacked(
        {"judge": judge, "judge_after": 3 if judge == "validation" else None}, wolves=(1, 3, 5, 7)
    )
    assert np.flatnonzero(server.state.apart != FREE).tolist() == [1, 3, 5, 7]
    assert (server.state.labels[server.state.apart != FREE] == UNPLACED).all()
    (verdict,) = [event for event in events if event.kind == "quarantine"]
    assert verdict.detail["clients"] == [1, 3, 5, 7]
    assert len(verdict.detail["marks"]) == 2


def test_a_majority_of_wolves_is_named_by_validation_with_the_evidence_for_a_person_to_decide():
    server, events = attacked({"judge": "validation", "judge_after": 3})
    assert (server.state.apart == FREE).all()
    verdict = next(event for event in events if event.kind == "alarm")
    assert verdict.detail["clients"] == [1, 3, 5, 6, 7, 9]
    assert len(verdict.detail["marks"]) == 2
    assert server.state.labels[[1, 3, 5, 6, 7, 9]].tolist() == [server.state.labels[1]] * 6
    assert server.state.labels[[0, 2, 4, 8]].tolist() == [1 - server.state.labels[1]] * 4, (
        "the honest learn on"
    )


def test_the_largest_judge_is_wrong_when_wolves_are_the_majority():
    server, _ = attacked({"judge": "largest"})
    assert np.flatnonzero(server.state.apart != FREE).tolist() == [0, 2, 4, 8]


def test_roll_back_returns_the_honest_to_a_model_from_before_the_damage():
    ruined, _ = attacked({"judge": "validation", "judge_after": 3}, rounds=5)
    healed, events = attacked(
        {"judge": "validation", "judge_after": 3, "rollback": True, "snapshot_every": 1}, rounds=5
    )
    back = [event for event in events if event.kind == "rollback"]
    assert back and all(event.detail["accuracy"] >= event.detail["instead_of"] for event in back)
    engine = FakeEngine(goals_of([0] * 10, DIMENSION))

    def away(server):
        models, rows = server.assignment()
        return np.mean([engine.away(client, models[rows[client]]) for client in (0, 2, 4, 8)])

    assert away(healed) < away(ruined)


def test_one_wolf_cannot_make_a_snapshot_look_ruined_by_its_loss():
    engine = FakeEngine(goals_of([0] * 10, DIMENSION))

    class Liar(FakeEngine):
        def validate(self, plan):
            answers = super().validate(plan)
            return [
                type(a)(a.client, a.round, a.values, a.samples, (float("nan"),) * len(a.losses))
                if a.client == 0 else a for a in answers
            ]  # fmt: skip

    options = {"warmup": 4, "rollback": True, "snapshot_every": 1}
    honest, lied = (make_server("flic", 10, DIMENSION, options=options) for _ in range(2))
    for _ in range(4):
        round_of(honest, engine, reversing({1, 3, 5, 6, 7, 9}))
        round_of(lied, Liar(engine.goals), reversing({1, 3, 5, 6, 7, 9}))
    assert honest.state.models.tobytes() == lied.state.models.tobytes()
