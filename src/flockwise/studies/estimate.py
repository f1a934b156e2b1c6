"""What a study would cost, before it is carried out: a few rounds of a few cells are tried, the rest is counted."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from flockwise.config import Config
from flockwise.errors import FlockwiseError
from flockwise.kernels.parallel import available_cores
from flockwise.runs import run
from flockwise.runs.whereabouts import sets_for
from flockwise.studies.cells import Cell
from flockwise.studies.results import Result, digest, telling

_TRIED_ROUNDS = 2
_MOST_TRIED = 6  # kinds of cells
_PATIENCE = 30.0  # seconds after which no further kind is tried


@dataclass(frozen=True)
class Estimate:
    """Cells, seconds and bytes; seconds are None where no cell could be tried."""

    cells: int
    rounds: int
    seconds: float | None
    disk: int  # at most, while it is under way
    kept: int  # results, afterwards


def estimate(missing: Sequence[Cell], finished: Sequence[Result], jobs: int, data: Path | None) -> Estimate:
    """From results there are of cells of the same kind, else from two rounds of one of them."""
    jobs = jobs or available_cores()
    runnable = [cell for cell in missing if cell.config is not None]
    pace = {_kind(result.config): _pace(result) for result in finished if result.config and result.seconds}
    sizes: dict[str, _Size] = {}
    began = time.monotonic()
    starts: list[float] = []  # seconds that a cell takes besides its rounds
    for cell in runnable:
        kind = _kind(telling(cell.config)) if cell.config else ""
        if kind not in sizes and len(sizes) < _MOST_TRIED and time.monotonic() - began < _PATIENCE:
            tried = _tried(cell, data)
            if tried:
                starts.append(tried.start)
                sizes[kind] = tried.size
                pace.setdefault(kind, tried.pace)
    known = list(pace.values())
    usual = sum(known) / len(known) if known else None
    rounds = sum(cell.config.rounds for cell in runnable if cell.config)
    seconds = sum(
        cell.config.rounds * pace.get(_kind(telling(cell.config)), usual or 0.0)
        for cell in runnable
        if cell.config
    )
    seconds += len(runnable) * min(starts, default=0.0)
    longest = max((cell.config.rounds for cell in runnable if cell.config), default=0)
    largest = max((size.after(longest) for size in sizes.values()), default=0)
    kept = len(missing) * (4000 + 120 * longest)
    return Estimate(
        len(missing),
        rounds,
        seconds / jobs if usual is not None else None,
        largest * jobs + kept,
        kept,
    )


def _kind(config: object) -> str:
    """Cells that train the same model on the same data take about as long a round."""
    assert isinstance(config, dict)
    parts = ("data", "split", "model", "training", "sampling")
    return digest([config.get(part) for part in parts] + [config.get("strategy", {}).get("name")])


def _pace(result: Result) -> float:
    rounds = result.config.get("rounds", 1)
    return result.seconds / max(int(rounds), 1)


class _Size(NamedTuple):
    """Bytes of a run directory: its record grows with the rounds, of its checkpoints only so many are kept."""

    record: int  # a round
    checkpoint: int
    checkpoints: int

    def after(self, rounds: int) -> int:
        return self.record * rounds + self.checkpoint * self.checkpoints


class _Tried(NamedTuple):
    pace: float  # seconds a round
    start: float  # seconds besides
    size: _Size


def _tried(cell: Cell, data: Path | None) -> _Tried | None:
    assert cell.config is not None
    rounds = min(_TRIED_ROUNDS, cell.config.rounds)
    engine = cell.config.engine.model_copy(update={"workers": 1})
    config = cell.config.model_copy(update={"rounds": rounds, "engine": engine})
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        try:
            seconds = run(config, out=Path(folder) / "tried", data=sets_for(config, data)).seconds
        except FlockwiseError:
            return None
        start = time.perf_counter() - began - float(seconds.sum())
        size = _sized(Path(folder) / "tried", cell.config, rounds)
    return _Tried(float(seconds.min()), start, size)


def _sized(folder: Path, config: Config, rounds: int) -> _Size:
    saved = [path.stat().st_size for path in (folder / "checkpoints").rglob("*") if path.is_file()]
    whole = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    held = config.checkpoint.keep + len(config.checkpoint.at) + 1  # and the one that is being written
    return _Size((whole - sum(saved)) // rounds, max(saved, default=0), held)
