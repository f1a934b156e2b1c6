"""A simulation that does not come up, or goes away, is an error soon, and nobody waits for it in vain."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")
pytest.importorskip("ray", reason="Ray is not installed: pip install 'flockwise[flower-simulation]'")

import flockwise
from flockwise.errors import EngineError
from flockwise.flower import FlowerSimulation, simulated
from flockwise.flower.exchange import Exchange
from flockwise.flower.letters import Letter
from flockwise.flower.worker_app import jobs_message

from .fake_grid import FakeGrid, FakeNode
from .test_engine import BASE

CONFIG = {**BASE, "rounds": 1, "engine": {**BASE["engine"], "name": "flower", "workers": 1}}
TOML = """
rounds = 1
[split]
clients = 2
[model]
name = "softmax"
[engine]
name = "flower"
workers = 1
"""


def test_a_ray_that_cannot_start_is_one_clear_error(tmp_path):
    (tmp_path / "my.toml").write_text(TOML)
    command = [
        sys.executable,
        "-m",
        "flockwise",
        "run",
        str(tmp_path / "my.toml"),
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(
        command, env={**os.environ, "RAY_ADDRESS": "nonsense:1"}, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1 and "RAY_ADDRESS is 'nonsense:1'" in errors[0] and "Traceback" not in done.stderr


def test_a_ray_that_never_comes_up_is_an_error_when_its_time_is_up(tmp_path, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(simulated, "simulate", lambda *_: over.wait(60))
    monkeypatch.setattr(simulated.RaySimulation.__init__, "__defaults__", (0.3,))
    with pytest.raises(EngineError, match=r"did not start within 0\.3 s: Ray does not come up"):
        flockwise.run(CONFIG, out=tmp_path / "run")
    over.set()


def test_an_error_of_ray_is_told_with_its_first_cause(tmp_path, monkeypatch):
    def fails(*_):
        try:
            raise ConnectionError("no room for the object store")
        except ConnectionError as error:
            raise RuntimeError("An error was encountered. Ending simulation.") from error

    monkeypatch.setattr(simulated, "simulate", fails)
    with pytest.raises(EngineError, match="simulation failed: ConnectionError: no room for the object store"):
        flockwise.run(CONFIG, out=tmp_path / "run", engine=FlowerSimulation(workers=1))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_ends_the_waiting_for_ray(number, tmp_path):
    (tmp_path / "my.toml").write_text(TOML)
    code = (
        "import sys, threading\n"
        "from flockwise.flower import simulated\n"
        "def simulate(*_):\n"
        "    print('waiting', flush=True)\n"
        "    threading.Event().wait()\n"
        "simulated.simulate = simulate\n"
        "from flockwise.cli.app import main\n"
        f"sys.argv = ['flockwise', 'run', {str(tmp_path / 'my.toml')!r}, '--out', {str(tmp_path / 'run')!r}]\n"
        "sys.exit(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().strip() == "waiting", process.stderr.read()
        time.sleep(1.0)
        process.send_signal(number)
        process.communicate(timeout=150)  # less than what waiting for Ray would take
        assert process.returncode != 0
    finally:
        process.kill()


def test_a_simulation_that_goes_away_is_noticed_while_its_answers_are_waited_for():
    def gone():
        raise EngineError("Flower's simulation failed: RuntimeError: a worker died")

    grid = FakeGrid([FakeNode(0, None, fault=lambda m, r: None)])
    exchange = Exchange(grid, clock=grid.clock, sleep=grid.sleep, check=gone)
    letter = Letter(0, jobs_message(1000, 1, "train", [], np.zeros((1, 2)), 60.0))
    with pytest.raises(EngineError, match="a worker died"):
        exchange.ask([letter], 3600.0)
    assert grid.now < 5
