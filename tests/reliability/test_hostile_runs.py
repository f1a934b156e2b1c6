"""A run directory made to harm who looks at it costs little time and memory, and never the other runs."""

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from flockwise.cli.tables import run_row
from flockwise.errors import RunError
from flockwise.store import list_runs, open_run
from flockwise.store.files import is_locked
from flockwise.store.requests import pending
from flockwise.store.schema import COLUMNS
from flockwise.store.summary import client_summary, flock_summary
from tests.reliability.made import change, make

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
HOSTILE = {
    "a recursive view": (
        "DROP TABLE facts",
        f"CREATE VIEW facts AS {ENDLESS} SELECT i AS round, 'accuracy' AS name, 1.0 AS value FROM n",
    ),
    "about as a view": (
        "DROP TABLE about",
        f"CREATE VIEW about AS {ENDLESS} SELECT i AS key, i AS value FROM n",
    ),
    "a virtual table": ("DROP TABLE facts", "CREATE VIRTUAL TABLE facts USING fts5(round, name, value)"),
    "a generated column": (
        "DROP TABLE facts",
        "CREATE TABLE facts (round INTEGER, name TEXT, value AS (zeroblob(900000000)))",
        "INSERT INTO facts (round, name) VALUES (1, 'accuracy')",
    ),
    "other columns": ("DROP TABLE clients", "CREATE TABLE clients (client INTEGER PRIMARY KEY)"),
    "a huge text": ("INSERT INTO about VALUES ('x', CAST(zeroblob(300000000) AS TEXT))",),
    "a huge name of a fact": ("INSERT INTO facts VALUES (1, CAST(zeroblob(300000000) AS TEXT), 1)",),
    "too many facts": (
        f"INSERT INTO facts {ENDLESS.replace('FROM n)', 'FROM n LIMIT 200000)')} SELECT i % 5 + 1, 'f' || i, 1 FROM n",
    ),
    "too much about it": (
        f"INSERT INTO about {ENDLESS.replace('FROM n)', 'FROM n LIMIT 300000)')} SELECT 'k' || i, 1 FROM n",
    ),
}
READ = """
import resource, sys, time
from pathlib import Path
import flockwise.cli.show, flockwise.cli.runs, flockwise.report  # what a look at runs needs anyway
from flockwise.cli.tables import run_row
from flockwise.errors import RunError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.monotonic()
from flockwise.store import open_run
try:
    run = open_run(sys.argv[1])
    run.config, run.facts, run.events, run.clients, run.state, run.rounds, run.damage
    print("read")
except RunError as error:
    print("refused", str(error).replace("\\n", "|"))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
print(f"{grown:.0f} {time.monotonic() - started:.1f}")
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make(tmp_path / "run")


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_database_is_refused_in_one_line_and_little_memory(run: Path, what: str) -> None:
    change(run, *HOSTILE[what])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    told = subprocess.run([sys.executable, "-c", READ, str(run)], capture_output=True, text=True, timeout=200,
                          preexec_fn=limit)  # fmt: skip
    verdict, costs = told.stdout.splitlines()
    assert verdict.startswith("refused") and "run.sqlite" in verdict, told.stdout + told.stderr
    megabytes, seconds = costs.split()
    assert float(megabytes) < 400 and float(seconds) < 25


def test_one_hostile_run_never_takes_the_list_with_it(tmp_path: Path) -> None:
    make(tmp_path / "good")
    for number, statements in enumerate(HOSTILE.values()):
        change(make(tmp_path / f"bad {number}"), *statements)
    (make(tmp_path / "bad strategy") / "config.toml").write_text("strategy = 5\n")
    (make(tmp_path / "bad data") / "config.toml").write_text("[[data]]\n")
    started = time.monotonic()
    found = {path.name: run_row(path, each) for path, each in list_runs(tmp_path)}
    assert found["good"]["accuracy"] == 0.5
    others = {name: row["state"] for name, row in found.items() if name.startswith("bad")}
    assert len(others) == len(HOSTILE) + 2 and set(others.values()) == {"unreadable"}
    assert time.monotonic() - started < 30


def test_values_of_the_wrong_type_are_shown_as_nothing(run: Path) -> None:
    change(
        run,
        "UPDATE facts SET name = x'00ff' WHERE name = 'flocks'",
        "INSERT INTO facts VALUES ('no round', 'accuracy', 1.0)",
        "UPDATE facts SET value = x'00' WHERE round = 2",
        "UPDATE events SET round = 'x', kind = 5, message = x'ff', client = 'nobody' WHERE round = 1",
        "UPDATE events SET kind = 5, message = x'ff', client = 'nobody', detail = 3 WHERE round = 2",
        "UPDATE clients SET name = x'ff', truth = 'x', train = 'many' WHERE client = 0",
        "UPDATE about SET value = x'ff' WHERE key = 'state'",
    )
    found = open_run(run)
    assert list(found.facts) == ["accuracy"] and found.facts["accuracy"][0] == 0.1
    assert [event.round for event in found.events] == [2, 3, 4, 5]
    assert found.events[0].client is None and isinstance(found.events[0].message, str)
    first = found.clients[0]
    assert isinstance(first["name"], str) and first["truth"] is None and first["train"] == 0
    assert isinstance(found.state, str) and found.damage


@pytest.mark.parametrize(
    "change_to",
    [
        "dtype = '|O'", "dtype = 'V800000000'", "dtype = 'f4,f4'", "dtype = 'rubbish'", "dtype = x'00'", "dtype = 5",
        "shape = '[4'", "shape = '[5]'", "shape = '[-1]'", "shape = '4'", "shape = '[4.0]'", "shape = '{}'", "shape = 4",
        "shape = '[99999999999999999999]'", "shape = '[4, 0]'", "data = x'00'", "data = 'text'", "data = 5",
        "dtype = '<f4', shape = '[' || hex(zeroblob(3000)) || ']'",
    ],
)  # fmt: skip
def test_a_damaged_array_is_a_line_that_names_it(run: Path, change_to: str) -> None:
    change(run, f"UPDATE arrays SET {change_to} WHERE name = 'flock' AND round = 3")
    for read in (lambda: open_run(run).array("flock"), lambda: open_run(run).array_at("flock", 3)):
        with pytest.raises(RunError, match=r"run\.sqlite: .*flock.* round 3"):
            read()


def test_files_that_never_end_are_not_read_to_the_end(run: Path) -> None:
    for name in ("config.toml", "environment.json"):
        os.truncate(run / name, 40 << 30)  # a sparse file
    with pytest.raises(RunError, match=r"config\.toml"):
        _ = open_run(run).config
    assert open_run(run).environment == {}
    assert len(open_run(run).damage) == 2


def test_pipes_in_place_of_files_do_not_hang(run: Path) -> None:
    (run / "requests").mkdir()
    for name in ("environment.json", "lock", "requests/1.json", "checkpoints/round-000005.safetensors"):
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
    program = (
        "import sys; from flockwise.store import open_run; from flockwise.store.requests import pending\n"
        "run = open_run(sys.argv[1]); run.environment; run.state; run.damage; pending(run.path)\n"
        "try: run.checkpoint(5)\nexcept Exception as error: print(type(error).__name__)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(run)], capture_output=True, text=True, timeout=60
    )
    assert told.stdout.strip() == "RunError", told.stderr
    (run / "run.sqlite-wal").unlink(missing_ok=True)
    os.mkfifo(run / "run.sqlite-wal")
    told = subprocess.run(
        [sys.executable, "-c", program, str(run)], capture_output=True, text=True, timeout=60
    )
    assert "run.sqlite-wal" in told.stderr.splitlines()[-1]


def test_a_lock_that_points_elsewhere_is_not_written_through(run: Path, tmp_path: Path) -> None:
    from flockwise.store import reopen_run
    from flockwise.store.policy import CheckpointPolicy

    (tmp_path / "mine").write_text("mine")
    (run / "lock").unlink()
    (run / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(RunError):
        reopen_run(run, CheckpointPolicy())
    assert (tmp_path / "mine").read_text() == "mine"
    assert is_locked(run) in (True, False) and pending(run) == []


def test_a_temporary_file_that_points_elsewhere_is_not_written_through(run: Path, tmp_path: Path) -> None:
    import numpy as np

    from flockwise.store import reopen_run
    from flockwise.store.policy import CheckpointPolicy

    (tmp_path / "mine").write_text("mine")
    (run / "checkpoints" / ".round-000006.safetensors.tmp").symlink_to(tmp_path / "mine")
    with reopen_run(run, CheckpointPolicy(every=1)) as writer:
        writer.commit(6, 0.5, {}, {}, [], {"round": np.array([6])})
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_arrays_there_are_are_named(run: Path) -> None:
    from flockwise.errors import InputError

    with pytest.raises(InputError, match=r"'nope'.*accuracy, flock"):
        open_run(run).array("nope")
    assert len(open_run(run).array("similarity")[0]) == 0, "a name of ours that this run did not keep"
    shutil.rmtree(run)


def test_show_names_what_is_damaged(run: Path) -> None:
    change(run, "UPDATE facts SET value = 1 WHERE round = 2 AND name = 'accuracy'")
    told = subprocess.run(
        [sys.executable, "-m", "flockwise", "show", str(run)], capture_output=True, text=True
    )
    assert (
        "damaged" in told.stdout
        and "round 2 is not what was written" in told.stdout
        and "0.500" in told.stdout
    )


@pytest.mark.parametrize("version", ["\u00b2", "9" * 5000, "-1", "", "1.5"])
def test_a_format_that_is_no_number_is_a_newer_one(run: Path, version: str) -> None:
    change(run, f"UPDATE about SET value = '{version}' WHERE key = 'format'")
    with pytest.raises(RunError, match="newer") as caught:
        open_run(run)
    assert len(str(caught.value)) < 300


def test_an_array_of_no_round_is_left_out(run: Path) -> None:
    change(run, "INSERT INTO arrays SELECT 'x', name, dtype, shape, data FROM arrays WHERE round = 1")
    assert open_run(run).array("flock")[0].tolist() == [1, 2, 3, 4, 5] and open_run(run).damage


def loosened(run: Path, table: str) -> str:
    """A table with our columns and none of our types and keys, as a damaged definition may have it."""
    columns = ", ".join(COLUMNS[table])
    change(
        run,
        f"ALTER TABLE {table} RENAME TO before",
        f"CREATE TABLE {table} ({columns})",
        f"INSERT INTO {table} SELECT {columns} FROM before",
        "DROP TABLE before",
    )
    return columns


ODD = ("NULL", "'text'", "x'ff'", "1.5", "9e999", "''")


@pytest.mark.parametrize("value", ODD)
def test_rows_of_no_round_are_left_out_and_told_of(run: Path, value: str) -> None:
    for table in ("rounds", "arrays"):
        loosened(run, table)
    change(
        run,
        f"UPDATE rounds SET round = {value} WHERE round = 2",
        f"UPDATE arrays SET round = {value} WHERE round = 2",
    )
    found = open_run(run)
    assert found.rounds.tolist() == [1, 3, 4, 5] and found.seconds.tolist() == [0.25, 0.75, 1.0, 1.25]
    assert found.facts["accuracy"].tolist() == pytest.approx([0.1, 0.3, 0.4, 0.5])
    assert found.checkpoints == [4, 5] and found.newest_checkpoint().round == 5
    assert [round for round, _ in found.each("flock")] == [1, 3, 4, 5]
    assert client_summary(found)[1]["flock"] == 1
    assert found.damage


@pytest.mark.parametrize("value", ODD)
def test_a_newest_checkpoint_of_no_round_is_passed_over(run: Path, value: str) -> None:
    loosened(run, "rounds")
    change(run, f"UPDATE rounds SET round = {value} WHERE round = 5")
    assert open_run(run).newest_checkpoint().round == 4 and open_run(run).checkpoints == [4]


def test_a_round_that_is_there_twice_counts_once(run: Path) -> None:
    columns = loosened(run, "rounds")
    change(run, *[f"INSERT INTO rounds SELECT {columns} FROM rounds WHERE round = 1"] * 2)
    found = open_run(run)
    assert found.rounds.tolist() == [1, 2, 3, 4, 5] and len(found.seconds) == 5
    assert found.facts["accuracy"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert found.damage


@pytest.mark.parametrize("value", ODD)
def test_a_seal_of_no_round_is_one_line_of_damage(run: Path, value: str) -> None:
    loosened(run, "seals")
    change(run, f"UPDATE seals SET round = {value} WHERE round = 2")
    assert len(open_run(run).damage) == 1 and "seal" in open_run(run).damage[0]


@pytest.mark.parametrize("value", ODD)
def test_a_client_of_no_number_is_left_out(run: Path, value: str) -> None:
    loosened(run, "clients")
    change(
        run,
        f"UPDATE clients SET client = {value} WHERE client = 3",
        f"UPDATE clients SET attacker = {value}, truth = {value}, train = {value} WHERE client = 1",
    )
    found = open_run(run)
    assert [row["client"] for row in found.clients] == [0, 1, 2]
    assert found.client_column("attacker").tolist() == [0, 0, 0]
    assert found.client_column("truth").tolist() == [-1, -1, -1]
    assert found.client_column("train").tolist() == [10, 0, 10]
    assert len(client_summary(found)) == 4 and found.damage


@pytest.mark.parametrize("shape", ["[4, 1]", "[2, 2]", "[1, 2, 2]"])
def test_arrays_of_several_shapes_stay_as_they_are(run: Path, shape: str) -> None:
    change(run, f"UPDATE arrays SET shape = '{shape}' WHERE name = 'flock' AND round = 3")
    rounds, found = open_run(run).array("flock")
    assert rounds.tolist() == [1, 2, 3, 4, 5] and [each.shape for each in found[:2]] == [(4,), (4,)]
    assert list(found[2].shape) == json.loads(shape)


@pytest.mark.parametrize("change_to", ["shape = '[4, 1]'", "shape = '[2, 2]'", "dtype = '<f8'"])
def test_flocks_that_are_no_flocks_are_not_shown(run: Path, change_to: str) -> None:
    change(run, f"UPDATE arrays SET {change_to} WHERE name = 'flock' AND round = 5")
    assert {row["flock"] for row in client_summary(open_run(run))} == {None}
    assert flock_summary(open_run(run)) == []


@pytest.mark.parametrize("values", [np.array([0.5, np.nan]), np.zeros((2, 1), np.int64), np.int64(1)])
def test_a_table_of_many_clients_that_is_none_is_a_line(run: Path, values: np.ndarray) -> None:
    row = (0, "clients.truth", values.dtype.str, json.dumps(values.shape), values.tobytes())
    with sqlite3.connect(run / "run.sqlite") as database:
        database.execute("INSERT INTO arrays VALUES (?, ?, ?, ?, ?)", row)
    with pytest.raises(
        RunError, match=r"'clients.truth' of round 0 is damaged: .* no column of whole numbers"
    ):
        _ = open_run(run).clients


def test_half_a_letter_in_a_record_spoils_no_file_and_no_table(run: Path, tmp_path: Path) -> None:
    notes = json.dumps([{"town": "\ud800", "a\udfff": "\U0001f600"}, {}, {"town": "Pau"}, {}])
    with sqlite3.connect(run / "run.sqlite") as database:
        database.execute("INSERT OR REPLACE INTO about VALUES ('clients', ?)", (notes,))
        database.execute("UPDATE events SET detail = ?", (json.dumps({"why": ["\ud800", {"\udc00": 1}]}),))
    (run / "environment.json").write_bytes(
        b'{"parent": "/runs/\\ud800", "forked_at": 1, "host": "\xed\xa0\x80"}'
    )
    found = open_run(run)
    assert found.clients[0]["about"] == {"town": "?", "a?": "\U0001f600"}
    assert found.events[0].detail == {"why": ["?", {"?": 1}]} and found.parent == ("/runs/?", 1)
    for command in (["clients"], ["show"], ["logs"], ["export", "--to", "csv", "--out", str(tmp_path / "csv")],
                    ["report", "--out", str(tmp_path / "page.html")]):  # fmt: skip
        told = subprocess.run([sys.executable, "-m", "flockwise", command[0], str(run), *command[1:]], capture_output=True,
                              text=True)  # fmt: skip
        assert told.returncode == 0, told.stderr


def test_a_definition_of_several_lines_is_told_in_one(run: Path) -> None:
    odd = "CREATE TABLE arrays (round ''never\nending\ntext"
    change(
        run, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET sql = '{odd}' WHERE name = 'arrays'"
    )
    with pytest.raises(RunError, match=r"run\.sqlite: cannot be read: malformed database schema") as caught:
        open_run(run)
    assert "\n" not in str(caught.value)
