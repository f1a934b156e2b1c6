"""The models of a run, as modules to use."""

from pathlib import Path

import numpy as np
import pytest
import torch

import flockwise
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.runs.federating import make_federation
from tests.runs.small import FLIC, with_changes


@pytest.mark.parametrize("strategy", [FLIC["strategy"], {"name": "communities", "attribution": "wnn"}])
def test_a_loaded_model_does_as_well_as_the_record_says(strategy: dict, tmp_path: Path) -> None:
    config = {**FLIC, "strategy": strategy}
    run = flockwise.run(config, out=tmp_path / "run")
    federation = make_federation(flockwise.config.parse_config(config), None, None)
    accuracies = []
    for client in range(8):
        x, y = federation.arrays(client, "test")
        with torch.no_grad():
            guessed = flockwise.load_model(run, client)(torch.from_numpy(np.asarray(x, np.float32))).argmax(1)
        accuracies.append(float((guessed.numpy() == y).mean()))
    assert np.allclose(accuracies, run.array("accuracy")[1][-1])


def test_without_a_client_it_is_the_model_that_most_have(tmp_path: Path) -> None:
    run = flockwise.run(FLIC, out=tmp_path / "run")
    flock = run.array("flock")[1][-1]
    most = int(np.flatnonzero(flock == np.bincount(flock[flock >= 0]).argmax())[0])
    states = [flockwise.load_model(run, client).state_dict() for client in (None, most)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    with pytest.raises(InputError, match="client = 8: must lie between 0 and 7"):
        flockwise.load_model(run, 8)
    with pytest.raises(RunError, match="no checkpoint of round 99"):
        flockwise.load_model(run, at=99)


def _two_kinds() -> flockwise.Federation:
    rng = np.random.default_rng(0)
    kinds, clients = rng.normal(size=(2, 6)), []
    for number in range(6):
        x = rng.normal(size=(60, 6)).astype(np.float32)
        clients.append((x, (x @ kinds[number % 2] > 0).astype(int)))
    return flockwise.Federation.from_arrays(clients, groups=[0, 1] * 3)


OWN = {"rounds": 10, "training": {"learning_rate": 0.5, "epochs": 3}}


def test_a_single_layer_is_a_model_and_several_models_differ_at_the_start(tmp_path: Path) -> None:
    config = {**OWN, "strategy": {"name": "ifca", "flocks": 2}}
    run = flockwise.run(config, clients=_two_kinds(), model=torch.nn.Linear(6, 2), out=tmp_path / "run")
    assert run.facts["ari"][-1] == 1.0
    mine = torch.nn.Linear(6, 2)
    assert flockwise.load_model(run, 0, mine) is mine


def test_a_run_goes_on_only_with_what_it_was_begun_with(tmp_path: Path) -> None:
    path, model = tmp_path / "run", torch.nn.Linear(6, 2)
    flockwise.run(OWN, clients=_two_kinds(), model=model, out=path)
    with pytest.raises(ConfigError, match="pass the same clients and model"):
        flockwise.resume(path, rounds=12)
    fewer = flockwise.Federation.from_arrays([(np.zeros((20, 6), np.float32), np.zeros(20, int))] * 4)
    with pytest.raises(RunError, match="this run has 6 clients, not 4"):
        flockwise.resume(path, rounds=12, clients=fewer, model=model)
    with pytest.raises(RunError, match="it belongs to another model"):
        flockwise.resume(path, rounds=12, clients=_two_kinds(), model=torch.nn.Linear(6, 3))


def test_a_data_set_of_your_own_goes_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_data.py").write_text(
        "from flockwise.data import load\n\ndef data():\n    return load('digits')\n"
    )
    monkeypatch.chdir(tmp_path)
    own = flockwise.run(with_changes(data={"name": "own_data:data"}), out=tmp_path / "own")
    assert (
        own.facts["accuracy"].tolist() == flockwise.run(FLIC, out=tmp_path / "run").facts["accuracy"].tolist()
    )


def test_clients_drift_only_between_groups_that_see_data_differently() -> None:
    with pytest.raises(ConfigError, match="no groups to drift between"):
        flockwise.run(with_changes(split={"name": "noniid_degree", "groups": 5}, faults={"drift_clients": 2}))


@pytest.mark.parametrize("device", ["cuda", "no-such-device"])
def test_a_device_that_is_not_there_is_said_to_be_so(device: str, tmp_path: Path) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(InputError, match=r"engine\.device"):
        flockwise.run(with_changes(engine={"device": device}), out=tmp_path / "run")


def test_a_file_cannot_be_a_run_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be made a run directory"):
        flockwise.run(FLIC, out=tmp_path / "file")


def test_a_function_that_makes_the_model_is_seeded(tmp_path: Path) -> None:
    models = [
        flockwise.run({**OWN, "rounds": 1, "seed": seed}, clients=_two_kinds(), model=lambda: torch.nn.Linear(6, 2),
                      out=tmp_path / name).checkpoint()["models"]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]  # fmt: skip
    assert models[0].tobytes() == models[1].tobytes() != models[2].tobytes()
