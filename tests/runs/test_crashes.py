import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import flockwise
from flockwise.errors import RunError
from flockwise.rng import generator
from flockwise.store import files, open_run
from tests.conftest import Cases
from tests.runs.small import FLIC, fingerprint

STRATEGIES = {
    "flic": FLIC,
    "fedavg": {**FLIC, "strategy": {"name": "fedavg"}},
    "ifca": {**FLIC, "strategy": {"name": "ifca", "flocks": 2}},
}


def _run_and_die_at(step_number: int, path: Path, config: dict[str, Any] = FLIC) -> str:
    """Run in a forked process that kills itself at the n-th step of writing; the name of that step."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def die(name: str) -> None:
            nonlocal seen
            seen += 1
            if seen == step_number:
                os.write(writer, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)

        files.step = die
        try:
            flockwise.run(config, out=path)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    return undisturbed(FLIC, tmp_path_factory.mktemp("whole") / "run")


def undisturbed(config: dict[str, Any], path: Path) -> tuple[str, list[str]]:
    """The fingerprint of an undisturbed run, and the steps it went through."""
    steps: list[str] = []
    files.step = steps.append
    try:
        flockwise.run(config, out=path)
    finally:
        files.step = lambda name: None
    return fingerprint(path), steps


def length(config: dict[str, Any], cases: Cases) -> dict[str, Any]:
    """Where many kills are asked for, a run long enough for them to fall on different steps."""
    return {**config, "rounds": 20} if cases.full else config


def resumed(path: Path, cases: Cases) -> str:
    """Go on with a killed run; what came of it. How many rounds were trained again is on record."""
    found = open_run(path)
    if len(found.rounds) < found.config["rounds"]:  # the one under way, and those after the checkpoint
        cases.measure("rounds redone", 1 + len(found.rounds) - found.newest_checkpoint().round)
    flockwise.resume(path)
    return fingerprint(path)


@pytest.mark.parametrize(("strategy", "kills"), [("flic", 24), ("fedavg", 8), ("ifca", 8)])
def test_a_run_killed_at_any_step_of_writing_resumes_to_the_same_bits(
    tmp_path: Path, cases: Cases, strategy: str, kills: int
) -> None:
    config = length(STRATEGIES[strategy], cases)
    whole, steps = undisturbed(config, tmp_path / "whole")
    start = steps.index("inside commit")  # before the first round is on record there is nothing to resume
    those = range(start + 1, len(steps) + 1)
    points = generator(0, "kill points").choice(those, size=cases.many(kills, len(those)), replace=False)
    died_at = set()
    for number in sorted(points.tolist()):
        path = tmp_path / f"killed-{number}"
        died_at.add(_run_and_die_at(number, path, config))
        assert resumed(path, cases) == whole, f"killed at step {number}: {steps[number - 1]}"
        shutil.rmtree(path)
    assert kills < 24 or {"inside write", "before rename", "inside commit"} <= died_at


def test_a_run_killed_before_its_first_round_starts_again(
    expected: tuple[str, list[str]], tmp_path: Path
) -> None:
    whole, steps = expected
    number = steps.index("before commit") + 1
    _run_and_die_at(number, tmp_path / "run")
    flockwise.resume(tmp_path / "run")
    assert fingerprint(tmp_path / "run") == whole


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_run_killed_at_a_random_time_resumes_to_the_same_bits(
    tmp_path: Path, cases: Cases, strategy: str
) -> None:
    config, began = length(STRATEGIES[strategy], cases), time.monotonic()
    whole, _ = undisturbed(config, tmp_path / "whole")
    takes, random = time.monotonic() - began, generator(0, f"times to kill {strategy}")
    for number in range(cases.many(2)):
        path = tmp_path / f"killed-{number}"
        _run_and_kill_after(takes * float(random.uniform(0, 1)), path, config)
        assert resumed(path, cases) == whole
        shutil.rmtree(path)


def _run_and_kill_after(seconds: float, path: Path, config: dict[str, Any]) -> None:
    """Run in a forked process and kill it so long after its directory was made, or when it is over."""
    child = os.fork()
    if child == 0:
        try:
            flockwise.run(config, out=path)
        finally:
            os._exit(0)
    while not (path / "config.toml").exists():
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.slow
def test_a_command_killed_at_random_times_resumes_to_the_same_bits(
    expected: tuple[str, list[str]], tmp_path: Path, cases: Cases
) -> None:
    rng = generator(1, "kill times")
    for number in range(cases.many(3) // 3):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        assert _killed_three_times(folder, rng, cases) == expected[0]


def _killed_three_times(tmp_path: Path, rng: np.random.Generator, cases: Cases) -> str:
    config = {**FLIC, "engine": {"workers": 2}, "checkpoint": {"every": 3}}
    (tmp_path / "small.toml").write_text(tomli_w.dumps(config))
    path = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "flockwise",
        "run",
        str(tmp_path / "small.toml"),
        "--out",
        str(path),
        "-q",
    ]
    for _ in range(3):
        process = subprocess.Popen(command, start_new_session=True)
        deadline = time.monotonic() + 600  # a busy machine is no failure
        while not (path / "run.sqlite").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.4)))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        command = [sys.executable, "-m", "flockwise", "resume", str(path), "-q"]
    cases.measure("seconds to restart", _restarted(command, path))
    return fingerprint(path)


def _restarted(command: list[str], path: Path) -> float:
    """Run a command to its end; how long it took until there was a round that was not there before, or it was over."""
    began, before = time.monotonic(), len(open_run(path).rounds) if (path / "config.toml").exists() else 0
    process, seconds = subprocess.Popen(command), 0.0
    while process.poll() is None:
        if not seconds and (path / "config.toml").exists() and len(open_run(path).rounds) > before:
            seconds = time.monotonic() - began
        time.sleep(0.02)
    assert process.returncode == 0
    return seconds or time.monotonic() - began


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    expected: tuple[str, list[str]], tmp_path: Path
) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    newest = sorted((path / "checkpoints").glob("*.safetensors"))[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(bytes(content))
    flockwise.resume(path)
    assert fingerprint(path) == expected[0]
    assert [event.round for event in open_run(path).events if event.kind == "damaged"] == [7]


def test_two_processes_never_write_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    flockwise.run(FLIC, out=path)
    with files.lock(path), pytest.raises(RunError, match=f"process {os.getpid()} is writing"):
        flockwise.resume(path)


def test_a_disk_that_fails_leaves_the_last_good_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "run", 0

    def fail(name: str) -> None:
        nonlocal seen
        seen += name == "before fsync"
        if seen == 6:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "step", fail)
    with pytest.raises(RunError, match="No space left"):
        flockwise.run(FLIC, out=path)
    run = open_run(path)
    assert run.state == "failed"
    assert len(run.rounds) == len(run.facts["accuracy"]) >= 2
    monkeypatch.undo()
    assert flockwise.resume(path).state == "finished"
