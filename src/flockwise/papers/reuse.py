"""Cells that must give the same numbers are trained once: they decided the same, or one adds what never came to pass."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from flockwise.papers.cells import Cell
from flockwise.papers.results import Result, read_result, result_path
from flockwise.store import Run


def decision(run: Run, round: int) -> str:
    """What a run knows after a round, as far as its future depends on it: models, and who has which."""
    state = run.checkpoint(round)
    text = hashlib.sha256()
    for name in ("models", "labels"):
        text.update(np.ascontiguousarray(state[name]).tobytes())
    return text.hexdigest()[:16]


def twin_of(finished: Iterable[Result], wanted: Result) -> Result | None:
    """`wanted` with the numbers of a finished cell of the same table, scale and seed that decided the same."""
    place = (wanted.table, wanted.scale, wanted.seed, wanted.forked_at, wanted.decided)
    for found in finished:
        if (found.table, found.scale, found.seed, found.forked_at, found.decided) == place and not found.twin:
            return replace(wanted, values=found.values, curves=found.curves, arrays=found.arrays,
                           seconds=found.seconds, twin=found.cell)  # fmt: skip
    return None


def idle_twin_of(folder: Path, wanted: Result, cell: Cell) -> Result | None:
    """`wanted` with the numbers of the cell's twin, if that is finished and did nothing that this cell would not."""
    if cell.twin is None:
        return None
    path = result_path(folder, wanted.paper, wanted.scale, wanted.table, cell.twin.cell, wanted.seed)
    found = read_result(path)
    if found is None or found.values.get(cell.twin.measure) != 0:
        return None
    return replace(
        wanted, values={measure.name: found.values.get(measure.name) for measure in cell.measures},
        curves={name: found.curves[name] for name in cell.curves}, seconds=found.seconds, twin=found.cell,
    )  # fmt: skip
