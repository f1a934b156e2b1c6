"""runs: the runs in a folder."""

import json
from pathlib import Path

import click

from flockwise.cli.options import JSON
from flockwise.cli.tables import echo_table, run_row


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@JSON
def runs(folder: Path, as_json: bool) -> None:
    """List the runs below FOLDER with state, round, score, and the run that each goes on from."""
    from flockwise.store import list_runs

    rows = [run_row(path, found) for path, found in list_runs(folder)]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo(f"no runs below {folder}; start one with: flockwise demo")
    else:
        echo_table(rows)
