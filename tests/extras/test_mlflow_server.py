"""An MLflow server of one's own: followed while a run goes, exported to, and gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: .ci/extended extras")
pytest.importorskip("mlflow.server", reason="mlflow-skinny has no server: .ci/extended extras")

CONFIG = 'rounds = 3\nsplit = {clients = 3}\nengine = {workers = 1}\nname = "hospitals"\n'
pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on this machine, with a database of its own; its address."""
    folder, port = tmp_path_factory.mktemp("mlflow"), _free_port()
    words = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    words += [
        "--backend-store-uri",
        f"sqlite:///{folder / 'mlflow.db'}",
        "--artifacts-destination",
        str(folder),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(
            process.pid, signal.SIGKILL
        )  # with its workers, which it waits for; its database is thrown away
        process.wait(30)


def test_a_run_is_followed_and_a_resumed_one_goes_on(server: str, tmp_path: Path) -> None:
    _command(
        tmp_path,
        "run",
        str(_config(tmp_path)),
        "--out",
        str(tmp_path / "run"),
        "-q",
        "--track",
        f"mlflow={server}",
    )
    _command(tmp_path, "resume", str(tmp_path / "run"), "--rounds", "5", "-q", "--track", f"mlflow={server}")
    (kept,) = _runs(server, "hospitals")
    assert kept.info.status == "FINISHED" and kept.data.params["strategy.name"] == "fedavg"
    points = mlflow.MlflowClient(tracking_uri=server).get_metric_history(kept.info.run_id, "accuracy")
    told = {point.step: point.value for point in points}
    run = fw.open_run(tmp_path / "run")
    assert told == dict(zip(run.rounds.tolist(), run.facts["accuracy"].tolist(), strict=True))


def test_an_export_takes_the_place_of_the_one_before(server: str, tmp_path: Path) -> None:
    config = _config(tmp_path, "clinics")
    _command(tmp_path, "run", str(config), "--out", str(tmp_path / "run"), "-q")
    for _ in range(2):
        _command(tmp_path, "export", str(tmp_path / "run"), "--to", "mlflow", "--uri", server)
    (kept,) = _runs(server, "clinics")
    assert kept.info.status == "FINISHED" and 0 < kept.data.metrics["accuracy"] <= 1


def test_a_server_that_is_not_there_costs_a_warning_and_little_time(tmp_path: Path) -> None:
    address, start = f"http://127.0.0.1:{_free_port()}", time.monotonic()
    with pytest.warns(UserWarning, match="mlflow: .*; the run goes on without it"):
        done = fw.run(_config(tmp_path), out=tmp_path / "run", on_round=fw.trackers.MLflow(address))
    assert done.state == "finished" and time.monotonic() - start < 60


def _config(folder: Path, name: str = "hospitals") -> Path:
    (folder / "my.toml").write_text(CONFIG.replace("hospitals", name))
    return folder / "my.toml"


def _command(folder: Path, *words: str) -> None:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output


def _runs(server: str, name: str) -> list[Any]:
    client = mlflow.MlflowClient(tracking_uri=server)
    experiment = client.get_experiment_by_name("flockwise").experiment_id
    return [run for run in client.search_runs([experiment]) if run.info.run_name == name]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())
