"""paper: measure the tables and figures of a paper."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from flockwise.cli.options import DATA, FOLDER

_NAMES = ("flic", "fl-hc", "byzantine-cfl", "mini-fl", "communities")  # without importing torch for --help


@click.command()
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@click.option("--table", "tables", multiple=True, help="Only this table or figure; may be repeated.")
@click.option(
    "--cell",
    "names",
    multiple=True,
    metavar="TEXT",
    help="Only cells whose name contains this; may be repeated: cells run in the order asked for.",
)
@click.option(
    "--scale",
    type=click.Choice(["smoke", "short", "full"]),
    default="short",
    show_default=True,
    help="smoke: seconds a cell; short: a reduction; full: the paper's setting.",
)
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of each cell.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("papers"),
    show_default=True,
    help="Results go to OUT/results, run directories to OUT/runs.",
)
@click.option("--pages", type=FOLDER, help="Where the pages are written (default: OUT/pages).")
@DATA
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Worker processes of a run; 0: one per core.",
)
@click.option("--keep-runs", is_flag=True, help="Keep the run directories, for reports.")
@click.option("--list", "listing", is_flag=True, help="Only list the cells that are missing.")
@click.option("--page-only", is_flag=True, help="Run nothing, write the pages from the results there are.")
def paper(
    name: str, tables: tuple[str, ...], names: tuple[str, ...], scale: str, seeds: int, out: Path,
    pages: Path | None, data: Path | None,
    workers: int, keep_runs: bool, listing: bool, page_only: bool,
) -> None:  # fmt: skip
    """Measure the tables and figures of paper NAME: flic, fl-hc, byzantine-cfl, mini-fl or communities.

    Finished cells are kept and skipped, so a stop (Ctrl-C) loses nothing: give the same command again.
    """
    from flockwise.cli.progress import stop_on_signal
    from flockwise.errors import ConfigError
    from flockwise.papers import PAPERS, Plan, missing, overview, run_cells, write_page

    chosen = PAPERS[name]
    known = list(dict.fromkeys(cell.table for cell in chosen.cells(scale)))
    for table in tables:
        if table not in known:
            raise ConfigError(f"--table {table}: {name} has no such table; known are {', '.join(known)}")
    plan = Plan(chosen, scale, seeds, out, data, tables, workers, keep_runs, _Rounds())
    for text in names:
        if not any(text in cell.name for cell in plan.cells()):
            raise ConfigError(f"--cell {text!r}: no cell's name contains this; --list shows the cells")
    todo = [] if page_only else _in_order(missing(plan), names)
    if listing:
        for cell, seed in todo:
            click.echo(f"{cell.table}: {cell.name}, seed {seed}")
        return
    stopped = False
    with stop_on_signal() as stop:
        for number, result in enumerate(run_cells(plan, todo, stop), start=1):
            shown = ", ".join(
                f"{key} {value:.4g}" for key, value in result.values.items() if value is not None
            )
            click.echo("\r\x1b[K" if sys.stderr.isatty() else "", nl=False, err=True)
            click.echo(f"[{number}/{len(todo)}] {result.table}: {result.cell}, seed {result.seed}: {shown}")
        stopped = stop()
    where = pages or out / "pages"
    written = write_page(chosen, plan.results, where)
    (where.parent / "papers.md").write_text(
        overview(list(PAPERS.values()), plan.results, where.name), encoding="utf-8"
    )
    click.echo(f"page: {written}")
    if stopped:
        click.echo("stopped; the same command goes on from here", err=True)
        raise click.exceptions.Exit(130)


def _in_order(todo: list[Any], names: tuple[str, ...]) -> list[Any]:
    """The cells asked for by name, in the order of the names; all where no name is given."""
    chosen = [(cell, seed) for text in names for cell, seed in todo if text in cell.name]
    return list(dict.fromkeys(chosen)) if names else todo


class _Rounds:
    """Where a long cell stands: a line that is overwritten in a terminal, a line every minute elsewhere."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, cell: Any, progress: Any) -> None:
        terminal, now = sys.stderr.isatty(), time.monotonic()
        if now - self._said < (0.5 if terminal else 60):
            return
        self._said = now
        line = f"{cell.table}: {cell.name}: round {progress.round} of {progress.rounds}"
        if progress.score in progress.facts:
            line += f", {progress.score} {progress.facts[progress.score]:.3f}"
        click.echo(f"\r\x1b[K{line}" if terminal else line, nl=not terminal, err=True)
