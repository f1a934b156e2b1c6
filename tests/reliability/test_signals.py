"""Asked to stop in any way at any moment, a run ends soon, says so, and goes on later to the same bits."""

import os
import resource
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

CONFIG = {**FLIC, "rounds": 300}
WORK = 5.0  # seconds of the processor that ending may take: what is promised on a machine that has nothing else to do
HANGS = 60  # seconds after which it counts as not ending at all


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
    for number in range(cases.many(3)):
        path = tmp_path / f"{number}"
        with_a_signal = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        code, state = _stopped(path, with_a_signal, int(random.integers(1, 200)), cases)
        # A run that is over leaves signals to the system again: what then ends the process can spoil nothing.
        over = {(0, "finished"), (130, "finished"), (-with_a_signal, "finished")}
        assert (code, state) in over | {(130, "stopped")}, with_a_signal
        stopped += state == "stopped"
        flockwise.resume(path / "run")
        assert fingerprint(path / "run") == expected, (number, with_a_signal)
    assert stopped, "every run was over before it was asked to stop"


def _stopped(folder: Path, which: signal.Signals, rounds: int, cases: Cases) -> tuple[int, str]:
    """Start a run, ask it to stop when it has so many rounds; its exit code and what it is then."""
    folder.mkdir()
    (folder / "c.toml").write_text(tomli_w.dumps(CONFIG))
    command = [sys.executable, "-m", "flockwise", "run", "c.toml", "--out", "run", "-q"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 240
        while time.monotonic() < end and _rounds(folder / "run") < rounds and process.poll() is None:
            time.sleep(0.02)
        before, asked = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        worked = _worked(process.pid)
        process.send_signal(which)
        code = process.wait(timeout=HANGS)
        cases.measure("seconds to exit", time.monotonic() - asked)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        all_of_it = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert all_of_it - worked <= WORK, "ending takes too long"
    finally:
        process.kill()
    return code, open_run(folder / "run").state


def _worked(pid: int) -> float:
    """Seconds of the processor that a process has taken so far; 0 if it is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _rounds(path: Path) -> int:
    return len(open_run(path).rounds) if (path / "config.toml").exists() else 0
