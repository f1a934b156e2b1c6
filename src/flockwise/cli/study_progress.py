"""Where a study stands: a bar with the time left in a terminal, a line for each finished cell everywhere."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.numbers import number_of, shown
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.studies.cells import Cell
    from flockwise.studies.side_by_side import CellNews


class StudyProgress:
    """CellNews of rounds and finished cells; cells weigh as many rounds as they have."""

    def __init__(self, cells: "list[Cell]", directory: Path | None = None) -> None:
        self._directory = directory  # where tasks of a user's own are looked for
        self._cells = len(cells)
        self._done = 0
        self._rounds = {id(cell): 0 for cell in cells}
        self._weights = {id(cell): cell.config.rounds if cell.config else 1 for cell in cells}
        self._bar: Any = None
        self._task: Any = None
        if sys.stderr.isatty() and cells:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"),
                TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task(f"0/{self._cells} cells", total=sum(self._weights.values()))

    def __enter__(self) -> "StudyProgress":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, told: "CellNews") -> None:
        """A worker said something."""
        key = id(told.cell)
        self._rounds[key] = told.round if told.error is None else self._weights.get(key, 1)
        if told.error is not None:
            self._done += 1
            self._say(f"[{self._done}/{self._cells}] {_name(told)}: {_outcome(told, self._directory)}")
        if self._bar:
            self._bar.update(
                self._task,
                completed=sum(self._rounds.values()),
                description=f"{self._done}/{self._cells} cells",
            )

    def _say(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(printable(text), highlight=False, markup=False)
        else:
            click.echo(printable(text), err=True)


def _name(told: "CellNews") -> str:
    table = f"{told.cell.table}: " if told.cell.table else ""
    return f"{table}{told.cell.name}, seed {told.cell.seed}"


def _outcome(told: "CellNews", directory: Path | None) -> str:
    if told.error:
        return f"failed: {told.error.splitlines()[0]}"
    if told.score is None:
        return "done"
    from flockwise.studies.side_by_side import score_of

    return f"{number_of(score_of(told.cell, directory)).title} {shown(told.score)}"
