"""study: a whole table of runs from one file."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.cli.options import DATA, FOLDER
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.studies.cells import Cell
    from flockwise.studies.handle import Study
    from flockwise.studies.side_by_side import CellNews


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--scale", default="", help="One of the file's scales, such as smoke or full.")
@click.option("--table", "tables", multiple=True, help="Only this table; may be repeated.")
@click.option(
    "--cell",
    "names",
    multiple=True,
    metavar="TEXT",
    help="Only cells whose name contains this; may be repeated.",
)
@click.option(
    "--row",
    "rows",
    multiple=True,
    metavar="LABEL=STRATEGY",
    help="One more row: a strategy's name, or module:function; may be repeated.",
)
@click.option("--seeds", type=click.IntRange(min=1), help="How many seeds, instead of what the file says.")
@click.option("--out", type=FOLDER, help="Where results and pages go (default: studies/NAME).")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Cells at once; 0: one a core.")
@click.option(
    "--ray", metavar="ADDRESS", help="Run the cells on this Ray cluster (auto: the one of this machine)."
)
@DATA
@click.option("--keep-runs", is_flag=True, help="Keep the run directories, for reports.")
@click.option(
    "--again",
    is_flag=True,
    help="Run cells again that have a result; both stay on record, the newest counts.",
)
@click.option(
    "--dry-run", is_flag=True, help="Say how many cells are missing, how long they take and how much disk."
)
@click.option("--list", "listing", is_flag=True, help="List the cells, and what there is of each.")
@click.option(
    "--page-only", is_flag=True, help="Run nothing; write tables and page from the results there are."
)
def study(
    file: Path, scale: str, tables: tuple[str, ...], names: tuple[str, ...], rows: tuple[str, ...],
    seeds: int | None, out: Path | None, jobs: int, ray: str | None, data: Path | None, keep_runs: bool,
    again: bool, dry_run: bool, listing: bool, page_only: bool,
) -> None:  # fmt: skip
    """Carry out the study in FILE, a TOML file (see `flockwise new study`), and write its tables and page.

    Finished cells are kept and skipped, so a stop (Ctrl-C) loses nothing: give the same command again.
    """
    from flockwise.studies.handle import Study

    found = Study(file, scale=scale, out=out, data=data, tables=tables, seeds=seeds, rows=more_rows(rows))
    todo = chosen(found.cells if again else found.missing, found.cells, names)
    if listing:
        list_cells(found, todo)
        return
    if dry_run:
        tell_costs(found, todo, jobs)
        return
    options: dict[str, Any] = {"jobs": jobs, "keep_runs": keep_runs, "ray": ray}
    if not page_only and found.untuned(todo) and tune(found, todo, **options):
        todo = chosen(found.cells if again else found.missing, found.cells, names)
    whole = page_only or (not found.untuned(todo) and carry_out(found, todo, **options))
    write_outputs(found)
    if not whole:
        click.echo("stopped; the same command goes on from here", err=True)
        raise click.exceptions.Exit(130)
    if found.failed:
        raise click.exceptions.Exit(1)


def more_rows(given: tuple[str, ...]) -> dict[str, str]:
    """Label and strategy of rows from the command line; modules are looked for in this folder too."""
    from flockwise.errors import ConfigError

    rows = dict(text.partition("=")[::2] for text in given)
    for label, name in rows.items():
        if not label.strip() or not name.strip():
            raise ConfigError(f"--row {label!r}: must be LABEL=STRATEGY, such as mine=my_module:my_method")
    if rows and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    return rows


def chosen(todo: Iterable["Cell"], known: Iterable["Cell"], names: tuple[str, ...]) -> list["Cell"]:
    """The cells asked for by name, in the order of the names; all where no name is given."""
    from flockwise.errors import ConfigError

    todo = list(todo)
    for text in names:
        if not any(text in cell.name for cell in known):
            raise ConfigError(f"--cell {text!r}: no cell's name contains this; --list shows the cells")
    picked = {id(cell): cell for text in names for cell in todo if text in cell.name}
    return list(picked.values()) if names else todo


def list_cells(found: "Study", todo: list["Cell"]) -> None:
    """A line for each cell: which, and what there is of it."""
    done = {result.key: result for result in found.results}
    failed = found.failed
    for cell in found.cells:
        key = (cell.table, cell.name, cell.seed)
        result = done.get(key)
        if result is not None:
            numbers = found.numbers(cell, result)
            told = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items() if value == value)
        else:
            why = failed.get(key) or cell.error
            told = f"failed: {why}" if why else "missing"
        table = f"{cell.table}: " if cell.table else ""
        click.echo(printable(f"{table}{cell.name}, seed {cell.seed}: {told}"))
    click.echo(f"{len(found.cells)} cells, {len(done)} finished, {len(todo)} to run", err=True)


def tell_costs(found: "Study", todo: list["Cell"], jobs: int) -> None:
    """What carrying it out would take."""
    from flockwise.cli.progress import duration
    from flockwise.studies.estimate import estimate

    wrong = [cell for cell in todo if cell.error]
    for cell in wrong:
        click.echo(printable(f"cannot run: {cell.name}: {cell.error}"), err=True)
    cost = estimate(todo, found.results, jobs, found.data)
    took = (
        "how long is not known before a cell has run"
        if cost.seconds is None
        else f"about {duration(cost.seconds)}"
    )
    click.echo(
        f"{cost.cells} of {len(found.cells)} cells to run, {cost.rounds} rounds; {took}; "
        f"at most {_size(cost.disk)} of disk while it runs, {_size(cost.kept)} afterwards"
    )
    tries = _tries(found, todo)
    if tries:
        click.echo(f"before them {tries} tries of tuning, each about as long as a cell")


def _tries(found: "Study", todo: list["Cell"]) -> int:
    """How many tries the searches still need that these cells wait for."""
    return sum(search.left for search in found.untuned(todo))


def tune(found: "Study", todo: list["Cell"], **options: Any) -> bool:
    """Carry out the searches with a line for each try; whether they are through."""
    from flockwise.cli.progress import stop_on_signal
    from flockwise.numbers import shown
    from flockwise.studies.notes import settings_said

    def watch(told: "CellNews") -> None:
        if told.error is not None:
            value = "" if told.score is None else f" {shown(told.score)} on validation data"
            said = f"failed: {told.error.splitlines()[0]}" if told.error else f"done{value}"
            click.echo(
                printable(f"tuning: {told.cell.name} ({settings_said(told.cell.tuned)}): {said}"), err=True
            )

    click.echo(f"tuning: {_tries(found, todo)} tries before the cells", err=True)
    with stop_on_signal() as stop:
        return found.tune(todo, watch=watch, stop=stop, **options)


def carry_out(found: "Study", todo: list["Cell"], **options: Any) -> bool:
    """Run the cells with progress; whether all of them were tried."""
    from flockwise.cli.progress import stop_on_signal
    from flockwise.cli.study_progress import StudyProgress

    with stop_on_signal() as stop, StudyProgress(todo, found.directory) as progress:
        return found.carry_out(cells=todo, watch=progress, stop=stop, **options)


def write_outputs(found: "Study") -> None:
    """Tables and page; the tables are shown here too."""
    from rich.console import Console

    from flockwise.studies.writers.terminal import terminal_table

    for table in found.tables():
        Console().print(terminal_table(table))
    page, *_ = found.write()
    click.echo(f"page: {page}")
    _write_beside_published(found)


def _write_beside_published(found: "Study") -> None:
    """A page of verdicts, where what was published lies beside the study's file."""
    from flockwise.studies.published.page import write_page
    from flockwise.studies.published.publication import publication_of

    beside = publication_of(found)
    if beside is not None:
        click.echo(f"beside what was published: {write_page(beside, found.folder / 'published')}")


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
