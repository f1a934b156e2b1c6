"""Names of clients and what is known of them, wherever a client is shown."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.data import Federation
from flockwise.errors import EngineError
from flockwise.export import export_run
from flockwise.report.numbers import describe_run
from flockwise.report.page import safe_json
from flockwise.runs import open_run
from flockwise.store.client_notes import read_notes

ROWS = (np.arange(24.0).reshape(12, 2) / 24, np.arange(12) % 2)
HOSTILE = "</script><b>\x1b[31m=1+1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    about = {"Nordklinikk": {"place": "Oslo", "beds": 900}, HOSTILE: {"place": HOSTILE, HOSTILE: True}}
    federation = Federation.from_arrays({"Nordklinikk": ROWS, HOSTILE: ROWS}, about=about)
    path = tmp_path_factory.mktemp("runs") / "run"
    options = {"attack": fw.attacks.reverse(clients=[1], scale=1e9), "gate": {"max_norm": 10.0}}
    fw.run(fw.fedavg(), federation, model=fw.models.softmax, rounds=2, out=path, **options)
    return path


def test_show_prints_names_without_what_commands_a_terminal(run: Path) -> None:
    shown = CliRunner().invoke(app, ["show", str(run), "--clients"]).output
    assert "Nordklinikk" in shown and "Oslo" in shown and "900" in shown
    assert "rejected </script><b>\\x1b[31m=1+1 (client 1): " in shown and "\x1b" not in shown
    told = json.loads(CliRunner().invoke(app, ["show", str(run), "--json"]).output)
    assert told["clients"][0] == {
        "client": 0, "name": "Nordklinikk", "flock": 0, "accuracy": told["clients"][0]["accuracy"], "train": 11,
        "test": 0, "place": "Oslo", "beds": 900, HOSTILE: None,
    }  # fmt: skip


def test_the_summary_has_names_and_notes(run: Path) -> None:
    first, second = open_run(run).summary
    assert (first["name"], first["about_place"], first["about_beds"]) == ("Nordklinikk", "Oslo", 900)
    assert second["about_beds"] is None and second[f"about_{HOSTILE}"] is True
    shown = CliRunner().invoke(app, ["clients", str(run)]).output
    assert "about_place" in shown and "Oslo" in shown and "\x1b" not in shown


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_exported_tables_have_names_and_notes_and_no_formula(run: Path, tmp_path: Path) -> None:
    files = {path.name: path for path in export_run(run, "csv", tmp_path)}
    rows = read(files["clients.csv"])
    assert [row["name"] for row in rows] == ["Nordklinikk", HOSTILE]
    assert rows[0]["about_place"] == "Oslo" and rows[0]["about_beds"] == "900" and rows[1]["about_beds"] == ""
    events = read(files["events.csv"])
    assert {row["name"] for row in events if row["kind"] == "rejected"} == {HOSTILE}


def test_the_report_holds_names_and_notes_and_no_way_out_of_its_script(run: Path) -> None:
    told = describe_run(open_run(run))["clients"]
    assert told["name"] == ["Nordklinikk", HOSTILE]
    assert {"key": "beds", "values": [900, None]} in told["about"]
    assert "</script" not in safe_json(told)


def test_a_failed_run_names_the_client_that_it_quotes(tmp_path: Path) -> None:
    federation = Federation.from_arrays({"Nordklinikk": ROWS}, classes=2)
    with pytest.raises(EngineError, match=r"\(Nordklinikk \(client 0\): reply rejected"):
        fw.run(
            fw.fedavg(), federation, model=fw.models.softmax, rounds=9, training=fw.SGD(learning_rate=1e30),
            out=tmp_path / "run",
        )  # fmt: skip


def test_progress_tells_names(tmp_path: Path) -> None:
    seen: list[str] = []
    federation = Federation.from_arrays({"Nordklinikk": ROWS})
    fw.run(
        fw.fedavg(), federation, model=fw.models.softmax, rounds=1, out=tmp_path / "run",
        on_round=lambda progress: seen.append(progress.names[0]),
    )  # fmt: skip
    assert seen == ["Nordklinikk"]


@pytest.mark.parametrize("text", ["", "[", "{}", "[1, null]", '[{"a": [1]}]', "[" * 100_000])
def test_notes_of_a_broken_record_are_no_notes(text: str) -> None:
    assert all(note == {} for note in read_notes(text))
