"""runs, show and report."""

import json
from pathlib import Path
from typing import Any

import click

from flockwise.terminal import printable


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def runs(folder: Path, as_json: bool) -> None:
    """List the runs below FOLDER with state, round and accuracy."""
    from flockwise.store import list_runs

    rows = [_row(path, found) for path, found in list_runs(folder)]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo(f"no runs below {folder}; start one with: flockwise demo")
    else:
        _table(rows)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option(
    "--events", type=int, default=10, show_default=True, help="How many of the last events to show."
)
def show(run: Path, as_json: bool, events: int) -> None:
    """Show RUN: what it is, how it goes, what happened."""
    from flockwise.store import open_run

    found = open_run(run)
    row = _row(run, found)
    last = [
        {"round": e.round, "kind": e.kind, "client": e.client, "message": e.message} for e in found.events
    ]
    if as_json:
        facts = {
            name: [None if v != v else v for v in values.tolist()] for name, values in found.facts.items()
        }
        click.echo(
            json.dumps(
                {
                    **row,
                    "config": found.config,
                    "rounds": found.rounds.tolist(),
                    "facts": facts,
                    "events": last,
                }
            )
        )
        return
    for key, value in row.items():
        click.echo(f"{key:10} {'' if value is None else printable(str(value))}")
    click.echo(f"{'checkpoints':10} {', '.join(map(str, found.checkpoints))}")
    for event in last[-events:] if events else []:
        who = "" if event["client"] is None else f" client {event['client']}"
        click.echo(
            f"round {event['round']:>4}  {printable(str(event['kind']))}{who}: {printable(str(event['message']))}"
        )


@click.command()
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def report(run_paths: tuple[Path, ...], out: Path | None) -> None:
    """Write one self-contained HTML page about RUN, or a comparison of several."""
    from flockwise.report import write_report

    click.echo(write_report(list(run_paths), out))


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Choice(["csv", "jsonl", "parquet", "tensorboard", "mlflow"]),
    default="csv",
    show_default=True,
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder to write into.")
def export(run: Path, to: str, out: Path | None) -> None:
    """Write the numbers of RUN for other tools."""
    from flockwise.export import export_run

    for file in export_run(run, to, out or run / f"export-{to}"):
        click.echo(file)


def _row(path: Path, found: Any) -> dict[str, Any]:
    if isinstance(found, Exception):
        return {
            "run": str(path),
            "state": "unreadable",
            "strategy": None,
            "round": None,
            "accuracy": None,
            "flocks": None,
        }
    facts = {name: float(values[-1]) for name, values in found.facts.items() if len(values)}
    config = found.config

    def number(name: str) -> float | None:
        return facts[name] if facts.get(name) == facts.get(name) and name in facts else None

    return {
        "run": str(path), "state": found.state, "strategy": config.get("strategy", {}).get("name"),
        "data": config.get("data", {}).get("name"),
        "round": f"{int(found.rounds[-1]) if len(found.rounds) else 0}/{found.goal}",
        "accuracy": number("accuracy"), "flocks": None if number("flocks") is None else int(facts["flocks"]),
        "apart": None if number("apart") is None else int(facts["apart"]),
    }  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> None:
    names = list(rows[-1])
    text = [[_cell(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in text)) for i, name in enumerate(names)]
    click.echo("  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip())
    for line in text:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else printable(str(value))
