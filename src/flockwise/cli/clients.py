"""clients: what became of each client of a run."""

import json
from pathlib import Path

import click

from flockwise.cli.options import JSON, RUN
from flockwise.cli.tables import echo_table


@click.command()
@RUN
@JSON
@click.option(
    "--csv", "csv_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a CSV file instead."
)
def clients(run: Path, as_json: bool, csv_file: Path | None) -> None:
    """Show what became of each client of RUN: name, flock, state, accuracy, rounds trained, samples."""
    from flockwise.store import open_run
    from flockwise.store.summary import client_summary

    rows = client_summary(open_run(run))
    if csv_file is not None:
        from flockwise.export.text_files import write_table

        columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {"client": []}
        click.echo(write_table(csv_file, columns))
    elif as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        echo_table(rows)
    else:
        click.echo(f"{run}: no client is on record yet")
