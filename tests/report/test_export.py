"""Taking a run's numbers elsewhere."""

import csv
import json
import sys
from importlib.util import find_spec

import fake_run
import numpy as np
import pytest

from flockwise.errors import InputError, PluginError, RunError
from flockwise.export import FORMATS, export_run
from flockwise.export.text_files import cell
from flockwise.store import open_run

NAMES = ["=1+1", "+cmd", "-2", "@x", "\tx", "\rx", " =1", 'a,"b"\nc', "plain", "é", "''", "x=1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fake_run.flic(tmp_path_factory.mktemp("runs") / "run", clients=12, rounds=16, names=NAMES)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_holds_every_number(run, tmp_path):
    files = {path.name: path for path in export_run(run, "csv", tmp_path / "new" / "folder")}
    assert set(files) == {"rounds.csv", "clients.csv", "client_rounds.csv", "events.csv"}
    opened = open_run(run)
    rounds = read_csv(files["rounds.csv"])
    assert [float(row["accuracy"]) for row in rounds] == pytest.approx(opened.facts["accuracy"])
    rows = read_csv(files["client_rounds.csv"])
    assert len(rows) == 16 * 12
    _, accuracy = opened.array("accuracy")
    assert np.allclose([float(row["accuracy"]) for row in rows], accuracy.ravel())
    assert rows[-1]["round"] == "16" and rows[-1]["client"] == "11"
    assert json.loads(read_csv(files["events.csv"])[0]["detail"])["sizes"]


def test_no_cell_can_act_as_a_formula(run, tmp_path):
    files = {path.name: path for path in export_run(run, "csv", tmp_path)}
    names = [row["name"] for row in read_csv(files["clients.csv"])]
    assert names == [f"'{name}" if name.lstrip(" ")[0] in "=+-@\t\r" else name for name in NAMES]


@pytest.mark.parametrize(
    ("value", "shown"), [(-1.5, -1.5), (True, 1), (None, None), ("-1", "'-1"), ("", ""), ("ok", "ok")]
)
def test_numbers_are_left_alone(value, shown):
    assert cell(value) == shown


def test_json_lines_hold_names_as_they_are(run, tmp_path):
    files = {path.name: path for path in export_run(run, "jsonl", tmp_path)}
    lines = [json.loads(line) for line in files["clients.jsonl"].read_text().splitlines()]
    assert [line["name"] for line in lines] == NAMES
    rounds = [json.loads(line) for line in files["rounds.jsonl"].read_text().splitlines()]
    assert rounds[0]["separation"] is None and rounds[14]["separation"] == 4.0


def test_unknown_formats_and_runs_are_refused(run, tmp_path):
    with pytest.raises(InputError, match="csv, jsonl, parquet"):
        export_run(run, "xls", tmp_path)
    with pytest.raises(RunError):
        export_run(tmp_path / "nothing", "csv", tmp_path / "out")


@pytest.mark.parametrize(
    ("to", "library"), [("parquet", "pyarrow"), ("tensorboard", "tensorboard"), ("mlflow", "mlflow")]
)
def test_a_missing_library_is_named_with_its_extra(run, tmp_path, monkeypatch, to, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(PluginError, match=rf"flockwise\[{to}\]"):
        export_run(run, to, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def needs(library):
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")


@needs("pyarrow")
def test_parquet_holds_the_same_tables(run, tmp_path):
    import pyarrow.parquet

    files = {path.name: path for path in export_run(run, "parquet", tmp_path)}
    table = pyarrow.parquet.read_table(files["client_rounds.parquet"])
    assert table.num_rows == 16 * 12 and "accuracy" in table.column_names


@needs("tensorboard")
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_what_was_written(run, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export_run(run, "tensorboard", tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [point.step for point in events.Scalars("accuracy")] == list(range(1, 17))


@needs("mlflow")
@needs("sqlalchemy")
@pytest.mark.filterwarnings("ignore")
def test_mlflow_reads_what_was_written(run, tmp_path):
    import mlflow

    for _ in range(2):  # a second export takes the place of the first
        (store,) = export_run(run, "mlflow", tmp_path)
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{store}")
    found = client.search_runs([client.get_experiment_by_name("flockwise").experiment_id])
    assert len(found) == 1
    assert found[0].data.params["strategy.name"] == "flic"
    assert len(client.get_metric_history(found[0].info.run_id, "accuracy")) == 16


def test_all_formats_are_advertised():
    assert FORMATS == ("csv", "jsonl", "parquet", "tensorboard", "mlflow")


SIGNS = "=+-@＝＋－＠"
BEFORE = ["", " ", "\t", "\r", "\n", "\r\n", "\x0b", "\x0c", "\x00", "\x1f", "\x85", "\xa0", "\u00ad", "\u200b", "\u200e",
          "\u2028", "\u2029", "\u202f", "\u2060", "\u3000", "\ufeff", " \n\xa0", '"', "'"]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
def test_no_text_that_a_spreadsheet_may_trim_acts_as_a_formula(before):
    for sign in SIGNS:
        text = f"{before}{sign}1+1"
        assert cell(text) == (text if before == "'" else f"'{text}"), ascii(text)
    assert cell(f"{before}plain") == (
        f"'{before}plain" if before in ("\t", "\r", "\n", "\r\n") else f"{before}plain"
    )


def test_a_run_whose_arrays_are_damaged_is_a_line(run, tmp_path):
    import shutil
    import sqlite3

    copy = shutil.copytree(run, tmp_path / "copy")
    with sqlite3.connect(copy / "run.sqlite") as database:
        database.execute("UPDATE arrays SET shape = '[3, 7]' WHERE name = 'flock' AND round = 2")
    database.close()
    with pytest.raises(RunError, match=r"run\.sqlite: the array 'flock' of round 2 is damaged"):
        export_run(copy, "csv", tmp_path / "out")


def test_a_folder_that_cannot_be_made_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        export_run(run, "csv", tmp_path / "file" / "out")
