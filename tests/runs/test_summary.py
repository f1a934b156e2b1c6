"""What became of each client: in Python, on the command line, in exports and in the report."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import PluginError
from flockwise.export import export_run
from flockwise.report import describe_run
from tests.runs.small import with_changes


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> fw.Run:
    out = tmp_path_factory.mktemp("runs") / "run"
    config = with_changes(
        split={"name": "label_swap", "clients": 8, "groups": 2},
        strategy={"name": "flic", "warmup": 3, "min_separation": 0.0, "judge": "largest"},
    )
    return fw.run({**config, "faults": {}, "sampling": {"fraction": 1.0}}, out=out)


def test_the_summary_says_flock_state_and_accuracy_of_each_client(done: fw.Run) -> None:
    rows = done.summary
    assert [row["client"] for row in rows] == list(range(8))
    assert [row["flock"] for row in rows] == [None if f < 0 else int(f) for f in done.labels]
    assert [row["client"] for row in rows if row["state"] == "set apart"] == done.apart != []
    _, accuracy = done.array("accuracy")
    assert np.allclose([row["accuracy"] for row in rows], accuracy[-1])
    assert [row["train"] for row in rows] == [client["train"] for client in done.clients]
    assert sum(row["rounds_trained"] for row in rows) == done.array("trained")[1].sum()


def test_the_command_shows_it_as_a_table_json_and_csv(done: fw.Run, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["clients", str(done.path)]).output.splitlines()
    assert told[0].split()[:4] == ["client", "name", "flock", "state"] and len(told) == 9
    assert json.loads(CliRunner().invoke(app, ["clients", str(done.path), "--json"]).output) == done.summary
    made = CliRunner().invoke(app, ["clients", str(done.path), "--csv", str(tmp_path / "c.csv")])
    assert made.exit_code == 0, made.output
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == [row["state"] for row in done.summary]


def test_the_exported_clients_have_flock_and_accuracy(done: fw.Run, tmp_path: Path) -> None:
    files = {path.name: path for path in export_run(done.path, "csv", tmp_path)}
    with files["clients.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accuracy"]) for row in rows] == [row["accuracy"] for row in done.summary]
    assert {"flock", "state", "truth", "attacker"} <= rows[0].keys()


def test_the_report_has_accuracies_with_every_digit(done: fw.Run) -> None:
    assert describe_run(done)["scores"]["latest"] == [row["accuracy"] for row in done.summary]


def test_a_run_without_a_round_has_rows_without_numbers(tmp_path: Path) -> None:
    clients = fw.splits.iid(fw.data.digits(), clients=3, seed=0)
    with pytest.raises(PluginError):
        fw.run(fw.fedavg(rule=lambda updates: 1 / 0), clients, rounds=1, out=tmp_path / "run")
    rows = fw.open_run(tmp_path / "run").summary
    assert [(row["flock"], row["accuracy"], row["rounds_trained"]) for row in rows] == [(None, None, 0)] * 3
    assert all(row["train"] > 0 for row in rows)
