"""list: every piece by name, with one line each; one piece in full."""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

# where the pieces of a kind are, imported when that kind is asked for
KINDS = {
    "strategies": "flockwise.strategies:STRATEGIES",
    "aggregators": "flockwise.aggregation:RULES",
    "pre-aggregations": "flockwise.aggregation:PRE_AGGREGATIONS",
    "attacks": "flockwise.attacks:ATTACKS",
    "splits": "flockwise.splits:SPLITS",
    "datasets": "flockwise.data:DATASETS",
    "models": "flockwise.models:MODELS",
    "similarities": "flockwise.similarity:SIMILARITIES",
    "clusterers": "flockwise.clustering:CLUSTERERS",
}


@click.command("list")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_pieces(kind: str, name: str | None, as_json: bool) -> None:
    """List the pieces of a KIND, built in or from installed plug-ins; below each, its parameters.

    With a NAME, show that piece in full: what it is, its paper, and each option with type, default and purpose.
    """
    if name is not None:
        _show(kind, name, as_json)
        return
    rows = {**summaries(kind), **_plugged_in(kind)}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width, takes = max(map(len, rows)), parameters(kind)
    for piece, summary in rows.items():
        click.echo(f"{piece.ljust(width)}  {summary}")
        if piece in takes:
            click.echo(f"{' ' * width}    {takes[piece]}")


def summaries(kind: str) -> dict[str, str]:
    """Name and one line of each built-in piece."""
    return {name: str(piece.summary) for name, piece in pieces_of(kind).items()}


def parameters(kind: str) -> dict[str, str]:
    """Name and parameters of each built-in piece that takes some, as a config may give them."""
    told = {
        name: ", ".join(_told(*item) for item in getattr(piece, "defaults", {}).items())
        for name, piece in pieces_of(kind).items()
    }
    return {name: line for name, line in told.items() if line}


def pieces_of(kind: str) -> Mapping[str, Any]:
    """The built-in pieces of a kind by name."""
    module, _, attribute = KINDS[kind].partition(":")
    pieces: Mapping[str, Any] = getattr(import_module(module), attribute)
    return pieces


def _told(name: str, default: Any) -> str:
    from flockwise.options import written

    if default is ...:
        return f"{name} (needed)"
    return name if default is None else f"{name} = {json.dumps(written(default), default=str)}"


def _plugged_in(kind: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: f"plug-in: {point.value}" for point in entry_points(group=f"flockwise.{kind}")}


def _show(kind: str, name: str, as_json: bool) -> None:
    from flockwise.cli.describing import described, option_rows
    from flockwise.errors import ConfigError, PluginError
    from flockwise.plugins import find

    pieces = pieces_of(kind)
    try:
        piece = find(kind, name if name in pieces else _other_spelling(name, pieces), pieces)
    except PluginError as error:
        raise ConfigError(str(error)) from None  # a mistake in what was typed
    facts, options = described(name, piece), option_rows(piece)
    if as_json:
        click.echo(json.dumps({**facts, "options": options}, indent=2, default=str))
        return
    text = facts.pop("text")
    click.echo(f"{facts.pop('name')}: {facts.pop('summary')}")
    for fact, value in facts.items():
        click.echo(f"  {fact}: {value}")
    if text:
        click.echo(f"\n{text}")
    if options:
        click.echo()
        _table([{key: str(value) for key, value in row.items()} for row in options])


def _other_spelling(name: str, pieces: Mapping[str, Any]) -> str:
    return next((known for known in pieces if known.replace("_", "-") == name.replace("_", "-")), name)


def _table(rows: list[dict[str, str]]) -> None:
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    for row in [{key: key for key in rows[0]}, *rows]:
        click.echo("  ".join(cell.ljust(widths[key]) for key, cell in row.items()).rstrip())
