import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
import tomli_w
from click.testing import CliRunner

from flockwise.cli.app import app
from flockwise.cli.pieces import KINDS
from flockwise.cli.progress import follow
from flockwise.strategies import STRATEGIES
from tests.runs.small import FLIC


def flockwise(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flockwise", *arguments], capture_output=True, text=True, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.toml").write_text(tomli_w.dumps(FLIC))
    done = flockwise("run", str(folder / "small.toml"), "--out", str(folder / "one"), "--set", "rounds=3")
    assert done.returncode == 0, done.stderr
    assert "round 3/3" in done.stderr
    return folder


def test_help_is_instant_and_loads_no_torch() -> None:
    code = """
import sys
sys.argv = ["flockwise", "--help"]
try:
    import flockwise.cli
    flockwise.cli.main()
except SystemExit:
    pass
heavy = {"torch", "scipy", "flwr", "numpy", "pydantic"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for command in ("demo", "run", "resume", "fork", "report", "runs", "show", "data", "list", "new"):
        assert f"  {command} " in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_piece_is_listed_with_one_line_each(kind: str) -> None:
    rows = json.loads(flockwise("list", kind, "--json").stdout)
    assert len(rows) >= 2
    assert all(summary and "\n" not in summary for summary in rows.values())


def test_runs_and_show_tell_what_is_there(finished: Path) -> None:
    rows = json.loads(flockwise("runs", str(finished), "--json").stdout)
    assert [(row["state"], row["round"], row["strategy"]) for row in rows] == [("finished", "3/3", "flic")]
    shown = json.loads(flockwise("show", str(finished / "one"), "--json").stdout)
    assert len(shown["facts"]["accuracy"]) == 3
    assert "finished" in flockwise("show", str(finished / "one")).stdout


def test_a_run_that_cannot_be_read_is_listed_as_such(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "one", tmp_path / "a")
    shutil.copytree(finished / "one", tmp_path / "b")
    (tmp_path / "b" / "run.sqlite").write_bytes(b"not a database")
    good, bad = json.loads(flockwise("runs", str(tmp_path), "--json").stdout)
    assert good.keys() == bad.keys()
    assert (good["state"], bad["state"]) == ("finished", "unreadable")
    heading, *lines = flockwise("runs", str(tmp_path)).stdout.splitlines()
    assert heading.split() == list(good) and len(lines) == 2


def test_json_progress_is_one_object_per_round(finished: Path, tmp_path: Path) -> None:
    done = flockwise(
        "run", str(finished / "small.toml"), "--out", str(tmp_path / "run"), "--set", "rounds=2", "--json"
    )
    assert [json.loads(line)["round"] for line in done.stdout.splitlines()] == [1, 2]


def test_the_template_of_no_strategy_is_that_of_the_one_for_when_nothing_is_known() -> None:
    assert CliRunner().invoke(app, ["new"]).stdout == CliRunner().invoke(app, ["new", "shepherd"]).stdout


def test_the_template_of_byzantine_cfl_says_first_whom_it_sets_apart() -> None:
    head = CliRunner().invoke(app, ["new", "byzantine-cfl"]).stdout.split("[", 1)[0]
    assert (
        "honest minority" in head and "honest minority" not in CliRunner().invoke(app, ["new", "cfl"]).stdout
    )


def test_a_template_runs_as_it_is(tmp_path: Path) -> None:
    command = CliRunner()
    for strategy in STRATEGIES:
        (tmp_path / "new.toml").write_text(command.invoke(app, ["new", strategy]).stdout)
        done = command.invoke(app, ["run", str(tmp_path / "new.toml"), "--check"])
        assert done.exit_code == 0, f"{strategy}: {done.output}"
    done = flockwise(
        "run", str(tmp_path / "new.toml"), "--out", str(tmp_path / "run"), "--set", "rounds=1", "-q"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.epoch=5", "training.epoch = 5: unknown key; did you mean 'epochs'?"),
        ("training.epochs=0", "training.epochs = 0: must be at least 1"),
        ("strategy.name=flick", "no 'flick'; did you mean 'flic'?"),
        ("strategy.warmup=soon", "strategy.warmup = 'soon'"),
        ("split.groups=9", "split.groups = 9: must be at most split.clients = 8"),
        ("data.name=mnits", "no 'mnits'; did you mean 'mnist'?"),
        ("nonsense", "must be key=value"),
        ("attack.name=revers", "did you mean 'reverse'?"),
        ("aggregation.trim=0.1", "aggregation.trim = 0.1: unknown key"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_two(override: str, message: str, finished: Path) -> None:
    done = flockwise("run", str(finished / "small.toml"), "--set", override)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [("new", "flick"), ("list", "attacks", "revers"), ("data", "get", "mnits"), ("resum", "x")]
)
def test_a_mistyped_name_gets_a_hint_and_exit_code_two(arguments: tuple[str, ...]) -> None:
    done = flockwise(*arguments)
    assert done.returncode == 2 and "did you mean" in done.stderr


def test_krum_with_too_few_clients_is_refused(finished: Path) -> None:
    done = flockwise(
        "run", str(finished / "small.toml"), "--set", "aggregation.name=krum", "--set", "aggregation.attackers=4",
        "--set", "strategy={name='fedavg'}",
    )  # fmt: skip
    assert done.returncode == 2
    assert "krum needs 7 clients a round against 2 attackers, but only 4 take part" in done.stderr


def test_missing_things_are_said_plainly(tmp_path: Path) -> None:
    assert "no run here" in flockwise("show", str(tmp_path)).stderr
    assert "cannot be read" in flockwise("run", str(tmp_path / "none.toml")).stderr
    done = flockwise("data", "list", FLOCKWISE_DATA=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert "flockwise data get mnist" in done.stdout


def test_ctrl_c_stops_at_a_safe_point_and_says_how_to_resume(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(tomli_w.dumps({**FLIC, "rounds": 5000, "checkpoint": {}}))
    command = [
        sys.executable,
        "-m",
        "flockwise",
        "run",
        str(tmp_path / "long.toml"),
        "--out",
        str(tmp_path / "run"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "round 2/" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert f"flockwise resume {tmp_path / 'run'}" in rest
    last = json.loads(flockwise("show", str(tmp_path / "run"), "--json").stdout)["rounds"][-1]
    done = flockwise("resume", str(tmp_path / "run"), "--rounds", str(last + 20), "-q")
    assert done.returncode == 0, done.stderr
    assert json.loads(flockwise("show", str(tmp_path / "run"), "--json").stdout)["state"] in ("finished",)


def test_a_second_ctrl_c_stops_at_once_and_says_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(**options: Any) -> Any:
        options["on_round"](SimpleNamespace(path=tmp_path / "run", round=3))
        raise KeyboardInterrupt

    with pytest.raises(click.exceptions.Exit) as stopped:
        follow(work, quiet=True)
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == (
        f"stopped at once, after round 3; go on with: flockwise resume {tmp_path / 'run'}\n"
    )


def test_a_machine_without_enough_memory_is_one_line(monkeypatch, capsys):
    import sys

    from flockwise.cli import app as module

    def full(**_):
        raise MemoryError("Unable to allocate 74.5 GiB for an array with shape (100000, 100000)")

    monkeypatch.setattr(module, "app", full)
    monkeypatch.setattr(sys, "argv", ["flockwise", "runs"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line.startswith("error: not enough memory: Unable to allocate 74.5 GiB") and "fewer clients" in line
    )
