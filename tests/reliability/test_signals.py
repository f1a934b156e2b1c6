"""Asked to stop in any way at any moment, a run ends soon, says so, and goes on later to the same bits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli_w

import flockwise
from flockwise.rng import generator
from flockwise.store import open_run
from tests.conftest import Cases
from tests.runs.small import FLIC, fingerprint

CONFIG = {**FLIC, "rounds": 60}
SECONDS = 60  # to end in; 5 on a machine that has nothing else to do


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("whole") / "run"
    flockwise.run(CONFIG, out=path)
    return fingerprint(path)


@pytest.mark.slow
def test_a_run_that_is_asked_to_stop_at_any_moment_goes_on_to_the_same_bits(
    expected: str, tmp_path: Path, cases: Cases
) -> None:
    random, stopped = generator(0, "signals"), 0
    for number in range(cases.many(6)):
        path = tmp_path / f"{number}"
        with_a_signal = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        code, state = _stopped(path, with_a_signal, float(random.uniform(0.0, 1.0)))
        assert (code, state) in {
            (0, "finished"),
            (0, "stopped"),
            (130, "stopped"),
            (143, "stopped"),
            (129, "stopped"),
        }
        stopped += state == "stopped"
        flockwise.resume(path / "run")
        assert fingerprint(path / "run") == expected, (number, with_a_signal)
    assert stopped, "every run was over before it was asked to stop"


def _stopped(folder: Path, which: signal.Signals, seconds: float) -> tuple[int, str]:
    """Start a run, ask it to stop a while after its first round; its exit code and what it is then."""
    folder.mkdir()
    (folder / "c.toml").write_text(tomli_w.dumps(CONFIG))
    command = [sys.executable, "-m", "flockwise", "run", "c.toml", "--out", "run", "-q"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 240
        while time.monotonic() < end and not _has_begun(folder / "run") and process.poll() is None:
            time.sleep(0.02)
        time.sleep(seconds)
        process.send_signal(which)
        code = process.wait(timeout=SECONDS)
    finally:
        process.kill()
    return code, open_run(folder / "run").state


def _has_begun(path: Path) -> bool:
    return (path / "config.toml").exists() and len(open_run(path).rounds) > 0
