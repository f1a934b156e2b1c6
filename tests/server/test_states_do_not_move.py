"""A state is frozen: whatever later rounds do, whoever holds on to an old one finds what was there, bit for bit."""

import pytest

from flockwise.stages import State
from flockwise.strategies import STRATEGIES
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

GROUPS, DIMENSION, ROUNDS = [0, 1] * 5, 24, 10
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)
# Each keeps the newest update, or the newest model, of every client: a memory that is changed in place.
WITH_MEMORY = {
    "custom": [
        {"evidence": "latest-models", "when": "every", "first": 2},
        {"evidence": "latest-updates", "max_age": 2},
    ],
    "mini-fl": [{"groups_from": "updates"}],
}
CASES = [
    *((name, None) for name in STRATEGIES),
    *((name, options) for name, each in WITH_MEMORY.items() for options in each),
]
each = pytest.mark.parametrize(("name", "options"), CASES, ids=str)


def server_of(name, options, state=None):
    return make_server(name, len(GROUPS), DIMENSION, options=options, fraction=0.5, state=state)


def bits(state):
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in state.to_arrays().items()}


@each
def test_old_states_read_as_they_did(name, options):
    server, held = server_of(name, options), []
    for _ in range(ROUNDS):
        held.append((server.state, bits(server.state)))
        round_of(server, ENGINE)
    for state, before in held:
        assert bits(state) == before


@each
def test_a_state_from_a_checkpoint_reads_as_it_did(name, options):
    server = server_of(name, options)
    for _ in range(4):
        round_of(server, ENGINE)
    saved = {key: array.copy() for key, array in server.state.to_arrays().items()}
    resumed = server_of(name, options, State.from_arrays(saved))
    held = []
    for _ in range(4):
        held.append((resumed.state, bits(resumed.state)))
        round_of(resumed, ENGINE)
    assert bits(held[0][0]) == bits(server.state)
    for state, before in held:
        assert bits(state) == before


@each
def test_two_servers_go_on_from_one_state_without_disturbing_each_other(name, options):
    server = server_of(name, options)
    for _ in range(4):
        round_of(server, ENGINE)
    saved = {key: array.copy() for key, array in server.state.to_arrays().items()}
    for start in (server.state, State.from_arrays({key: array.copy() for key, array in saved.items()})):
        one, two = (server_of(name, options, start) for _ in range(2))
        for _ in range(3):
            round_of(one, ENGINE, lambda replies: replies[:2])
        for _ in range(3):
            round_of(two, ENGINE)
        alone = server_of(
            name, options, State.from_arrays({key: array.copy() for key, array in saved.items()})
        )
        for _ in range(3):
            round_of(alone, ENGINE)
        assert bits(two.state) == bits(alone.state)
