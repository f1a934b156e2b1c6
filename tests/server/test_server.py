from dataclasses import replace

import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.server import Server
from flockwise.stages.state import FREE, UNPLACED, State
from flockwise.stages.timing import FOUND
from flockwise.strategies import STRATEGIES
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

GROUPS, DIMENSION = [0, 1] * 5, 24
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)


def equal_plans(one, two):
    return (one.round, one.kind, one.tasks, one.models.tobytes()) == (
        two.round,
        two.kind,
        two.tasks,
        two.models.tobytes(),
    )


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_asking_twice_gives_the_same_plan(name):
    server = make_server(name, len(GROUPS), DIMENSION, fraction=0.6)
    for _ in range(6):
        plan = server.ask()
        assert server.ask() is plan
        twin = make_server(name, len(GROUPS), DIMENSION, fraction=0.6, state=server.state)
        assert equal_plans(twin.ask(), plan), "the plan follows from the state alone"
        round_of(server, ENGINE)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_round_nobody_answers_leaves_every_model_bit_for_bit(name):
    server = make_server(name, len(GROUPS), DIMENSION)
    for _ in range(4):
        round_of(server, ENGINE)
    before = server.state
    record = round_of(server, ENGINE, lambda replies: [])
    assert server.round == before.round + 1
    assert server.state.models.tobytes() == before.models.tobytes()
    assert server.state.labels.tolist() == before.labels.tolist()
    assert {event.kind for event in record.events} == {"skipped"}  # one for each training
    assert record.facts["participants"] == 0


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_the_first_round_may_go_unanswered(name):
    server = make_server(name, len(GROUPS), DIMENSION)
    round_of(server, ENGINE, lambda replies: [])
    for _ in range(5):
        assert np.isfinite(server.ask().models).all()
        round_of(server, ENGINE)


@pytest.mark.parametrize("name", list(STRATEGIES))
@pytest.mark.parametrize("stop", [1, 3, 5])
def test_the_state_makes_the_round_trip_through_arrays_bit_for_bit(name, stop):
    through, straight = (make_server(name, len(GROUPS), DIMENSION, fraction=0.7) for _ in range(2))
    for _ in range(stop):
        round_of(through, ENGINE)
        round_of(straight, ENGINE)
    saved = {key: array.copy() for key, array in through.state.to_arrays().items()}
    assert all(isinstance(array, np.ndarray) for array in saved.values())
    restored = make_server(name, len(GROUPS), DIMENSION, fraction=0.7, state=State.from_arrays(saved))
    for _ in range(6):
        round_of(restored, ENGINE)
        round_of(straight, ENGINE)
    ours, theirs = restored.state.to_arrays(), straight.state.to_arrays()
    assert ours.keys() == theirs.keys()
    for key in ours:
        assert ours[key].dtype == theirs[key].dtype, key
        assert ours[key].tobytes() == theirs[key].tobytes(), key


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_client_is_in_exactly_one_flock_with_a_model_after_every_round(name):
    server = make_server(name, len(GROUPS), DIMENSION, fraction=0.5)
    for _ in range(12):
        record = round_of(server, ENGINE)
        labels, apart = record.arrays["flock"], record.arrays["apart"]
        assert labels.shape == (len(GROUPS),)
        assert ((labels == UNPLACED) | ((labels >= 0) & (labels < len(server.state.models)))).all()
        assert (labels[apart != FREE] == UNPLACED).all(), "those set apart are in no flock"
        assert record.facts["flocks"] == len(set(labels[labels != UNPLACED].tolist()))
        models, rows = server.assignment()
        assert (rows >= 0).all() and (rows < len(models)).all()


def found_flocks(name, rounds, **options):
    server = make_server(name, len(GROUPS), DIMENSION, options=options)
    for _ in range(rounds):
        round_of(server, ENGINE)
    return server


