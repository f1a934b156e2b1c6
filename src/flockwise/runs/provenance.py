"""What a new run notes of where it comes from: its directory, what it was made with, its data."""

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from flockwise import __version__
from flockwise.config import Config
from flockwise.data import Federation
from flockwise.messages import Event
from flockwise.plugins import own_digests, own_files
from flockwise.runs.same_data import data_marks
from flockwise.runs.sample_shape import samples_told


def new_run_path(config: Config, folder: Path = Path("runs")) -> Path:
    """A directory name that says what and when, and is not taken."""
    stem = f"{time.strftime('%Y-%m-%d_%H%M%S')}_{config.strategy.name.rpartition(':')[2]}_{config.data.name}"
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}_{number}"
    return path


def environment(config: Config, directory: Path) -> dict[str, Any]:
    """What the run was made with."""
    import torch

    pieces = own_digests(config.written(), directory)
    return {
        "flockwise": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "torch": torch.__version__, "machine": platform.machine(), "system": platform.system(),
        "cores": os.cpu_count(), "seed": config.seed, "command": sys.argv, "directory": str(directory.resolve()),
        **({"pieces": pieces} if pieces else {}),
    }  # fmt: skip


def edited_pieces(before: dict[str, Any], config: Config, directory: Path) -> list[Event]:
    """A word on each of the user's own pieces whose file is another than when the run was made."""
    known = before.get("pieces")
    content = config.written()
    files, marks = own_files(content, directory), own_digests(content, directory)
    return [
        Event(
            "edited",
            f"{files[module]}: was changed since this run was made; rounds from here on are of the file as it is now",
            detail={"module": module, "before": known[module], "now": mark},
        )
        for module, mark in marks.items()
        if isinstance(known, dict) and known.get(module, mark) != mark
    ]


def about_data(federation: Federation) -> dict[str, Any]:
    """What is kept of the data: a digest of each client's, and the shape of a sample."""
    return {**samples_told(federation), **data_marks(federation)}
