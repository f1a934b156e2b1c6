"""Flower's simulation (Ray) on this machine, for as long as an engine needs it."""

import importlib.util
import json
import logging
import os
import queue
import threading
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from flockwise.config import Config
from flockwise.errors import EngineError
from flockwise.kernels.parallel import available_cores

_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class RaySimulation:
    """Runs in a thread; the grid is handed over when the simulation is up."""

    def __init__(self, config: Config, directory: Path | None, data: Path | None) -> None:
        if importlib.util.find_spec("ray") is None:
            raise EngineError('simulation needs Ray; pip install "flockwise[flower-simulation]"')
        for name, value in _QUIET.items():  # nothing leaves this machine
            os.environ.setdefault(name, value)
        clients = config.split.clients or _MOST
        self.nodes = min(config.engine.workers or available_cores(), clients)
        self._done = threading.Event()
        self._handed: queue.Queue[Grid | BaseException] = queue.Queue()
        text = json.dumps(config.model_dump(mode="json", exclude_none=True))
        places = (str((directory or Path()).resolve()), str(data.resolve()) if data else None)
        self._thread = threading.Thread(target=self._run, args=(text, *places), daemon=True)
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


_MOST = 1 << 20