def test_a_released_client_is_placed_by_its_own_validation_data():
    server = found_flocks("flic", 6, warmup=3)
    server.quarantine(4)
    round_of(server, ENGINE)
    assert server.state.labels[4] == UNPLACED
    assert 4 not in [task.client for task in server.ask().tasks]
    server.release(4)
    server = make_server("flic", len(GROUPS), DIMENSION, options={"warmup": 3}, state=server.state)
    record = round_of(server, ENGINE)
    assert server.state.labels[4] == server.state.labels[0]
    assert ("placed", 4) in [(event.kind, event.client) for event in record.events]


def test_a_confirmed_client_stays_out():
    server = found_flocks("flic", 6, warmup=3)
    server.confirm(3)
    for _ in range(3):
        assert 3 not in [task.client for task in server.ask().tasks]
        round_of(server, ENGINE)


@pytest.mark.parametrize("client", [-1, 10, 10**6])
def test_nobody_outside_the_federation_can_be_set_apart(client):
    with pytest.raises(InputError, match="must lie between 0 and 9"):
        make_server("fedavg", len(GROUPS), DIMENSION).quarantine(client)


def test_a_federation_in_which_everyone_is_set_apart_goes_on_empty():
    for name in STRATEGIES:
        server = found_flocks(name, 4)
        for client in range(len(GROUPS)):
            server.quarantine(client)
        fresh = make_server(name, len(GROUPS), DIMENSION, options={}, state=server.state)
        record = round_of(fresh, ENGINE)
        assert record.facts["apart"] == len(GROUPS)


def test_a_method_needs_as_many_first_models_as_it_starts_from():
    method = make_server("ifca", 4, DIMENSION).method
    with pytest.raises(InputError, match="starts from 4"):
        Server(method, np.zeros((1, DIMENSION), np.float32), 4)


def test_a_flock_nobody_answered_for_keeps_its_model_bit_for_bit():
    server = found_flocks("flic", 6, warmup=3)
    silent = server.state.labels[1]
    before = server.state.models[silent].tobytes()
    round_of(server, ENGINE, lambda replies: [r for r in replies if server.state.labels[r.client] != silent])
    assert server.state.models[silent].tobytes() == before


@pytest.mark.parametrize(
    "name, options",
    [
        ("fl-hc", {"rounds_before": 2}),
        ("flic", {"warmup": 3, "min_separation": 0.0}),
        ("mini-fl", {"collect": 3}),
        ("custom", {"when": "once", "first": 3}),
    ],
)
def test_a_clustering_round_that_nobody_answers_comes_again(name, options):
    server = make_server(name, len(GROUPS), DIMENSION, options=options)
    for round in range(1, 7):
        round_of(server, ENGINE, (lambda replies: []) if round == 3 else list)
    assert server.state.flocks == 2
    assert FOUND.get(server.state).round == 4, "found once, in the first round that succeeded"


def test_newcomers_found_by_a_second_census_do_not_start_from_nothing():
    late = {0, 2}
    server = make_server(
        "fl-hc", len(GROUPS), DIMENSION, options={"rounds_before": 1, "repeat": 4, "threshold": 0.01}
    )
    for round in range(1, 7):
        round_of(
            server, ENGINE, lambda all, round=round: [r for r in all if round > 4 or r.client not in late]
        )
    assert (np.linalg.norm(server.state.models[server.state.labels[list(late)]], axis=1) > 0.5).all()


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_a_liar_as_large_as_can_be_neither_ends_the_run_nor_spoils_a_model(name):
    def lie(replies, size):
        return [replace(r, update=np.full_like(r.update, size)) if r.client == 1 else r for r in replies]

    for size in (3e38, 1e20, 1e14):
        server = make_server(name, len(GROUPS), DIMENSION)
        for _ in range(4):
            record = round_of(server, ENGINE, lambda replies, size=size: lie(replies, size))
            assert any(event.kind == "rejected" for event in record.events) == (size > 1e15)
            assert np.isfinite(server.ask().models).all()
