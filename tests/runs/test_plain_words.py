"""Mistakes in what a run is given are one line that names the argument."""

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.cli.tables import run_row
from flockwise.errors import InputError, RunError
from flockwise.store import accept
from tests.runs.small import FLIC


def own(tmp_path: Path) -> fw.Run:
    rng = np.random.default_rng(0)
    clients = fw.Federation.from_arrays([(rng.normal(size=(20, 3)), np.arange(20) % 2) for _ in range(3)])
    return fw.run(fw.fedavg(), clients, model=fw.models.mlp, rounds=1, out=tmp_path / "own")


def test_what_cannot_be_run_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^run\(flic, ...\): is a strategy, not yet a method; call it, as in fw.flic"
    ):
        fw.run(fw.flic)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^clients = list: must be a Federation"):
        fw.run(fw.flic(), [(np.zeros((3, 2)), [0, 1, 0])])  # type: ignore[arg-type]


def test_the_model_of_a_run_on_own_data_is_made_without_the_data(tmp_path: Path) -> None:
    model = own(tmp_path).model(client=1)
    assert model(torch.zeros(2, 3)).shape == (2, 2)


def test_a_module_of_another_architecture_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^module = Linear: has 12 numbers that travel, this run's models have"
    ):
        own(tmp_path).model(module=torch.nn.Linear(3, 3))


def test_a_broken_config_of_a_run_names_its_file(tmp_path: Path) -> None:
    fw.run({**FLIC, "rounds": 1}, out=tmp_path / "run")
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace("epochs = 2", "epoch = 2"))
    accept(tmp_path / "run")
    for act in (fw.resume, fw.load_model):
        with pytest.raises(
            RunError, match=r"run/config.toml: cannot be run: training.epoch = 2: unknown key"
        ):
            act(tmp_path / "run")


def test_a_run_that_does_not_know_its_goal_says_so(tmp_path: Path) -> None:
    done = own(tmp_path)
    done.config.pop("rounds")
    assert run_row(done.path, done)["round"] == "1/?"


def test_a_dashboard_of_no_folder_is_refused(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["serve", str(tmp_path / "nofolder")])
    assert told.exit_code == 2 and "no such folder" in told.output


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (np.arange(40).reshape(20, 2), r"^model: its embedding has 5 rows, .* reach to 39; .*tokens = 40"),
        (np.arange(40).reshape(20, 2) - 3, "^data: tokens reach from -3 to 36: must be at least 0"),
    ],
)  # fmt: skip
def test_tokens_that_a_model_does_not_know_are_told_before_training(
    tokens: np.ndarray, told: str, tmp_path: Path
) -> None:
    clients = fw.Federation.from_arrays([(tokens, np.arange(20) % 5)] * 2, inputs="tokens")
    config = {"rounds": 1, "model": {"name": "token-mlp"}}
    with pytest.raises(InputError, match=told):
        fw.run(config, clients, out=tmp_path / "run")
    if tokens.min() >= 0:
        config["model"] = {"name": "token-mlp", "tokens": 40}
        assert fw.run(config, clients, out=tmp_path / "run").state == "finished"
