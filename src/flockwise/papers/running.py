"""Running cells: finished ones are kept and skipped, common beginnings are trained once, a stop loses nothing."""

import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from flockwise.config import Config
from flockwise.errors import BusyError, RunError
from flockwise.papers.cells import Cell, Paper, Prefix
from flockwise.papers.configs import command, config_of, run_name
from flockwise.papers.current import cell_digest, current_results
from flockwise.papers.finished import Computed, Finished
from flockwise.papers.results import Result, read_result, result_path, surroundings, write_result
from flockwise.papers.reuse import decision, idle_twin_of, twin_of
from flockwise.runs import Progress, fork, resume, run
from flockwise.store import Run, open_run


@dataclass(frozen=True)
class Plan:
    """What to run, and where it goes.

    Results lie below `out`/results, run directories (deleted once they are read) below `out`/runs.
    `watch` is told of every round of every cell; rounds that cells share are told of with the first of them.
    """

    paper: Paper
    scale: str = "short"
    seeds: int = 1
    out: Path = Path("papers")
    data: Path | None = None
    tables: tuple[str, ...] = ()
    workers: int = 1
    keep_runs: bool = False
    watch: Callable[[Cell, Progress], object] | None = None

    @property
    def results(self) -> Path:
        """Where results lie."""
        return self.out / "results"

    def cells(self) -> list[Cell]:
        """The cells asked for, those that are run from scratch and those that share rounds side by side."""
        return [c for c in self.paper.cells(self.scale) if not self.tables or c.table in self.tables]


def missing(plan: Plan) -> list[tuple[Cell, int]]:
    """The cells and seeds without a result, or whose result was made with another config."""
    return [
        (cell, seed) for seed in range(plan.seeds) for cell in plan.cells() if not _done(plan, cell, seed)
    ]


def run_cells(
    plan: Plan, todo: Iterable[tuple[Cell, int]], stop: Callable[[], bool] = lambda: False
) -> Iterator[Result]:
    """Run cells one after the other and give each result as soon as it is on disk; `stop` is asked in between.

    Cells whose configs come to the same are read from one run. Runs are deleted with their last cell, common
    beginnings at the end, but kept after a stop, to go on from.
    """
    left, prefixes = sorted(todo, key=lambda pair: pair[0].twin is not None), set[Path]()
    while left:
        cell, seed = left.pop(0)
        finished = None if stop() else _run_cell(plan, cell, seed, stop, prefixes)
        if finished is None:
            return
        yield finished
        path = _run_path(plan, cell, seed)
        if not plan.keep_runs and all(_run_path(plan, *other) != path for other in left):
            shutil.rmtree(path, ignore_errors=True)
    if not plan.keep_runs:
        for path in prefixes:
            shutil.rmtree(path, ignore_errors=True)


def _run_path(plan: Plan, cell: Cell, seed: int) -> Path:
    at = cell.prefix.at if cell.prefix else None
    name = cell.name if cell.compute else run_name(_config(plan, cell, seed), at)
    return plan.out / "runs" / plan.paper.name / name


def _config(plan: Plan, cell: Cell, seed: int) -> Config:
    kept = [f"checkpoint.at=[{cell.decides_at}]"] if cell.decides_at else []
    return config_of(plan.paper.folder, cell.config, [*cell.overrides, *kept], seed, plan.workers)


def _run_cell(
    plan: Plan, cell: Cell, seed: int, stop: Callable[[], bool], prefixes: set[Path]
) -> Result | None:
    if cell.compute:
        result = _computed(plan, cell, seed)
        write_result(plan.results, result)
        return result
    config, path = _config(plan, cell, seed), _run_path(plan, cell, seed)
    twin = next((c for c in plan.paper.cells(plan.scale) if cell.twin and c.name == cell.twin.cell), None)
    if twin and _done(plan, twin, seed):  # a result of another config says nothing about this cell
        idle = idle_twin_of(plan.results, _blank(plan, cell, seed, config, None), cell)
        if idle:
            write_result(plan.results, idle)
            return idle
    calls: _Calls = {"data": plan.data, "stop": stop, "on_round": _told(plan, cell)}
    if cell.prefix:
        at = cell.prefix.at
        first = _prefix(plan, cell.prefix, seed, calls)
        if first is None:
            return None
        prefixes.add(first.path)

        def start(calls: _Calls = calls) -> Run:
            return fork(first.path, at, _all(config), out=path, **calls)
    else:

        def start(calls: _Calls = calls) -> Run:
            return run(config, out=path, **calls)

    decided = None
    if cell.decides_at:
        decided = _decision(path, start, calls, cell.decides_at)
        if decided is None:
            return None
        same = twin_of(current_results(plan.paper, plan.results), _blank(plan, cell, seed, config, decided))
        if same:
            write_result(plan.results, same)
            return same
    done = _started_or_resumed(path, start, calls)
    if done.state != "finished":
        return None
    result = _filled(_blank(plan, cell, seed, config, decided), cell, Finished(done, plan.data))
    write_result(plan.results, result)
    return result


