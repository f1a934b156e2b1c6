"""A copy of a run that is whole, also while the run goes on."""

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from flockwise.errors import RunError
from flockwise.store import files
from flockwise.store.checkpoint import checkpoint_path
from flockwise.store.looking import looking
from flockwise.store.reader import open_run

_LONGEST = 30.0  # seconds: a run that goes on may drop a checkpoint between two of our steps


def back_up(path: str | Path, target: str | Path) -> Path:
    """Copy a run to a new directory, from which it can be shown, resumed and forked; the run itself is only read.

    The record is taken as it stands between two rounds, with the checkpoints that it names.
    """
    path, target = Path(path), Path(target)
    open_run(path)  # says what is wrong if it is no run
    if target.exists():
        raise RunError(f"{target}: is there already; choose another place for the copy")
    files.make_private(target)
    files.make_private(target / "checkpoints")
    end = time.monotonic() + _LONGEST
    while True:
        _copy_record(path / "run.sqlite", target / "run.sqlite")
        if _copied_checkpoints(path, target):
            break
        if time.monotonic() > end:
            raise RunError(f"{path}: its checkpoints change faster than they can be copied; try again")
    for name in ("environment.json", "config.toml"):  # the config comes last: without one there is no run
        with contextlib.suppress(FileNotFoundError):
            files.write_private(target / name, (path / name).read_bytes())
    found = open_run(target)
    if found.damage:
        raise RunError(f"{target}: the copy is damaged: {found.damage[0]}; see `flockwise show {path}`")
    return target


def _copy_record(source: Path, target: Path) -> None:
    """SQLite's own way to copy a database that is being written; nobody else may read the copy."""
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    with looking(source) as database, contextlib.closing(sqlite3.connect(target)) as copy:
        database.backup(copy)


def _copied_checkpoints(path: Path, target: Path) -> bool:
    """Whether the newest checkpoint on record came along; older ones come if they are still there."""
    query = "SELECT checkpoint, digest FROM rounds WHERE checkpoint IS NOT NULL ORDER BY round DESC"
    with looking(target / "run.sqlite") as database:
        rows = database.execute(query).fetchall()
    found = False
    for place, (name, mark) in enumerate(rows):
        try:
            content = files.read_verified(checkpoint_path(path / "checkpoints", name), mark)
        except FileNotFoundError:
            content = None
        if content is not None:
            files.write_private(checkpoint_path(target / "checkpoints", name), content)
            found = found or place == 0
    return found or not rows
