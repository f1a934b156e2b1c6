"""Results of cells, one small JSON file each: what was measured, and everything needed to measure it again."""

import json
import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flockwise import __version__
from flockwise.store.files import write_atomically


@dataclass(frozen=True)
class Result:
    """What one cell gave with one seed."""

    paper: str
    table: str
    cell: str
    scale: str
    seed: int
    config_hash: str
    values: dict[str, float | None]
    curves: dict[str, list[float | None]] = field(default_factory=dict)
    arrays: dict[str, list[list[float]]] = field(default_factory=dict)
    seconds: float = 0.0  # of training; rounds shared with other cells are counted in each of them
    date: str = ""
    command: str = ""
    forked_at: int | None = None
    decided: str | None = None  # what a cell that decides once decided, as a hash
    twin: str | None = None  # the cell whose numbers these are, because they must be the same
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)


def result_path(folder: Path, paper: str, scale: str, table: str, cell: str, seed: int) -> Path:
    """Where a cell's result lies."""
    return folder / paper / scale / _slug(table) / f"{_slug(cell)}-seed{seed}.json"


def write_result(folder: Path, result: Result) -> Path:
    """Write it whole or not at all."""
    path = result_path(folder, result.paper, result.scale, result.table, result.cell, result.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {name: value for name, value in asdict(result).items() if value not in ({}, None)}
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
    return path


def read_result(path: Path) -> Result | None:
    """The result, or None if there is none or the file cannot be read as one."""
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def results_of(folder: Path, paper: str) -> Iterator[Result]:
    """Every result of a paper on disk."""
    for path in sorted((folder / paper).glob("*/*/*.json")):
        found = read_result(path)
        if found is not None:
            yield found


def surroundings() -> dict[str, Any]:
    """Versions, machine and date of a result made now."""
    import numpy
    import torch

    return {
        "versions": {"flockwise": __version__, "python": platform.python_version(), "numpy": numpy.__version__,
                     "torch": str(torch.__version__)},
        "machine": {"architecture": platform.machine(), "system": platform.system(), "cores": os.cpu_count()},
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_")
