"""What happens in runs as JSON lines."""

import json
from pathlib import Path

from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.cli.logs import Follower

from ..runs.small import with_changes


def lines(*words: str) -> list[dict]:
    done = CliRunner().invoke(app, ["logs", *words])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.output.splitlines()]


def test_rounds_events_and_states_are_lines_of_json(tmp_path: Path) -> None:
    run = fw.run(with_changes(faults={"dropout": 0.3}), out=tmp_path / "runs" / "one", rounds=4)
    for place in (tmp_path / "runs", run.path):
        told = lines(str(place))
        assert {line["run"] for line in told} == {"one"} and all(
            line["time"].endswith("+00:00") for line in told
        )
        rounds = [line for line in told if line["type"] == "round"]
        assert [line["round"] for line in rounds] == [1, 2, 3, 4] and rounds[-1]["accuracy"] == run.facts[
            "accuracy"
        ][-1]
        events = [(line["round"], line["kind"], line["client"]) for line in told if line["type"] == "event"]
        assert events == [(e.round, e.kind, e.client) for e in run.events] and events
        assert {line["name"] for line in told if "name" in line} == {
            run.clients[e.client]["name"] for e in run.events if e.client is not None
        }
        assert told[-1] == {**told[-1], "type": "state", "state": "finished"}


def test_following_tells_only_what_is_new(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "run", rounds=2)
    told = Follower()
    assert [line["round"] for line in told.news(tmp_path / "run") if line["type"] == "round"] == [1, 2]
    assert list(told.news(tmp_path / "run")) == []
    fw.resume(tmp_path / "run", rounds=4)
    assert [line["round"] for line in told.news(tmp_path / "run") if line["type"] == "round"] == [3, 4]


def test_a_broken_run_is_told_of_once_and_others_go_on(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "good", rounds=1)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.toml").write_text("= nonsense")
    told = lines(str(tmp_path))
    assert [line["type"] for line in told if line["run"] == "bad"] == ["unreadable"]
    assert [line["type"] for line in told if line["run"] == "good"][-1] == "state"
    assert lines(str(tmp_path / "nothing")) == []
