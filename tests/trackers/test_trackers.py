"""Trackers: what they are told while a run goes, by stand-ins for the libraries, which are not among the test tools."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import ConfigError, PluginError
from flockwise.export import export_run

CONFIG = {"rounds": 3, "split": {"clients": 3}, "engine": {"workers": 1}}


class Server:
    """An MLflow server in a dictionary."""

    def __init__(self) -> None:
        self.runs: dict[str, SimpleNamespace] = {}
        self.broken, self.made = False, 0

    def client(self, tracking_uri: str) -> "Server":
        self.uri = tracking_uri
        return self

    def get_experiment_by_name(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(experiment_id=name) if self.runs else None

    def create_experiment(self, name: str) -> str:
        return name

    def search_runs(self, experiments: list[str], filter_string: str = "") -> list[SimpleNamespace]:
        """No more than a page, as a server does: two runs."""
        name, _, value = filter_string.removeprefix("tags.").partition(" = ")
        wanted = [
            run
            for run in self.runs.values()
            if not name or run.data.tags.get(name.strip("`")) == value.strip("'")
        ]
        return wanted[:2]

    def create_run(self, experiment: str, run_name: str, tags: dict[str, str]) -> SimpleNamespace:
        self.made += 1
        key = f"run {self.made}"
        self.runs[key] = SimpleNamespace(
            info=SimpleNamespace(run_id=key),
            data=SimpleNamespace(tags=tags),
            name=run_name,
            status="RUNNING",
            params={},
            metrics=[],
        )
        return self.runs[key]

    def delete_run(self, key: str) -> None:
        del self.runs[key]

    def update_run(self, key: str, status: str) -> None:
        self.runs[key].status = status

    def log_batch(self, key: str, metrics: Any = (), params: Any = ()) -> None:
        if self.broken:
            raise ConnectionError("the server is gone\nand more")
        self.runs[key].metrics += metrics
        self.runs[key].params |= dict(params)

    def set_terminated(self, key: str, status: str) -> None:
        self.runs[key].status = status


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    mlflow, entities = ModuleType("mlflow"), ModuleType("mlflow.entities")
    mlflow.MlflowClient = made.client  # type: ignore[attr-defined]
    entities.Param = lambda key, value: (key, value)  # type: ignore[attr-defined]
    entities.Metric = lambda *parts: parts  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    return made


def test_an_mlflow_server_has_every_number_of_every_round(server: Server, tmp_path: Path) -> None:
    with fw.trackers.MLflow("http://tracking:5000") as track:
        done = fw.run(CONFIG, out=tmp_path / "run", on_round=track)
    (kept,) = server.runs.values()
    assert server.uri == "http://tracking:5000" and kept.status == "FINISHED"
    assert kept.params["strategy.name"] == "fedavg"
    accuracy = [(step, value) for name, value, _, step in kept.metrics if name == "accuracy"]
    assert accuracy == list(zip([1, 2, 3], done.facts["accuracy"].tolist(), strict=True))


def test_a_resumed_run_goes_on_with_the_same_mlflow_run(server: Server, tmp_path: Path) -> None:
    fw.run(CONFIG, out=tmp_path / "run", on_round=fw.trackers.MLflow("x"))
    fw.resume(tmp_path / "run", rounds=5, on_round=fw.trackers.MLflow("x"))
    fw.run(CONFIG, out=tmp_path / "other", on_round=fw.trackers.MLflow("x"))
    first, second = server.runs.values()
    assert (first.name, second.name) == ("run", "other"), (
        "a run whose config has no name goes by its directory"
    )
    assert [step for name, _, _, step in first.metrics if name == "accuracy"] == [1, 2, 3, 4, 5]
    assert first.status == second.status == "FINISHED"


def test_a_run_is_found_again_among_more_than_a_page_of_others(server: Server, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        fw.run(CONFIG, out=tmp_path / name, on_round=fw.trackers.MLflow("x"))
    fw.resume(tmp_path / "three", rounds=4, on_round=fw.trackers.MLflow("x"))
    assert server.made == 3
    export_run(tmp_path / "three", "mlflow", tmp_path / "out")  # takes the place of the last
    assert server.made == 4 and len(server.runs) == 3


def test_a_run_that_stops_is_ended_by_the_with_statement(server: Server, tmp_path: Path) -> None:
    with fw.trackers.MLflow("x") as track:
        fw.run(CONFIG, out=tmp_path / "run", on_round=track, stop=lambda: True)
    assert [kept.status for kept in server.runs.values()] == ["KILLED"]
    with pytest.raises(RuntimeError), fw.trackers.MLflow("x") as track:
        fw.run(CONFIG, out=tmp_path / "two", on_round=fw.trackers.several(track, _breaks))
    assert [kept.status for kept in server.runs.values()] == ["KILLED", "FAILED"]


def _breaks(progress: object) -> None:
    raise RuntimeError("somebody's own callback")


def test_a_server_that_is_gone_costs_no_training(server: Server, tmp_path: Path) -> None:
    server.broken = True
    with pytest.warns(UserWarning, match="mlflow: the server is gone; the run goes on without it") as told:
        done = fw.run(CONFIG, out=tmp_path / "run", on_round=fw.trackers.MLflow("x"))
    assert done.state == "finished" and len(told) == 1


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    told: list[Any] = []

    class Started:
        def log(self, facts: dict[str, float], step: int) -> None:
            told.append((step, facts["accuracy"]))

        def finish(self, exit_code: int) -> None:
            told.append(exit_code)

    def init(**options: Any) -> Started:
        told.append(options)
        return Started()

    module = ModuleType("wandb")
    module.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    yield told


def test_wandb_is_told_and_goes_on_when_resumed(wandb: list[Any], tmp_path: Path) -> None:
    done = fw.run(CONFIG, out=tmp_path / "run", on_round=fw.trackers.WandB("hospitals"))
    accuracies = done.facts["accuracy"].tolist()
    fw.resume(tmp_path / "run", rounds=4, on_round=fw.trackers.WandB("hospitals"))
    first, second = [options for options in wandb if isinstance(options, dict)]
    assert first["project"] == "hospitals" and first["id"] == second["id"] and first["resume"] == "allow"
    assert wandb[1:5] == [*zip([1, 2, 3], accuracies, strict=True), 0]


def test_tensorboard_grows_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            told.append((folder, purge_step))

        def add_text(self, *parts: str) -> None: ...

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, step))

        def flush(self) -> None:
            told.append("flush")

        def close(self) -> None:
            told.append("close")

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboard", ModuleType("tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    fw.run(CONFIG, out=tmp_path / "run", on_round=fw.trackers.TensorBoard(tmp_path / "logs"))
    assert told[0] == (str(tmp_path / "logs" / "run"), 1) and told[-1] == "close"
    assert [each[1] for each in told if each[0] == "accuracy"] == [1, 2, 3] and told.count("flush") == 3


@pytest.mark.parametrize(
    ("make", "library"),
    [
        (lambda: fw.trackers.MLflow("x"), "mlflow"),
        (lambda: fw.trackers.WandB("x"), "wandb"),
        (lambda: fw.trackers.TensorBoard("x"), "tensorboard"),
    ],
)
def test_a_missing_library_is_named_before_the_run(
    make: Any, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (library, f"{library}.entities"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PluginError, match=rf"flockwise\[{library}\]"):
        make()


def test_the_command_line_names_trackers(server: Server, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("rounds = 2\nsplit = {clients = 3}\n")
    words = [
        "run",
        str(tmp_path / "my.toml"),
        "--out",
        str(tmp_path / "run"),
        "-q",
        "--track",
        "mlflow=http://t:1",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert server.uri == "http://t:1" and [kept.status for kept in server.runs.values()] == ["FINISHED"]
    for said, told in (("mlflo=x", "did you mean 'mlflow'"), ("mlflow", "say where")):
        with pytest.raises(ConfigError, match=told):
            fw.trackers.tracker_from(said)


def test_an_export_to_a_server_takes_the_place_of_what_was_there(server: Server, tmp_path: Path) -> None:
    fw.run(CONFIG, out=tmp_path / "run", on_round=fw.trackers.MLflow("x"))
    for _ in range(2):
        words = ["export", str(tmp_path / "run"), "--to", "mlflow", "--uri", "http://tracking:5000"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0 and done.output == "http://tracking:5000\n"
    (kept,) = server.runs.values()
    assert [step for name, _, _, step in kept.metrics if name == "accuracy"] == [1, 2, 3]
    assert not (tmp_path / "run" / "export-mlflow").exists()
