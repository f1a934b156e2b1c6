"""clients: what became of each client of a run."""

import json
from pathlib import Path

import click

from flockwise.cli.model_options import client_number
from flockwise.cli.options import JSON, RUN
from flockwise.cli.tables import echo_table


@click.command()
@RUN
@JSON
@click.option(
    "--csv", "csv_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a CSV file instead."
)
@click.option("--client", "said", help="Only this one: its number, or its name.")
def clients(run: Path, as_json: bool, csv_file: Path | None, said: str | None) -> None:
    """Show what became of each client of RUN: name, flock, state, its score (accuracy, MAE, ...), rounds trained, samples.

    Of more than 20,000 clients, the flocks are shown: --client, --json and --csv have single ones.
    """
    from flockwise.errors import InputError
    from flockwise.store import open_run
    from flockwise.store.compact import MANY
    from flockwise.store.summary import client_summary, flock_summary

    found = open_run(run)
    client = None if said is None else client_number(found, said)
    if client is not None and client >= len(found.clients):
        raise InputError(f"--client {client}: must be 0 to {len(found.clients) - 1}")
    many = len(found.clients) >= MANY and client is None and not as_json and csv_file is None
    rows = flock_summary(found) if many else client_summary(found, client)
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
