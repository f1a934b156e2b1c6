"""A Ray cluster as an engine to be."""

from dataclasses import dataclass
from pathlib import Path

from flockwise.config import Config
from flockwise.engine import ClientWork
from flockwise.engine.ray_cluster import connected
from flockwise.machines.engine import RayEngine


@dataclass(frozen=True)
class Ray:
    """A Ray cluster as the engine: `run(..., engine=Ray("ray://head:10001"))`.

    `address` is "auto" for the cluster that this machine belongs to, "local" for one on this machine that ends with the
    run, HOST:PORT or ray://HOST:PORT. `workers` is how many cores of each node are used at most (0: all), `timeout` how
    many seconds a node has for its share of a round.
    """

    address: str = "auto"
    workers: int = 0
    timeout: float = 3600.0

    def open(self, work: ClientWork, most_models: int) -> RayEngine:
        """Our workers on every node."""
        ray, leave = connected(self.address, f"engine.address = {self.address!r}", self.workers)
        return RayEngine(ray, work, most_models, self.workers, self.timeout, leave)


def open_ray(config: Config, directory: Path | None, data: Path | None) -> Ray:
    """The engine that a config names by `engine.name = "ray"`."""
    return Ray(config.engine.address, config.engine.workers, config.engine.timeout)
