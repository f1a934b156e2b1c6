"""What was measured of one scale of a study: any number of any cell, seed by seed, and which run gave it."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flockwise.studies.cells import Cell
from flockwise.studies.file import NumberSpec
from flockwise.studies.reading import value_of
from flockwise.studies.results import Result, digest

BySeed = Mapping[int, float]
_COSTS = ("seconds", "client_seconds", "server_seconds", "bytes_sent")


class Numbers(Protocol):
    """What comparisons are made of: what was measured, or what a paper prints."""

    def values(self, table: str, cell: str, number: str) -> dict[int, float]:
        """A number of a cell by seed."""

    def silent(self, table: str, cell: str, number: str) -> int:
        """How many seeds were run and have no such number."""


@dataclass(frozen=True)
class Measured:
    """The cells of a study at one scale, the results that count, and those that were measured again since."""

    cells: tuple[Cell, ...]
    results: tuple[Result, ...]
    earlier: tuple[Result, ...] = ()

    def values(self, table: str, cell: str, number: str) -> dict[int, float]:
        """A number of a cell by seed; seeds that could not give it are left out."""
        found = {}
        for result in self._of.get((table, cell), ()):
            known = self._cells[table, cell]
            value = value_of(result, number, known.spec.numbers.get(number) or NumberSpec(of=number), known)
            if math.isfinite(value):
                found[result.seed] = value
        return found

    def silent(self, table: str, cell: str, number: str) -> int:
        """How many seeds were run and asked for a number that they do not have, such as a round that never came."""
        found = self._of.get((table, cell), ())
        return sum(number in result.values and result.values[number] is None for result in found)

    def has(self, table: str, cell: str) -> bool:
        """Whether the study has such a cell."""
        return (table, cell) in self._cells

    def was_run(self, table: str, cell: str) -> bool:
        """Whether there is any result of it."""
        return bool(self._of.get((table, cell)))

    def first(self, table: str, cell: str) -> Result | None:
        """The result with the lowest seed, for drawings."""
        return min(self._of.get((table, cell), ()), key=lambda result: result.seed, default=None)

    def every(self, table: str, cell: str) -> list[Result]:
        """Its results, by seed."""
        return sorted(self._of.get((table, cell), ()), key=lambda result: result.seed)

    def outcome(self, table: str, cell: str) -> str:
        """What its runs gave, as a digest: cells whose runs gave the same to the last digit have one outcome."""
        return digest(sorted(_told(result) for result in self._of.get((table, cell), ())))

    @cached_property
    def _cells(self) -> dict[tuple[str, str], Cell]:
        return {(cell.table, cell.name): cell for cell in reversed(self.cells)}

    @cached_property
    def _of(self) -> dict[tuple[str, str], list[Result]]:
        found: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            found.setdefault((result.table, result.cell), []).append(result)
        return found


def names(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """Tables and cells, once for all seeds."""
    return list(dict.fromkeys((cell.table, cell.name) for cell in cells))


def _told(result: Result) -> str:
    """All that a run gave but how long it took; of a run with curves these are enough to know it by."""
    curves = {name: curve for name, curve in result.curves.items() if name == "accuracy"}
    values = {name: value for name, value in result.values.items() if name not in _COSTS}
    return json.dumps([result.seed, curves or values], sort_keys=True)
