"""Cells on a Ray cluster: a unit of work is a task; a node that dies loses nothing but time.

Each node needs Flockwise and the data. A task sends its results back as text, and only this process writes them, so
that nodes need no common disk; a task whose node dies is started again on another.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from flockwise.engine.ray_cluster import connected
from flockwise.studies.cells import Cell
from flockwise.studies.results import Result, cell_digest, write_result
from flockwise.studies.side_by_side import CellNews, final_score
from flockwise.studies.work import Bench, Stopped, blank, carry_out

_LOOK_EVERY = 0.5  # seconds
_TRIES = 4  # of a unit whose node or process dies


def run_on_ray(
    units: Sequence[list[Cell]], bench: Bench, address: str, stop: Callable[[], bool] = lambda: False
) -> Iterator[CellNews]:
    """Carry out all units on the cluster at `address` ("auto": the one that this machine belongs to)."""
    ray, leave = connected(address, f"--ray {address}")
    try:
        task = ray.remote(num_cpus=1, max_retries=_TRIES, retry_exceptions=False)(_unit)
        under_way = {task.remote(unit, bench): unit for unit in units}
        while under_way:
            if stop():
                for each in under_way:
                    ray.cancel(each, force=True)
                return
            ready, _ = ray.wait(list(under_way), num_returns=1, timeout=_LOOK_EVERY)
            for each in ready:
                yield from _received(under_way.pop(each), bench, _answer(ray, each))
    finally:
        leave()


def _answer(ray: Any, task: Any) -> list[str] | str:
    """The results as text, or why there are none."""
    try:
        texts: list[str] = ray.get(task)
        return texts
    except ray.exceptions.RayError as error:
        return f"its node or process died {_TRIES + 1} times: {str(error).splitlines()[0]}"[:300]


def _received(unit: list[Cell], bench: Bench, answer: list[str] | str) -> Iterator[CellNews]:
    for number, cell in enumerate(unit):
        if isinstance(answer, str):
            result = replace(blank(cell, bench), error=answer)
        else:
            result = Result(**json.loads(answer[number]))
        write_result(bench.results, result, cell_digest(cell))
        yield CellNews(cell, error=result.error, score=final_score(cell, result, bench))


def _unit(unit: list[Cell], bench: Bench) -> list[str]:
    """On a node: run directories are its own affair and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="flockwise-") as folder:
        here = replace(bench, folder=Path(folder))
        try:
            return [json.dumps(asdict(result)) for _, result in carry_out(unit, here)]
        except Stopped:
            return []
