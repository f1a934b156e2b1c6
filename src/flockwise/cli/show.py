"""show: one run in the terminal."""

import json
from pathlib import Path

import click

from flockwise.cli.options import JSON, RUN
from flockwise.cli.tables import cell, client_table, echo_table, run_row
from flockwise.terminal import printable


@click.command()
@RUN
@JSON
@click.option(
    "--events", type=click.IntRange(min=0), default=10, show_default=True,
    help="How many of the last events to show.",
)  # fmt: skip
@click.option(
    "--clients", is_flag=True, help="Show the clients too: names, flocks, scores, what is known of them."
)
def show(run: Path, as_json: bool, events: int, clients: bool) -> None:
    """Show RUN: what it is, how it goes, what happened."""
    from flockwise.store import open_run
    from flockwise.store.events import event_words

    found = open_run(run)
    found.check()
    row = run_row(run, found)
    error = found.about.get("error", "") if found.state not in ("finished", "running") else ""
    happened = [{"round": event.round, **event_words(event)} for event in found.events]
    if as_json:
        facts = {
            name: [None if v != v else v for v in values.tolist()] for name, values in found.facts.items()
        }
        content = {
            **row, "config": found.config, "rounds": found.rounds.tolist(), "facts": facts, "events": happened,
            "damage": found.damage, "error": error, "note": found.about.get("note", ""), "clients": client_table(found),
        }  # fmt: skip
        click.echo(json.dumps(content))
        return
    if found.parent is not None:
        row["parent"] = f"{found.parent[0]} (from round {found.parent[1]})"
    for key, value in {**row, "checkpoints": ", ".join(map(str, found.checkpoints)) or None}.items():
        click.echo(f"{key:11} {cell(value)}")
    if error:
        click.echo(f"{'error':11} {printable(error)}")
    if found.about.get("note"):
        click.echo(f"{'note':11} {printable(found.about['note'])}")
    for line in found.damage:
        click.echo(f"{'damaged':11} {printable(line)}")
    if clients and found.clients:
        echo_table(client_table(found))
    for event in happened[-events:] if events else []:
        who = "" if event["client"] is None else f" {printable(found.called(int(event['client'])))}"
        what = f"{printable(str(event['kind']))}{who}: {printable(str(event['message']))}"
        click.echo(f"round {event['round']:>4}  {what}")