def _decision(path: Path, start: Callable[..., Run], calls: "_Calls", at: int) -> str | None:
    """What the run decides in round `at`; it is stopped there, and None if it is stopped before."""
    reached = at - 1 if at in _checkpoints(path) else 0

    def watch(progress: Progress) -> None:
        nonlocal reached
        reached = progress.round
        if calls["on_round"]:
            calls["on_round"](progress)

    if not reached:  # a run asks whether to stop before it tells of the round
        until = _Calls(data=calls["data"], stop=lambda: reached >= at - 1 or calls["stop"](), on_round=watch)
        _started_or_resumed(path, lambda: start(until), until)
    return decision(open_run(path), at) if at in _checkpoints(path) else None


def _checkpoints(path: Path) -> list[int]:
    try:
        return open_run(path).checkpoints
    except RunError:
        return []


class _Calls(TypedDict):
    """What starting, resuming and forking have in common."""

    data: Path | None
    stop: Callable[[], bool]
    on_round: Callable[[Progress], object] | None


def _told(plan: Plan, cell: Cell) -> Callable[[Progress], object] | None:
    watch = plan.watch
    return None if watch is None else lambda progress: watch(cell, progress)


def _prefix(plan: Plan, prefix: Prefix, seed: int, calls: _Calls) -> Run | None:
    """The run that the cells fork from, as far as it is needed: one run serves all rounds of all its cells."""
    ats = sorted({c.prefix.at for c in plan.cells() if c.prefix and _same(c.prefix, prefix)})
    # It ends one round after the last fork, since a run can only be forked before its end.
    overrides = [*prefix.overrides, f"rounds={ats[-1] + 1}", f"checkpoint.at={ats}"]
    config = config_of(plan.paper.folder, prefix.config, overrides, seed, plan.workers)
    saved = "-".join(
        map(str, ats)
    )  # a run that was stopped may have been for other cells, and saved other rounds
    path = plan.out / "runs" / plan.paper.name / f"prefix-{run_name(config)}-at-{saved}"
    done = _started_or_resumed(path, lambda: run(config, out=path, **calls), calls)
    return done if done.state == "finished" else None


def _same(one: Prefix, other: Prefix) -> bool:
    return (one.config, one.overrides) == (other.config, other.overrides)


def _started_or_resumed(path: Path, start: Callable[[], Run], calls: _Calls) -> Run:
    if not path.exists():
        return start()
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
    return start()


def _blank(plan: Plan, cell: Cell, seed: int, config: Config, decided: str | None) -> Result:
    at = cell.prefix.at if cell.prefix else None
    return Result(
        plan.paper.name, cell.table, cell.name, plan.scale, seed, cell_digest(plan.paper, cell, seed), {},
        command=command(plan.paper.folder, cell.config, cell.overrides, seed), forked_at=at, decided=decided,
        **surroundings(),
    )  # fmt: skip


def _filled(blank: Result, cell: Cell, finished: Finished) -> Result:
    values: dict[str, float | None] = {}
    for measure in cell.measures:
        value = float(measure.read(finished))
        values[measure.name] = round(value, 5) if math.isfinite(value) else None
    return replace(
        blank, values=values, curves={name: finished.curve(name) for name in cell.curves},
        arrays=cell.arrays(finished) if cell.arrays else {}, seconds=round(float(finished.run.seconds.sum()), 1),
    )  # fmt: skip


def _computed(plan: Plan, cell: Cell, seed: int) -> Result:
    assert cell.compute is not None
    started = time.perf_counter()
    curves = cell.compute(cell.name, seed)
    finished = Computed(curves)
    values: dict[str, float | None] = {m.name: float(m.read(finished)) for m in cell.measures}
    return Result(
        plan.paper.name, cell.table, cell.name, plan.scale, seed, cell_digest(plan.paper, cell, seed), values,
        {name: list(curves[name]) for name in cell.curves}, seconds=round(time.perf_counter() - started, 1),
        command=f"flockwise paper {plan.paper.name} --table '{cell.table}'", **surroundings(),
    )  # fmt: skip


def _done(plan: Plan, cell: Cell, seed: int) -> bool:
    path = result_path(plan.results, plan.paper.name, plan.scale, cell.table, cell.name, seed)
    found = read_result(path)
    return found is not None and found.config_hash == cell_digest(plan.paper, cell, seed)


def _all(config: Config) -> list[str]:
    """Every section that a fork may change as an override, so that a fork's config is exactly the cell's."""
    content = config.written()
    fixed = ("seed", "data", "split", "model")
    return [f"{name}={_toml(value)}" for name, value in content.items() if name not in fixed]


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)
