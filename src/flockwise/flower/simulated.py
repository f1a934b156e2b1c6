"""Flower's simulation (Ray) on this machine as the engine of a run."""

import importlib.util
import json
import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from flockwise.config import Config
from flockwise.engine import ClientWork
from flockwise.engine.client_work import WorkSource
from flockwise.errors import EngineError
from flockwise.flower.command import QUIET
from flockwise.flower.engine import FlowerEngine
from flockwise.flower.internals import simulate
from flockwise.flower.worker_needs import check_nodes_can
from flockwise.kernels.parallel import available_cores

_START = 180.0  # seconds that Ray may take to come up


@dataclass(frozen=True)
class FlowerSimulation:
    """Flower's simulation as the engine: `run(..., engine=FlowerSimulation(workers=2))`; 0 workers: one per core.

    Data, model and attack must be such that a config can name them, for the simulated nodes make them anew.
    """

    workers: int = 0
    timeout: float = 3600.0
    retries: int = 3

    def open(self, work: ClientWork, most_models: int) -> FlowerEngine:
        """Start the simulation, which lives as long as the engine."""
        check_nodes_can(work)
        assert work.source is not None
        nodes = min(self.workers or available_cores(), work.federation.clients)
        simulation = RaySimulation(work.source, nodes)
        try:
            return FlowerEngine(
                simulation.grid, work, 0, self.timeout, self.retries, wanted=nodes, ended=simulation.close,
                check=simulation.check,
            )  # fmt: skip
        except BaseException:
            simulation.close()
            raise


def open_simulation(config: Config, directory: Path | None, data: Path | None) -> FlowerSimulation:
    """The engine that a config names by `engine.name = "flower"`."""
    section = config.engine
    if section.superlink is not None:
        raise EngineError(
            f"engine.superlink = {section.superlink!r}: start it, or go on with it, by: "
            f"flockwise run CONFIG --engine flower --superlink {section.superlink} --out RUN"
        )
    return FlowerSimulation(section.workers, section.timeout, section.retries)


class RaySimulation:
    """Runs in a thread; it is there when Ray is up, or an error says within `seconds` why not."""

    def __init__(self, source: WorkSource, nodes: int, seconds: float = _START) -> None:
        if importlib.util.find_spec("ray") is None:
            raise EngineError('simulation needs Ray; pip install "flockwise[flower-simulation]"')
        for name, value in {**QUIET, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}.items():
            os.environ.setdefault(name, value)
        self.nodes = nodes
        self._done = threading.Event()
        self._handed: queue.Queue[Grid] = queue.Queue()
        self._failure: BaseException | None = None
        folder = str((source.directory or Path()).resolve())
        places = (folder, str(source.data.resolve()) if source.data else None)
        self._thread = threading.Thread(
            target=self._run, args=(json.dumps(source.config), *places), daemon=True
        )
        try:
            with _interruptible():
                self._thread.start()
                self.grid = self._started(seconds)
        except BaseException:
            self._done.set()  # Flower's own thread waits for it, and the process for that thread
            raise

    def check(self) -> None:
        """An error if the simulation is gone, for then no answer ever comes."""
        if self._failure is not None:
            why = f"{type(self._failure).__name__}: {self._failure}".strip()[:300]
            address = os.environ.get("RAY_ADDRESS")
            hint = f" (RAY_ADDRESS is {address!r}; the simulation starts a Ray of its own)" if address else ""
            raise EngineError(f"Flower's simulation failed: {why}{hint}") from self._failure

    def close(self) -> None:
        """Let the ServerApp return, which ends the simulation and its workers."""
        self._done.set()
        self._thread.join(timeout=60)
        import ray

        ray.shutdown()

    def _started(self, seconds: float) -> Grid:
        """The grid, once Ray is up: Flower hands it over before, and would let us wait in vain."""
        import ray

        end = time.monotonic() + seconds
        while self._handed.empty() or not ray.is_initialized():
            self.check()
            if time.monotonic() >= end:
                raise EngineError(
                    f"Flower's simulation did not start within {seconds:g} s: Ray does not come up"
                )
            time.sleep(0.05)
        logging.getLogger("flwr").setLevel(logging.ERROR)
        return self._handed.get()

    def _run(self, config: str, directory: str, data: str | None) -> None:
        from flockwise.flower.worker_app import worker_app

        server = ServerApp()

        @server.main()
        def main(grid: Grid, context: Context) -> None:
            self._handed.put(grid)
            self._done.wait()

        backend = {
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": self.nodes, "include_dashboard": False, "logging_level": "ERROR",
                          "log_to_driver": False},
        }  # fmt: skip
        logger = logging.getLogger("flwr")
        level, disabled = logger.level, logger.disabled
        logger.setLevel(logging.CRITICAL)  # why it does not start is ours to say, in one line
        try:
            simulate(server, worker_app(config, directory, data), self.nodes, backend)
            self._failure = EngineError("it has ended")
        except BaseException as error:
            self._failure = _root(error)
        finally:
            logger.setLevel(level)
            logger.disabled = disabled


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the waiting at once: there is no round yet that they could let end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _root(error: BaseException) -> BaseException:
    """What was first in a chain of errors; Flower's own last words say nothing."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
