"""A study as a person handles it: from a file to results, going on where it was left."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flockwise.errors import ConfigError
from flockwise.studies.cells import Cell, cells_of
from flockwise.studies.file import StudyFile, read_study
from flockwise.studies.outputs import write_outputs
from flockwise.studies.reading import check_numbers, specs_of, value_of
from flockwise.studies.results import Result, current, results_in
from flockwise.studies.rows import with_rows
from flockwise.studies.side_by_side import CellNews, jobs_for, run_units
from flockwise.studies.table import StudyTable
from flockwise.studies.tabulating import tables_of
from flockwise.studies.tuning import Search, searches_for, tune, with_choices
from flockwise.studies.work import Bench, units_of


class Study:
    """A study and what there is of it: `cells`, `results`, `missing`, `failed`; `carry_out()` does the rest.

    Results lie below `folder`/results, one file each, and are never edited. `rows` are strategies by label (a name, or
    `module:function`) that the file does not have.
    """

    def __init__(
        self, what: str | Path | Mapping[str, Any] | StudyFile, *, scale: str = "", out: str | Path | None = None,
        data: str | Path | None = None, tables: Iterable[str] = (), seeds: int | None = None,
        rows: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.file = with_rows(what if isinstance(what, StudyFile) else read_study(what), rows)
        self._rows = dict(rows)
        self.source = Path(what) if isinstance(what, str | Path) else None
        self.directory = self.source.parent if self.source else Path.cwd()
        self.scale = scale
        self.folder = Path(out) if out is not None else Path("studies") / self.file.name
        self.data = Path(data) if data is not None else None
        self._tables = tuple(tables)
        self._seeds = seeds
        for name in self._tables:
            if name not in self.file.tables:
                known = ", ".join(self.file.tables) or "none"
                raise ConfigError(f"--table {name}: this study has no such table; there are {known}")
        for table in self.file.every_table().values():
            check_numbers(table)

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell with every seed, tuned as far as its search is through."""
        return with_choices(self._as_written, self.searches, self.directory)

    @cached_property
    def searches(self) -> list[Search]:
        """What was tried and chosen for tables that are tuned, as far as it is on record."""
        return tune(self._as_written, self.tries, self.directory, among=self._all_tables)

    def untuned(self, cells: Iterable[Cell]) -> list[Search]:
        """The searches that some cells wait for."""
        found = searches_for(cells, self.searches)
        return [search for search in found if not search.chosen and not search.error]

    def tries(self) -> list[Result]:
        """The tries on record, one result each."""
        found = results_in(self.folder / "tuning" / "results")
        return [result for result in found if result.scale == self.scale]

    @cached_property
    def _as_written(self) -> list[Cell]:
        """The cells of the tables that were asked for."""
        found = [cell for cell in self._all_tables if not self._tables or cell.table in self._tables]
        if found and all(cell.error for cell in found):  # a mistake in the base, or in what all cells share
            raise ConfigError(found[0].error)
        return found

    @cached_property
    def _all_tables(self) -> list[Cell]:
        file = self.file
        if self._seeds is not None:
            tables = {
                name: table.model_copy(update={"seeds": self._seeds}) for name, table in file.tables.items()
            }
            file = file.model_copy(update={"seeds": self._seeds, "tables": tables})
        return cells_of(file, self.scale, self.directory)

    @property
    def results(self) -> list[Result]:
        """The results that count, one for each cell and seed."""
        return current(self.every_result(), self.cells, self.directory)

    @property
    def missing(self) -> list[Cell]:
        """The cells without a result that stands."""
        done = {result.key for result in self.results}
        return [cell for cell in self.cells if (cell.table, cell.name, cell.seed) not in done]

    @property
    def failed(self) -> dict[tuple[str, str, int], str]:
        """Why cells without a result have none, as far as it was tried."""
        wanted = {(cell.table, cell.name, cell.seed) for cell in self.missing}
        errors = {r.key: r.error for r in sorted(self.every_result(), key=lambda r: r.date) if r.error}
        return {key: error for key, error in errors.items() if key in wanted}

    def every_result(self) -> list[Result]:
        """All results on disk of this scale, those that no longer count too."""
        return [found for found in results_in(self.folder / "results") if found.scale == self.scale]

    def numbers(self, cell: Cell, result: Result) -> dict[str, float]:
        """The numbers that the cell's table shows."""
        return {name: value_of(result, name, spec, cell) for name, spec in specs_of(cell.spec).items()}

    def carry_out(
        self, *, jobs: int = 0, keep_runs: bool = False, ray: str | None = None, cells: Iterable[Cell] | None = None,
        watch: Callable[[CellNews], object] = lambda told: None, stop: Callable[[], bool] = lambda: False,
    ) -> bool:  # fmt: skip
        """Run what is missing, side by side; whether all of it was tried. The same call goes on after a stop."""
        asked = None if cells is None else list(cells)
        if not self.tune(asked, jobs=jobs, keep_runs=keep_runs, ray=ray, watch=watch, stop=stop):
            return False
        chosen = self.missing if asked is None else self._now(asked)
        return self._run(list(chosen), self.folder, jobs, keep_runs, ray, watch, stop)

    def tune(
        self, cells: Iterable[Cell] | None = None, *, jobs: int = 0, keep_runs: bool = False, ray: str | None = None,
        watch: Callable[[CellNews], object] = lambda told: None, stop: Callable[[], bool] = lambda: False,
    ) -> bool:  # fmt: skip
        """Carry out the searches that cells (all, if none are named) wait for; whether they are through then."""
        asked = self.cells if cells is None else list(cells)
        if not self.untuned(asked):
            return True
        keys = {(cell.table, cell.name, cell.seed) for cell in asked}
        as_written = [cell for cell in self._as_written if (cell.table, cell.name, cell.seed) in keys]

        def carry_out(tries: list[Cell]) -> bool:
            return self._run(tries, self.folder / "tuning", jobs, keep_runs, ray, watch, stop)

        tuned = tune(as_written, self.tries, self.directory, carry_out, among=self._all_tables)
        known = {(search.table, search.group): search for search in [*self.searches, *tuned]}
        found = list(known.values())
        self.__dict__ |= {"searches": found, "cells": with_choices(self._as_written, found, self.directory)}
        return not self.untuned(asked)

    def _now(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells as they are by now, if they were asked for before they were tuned."""
        known = {(cell.table, cell.name, cell.seed): cell for cell in self.cells}
        return [known.get((cell.table, cell.name, cell.seed), cell) for cell in cells]

    def _run(
        self, cells: list[Cell], folder: Path, jobs: int, keep_runs: bool, ray: str | None,
        watch: Callable[[CellNews], object], stop: Callable[[], bool],
    ) -> bool:  # fmt: skip
        """Carry out cells side by side; whether all of them were tried."""
        units = units_of(cells)
        bench = Bench(
            self.file.name, folder, self.directory, self.data, keep_runs=keep_runs, command=self.command
        )
        if ray is not None:
            from flockwise.studies.on_ray import run_on_ray

            said = run_on_ray(units, bench, ray, stop)
        else:
            said = run_units(units, bench, jobs_for(len(units), jobs), stop)
        tried = 0
        for told in said:
            tried += told.error is not None
            watch(told)
        return tried == len(cells)

    def tables(self) -> list[StudyTable]:
        """The tables: means and intervals over seeds, the best marked."""
        return tables_of(self.file, self.cells, self.every_result(), self.directory)

    def write(self, folder: str | Path | None = None) -> list[Path]:
        """Write page.html, the tables as Markdown, LaTeX and CSV, and the figures; the page comes first."""
        text = self.source.read_text(encoding="utf-8") if self.source else ""
        where = Path(folder) if folder is not None else self.folder
        return write_outputs(
            self.file,
            self.cells,
            self.every_result(),
            where,
            self.directory,
            text,
            self.command,
            self.searches,
        )

    @property
    def command(self) -> str:
        """How to do the same by hand."""
        if self.source is None:
            return "flockwise.studies(...)"
        more = "".join(f" --row {label}={name}" for label, name in self._rows.items())
        return f"flockwise study {self.source.name}" + (f" --scale {self.scale}" if self.scale else "") + more

    def __repr__(self) -> str:
        left = len(self.missing)
        told = "finished" if not left else f"{left} missing"
        return f"<Study {self.file.name}: {len(self.cells)} cells, {told}, in {self.folder}>"


def study(
    what: str | Path | Mapping[str, Any], *, scale: str = "", out: str | Path | None = None,
    data: str | Path | None = None, jobs: int = 0, keep_runs: bool = False, ray: str | None = None,
    watch: Callable[[CellNews], object] = lambda told: None, stop: Callable[[], bool] = lambda: False,
) -> Study:  # fmt: skip
    """Carry out a study (a TOML file, or the same as a mapping) and return it with its results.

        table = study("robustness.toml")
        table.results, table.missing, table.failed

    Finished cells are kept and skipped, so the same call goes on after a stop. `jobs` cells run side by side, one a
    core if not given; `ray` is the address of a Ray cluster to run them on instead.
    """
    found = Study(what, scale=scale, out=out, data=data)
    found.carry_out(jobs=jobs, keep_runs=keep_runs, ray=ray, watch=watch, stop=stop)
    return found
