"""A whole federation on one machine: config in, run directory out."""

from flockwise.simulation.runner import Progress, fork, resume, run

__all__ = ["Progress", "fork", "resume", "run"]
