"""A terminal that closes, or a reader that goes, stops a run as Ctrl-C does: at a point from which it can be resumed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from flockwise.store import open_run


def test_a_closed_terminal_stops_the_run_after_its_round(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("rounds = 100000\nsplit = {clients = 4}\nengine = {workers = 1}\n")
    command = [sys.executable, "-m", "flockwise", "run", "c.toml", "--out", "run", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and not _rounds(tmp_path / "run"):
            time.sleep(0.2)
        process.send_signal(signal.SIGHUP)
        process.wait(timeout=60)
    finally:
        process.kill()
    assert open_run(tmp_path / "run").state == "stopped"


def test_a_run_whose_lines_nobody_reads_any_more_is_stopped_and_did_not_fail(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("rounds = 100000\nsplit = {clients = 4}\nengine = {workers = 1}\n")
    command = [sys.executable, "-m", "flockwise", "run", "c.toml", "--out", "run", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        try:
            assert b'"round": 1' in process.stdout.readline()
            process.stdout.close()  # as `head -1` does
            told = process.stderr.read().decode()
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
    assert "go on with: flockwise resume run" in told and "BrokenPipe" not in told
    assert open_run(tmp_path / "run").state == "stopped"


def _rounds(path: Path) -> int:
    return len(open_run(path).rounds) if (path / "config.toml").exists() else 0
