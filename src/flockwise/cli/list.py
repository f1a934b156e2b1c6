"""list: every piece by name, with one line each; one piece in full."""

import json
import textwrap

import click

from flockwise.cli.options import JSON
from flockwise.cli.pieces import KINDS, find_piece, parameters, pieces_of, plugged_in, summaries
from flockwise.cli.tables import echo_table


@click.command("list")
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="[KIND]", required=False)
@click.argument("name", required=False)
@JSON
def list_pieces(kind: str | None, name: str | None, as_json: bool) -> None:
    """List the pieces of a KIND, built in or from installed plug-ins; below each, its parameters.

    Without a KIND, list the kinds and the names of their pieces. With a NAME, show that piece in full: what it is,
    its paper, and each option with type, default and purpose.
    """
    if kind is None:
        _overview(as_json)
        return
    if name is not None:
        _show(kind, name, as_json)
        return
    rows = {**summaries(kind), **plugged_in(kind)}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width, takes = max(map(len, rows)), parameters(kind)
    for piece, summary in rows.items():
        click.echo(f"{piece.ljust(width)}  {summary}")
        if piece in takes:
            click.echo(f"{' ' * width}    {takes[piece]}")


def _overview(as_json: bool) -> None:
    names = {kind: [*pieces_of(kind), *plugged_in(kind)] for kind in KINDS}
    if as_json:
        click.echo(json.dumps(names, indent=2))
        return
    width = max(map(len, names))
    for kind, known in names.items():
        told = ", ".join(known)  # names are never broken at their hyphens
        lines = textwrap.wrap(told, 96 - width, break_on_hyphens=False, break_long_words=False)
        click.echo(f"{kind.ljust(width)}  " + f"\n{' ' * width}  ".join(lines))
    click.echo("More about one kind or piece: flockwise list KIND [NAME]")


def _show(kind: str, name: str, as_json: bool) -> None:
    from flockwise.cli.piece_page import described, option_rows

    piece = find_piece(kind, name)
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
        echo_table(options)
