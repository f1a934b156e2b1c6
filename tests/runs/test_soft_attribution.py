"""The smallest method in which a client's model is a mix of the flocks' models, with shares that it remembers."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

import flockwise
from flockwise.errors import ConfigError
from flockwise.messages import Scores
from flockwise.stages import Method, SendsOne, Slot, State, chain, sample_from_all, train
from flockwise.stages.place import scoring_plan
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, Steps, ask, stage
from flockwise.testing.fakes import FakeEngine, goals_of, round_of
from tests.server.methods import make_server

FLOCKS = 2


class Shares(NamedTuple):
    """How much of each flock's model is in each client's; rows sum to one."""

    shares: np.ndarray  # (clients, flocks)


SHARES = Slot("mixed by loss", Shares)


def shares_of(state: State) -> np.ndarray:
    held = SHARES.get(state)
    return held.shares if held else np.full((state.clients, len(state.models)), 1.0 / len(state.models))


@dataclass(frozen=True)
class Mixed(SendsOne):
    """A model for each client: the mean of the flocks' models, weighted by its shares."""

    def assign(self, state: State, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
        mixed = shares_of(state) @ state.models.astype(np.float64)
        return mixed.astype(np.float32), np.arange(state.clients)


def weigh() -> Stage:
    """This round's clients score every flock's model; the better it does, the greater its share (FedSoft's idea)."""

    def run(round: Round) -> Steps:
        clients = round.replies.clients
        answers: tuple[Scores, ...]
        round, answers = yield from ask(round, scoring_plan(round, round.state.models, clients))
        shares = shares_of(round.state).copy()
        for score in answers:
            weights = np.array(score.values) ** 4 + 1e-6
            shares[score.client] = weights / weights.sum()
        labels = shares.argmax(axis=1)
        return round.to(SHARES.put(replace(round.state, labels=labels), Shares(shares)))

    return Stage("weigh", run, frozenset({REPLIES}), frozenset({SHARES}))


def average_by_shares() -> Stage:
    """Every flock's model moves by the updates of all clients, each as much as it has a share in it."""

    def run(round: Round) -> Round:
        shares = shares_of(round.state)[round.replies.clients]
        moved = shares.T @ (round.replies.sent + round.replies.updates).astype(np.float64)
        models = (moved / shares.sum(axis=0)[:, None]).astype(np.float32)
        return round.to(replace(round.state, models=models))

    return stage("average by shares", run, [REPLIES, SHARES])


def soft() -> Method:
    """Clients with a mix of models."""
    mixed = Mixed()
    rounds = chain(train(sample_from_all, mixed), weigh(), average_by_shares())
    return Method(rounds, serve=mixed, models=FLOCKS)


GROUPS, DIMENSION = [0, 1, 0, 1, 0, 1, 0, 1], 12
ENGINE = FakeEngine(0.5 * goals_of(GROUPS, DIMENSION), groups=GROUPS)


def bits(state: State) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state.to_arrays().items()}


def test_clients_mix_the_flocks_models_and_shares_grow_apart():
    server = make_server(soft(), len(GROUPS), DIMENSION, fraction=0.75)
    first = np.mean(ENGINE.evaluate(0, *server.assignment()).score)
    for _ in range(12):
        round_of(server, ENGINE)
    models, rows = server.assignment()
    shares = shares_of(server.state)
    assert rows.tolist() == list(range(8)) and models.shape == (8, DIMENSION)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert ((shares > 0.0) & (shares < 1.0)).all(), "a mix, nobody has one alone"
    assert (
        len({label for label, group in zip(server.state.labels.tolist(), GROUPS, strict=True) if group == 0})
        == 1
    )
    assert server.state.flocks == 2
    np.testing.assert_allclose(models[3], shares[3] @ server.state.models, rtol=1e-5, atol=1e-6)
    assert np.mean(ENGINE.evaluate(12, models, rows).score) > first + 0.1


@pytest.mark.parametrize("stop", [1, 3])
def test_shares_are_part_of_the_state_and_resume_to_the_same_bits(stop):
    straight, through = (make_server(soft(), len(GROUPS), DIMENSION, fraction=0.5) for _ in range(2))
    for _ in range(6):
        round_of(straight, ENGINE)
    for _ in range(stop):
        round_of(through, ENGINE)
    saved = {name: array.copy() for name, array in through.state.to_arrays().items()}
    assert "memory/mixed by loss/shares" in saved
    resumed = make_server(soft(), len(GROUPS), DIMENSION, fraction=0.5, state=State.from_arrays(saved))
    for _ in range(6 - stop):
        round_of(resumed, ENGINE)
    assert bits(resumed.state) == bits(straight.state)


def test_a_run_of_it_trains_evaluates_stops_and_resumes_to_the_same_bits(tmp_path):
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=8, groups=2, seed=3)
    setting = {
        "model": flockwise.models.softmax, "rounds": 6, "fraction": 0.5, "checkpoint": {"every": 1},
        "training": flockwise.SGD(epochs=3, learning_rate=0.2), "engine": flockwise.Local(1),
    }  # fmt: skip
    whole = flockwise.run(soft(), clients, out=tmp_path / "whole", **setting)
    assert whole.state == "finished"
    assert whole.facts["accuracy"][-1] > max(0.6, whole.facts["accuracy"][0])
    seen = iter([False, False, True])
    stopped = flockwise.run(soft(), clients, out=tmp_path / "run", stop=lambda: next(seen), **setting)
    assert stopped.state == "stopped" and stopped.rounds.tolist() == [1, 2, 3]
    with pytest.raises(ConfigError, match=r"given its method in Python; pass it again, as in .*method="):
        flockwise.resume(tmp_path / "run")
    assert flockwise.open_run(tmp_path / "run").state == "stopped", "untouched"
    again = flockwise.resume(tmp_path / "run", clients=clients, method=soft(), workers=1)
    assert again.state == "finished"
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
    assert again.array("accuracy")[1].tobytes() == whole.array("accuracy")[1].tobytes()


def test_a_clients_model_is_its_own_mix(tmp_path):
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=6, groups=2, seed=3)
    run = flockwise.run(
        soft(),
        clients,
        model=flockwise.models.softmax,
        rounds=3,
        engine=flockwise.Local(1),
        out=tmp_path / "run",
    )
    saved = run.checkpoint()
    for client in (0, 1):
        mixed = saved["memory/mixed by loss/shares"][client] @ saved["models"].astype(np.float64)
        module = flockwise.load_model(run, client, method=soft())
        held = np.concatenate([tensor.detach().numpy().ravel() for tensor in module.state_dict().values()])
        np.testing.assert_array_equal(held, mixed.astype(np.float32))
