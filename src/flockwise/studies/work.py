"""Carrying out cells: each an ordinary run, resumed if it was interrupted, read once it is finished.

Cells that share something are one unit of work: those whose configs come to the same are read from one run, and
those with common rounds go on from one beginning.
"""

import hashlib
import math
import os
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from flockwise.config import Config, parse_config
from flockwise.errors import BusyError, FlockwiseError, RunError
from flockwise.runs import Progress, Run, fork, open_run, resume, run
from flockwise.runs.whereabouts import sets_for
from flockwise.studies.cells import Beginning, Cell
from flockwise.studies.finished import Finished, own_reader
from flockwise.studies.reading import kept_curves, measured
from flockwise.studies.results import (
    Result,
    cell_digest,
    digest,
    results_in,
    same_pieces,
    telling,
    write_result,
)
from flockwise.studies.surroundings import surroundings

_FIXED = ("seed", "data", "split", "model")  # what a fork may not change


@dataclass(frozen=True)
class Bench:
    """Where a study is carried out: `folder` has results and, while cells are under way, their run directories."""

    study: str
    folder: Path
    directory: Path | None = None  # of the study's file, where own pieces are looked for
    data: Path | None = None
    workers: int = 1  # of one cell
    keep_runs: bool = False
    command: str = ""

    @property
    def results(self) -> Path:
        """Where results lie."""
        return self.folder / "results"

    @property
    def runs(self) -> Path:
        """Where run directories lie."""
        return self.folder / "runs"


class Stopped(Exception):
    """Somebody asked to stop; what was done so far is kept to go on from."""


class _Calls(TypedDict):
    """What starting, resuming and forking have in common."""

    data: Path | None
    stop: Callable[[], bool]
    on_round: Callable[[Progress], object] | None


Watch = Callable[[Cell, Progress], object]


def units_of(cells: Iterable[Cell]) -> list[list[Cell]]:
    """The cells that one worker carries out one after the other, because they share runs."""
    units: dict[str, list[Cell]] = {}
    for cell in cells:
        shared = f"{cell.table}-{_beginning_name(cell.beginning)}" if cell.beginning else cell_digest(cell)
        units.setdefault(f"{shared}-{cell.seed}", []).append(cell)
    return list(units.values())


def carry_out(
    unit: list[Cell], bench: Bench, stop: Callable[[], bool] = lambda: False, watch: Watch | None = None
) -> Iterator[tuple[Cell, Result]]:
    """Each cell with its result, which is on disk by then; raises Stopped when asked to stop."""
    left = list(unit)
    # What a stopped process spent on them is on no record, and half a sum would pass for a whole one.
    fresh = not any(path.exists() for path in _paths(unit, bench))
    while left:
        cell, before = left.pop(0), _cpu_seconds()
        try:
            result = _one(cell, unit, bench, stop, watch)
        except (Stopped, KeyboardInterrupt, BusyError):
            raise
        except Exception as error:  # a cell that fails is a cell with its error, and the others go on
            result = replace(blank(cell, bench), error=_told(error))
        result = replace(result, cpu_seconds=round(_cpu_seconds() - before, 2) if fresh else None)
        write_result(bench.results, result, cell_digest(cell))
        yield cell, result
        path = _path(cell, bench)
        if not bench.keep_runs and not result.error and all(_path(other, bench) != path for other in left):
            shutil.rmtree(path, ignore_errors=True)
    if not bench.keep_runs:
        for path in _beginnings(unit, bench):
            shutil.rmtree(path, ignore_errors=True)


def _cpu_seconds() -> float:
    """Of this process and of those it started that have ended, as a run's workers have when it is finished."""
    return time.process_time() + sum(os.times()[2:4])


