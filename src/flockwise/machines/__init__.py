"""More than one machine: the local engine on every node of a Ray cluster."""

from flockwise.machines.engine import RayEngine
from flockwise.machines.opening import Ray, open_ray

__all__ = ["Ray", "RayEngine", "open_ray"]
