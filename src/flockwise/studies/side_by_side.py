"""Cells side by side: a worker process a core, each with a unit of work at a time.

Workers are forked and told numbers of units; they write results themselves, and what they say is one line of JSON.
A worker that dies takes one cell with it: that cell is a result with an error, and another worker takes its place.
"""

import contextlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from flockwise.config.learning import task_of
from flockwise.kernels.parallel import available_cores, set_threads
from flockwise.scoring import ACCURACY
from flockwise.studies.cells import Cell
from flockwise.studies.results import Result, cell_digest, write_result
from flockwise.studies.work import Bench, Stopped, blank, carry_out

_SAY_EVERY = 0.3  # seconds between two words about rounds
_ROOM = 0.8  # share of the free memory that cells may take


@dataclass(frozen=True)
class CellNews:
    """What a worker says: a cell is under way at a round, or has a result, or all is stopped."""

    cell: Cell
    round: int = 0
    rounds: int = 0
    error: str | None = None  # None: under way; "": has a result
    score: float | None = None  # what the task compares models by


def run_units(
    units: Sequence[list[Cell]], bench: Bench, jobs: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[CellNews]:
    """Carry out all units; ends early, with everything kept, once `stop` says so."""
    if jobs <= 1 or sys.platform != "linux":
        yield from _here(units, bench, stop)
        return
    crew = Crew(units, bench, jobs)
    try:
        yield from crew.work(stop)
    finally:
        crew.close()


def _here(units: Sequence[list[Cell]], bench: Bench, stop: Callable[[], bool]) -> Iterator[CellNews]:
    """In this process, one after the other."""
    told: list[CellNews] = []
    for unit in units:
        if stop():
            return
        try:
            for cell, result in carry_out(unit, bench, stop, lambda c, p: told.append(_of(c, p))):
                yield from told[-1:]
                told.clear()
                yield CellNews(cell, error=result.error, score=final_score(cell, result, bench))
        except Stopped:
            return


class _Worker:
    """A process and what it is at."""

    def __init__(self, units: Sequence[list[Cell]], bench: Bench) -> None:
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.pipe: Connection = here
        self.process = context.Process(target=_serve, args=(there, here, units, bench))
        self.process.start()
        there.close()
        self.unit: int | None = None
        self.done = 0  # cells of the unit that have a result

    def take(self, unit: int, workers: int, first: int = 0) -> None:
        self.unit, self.done = unit, first
        self.say({"unit": unit, "first": first, "workers": workers})

    def say(self, content: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # if it is gone, its pipe says so when it is read
            self.pipe.send_bytes(json.dumps(content).encode())


class Crew:
    """The workers, and what is left for them."""

    def __init__(self, units: Sequence[list[Cell]], bench: Bench, jobs: int) -> None:
        self._units, self._bench = units, bench
        self._left = [(number, 0) for number in range(len(units))]  # unit, its first cell without a result
        self._most = min(jobs, len(units))
        self._cores = jobs
        self._workers = [_Worker(units, bench) for _ in range(self._most)]

    def work(self, stop: Callable[[], bool]) -> Iterator[CellNews]:
        """What the workers say, until nothing is left or everybody has stopped."""
        stopping = False
        self._hand_out()
        while any(worker.unit is not None for worker in self._workers):
            if not stopping and stop():
                stopping = True
                self._left.clear()
                for worker in self._workers:
                    worker.say({"stop": True})
            pipes = {worker.pipe: worker for worker in self._workers if worker.unit is not None}
            for pipe in wait(list(pipes), timeout=0.2):
                yield from self._heard(pipes[pipe], stopping)  # type: ignore[index]

    def close(self) -> None:
        """End them all; they are told, since each has a copy of the other pipes and would not see them close."""
        for worker in self._workers:
            worker.say({"stop": True})
        for worker in self._workers:
            worker.process.join(timeout=5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()

    def _hand_out(self) -> None:
        busy = sum(worker.unit is not None for worker in self._workers)
        for worker in self._workers:
            if worker.unit is None and self._left and busy < self._most:
                # With fewer cells left than cores, each may have more of them.
                waiting = min(len(self._left) + busy, self._most)
                unit, first = self._left.pop(0)
                worker.take(unit, max(self._cores // max(waiting, 1), 1), first)
                busy += 1

    def _heard(self, worker: _Worker, stopping: bool) -> Iterator[CellNews]:
        assert worker.unit is not None
        unit = self._units[worker.unit]
        try:
            said = json.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError):
            yield from self._died(worker, stopping)
            return
        if "round" in said:
            yield CellNews(unit[said["cell"]], said["round"], said["rounds"], score=said["score"])
        elif "error" in said:
            worker.done = said["cell"] + 1
            self._fit(said["memory"])
            yield CellNews(unit[said["cell"]], error=said["error"], score=said["score"])
        else:  # at the end of its unit, or stopped
            worker.unit = None
            self._hand_out()

    def _died(self, worker: _Worker, stopping: bool) -> Iterator[CellNews]:
        """Its cell failed; the others of the unit, and the other units, go on."""
        assert worker.unit is not None
        worker.process.join()
        number, cell = worker.unit, self._units[worker.unit][worker.done]
        why = f"the process that trained it ended with {worker.process.exitcode}"
        if worker.process.exitcode == -signal.SIGKILL:
            why += " (killed: out of memory?)"
        if not stopping:
            write_result(self._bench.results, replace(blank(cell, self._bench), error=why), cell_digest(cell))
            yield CellNews(cell, error=why)
            if worker.done + 1 < len(self._units[number]):
                self._left.insert(0, (number, worker.done + 1))
        self._workers.remove(worker)
        if self._left:
            self._workers.append(_Worker(self._units, self._bench))
        self._hand_out()

    def _fit(self, memory: int) -> None:
        """Fewer cells at once, each on more cores, where so many of this size do not fit."""
        free = _free_memory()
        busy = sum(worker.unit is not None for worker in self._workers)
        if memory and free is not None:
            self._most = max(min(self._most, int((free * _ROOM + busy * memory) // memory)), 1)


def _serve(pipe: Connection, other: Connection, units: Sequence[list[Cell]], bench: Bench) -> None:
    """A worker: units by number in, lines of JSON out."""
    other.close()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # often sent to the whole group:
        signal.signal(number, signal.SIG_IGN)  # they are for the one who hands out work
    stopped = False

    def stop() -> bool:
        nonlocal stopped
        try:
            while not stopped and pipe.poll():
                stopped = "stop" in json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            stopped = True
        return stopped

    def say(**content: Any) -> None:
        pipe.send_bytes(json.dumps(content).encode())

    try:
        while not stopped:
            said = json.loads(pipe.recv_bytes())
            if "stop" in said:
                break
            unit = units[said["unit"]][said["first"] :]
            set_threads(said["workers"])  # or the threads of all cells would be in each other's way
            _work(unit, said["first"], replace(bench, workers=said["workers"]), stop, say)
    except (EOFError, OSError):
        pass  # nobody is there any more
    finally:
        sys.stdout.flush()
        os._exit(0)


def _work(
    unit: list[Cell], first: int, bench: Bench, stop: Callable[[], bool], say: Callable[..., None]
) -> None:
    last = 0.0

    def watch(cell: Cell, progress: Any) -> None:
        nonlocal last
        if time.monotonic() - last > _SAY_EVERY:
            last = time.monotonic()
            told = _of(cell, progress)
            say(cell=first + unit.index(cell), round=told.round, rounds=told.rounds, score=told.score)

    try:
        for number, (cell, result) in enumerate(carry_out(unit, bench, stop, watch)):
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            say(
                cell=first + number, error=result.error, score=final_score(cell, result, bench), memory=memory
            )
    except Stopped:
        pass
    say(end=True)


def _of(cell: Cell, progress: Any) -> CellNews:
    value = progress.facts.get(progress.score)
    score = None if value is None or value != value else float(value)
    return CellNews(cell, progress.round, progress.rounds, score=score)


def score_of(cell: Cell, directory: Path | None) -> str:
    """The name of what the cell's task compares models by."""
    return task_of(cell.config, directory).scoring.name if cell.config else ACCURACY.name


def final_score(cell: Cell, result: Result, bench: Bench) -> float | None:
    """The last one on record."""
    if result.error:
        return None
    curve = [value for value in result.curves.get(score_of(cell, bench.directory), []) if value is not None]
    return curve[-1] if curve else None


def _free_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None


def jobs_for(units: int, asked: int) -> int:
    """How many cells at once: as asked, or one a core."""
    return max(min(asked or available_cores(), max(units, 1)), 1)