def _one(cell: Cell, unit: list[Cell], bench: Bench, stop: Callable[[], bool], watch: Watch | None) -> Result:
    if cell.error:
        return replace(blank(cell, bench), error=cell.error)
    if cell.spec.compute:
        return _computed(cell, bench)
    config = _config(cell, bench)
    calls = _Calls(
        data=sets_for(config, bench.data),
        stop=stop,
        on_round=(lambda told: watch(cell, told)) if watch else None,
    )
    path, start = _path(cell, bench), _starter(cell, unit, config, bench, calls)
    decided = ""
    if cell.settled:
        decided = _decision(path, start, calls, cell.settled)
        twin = _twin(bench.results, cell, decided)
        if twin is not None:
            return replace(
                blank(cell, bench), values=twin.values, curves=twin.curves, rounds=twin.rounds, arrays=twin.arrays,
                seconds=twin.seconds, twin=twin.cell, decided=decided,
            )  # fmt: skip
    return replace(_read(_finished(path, start, calls), cell, bench), decided=decided)


def _starter(
    cell: Cell, unit: list[Cell], config: Config, bench: Bench, calls: _Calls
) -> Callable[[_Calls], Run]:
    """How the cell's run is begun: from the first round, or from where a common beginning ends."""
    path, at = _path(cell, bench), cell.beginning.at if cell.beginning else 0
    if cell.beginning is None:
        return lambda calls: run(config, out=path, directory=bench.directory, **calls)
    first = _begun(unit, cell.beginning, cell.seed, bench, calls)
    changes = [f"{name}={_toml(value)}" for name, value in config.written().items() if name not in _FIXED]
    return lambda calls: fork(first, at, changes, out=path, **calls)


def _begun(unit: list[Cell], beginning: Beginning, seed: int, bench: Bench, calls: _Calls) -> Path:
    """The run that cells fork from, trained as far as the last of them needs it."""
    ats = _ats(unit, beginning)
    # It ends one round after the last fork, since a run can only be forked before its end.
    content = {**beginning.content, "seed": seed, "rounds": ats[-1] + 1, "checkpoint": {"at": ats}}
    config = _with_workers(parse_config(content, directory=bench.directory), bench.workers)
    path = _beginning_path(unit, beginning, bench)
    _finished(path, lambda calls: run(config, out=path, directory=bench.directory, **calls), calls)
    return path


def _finished(path: Path, start: Callable[[_Calls], Run], calls: _Calls) -> Run:
    found = _started_or_resumed(path, start, calls)
    if found.state == "failed":
        shutil.rmtree(path, ignore_errors=True)
        raise RunError(found.about.get("error", "the run failed"))
    if found.state != "finished":
        raise Stopped
    return found


def _started_or_resumed(path: Path, start: Callable[[_Calls], Run], calls: _Calls) -> Run:
    if not path.exists():
        return start(calls)
    try:
        found = open_run(path)
        if found.state == "finished":
            return found
        if found.checkpoints:
            return resume(path, **calls)
    except BusyError:
        raise
    except RunError:
        pass  # broken beyond reading, by a crash at its very start: nothing is lost by starting again
    shutil.rmtree(path)
    return start(calls)


def _decision(path: Path, start: Callable[[_Calls], Run], calls: _Calls, at: int) -> str:
    """What the run knows after round `at`, as far as its future depends on it; it is stopped there."""
    reached = at - 1 if at in _checkpoints(path) else 0

    def watch(progress: Progress) -> None:
        nonlocal reached
        reached = progress.round
        if calls["on_round"]:
            calls["on_round"](progress)

    if not reached:  # a run asks whether to stop before it tells of the round
        until = _Calls(data=calls["data"], stop=lambda: reached >= at - 1 or calls["stop"](), on_round=watch)
        _started_or_resumed(path, start, until)
    if at not in _checkpoints(path):
        raise Stopped
    state, text = open_run(path).checkpoint(at), hashlib.sha256()
    for name in ("models", "labels"):
        text.update(np.ascontiguousarray(state[name]).tobytes())
    return text.hexdigest()[:16]


