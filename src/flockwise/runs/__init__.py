"""Runs: a method or a config in, a run directory out, whatever the engine."""

from flockwise.runs.continuing import continue_run
from flockwise.runs.forking import fork
from flockwise.runs.handle import Run, list_runs, open_run
from flockwise.runs.loop import Progress
from flockwise.runs.resuming import resume
from flockwise.runs.starting import run
from flockwise.runs.trained import load_model

__all__ = ["Progress", "Run", "continue_run", "fork", "list_runs", "load_model", "open_run", "resume", "run"]
