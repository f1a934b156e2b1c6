"""Methods in which clients keep something to themselves, alone and inside flocks."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.runs.small import fingerprint
from tests.strategies.playing import BASE, play
from torch import nn

import flockwise
from flockwise.config import parse_config
from flockwise.engine.local_training import ClientTraining, Trainers
from flockwise.errors import ConfigError, InputError
from flockwise.models import Layout
from flockwise.models.travel import Travel
from flockwise.runs.assembly import assemble
from flockwise.runs.federating import make_federation
from flockwise.stages.own_beside import Mixed, Pulled
from flockwise.stages.own_heads import BodyFirst, HeadThenBody
from flockwise.stages.personal import Personal
from flockwise.store import files
from flockwise.strategies import STRATEGIES
from flockwise.training import Recipe, choose_trainer

PUBLISHED = json.loads((Path(__file__).parent / "published" / "personal.json").read_text())["numbers"]
NAMES = ["apfl", "ditto", "fedbabu", "fedper", "fedrep"]
BODY, HEAD = 6 * 5 + 5, 5 * 3 + 3


def problem():
    """The inputs that the published clients were run on: samples, labels, the model that is sent, and another one."""
    rng = np.random.Generator(np.random.Philox(11))
    x, y = rng.normal(size=(24, 6)).astype(np.float32), rng.integers(0, 3, size=24)
    sent, other = (0.5 * rng.normal(size=(2, BODY + HEAD))).astype(np.float32)
    return x, y, sent, other


def local(round=1, learning_rate=0.1, epochs=2):
    x, y, *_ = problem()
    module = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    recipe = Recipe(epochs, 8, learning_rate)
    make = lambda part: choose_trainer(part, (6,), recipe)[0]  # noqa: E731
    trainers = Trainers(make(module), module, Travel.of(Layout.of(module), head=1), make)
    return ClientTraining(trainers, recipe, round, x, y, np.random.Generator(np.random.Philox(7)))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)


NOTHING = np.zeros(0, np.float32)


def test_heads_that_stay_are_trained_as_published_code_trains_them():
    _, _, sent, other = problem()
    whole = np.concatenate([sent[:BODY], other[BODY:]])
    close(Personal(1).train(local(), whole, NOTHING)[0], PUBLISHED["fedper"])
    close(HeadThenBody(1, 3).train(local(), whole, NOTHING)[0], PUBLISHED["fedrep"])
    close(BodyFirst(1, 4).train(local(round=4), sent, NOTHING)[0], PUBLISHED["fedbabu"])
    close(BodyFirst(1, 4).train(local(round=5), sent, NOTHING)[0], PUBLISHED["fedbabu, fine-tuned"])
    body = BodyFirst(1, 4).train(local(round=4), sent, NOTHING)[0]
    assert body[BODY:].tobytes() == sent[BODY:].tobytes() and not np.array_equal(body[:BODY], sent[:BODY])


def test_an_own_model_is_pulled_to_the_shared_one_as_in_published_code():
    _, _, sent, other = problem()
    pulled = Pulled(pull=0.5)
    memory = np.concatenate([[np.float32(1)], other])
    shared, memory, _ = pulled.train(local(), sent, memory)
    close(memory[1:], PUBLISHED["ditto, own"])
    close(shared, PUBLISHED["ditto, shared"])
    assert pulled.used(shared, memory).tobytes() == memory[1:].tobytes()


def test_without_a_pull_an_own_model_is_trained_alone():
    _, _, sent, _ = problem()
    first = Pulled(pull=0.0).first(sent)
    assert Pulled().used(sent, first) is sent, "a client that never trained uses what it is sent"
    _, memory, _ = Pulled(pull=0.0).train(local(), sent, first)
    close(memory[1:], local().fit(sent)[0])


def mixed_by_autograd(alpha, sent, own, adaptive):
    """Algorithm 1 of APFL step by step, with autograd: an oracle that shares no code with ours."""
    x, y, *_ = problem()
    w, v = (torch.from_numpy(vector.astype(np.float64)) for vector in (sent, own))
    rng, rate = np.random.Generator(np.random.Philox(7)), 0.1

    def gradient(model):
        model = model.clone().requires_grad_()
        hidden = torch.relu(torch.from_numpy(x[batch]).double() @ model[:30].view(5, 6).T + model[30:35])
        scores = hidden @ model[35:50].view(3, 5).T + model[50:]
        nn.functional.cross_entropy(scores, torch.from_numpy(y[batch])).backward()
        return model.grad

    for epoch in range(2):
        order = rng.permutation(24)
        for start in (0, 8, 16):
            batch = order[start : start + 8]
            at_mix, at_w, away = gradient(alpha * v + (1 - alpha) * w), gradient(w), v - w
            v, w = v - rate * alpha * at_mix, w - rate * at_w
            if adaptive and epoch == start == 0:
                alpha = min(max(alpha - rate * float(away @ at_mix), 0.0), 1.0)
    return w.numpy(), v.numpy(), alpha


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_mix_of_models_learns_as_the_paper_says(adaptive):
    _, _, sent, other = problem()
    mixed = Mixed(alpha=0.3, adaptive=adaptive)
    memory = np.concatenate([[1, 0.3], other]).astype(np.float32)
    shared, memory, _ = mixed.train(local(), sent, memory)
    w, v, alpha = mixed_by_autograd(0.3, sent, other, adaptive)
    close(shared, w)
    close(memory[2:], v)
    assert memory[1] == pytest.approx(alpha, abs=1e-6) and (memory[1] != np.float32(0.3)) == adaptive
    close(mixed.used(sent, memory), alpha * v + (1 - alpha) * sent)


# The whole of it: alone, inside flocks, on record.


def options_of(name: str) -> dict[str, Any]:
    return {"rounds_before": 9} if name == "fedbabu" else {}


@pytest.fixture(scope="module")
def joint() -> float:
    return play(rounds=12, strategy={"name": "fedavg"}).mean_accuracy


@pytest.mark.parametrize("name", NAMES)
def test_clients_of_different_kinds_do_better_than_with_one_model_for_all(name, joint):
    game = play(rounds=12, strategy={"name": name, **options_of(name)})
    assert game.mean_accuracy > joint + 0.05


@pytest.mark.parametrize("name", NAMES)
def test_each_goes_inside_flocks_and_the_flocks_are_those_of_the_clustered_method(name):
    flocks = {"name": "oracle"} if name != "ditto" else {"name": "fl-hc", "rounds_before": 3}
    game = play(rounds=8, strategy={"name": name, "flocks": flocks, **options_of(name)})
    assert game.ari == 1.0
    assert game.server.method.personal == STRATEGIES[name](**options_of(name)).personal
    if name in ("fedper", "fedrep", "fedbabu"):
        whole = game.parts.work.travel.layout.size
        assert game.server.state.models.shape == (3, whole - 2010), "a flock's body"


def test_a_body_that_everyone_shares_in_a_flock_is_the_mean_of_its_members_bodies():
    parts = assemble(parse_config({**BASE, "strategy": {"name": "fedper", "flocks": "oracle"}}))
    plan = parts.server.ask()
    replies = parts.engine.train(plan)
    parts.server.tell(replies)
    parts.engine.close()
    labels, groups = parts.server.state.labels, parts.federation.groups
    for group in range(3):
        members = np.flatnonzero(groups == group)
        weights = replies.samples[members] / replies.samples[members].sum()
        mean = plan.models[0] + weights @ replies.updates[members]
        np.testing.assert_allclose(parts.server.state.models[labels[members[0]]], mean, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_does_as_well_as_the_record_says(name, tmp_path):
    content = {
        **BASE,
        "rounds": 3,
        "strategy": {"name": name, **({"rounds_before": 2} if options_of(name) else {})},
    }
    run = flockwise.run(content, out=tmp_path / "run")
    federation = make_federation(parse_config(content), None, None)
    accuracies = []
    for client in range(12):
        module = flockwise.load_model(run, client)
        x, y = federation.arrays(client, "test")
        with torch.no_grad():
            accuracies.append(float((module(torch.from_numpy(x)).argmax(1).numpy() == y).mean()))
    np.testing.assert_allclose(accuracies, run.array("accuracy")[1][-1], atol=1e-6)


def short(name: str, workers: int = 1) -> dict[str, Any]:
    flocks = {"flocks": {"name": "flic", "warmup": 2, "min_separation": 0.0}}
    options = {"rounds_before": 2} if options_of(name) else {}
    return {
        **BASE, "rounds": 4, "sampling": {"fraction": 0.5}, "model": {"name": "mlp", "hidden": 20},
        "strategy": {"name": name, **flocks, **options}, "checkpoint": {"every": 1}, "engine": {"workers": workers},
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_or_killed_run_goes_on_to_the_same_bits(name, tmp_path):
    whole = flockwise.run(short(name), out=tmp_path / "whole")
    answers = iter([False, True])
    flockwise.run(short(name, workers=2), out=tmp_path / "stopped", stop=lambda: next(answers))
    flockwise.resume(tmp_path / "stopped")
    child = os.fork()
    if child == 0:
        commits = []

        def die(step: str) -> None:
            commits.append(step)
            if commits.count("inside commit") > 2:
                os.kill(os.getpid(), signal.SIGKILL)

        files.step = die
        try:
            flockwise.run(short(name), out=tmp_path / "killed")
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    flockwise.resume(tmp_path / "killed")
    assert fingerprint(tmp_path / "stopped") == fingerprint(tmp_path / "killed") == fingerprint(whole.path)


def test_what_cannot_be_is_refused_in_one_line():
    with pytest.raises(
        InputError, match=r"^strategy.head = 1: this model has 1 layers, so nothing would travel"
    ):
        play(strategy={"name": "fedper"}, model={"name": "softmax"})
    for name in ("ditto", "apfl"):
        with pytest.raises(
            InputError, match=r"^training: this method takes plain gradient steps; leave out momentum"
        ):
            play(strategy={"name": name}, training={"momentum": 0.9})
    with pytest.raises(ConfigError, match=r"^strategy.alpha = 1.5: must be at most 1$"):
        play(strategy={"name": "apfl", "alpha": 1.5})


@pytest.mark.parametrize("inner", ["fedsoft", "ditto"])
def test_a_method_with_own_models_cannot_be_inside_another(inner):
    with pytest.raises(
        ConfigError, match=rf"^strategy.flocks.name = '{inner}': its clients keep models of their own already"
    ):
        parse_config({**BASE, "strategy": {"name": "fedper", "flocks": inner}})


def test_what_travels_can_be_said_by_name_instead():
    game = play(rounds=1, strategy={"name": "fedper"}, model={"name": "mlp", "travels": ["1.*"]})
    assert game.server.state.models.shape[1] == 64 * 200 + 200


def test_one_hostile_client_ruins_no_own_model():
    """Ditto's promise: what an attacker does to the shared model reaches the others through the pull alone."""
    attack = {"name": "reverse", "clients": [4], "scale": 30.0}
    shared = play(rounds=6, strategy={"name": "fedavg"}, attack=attack).mean_accuracy
    own = play(rounds=6, strategy={"name": "ditto", "pull": 0.001}, attack=attack).mean_accuracy
    assert shared < 0.4 < 0.7 < own


def test_who_has_not_joined_yet_trains_nothing_of_its_own():
    """Its reply was thrown away, but it had trained: it began with a model that nobody could have given it."""
    game = play(rounds=3, strategy={"name": "ditto"}, faults={"late_clients": [0], "late_round": 50})
    own = game.parts.engine.kept()["own"]
    assert not own[0].any() and own[1].any()
