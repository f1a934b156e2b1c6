"""One more row: a strategy of one's own in a study that exists."""

import sys

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.errors import ConfigError
from flockwise.studies.file import read_study
from flockwise.studies.handle import Study
from flockwise.studies.rows import with_rows

BASE = {"rounds": 1, "split": {"clients": 4}, "model": {"name": "softmax"}}
METHODS = {"method": {"FedAvg": {}, "median": {"aggregation": {"name": "median"}}}}
MINE = '''from flockwise.strategies import fedavg
from flockwise.stages import Method


def quiet(*, rule=None) -> Method:
    """FedAvg under another name."""
    return fedavg()
'''


def labels(study):
    return [[labels[0] for labels in table.rows] for table in Study(study).tables()]


def test_a_row_joins_the_axis_of_the_rows():
    study = read_study({"base": BASE, "vary": {**METHODS, "rounds": [1, 2]}})
    assert labels(with_rows(study, {"mine": "flic"})) == [["FedAvg", "median", "mine"]]


def test_a_row_joins_every_table_whose_axis_is_shared_or_its_own():
    shared = read_study(
        {"base": BASE, "vary": METHODS, "tables": {"I": {}, "II": {"vary": {"rounds": [1, 2]}}}}
    )
    assert labels(with_rows(shared, {"mine": "flic"})) == [["FedAvg", "median", "mine"]] * 2
    own = read_study({"base": BASE, "tables": {"I": {"vary": METHODS}}})
    assert labels(with_rows(own, {"mine": "flic"})) == [["FedAvg", "median", "mine"]]


@pytest.mark.parametrize(
    ("vary", "row", "line"),
    [
        ({"rounds": [1, 2]}, {"mine": "flic"}, "rows are values of rounds, not named settings"),
        (METHODS, {"median": "flic"}, "--row median: this study has a row of that name"),
    ],
)
def test_what_cannot_be_a_row_is_told(vary, row, line):
    with pytest.raises(ConfigError, match=line):
        with_rows(read_study({"base": BASE, "vary": vary}), row)


def test_a_stranger_adds_a_row_with_one_command(tmp_path, monkeypatch):
    (tmp_path / "study").mkdir()
    file = tmp_path / "study" / "small.toml"
    file.write_text(
        'base = { rounds = 1, split = { clients = 4 }, model.name = "softmax" }\n'
        '[vary.method]\nFedAvg = {}\nmedian = { aggregation.name = "median" }\n'
    )
    (tmp_path / "own_row_module.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    call = ["study", str(file), "--out", str(tmp_path / "out"), "--jobs", "1"]
    first = CliRunner().invoke(app, call)
    assert first.exit_code == 0, first.output
    before = sorted((tmp_path / "out" / "results").rglob("*.json"))
    second = CliRunner().invoke(app, [*call, "--row", "mine=own_row_module:quiet"])
    assert second.exit_code == 0, second.output
    after = sorted((tmp_path / "out" / "results").rglob("*.json"))
    assert len(before) == 2 and len(after) == 3, "only the new row was run"
    assert "mine" in (tmp_path / "out" / "table.md").read_text()


def test_a_row_without_a_strategy_is_told():
    told = CliRunner().invoke(app, ["study", "x.toml", "--row", "mine"])
    assert told.exit_code != 0 and "must be LABEL=STRATEGY" in str(told.output) + str(told.exception)
