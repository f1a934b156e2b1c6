"""The server's own step: the paper's formulas, memories by flock, statistics of batches left alone."""

from dataclasses import replace

import numpy as np
import pytest

import flockwise as fw
from flockwise import stages as do
from flockwise.errors import InputError
from flockwise.messages import Replies, Reply
from flockwise.server import Server
from flockwise.stages.server_step import _MOMENTS, ServerStep
from flockwise.stages.stage import Setting

OPTIMIZERS = ("adam", "yogi", "adagrad", "momentum")


def twin(optimizer, updates, rate, beta1, beta2, tau):
    """Algorithm 2 of the paper for one number, line by line."""
    x, m, v = 0.0, 0.0, tau**2
    for delta in updates.tolist():
        if optimizer == "momentum":
            m = beta1 * m + delta
            x += rate * m
            continue
        m = beta1 * m + (1 - beta1) * delta
        if optimizer == "adagrad":
            v = v + delta * delta
        elif optimizer == "yogi":
            sign = (v > delta * delta) - (v < delta * delta)
            v = v - (1 - beta2) * delta * delta * sign
        else:
            v = beta2 * v + (1 - beta2) * delta * delta
        x += rate * m / (v**0.5 + tau)
    return x


def told(server, *updates):
    """One round in which these clients send these updates."""
    plan = server.ask()
    replies = [
        Reply(client, plan.round, np.asarray(u, np.float32), 1, 0, 0.0) for client, u in enumerate(updates)
    ]
    return server.tell(Replies.stack(plan.round, replies, len(updates[0])))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_steps_are_those_of_the_paper(optimizer):
    rng = np.random.default_rng(1)
    updates = rng.normal(size=(12, 5)).astype(np.float32)
    method = fw.fedopt(optimizer=optimizer, server_rate=0.3, beta1=0.8, beta2=0.9, tau=0.01)
    server = fw.Server(method, initial=np.zeros((1, 5), np.float32), clients=2)
    for update in updates:
        told(server, update, update)
    expected = [twin(optimizer, column.astype(float), 0.3, 0.8, 0.9, 0.01) for column in updates.T]
    np.testing.assert_allclose(server.state.models[0], expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_server_that_goes_on_from_a_checkpoint_takes_the_same_steps(optimizer):
    def serve(state=None):
        return fw.Server(
            fw.fedopt(optimizer=optimizer), initial=np.zeros((1, 3), np.float32), clients=2, state=state
        )

    whole = serve()
    for value in (1.0, -2.0, 0.5):
        told(whole, [value, 1, 2], [value, 0, 1])
    parts = serve()
    for value in (1.0, -2.0, 0.5):
        told(parts, [value, 1, 2], [value, 0, 1])
        parts = serve(do.State.from_arrays(parts.state.to_arrays()))
    np.testing.assert_array_equal(whole.state.models, parts.state.models)


def test_momentum_without_memory_is_fedavg_to_the_bit():
    rng = np.random.default_rng(0)
    ours, plain = (
        fw.Server(method, initial=np.ones((1, 8), np.float32), clients=3)
        for method in (fw.fedopt(optimizer="momentum", server_rate=1.0, beta1=0.0), fw.fedavg())
    )
    for _ in range(5):
        updates = rng.normal(size=(3, 8)).astype(np.float32)
        told(ours, *updates)
        told(plain, *updates)
    np.testing.assert_array_equal(ours.state.models, plain.state.models)


def test_running_statistics_are_averaged_and_never_stepped_along():
    setting = Setting(learned=((0, 2),))
    server = fw.Server(fw.fedopt(), initial=np.ones((1, 3), np.float32), clients=2, setting=setting)
    for _ in range(30):  # a variance that Adam's momentum would push below zero
        told(server, [0, 0, -0.5], [0, 0, -0.5])
        assert server.state.models[0, 2] == pytest.approx(0.5)
        server.state = replace(
            server.state, models=np.array([[*server.state.models[0, :2], 1.0]], np.float32)
        )


def test_flocks_have_memories_of_their_own_and_silence_changes_nothing():
    method = fw.Method(
        do.chain(do.train(), do.average(fw.mean()), do.server_step(ServerStep("momentum", 1.0, 0.5)))
    )
    server = fw.Server(method, initial=np.zeros((1, 1), np.float32), clients=2)
    server.state = replace(server.state, models=np.zeros((2, 1), np.float32), labels=np.array([0, 1]))
    told(server, [1.0], [10.0])
    before = server.state
    told(server, [1.0])  # nobody of flock 1 answers
    np.testing.assert_allclose(server.state.models[:, 0], [2.5, 10.0])
    np.testing.assert_array_equal(server.state.models[1], before.models[1])
    np.testing.assert_allclose(_MOMENTS.get(server.state).first[:, 0], [1.5, 10.0])


def test_a_flock_found_later_starts_without_a_memory():
    method = fw.Method(
        do.chain(do.train(), do.average(fw.mean()), do.server_step(ServerStep("momentum", 1.0, 0.5)))
    )
    server = fw.Server(method, initial=np.zeros((1, 1), np.float32), clients=2)
    told(server, [4.0], [4.0])
    state = server.state
    server.state = replace(state, models=np.repeat(state.models, 2, axis=0), labels=np.array([0, 1]))
    told(server, [1.0], [1.0])
    np.testing.assert_allclose(server.state.models[:, 0], [4 + 3.0, 4 + 1.0])


def test_before_anybody_trained_there_is_nothing_to_step_along():
    with pytest.raises(InputError, match="needs averaged models"):
        fw.Method(do.server_step(ServerStep()))


def _momentum(*stages):
    return do.Method(do.chain(do.train(), *stages, do.server_step(ServerStep("momentum", 1.0))))


def test_a_client_without_a_flock_moves_none():
    server = Server(_momentum(do.average(fw.mean())), np.zeros((1, 2)), 3)
    server.state = replace(server.state, models=np.zeros((2, 2), np.float32), labels=np.array([0, 1, -1]))
    for clients in ((0, 1), (0, 2)):
        plan = server.ask()
        server.tell([(c, Reply(c, plan.round, np.ones(2, np.float32), 1)) for c in clients])
    assert server.state.models[1].tolist() == [1.0, 1.0], "nobody of flock 1 answered in the second round"


def test_a_flock_split_off_in_this_round_steps_from_the_model_that_it_was_sent():
    in_two = do.split_flocks(do.this_round, do.SplitInTwo(0.02, cohesion=-1.0), do.all_go_on)
    server = Server(_momentum(in_two, do.average(fw.mean())), np.full((1, 2), 3.0), 4)
    told(server, [1, 0], [1, 0], [-1, 0], [-1, 0])
    assert sorted(server.state.models.tolist()) == [[2.0, 3.0], [4.0, 3.0]]
