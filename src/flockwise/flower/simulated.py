"""Flower's simulation (Ray) on this machine as the engine of a run."""

import importlib.util
import json
import logging
import os
import queue
import threading
from dataclasses import dataclass
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from flockwise.config import Config
from flockwise.engine import ClientWork
from flockwise.engine.client_work import Source
from flockwise.errors import EngineError
from flockwise.flower.command import QUIET
from flockwise.flower.engine import FlowerEngine
from flockwise.flower.worker_needs import check_nodes_can
from flockwise.kernels.parallel import available_cores


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
                simulation.grid, work, 0, self.timeout, self.retries, wanted=nodes, ended=simulation.close
            )
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
    """Runs in a thread; the grid is handed over when the simulation is up."""

    def __init__(self, source: Source, nodes: int) -> None:
        if importlib.util.find_spec("ray") is None:
            raise EngineError('simulation needs Ray; pip install "flockwise[flower-simulation]"')
        for name, value in {**QUIET, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}.items():
            os.environ.setdefault(name, value)
        self.nodes = nodes
        self._done = threading.Event()
        self._handed: queue.Queue[Grid | BaseException] = queue.Queue()
        folder = str((source.directory or Path()).resolve())
        places = (folder, str(source.data.resolve()) if source.data else None)
        self._thread = threading.Thread(
            target=self._run, args=(json.dumps(source.config), *places), daemon=True
        )
        self._thread.start()
        handed = self._handed.get()
        if isinstance(handed, BaseException):
            raise EngineError(f"Flower's simulation did not start: {handed}") from handed
        self.grid = handed

    def close(self) -> None:
        """Let the ServerApp return, which ends the simulation and its workers."""
        self._done.set()
        self._thread.join(timeout=60)
        import ray

        ray.shutdown()

    def _run(self, config: str, directory: str, data: str | None) -> None:
        from flwr.simulation import run_simulation

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
        logger.setLevel(logging.ERROR)
        try:
            run_simulation(server, worker_app(config, directory, data), self.nodes, backend_config=backend)  # type: ignore[arg-type]
            self._handed.put(EngineError("it ended before it began"))
        except BaseException as error:
            self._handed.put(error)
        finally:
            logger.setLevel(level)
            logger.disabled = disabled
