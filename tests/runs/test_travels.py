"""Own heads: a part of the model travels and is averaged, the rest stays with each client."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import flockwise
from flockwise.config import parse_config
from flockwise.errors import ConfigError, InputError
from flockwise.models import Layout, build
from flockwise.models.travel import Travel
from flockwise.runs.assembly import assemble
from flockwise.runs.federating import make_federation
from flockwise.store import files
from tests.runs.small import FLIC, fingerprint, with_changes

BODY = ["1.*", "3.*"]  # the hidden layers of the mlp; 5.weight and 5.bias, its head, stay
HEAD = 200 * 10 + 10


def own_heads(**sections: dict[str, Any]) -> dict[str, Any]:
    base = with_changes(model={"name": "mlp", "travels": BODY}, training={"learning_rate": 0.1}, **sections)
    return {**base, "rounds": 5}


def whole_vector(module: nn.Module) -> np.ndarray:
    return Layout.of(module).read(module)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> flockwise.Run:
    return flockwise.run(own_heads(), out=tmp_path_factory.mktemp("own heads") / "run")


def test_the_server_has_only_the_numbers_that_travel(whole: flockwise.Run) -> None:
    size = Layout.of(build("mlp", (1, 8, 8), 10, seed=0)).size
    saved = whole.checkpoint()
    assert saved["models"].shape[1] == size - HEAD
    parts = assemble(parse_config(own_heads()))
    try:
        plan = parts.server.ask()
        assert plan.models.shape[1] == size - HEAD
        replies = parts.engine.train(plan)
        assert replies.updates.shape[1] == size - HEAD
        parts.server.tell(replies)
        assert parts.server.state.to_arrays()["memory/evidence/rows"].shape == (8, size - HEAD)
    finally:
        parts.engine.close()


def test_heads_are_in_the_checkpoint_and_differ_between_clients(whole: flockwise.Run) -> None:
    own = whole.checkpoint()["clients/own"]
    assert own.shape == (8, HEAD)
    trained = np.flatnonzero(whole.array("trained")[1].any(axis=0))
    assert len(trained) > 4
    assert len({own[client].tobytes() for client in trained.tolist()}) == len(trained)


def test_a_client_that_never_trained_has_the_head_it_began_with(tmp_path: Path) -> None:
    config = own_heads(sampling={"fraction": 0.25}, faults={"dropout": 0.0}, strategy={"warmup": 4})
    run = flockwise.run({**config, "rounds": 1}, out=tmp_path / "run")
    own, trained = run.checkpoint()["clients/own"], run.array("trained")[1][0]
    parts = assemble(parse_config(config))
    parts.engine.close()
    assert 0 < trained.sum() < 8
    assert {head.tobytes() for head in own[~trained]} == {parts.work.travel.own(parts.work.first).tobytes()}


def test_a_loaded_model_is_the_clients_own_and_does_as_well_as_the_record_says(whole: flockwise.Run) -> None:
    saved = whole.checkpoint()
    federation = make_federation(parse_config(own_heads()), None, None)
    accuracies, heads = [], set()
    for client in range(8):
        module = flockwise.load_model(whole, client)
        vector = whole_vector(module)
        assert vector[-HEAD:].tobytes() == saved["clients/own"][client].tobytes()
        assert vector[:-HEAD].tobytes() in {model.tobytes() for model in saved["models"]}
        heads.add(vector[-HEAD:].tobytes())
        x, y = federation.arrays(client, "test")
        with torch.no_grad():
            guessed = module(torch.from_numpy(np.asarray(x, np.float32))).argmax(1).numpy()
        accuracies.append(float((guessed == y).mean()))
    assert len(heads) > 4
    np.testing.assert_allclose(accuracies, whole.array("accuracy")[1][-1])


def test_heads_of_ones_own_learn_what_one_model_for_all_cannot(tmp_path: Path) -> None:
    """Two groups whose labels are swapped: with a common body, each client's head can still be right."""
    config = {**FLIC, "rounds": 8, "strategy": {"name": "fedavg"}, "sampling": {"fraction": 1.0}, "faults": {},
              "training": {"epochs": 3, "learning_rate": 0.1}}  # fmt: skip
    runs = [
        flockwise.run(
            {**config, "model": {"name": "mlp", "travels": travels}}, out=tmp_path / str(len(travels))
        )
        for travels in (["*"], BODY)
    ]
    joint, own = (run.facts["accuracy"][-1] for run in runs)
    assert own > joint + 0.1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopped_run_goes_on_to_the_same_bits(workers: int, whole: flockwise.Run, tmp_path: Path) -> None:
    path, seen = tmp_path / "run", iter([False, True])
    flockwise.run(own_heads(engine={"workers": workers}), out=path, stop=lambda: next(seen))
    assert flockwise.resume(path).state == "finished"
    assert fingerprint(path) == fingerprint(whole.path)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_killed_run_goes_on_to_the_same_bits(rounds: int, whole: flockwise.Run, tmp_path: Path) -> None:
    path = tmp_path / "run"
    child = os.fork()
    if child == 0:
        commits = []

        def die(name: str) -> None:
            commits.append(name)
            if commits.count("inside commit") > rounds:
                os.kill(os.getpid(), signal.SIGKILL)

        files.step = die
        try:
            flockwise.run(own_heads(), out=path)
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert flockwise.open_run(path).rounds[-1] < 5
    flockwise.resume(path)
    assert fingerprint(path) == fingerprint(whole.path)


