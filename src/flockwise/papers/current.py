"""Which results still stand: those made with the config that the cell has now."""

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from flockwise.papers.cells import SCALES, Cell, Paper
from flockwise.papers.configs import digest
from flockwise.papers.results import Result, results_of


def cell_digest(paper: Paper, cell: Cell, seed: int) -> str:
    """What a result of this cell is known by."""
    if cell.compute:
        source = inspect.getsource(inspect.getmodule(cell.compute) or cell.compute)
        return hashlib.sha256(f"{source}{cell.name}{seed}".encode()).hexdigest()[:16]
    return digest(paper.folder, cell.config, cell.overrides, seed, cell.prefix.at if cell.prefix else None)


def current_results(paper: Paper, folder: Path) -> Iterator[Result]:
    """The results on disk that were made with the configs of today; others are not shown."""
    cells = {(scale, cell.table, cell.name): cell for scale in SCALES for cell in paper.cells(scale)}
    for result in results_of(folder, paper.name):
        cell = cells.get((result.scale, result.table, result.cell))
        if cell is not None and _stands(paper, cell, result):
            yield result


def _stands(paper: Paper, cell: Cell, result: Result) -> bool:
    """A run by its config; what takes no time is computed again and compared."""
    if cell.compute:
        curves = cell.compute(cell.name, result.seed)
        return bool(result.curves) and {name: curves.get(name) for name in result.curves} == result.curves
    return cell_digest(paper, cell, result.seed) == result.config_hash
