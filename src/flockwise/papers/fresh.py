"""Which results still stand: those made with the config that the cell has now."""

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from flockwise.papers.cells import SCALES, Cell, Paper
from flockwise.papers.configs import config_of, digest
from flockwise.papers.results import Result, results_of


def cell_digest(paper: Paper, cell: Cell, seed: int) -> str:
    """What a result of this cell is known by."""
    if cell.compute:
        source = inspect.getsource(inspect.getmodule(cell.compute) or cell.compute)
        return hashlib.sha256(f"{source}{cell.name}{seed}".encode()).hexdigest()[:16]
    config = config_of(paper.folder, cell.config, cell.overrides, seed)
    return digest(config, cell.prefix.at if cell.prefix else None)


def current_results(paper: Paper, folder: Path) -> Iterator[Result]:
    """The results on disk that were made with the configs of today; others are not shown."""
    cells = {(scale, cell.table, cell.name): cell for scale in SCALES for cell in paper.cells(scale)}
    for result in results_of(folder, paper.name):
        cell = cells.get((result.scale, result.table, result.cell))
        if cell is not None and cell_digest(paper, cell, result.seed) == result.config_hash:
            yield result
