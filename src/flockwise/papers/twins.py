"""Cells that only decide something once, and decide the same, go on alike: the rest is trained once."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from flockwise.papers.results import Result, results_of
from flockwise.store import Run


def decision(run: Run, round: int) -> str:
    """What a run knows after a round, as far as its future depends on it: models, and who has which."""
    state = run.checkpoint(round)
    text = hashlib.sha256()
    for name in ("models", "labels"):
        text.update(np.ascontiguousarray(state[name]).tobytes())
    return text.hexdigest()[:16]


def twin_of(folder: Path, wanted: Result) -> Result | None:
    """`wanted` with the numbers of a finished cell of the same table, scale and seed that decided the same."""
    place = (wanted.table, wanted.scale, wanted.seed, wanted.forked_at, wanted.decided)
    for found in results_of(folder, wanted.paper):
        if (found.table, found.scale, found.seed, found.forked_at, found.decided) == place and not found.twin:
            return replace(wanted, values=found.values, curves=found.curves, arrays=found.arrays,
                           seconds=found.seconds, twin=found.cell)  # fmt: skip
    return None
