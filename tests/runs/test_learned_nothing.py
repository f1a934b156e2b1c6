"""A run in which nobody's reply could be used fails, with a reason, an exit code and an honest report."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch
from click.testing import CliRunner
from torch import nn

import flockwise as fw
from flockwise.cli.app import app
from flockwise.engine.local import LocalEngine
from flockwise.errors import EngineError, InputError, RunError
from flockwise.report.headline import headline
from flockwise.report.places import read_places
from flockwise.runs import loop, open_run
from flockwise.server import Server
from flockwise.store.requests import file_request

from .small import with_changes

HOPELESS: dict[str, Any] = {
    "rounds": 30,
    "split": {"name": "iid", "clients": 3},
    "training": {"learning_rate": 1e30},
    "engine": {"workers": 1},
}


def test_rounds_with_nothing_but_rejections_end_a_run_after_retries(tmp_path: Path) -> None:
    config = {**HOPELESS, "engine": {"workers": 1, "retries": 2}}
    with pytest.raises(
        EngineError, match=r"run: failed: round 3: no reply could be used, 3 rounds in a row \(client 0: "
    ):
        fw.run(config, out=tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.state == "failed" and run.rounds.tolist() == [1, 2, 3]
    assert [event.kind for event in run.events].count("failed") == 1
    story = headline(run, read_places(run))["story"]
    assert story.startswith("This run failed after 3 rounds: round 3: no reply could be used")
    assert "accuracy" not in story.lower()
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")]).output.splitlines()
    assert [
        line for line in shown if line.startswith("error       round 3: no reply could be used, 3 rounds in")
    ]
    content = json.loads(CliRunner().invoke(app, ["show", str(tmp_path / "run"), "--json"]).output)
    assert content["error"].startswith("round 3: no reply could be used")


def test_a_failed_run_is_told_of_with_exit_code_one(tmp_path: Path) -> None:
    (tmp_path / "hopeless.toml").write_text(tomli_w.dumps({**HOPELESS, "rounds": 2}))
    command = [
        sys.executable,
        "-m",
        "flockwise",
        "run",
        str(tmp_path / "hopeless.toml"),
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert (
        "failed: no reply could be used in any round: client 0: " in done.stderr
        and "Traceback" not in done.stderr
    )


def test_a_reply_that_can_be_used_starts_the_count_again(tmp_path: Path) -> None:
    """With a liar whose reply is always rejected beside honest clients nothing is given up."""
    config = {
        "rounds": 6, "split": {"name": "iid", "clients": 3}, "gate": {"max_norm": 50.0},
        "attack": {"name": "reverse", "clients": 1, "scale": 1e6}, "engine": {"workers": 1, "retries": 0},
    }  # fmt: skip
    run = fw.run(config, out=tmp_path / "run")
    assert run.state == "finished" and run.facts["rejected"].tolist() == [1.0] * 6


def test_simulated_losses_alone_give_nothing_up_before_the_end(tmp_path: Path) -> None:
    config = {
        "rounds": 4, "split": {"name": "iid", "clients": 2}, "faults": {"dropout": 1.0},
        "engine": {"workers": 1, "retries": 0},
    }  # fmt: skip
    with pytest.raises(EngineError, match="no reply could be used in any round"):
        fw.run(config, out=tmp_path / "run")
    assert open_run(tmp_path / "run").rounds.tolist() == [1, 2, 3, 4]


def test_a_module_that_starts_with_nan_is_refused_by_the_name_of_its_tensor(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with torch.no_grad():
        module[1].weight[3, 5] = float("nan")
    clients = fw.splits.iid(fw.data.digits(), clients=2)
    with pytest.raises(
        InputError, match=r"model: 1\.weight holds NaN or infinite values before any training"
    ):
        fw.run(fw.fedavg(), clients, model=module, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("what", [[1], None, 3.5, object()])
def test_what_cannot_be_run_is_refused_in_a_line(what: Any) -> None:
    with pytest.raises(InputError, match=r"^run\(\w+, \.\.\.\): must be a method"):
        fw.run(what)


def test_a_models_run_names_the_argument_that_is_missing(tmp_path: Path) -> None:
    clients = fw.splits.iid(fw.data.digits(), clients=2)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    run = fw.run(fw.fedavg(), clients, model=module, rounds=1, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"module: .* as module="):
        run.model()
    own = fw.Federation.from_arrays([clients.arrays(0, "train"), clients.arrays(1, "train")])
    run = fw.run(fw.fedavg(), own, model=fw.models.softmax, rounds=1, out=tmp_path / "data")
    assert isinstance(run.model(), nn.Module)  # the shape of a sample is on record
    run.environment.pop("samples")  # as in a run of an older release
    with pytest.raises(InputError, match=r"module: this run's data was given in Python"):
        run.model()
    assert isinstance(run.model(module=module), nn.Module)


def test_a_config_on_record_that_cannot_be_run_is_named_by_its_file(tmp_path: Path) -> None:
    fw.run({**HOPELESS, "training": {}, "rounds": 1}, out=tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text('rounds = "x"\n')
    with pytest.raises(RunError, match=r"run/config\.toml: cannot be run: rounds = 'x'"):
        fw.load_model(tmp_path / "run")


def test_what_a_person_asked_before_the_first_round_waits_until_there_is_one(
    tmp_path: Path, monkeypatch
) -> None:
    """It was put on record as done, and was gone with the round that nobody answered."""
    real, waiting = loop.apply_requests, [{"action": "quarantine", "client": 2}]

    def asked(path: Path, server: Server) -> Any:
        if waiting:
            file_request(path, waiting.pop())
        return real(path, server)

    monkeypatch.setattr(loop, "apply_requests", asked)
    silent = {**with_changes(sampling={"fraction": 1.0}), "rounds": 2}
    monkeypatch.setattr(LocalEngine, "retries", 0, raising=False)
    train = LocalEngine.train
    monkeypatch.setattr(
        LocalEngine, "train", lambda self, plan: train(self, plan).rows(np.zeros(len(plan.tasks), bool))
    )
    run = fw.run(silent, out=tmp_path / "run")
    assert run.state == "stopped" and not [e for e in run.events if e.kind == "quarantine"]
    monkeypatch.setattr(LocalEngine, "train", train)
    again = fw.resume(tmp_path / "run")
    assert again.array("apart")[1][-1][2] == 1 and [
        e.client for e in again.events if e.kind == "quarantine"
    ] == [2]
