"""Numbers are of the code that made them: a user's own piece that was edited is run again, and a run says so."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flockwise import plugins
from flockwise.studies import Study
from flockwise.studies.results import cell_digest, results_in, stands

RULE = "def half(updates):\n    return updates.mean(axis=0) * {factor}\n"
READER = "def one(finished):\n    return {value}\n"
STUDY = """name = "small"
base = {{ rounds = 2, split.clients = 4, model.name = "softmax", {more} }}
[vary.rule]
mean = {{}}
{row}
[show]
numbers = ["accuracy"{number}]
"""
MINE = "from flockwise.strategies import fedavg\n\n\ndef mine(*, rule=None):\n    return fedavg()\n"


def flockwise(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Another process, as a user's next command is: Python imports a file once."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-m", "flockwise", *words],
        cwd=folder,
        env=here,
        capture_output=True,
        text=True,
        timeout=300,
    )


def study(folder: Path, row: str = 'half = {{ aggregation.name = "own_rule:half" }}', more: str = "engine.workers = 1",
          number: str = "") -> None:  # fmt: skip
    (folder / "small.toml").write_text(STUDY.format(more=more, row=row.format(), number=number))


def on_record(folder: Path, cell: str) -> list[float]:
    found = [r for r in results_in(folder / "studies" / "small" / "results") if r.cell == cell]
    return [r.curves["accuracy"][-1] for r in sorted(found, key=lambda r: r.date)]


def test_a_cell_whose_own_rule_was_edited_is_run_again_and_both_stay_on_record(tmp_path):
    study(tmp_path)
    (tmp_path / "own_rule.py").write_text(RULE.format(factor=1))
    assert flockwise(tmp_path, "study", "small.toml", "--jobs", "1", "--keep-runs").returncode == 0
    assert "0 to run" in flockwise(tmp_path, "study", "small.toml", "--list").stderr
    (tmp_path / "own_rule.py").write_text(RULE.format(factor=-1))
    listed = flockwise(tmp_path, "study", "small.toml", "--list")
    assert "2 cells, 1 finished, 1 to run" in listed.stderr and "half, seed 0: missing" in listed.stdout
    assert flockwise(tmp_path, "study", "small.toml", "--jobs", "1", "--keep-runs").returncode == 0
    assert len(on_record(tmp_path, "mean")) == 1
    before, after = on_record(tmp_path, "half")
    assert before != after  # trained anew, not read from the run that was kept


def test_a_row_from_the_command_line_is_run_again_too(tmp_path):
    study(tmp_path, row="")
    (tmp_path / "my_method.py").write_text(MINE)
    words = ("study", "small.toml", "--row", "mine=my_method:mine", "--jobs", "1")
    assert flockwise(tmp_path, *words).returncode == 0
    (tmp_path / "my_method.py").write_text(MINE + "# edited\n")
    assert "1 to run" in flockwise(tmp_path, *words, "--list").stderr


def test_a_number_whose_own_reader_was_edited_is_read_again(tmp_path):
    study(tmp_path, row="", number=', "own_reader:one"')
    (tmp_path / "own_reader.py").write_text(READER.format(value=1))
    assert flockwise(tmp_path, "study", "small.toml", "--jobs", "1").returncode == 0
    (tmp_path / "own_reader.py").write_text(READER.format(value=2))
    assert "1 to run" in flockwise(tmp_path, "study", "small.toml", "--list").stderr


def test_results_that_tell_of_no_pieces_stay_valid(tmp_path):
    study(tmp_path)
    (tmp_path / "own_rule.py").write_text(RULE.format(factor=1))
    found = Study(tmp_path / "small.toml", out=tmp_path / "out")
    found.carry_out(jobs=1)
    by_name = {result.cell: result for result in found.results}
    assert by_name["mean"].pieces == {} and list(by_name["half"].pieces) == ["own_rule"]
    cell = next(cell for cell in found.cells if cell.name == "half")
    assert stands(by_name["half"], cell) and stands(replace(by_name["half"], pieces={}), cell)
    assert not stands(replace(by_name["half"], pieces={"own_rule": "another"}), cell)
    assert cell_digest(replace(cell, pieces={"own_rule": "another"})) != cell_digest(cell)


def test_a_file_edited_after_it_was_imported_is_said_not_to_be_what_runs(tmp_path):
    (tmp_path / "late_edit.py").write_text(RULE.format(factor=1))
    before = plugins.own_digests({"rule": "late_edit:half"}, tmp_path)
    (tmp_path / "late_edit.py").write_text(RULE.format(factor=2))
    with pytest.warns(UserWarning, match=r"late_edit.py: changed since this Python imported it"):
        assert plugins.own_digests({"rule": "late_edit:half"}, tmp_path) == before


def test_resuming_with_an_edited_rule_names_the_file(tmp_path):
    (tmp_path / "own_rule.py").write_text(RULE.format(factor=1))
    (tmp_path / "my.toml").write_text(
        'rounds = 2\nsplit.clients = 4\nmodel.name = "softmax"\naggregation.name = "own_rule:half"\n'
    )
    assert flockwise(tmp_path, "run", "my.toml", "--out", "run").returncode == 0
    assert "edited" not in flockwise(tmp_path, "resume", "run", "--rounds", "3").stderr
    (tmp_path / "own_rule.py").write_text(RULE.format(factor=0.5))
    told = flockwise(tmp_path, "resume", "run", "--rounds", "4")
    assert told.returncode == 0
    assert f"edited: {tmp_path.resolve() / 'own_rule.py'}: was changed since this run was made" in told.stderr
