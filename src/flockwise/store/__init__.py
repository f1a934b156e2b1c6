"""The run store: a run is a directory that survives anything and explains itself."""

from flockwise.store.backup import back_up
from flockwise.store.directory import accept, create_run, reopen_run
from flockwise.store.reader import Run, list_runs, open_run
from flockwise.store.writer import RunWriter

__all__ = ["Run", "RunWriter", "accept", "back_up", "create_run", "list_runs", "open_run", "reopen_run"]
