"""Clients that do not answer, some of them or all, for as long as may be."""

import numpy as np
import pytest

from flockwise.messages import Reply
from flockwise.rng import generator
from flockwise.stages.state import UNPLACED
from flockwise.strategies import STRATEGIES
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.conftest import Cases
from tests.server.methods import make_server

GROUPS, DIMENSION = [0, 1] * 5, 24
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)
ROUNDS, GONE, SILENT = 12, 20, 100


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_round_closes_whoever_does_not_answer(name: str, share: float, cases: Cases) -> None:
    server, random = make_server(name, len(GROUPS), DIMENSION), generator(0, f"absent {share}")

    def some(replies: list[Reply]) -> list[Reply]:
        return [reply for reply in replies if random.random() >= share]

    for round in range(1, cases.many(ROUNDS) + 1):
        record = round_of(server, ENGINE, some)
        assert server.round == round and np.isfinite(server.state.models).all()
        assert not [event for event in record.events if event.kind == "rejected"]


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_nobody_answers_for_a_hundred_rounds_and_then_everybody(name: str, cases: Cases) -> None:
    server = make_server(name, len(GROUPS), DIMENSION)
    for _ in range(4):
        round_of(server, ENGINE)
    before = server.state
    for _ in range(cases.many(SILENT, SILENT)):
        record = round_of(server, ENGINE, lambda replies: [])
        assert {"skipped"} <= {event.kind for event in record.events} <= {"skipped", "judged"}
        assert server.state.models.tobytes() == before.models.tobytes()
        assert server.state.labels.tolist() == before.labels.tolist()
    for _ in range(8):
        record = round_of(server, ENGINE)
    assert server.round == 4 + SILENT + 8 and record.facts["participants"] > 0
    assert np.isfinite(server.state.models).all()


# In FedSoft every client pulls at every model: no flock is ever gone.
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "fedsoft"])
def test_a_flock_that_is_gone_for_twenty_rounds_keeps_its_model_bit_for_bit(name: str, cases: Cases) -> None:
    server, slow = make_server(name, len(GROUPS), DIMENSION), FakeEngine(ENGINE.goals, 0.05, groups=GROUPS)
    for _ in range(10):
        round_of(server, slow)
    flock = int(server.state.labels[1])
    gone = set(np.flatnonzero(server.state.labels == flock).tolist())
    if flock == UNPLACED or len(gone) == len(GROUPS):
        return  # one model for all: nothing to be gone
    before, without = (
        server.state.models[flock].tobytes(),
        FakeEngine(slow.goals, 0.05, absent=gone, groups=GROUPS),
    )
    for _ in range(cases.many(GONE, GONE)):
        round_of(server, without)
        assert server.state.models[flock].tobytes() == before