def test_a_fork_takes_the_heads_along(tmp_path: Path) -> None:
    flockwise.run(own_heads(checkpoint={"at": [2]}), out=tmp_path / "run")
    flockwise.fork(tmp_path / "run", 2, out=tmp_path / "fork")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "fork")


def test_a_pattern_that_fits_no_tensor_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises((InputError, ConfigError)) as error:
        flockwise.run(with_changes(model={"name": "mlp", "travels": ["body.*"]}), out=tmp_path / "run")
    text = str(error.value)
    assert len(text.splitlines()) == 1
    assert text.startswith(
        "model.travels = 'body.*': no tensor is called so; there are 1.weight, 1.bias, 3.weight"
    )
    assert not (tmp_path / "run").exists()


def test_patterns_choose_tensors_by_name_and_layers_are_counted_among_what_travels() -> None:
    layout = Layout.of(build("mlp", (1, 8, 8), 10, seed=0))
    travel = Travel.of(layout, ["5.*", "1.bias"])
    assert [entry.name for entry, travels in zip(layout.entries, travel.travelling, strict=True) if travels] == [
        "1.bias", "5.weight", "5.bias",
    ]  # fmt: skip
    assert travel.size == 200 + HEAD and travel.own_size == layout.size - travel.size
    assert travel.layers == ((0, 200), (200, 200 + HEAD))
    model = np.arange(layout.size, dtype=np.float32)
    assert np.array_equal(travel.whole(travel.part(model), travel.own(model)), model)
    assert Travel.of(layout).everything and Travel.of(layout).part(model) is model


class Frozen(nn.Module):
    """A body that is as it is, and a head that learns."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(64, 16), nn.Linear(16, 10)
        self.body.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x.flatten(1))))


@pytest.mark.parametrize("travels", [["*"], ["head.*"], ["body.*"]], ids=lambda patterns: patterns[0])
def test_frozen_parameters_do_not_move_whether_they_travel_or_not(travels: list[str], tmp_path: Path) -> None:
    module = Frozen()
    before = module.body.weight.detach().clone()
    clients = flockwise.splits.iid(flockwise.data.digits(), clients=4, seed=1)
    run = flockwise.run(
        flockwise.fedavg(), clients, model=module, travels=travels, rounds=3, engine=flockwise.Local(1),
        training=flockwise.SGD(epochs=2, learning_rate=0.2), out=tmp_path / "run",
    )  # fmt: skip
    trained = flockwise.load_model(run, 0, Frozen())
    assert torch.equal(trained.body.weight, before)
    assert not torch.equal(trained.head.weight, module.head.weight)
    assert run.facts["accuracy"][-1] > run.facts["accuracy"][0]