def _twin(folder: Path, cell: Cell, decided: str) -> Result | None:
    """A finished cell of the same table and seed that knew the same at the same round."""
    at = cell.beginning.at if cell.beginning else None
    for found in results_in(folder):
        same = (found.table, found.scale, found.seed, found.forked_at, found.decided)
        if (
            same == (cell.table, cell.scale, cell.seed, at, decided)
            and not found.twin
            and not found.error
            and same_pieces(found, cell)
        ):
            return found
    return None


def _checkpoints(path: Path) -> list[int]:
    try:
        return open_run(path).checkpoints
    except RunError:
        return []


def _read(found: Run, cell: Cell, bench: Bench) -> Result:
    finished = Finished(found, bench.data)
    arrays = own_reader(cell.spec.arrays, bench.directory)(finished) if cell.spec.arrays else {}
    rounds = found.rounds.tolist()
    return replace(
        blank(cell, bench), values=measured(finished, cell, bench.directory), curves=dict(kept_curves(finished, cell)),
        rounds=[] if rounds == list(range(1, len(rounds) + 1)) else rounds, arrays=arrays,
        seconds=round(float(found.seconds.sum()), 1),
    )  # fmt: skip


def _computed(cell: Cell, bench: Bench) -> Result:
    curves = own_reader(str(cell.spec.compute), bench.directory)(dict(cell.labels), cell.seed)
    values = {name: curve[-1] for name, curve in curves.items() if len(curve)}
    kept = {
        name: [v if v is not None and math.isfinite(v) else None for v in curve]
        for name, curve in curves.items()
    }
    return replace(blank(cell, bench), values=values, curves=kept)


def blank(cell: Cell, bench: Bench) -> Result:
    """A result without numbers yet."""
    config = telling(cell.config) if cell.config else {}
    at = cell.beginning.at if cell.beginning else None
    return Result(
        bench.study, cell.table, cell.name, cell.seed, cell.scale, dict(cell.labels), config, at,
        command=bench.command, tuned=dict(cell.tuned), pieces=dict(cell.pieces), **surroundings(bench.workers),
    )  # fmt: skip


def _config(cell: Cell, bench: Bench) -> Config:
    assert cell.config is not None
    config = _with_workers(cell.config, bench.workers)
    if not cell.settled:
        return config
    kept = config.checkpoint.model_copy(update={"at": sorted({*config.checkpoint.at, cell.settled})})
    return config.model_copy(update={"checkpoint": kept})


def _with_workers(config: Config, workers: int) -> Config:
    return config.model_copy(update={"engine": config.engine.model_copy(update={"workers": workers})})


def _path(cell: Cell, bench: Bench) -> Path:
    return bench.runs / cell_digest(cell)


def _paths(unit: list[Cell], bench: Bench) -> set[Path]:
    """Every run directory that the cells make."""
    return {_path(cell, bench) for cell in unit} | _beginnings(unit, bench)


def _beginnings(unit: list[Cell], bench: Bench) -> set[Path]:
    return {_beginning_path(unit, cell.beginning, bench) for cell in unit if cell.beginning}


def _ats(unit: list[Cell], beginning: Beginning) -> list[int]:
    name = _beginning_name(beginning)
    return sorted({c.beginning.at for c in unit if c.beginning and _beginning_name(c.beginning) == name})


def _beginning_name(beginning: Beginning) -> str:
    """The same for beginnings that differ only in how far they go."""
    content = {key: part for key, part in telling(beginning.content).items() if key != "rounds"}
    return digest([content, dict(beginning.pieces)] if beginning.pieces else content)


def _beginning_path(unit: list[Cell], beginning: Beginning, bench: Bench) -> Path:
    saved = "-".join(map(str, _ats(unit, beginning)))  # one that was stopped may have saved other rounds
    return bench.runs / f"begin-{_beginning_name(beginning)}-{unit[0].seed}-at-{saved}"


def _told(error: Exception) -> str:
    if isinstance(error, FlockwiseError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"[:500]


def _toml(value: Any) -> str:
    import json

    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
