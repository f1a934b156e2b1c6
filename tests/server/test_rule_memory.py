"""A rule with a memory of its own: momentum at the server, for each flock by itself."""

import numpy as np
import pytest

from flockwise.aggregation.rule import as_rule
from flockwise.errors import ConfigError
from flockwise.stages import State
from flockwise.strategies import communities, fedavg, flic, mini_fl
from flockwise.testing import AggregatorBattery
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

GROUPS, DIMENSION = [0, 1] * 5, 24
ENGINE = FakeEngine(goals_of(GROUPS, DIMENSION), groups=GROUPS)


def momentum(updates, weights, memory, beta=0.9):
    """Go on in the direction of the rounds before."""
    joint = np.average(updates, axis=0, weights=weights)
    velocity = beta * memory.get("velocity", 0.0) + joint
    return velocity.astype(np.float32), {
        "velocity": velocity,
        "rounds": memory.get("rounds", np.zeros(1, int)) + 1,
    }


def server_of(method, state=None):
    return make_server(method, len(GROUPS), DIMENSION, fraction=0.6, state=state)


def bits(state):
    return {name: (array.dtype, array.tobytes()) for name, array in state.to_arrays().items()}


def test_it_is_what_momentum_should_be():
    server = server_of(fedavg(rule=momentum))
    model, velocity = server.state.models[0].astype(float), 0.0
    for _ in range(4):
        replies = ENGINE.train(server.ask())
        velocity = 0.9 * velocity + np.average(replies.updates, axis=0, weights=replies.samples)
        model = model + velocity
        server.tell(replies)
        np.testing.assert_allclose(server.state.models[0], model, rtol=1e-5, atol=1e-5)


def test_its_options_are_options():
    half = as_rule(momentum)(beta=0.5)
    assert half.options == {"beta": 0.5} and half.name.endswith(":momentum")
    one, two = server_of(fedavg(rule=momentum)), server_of(fedavg(rule=half))
    for server in (one, two):
        round_of(server, ENGINE)
    assert one.state.models.tobytes() == two.state.models.tobytes(), "no memory yet"
    for server in (one, two):
        round_of(server, ENGINE)
    assert one.state.models.tobytes() != two.state.models.tobytes()


METHODS = {
    "fedavg": lambda: fedavg(rule=momentum),
    "flic": lambda: flic(rule=momentum, warmup=3),
    "mini-fl": lambda: mini_fl(rule=momentum, collect=2),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("stop", [1, 4])
def test_the_memory_is_saved_and_resumed_to_the_same_bits(name, stop):
    straight, through = server_of(METHODS[name]()), server_of(METHODS[name]())
    for _ in range(8):
        round_of(straight, ENGINE)
    for _ in range(stop):
        round_of(through, ENGINE)
    saved = {key: array.copy() for key, array in through.state.to_arrays().items()}
    if name != "mini-fl" or stop > 2:
        assert any(key.startswith("memory/rule/") and key.endswith("velocity") for key in saved)
    resumed = server_of(METHODS[name](), State.from_arrays(saved))
    for _ in range(8 - stop):
        round_of(resumed, ENGINE)
    assert bits(resumed.state) == bits(straight.state)


def test_there_is_no_momentum_of_whole_models():
    with pytest.raises(
        ConfigError, match=r"averages whole models.* without a memory, such as 'geometric-median'"
    ):
        communities(rule=momentum)


def test_each_flock_has_a_memory_of_its_own():
    server = server_of(METHODS["flic"]())
    for _ in range(6):
        round_of(server, ENGINE)
    assert server.state.flocks == 2
    held = {
        key.removeprefix("memory/rule/"): array
        for key, array in server.state.to_arrays().items()
        if "/rule/" in key
    }
    assert set(held) == {f"{flock}.{name}" for flock in (0, 1) for name in ("velocity", "rounds")}
    assert not np.allclose(held["0.velocity"], held["1.velocity"])
    assert held["0.rounds"][0] == 6 and held["1.rounds"][0] == 3, "flock 1 was found in round 3"


def test_a_flock_nobody_answered_for_keeps_its_memory():
    server = server_of(METHODS["flic"]())
    for _ in range(5):
        round_of(server, ENGINE)
    before = server.state.to_arrays()["memory/rule/1.velocity"].tobytes()
    labels = server.state.labels
    round_of(server, ENGINE, lambda replies: [reply for reply in replies if labels[reply.client] == 0])
    after = server.state.to_arrays()
    assert after["memory/rule/1.velocity"].tobytes() == before
    assert after["memory/rule/1.rounds"][0] == 2 and after["memory/rule/0.rounds"][0] == 6


def careless(updates, weights, memory):
    """Changes what it was given in place."""
    velocity = memory.get("velocity", np.zeros(updates.shape[1]))
    velocity *= 0.9
    velocity += np.average(updates, axis=0, weights=weights)
    return velocity.astype(np.float32), {"velocity": velocity}


def test_a_rule_that_changes_its_memory_in_place_leaves_old_states_alone():
    server = server_of(fedavg(rule=careless))
    held = []
    for _ in range(4):
        held.append((server.state, bits(server.state)))
        round_of(server, ENGINE)
    assert all(bits(state) == before for state, before in held)
    restored = State.from_arrays({key: array.copy() for key, array in server.state.to_arrays().items()})
    before = bits(restored)
    round_of(server_of(fedavg(rule=careless), restored), ENGINE)
    assert bits(restored) == before


class TestMomentum(AggregatorBattery):
    """The battery takes a rule with a memory, too."""

    rule = staticmethod(
        lambda updates, memory, weights=None, beta=0.9: momentum(updates, weights, memory, beta)
    )
    refuses = False
