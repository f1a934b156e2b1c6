"""paper: measure the tables and figures of a paper."""

from pathlib import Path

import click

from flockwise.cli.options import DATA, FOLDER
from flockwise.cli.study import carry_out, chosen, list_cells, tell_costs

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
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Runs of each cell, instead of what the study says."
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("papers"),
    show_default=True,
    help="Results go to OUT/NAME/results.",
)
@click.option("--pages", type=FOLDER, help="Where the pages are written (default: OUT/pages).")
@DATA
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Cells at once; 0: one a core.",
)
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
@click.option("--page-only", is_flag=True, help="Run nothing, write the pages from the results there are.")
def paper(
    name: str, tables: tuple[str, ...], names: tuple[str, ...], scale: str, seeds: int | None, out: Path,
    pages: Path | None, data: Path | None, workers: int, keep_runs: bool, again: bool, dry_run: bool,
    listing: bool, page_only: bool,
) -> None:  # fmt: skip
    """Measure the tables and figures of paper NAME: flic, fl-hc, byzantine-cfl, mini-fl or communities.

    A paper is a study that comes with the package, and its page says beside each number what was published. Finished
    cells are kept and skipped, so a stop (Ctrl-C) loses nothing: give the same command again.
    """
    from flockwise.papers import PaperStudy

    found = PaperStudy(name, scale=scale, out=out, data=data, tables=tables, seeds=seeds)
    todo = chosen(found.cells if again else found.missing, found.cells, names)
    if listing:
        list_cells(found, todo)
        return
    if dry_run:
        tell_costs(found, todo, workers)
        return
    whole = True if page_only else carry_out(found, todo, jobs=workers, keep_runs=keep_runs)
    _write_pages(name, out, pages or out / "pages")
    if not whole:
        click.echo("stopped; the same command goes on from here", err=True)
        raise click.exceptions.Exit(130)
    if not page_only and found.failed:
        raise click.exceptions.Exit(1)


def _write_pages(name: str, out: Path, pages: Path) -> None:
    """The paper's page, and the one with all papers beside the folder of pages."""
    from flockwise.papers import NAMES, publication
    from flockwise.studies.published.overview import overview
    from flockwise.studies.published.page import write_page

    papers = {one: publication(one, out) for one in NAMES}
    written = write_page(papers[name], pages)
    (pages.parent / "papers.md").write_text(overview(list(papers.values()), pages.name), encoding="utf-8")
    click.echo(f"page: {written}")
