"""Events told to commands and webhooks: as JSON, without a shell, and never at the run's cost."""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner

import flockwise as fw
from flockwise.cli.app import app
from flockwise.errors import ConfigError
from flockwise.runs.alerts import ENDS, KINDS, Alerts, unknown_kinds

ATTACKED = {
    "rounds": 4, "seed": 1, "split": {"name": "iid", "clients": 8}, "training": {"learning_rate": 0.2},
    "strategy": {"name": "byzantine-cfl"}, "attack": {"name": "reverse", "clients": [1, 5]},
}  # fmt: skip


def keeper(folder: Path) -> str:
    """A command that keeps each event it is told in a file of its own."""
    program = (
        "import sys, pathlib, uuid; "
        f"pathlib.Path({str(folder)!r}, uuid.uuid4().hex).write_bytes(sys.stdin.buffer.read())"
    )
    return f'{sys.executable} -c "{program}"'


def kept(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(folder.iterdir())]


def test_a_command_is_told_events_as_json(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "my.toml").write_text(tomli_w.dumps(ATTACKED))
    command = keeper(tmp_path / "events")
    words = ["run", str(tmp_path / "my.toml"), "--out", str(tmp_path / "run"), "-q"]
    done = CliRunner().invoke(app, [*words, "--on", "quarantine", command, "--on", "finished", command])
    assert done.exit_code == 0, done.output
    told = kept(tmp_path / "events")
    apart = [event for event in told if event["kind"] == "quarantine"]
    assert {client for event in apart for client in event["clients"]} == {1, 5}
    assert [event["round"] for event in told if event["kind"] == "finished"] == [4]
    assert all(event["run"] == str(tmp_path / "run") for event in told)


def test_text_of_clients_never_meets_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events").mkdir()
    hostile = "$(touch owned) `touch owned`; touch owned\n\x1b[31m"
    monkeypatch.chdir(tmp_path)
    rows = (np.arange(24.0).reshape(12, 2) / 24, np.arange(12) % 2)
    federation = fw.Federation.from_arrays({hostile: rows, "plain": rows})
    with Alerts([("rejected", keeper(tmp_path / "events"))]) as alerts:
        fw.run(
            fw.fedavg(), federation, model=fw.models.softmax, rounds=1, out=tmp_path / "run", on_round=alerts,
            attack=fw.attacks.reverse(clients=[0], scale=1e9), gate={"max_norm": 10.0},
        )  # fmt: skip
    (event,) = kept(tmp_path / "events")
    assert event["name"] == hostile and event["client"] == 0
    assert not (tmp_path / "owned").exists()


def test_a_webhook_is_sent_a_post(tmp_path: Path) -> None:
    bodies: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(
                (
                    self.headers["Content-Type"],
                    json.loads(self.rfile.read(int(self.headers["Content-Length"]))),
                )
            )
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Alerts([("quarantine", f"http://127.0.0.1:{server.server_port}/hook")]) as alerts:
            fw.run(ATTACKED, out=tmp_path / "run", on_round=alerts)
        server.shutdown()
    assert bodies and all(
        kind == "application/json" and body["kind"] == "quarantine" for kind, body in bodies
    )


def test_what_cannot_be_told_is_a_line_and_costs_no_training(tmp_path: Path) -> None:
    lines: list[str] = []
    rules = [
        ("quarantine", "http://127.0.0.1:9/nobody"),
        ("quarantine", "/no/such/program"),
        ("quarantine", "false"),
    ]
    with Alerts(rules, lines.append) as alerts:
        done = fw.run(ATTACKED, out=tmp_path / "run", on_round=alerts)
    assert done.state == "finished"
    assert len({line.split(":")[2] for line in lines}) == 3 and all(
        "could not be told" in line for line in lines
    )


def test_a_run_that_fails_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    config = {
        "rounds": 9,
        "split": {"clients": 2},
        "training": {"learning_rate": 1e30},
        "engine": {"workers": 1},
    }
    (tmp_path / "my.toml").write_text(tomli_w.dumps(config))
    words = ["run", str(tmp_path / "my.toml"), "--out", str(tmp_path / "run"), "-q"]
    done = CliRunner().invoke(app, [*words, "--on", "failed", keeper(tmp_path / "events")])
    assert done.exit_code != 0
    (event,) = kept(tmp_path / "events")
    assert event["kind"] == "failed" and "reply rejected" in event["message"]


@pytest.mark.parametrize(
    ("kind", "target", "told"),
    [("Quarantine!", "true", "must be the kind of an event"), ("flocks", "'", "cannot be read as a command"),
     ("flocks", " ", "needs a command")],
)  # fmt: skip
def test_mistakes_are_told_before_the_run(kind: str, target: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Alerts([(kind, target)])


def test_a_kind_that_nothing_has_is_noted() -> None:
    assert unknown_kinds([("quarantin", "true")]) == [
        "--on quarantin: no event of Flockwise's own is called so; did you mean 'quarantine'?"
    ]
    assert unknown_kinds([(kind, "true") for kind in (*KINDS, *ENDS)]) == []


def test_every_kind_of_event_is_known() -> None:
    source = Path(fw.__file__).parent
    found = {
        kind
        for file in source.rglob("*.py")
        for kind in re.findall(r'\bEvent\(\s*"([a-z_]+)"', file.read_text())
    }
    assert found <= set(KINDS)
