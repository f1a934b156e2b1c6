"""A whole federation on one machine: config in, run directory out."""

from flockwise.simulation.runner import Progress, fork, resume, run
from flockwise.simulation.trained import load_model

__all__ = ["Progress", "fork", "load_model", "resume", "run"]
