"""Settings that do nothing are refused, or told of before the run begins."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.config import parse_config
from flockwise.config.doubts import doubts
from flockwise.errors import ConfigError


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"strategy": {"name": "flic", "warmup": 50}}, "strategy.warmup: is for round 50"),
        ({"strategy": {"name": "fl-hc", "rounds_before": 5}}, "strategy.rounds_before: is for round 6"),
        ({"strategy": {"name": "ifca", "warm_start": 5}}, "strategy.warm_start: is for round 6"),
        ({"strategy": {"name": "custom", "first": 7}}, "strategy.first: is for round 7"),
        ({"strategy": {"name": "cfl", "first": 7}}, "strategy.first: is for round 7"),
        ({"checkpoint": {"at": [3, 50]}}, "checkpoint.at: is for round 50"),
        (
            {"attack": {"name": "reverse", "clients": 2, "first_round": 9}},
            "attack.first_round: is for round 9",
        ),
        ({"faults": {"late_clients": 2, "late_round": 9}}, "faults.late_round: is for round 9"),
        ({"faults": {"drift_clients": 2, "drift_round": 9}}, "faults.drift_round: is for round 9"),
        ({"faults": {"late_round": 3}}, "faults.late_round = 3: faults.late_clients is 0"),
    ],
)
def test_what_a_run_never_gets_to_is_one_line(sections: dict[str, Any], told: str) -> None:
    (line,) = doubts(parse_config({"rounds": 5, **sections}))
    assert line.startswith(told)


def test_a_run_that_gets_to_everything_raises_no_doubt() -> None:
    for strategy in (
        {"name": "flic", "warmup": 5},
        {"name": "fl-hc", "rounds_before": 4},
        {"name": "fedavg"},
    ):
        assert doubts(parse_config({"rounds": 5, "strategy": strategy, "checkpoint": {"at": [5]}})) == []


@pytest.mark.parametrize("option", [{"judge": "validation"}, {"rollback": True}, {"follow": 0.1}])
def test_what_needs_validation_data_is_refused_without(option: dict[str, Any]) -> None:
    config = {"strategy": {"name": "flic", **option}, "split": {"validation": 0}}
    with pytest.raises(ConfigError, match=r"split\.validation = 0: strategy\."):
        parse_config(config)
    assert parse_config({**config, "split": {"validation": 0.1}})


def test_doubts_are_on_the_terminal_and_on_record(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        tomli_w.dumps({"rounds": 1, "checkpoint": {"at": [9]}, "split": {"clients": 3}})
    )
    checked = CliRunner().invoke(app, ["run", str(tmp_path / "my.toml"), "--check"])
    assert "note: checkpoint.at: is for round 9" in checked.output and checked.exit_code == 0
    done = fw.run(tmp_path / "my.toml", out=tmp_path / "run")
    assert [(event.round, event.kind) for event in done.events if event.kind == "note"] == [(0, "note")]
    assert done.damage == []
    fw.resume(tmp_path / "run", rounds=2)
    assert fw.open_run(tmp_path / "run").damage == []


def test_json_lines_name_the_clients_of_an_event(tmp_path: Path) -> None:
    config = {
        "rounds": 4, "seed": 1, "split": {"name": "iid", "clients": 8}, "training": {"learning_rate": 0.2},
        "strategy": {"name": "byzantine-cfl"}, "attack": {"name": "reverse", "clients": [1, 5]},
    }  # fmt: skip
    (tmp_path / "my.toml").write_text(tomli_w.dumps(config))
    command = ["run", str(tmp_path / "my.toml"), "--out", str(tmp_path / "run"), "--json"]
    told = CliRunner().invoke(app, command, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    lines = [json.loads(line) for line in told.output.splitlines() if line.startswith("{")]
    apart = [event for line in lines for event in line["events"] if event["kind"] == "quarantine"]
    assert apart and {client for event in apart for client in event["clients"]} == {1, 5}
    shown = json.loads(CliRunner().invoke(app, ["show", str(tmp_path / "run"), "--json"]).output)
    assert [event["clients"] for event in shown["events"] if event["kind"] == "quarantine"] == [
        event["clients"] for event in apart
    ]
