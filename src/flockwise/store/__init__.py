"""The run store: a run is a directory that survives anything and explains itself."""

from flockwise.store.directory import RunWriter, create_run, reopen_run
from flockwise.store.reader import Run, list_runs, open_run

__all__ = ["Run", "RunWriter", "create_run", "list_runs", "open_run", "reopen_run"]
